package audit

import (
	"fmt"
	"slices"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/experiment"
	"teamtalk/report/analysis"
)

// Limits of what two evaluations, or two samples of one, may have in common. Measured at temperature 0.9, two evaluations of Qwen2.5-1.5B hold
// the same text in at most 0.12 of their places, and two samples of one in 0.01 of the tasks. The mini model's replies are short, and after
// training it often gives one reply only: two evaluations share at most 0.94, with one noise and one prompt after a single step of
// training; two samples of one are equal in up to 0.94 of the tasks, but two of the four never in more than 0.19 more of them than two others.
const (
	maxShared      = 0.98 // a copy shares all
	maxEqualSpread = 0.4
	// Of a model that repeats itself this often, a copy cannot be told from another reply of its own.
	maxSelfAlike = 0.8
	// Fewer than these tell little: all of a few short replies may agree by chance.
	minShared     = 100 // replies
	minEqualTasks = 50
)

// at is one place in an evaluation.
type at struct {
	task   string // SHA-256
	sample int
}

// placed are the texts of an evaluation by place.
func placed(e artifact.EvalRecord) map[at]string {
	m := make(map[at]string, len(e.Replies))
	for i := range e.Replies {
		m[at{e.Replies[i].TaskSHA256, e.Replies[i].Sample}] = e.Replies[i].Text
	}
	return m
}

// evaluationSeed is the one that feeds an evaluated model's noise. Two models with one seed are given the same random numbers for a sample
// of a task, so that models that are alike give many of the same replies.
func evaluationSeed(rec *artifact.Record, model string) int64 {
	for _, r := range rec.Plan.Runs() {
		if r.Name == model {
			return r.Seed
		}
	}
	return rec.Plan.Evaluation.BaseSeed
}

// weightsOf names what a model's weights are: a run in which no group was mixed had no gradient, and is the untrained model still.
func weightsOf(rec *artifact.Record, model string) string {
	for _, t := range rec.Runs {
		if t.Config.Run.Name == model && len(t.Rollouts) > 0 {
			for _, rs := range bySteps(t) {
				if analysis.Learns(rs) {
					return model
				}
			}
			return experiment.Base
		}
	}
	return model
}

// equals says in how many of an evaluation's tasks two given samples are the same text: of the two for which that is so most often, i and
// j, and of the two for which it is least often; and in how many any two are. All are 0 with fewer than two samples.
type equals struct {
	most, least, any float64
	i, j             int
	tasks            int
}

func equalSamples(e artifact.EvalRecord, samples int) equals {
	byTask := map[string][]string{} // texts by sample
	for k := range e.Replies {
		r := &e.Replies[k]
		if byTask[r.TaskSHA256] == nil {
			byTask[r.TaskSHA256] = make([]string, samples)
		}
		if r.Sample >= 0 && r.Sample < samples {
			byTask[r.TaskSHA256][r.Sample] = r.Text
		}
	}
	q := equals{tasks: len(byTask)}
	if samples < 2 || q.tasks == 0 {
		return q
	}
	n := float64(q.tasks)
	q.least = 1
	for i := range samples {
		for j := i + 1; j < samples; j++ {
			same := 0.0
			for _, texts := range byTask {
				if texts[i] == texts[j] {
					same++
				}
			}
			if same/n > q.most {
				q.most, q.i, q.j = same/n, i, j
			}
			q.least = min(q.least, same/n)
		}
	}
	for _, texts := range byTask {
		if slices.Sort(texts); len(slices.Compact(texts)) < samples {
			q.any++
		}
	}
	return q
}

// evaluationsDiffer compares every two evaluations of the same tasks, place by place. It sees a copy. It cannot see two evaluations that were
// exchanged: nothing but the weights says whose replies those are.
func evaluationsDiffer(rec *artifact.Record) finding {
	type known struct {
		texts   map[at]string
		weights string
		alike   bool // with itself
	}
	of := make([]known, len(rec.Evals))
	for i, e := range rec.Evals {
		of[i] = known{placed(e), weightsOf(rec, e.Model), equalSamples(e, rec.Plan.SamplesOf(e.EvalRun)).least > maxSelfAlike}
	}
	most, where := -1.0, ""
	compared, one, alike := 0, 0, 0
	for i, a := range rec.Evals {
		for j := i + 1; j < len(rec.Evals); j++ {
			b := rec.Evals[j]
			switch {
			case a.Tasks != b.Tasks:
				continue
			case a.Prompt == b.Prompt && of[i].weights == of[j].weights && evaluationSeed(rec, a.Model) == evaluationSeed(rec, b.Model):
				one++ // one model, asked the same, with the same noise
				continue
			}
			same, n := 0, 0
			for k, text := range of[i].texts {
				if other, ok := of[j].texts[k]; ok {
					n++
					if text == other {
						same++
					}
				}
			}
			share := float64(same) / float64(n)
			switch {
			case n < minShared:
				continue
			case rec.Plan.Evaluation.Temperature == 0:
			case share > maxShared && of[i].alike && of[j].alike:
				alike++
				continue
			case share > maxShared:
				return fail("%s and %s hold the same text in %d of %d places, at most %.0f%% were expected: one is a copy of the other, or the two models are as good as one",
					a.File, b.File, same, n, 100*maxShared)
			}
			compared++
			if share > most {
				most, where = share, a.Name()+" and "+b.Name()
			}
		}
	}
	also := ""
	if one > 0 {
		also = "; " + plural(one, "pair") + " not compared: no step of their training had a gradient, so that both are the untrained model"
	}
	if alike > 0 {
		also += fmt.Sprintf("; %s more alike, of models that give one reply in more than %.0f%% of the tasks however often they are asked: a copy of theirs cannot be told", plural(alike, "pair"), 100*maxSelfAlike)
	}
	switch {
	case compared == 0:
		return notRun("no two evaluations have %d replies to compare%s", minShared, also)
	case rec.Plan.Evaluation.Temperature == 0:
		return notRun("temperature 0, at which two models may well give the same replies: at most %.1f%% of them, between %s%s", 100*most, where, also)
	}
	return pass("%s compared; at most %.1f%% of the texts are the same at the same task and sample, between %s, of %.0f%% allowed%s; two that were exchanged cannot be seen without the weights",
		plural(compared, "pair"), 100*most, where, 100*maxShared, also)
}

// plantCopiedEvaluation puts the replies of one evaluation in another's place.
func plantCopiedEvaluation(rec *artifact.Record) *artifact.Record {
	for i, a := range rec.Evals {
		for j := i + 1; j < len(rec.Evals); j++ {
			b := rec.Evals[j]
			if a.Tasks != b.Tasks || len(a.Replies) < minShared || a.Prompt == b.Prompt && weightsOf(rec, a.Model) == weightsOf(rec, b.Model) {
				continue // of one model under one prompt it would be no fault
			}
			c := clone(rec)
			c.Evals[j].Replies = a.Replies
			return c
		}
	}
	return nil
}

// samplesDiffer compares the samples of an evaluation with each other. They are drawn alike, so that no two of them should be equal in many more
// tasks than two others, however short the replies are; that all are equal everywhere is what temperature 0 gives and no other.
func samplesDiffer(rec *artifact.Record) finding {
	var repeated, pair, spread equals
	var in, at string
	compared, alike := 0, 0
	for _, e := range rec.Evals {
		samples := rec.Plan.SamplesOf(e.EvalRun)
		q := equalSamples(e, samples)
		if samples < 2 || q.tasks < minEqualTasks {
			continue
		}
		compared++
		if rec.Plan.Evaluation.Temperature > 0 {
			if q.most-q.least > maxEqualSpread {
				return fail("%s: samples %d and %d are the same text in %.0f%% of the tasks, two others in %.0f%%; at most %.0f points between them were expected", e.File, q.i, q.j, 100*q.most, 100*q.least, 100*maxEqualSpread)
			}
			if q.least == 1 {
				return fail("%s: all samples of every task are the same text, at temperature %v", e.File, rec.Plan.Evaluation.Temperature)
			}
		}
		if q.least > 1-maxEqualSpread {
			alike++
		}
		if repeated.tasks == 0 || q.any/float64(q.tasks) > repeated.any/float64(repeated.tasks) {
			repeated, in = q, e.Name()
		}
		if q.most > pair.most {
			pair, at = q, e.Name()
		}
		if q.most-q.least > spread.most-spread.least {
			spread = q
		}
	}
	switch {
	case compared == 0:
		return notRun("no evaluation has two samples of %d tasks", minEqualTasks)
	case rec.Plan.Evaluation.Temperature == 0:
		return notRun("temperature 0, at which all samples of a task are one text")
	}
	what := "no two samples of a task are the same text"
	if repeated.any > 0 {
		what = fmt.Sprintf("any two samples are the same text in at most %.0f of %d tasks (%s), two given ones in %.1f%% (%s), and in at most %.1f points more than two others, of %.0f allowed",
			repeated.any, repeated.tasks, in, 100*pair.most, at, 100*(spread.most-spread.least), 100*maxEqualSpread)
	}
	if alike > 0 {
		what += fmt.Sprintf("; in %s a copied sample would not stand out, so often are all alike", plural(alike, "evaluation"))
	}
	return pass("%s; %s compared", what, plural(compared, "evaluation"))
}

// plantRepeatedSample puts the last but one sample of every task in the place of the last, in one evaluation.
func plantRepeatedSample(rec *artifact.Record) *artifact.Record {
	c := clone(rec)
	for i, e := range c.Evals {
		last := rec.Plan.SamplesOf(e.EvalRun) - 1
		if last < 1 {
			continue
		}
		text := placed(e)
		if len(text)/(last+1) < minEqualTasks {
			continue
		}
		c.Evals[i].Replies = slices.Clone(e.Replies)
		for j := range c.Evals[i].Replies {
			if r := &c.Evals[i].Replies[j]; r.Sample == last {
				r.Text = text[at{r.TaskSHA256, last - 1}]
			}
		}
		return c
	}
	return nil
}
