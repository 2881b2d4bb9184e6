package analysis

import (
	"fmt"
	"slices"
	"strings"

	"teamtalk/recipe/experiment"
	"teamtalk/report/stats"
)

// Contrast is B minus A with its three intervals. Which words may stand beside it is decided by Verdict, which stats takes from the
// interval over new runs and new tasks.
type Contrast struct {
	Key    string   `json:"key"`
	A      string   `json:"a"` // rows of the arm table
	B      string   `json:"b"`
	Metric string   `json:"metric"`
	Files  []string `json:"files"` // evaluations it was computed from

	MeanA    Num                         `json:"mean_a"`
	MeanB    Num                         `json:"mean_b"`
	Delta    Num                         `json:"delta"`
	CITasks  stats.Interval[stats.Tasks] `json:"ci_tasks"`
	CIRuns   stats.Interval[stats.Runs]  `json:"ci_runs"`
	CIBoth   stats.Interval[stats.Both]  `json:"ci_both"`
	CI90     stats.Interval[stats.Both]  `json:"ci_both_90"`
	PTasks   Num                         `json:"p_tasks"`
	PRuns    Num                         `json:"p_runs"`
	PBoth    Num                         `json:"p_both"`
	VTask    Num                         `json:"V_task"`
	VRuns    Num                         `json:"V_runs"`
	VInt     Num                         `json:"V_int"`
	VArmTask Num                         `json:"V_arm_task"`
	DFTasks  int                         `json:"df_tasks"`
	DFRuns   int                         `json:"df_runs"`
	RunsA    []Num                       `json:"runs_a"` // each run's mean
	RunsB    []Num                       `json:"runs_b"`
	Half     Num                         `json:"half_both"`

	Components *Components `json:"components,omitempty"`
	Wins       int         `json:"wins"`
	Losses     int         `json:"losses"`
	Ties       int         `json:"ties"`
	SignP      Num         `json:"sign_p"`
	Tasks      int         `json:"tasks"`
	Dropped    int         `json:"dropped"` // tasks without a graded reply in some run

	Verdict stats.Verdict `json:"verdict,omitempty"` // empty where no training run is on either side, or the metric is no score
	Reason  string        `json:"reason,omitempty"`
	Margin  Num           `json:"margin"`
	// Sentence is what stats lets be said, every interval with its scope; Spread says how little is known of run-to-run noise.
	Sentence string `json:"sentence,omitempty"`
	Spread   string `json:"spread,omitempty"`

	Stats stats.Comparison `json:"-"`
}

// Components are the variances behind a difference.
type Components struct {
	Run         Num `json:"run"`
	RunTask     Num `json:"run_task"`
	ArmTask     Num `json:"arm_task"`
	PerSample   Num `json:"per_sample"`
	RunSD       Num `json:"run_sd"`         // sqrt of Run, negative as 0
	RunMeanSD   Num `json:"run_mean_sd"`    // of one run's mean
	RunMeanSDLo Num `json:"run_mean_sd_lo"` // its 95% interval
	RunMeanSDHi Num `json:"run_mean_sd_hi"`
	DecodeSDA   Num `json:"decode_sd_a"` // what sampling alone gives a run's mean
	DecodeSDB   Num `json:"decode_sd_b"`
	DecodeDF    int `json:"decode_df"` // per run
	F           Num `json:"f"`
	FDF1        int `json:"f_df1"`
	FDF2        int `json:"f_df2"`
	FP          Num `json:"f_p"`
}

func newContrast(key, a, b, metric string, c stats.Comparison, files []string) *Contrast {
	half, _ := c.HalfBoth()
	out := &Contrast{
		Key: key, A: a, B: b, Metric: metric, Files: files,
		MeanA: Num(c.A.Mean), MeanB: Num(c.B.Mean), Delta: Num(c.Delta), CITasks: c.CITasks, CIRuns: c.CIRuns, CIBoth: c.CIBoth, CI90: c.CI90,
		PTasks: Num(c.PTasks), PRuns: Num(c.PRuns), PBoth: Num(c.PBoth), VTask: Num(c.VTask), VRuns: Num(c.VRuns), VInt: Num(c.VInt), VArmTask: Num(c.VArmTask),
		DFTasks: c.DFTasks, DFRuns: c.DFRuns, RunsA: nums(c.A.RunMeans), RunsB: nums(c.B.RunMeans), Half: Num(half),
		Wins: c.Wins, Losses: c.Losses, Ties: c.Ties, SignP: Num(c.SignP), Tasks: c.Tasks, Dropped: len(c.Dropped),
		Verdict: c.Verdict, Reason: c.Reason, Margin: Num(c.Margin), Stats: c,
	}
	if metric != "pass@1" && c.DFRuns > 0 && c.VRuns == 0 {
		// All runs came out alike, so that the interval is over tasks alone: it must not be read as one over new runs.
		out.CIBoth = stats.None[stats.Both]("no two runs of an arm differ, so that the spread between runs cannot be estimated")
		out.CI90 = stats.None[stats.Both]("no two runs of an arm differ")
	}
	if metric == "pass@1" {
		k := c.Components
		out.Components = &Components{Run: Num(k.Run), RunTask: Num(k.RunTask), ArmTask: Num(k.ArmTask), PerSample: Num(k.PerSample), RunSD: Num(k.RunSD()),
			RunMeanSD: Num(c.RunSD), RunMeanSDLo: Num(c.RunSDRange[0]), RunMeanSDHi: Num(c.RunSDRange[1]),
			DecodeSDA: Num(c.A.DecodeSD()), DecodeSDB: Num(c.B.DecodeSD()), DecodeDF: c.Tasks * max(c.Samples-1, 0),
			F: Num(c.F.F), FDF1: c.F.DF1, FDF2: c.F.DF2, FP: Num(c.F.P)}
	}
	return out
}

// Keys of the contrasts beside the plan's comparisons.
const (
	Primary      = "primary"       // the plan's primary comparison
	Plain        = "plain"         // both arms under the plain prompt
	PromptCost   = "prompt_cost"   // the untrained model: the recipe's prompt minus the plain one
	GainBaseline = "gain_baseline" // what training added to the baseline, under its own prompt
	GainRecipe   = "gain_recipe"
	Memory       = "memory"      // the recipe's runs: plain prompt minus own prompt
	TalkRecipe   = "talk_recipe" // share of conversations: trained minus untrained, recipe's prompt
	PassKey      = "pass_k"      // primary at the largest k
	LengthKey    = "length"      // primary in mean tokens

	Test   = "test" // the primary comparison on the whole test split; the others there are called OnTest of their keys
	CutKey = "cut"  // there alone: primary in the share of replies that are cut off
)

// OnTest is the key of a contrast on the whole test split that has the key given on the held-out tasks.
func OnTest(key string) string {
	if key == Primary {
		return Test
	}
	return "test_" + key
}

// contrasts computes every contrast that the evaluations on the held-out tasks, or on the whole test split, allow. It returns their keys.
func (r *Report) contrasts(tasks string) (order []string, err error) {
	plan := &r.Plan
	named := func(key string) string {
		if tasks == experiment.TasksTest {
			return OnTest(key)
		}
		return key
	}
	add := func(key string, a, b *Row, metric string, c stats.Comparison, err error) error {
		if err != nil {
			return fmt.Errorf("analysis: %s: %w", named(key), err)
		}
		key = named(key)
		con := newContrast(key, a.Key, b.Key, metric, c, append(append([]string{}, a.Files...), b.Files...))
		if len(a.Runs) == 0 && len(b.Runs) == 0 {
			con.Verdict, con.Reason = "", "" // one model that no training made: nothing to train again
		}
		if !strings.HasPrefix(metric, "pass@") {
			con.Verdict = "" // more talk, or more tokens, is neither better nor worse
			if c.DFRuns > 0 {
				con.Reason = "" // what the runs showed decided a verdict that is not given
			}
		}
		if con.Verdict != "" {
			con.PTasks, con.PRuns, con.PBoth = Num(c.CITasks.P(c.PTasks)), Num(c.CIRuns.P(c.PRuns)), Num(c.CIBoth.P(c.PBoth))
			con.Sentence, con.Spread = c.Sentence(stats.Names{A: a.Display, B: b.Display, Metric: metric}), c.RunSpread()
		}
		r.Contrasts[key] = con
		order = append(order, key)
		return nil
	}
	row := func(arm, prompt string) *Row { return r.Rows[rowKey(arm, prompt, tasks)] }
	promptOf := func(c experiment.Comparison, arm string) string {
		if c.Prompt == experiment.PromptPlain {
			return plan.BaselineArm().Name
		}
		return arm
	}
	two := func(key string, cmp experiment.Comparison) error {
		a, b := row(cmp.A, promptOf(cmp, cmp.A)), row(cmp.B, promptOf(cmp, cmp.B))
		if cmp.Tasks != tasks || a == nil || b == nil {
			return nil
		}
		c, err := stats.CompareArms(a.named(), b.named(), plan.Margin)
		return add(key, a, b, "pass@1", c, err)
	}
	if err := two(Primary, plan.Primary); err != nil {
		return nil, err
	}
	for _, s := range plan.Secondary {
		key := s.Prompt
		if s.Tasks != "" && s.Prompt == experiment.PromptOwn {
			key = Primary
		}
		if err := two(key, s); err != nil {
			return nil, err
		}
	}
	A, B := plan.Primary.A, plan.Primary.B
	basePlain, baseTeam := row(experiment.Base, A), row(experiment.Base, B)
	ownA, ownB, plainB := row(A, A), row(B, B), row(B, A)
	if basePlain != nil && baseTeam != nil {
		c, err := stats.CompareSameRuns(basePlain.right(), baseTeam.right(), plan.Margin)
		if err := add(PromptCost, basePlain, baseTeam, "pass@1", c, err); err != nil {
			return nil, err
		}
	}
	if basePlain != nil && ownA != nil {
		c, err := stats.CompareFixed(basePlain.right(), ownA.right(), plan.Margin, others(ownB)...)
		if err := add(GainBaseline, basePlain, ownA, "pass@1", c, err); err != nil {
			return nil, err
		}
	}
	if baseTeam != nil && ownB != nil {
		c, err := stats.CompareFixed(baseTeam.right(), ownB.right(), plan.Margin, others(ownA)...)
		if err := add(GainRecipe, baseTeam, ownB, "pass@1", c, err); err != nil {
			return nil, err
		}
		talk := func(e *Eval) []stats.Cell { return e.Talk }
		c, err = stats.CompareFixed(baseTeam.outcomes(talk), ownB.outcomes(talk), plan.Margin)
		if err := add(TalkRecipe, baseTeam, ownB, "talk", c, err); err != nil {
			return nil, err
		}
	}
	if ownB != nil && plainB != nil && slices.Equal(ownB.Runs, plainB.Runs) { // of an unfinished run one may be there without the other
		c, err := stats.CompareSameRuns(ownB.right(), plainB.right(), plan.Margin)
		if err := add(Memory, ownB, plainB, "pass@1", c, err); err != nil {
			return nil, err
		}
	}
	if ownA != nil && ownB != nil {
		if k := largest(r.ks(tasks)); k > 1 {
			a, errA := ownA.right().PassAtK(k)
			b, errB := ownB.right().PassAtK(k)
			if errA == nil && errB == nil {
				c, err := stats.CompareRates(a, b, plan.Margin)
				if err := add(PassKey, ownA, ownB, fmt.Sprintf("pass@%d", k), c, err); err != nil {
					return nil, err
				}
			}
		}
		c, err := stats.CompareRates(ownA.lengths(), ownB.lengths(), 0)
		if err := add(LengthKey, ownA, ownB, "tokens", c, err); err != nil {
			return nil, err
		}
		if tasks == experiment.TasksTest {
			cut := func(e *Eval) []stats.Cell { return e.Cut }
			c, err := stats.Compare(ownA.outcomes(cut), ownB.outcomes(cut), plan.Margin)
			if err := add(CutKey, ownA, ownB, "cut off", c, err); err != nil {
				return nil, err
			}
		}
	}
	return order, nil
}

func others(row *Row) []stats.Outcomes {
	if row == nil {
		return nil
	}
	return []stats.Outcomes{row.right()}
}

func largest(ks []int) int {
	k := 0
	for _, x := range ks {
		k = max(k, x)
	}
	return k
}
