package eval

import (
	"context"
	"fmt"

	"teamtalk/model"
	"teamtalk/model/tokenizer"
	"teamtalk/recipe/artifact"
	"teamtalk/recipe/data"
)

// Evaluator is an opened list of evaluations. Which replies share a batch, and at which place of it, is fixed by the list and
// the options: an evaluation that goes on in another process samples what it would have sampled in the first, bit for bit.
type Evaluator struct {
	o       Options
	jobs    []Job
	slots   int         // models in lockstep
	per     int         // problems of each model in a batch
	prompts [][][]int32 // of each job and problem
	columns int         // the longest of them
	sampler *model.Sampler
}

// New opens the evaluation of jobs.
func New(jobs []Job, o Options) (*Evaluator, error) {
	if err := o.check(jobs); err != nil {
		return nil, err
	}
	e := &Evaluator{o: o, jobs: jobs, slots: max(1, min(o.Slots, len(jobs)))}
	e.per = min(max(1, o.Rows/(e.slots*o.Settings.Samples)), len(o.Problems))
	if err := e.encode(); err != nil {
		return nil, err
	}
	var err error
	e.sampler, err = model.NewSampler(o.Device, o.Weights, model.SamplerOptions{LoRA: &e.o.LoRA, Runs: e.slots, Stop: o.Stop})
	return e, err
}

// Close frees what was opened.
func (e *Evaluator) Close() { e.sampler.Close() }

// encode tokenises every problem under every job's system message.
func (e *Evaluator) encode() error {
	e.columns = e.o.Columns
	for _, j := range e.jobs {
		var of [][]int32
		for _, p := range e.o.Problems {
			ids, err := e.o.Tokenizer.ChatML([]tokenizer.Message{{Role: "system", Content: j.System}, {Role: "user", Content: p.Question}}, true)
			if err != nil {
				return err
			}
			of = append(of, ids)
			e.columns = max(e.columns, len(ids))
		}
		e.prompts = append(e.prompts, of)
	}
	return nil
}

// Evaluate samples the replies of every job that is not done and hands them, every problem's samples in order, to write.
func (e *Evaluator) Evaluate(ctx context.Context, write func(Job, []artifact.Reply) error) error {
	var rounds []int
	for r := range e.rounds() {
		if pending(e.round(r * e.slots)) {
			rounds = append(rounds, r)
		}
	}
	return e.evaluate(ctx, rounds, write)
}

// EvaluateRound is Evaluate for the jobs of one round alone, the first of which is number 0: several processes that have the
// same list of jobs may share its rounds.
func (e *Evaluator) EvaluateRound(ctx context.Context, round int, write func(Job, []artifact.Reply) error) error {
	if n := e.rounds(); round < 0 || round >= n {
		return fmt.Errorf("evaluation: round %d of %d: expected 0 to %d", round, n, n-1)
	}
	if !pending(e.round(round * e.slots)) {
		return nil
	}
	return e.evaluate(ctx, []int{round}, write)
}

func (e *Evaluator) evaluate(ctx context.Context, rounds []int, write func(Job, []artifact.Reply) error) error {
	all, done := 0, 0
	for _, r := range rounds {
		all += len(e.round(r*e.slots)) * len(e.o.Problems) * e.o.Settings.Samples
	}
	for _, r := range rounds {
		at := r * e.slots
		round := e.round(at)
		if err := e.load(round); err != nil {
			return err
		}
		replies := make([][]artifact.Reply, len(round))
		for from := 0; from < len(e.o.Problems); from += e.per {
			out, err := e.sampler.Sample(ctx, e.request(at, from, 0))
			if err != nil {
				return err
			}
			e.each(round, from, out, func(slot int, p data.Problem, sample int, c model.Completion) {
				replies[slot] = append(replies[slot], e.o.reply(p, sample, c))
				done++
			})
			if e.o.Progress != nil {
				e.o.Progress(done, all)
			}
		}
		for slot, job := range round {
			if job.Done {
				continue
			}
			if err := write(job, replies[slot]); err != nil {
				return err
			}
		}
	}
	return nil
}

// rounds is how many rounds the jobs take.
func (e *Evaluator) rounds() int { return (len(e.jobs) + e.slots - 1) / e.slots }

// round is the jobs that answer together, from job number at.
func (e *Evaluator) round(at int) []Job { return e.jobs[at:min(at+e.slots, len(e.jobs))] }

// pending says whether a round has a job that is not done.
func pending(round []Job) bool {
	for _, j := range round {
		if !j.Done {
			return true
		}
	}
	return false
}

// request is the batch of problems from number from on of the round at job number at. A shift other than 0 moves every job
// to the noise of another seed.
func (e *Evaluator) request(at, from int, shift int64) model.Request {
	s := e.o.Settings
	r := model.Request{MaxTokens: s.MaxCompletionLength, Temperature: s.Temperature, TopP: s.TopP, Columns: e.columns}
	for job := at; job < at+e.slots; job++ {
		for i := from; i < from+e.per; i++ {
			p := model.Prompt{Keys: make([]model.Key, s.Samples)}
			if job < len(e.jobs) && i < len(e.o.Problems) { // the others fill the batch up to its shape
				p.IDs = e.prompts[job][i]
				run := e.jobs[job].Run
				seed := run.Stream().Seed(run.Seed + shift)
				for sample := range p.Keys {
					p.Keys[sample] = model.NewKey(seed, uint64(e.o.Problems[i].Index), uint64(sample))
				}
			}
			r.Prompts = append(r.Prompts, p)
		}
	}
	return r
}

// each calls f for the completions of a batch, model after model, problem after problem.
func (e *Evaluator) each(round []Job, from int, out [][]model.Completion, f func(slot int, p data.Problem, sample int, c model.Completion)) {
	for slot := range round {
		for i := from; i < min(from+e.per, len(e.o.Problems)); i++ {
			for sample, c := range out[slot*e.per+i-from] {
				f(slot, e.o.Problems[i], sample, c)
			}
		}
	}
}

// load makes a round's adapters the sampler's; untrained models and empty slots get adapters that add nothing.
func (e *Evaluator) load(round []Job) error {
	values := make([]map[string][]float32, e.slots)
	for i := range values {
		if i < len(round) && round[i].Adapter != nil {
			values[i] = round[i].Adapter
			continue
		}
		values[i] = map[string][]float32{}
		for _, s := range e.o.LoRA.Specs(e.o.Weights.Config) {
			values[i][s.Name] = make([]float32, s.Rows*s.Cols)
		}
	}
	a, err := model.AdaptersFrom(e.o.Device, e.o.Weights.Config, e.o.LoRA, values)
	if err != nil {
		return err
	}
	defer a.Free()
	return e.sampler.Load(a)
}
