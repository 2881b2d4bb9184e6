package stats

import "math"

// Arm is what one arm shows by itself. Fields that need a second run, or a second sample, are NaN without one.
type Arm struct {
	Runs     int
	RunMeans []float64 // each run's mean over tasks: print these, never only Mean
	Mean     float64
	S2Run    float64 // variance of the run means, df Runs−1
	MSRT     float64 // run × task mean square, df (Runs−1)(tasks−1)
	// Decode is e², the variance of one cell's rate that comes from sampling alone: the mean of y(1−y)/(samples−1).
	Decode float64
	// PerSample is the mean variance p(1−p) of a single answer, without bias.
	PerSample float64
	taskMeans []float64
	rates     Rates   // of the kept tasks
	copies    [][]int // runs that are one run
	name      string  // with labels, what a reason calls the arm and its runs
	labels    []string
}

// RunSD is the standard deviation of the run means, NaN for one run.
func (a Arm) RunSD() float64 { return math.Sqrt(a.S2Run) }

// DecodeSD is the standard deviation that sampling alone gives a run's mean over tasks.
func (a Arm) DecodeSD() float64 { return math.Sqrt(a.Decode / float64(len(a.taskMeans))) }

// newArm decomposes y[run][task], which has no missing cell, into run means, task means and the interaction.
func newArm(y Rates) Arm {
	runs, n := len(y), len(y[0])
	a := Arm{Runs: runs, RunMeans: make([]float64, runs), taskMeans: make([]float64, n),
		S2Run: math.NaN(), MSRT: math.NaN(), Decode: math.NaN(), PerSample: math.NaN()}
	for i, run := range y {
		a.RunMeans[i] = mean(run)
	}
	for t := range a.taskMeans {
		sum := 0.0
		for i := range y {
			sum += y[i][t]
		}
		a.taskMeans[t] = sum / float64(runs)
	}
	a.Mean = mean(a.RunMeans)
	a.rates, a.copies = y, copies(y)
	if runs < 2 {
		return a
	}
	a.S2Run = snap(variance(a.RunMeans), a.Mean)
	ss := 0.0
	for i, run := range y {
		for t, v := range run {
			ss += sq(v - a.taskMeans[t] - a.RunMeans[i] + a.Mean)
		}
	}
	a.MSRT = snap(ss/float64((runs-1)*(n-1)), a.Mean)
	return a
}

// called is the arm under the names that text about it needs.
func (a Arm) called(name string, runs []string) Arm {
	a.name, a.labels = name, runs
	return a
}

// armOf is newArm of the kept tasks' rates with their decoding noise.
func armOf(o Outcomes, kept []int) Arm {
	o = pick(o, kept)
	a := newArm(o.Rates())
	a.addDecoding(o)
	return a
}

// addDecoding fills Decode and PerSample from the samples inside the cells. A cell with one sample says nothing about p(1−p) and
// takes the mean of the others.
func (a *Arm) addDecoding(o Outcomes) {
	perSample, withTwo := 0.0, 0
	for _, run := range o {
		for _, c := range run {
			if c.Samples >= 2 {
				perSample += float64(c.Rate()*(1-c.Rate())) * float64(c.Samples) / float64(c.Samples-1)
				withTwo++
			}
		}
	}
	if withTwo == 0 {
		return
	}
	a.PerSample = perSample / float64(withTwo)
	decode, cells := 0.0, 0
	for _, run := range o {
		for _, c := range run {
			if c.Samples >= 2 {
				decode += float64(c.Rate()*(1-c.Rate())) / float64(c.Samples-1)
			} else {
				decode += a.PerSample
			}
			cells++
		}
	}
	a.Decode = decode / float64(cells)
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// variance has the n−1 divisor.
func variance(x []float64) float64 {
	m, ss := mean(x), 0.0
	for _, v := range x {
		ss += sq(v - m)
	}
	return ss / float64(len(x)-1)
}

// snap sets to zero a variance that is only the rounding of equal numbers near level: counts out of a thousand samples, tasks
// and runs each cannot make a true variance that small.
func snap(v, level float64) float64 {
	if v <= 1e-26*max(1, sq(level)) {
		return 0
	}
	return v
}
