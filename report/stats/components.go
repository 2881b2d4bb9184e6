package stats

import "math"

// Components are the variances behind the difference, per run and per task, as estimated: a negative estimate is shown with its
// sign and floored only where it is used. NaN is what the design cannot estimate.
type Components struct {
	Run       float64 // σ²_run = S²_p − MS_rt/n: training again moves a run's true mean
	RunTask   float64 // σ²_run×task = MS_rt − e²: training again moves single tasks
	ArmTask   float64 // σ²_arm×task = S²_d − MS_rt(1/R_A + 1/R_B): the arms differ by task
	PerSample float64 // p(1−p): one answer drawn again
}

// RunSD is σ_run with a negative estimate taken as 0.
func (c Components) RunSD() float64 { return rootFloored(c.Run) }

func rootFloored(v float64) float64 {
	if math.IsNaN(v) {
		return v
	}
	return math.Sqrt(max(v, 0))
}

// newComponents takes what sampling puts into MS_rt as decode.
func newComponents(c *Comparison, share, decode float64) Components {
	nan := math.NaN()
	out := Components{Run: nan, RunTask: nan, ArmTask: nan, PerSample: (c.A.PerSample + c.B.PerSample) / 2}
	if c.DFRuns > 0 {
		out.Run = c.S2Run - c.MSRT/float64(c.Tasks)
		out.RunTask = c.MSRT - decode
		out.ArmTask = c.S2D - float64(c.MSRT*share)
	}
	return out
}

// FTest asks whether run means differ by more than run × task and decoding noise explain: F = n·S²_p/MS_rt on (ν, ν(n−1)).
// A large P is not evidence that training again changes nothing: with few runs the test has little power.
type FTest struct {
	F        float64 // NaN when nothing varies
	DF1, DF2 int
	P        float64
}

func fTest(s2run, msrt float64, dfRuns, n int) FTest {
	f := FTest{F: math.NaN(), DF1: dfRuns, DF2: dfRuns * (n - 1), P: math.NaN()}
	if msrt > 0 {
		f.F = float64(float64(n)*s2run) / msrt
		f.P = fUpper(f.F, float64(f.DF1), float64(f.DF2))
	}
	return f
}

// SDFactor is what an estimated standard deviation with df degrees of freedom is multiplied by to get the ends of its 95%
// interval: 0.52 and 6.28 at df 2.
func SDFactor(df int) (lo, hi float64) {
	nu := float64(df)
	return math.Sqrt(nu / chi2Quantile(1-alpha/2, nu)), math.Sqrt(nu / chi2Quantile(alpha/2, nu))
}

func sdRange(sd float64, df int) [2]float64 {
	lo, hi := SDFactor(df)
	return [2]float64{float64(sd * lo), float64(sd * hi)}
}
