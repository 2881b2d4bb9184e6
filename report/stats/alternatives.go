package stats

import "math"

// Alternatives are what other methods in use would print for the same data, so that a reader can place a number computed
// elsewhere. None of them is a headline here: at two runs per arm each covers the truth less often than it says, or is wider than
// it needs to be.
type Alternatives struct {
	// Hillis is the multi-reader interval with one Satterthwaite df for the whole variance (Hillis 2014). DF is NaN, and the
	// normal quantile used, when run means do not vary.
	Hillis           Interval[Both]
	HillisDF         float64
	HillisSE         float64
	Welch            Interval[Runs] // Welch's t test on run means
	WelchDF          float64
	Paired           Interval[Runs] // t on the differences of runs paired by position, as by seed
	PairedDeltas     []float64
	FirstPair        Interval[Tasks] // the first run of each arm and nothing else
	FirstPairDelta   float64
	FirstPairAndRuns Interval[Both] // FirstPair's half-width and ci_runs's in quadrature, around Delta
}

// Alternatives computes the other methods on the data of a comparison of two arms.
func (c Comparison) Alternatives(a, b Rates) Alternatives {
	kept, _ := complete(a, b)
	a, b = pick(a, kept), pick(b, kept)
	var out Alternatives
	if first, err := CompareRates(a[:1], b[:1], c.Margin); err == nil {
		out.FirstPair, out.FirstPairDelta = first.CITasks, first.Delta
	}
	if c.A.Runs == c.B.Runs && c.A.Runs > 1 {
		out.PairedDeltas = make([]float64, c.A.Runs)
		for i := range out.PairedDeltas {
			out.PairedDeltas[i] = c.B.RunMeans[i] - c.A.RunMeans[i]
		}
		df := float64(c.A.Runs - 1)
		half := tUpper(alpha, df) * math.Sqrt(variance(out.PairedDeltas)/float64(c.A.Runs))
		out.Paired = around[Runs](mean(out.PairedDeltas), half, Level)
	} else {
		out.Paired = absent[Runs]("pairing needs the same number of runs, two or more, in both arms")
	}
	if c.DFRuns == 0 {
		out.Hillis, out.FirstPairAndRuns = absent[Both](c.Reason), absent[Both](c.Reason)
		out.Welch, out.HillisDF, out.HillisSE, out.WelchDF = absent[Runs](c.Reason), math.NaN(), math.NaN(), math.NaN()
		return out
	}
	v := c.VRuns + c.VArmTask
	out.HillisSE, out.HillisDF = math.Sqrt(v), math.NaN()
	t := normQuantile(1 - alpha/2)
	if c.VRuns > 0 {
		out.HillisDF = sq(v) / (sq(c.VRuns) / float64(c.DFRuns))
		t = tUpper(alpha, out.HillisDF)
	}
	out.Hillis = around[Both](c.Delta, t*out.HillisSE, Level)

	va, vb := c.A.S2Run/float64(c.A.Runs), c.B.S2Run/float64(c.B.Runs)
	out.WelchDF = sq(va+vb) / (sq(va)/float64(c.A.Runs-1) + sq(vb)/float64(c.B.Runs-1)) // NaN when neither varies
	if va+vb > 0 {
		out.Welch = around[Runs](c.Delta, tUpper(alpha, out.WelchDF)*math.Sqrt(va+vb), Level)
	} else {
		out.Welch = absent[Runs]("the run means do not vary")
	}
	runs := tUpper(alpha, float64(c.DFRuns)) * math.Sqrt(va+vb)
	out.FirstPairAndRuns = around[Both](c.Delta, math.Sqrt(sq(out.FirstPair.Half())+sq(runs)), Level)
	return out
}
