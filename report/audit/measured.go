package audit

import (
	"fmt"

	"teamtalk/recipe/artifact"
	"teamtalk/report/analysis"
	"teamtalk/report/stats"
)

// measured are the checks that report a measurement and cannot fail by it; whether it was made is what passes. They have no negative
// control, and say so by having none.
func measured(r *analysis.Report) []artifact.Check {
	check := func(id, title, source string, ok bool, why, format string, args ...any) artifact.Check {
		c := artifact.Check{ID: id, Title: title, Source: source, Status: artifact.Pass}
		if !ok {
			c.Status, c.Value = artifact.NotRun, why
			return c
		}
		c.Value = fmt.Sprintf(format, args...)
		return c
	}
	var out []artifact.Check
	cost, ok := r.Contrasts[analysis.PromptCost]
	if ok {
		pair, err := cost.CITasks.For("ci_tasks")
		if err != nil {
			pair = "no interval"
		}
		out = append(out, check("prompt_cost", "What the recipe's prompt costs before training is measured", "kim2026", true, "",
			"%s pass@1, %s over new tasks, for this one untrained model", stats.Signed(float64(cost.Delta), 3), pair))
	} else {
		out = append(out, check("prompt_cost", "What the recipe's prompt costs before training is measured", "kim2026", false, "the untrained model was not evaluated under both prompts", ""))
	}
	primary, ok := r.Contrasts[analysis.Primary]
	if !ok {
		why := "the primary comparison has no result"
		return append(out, check("decode_noise", "The noise of sampling is measured", "lambert2025evaluation", false, why, ""),
			check("run_variance", "The noise of training is measured", "lambert2025evaluation", false, why, ""))
	}
	k := primary.Components
	out = append(out, check("decode_noise", "The noise of sampling is measured", "lambert2025evaluation", k.DecodeSDA.OK() && k.DecodeSDB.OK(), "one sample per task tells nothing about sampling",
		"standard deviation of a run's pass@1 from sampling alone: %s and %s, %d degrees of freedom a run", stats.Fixed(float64(k.DecodeSDA), 4), stats.Fixed(float64(k.DecodeSDB), 4), k.DecodeDF))
	return append(out, check("run_variance", "The noise of training is measured", "lambert2025evaluation", k.RunMeanSD.OK(), primary.Reason,
		"standard deviation of a run's pass@1: %s, known only to %s to %s; F = %s on %d and %d degrees of freedom, p %s (a large p would be no evidence of none)",
		stats.Fixed(float64(k.RunMeanSD), 4), stats.Fixed(float64(k.RunMeanSDLo), 4), stats.Fixed(float64(k.RunMeanSDHi), 4), stats.Fixed(float64(k.F), 2), k.FDF1, k.FDF2, stats.PValue(float64(k.FP))))
}
