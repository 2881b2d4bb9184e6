package stats

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Separate training runs never answer many tasks in exactly the same way: what does is one run under several names, one checkpoint
// evaluated again without sampling, or a seed that did not reach the training. Such runs show no spread between training runs, however
// many they are, and would pass for a spread of zero with the degrees of freedom of as many runs.

// leastRepeated is how many tasks have to repeat before runs are called copies. A task counts once for every run that repeats
// it, and only where its rate is not the run's most common one: that two runs both solve the tasks that everyone solves says nothing.
const leastRepeated = 10

// copies groups the runs of y, which has no missing cell, that have the same rate on every task, by index; groups of one run and groups
// that so few tasks could form by chance are left out.
func copies(y Rates) (groups [][]int) {
	grouped := make([]bool, len(y))
	for i, run := range y {
		if grouped[i] {
			continue
		}
		group := []int{i}
		for j := i + 1; j < len(y); j++ {
			if !grouped[j] && slices.Equal(run, y[j]) {
				group, grouped[j] = append(group, j), true
			}
		}
		if len(group) > 1 && (len(group)-1)*uncommon(run) >= leastRepeated {
			groups = append(groups, group)
		}
	}
	return groups
}

// uncommon is how many tasks have another rate than the most common one.
func uncommon(run []float64) int {
	most, count := 0, map[float64]int{}
	for _, v := range run {
		count[v]++
		most = max(most, count[v])
	}
	return len(run) - most
}

// labelled is an arm whose runs have their positions, counted from 1, for labels.
func labelled(name string, o Outcomes) ArmResults {
	a := ArmResults{Name: name, Outcomes: o}
	for i := range o {
		a.Runs = append(a.Runs, strconv.Itoa(i+1))
	}
	return a
}

// copied says which runs of these arms are copies, and why that matters; empty when none is.
func copied(arms []Arm) string {
	var parts []string
	for _, a := range arms {
		of := ""
		if a.name != "" {
			of = " of arm " + a.name
		}
		for _, group := range a.copies {
			var runs []string
			for _, i := range group {
				runs = append(runs, a.label(i))
			}
			last := len(runs) - 1
			parts = append(parts, fmt.Sprintf("the runs %s and %s%s", strings.Join(runs[:last], ", "), runs[last], of))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", and ") + " are identical on every task: they are not separate training runs (one run copied, or one model evaluated again)"
}

// exchanged says which run of one arm is a run of the other; empty when none is. Of runs that answer most tasks as a matter of course two can
// agree everywhere by chance: how many tasks the other pairs of runs differ on, in the median, tells how improbable that is. At
// leastRepeated tasks it is e^−10, if they were independent.
func exchanged(a, b Arm) string {
	differ := make([][]int, len(a.rates))
	for i, run := range a.rates {
		for _, other := range b.rates {
			n := 0
			for t := range run {
				if run[t] != other[t] {
					n++
				}
			}
			differ[i] = append(differ[i], n)
		}
	}
	for i := range differ {
		for j, n := range differ[i] {
			if n > 0 {
				continue
			}
			var others []int
			for k := range differ {
				for l := range differ[k] {
					if k != i || l != j {
						others = append(others, differ[k][l])
					}
				}
			}
			slices.Sort(others)
			if len(others) > 0 && others[len(others)/2] >= leastRepeated {
				return fmt.Sprintf("the run %s of arm %s and the run %s of arm %s are identical on every task: one of them is the other arm's, or what the arms differ in did nothing to them",
					a.label(i), a.name, b.label(j), b.name)
			}
		}
	}
	return ""
}

// label is what a run is called.
func (a Arm) label(i int) string {
	if i < len(a.labels) {
		return a.labels[i]
	}
	return strconv.Itoa(i + 1)
}
