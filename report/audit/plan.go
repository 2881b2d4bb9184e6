package audit

import (
	"slices"
	"strings"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/experiment"
)

// armsDiffer: two arms at one seed differ in exactly the system prompt; two runs of one arm in exactly the seed and its streams.
func armsDiffer(rec *artifact.Record) finding {
	pairs := 0
	for i, a := range rec.Runs {
		for _, b := range rec.Runs[i+1:] {
			sameArm, sameSeed := a.Config.Run.Arm == b.Config.Run.Arm, a.Config.Run.Seed == b.Config.Run.Seed
			if sameArm == sameSeed {
				continue
			}
			ds, err := experiment.ArmDiff(a.Config, b.Config)
			if err != nil {
				return fail("%v", err)
			}
			pairs++
			for _, d := range ds {
				allowed := d.Path == "system_prompt"
				if sameArm {
					allowed = d.Path == "seed" || strings.HasPrefix(d.Path, "streams.")
				}
				if !allowed {
					return fail("%s and %s differ in %s: %s and %s", a.Config.Run.Name, b.Config.Run.Name, d.Path, d.A, d.B)
				}
			}
			if len(ds) == 0 {
				return fail("%s and %s do not differ at all", a.Config.Run.Name, b.Config.Run.Name)
			}
		}
	}
	if pairs == 0 {
		return notRun("there is one run, and nothing to compare it with")
	}
	return pass("%s compared field by field", plural(pairs, "pair"))
}

func plantLearningRate(rec *artifact.Record) *artifact.Record {
	c := clone(rec)
	if len(c.Runs) < 2 {
		return nil
	}
	c.Runs[0].Config.Settings.Training.LearningRate *= 2
	return c
}

// settingsAsPlanned: what a run was given is what the plan resolves to; only the runtime is the trainer's to say.
func settingsAsPlanned(rec *artifact.Record) finding {
	for _, t := range rec.Runs {
		want, err := rec.Plan.RunConfig(t.Config.Run.Arm, t.Config.Run.Seed, t.Config.Settings.Runtime)
		if err != nil {
			return fail("%v", err)
		}
		ds, err := experiment.ArmDiff(want, t.Config)
		if err != nil {
			return fail("%v", err)
		}
		if len(ds) > 0 {
			return fail("%s: %s is %s, planned %s", t.Config.Run.Name, ds[0].Path, ds[0].B, ds[0].A)
		}
	}
	if len(rec.Runs) == 0 {
		return notRun("no run was started")
	}
	return pass("%s", plural(len(rec.Runs), "run"))
}

func plantSteps(rec *artifact.Record) *artifact.Record {
	c := clone(rec)
	for i := range c.Runs {
		c.Runs[i].Config.Settings.Training.MaxSteps++
	}
	return c
}

func seedsPlanned(rec *artifact.Record) finding {
	var have []string
	for _, t := range rec.Runs {
		if t.Final {
			have = append(have, t.Config.Run.Name)
		}
	}
	for _, r := range rec.Plan.Runs() {
		if !slices.Contains(have, r.Name) {
			return fail("%s was planned and is not there", r.Name)
		}
	}
	for _, e := range rec.Plan.Evaluations() {
		if !slices.ContainsFunc(rec.Evals, func(x artifact.EvalRecord) bool { return x.EvalRun == e }) {
			return fail("evaluation %s was planned and is not there", e.Name())
		}
	}
	if rec.Manifest != nil { // a run that is there and was not planned would be one that was chosen afterwards
		for _, f := range rec.Manifest.Files {
			dir, _, _ := strings.Cut(f.Path, "/")
			if strings.HasSuffix(f.Path, "/"+artifact.ConfigFile) && !slices.Contains(have, dir) {
				return fail("%s is there and was not planned", dir)
			}
		}
	}
	seeds := make([]string, len(have))
	copy(seeds, have)
	return pass("planned and run: %s", strings.Join(seeds, ", "))
}

func plantMissingRun(rec *artifact.Record) *artifact.Record {
	c := clone(rec)
	if len(c.Runs) == 0 {
		return nil
	}
	c.Runs = c.Runs[:len(c.Runs)-1]
	return c
}

// seedIdentity: folder, configuration and streams name the same seed, and the order of the train tasks, which the seed alone decides, is
// the same in both arms at a seed and another at another seed.
func seedIdentity(rec *artifact.Record) finding {
	order := map[int64][]int{}
	from := map[int64]string{}
	for _, t := range rec.Runs {
		run := t.Config.Run
		if run.Name != experiment.RunName(run.Arm, run.Seed) || t.Config.Settings.Seed != run.Seed || t.Config.Settings.Streams != rec.Plan.Streams(run.Seed) {
			return fail("%s says seed %d, its settings say %d, and its streams are those of neither", run.Name, run.Seed, t.Config.Settings.Seed)
		}
		var tasks []int
		for _, r := range t.Rollouts {
			if r.Sample == 0 {
				tasks = append(tasks, r.Task)
			}
		}
		if other, ok := order[run.Seed]; !ok {
			order[run.Seed], from[run.Seed] = tasks, run.Name
		} else if n := min(len(other), len(tasks)); !slices.Equal(other[:n], tasks[:n]) {
			return fail("%s and %s have one seed and trained on the tasks in different orders", from[run.Seed], run.Name)
		}
	}
	if len(order) == 0 {
		return notRun("no run was started")
	}
	seeds := rec.Plan.Seeds
	for i, a := range seeds {
		for _, b := range seeds[i+1:] {
			if x, y := order[a], order[b]; len(x) > 3 && slices.Equal(x, y) {
				return fail("seeds %d and %d trained on the tasks in the same order", a, b)
			}
		}
	}
	switch {
	case len(rec.Runs) < 2:
		return notRun("there is one run, and nothing to compare it with")
	case len(order) < 2:
		return notRun("there is one seed, and no other to tell it from; its %s trained on the tasks in one order", plural(len(rec.Runs), "run"))
	case len(order) == len(rec.Runs):
		return pass("%s over %s; no two runs share a seed, so that nothing says which order is whose", plural(len(order), "data order"), plural(len(rec.Runs), "run"))
	}
	return pass("%s over %s", plural(len(order), "data order"), plural(len(rec.Runs), "run"))
}

// plantOneSeedTwice gives two seeds of the first arm what one of them produced. It is a fault with one arm, too, where two exchanged
// seeds could not be told from two that are not.
func plantOneSeedTwice(rec *artifact.Record) *artifact.Record {
	c := clone(rec)
	for i := range c.Runs {
		for j := i + 1; j < len(c.Runs); j++ {
			if c.Runs[i].Config.Run.Arm == c.Runs[j].Config.Run.Arm {
				c.Runs[j].Rollouts = c.Runs[i].Rollouts
				return c
			}
		}
	}
	return nil
}
