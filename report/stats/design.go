package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/integrate/quad"
)

// Plan is what a design is judged by before there is a result: standard deviations of the effects on the scale of the rate, and
// the variance p(1−p) of one answer.
type Plan struct {
	RunSD     float64 // σ_run: training again moves a run's mean over all tasks
	ArmTaskSD float64 // σ_arm×task
	RunTaskSD float64 // σ_run×task
	PerSample float64 // mean p(1−p)
}

// Assumed are planning values for a model of one to two billion parameters on grade-school mathematics. They are assumptions, made before
// anything was measured; text that uses them says so.
var Assumed = Plan{RunSD: 0.012, ArmTaskSD: 0.08, RunTaskSD: 0.10, PerSample: 0.11}

// PlanFrom takes the measured components of a comparison, negative estimates as 0. It is an error when the design could not
// estimate one: then plan with assumed values.
func PlanFrom(c Comparison) (Plan, error) {
	k := c.Components
	p := Plan{RunSD: k.RunSD(), ArmTaskSD: rootFloored(k.ArmTask), RunTaskSD: rootFloored(k.RunTask), PerSample: k.PerSample}
	for _, v := range []float64{p.RunSD, p.ArmTaskSD, p.RunTaskSD, p.PerSample} {
		if math.IsNaN(v) {
			return Plan{}, fmt.Errorf("this comparison has no estimate of every variance component (it needs two runs per arm and two samples per task): plan with assumed ones")
		}
	}
	return p, nil
}

// Design is how many runs, tasks and samples per task a comparison has.
type Design struct{ RunsA, RunsB, Tasks, Samples int }

func (d Design) String() string {
	runs := counted(d.RunsA, "run") + " per arm"
	if d.RunsA != d.RunsB {
		runs = fmt.Sprintf("%d and %d runs", d.RunsA, d.RunsB)
	}
	return fmt.Sprintf("%s × %s × %s", runs, counted(d.Tasks, "task"), counted(d.Samples, "sample"))
}

// counted is a number with its noun: "1 run", "2 runs".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Check says what keeps a design from having an interval over new training runs and new tasks.
func (d Design) Check() error {
	switch {
	case d.RunsA < 2 || d.RunsB < 2:
		return fmt.Errorf("%s: expected at least 2 runs per arm, since one run says nothing about training again", d)
	case d.Tasks < 2 || d.Samples < 1:
		return fmt.Errorf("%s: expected at least 2 tasks and 1 sample", d)
	}
	return nil
}

// Resolution is what a design can tell under a plan.
type Resolution struct {
	Design  Design
	SDDelta float64 // standard deviation of the difference over new runs and new tasks
	Half    float64 // half-width of ci_both at the planned components
	Half90  float64 // half-width of its 90% interval, which the verdict "equivalent" reads
	MDE80   float64 // the smallest true difference that ci_both separates from 0 in 80% of repetitions
	DFRuns  int

	fixed, perS2 float64 // squared half-width of ci_both: the arm × task term, and the run term at S²_p = its mean
}

// Resolve computes what the design can tell before there is a result.
func (d Design) Resolve(p Plan) (Resolution, error) {
	if err := d.Check(); err != nil {
		return Resolution{}, err
	}
	n := float64(d.Tasks)
	share := 1/float64(d.RunsA) + 1/float64(d.RunsB)
	vArmTask := sq(p.ArmTaskSD) / n
	vRuns := float64((sq(p.RunSD) + (sq(p.RunTaskSD)+p.PerSample/float64(d.Samples))/n) * share)
	r := Resolution{Design: d, DFRuns: d.RunsA + d.RunsB - 2, SDDelta: math.Sqrt(vArmTask + vRuns)}
	r.fixed = float64(sq(tUpper(alpha, n-1)) * vArmTask)
	r.perS2 = float64(sq(tUpper(alpha, float64(r.DFRuns))) * vRuns)
	r.Half = math.Sqrt(r.fixed + r.perS2)
	r.Half90 = joint(0.10, d.Tasks-1, vArmTask, r.DFRuns, vRuns)
	r.MDE80 = bisectUp(r.Power, 0.80, r.Half)
	return r, nil
}

// Power is the chance that ci_both excludes 0 when the true difference is delta. S²_p is averaged over its χ² distribution; the
// arm × task term, which has many degrees of freedom, is taken as known.
func (r Resolution) Power(delta float64) float64 {
	if r.SDDelta == 0 {
		return map[bool]float64{true: 1, false: 0}[delta != 0]
	}
	return overChi(r.DFRuns, func(s float64) float64 {
		half := math.Sqrt(r.fixed + float64(sq(s)*r.perS2))
		return normCDF((delta-half)/r.SDDelta) + normCDF((-delta-half)/r.SDDelta)
	})
}

// NoncentralTPower is the chance that a two-sided 5% t test with df degrees of freedom rejects at noncentrality lambda.
func NoncentralTPower(lambda float64, df int) float64 {
	t := tUpper(alpha, float64(df))
	return overChi(df, func(s float64) float64 {
		return normCDF(lambda-float64(t*s)) + normCDF(-lambda-float64(t*s))
	})
}

var legendreX, legendreW = func() ([]float64, []float64) {
	x, w := make([]float64, 128), make([]float64, 128)
	quad.Legendre{}.FixedLocations(x, w, 0, 1)
	return x, w
}()

// overChi is the mean of f(s) over s = √(χ²_df/df), by Gauss–Legendre quadrature on a range that leaves out less than 1e-16.
func overChi(df int, f func(s float64) float64) float64 {
	nu := float64(df)
	lg, _ := math.Lgamma(nu / 2)
	logC := math.Ln2 + float64(nu/2*math.Log(nu/2)) - lg
	lo := math.Sqrt(max(0, nu-float64(10*math.Sqrt(2*nu))) / nu)
	hi := math.Sqrt((nu + float64(10*math.Sqrt(2*nu)) + 75) / nu)
	sum := 0.0
	for i, x := range legendreX {
		s := lo + float64((hi-lo)*x)
		density := math.Exp(logC + float64((nu-1)*math.Log(s)) - float64(nu*sq(s)/2))
		sum += float64(legendreW[i] * (hi - lo) * density * f(s))
	}
	return sum
}

// bisectUp finds x ≥ 0 at which the increasing f reaches target; start is a first guess of the range.
func bisectUp(f func(float64) float64, target, start float64) float64 {
	if start == 0 {
		return 0
	}
	lo, hi := 0.0, start
	for f(hi) < target {
		lo, hi = hi, 2*hi
	}
	for i := 0; i < 60; i++ {
		mid := (lo + hi) / 2
		if f(mid) < target {
			lo = mid
		} else {
			hi = mid
		}
	}
	return (lo + hi) / 2
}

// Cheapest is the cheapest of the candidates that would separate a true difference of delta from 0 in 80% of repetitions, at the
// components of the plan; ties go to the earlier candidate. found is false when none would, or delta is 0.
func Cheapest(p Plan, delta float64, candidates []Design, cost func(Design) float64) (best Resolution, found bool, err error) {
	for _, d := range candidates {
		r, err := d.Resolve(p)
		if err != nil {
			return Resolution{}, false, err
		}
		if r.MDE80 <= math.Abs(delta) && (!found || cost(d) < cost(best.Design)) {
			best, found = r, true
		}
	}
	return best, found, nil
}

// MostRuns bounds the search of RunsToResolve; a plan that needs more should add tasks.
const MostRuns = 100

// RunsToResolve is the least number of runs per arm, up to MostRuns, at which the design's tasks and samples would separate delta
// from 0 in 80% of repetitions; 0 when no such number would.
func RunsToResolve(p Plan, d Design, delta float64) int {
	resolves := func(runs int) bool {
		r, err := Design{runs, runs, d.Tasks, d.Samples}.Resolve(p)
		return err == nil && r.Power(delta) >= 0.80
	}
	if delta == 0 || !resolves(MostRuns) {
		return 0
	}
	lo, hi := 1, MostRuns // resolves(hi), not resolves(lo)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; resolves(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// RunsRow is what R training runs per arm can tell, in units of the standard deviation of a run's mean.
type RunsRow struct {
	Runs, DF  int
	T         float64    // t quantile of DF
	Half      float64    // half-width of ci_runs
	Lambda80  float64    // noncentrality at 80% power
	MDE80     float64    // difference with 80% power
	SDFactor  [2]float64 // the run SD is known to within these factors
	MinP      float64    // least p of the exact permutation of run labels
	PairAbove float64    // pairing runs by seed pays only above this correlation
}

// NewRunsRow computes the row for runs ≥ 2 per arm.
func NewRunsRow(runs int) (RunsRow, error) {
	if runs < 2 {
		return RunsRow{}, fmt.Errorf("%d runs per arm: expected at least 2", runs)
	}
	df := 2*runs - 2
	r := RunsRow{Runs: runs, DF: df, T: tUpper(alpha, float64(df)), MinP: MinPermutationP(runs, runs)}
	perRun := math.Sqrt(2 / float64(runs))
	r.Half = r.T * perRun
	r.Lambda80 = bisectUp(func(l float64) float64 { return NoncentralTPower(l, df) }, 0.80, r.T)
	r.MDE80 = r.Lambda80 * perRun
	r.SDFactor[0], r.SDFactor[1] = SDFactor(df)
	r.PairAbove = 1 - sq(r.T/tUpper(alpha, float64(runs-1)))
	return r, nil
}

// BonferroniT is the t quantile when m differences are all to be confirmed at 5% together.
func BonferroniT(m, df int) float64 { return tUpper(alpha/float64(m), float64(df)) }

// TaskOnlyCoverage is how often a 95% interval over tasks covers the recipe's true difference when training runs add a variance
// of rho times the task variance: 2Φ(z/√(1+ρ)) − 1.
func TaskOnlyCoverage(rho float64) float64 {
	return float64(2*normCDF(normQuantile(1-alpha/2)/math.Sqrt(1+rho))) - 1
}
