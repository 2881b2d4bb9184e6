package page

import "teamtalk/report/analysis"

// testArmTable is the arm table and the shares on the whole test split.
func (r *writer) testArmTable() (*grid, string) {
	g := r.columns("Model and prompt", "Each run", ">pass@1", "ci_both", "ci_tasks", ">Talk", ">Cut off", ">Tokens")
	if r.doc.Test == nil {
		return g, ""
	}
	for _, key := range r.doc.Test.RowOrder {
		g.row(g.b("text", "rows", key, "display"), g.each(key), g.b("3", "rows", key, "pass1"), g.scoped("ci_both", "3", "rows", key, "ci_both"), g.scoped("ci_tasks", "3", "rows", key, "ci_tasks"),
			g.b("share", "rows", key, "share", "talk"), g.b("%1", "rows", key, "share", "truncated", "rate"), g.b("1", "rows", key, "mean_tokens"))
	}
	return g, "Every model on the whole test split. The intervals and the columns are those of the tables on the held-out tasks."
}

// testQuestions are what the contrasts on the whole test split ask, by their key on the held-out tasks, in the order of the table.
var testQuestions = []struct{ key, asks string }{
	{analysis.Primary, "Recipe minus baseline, each arm under its own prompt"},
	{analysis.Plain, "Recipe minus baseline, both under the plain prompt"},
	{analysis.TalkRecipe, "What training did to the recipe's talk"},
	{analysis.LengthKey, "Recipe minus baseline, length"},
	{analysis.CutKey, "Recipe minus baseline, replies cut off"},
	{analysis.PromptCost, "What the recipe's prompt costs the untrained model"},
	{analysis.GainBaseline, "What training added to the baseline"},
	{analysis.GainRecipe, "What training added to the recipe"},
	{analysis.Memory, "The recipe's runs without their prompt, minus with it"},
}

func (r *writer) testDeltaTable() (*grid, string) {
	g := r.columns("Question", "Measure", ">Difference", "ci_tasks", "ci_runs", "ci_both", "Reads")
	var keys []string
	for _, q := range testQuestions {
		key := analysis.OnTest(q.key)
		c, ok := r.doc.Contrasts[key]
		if !ok {
			continue
		}
		keys = append(keys, key)
		format := formatOf(c)
		g.row(q.asks, g.b("text", "contrasts", key, "metric"), g.b(format, "contrasts", key, "delta"), g.scoped("ci_tasks", format, "contrasts", key, "ci_tasks"),
			g.scoped("ci_runs", format, "contrasts", key, "ci_runs"), g.scoped("ci_both", format, "contrasts", key, "ci_both"), reads(c))
	}
	return g, "Differences on the whole test split. The first is planned, as a secondary comparison; the others are not tests. None is adjusted for their number." + r.cutNote(keys...)
}
