package stats

import (
	"fmt"
	"math"
	"slices"
)

// splitMix64 is Steele, Lea and Flood's generator (OOPSLA 2014): the same draws in any language.
type splitMix64 uint64

func (s *splitMix64) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// float is uniform on [0, 1) with 53 bits.
func (s *splitMix64) float() float64 { return float64(s.next()>>11) / (1 << 53) }

func (s *splitMix64) index(n int) int { return int(s.float() * float64(n)) }

// SignFlipDraws is the number of random flips that SignFlip makes when the tasks are too many to try all.
const SignFlipDraws = 10_000

const mostExactFlips = 20

// SignFlip is the two-sided p value of the mean of d under flips of the signs of its values: all 2^n for n ≤ 20, else SignFlipDraws
// random ones from seed, with p = (extreme+1)/(draws+1). exact says which. It is about these trained models on new tasks.
func SignFlip(d []float64, seed uint64) (p float64, exact bool) {
	if len(d) == 0 {
		return 1, true
	}
	sum, size := 0.0, 0.0
	for _, v := range d {
		sum += v
		size += math.Abs(v)
	}
	least := math.Abs(sum) - float64(1e-12*size) // the same values summed with other signs may round differently
	extreme := 0
	if len(d) <= mostExactFlips {
		// Gray code: each step flips one sign.
		s, sign := sum, make([]float64, len(d))
		for i := range sign {
			sign[i] = 1
		}
		all := 1 << len(d)
		for code := 1; ; code++ {
			if math.Abs(s) >= least {
				extreme++
			}
			if code == all {
				return float64(extreme) / float64(all), true
			}
			bit := 0
			for code>>bit&1 == 0 {
				bit++
			}
			sign[bit] = -sign[bit]
			s += float64(2 * sign[bit] * d[bit])
		}
	}
	rng := splitMix64(seed)
	for range SignFlipDraws {
		s := 0.0
		for _, v := range d {
			if rng.next()>>63 == 1 {
				v = -v
			}
			s += v
		}
		if math.Abs(s) >= least {
			extreme++
		}
	}
	return float64(extreme+1) / float64(SignFlipDraws+1), false
}

// Bootstrapped is what resampling the tasks says about a mean. Means of rates do not need it (ci_tasks agrees); skewed numbers such
// as length do, and BCa is the interval to read there.
type Bootstrapped struct {
	Percentile, BCa Interval[Tasks]
	Z0, Accel       float64 // bias correction and acceleration (Efron 1987, JASA 82:171)
	SE              float64
	replicates      []float64 // in the order drawn
}

// Bootstrap resamples the tasks, never the runs or the samples, draws times from seed. d is one number per task.
func Bootstrap(d []float64, draws int, seed uint64) (Bootstrapped, error) {
	if len(d) < 2 || draws < 2 {
		return Bootstrapped{}, fmt.Errorf("bootstrap of %d tasks with %d draws: expected at least 2 of each", len(d), draws)
	}
	rng := splitMix64(seed)
	reps := make([]float64, draws)
	for b := range reps {
		sum := 0.0
		for range d {
			sum += d[rng.index(len(d))]
		}
		reps[b] = sum / float64(len(d))
	}
	out := Bootstrapped{replicates: reps, SE: math.Sqrt(variance(reps))}
	sorted := slices.Clone(reps)
	slices.Sort(sorted)
	out.Percentile = between[Tasks](quantile7(sorted, alpha/2), quantile7(sorted, 1-alpha/2), Level)
	if out.SE == 0 {
		out.BCa = out.Percentile
		return out, nil
	}
	m, below := mean(d), 0.0
	for _, v := range reps {
		switch {
		case v < m:
			below++
		case v == m:
			below += 0.5
		}
	}
	below = min(max(below, 0.5), float64(draws)-0.5)
	out.Z0 = normQuantile(below / float64(draws))
	cubes, squares := 0.0, 0.0
	for _, v := range d { // the jackknife of a mean, up to a factor that cancels
		cubes += float64(sq(v-m) * (v - m))
		squares += sq(v - m)
	}
	out.Accel = cubes / (6 * math.Pow(squares, 1.5))
	adjusted := func(z float64) float64 {
		return normCDF(out.Z0 + (out.Z0+z)/(1-float64(out.Accel*(out.Z0+z))))
	}
	z := normQuantile(1 - alpha/2)
	out.BCa = between[Tasks](quantile7(sorted, adjusted(-z)), quantile7(sorted, adjusted(z)), Level)
	return out, nil
}

// quantile7 interpolates linearly between order statistics (type 7 of Hyndman and Fan 1996).
func quantile7(sorted []float64, p float64) float64 {
	h := float64(p * float64(len(sorted)-1))
	i := int(h)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + float64((h-float64(i))*(sorted[i+1]-sorted[i]))
}
