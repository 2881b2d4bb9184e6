package stats

import (
	"encoding/json"
	"math"
)

// MarshalJSON writes every number at full precision under the names of the package comment; what cannot be estimated is null.
func (c Comparison) MarshalJSON() ([]byte, error) { return json.Marshal(c.JSON()) }

// ComparisonJSON is a Comparison as files hold it. Pairs are [low, high]; null is what the design cannot give, and what text calls none.
type ComparisonJSON struct {
	Kind    string   `json:"kind"`
	Level   float64  `json:"level"`
	Margin  float64  `json:"margin"`
	Tasks   int      `json:"n"`
	Runs    [2]int   `json:"R"`
	Samples *int     `json:"S"` // null: cells differ
	Dropped []int    `json:"dropped_tasks"`
	Delta   *float64 `json:"delta"`

	CITasks Interval[Tasks]   `json:"ci_tasks"`
	CIRuns  Interval[Runs]    `json:"ci_runs"`
	CIBoth  Interval[Both]    `json:"ci_both"`
	CI90    Interval[Both]    `json:"ci90_both"`
	Scopes  map[string]string `json:"scopes"`
	PTasks  *float64          `json:"p_tasks"`
	PRuns   *float64          `json:"p_runs"`
	PBoth   *float64          `json:"p_both"`

	VTask    *float64 `json:"V_task"`
	VRuns    *float64 `json:"V_runs"`
	VInt     *float64 `json:"V_int"`
	VArmTask *float64 `json:"V_arm_task"`
	DFTasks  int      `json:"df_tasks"`
	DFRuns   *int     `json:"df_runs"`

	Components ComponentsJSON `json:"components"`
	RunMeans   ByArm          `json:"run_means"`
	ArmMeans   [2]*float64    `json:"arm_means"`
	RunSD      *float64       `json:"run_sd_pooled"`
	RunSDRange []*float64     `json:"sigma_runmean_ci95"`
	F          *FJSON         `json:"F_run"`
	WinsLosses [3]int         `json:"wins_losses_ties"`
	SignP      *float64       `json:"sign_test_p"`
	TaskDeltas []float64      `json:"d"`

	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"verdict_reason,omitempty"`
}

// ByArm holds one list per arm.
type ByArm struct {
	A []float64 `json:"A"`
	B []float64 `json:"B"`
}

// ComponentsJSON is Components as files hold it.
type ComponentsJSON struct {
	Run       *float64 `json:"sigma2_run"`
	RunSD     *float64 `json:"sigma_run_trunc"`
	RunTask   *float64 `json:"sigma2_run_task"`
	ArmTask   *float64 `json:"sigma2_arm_task"`
	PerSample *float64 `json:"decode_var_single_sample"`
}

// FJSON is FTest as files hold it.
type FJSON struct {
	F  *float64 `json:"F"`
	DF [2]int   `json:"df"`
	P  *float64 `json:"p"`
}

// JSON is the form of c for files.
func (c Comparison) JSON() ComparisonJSON {
	j := ComparisonJSON{
		Kind: c.Kind.String(), Level: Level, Margin: c.Margin, Tasks: c.Tasks, Runs: [2]int{c.A.Runs, c.B.Runs}, Dropped: append([]int{}, c.Dropped...),
		Delta: finite(c.Delta), CITasks: c.CITasks.Shown(), CIRuns: c.CIRuns.Shown(), CIBoth: c.CIBoth.Shown(), CI90: c.CI90.Shown(),
		Scopes: map[string]string{c.CITasks.Key(): c.CITasks.Over(), c.CIRuns.Key(): c.CIRuns.Over(), c.CIBoth.Key(): c.CIBoth.Over()},
		PTasks: finite(c.CITasks.P(c.PTasks)), PRuns: finite(c.CIRuns.P(c.PRuns)), PBoth: finite(c.CIBoth.P(c.PBoth)),
		VTask: finite(c.VTask), VRuns: finite(c.VRuns), VInt: finite(c.VInt), VArmTask: finite(c.VArmTask), DFTasks: c.DFTasks,
		Components: ComponentsJSON{finite(c.Components.Run), finite(c.Components.RunSD()), finite(c.Components.RunTask), finite(c.Components.ArmTask), finite(c.Components.PerSample)},
		RunMeans:   ByArm{c.A.RunMeans, c.B.RunMeans}, ArmMeans: [2]*float64{finite(c.A.Mean), finite(c.B.Mean)}, RunSD: finite(c.RunSD),
		WinsLosses: [3]int{c.Wins, c.Losses, c.Ties}, SignP: finite(c.SignP), TaskDeltas: c.TaskDeltas,
		Verdict: c.Verdict, Reason: c.Reason,
	}
	if c.Samples > 0 {
		j.Samples = &c.Samples
	}
	if c.DFRuns > 0 {
		j.DFRuns = &c.DFRuns
		j.RunSDRange = []*float64{finite(c.RunSDRange[0]), finite(c.RunSDRange[1])}
		j.F = &FJSON{finite(c.F.F), [2]int{c.F.DF1, c.F.DF2}, finite(c.F.P)}
	}
	return j
}

// finite is x for JSON: nil when it is NaN or infinite, and never -0.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	x = noNegativeZero(x)
	return &x
}

func (k Kind) String() string {
	return [...]string{TwoArms: "two arms", FixedModel: "fixed model and arm", SameRuns: "same runs"}[k]
}
