package audit

import (
	"fmt"

	"teamtalk/recipe/artifact"
)

// rules lists the checks that are functions of the record, from what the result rests on most.
func rules(s Subject) []rule {
	return []rule{
		{"manifest", "Every file is what the manifest says", "", manifest(s), "one byte of one checksum", plantChecksum},
		{"regrade", "Grading every reply again gives the recorded verdict and the recorded turns", "lambert2025evaluation", regrade,
			"one verdict turned round", plantVerdict},
		{"all_graded", "Every reply has a grade, and every task all its samples", "lambert2025evaluation", allGraded, "one reply without a grade", func(rec *artifact.Record) *artifact.Record {
			return withReplies(rec, func(rs []artifact.Reply) { rs[0].Verdict.Reward = nil })
		}},
		{"evaluations_differ", "No two evaluations hold the same replies", "", evaluationsDiffer, "one evaluation's replies in place of another's", plantCopiedEvaluation},
		{"samples_differ", "No sample of an evaluation is a copy of another", "", samplesDiffer, "the last sample of every task replaced by the one before it", plantRepeatedSample},
		{"disjoint_text", "No held-out question is a train question, compared by text", "lambert2025evaluation", disjointText, "the first held-out task among the train tasks, under another number", plantLeak},
		{"holdout_pinned", "The holdout was fixed before training", "lambert2025evaluation", holdoutPinned, "another gold answer for the first held-out task", plantGold},
		{"holdout_not_trained", "No rollout is on a held-out task", "lambert2025evaluation", holdoutNotTrained, "one rollout on a held-out task, under a train number", plantTrainedHoldout},
		{"arms_differ_in_prompt", "Arms differ in the prompt and in nothing else", "", armsDiffer, "twice the learning rate in one run", plantLearningRate},
		{"settings_as_planned", "Every run had the planned settings", "", settingsAsPlanned, "one step more in every run", plantSteps},
		{"seeds_planned", "Every planned run was made and evaluated, and no other", "", seedsPlanned, "the last run left out", plantMissingRun},
		{"seed_identity", "A seed names the same data order in both arms, and another in each run of an arm", "", seedIdentity, "the rollouts of one seed in place of another's", plantOneSeedTwice},
		{"steps_complete", "Every run has all its steps, with all their rollouts", "", stepsComplete, "the last step's rollouts left out", plantLostStep},
		{"metrics_recompute", "The logged metrics follow from the rollouts", "shao2024", metricsRecompute, "one hundredth added to one step's reward", func(rec *artifact.Record) *artifact.Record {
			return withSteps(rec, func(v map[string]float64) { v["reward"] += 0.01 })
		}},
		{"learning_rate", "The logged learning rate follows the plan's schedule", "", learningRate, "twice the learning rate in one step", func(rec *artifact.Record) *artifact.Record {
			return withSteps(rec, func(v map[string]float64) { v[learningRateKey] *= 2 })
		}},
		{"advantages", "Advantages are the reward minus the group mean", "shao2024", advantages, "one advantage with its sign turned", plantAdvantage},
		{"finite", "Rewards and gradients are finite in every step, and a gradient is there whenever a group is mixed", "shao2024", finite, "a gradient norm of zero in the last mixed step", plantZeroGradient},
		{"sampler_trainer", "The sampler and the trainer are the same model", "shao2024", samplerTrainer, "ten times the allowed difference in one step", func(rec *artifact.Record) *artifact.Record {
			return withSteps(rec, func(v map[string]float64) { v[logpKey] = 10 * rec.Plan.Training.MaxLogpDifference })
		}},
		{"proxy_is_target", "What is rewarded is what is measured", "gao2023", proxyIsTarget, "a reward by another name", func(rec *artifact.Record) *artifact.Record {
			c := clone(rec)
			c.Plan.Training.Reward = "judge"
			return c
		}},
		{"same_cap", "Both arms have the same reply cap, in training and in evaluation, and no reply is longer", "", sameCap, "a reply one token over the cap", func(rec *artifact.Record) *artifact.Record {
			return withReplies(rec, func(rs []artifact.Reply) { rs[0].Tokens = rec.Plan.Evaluation.MaxCompletionLength + 1 })
		}},
		{"finish_reason", "No reply is called cut off that ended before the cap", "", finishReason, "a reply one token short of the cap, called cut off", plantCutOff},
		{"truncation", "Few replies are cut off, so that the comparison is not one of length", "", truncation, "every reply of one evaluation cut off", func(rec *artifact.Record) *artifact.Record {
			return withReplies(rec, func(rs []artifact.Reply) {
				for i := range rs {
					rs[i].FinishReason = artifact.Length
				}
			})
		}},
		{"answered", "Both arms answer about equally often, so that the comparison is not one of format", "", answered, "no answer in any reply of one arm's first run", plantNoAnswers},
		{"length_drift", "No run's replies became twice as long or half as long", "", lengthDrift, "three times the tokens in the last quarter of one run", plantLength},
		{"hack_scan", "No run took to a habit that could please the grader without solving", "gao2023", hackScan, "two different boxes in every reply of the last quarter of one run", plantBoxes},
		{"zero_variance", "Enough groups are mixed to learn from", "shao2024", zeroVariance, "every reply of one run right", plantAllRight},
		{"kl", "The KL term is as planned", "shao2024", kl, "a KL weight in the plan, and no KL in the log", func(rec *artifact.Record) *artifact.Record {
			c := clone(rec)
			c.Plan.Training.Beta = 0.04
			return c
		}},
		{"environment", "One commit, without local changes, made the run", "", environment, "a session of another commit", func(rec *artifact.Record) *artifact.Record {
			c := clone(rec)
			other := artifact.Env{Commit: "another", Devices: 1}
			c.Sessions = append(c.Sessions, other)
			return c
		}},
		{"ledger", "The ledger's attempts are numbered without a gap", "", ledger, "the last attempt numbered one higher", plantGap},
		{"recorded_checks", "Every check that only the trainer can make is recorded", "", recordedChecks, "the check of contamination left out", plantLostCheck},
		{"recorded_values", "What the trainer's checks say fits the plan, the replies and their own outcome", "", recordedValues, "a digit more in the number of shared texts of a check that passed", plantShared},
	}
}

// HowToSeal says what to do with a run that has no manifest.
const HowToSeal = "finish it with `go run ./recipe -resume DIR`, or, if it shall stay as it is or was sealed and lost the file, `go run ./recipe seal -because WHY DIR`"

func manifest(s Subject) func(*artifact.Record) finding {
	return func(rec *artifact.Record) finding {
		if rec.Manifest == nil && len(rec.Missing) == 0 {
			return fail("%s is missing, though every planned run and evaluation is there: %s", artifact.ManifestFile, HowToSeal)
		}
		if rec.Manifest == nil {
			return fail("the run is not complete: %d planned files are missing, first %s; %s", len(rec.Missing), first(rec.Missing), HowToSeal)
		}
		faults, err := rec.Manifest.Verify(s.FS, false)
		if err != nil {
			return fail("the folder cannot be read: %v", err)
		}
		if len(faults) > 0 {
			return fail("%d files differ, first %s", len(faults), faults[0])
		}
		weights := 0
		for _, f := range rec.Manifest.Files {
			if f.Optional {
				weights++
			}
		}
		// Which weights are here is left out: a copy with them and one without have the same report.
		return pass("%d files match; besides, %s of weights are listed, which a copy may leave out", len(rec.Manifest.Files)-weights, plural(weights, "file"))
	}
}

func plantChecksum(rec *artifact.Record) *artifact.Record {
	if rec.Manifest == nil {
		return nil
	}
	c, m := clone(rec), *rec.Manifest
	m.Files = append([]artifact.FileEntry(nil), m.Files...)
	for i, f := range m.Files {
		if !f.Optional {
			last := f.SHA256[63:]
			m.Files[i].SHA256 = f.SHA256[:63] + map[bool]string{true: "1", false: "0"}[last == "0"]
			break
		}
	}
	c.Manifest = &m
	return c
}

// environment asks for one commit in every process that computed. One that wrote the plan alone, and opened no device, may have run an
// earlier one: a plan is committed before it is run, and the plan's hash says that it was not changed since.
func environment(rec *artifact.Record) finding {
	if len(rec.Sessions) == 0 {
		return fail("no session is recorded")
	}
	var computed []artifact.Env
	planned := ""
	for i, s := range rec.Sessions {
		switch {
		case s.Commit == "":
			return fail("session %d does not say which commit it ran", i+1)
		case s.Dirty:
			return fail("session %d ran commit %.12s with local changes", i+1, s.Commit)
		case s.Devices == 0:
			planned = s.Commit
		case len(computed) > 0 && s.Commit != computed[0].Commit:
			return fail("session %d ran commit %.12s, an earlier one %.12s", i+1, s.Commit, computed[0].Commit)
		default:
			computed = append(computed, s)
		}
	}
	if len(computed) == 0 {
		return fail("no session opened a device: nothing was computed")
	}
	f := pass("commit %.12s, %s", computed[0].Commit, plural(len(computed), "session"))
	if planned != "" && planned != computed[0].Commit {
		f = pass("commit %.12s, %s; the plan was written before, at %.12s", computed[0].Commit, plural(len(computed), "session"), planned)
	}
	return f
}

func proxyIsTarget(rec *artifact.Record) finding {
	if r := rec.Plan.Training.Reward; r != "math_equal" {
		return fail("training rewards %s, evaluation counts math_equal", r)
	}
	return pass("both are the grader's verdict: there is no proxy to over-optimise")
}

func first(xs []string) string {
	if len(xs) == 0 {
		return "none"
	}
	return xs[0]
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
