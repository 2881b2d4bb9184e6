package audit

import (
	"fmt"
	"reflect"
	"runtime"
	"sync"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/experiment"
)

// golds maps a task's hash to its answer in the plan.
func golds(rec *artifact.Record) map[string]string {
	m := make(map[string]string, len(rec.Plan.Data.Train.Tasks)+len(rec.Plan.Data.Holdout.Tasks))
	for _, ts := range [][]experiment.Task{rec.Plan.Data.Train.Tasks, rec.Plan.Data.Holdout.Tasks, testTasks(rec)} {
		for _, t := range ts {
			m[t.SHA256] = t.Gold
		}
	}
	return m
}

// testTasks are those of the whole test split, where the plan evaluates on it.
func testTasks(rec *artifact.Record) []experiment.Task {
	return rec.Plan.TasksOf(experiment.EvalRun{Tasks: experiment.TasksTest})
}

// place is one reply and where it stands.
type place struct {
	*artifact.Sampled
	file string
	line int
}

func places(rec *artifact.Record) []place {
	var ps []place
	for i := range rec.Evals {
		for j := range rec.Evals[i].Replies {
			ps = append(ps, place{&rec.Evals[i].Replies[j].Sampled, rec.Evals[i].File, j + 1})
		}
	}
	for i := range rec.Runs {
		file := rec.Runs[i].Config.Run.Name + "/" + artifact.CompletionsFile
		for j := range rec.Runs[i].Rollouts {
			ps = append(ps, place{&rec.Runs[i].Rollouts[j].Sampled, file, j + 1})
		}
	}
	return ps
}

// regrade grades every reply again, on all cores.
func regrade(rec *artifact.Record) finding {
	gold, ps := golds(rec), places(rec)
	if len(ps) == 0 {
		return notRun("there are no replies")
	}
	wrong := make([]string, len(ps))
	var wg sync.WaitGroup
	n := runtime.GOMAXPROCS(0)
	for w := range n {
		wg.Go(func() {
			for i := w; i < len(ps); i += n {
				wrong[i] = disagreement(ps[i], gold)
			}
		})
	}
	wg.Wait()
	bad, firstBad := 0, ""
	for _, s := range wrong {
		if s != "" {
			if bad++; firstBad == "" {
				firstBad = s
			}
		}
	}
	if bad > 0 {
		return fail("%d of %d replies disagree, first %s", bad, len(ps), firstBad)
	}
	return pass("%d of %d replies agree", len(ps), len(ps))
}

func disagreement(p place, gold map[string]string) string {
	g, ok := gold[p.TaskSHA256]
	if !ok {
		return fmt.Sprintf("%s line %d: task %d (%.12s) is not in the plan", p.file, p.line, p.Task, p.TaskSHA256)
	}
	v, t := artifact.Grade(p.Text, g)
	switch {
	case !reflect.DeepEqual(v.Reward, p.Verdict.Reward):
		return fmt.Sprintf("%s line %d: reward %s now, %s recorded", p.file, p.line, reward(v), reward(p.Verdict))
	case v.Policy != p.Verdict.Policy || v.Reason != p.Verdict.Reason:
		return fmt.Sprintf("%s line %d: %s/%s now, %s/%s recorded", p.file, p.line, v.Policy, v.Reason, p.Verdict.Policy, p.Verdict.Reason)
	case !reflect.DeepEqual(v, p.Verdict):
		return fmt.Sprintf("%s line %d: the details of the verdict differ", p.file, p.line)
	case t != p.Talk:
		return fmt.Sprintf("%s line %d: %d turns now, %d recorded", p.file, p.line, t.Turns, p.Talk.Turns)
	}
	return ""
}

func reward(v artifact.Verdict) string {
	if v.Reward == nil {
		return "none"
	}
	return fmt.Sprint(*v.Reward)
}

// plantVerdict turns one verdict round, and keeps only that evaluation: grading everything twice would cost as much again.
func plantVerdict(rec *artifact.Record) *artifact.Record {
	c := withReplies(rec, func(rs []artifact.Reply) {
		r := 1
		if rs[0].Verdict.Correct() {
			r = 0
		}
		rs[0].Verdict.Reward = artifact.Graded(r)
	})
	if c != nil {
		c.Evals, c.Runs = c.Evals[:1], nil
	}
	return c
}

func allGraded(rec *artifact.Record) finding {
	replies := 0
	for _, e := range rec.Evals {
		samples := map[int]int{}
		for i := range e.Replies {
			if e.Replies[i].Verdict.Reward == nil {
				return fail("%s line %d has no grade: %s", e.File, i+1, e.Replies[i].Verdict.Reason)
			}
			samples[e.Replies[i].Task]++
		}
		tasks, planned := rec.Plan.TasksOf(e.EvalRun), rec.Plan.SamplesOf(e.EvalRun)
		for _, t := range tasks {
			if samples[t.Index] != planned {
				return fail("%s has %d replies to task %d, planned %d", e.File, samples[t.Index], t.Index, planned)
			}
		}
		if want := len(tasks) * planned; len(e.Replies) != want {
			return fail("%s has %d replies, planned %d", e.File, len(e.Replies), want)
		}
		replies += len(e.Replies)
	}
	if replies == 0 {
		return notRun("there are no evaluations")
	}
	return pass("%d replies in %s", replies, plural(len(rec.Evals), "evaluation"))
}

// finishReason: a reply is cut off only at the cap. The converse is no rule: the last token that the cap allows may be the end-of-sequence
// token, which Tokens counts, and such a reply stopped by itself.
func finishReason(rec *artifact.Record) finding {
	ps, limit := places(rec), rec.Plan.Training.MaxCompletionLength
	if len(ps) == 0 {
		return notRun("there are no replies")
	}
	cut := 0
	for _, p := range ps {
		switch {
		case p.FinishReason == artifact.Length && p.Tokens != limit:
			return fail("%s line %d is called cut off and has %d tokens, the cap is %d", p.file, p.line, p.Tokens, limit)
		case p.FinishReason == artifact.Length:
			cut++
		case p.FinishReason != artifact.Stop:
			return fail("%s line %d ended for the reason %q; expected %s or %s", p.file, p.line, p.FinishReason, artifact.Stop, artifact.Length)
		}
	}
	return pass("%d of %d replies are cut off, each at %d tokens", cut, len(ps), limit)
}

func plantCutOff(rec *artifact.Record) *artifact.Record {
	short := func(s *artifact.Sampled) {
		s.Tokens, s.FinishReason = rec.Plan.Training.MaxCompletionLength-1, artifact.Length
	}
	if c := withReplies(rec, func(rs []artifact.Reply) { short(&rs[0].Sampled) }); c != nil {
		return c
	}
	return withRollouts(rec, func(rs []artifact.Rollout) { short(&rs[0].Sampled) })
}

func sameCap(rec *artifact.Record) finding {
	eval, train := rec.Plan.Evaluation.MaxCompletionLength, rec.Plan.Training.MaxCompletionLength
	if eval != train {
		return fail("%d tokens in training, %d in evaluation", train, eval)
	}
	for _, p := range places(rec) {
		if p.Tokens > train {
			return fail("%s line %d has %d tokens, the cap is %d", p.file, p.line, p.Tokens, train)
		}
	}
	return pass("%d tokens everywhere", train)
}
