package page

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/experiment"
	"teamtalk/report/analysis"
)

// grid is a Markdown table under its caption.
type grid struct {
	r     *writer
	head  []string
	right []bool
	rows  [][]string
	err   error
}

// columns starts a table; a name that begins with ">" is aligned to the right.
func (r *writer) columns(names ...string) *grid {
	g := &grid{r: r}
	for _, n := range names {
		name, right := strings.CutPrefix(n, ">")
		g.head, g.right = append(g.head, name), append(g.right, right)
	}
	return g
}

// b binds a cell.
func (g *grid) b(format string, tokens ...any) string {
	s, err := g.r.bind(format, tokens...)
	if err != nil && g.err == nil {
		g.err = err
	}
	return s
}

// scoped binds an interval under a column that names its scope; another scope's interval is an error.
func (g *grid) scoped(column, format string, tokens ...any) string {
	if last := tokens[len(tokens)-1]; last != column && g.err == nil {
		g.err = fmt.Errorf("page: interval %v in a column for %s", last, column)
	}
	return g.b("pair:"+format, tokens...)
}

func (g *grid) row(cells ...string) { g.rows = append(g.rows, cells) }

// md writes the table; caption is Markdown.
func (g *grid) md(caption string) (string, error) {
	if g.err != nil {
		return "", g.err
	}
	g.r.tables++
	var b strings.Builder
	fmt.Fprintf(&b, "**Table %d.** %s\n\n|", g.r.tables, caption)
	for _, h := range g.head {
		b.WriteString(" " + h + " |")
	}
	b.WriteString("\n|")
	for _, right := range g.right {
		b.WriteString(map[bool]string{true: "--:|", false: "---|"}[right])
	}
	b.WriteString("\n")
	for _, row := range g.rows {
		if len(row) != len(g.head) {
			return "", fmt.Errorf("page: a row of %d cells in a table of %d columns: %q", len(row), len(g.head), row)
		}
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
	return b.String(), nil
}

// tableByName is what templates call: the table, or nothing when there are no rows for it.
func (r *writer) tableByName(name string) (string, error) {
	make, ok := map[string]func() (*grid, string){
		"arms": r.armTable, "shares": r.shareTable, "deltas": r.deltaTable, "others": r.otherTable, "components": r.componentTable, "designs": r.designTable,
		"checks": r.checkTable, "phases": r.phaseTable, "rounds": r.roundTable, "flips": r.flipTable, "settings": r.settingTable,
		"evaluation": r.evaluationTable, "proof": r.proofTable, "runs": r.runTable, "environment": r.environmentTable, "inputs": r.inputTable,
		"curves": r.curveTable, "test arms": r.testArmTable, "test deltas": r.testDeltaTable,
	}[name]
	if !ok {
		return "", fmt.Errorf("page: no table is called %q", name)
	}
	g, caption := make()
	if g.err == nil && len(g.rows) == 0 {
		return "", nil
	}
	return g.md(caption)
}

func (r *writer) armTable() (*grid, string) {
	ks := r.doc.Plan.Evaluation.Ks
	head := []string{"Model and prompt", "Each run", ">pass@1", "ci_both", "ci_tasks"}
	for _, k := range ks {
		if k > 1 {
			head = append(head, fmt.Sprintf(">pass@%d", k))
		}
	}
	g := r.columns(head...)
	for _, key := range r.doc.RowOrder {
		each := g.each(key)
		cells := []string{g.b("text", "rows", key, "display"), each, g.b("3", "rows", key, "pass1"), g.scoped("ci_both", "3", "rows", key, "ci_both"), g.scoped("ci_tasks", "3", "rows", key, "ci_tasks")}
		for _, k := range ks {
			if k > 1 {
				cells = append(cells, g.b("3", "rows", key, "pass", k))
			}
		}
		g.row(cells...)
	}
	return g, "Every model under every prompt. ci_both is over new training runs and new tasks, ci_tasks over new tasks for these models; the untrained model has no training runs. pass@k is estimated inside each run and then averaged: samples of different runs are never pooled."
}

// each is the score of every run of a row.
func (g *grid) each(key string) string {
	w := g.r.doc.Rows[key]
	each := make([]string, len(w.Each))
	for i := range w.Each {
		each[i] = g.b("3", "rows", key, "pass1_each", i)
	}
	if !w.Trained {
		return "one model"
	}
	return strings.Join(each, ", ")
}

func (r *writer) shareTable() (*grid, string) {
	g := r.columns("Model and prompt", ">Talk", "ci_tasks", ">Turns", ">Cut off", "ci_tasks", ">Answered", ">Work shown", ">Right, of those", ">Tokens")
	for _, key := range r.doc.RowOrder {
		share := func(name string) string { return g.b("share", "rows", key, "share", name) }
		rate := func(name string) string { return g.b("%1", "rows", key, "share", name, "rate") }
		ci := func(name string) string { return g.scoped("ci_tasks", "3", "rows", key, "share", name, "ci_tasks") }
		g.row(g.b("text", "rows", key, "display"), share("talk"), ci("talk"), g.b("1", "rows", key, "mean_turns"), rate("truncated"), ci("truncated"), rate("answered"), rate("worked"), rate("worked_right"),
			g.b("1", "rows", key, "mean_tokens"))
	}
	return g, "What the replies look like, all runs together. Intervals count tasks and not replies, so that a share of zero has an honest upper bound. Talk is the turn counter's verdict; work shown means a calculation with an equals sign."
}

func (r *writer) deltaTable() (*grid, string) {
	g := r.columns("Comparison", ">Difference", "ci_tasks", "ci_runs", "ci_both", ">p (both)", "Verdict")
	for _, key := range []string{analysis.Primary, analysis.Plain} {
		c, ok := r.doc.Contrasts[key]
		if !ok {
			continue
		}
		label := map[string]string{analysis.Primary: "Primary: each arm under its own prompt", analysis.Plain: "Secondary: both arms under the plain prompt"}[key]
		g.row(label, g.b("+3", "contrasts", key, "delta"), g.scoped("ci_tasks", "+3", "contrasts", key, "ci_tasks"), g.scoped("ci_runs", "+3", "contrasts", key, "ci_runs"),
			g.scoped("ci_both", "+3", "contrasts", key, "ci_both"), g.b("3", "contrasts", key, "p_both"), string(c.Verdict))
	}
	return g, "Recipe minus baseline, pass@1. ci_tasks holds for these models on new tasks, ci_runs for new training runs on these tasks, ci_both for new training runs on new tasks. The verdict reads ci_both and nothing else." + r.cutNote(analysis.Primary, analysis.Plain)
}

// otherTable are the contrasts that are not between arms.
func (r *writer) otherTable() (*grid, string) {
	g := r.columns("Question", "Measure", ">Difference", "ci_tasks", "ci_both", "Reads")
	ask := map[string]string{
		analysis.PromptCost: "What the recipe's prompt costs the untrained model", analysis.GainBaseline: "What training added to the baseline",
		analysis.GainRecipe: "What training added to the recipe", analysis.Memory: "The recipe's runs without their prompt, minus with it",
		analysis.TalkRecipe: "What training did to the recipe's talk", analysis.PassKey: "Recipe minus baseline, at the largest k", analysis.LengthKey: "Recipe minus baseline, length",
	}
	for _, key := range r.doc.ContrastOrder {
		c := r.doc.Contrasts[key]
		label, ok := ask[key]
		if !ok {
			continue
		}
		format := formatOf(c)
		g.row(label, g.b("text", "contrasts", key, "metric"), g.b(format, "contrasts", key, "delta"), g.scoped("ci_tasks", format, "contrasts", key, "ci_tasks"), g.scoped("ci_both", format, "contrasts", key, "ci_both"), reads(c))
	}
	return g, "Other differences, not planned as tests and not adjusted for their number. The baseline's replies under its own prompt are also its replies under the plain one, so that the rows share data." + r.cutNote(analysis.TalkRecipe, analysis.PromptCost, analysis.GainBaseline, analysis.GainRecipe, analysis.Memory, analysis.PassKey)
}

// formatOf is how a difference and its intervals are written.
func formatOf(c *analysis.Contrast) string {
	if c.Metric == "tokens" {
		return "+1"
	}
	return "+3"
}

// reads says what a difference may be called.
func reads(c *analysis.Contrast) string {
	switch {
	case !c.CIBoth.OK():
		return "these models only"
	case c.Verdict != "":
		return string(c.Verdict)
	}
	return map[string]string{"up": "higher", "down": "lower", "": "not separated"}[separated(c)]
}

func (r *writer) componentTable() (*grid, string) {
	g := r.columns("Source of variation", ">Estimate", "What it is")
	c, ok := r.doc.Contrasts[analysis.Primary]
	if !ok || c.Components == nil {
		return g, ""
	}
	at := func(format, name string) string {
		return g.b(format, "contrasts", analysis.Primary, "components", name)
	}
	v := func(name string) string { return g.b("+6", "contrasts", analysis.Primary, name) }
	g.row("training again, variance", at("+6", "run"), "moves a run's true score; negative estimates are shown as they come")
	g.row("training again, task by task, variance", at("+6", "run_task"), "moves single tasks")
	g.row("arm by task, variance", at("+6", "arm_task"), "the arms suit different tasks")
	g.row("one reply, variance", at("6", "per_sample"), "asking again")
	g.row("standard deviation of a run's score", at("4", "run_mean_sd"), "between "+at("4", "run_mean_sd_lo")+" and "+at("4", "run_mean_sd_hi")+", so few runs tell little")
	g.row("of that, from sampling replies", at("4", "decode_sd_a")+" and "+at("4", "decode_sd_b"), "per arm, "+at("i", "decode_df")+" degrees of freedom a run")
	g.row("F test of run-to-run variance", at("2", "f"), "on "+at("i", "f_df1")+" and "+at("i", "f_df2")+" degrees of freedom, p "+at("p", "f_p")+"; a large p is no evidence of none")
	g.row("variance of the difference, tasks", v("V_task"), "the first term of ci_both")
	g.row("variance of the difference, runs", v("V_runs"), "the second")
	g.row("counted in both", v("V_int"), "taken out once")
	return g, "Where the uncertainty of the primary comparison comes from."
}

func (r *writer) designTable() (*grid, string) {
	g := r.columns(">Runs per arm", ">Tasks", ">Samples", ">Half-width of ci_both", ">Difference found four times in five", ">Device time", "Note")
	for i, o := range r.doc.Design.Options {
		at := func(format, name string) string { return g.b(format, "design", "options", i, name) }
		mark := ""
		if o.Actual {
			mark = "this run"
		}
		if c := r.doc.Design.Cheapest; c != nil && c.Runs == o.Runs && c.Tasks == o.Tasks && c.Samples == o.Samples {
			mark = "cheapest that would resolve the difference seen"
		}
		g.row(at("i", "runs_per_arm"), at("i", "tasks"), at("i", "samples"), at("3", "half_width"), at("3", "mde80"), at("dur", "device_seconds"), mark)
	}
	return g, "What other designs could tell, by the variances measured in this run, and what they would cost at this run's speed. The variances are estimates themselves."
}

func (r *writer) checkTable() (*grid, string) {
	g := r.columns("Check", "Status", "Found", "Negative control", "Source")
	for i, c := range r.doc.Checks {
		control := "none: a measurement"
		if c.Control.Planted != "" {
			control = g.b("text", "checks", i, "control", "planted") + map[bool]string{true: ": caught", false: ": **not caught**"}[c.Control.Caught]
		}
		if c.Status == artifact.NotRun {
			control = "not run"
		}
		source := "artifacts"
		if c.Source != "" {
			s, err := r.cite(c.Source)
			if err != nil && g.err == nil {
				g.err = err
			}
			source = s
		}
		status := string(c.Status)
		if c.Status != artifact.Pass {
			status = "**" + status + "**"
		}
		g.row(g.b("text", "checks", i, "title"), status, g.b("text", "checks", i, "value"), control, source)
	}
	return g, "Checks. A check that passes counts only if the same code fails on a planted fault; one that does not is vacuous."
}

func (r *writer) phaseTable() (*grid, string) {
	g := r.columns("Phase", ">Times", ">Wall clock", ">Device time", ">Tokens", ">Peak memory, MiB", ">Peak device memory, MiB")
	line := func(name string, tokens ...any) {
		at := func(format, field string) string { return g.b(format, append(slices.Clone(tokens), field)...) }
		g.row(name, at("i", "count"), at("dur", "seconds"), at("dur", "device_seconds"), at("i", "tokens"), at("MiB", "peak_host_bytes"), at("MiB", "peak_device_bytes"))
	}
	for i := range r.doc.Cost.Phases {
		line(g.b("text", "cost", "phases", i, "name"), "cost", "phases", i)
	}
	if len(r.doc.Cost.Phases) > 0 {
		line("total", "cost", "total")
	}
	if r.doc.Cost.SideBySide {
		return g, "What it took. Worker processes ran side by side: wall clock counts such time once, in each line and in the total, so that lines can add up to more than the total; device time is wall clock times devices held, a share where processes share one, summed over processes; peaks are the largest of a process. Money is not counted: no price is in the artifacts."
	}
	return g, "What it took. Wall clock is summed over phases, also where they ran side by side; device time is wall clock times devices held; peaks are the largest of the phases. Money is not counted: no price is in the artifacts."
}

func (r *writer) roundTable() (*grid, string) {
	g := r.columns(">Round", "What changed", "Measure", ">Value", ">Minus the other arm", ">Both under the plain prompt", ">Talk")
	own := r.doc.Plan.Primary.B + "-" + r.doc.Plan.Primary.B
	this := func(round, changed, metric string) {
		cells := []string{round, changed, metric, g.b("3", "rows", own, "pass1")}
		for _, key := range []string{analysis.Primary, analysis.Plain} {
			cell := None
			if r.doc.Contrasts[key] != nil {
				cell = g.b("+3", "contrasts", key, "delta")
			}
			cells = append(cells, cell)
		}
		g.row(append(cells, g.b("%1", "rows", own, "share", "talk", "rate"))...)
	}
	noted := false
	for i, rd := range r.doc.Rounds {
		round, changed, metric := g.b("i", "rounds", i, "round"), g.b("text", "rounds", i, "changed"), g.b("text", "rounds", i, "metric")
		if rd.Plan == r.doc.Run.PlanSHA256 && rd.Value == nil && r.doc.Rows[own] != nil {
			noted = true
			this(round, changed, metric)
			continue
		}
		cells := []string{round, changed, metric}
		for _, c := range []struct {
			format, key string
			value       *float64
		}{{"3", "value", rd.Value}, {"+3", "difference", rd.Difference}, {"+3", "plain_difference", rd.PlainDifference}, {"%1", "talk", rd.Talk}} {
			if c.value == nil {
				cells = append(cells, None)
				continue
			}
			cells = append(cells, g.b(c.format, "rounds", i, c.key))
		}
		g.row(cells...)
	}
	if len(r.doc.Rounds) > 0 && !noted && r.doc.Rows[own] != nil {
		this("this run", "nothing more: this is the run of this page", "pass@1 "+Inline(r.doc.Plan.Primary.B))
	}
	return g, "The attempts, as they were noted, and this run among them: pass@1 of the arm that was worked on, what it differs by from the other arm, each under its own prompt and both under the plain one, and the share of its replies that talk. All are means over the attempt's own runs and tasks, without intervals; attempts differ in more than what they changed on purpose, if only in rounding."
}

// flipTable lists the tasks on which the arms differ most.
func (r *writer) flipTable() (*grid, string) {
	const most = 14
	g := r.columns(">Task", "Gold", "Baseline, right of replies", "Recipe, right of replies", ">Difference", "Class")
	idx := r.differing()
	cells := func(i int, arm string) string {
		var out []string
		for _, e := range r.doc.Rows[arm+"-"+arm].Evals {
			out = append(out, g.b("i", "tasks", i, "cells", e, "right")+"/"+g.b("i", "tasks", i, "cells", e, "graded"))
		}
		return strings.Join(out, ", ")
	}
	for _, i := range idx[:min(most, len(idx))] {
		t := r.doc.Tasks[i]
		g.row(g.b("i", "tasks", i, "index"), g.b("text", "tasks", i, "gold"), cells(i, r.doc.Plan.Primary.A), cells(i, r.doc.Plan.Primary.B), g.b("+3", "tasks", i, "delta"), string(t.Flip))
	}
	return g, "The tasks on which the arms differ most in either direction, by the size of the difference over all tasks; one fraction per training run. Class says which arms solve the task by majority. All tasks are in `tasks.csv`."
}

// settingTable lists every training setting from the plan.
func (r *writer) settingTable() (*grid, string) {
	return r.flat("training", "Every training setting, shared by all arms; the names are TRL's and PEFT's.")
}

func (r *writer) evaluationTable() (*grid, string) {
	return r.flat("evaluation", "Every evaluation setting, shared by all arms.")
}

func (r *writer) flat(part, caption string) (*grid, string) {
	g := r.columns("Setting", "Value")
	var v any = r.doc.Plan.Training
	if part == "evaluation" {
		v = r.doc.Plan.Evaluation
	}
	flat, err := experiment.Flatten(v)
	if err != nil {
		g.err = err
		return g, caption
	}
	paths := make([]string, 0, len(flat))
	for p := range flat {
		paths = append(paths, p)
	}
	slices.SortFunc(paths, naturalOrder)
	for _, p := range paths {
		tokens := []any{"plan", part}
		for _, t := range strings.Split(p, ".") {
			tokens = append(tokens, t)
		}
		if flat[p] == "[]" {
			continue
		}
		g.row(Code(p), g.b("code", tokens...))
	}
	return g, caption
}

// naturalOrder sorts "x.2" before "x.10".
func naturalOrder(a, b string) int {
	i, j := strings.LastIndexByte(a, '.'), strings.LastIndexByte(b, '.')
	if i > 0 && j > 0 && a[:i] == b[:j] {
		x, errA := strconv.Atoi(a[i+1:])
		y, errB := strconv.Atoi(b[j+1:])
		if errA == nil && errB == nil {
			return x - y
		}
	}
	return strings.Compare(a, b)
}

func (r *writer) proofTable() (*grid, string) {
	g := r.columns("Run", "Run", ">Settings compared", "Settings that differ")
	for i := range r.doc.Settings {
		g.row(g.b("code", "arm_differences", i, "a"), g.b("code", "arm_differences", i, "b"), g.b("i", "arm_differences", i, "compared"), g.b("list", "arm_differences", i, "paths"))
	}
	return g, "The arms, compared field by field from the configurations that the runs were started with."
}

func (r *writer) runTable() (*grid, string) {
	g := r.columns("Planned run", "Made", ">Steps", ">pass@1, own prompt", ">Talk", ">Cut off", ">Sampler-trainer difference, largest mean of a step", ">Of a single token")
	flat := false
	for i, name := range r.doc.PlannedRuns {
		made := map[bool]string{true: "yes", false: "**no**"}[slices.Contains(r.doc.DoneRuns, name)]
		steps, pass, talk, cutOff, diff, token := None, None, None, None, None, None
		if c, ok := r.doc.Curves[name]; ok {
			if len(c.Steps) > 0 { // a run that was opened may not have had its first step
				steps = g.b("i", "curves", name, "steps", len(c.Steps)-1)
				if c.FlatSteps > 0 {
					flat = true
					steps += ", " + g.b("i", "curves", name, "flat_steps") + " of one reward in each group"
				}
				diff, token = g.b("~2", "curves", name, "max_logp_difference"), g.b("~2", "curves", name, "max_token_logp_difference")
			}
			if e, ok := r.doc.Evals[name+"-"+c.Arm]; ok {
				pass, talk, cutOff = g.b("3", "evals", e.Name(), "pass", "1"), g.b("share", "evals", e.Name(), "share", "talk"), g.b("%1", "evals", e.Name(), "share", "truncated", "rate")
			}
		}
		g.row(g.b("code", "planned_runs", i), made, steps, pass, talk, cutOff, diff, token)
	}
	note := ""
	if flat {
		note = " A step with one reward in each group had no gradient: nothing was learned in it, and no difference measured."
	}
	return g, "Planned runs and what became of them." + note + " The number of runs was fixed in the plan; adding one after looking would break every interval."
}

func (r *writer) environmentTable() (*grid, string) {
	g := r.columns("What", "Value")
	for i, s := range r.doc.Sessions {
		at := func(name string, format string, field ...any) {
			label := name
			if len(r.doc.Sessions) > 1 {
				label += ", session of " + g.b("code", "sessions", i, "started")
			}
			g.row(label, g.b(format, append([]any{"sessions", i}, field...)...))
		}
		at("started", "code", "started")
		at("backend", "code", "backend")
		at("device", "code", "device")
		at("devices", "i", "devices")
		if s.Processes > 0 {
			at("worker processes", "i", "processes")
		}
		if s.Plugin.Version != "" {
			at("plugin "+Code(s.Plugin.Name), "code", "plugin", "version")
		}
		at("platform", "code", "platform")
		at("processors", "i", "cpus")
		at("Go", "code", "go")
		at("commit", "code", "commit")
		at("local changes", "text", "dirty")
		for j, m := range s.Modules {
			at(Code(m.Path), "code", "modules", j, "version")
		}
	}
	return g, "Environment, as recorded by the processes that worked on the run."
}

func (r *writer) inputTable() (*grid, string) {
	g := r.columns("Input", "SHA-256")
	g.row("plan", g.b("code", "run", "plan_sha256"))
	if r.doc.Run.ManifestSHA256 != "" {
		g.row("manifest of the run", g.b("code", "run", "manifest_sha256"))
	}
	g.row("train split", g.b("code", "plan", "data", "train", "sha256"))
	g.row("held-out split", g.b("code", "plan", "data", "holdout", "sha256"))
	if r.doc.Plan.Data.Test != nil {
		g.row("whole test split", g.b("code", "plan", "data", "test", "sha256"))
	}
	for i, f := range r.doc.Plan.Data.Files {
		g.row("data, "+Code(f.Name), g.b("code", "plan", "data", "files", i, "sha256"))
	}
	for i, f := range r.doc.Plan.Model.Files {
		g.row("model, "+Code(f.Name), g.b("code", "plan", "model", "files", i, "sha256"))
	}
	return g, "Checksums that this page stands on."
}

func (r *writer) curveTable() (*grid, string) {
	g := r.columns("Run", ">Reward", ">Length, tokens", ">Cut off", ">Talk", ">Groups of one reward", ">Entropy, nats")
	for _, name := range r.doc.CurveOrder {
		if len(r.doc.Curves[name].Steps) == 0 {
			continue
		}
		pair := func(format, key string) string {
			return g.b(format, "curves", name, "first_quarter", key) + " to " + g.b(format, "curves", name, "last_quarter", key)
		}
		g.row(Code(name), pair("3", analysis.Reward), pair("0", analysis.Length), pair("%1", analysis.Clipped), pair("%1", analysis.Talk), pair("%1", analysis.ZeroStd), pair("3", analysis.Entropy))
	}
	return g, "Training, mean of the first quarter of the steps to mean of the last."
}
