package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/data"
	"teamtalk/recipe/experiment"
	"teamtalk/recipe/grpo"
)

// stepsEach is how many steps of training one repetition stands for; the first step of all warms up and is not counted.
const stepsEach = 3

// step times whole GRPO steps of runs in lockstep, through the training loop of experiments, whose files go to a folder that is
// removed. For several runs it gives the ratio to one run's step too.
func (b *session) step(ctx context.Context, suffix string, runs int) error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	steps := 1 + stepsEach*b.Repeat
	plan, err := b.plan(runs, steps)
	if err != nil {
		return err
	}
	run, err := artifact.Create(filepath.Join(dir, "run"), plan, artifact.Env{Backend: string(b.Device.Kind), Device: "bench"})
	if err != nil {
		return err
	}
	var group []grpo.Run
	for _, r := range plan.Runs() {
		config, err := plan.RunConfig(r.Arm, r.Seed, experiment.Runtime{Backend: string(b.Device.Kind), Device: "bench", RunsLockstep: runs})
		if err != nil {
			return err
		}
		out, err := run.OpenTraining(config)
		if err != nil {
			return err
		}
		defer out.Close()
		group = append(group, grpo.Run{Config: config, Out: out})
	}
	err = grpo.Train(ctx, group, grpo.Options{
		Device: b.Device, Weights: b.weights, Tokenizer: b.Tokenizer, Problems: b.Problems.Train, Grade: b.grade(plan.Training.NumGenerations),
		Rows: b.Rows, StopAfter: steps,
	})
	if err != nil && !(errors.Is(err, grpo.ErrInterrupted) && ctx.Err() == nil) {
		return err
	}
	metrics, err := readMetrics(filepath.Join(run.Dir(), group[0].Config.Run.Name, artifact.MetricsFile))
	if err != nil {
		return err
	}
	l := Line{Name: "step" + suffix, Unit: "s", Mean: true, Note: b.note(), Parts: map[string][]float64{}}
	tokens := 0.0
	for _, m := range metrics[1:] {
		l.Times = append(l.Times, m["step_time"])
		for _, part := range []string{"gen", "reward", "update"} {
			l.Parts[part] = append(l.Parts[part], m["timing_s/"+part])
		}
		tokens += m["completions/mean_length"] * float64(plan.Training.PromptsPerStep*plan.Training.NumGenerations*runs) / float64(len(metrics)-1)
	}
	b.add(l, tokens)
	fmt.Fprintf(b.Log, "%20s mean of gen %.3f, reward %.3f, update %.3f s%s\n", "", mean(l.Parts["gen"]), mean(l.Parts["reward"]), mean(l.Parts["update"]), remark(l.Note))
	b.memory(suffix, runs, b.lines[len(b.lines)-1])
	if runs > 1 {
		for _, one := range b.lines {
			if one.Name == "step" {
				b.add(Line{Name: "step-ratio", Unit: "x", Times: []float64{b.lineNamed("step"+suffix).figure() / one.figure()}}, 0)
			}
		}
	}
	return nil
}

// memory is what training took: what stays from step to step, and the largest of what its programs take for themselves.
func (b *session) memory(suffix string, runs int, step Line) {
	adapters := float64(runs) * b.costs.Adapters()
	kept := b.costs.Weights() + 16*adapters + float64(b.costs.Bytes)*(b.costs.Linear()+2*adapters)
	most := 0.0
	for _, p := range step.Programs {
		u := p.Usage
		own := float64(u.Outputs - u.Aliased + u.Temporary + u.Code)
		if strings.HasPrefix(p.Name, "decode") || strings.HasPrefix(p.Name, "prefill") {
			own += float64(u.Aliased) // the state: caches, replies
		}
		most = max(most, own)
	}
	note := "what stays, and the largest program's own, as compiled"
	if polled := b.Device.PeakBytes(); polled > 0 {
		note += fmt.Sprintf("; the driver saw %.1f GiB at most since the start", float64(polled)/(1<<30))
	}
	if most > 0 {
		b.add(Line{Name: "memory" + suffix, Unit: "GiB", Times: []float64{(kept + most) / (1 << 30)}, Note: note}, 0)
	}
}

func (b *session) lineNamed(name string) Line {
	for _, l := range b.lines {
		if l.Name == name {
			return l
		}
	}
	return Line{}
}

// plan is that of an experiment of runs runs: the preset's arms, and seeds as many as it takes.
func (b *session) plan(runs, steps int) (experiment.Plan, error) {
	p, none := b.Plan, 0
	if err := p.Apply(experiment.Overrides{TestSamples: &none}); err != nil { // no line times the whole test split
		return p, err
	}
	p.TrainArms, p.Seeds = []string{p.Arms[0].Name}, []int64{17}
	if runs > 1 {
		p.TrainArms, p.Seeds = nil, nil
		for _, a := range p.Arms {
			p.TrainArms = append(p.TrainArms, a.Name)
		}
		for i := range runs / len(p.Arms) {
			p.Seeds = append(p.Seeds, int64(17+i))
		}
	}
	p.Training.MaxSteps = max(p.Training.MaxSteps, steps)
	for _, id := range b.Stop {
		p.Model.StopTokenIDs = append(p.Model.StopTokenIDs, int(id))
	}
	p.Data = experiment.Data{
		Source: b.Problems.Name, Draw: "bench",
		Train:   experiment.NewSplit("train", data.Tasks(b.Problems.Train, false)),
		Holdout: experiment.NewSplit("holdout", data.Tasks(b.Problems.Holdout, false)),
	}
	if !b.Real {
		p.Training.MaxLogpDifference = 1e9 // weights that mean nothing: there is nothing to hold against each other
		var err error
		if p.Arms, err = b.longPrompts(p.Arms); err != nil {
			return p, err
		}
		p.Training.MaxPromptLength = max(p.Training.MaxPromptLength, 2*b.Prompt)
	}
	return p, nil
}

// longPrompts lengthens system messages until prompts are about as long as a real experiment's.
func (b *session) longPrompts(arms []experiment.Arm) ([]experiment.Arm, error) {
	out := append([]experiment.Arm(nil), arms...)
	longest := 0
	for _, p := range b.Problems.Train {
		longest = max(longest, len(b.Tokenizer.Encode(p.Question)))
	}
	const around = 24 // tokens of the chat's form
	for i := range out {
		text := "a"
		for len(b.Tokenizer.Encode(text))+longest+around < b.Prompt {
			text += " a"
		}
		out[i].System = text
	}
	return out, nil
}

// grade is the grader; without real replies it finds half of the replies of every second group right, so that, as in a real run,
// half of the groups have advantages.
func (b *session) grade(group int) func(text, gold string) (artifact.Verdict, artifact.Talk) {
	if b.Real {
		return artifact.Grade
	}
	n := 0
	return func(text, gold string) (artifact.Verdict, artifact.Talk) {
		v, t := artifact.Grade(text, gold)
		reward := 0
		if n/group%2 == 0 {
			reward = n % 2
		}
		n++
		v.Reward = &reward
		return v, t
	}
}

// note says what is not as in a real run.
func (b *session) note() string {
	if b.Real {
		return ""
	}
	return "random weights: every reply runs to its full length; half of the groups have advantages"
}

// remark sets a note off.
func remark(note string) string {
	if note == "" {
		return ""
	}
	return "; " + note
}

// readMetrics reads the steps of a metrics.jsonl.
func readMetrics(name string) ([]map[string]float64, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var steps []map[string]float64
	for d := json.NewDecoder(f); d.More(); {
		values := map[string]*float64{}
		if err := d.Decode(&values); err != nil {
			return nil, fmt.Errorf("%s: %w", artifact.MetricsFile, err)
		}
		step := map[string]float64{}
		for key, v := range values {
			if v != nil {
				step[key] = *v
			}
		}
		steps = append(steps, step)
	}
	if len(steps) < 2 {
		return nil, fmt.Errorf("%s holds %d steps, expected 2 or more", artifact.MetricsFile, len(steps))
	}
	return steps, nil
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}
