package stats_test

import (
	"fmt"

	"teamtalk/report/stats"
)

// Two runs per arm, six tasks, four samples each: cells are right answers of four.
func ExampleCompare() {
	arm := func(runs ...[6]int) (o stats.Outcomes) {
		for _, run := range runs {
			var cells []stats.Cell
			for _, right := range run {
				cells = append(cells, stats.Cell{Correct: right, Samples: 4})
			}
			o = append(o, cells)
		}
		return o
	}
	plain := arm([6]int{4, 3, 2, 0, 1, 4}, [6]int{3, 4, 1, 1, 0, 4})
	team := arm([6]int{4, 4, 3, 1, 2, 4}, [6]int{4, 3, 3, 0, 2, 3})
	c, err := stats.Compare(plain, team, 0.02)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Verdict)
	fmt.Println(stats.Signed(c.Delta, 3), c.CIBoth)
	fmt.Println(stats.Signed(c.Delta, 3), c.CITasks)
	// Output:
	// unresolved
	// +0.125 95% [−0.202, +0.452] over new training runs and new tasks
	// +0.125 95% [−0.095, +0.345] over new tasks, for these models
}

// A sentence that says "over new training runs" cannot be given the interval over tasks.
func ExampleInterval_For() {
	p, err := stats.ClusteredProportion([]stats.Cell{{Correct: 1, Samples: 4}, {Correct: 2, Samples: 4}, {Correct: 4, Samples: 4}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.CI.For("ci_tasks"))
	_, err = p.CI.For("ci_runs")
	fmt.Println(err)
	// Output:
	// [0.005, 0.999] <nil>
	// interval of scope ci_tasks (over new tasks, for these models) used where the text says ci_runs: use the ci_runs value, or change the text
}

// No reply of 120 tasks talked: what is known is a bound, and it counts tasks.
func ExampleClusteredProportion() {
	cells := make([]stats.Cell, 120)
	for i := range cells {
		cells[i].Samples = 4
	}
	p, err := stats.ClusteredProportion(cells)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d of %d replies on %d tasks, %v\n", p.K, p.N, p.Tasks, p.CI)
	// Output:
	// 0 of 480 replies on 120 tasks, 95% [0.000, 0.030] over new tasks, for these models
}

// What a design can tell is known before it has a result.
func ExampleDesign_Resolve() {
	r, err := stats.Design{RunsA: 2, RunsB: 2, Tasks: 120, Samples: 4}.Resolve(stats.Assumed)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r)
	fmt.Println(r.Equivalence(0.02))
	// Output:
	// 2 runs per arm × 120 tasks × 4 samples (ν = 2) resolve about ±0.093 over new training runs and new tasks; a true difference of 0.122 is found four times in five.
	// It cannot be expected to show two equal arms equivalent within ±0.020: its 90% interval reaches about ±0.064.
}
