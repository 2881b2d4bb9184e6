package audit

import (
	"fmt"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/experiment"
)

func disjointText(rec *artifact.Record) finding {
	train, hold := rec.Plan.Data.Train.Tasks, rec.Plan.Data.Holdout.Tasks
	if len(train) == 0 || len(hold) == 0 {
		return fail("nothing is compared: %d train and %d held-out texts", len(train), len(hold))
	}
	if dup := experiment.Overlap(train, hold); len(dup) > 0 {
		return fail("%d of %d held-out tasks are also train tasks, first %s", len(dup), len(hold), dup[0])
	}
	test := testTasks(rec)
	if dup := experiment.Overlap(train, test); len(dup) > 0 {
		return fail("%d of %d tasks of the test split are also train tasks, first train %d = test %d (text %.12s)", len(dup), len(test), dup[0].Train, dup[0].Holdout, dup[0].SHA256)
	}
	if len(test) > 0 {
		return pass("0 of %d held-out texts, and 0 of %d texts of the whole test split, among %d train texts", len(hold), len(test), len(train))
	}
	return pass("0 of %d held-out texts among %d train texts", len(hold), len(train))
}

func plantLeak(rec *artifact.Record) *artifact.Record {
	if len(rec.Plan.Data.Holdout.Tasks) == 0 {
		return nil
	}
	c := clone(rec)
	leaked := rec.Plan.Data.Holdout.Tasks[0]
	leaked.Index = 1 << 20
	c.Plan.Data.Train.Tasks = append([]experiment.Task{leaked}, rec.Plan.Data.Train.Tasks...)
	return c
}

// holdoutPinned: the split hashes to what the plan says, and every run's configuration, written before its first step, names this plan and
// this holdout.
func holdoutPinned(rec *artifact.Record) finding {
	h := rec.Plan.Data.Holdout
	if got := experiment.SplitHash(h.Tasks); got != h.SHA256 {
		return fail("the held-out tasks hash to %.12s, the plan says %.12s", got, h.SHA256)
	}
	test := ""
	if s := rec.Plan.Data.Test; s != nil {
		if test = experiment.SplitHash(s.Tasks); test != s.SHA256 {
			return fail("the tasks of the test split hash to %.12s, the plan says %.12s", test, s.SHA256)
		}
	}
	for _, t := range rec.Runs {
		if t.Config.Settings.Test != test {
			return fail("%s was started with test split %.12s; the plan's is %.12s", t.Config.Run.Name, t.Config.Settings.Test, test)
		}
		if t.Config.PlanSHA256 != rec.PlanSHA256 || t.Config.Settings.Holdout != h.SHA256 {
			return fail("%s was started with plan %.12s and holdout %.12s; the plan is %.12s with holdout %.12s", t.Config.Run.Name,
				t.Config.PlanSHA256, t.Config.Settings.Holdout, rec.PlanSHA256, h.SHA256)
		}
	}
	if len(rec.Runs) == 0 {
		return notRun("no run was started")
	}
	if test != "" {
		return pass("%.12s of %d tasks, and %.12s of the whole test split's %d, in the plan and in %s", h.SHA256, len(h.Tasks), test, len(testTasks(rec)), plural(len(rec.Runs), "configuration"))
	}
	return pass("%s of %d tasks in the plan and in %s", fmt.Sprintf("%.12s", h.SHA256), len(h.Tasks), plural(len(rec.Runs), "configuration"))
}

func plantGold(rec *artifact.Record) *artifact.Record {
	c := clone(rec)
	c.Plan.Data.Holdout.Tasks = append([]experiment.Task(nil), rec.Plan.Data.Holdout.Tasks...)
	c.Plan.Data.Holdout.Tasks[0].Gold += "1"
	return c
}

func holdoutNotTrained(rec *artifact.Record) finding {
	hold, train := map[string]int{}, map[string]int{}
	for _, t := range rec.Plan.Data.Holdout.Tasks {
		hold[t.SHA256] = t.Index
	}
	test := map[string]int{}
	for _, t := range testTasks(rec) {
		test[t.SHA256] = t.Index
	}
	for _, t := range rec.Plan.Data.Train.Tasks {
		train[t.SHA256] = t.Index
	}
	n := 0
	for _, t := range rec.Runs {
		for i, r := range t.Rollouts {
			n++
			if h, ok := hold[r.TaskSHA256]; ok {
				return fail("%s step %d trained on held-out task %d, as train task %d", t.Config.Run.Name, r.Step, h, r.Task)
			}
			if h, ok := test[r.TaskSHA256]; ok {
				return fail("%s step %d trained on task %d of the test split, as train task %d", t.Config.Run.Name, r.Step, h, r.Task)
			}
			if at, ok := train[r.TaskSHA256]; !ok || at != r.Task {
				return fail("%s rollout %d is on task %d (%.12s), which is not a train task of the plan", t.Config.Run.Name, i+1, r.Task, r.TaskSHA256)
			}
		}
	}
	if n == 0 {
		return notRun("there are no rollouts")
	}
	return pass("0 of %d rollouts", n)
}

func plantTrainedHoldout(rec *artifact.Record) *artifact.Record {
	return withRollouts(rec, func(rs []artifact.Rollout) { rs[0].TaskSHA256 = rec.Plan.Data.Holdout.Tasks[0].SHA256 })
}
