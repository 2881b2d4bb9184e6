package figure_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"teamtalk/report/figure"
)

var update = flag.Bool("update", false, "write the golden drawings anew")

func forest() (figure.Figure, error) {
	return figure.Forest([]figure.ForestRow{
		{Group: "Each arm under its own prompt", Scope: "ci_tasks", Label: "over new tasks, for these models", Point: 0.02, Lo: -0.02, Hi: 0.06},
		{Group: "Each arm under its own prompt", Scope: "ci_runs", Label: "over new training runs, on these tasks", Point: 0.02, Lo: -0.06, Hi: 0.09},
		{Group: "Each arm under its own prompt", Scope: "ci_both", Label: "over new training runs and new tasks", Point: 0.02, Lo: -0.07, Hi: 0.10, Dots: []float64{0.01, 0.03}, Head: true},
	}, 0.03)
}

func ExampleForest() {
	f, err := forest()
	fmt.Println(f.Desc, err)
	// Output: Points with interval bars; zero means no difference, and the band from −0.030 to +0.030 is the margin fixed in the plan. Each arm under its own prompt: +0.020, from −0.070 to +0.100 over new training runs and new tasks. <nil>
}

func curves() (figure.Figure, error) {
	runs := []figure.Run{{Name: "baseline-17", Series: figure.Series{Arm: 0, Run: 0}}, {Name: "recipe-17", Series: figure.Series{Arm: 1, Run: 0}}}
	var up, down []float64
	for i := range 40 {
		up, down = append(up, 0.5+0.3*float64(i)/40+0.05*math.Sin(float64(3*i))), append(down, 300-2*float64(i))
	}
	up[7] = math.NaN() // a step that logged nothing
	return figure.Curves(runs, []figure.Panel{{Title: "Reward", Decimals: 3, Share: true, Values: [][]float64{up, up}}, {Title: "Length", Decimals: 0, Values: [][]float64{down, down}}}, 5)
}

func ExampleCurves() {
	f, err := curves()
	fmt.Println(f.Desc, err)
	// Output: 2 panels over 40 steps. Points are single steps, lines their centred mean over 5 steps. Reward: baseline-17 0.530 to 0.759, recipe-17 0.530 to 0.759. Length: baseline-17 291 to 231, recipe-17 291 to 231. Numbers are means over the first and the last quarter of the steps. <nil>
}

func dumbbell() (figure.Figure, error) {
	return figure.Dumbbell([]figure.Way{{Label: "Recipe", Series: figure.Series{Arm: 1}, Before: 0.45, After: 0.78, Runs: []float64{0.77, 0.79}, BeforeTalk: 0.8, AfterTalk: 0, RunsTalk: []float64{0, 0}}})
}

func ExampleDumbbell() {
	f, err := dumbbell()
	fmt.Println(f.Desc, err)
	// Output: Grey: the untrained model under the arm's prompt. Coloured: the mean of the trained runs, with a ring for every run. Recipe, pass@1: 0.450 untrained, 0.780 trained. Recipe, share of replies that talk: 0.800 untrained, 0.000 trained. <nil>
}

func histogram() (figure.Figure, error) {
	return figure.Histogram([]float64{-0.25, 0, 0, 0.125, 0.125, 0.5})
}

func ExampleHistogram() {
	f, err := histogram()
	fmt.Println(f.Desc, err)
	for _, row := range f.Data[:4] {
		fmt.Println(row)
	}
	// Output:
	// 6 tasks: the recipe does better on 3, the baseline on 1, and on 2 they are equal. <nil>
	// [Difference Tasks]
	// [−0.250 1]
	// [−0.125 0]
	// [0.000 2]
}

var all = map[string]func() (figure.Figure, error){"forest": forest, "curves": curves, "dumbbell": dumbbell, "histogram": histogram}

func TestDrawings(t *testing.T) {
	for name, draw := range all {
		f, err := draw()
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", name+".svg")
		if *update {
			if err := os.WriteFile(golden, f.Standalone(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(f.Standalone(), want) {
			t.Errorf("%s differs from %s; look at both, and run go test ./report/figure -update if it is meant", name, golden)
		}
		if again, _ := draw(); !bytes.Equal(again.SVG, f.SVG) {
			t.Errorf("%s drawn twice differs", name)
		}
		d := xml.NewDecoder(bytes.NewReader(f.Standalone()))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Errorf("%s is not well-formed: %v", name, err)
				break
			}
		}
		for _, bad := range []string{"#000000", "NaN", "Inf", "width=\"", "href"} { // a colour outside the palette would not follow the scheme
			if strings.Contains(string(f.SVG), bad) {
				t.Errorf("%s holds %q", name, bad)
			}
		}
		for _, row := range f.Data {
			if len(row) != len(f.Data[0]) {
				t.Errorf("%s: a row of %d cells under %d columns", name, len(row), len(f.Data[0]))
			}
		}
	}
}

// Results that a run can have and a drawing must survive.
func TestEdges(t *testing.T) {
	nan := math.NaN()
	for name, draw := range map[string]func() (figure.Figure, error){
		"one run per arm: no interval": func() (figure.Figure, error) {
			return figure.Forest([]figure.ForestRow{{Group: "g", Scope: "ci_both", Label: "l", Point: 0, Lo: nan, Hi: nan, Why: "one run", Head: true}}, 0.03)
		},
		"an interval of no width": func() (figure.Figure, error) {
			return figure.Forest([]figure.ForestRow{{Group: "g", Scope: "ci_both", Label: "l", Point: 0.1, Lo: 0.1, Hi: 0.1}}, 0.03)
		},
		"one step": func() (figure.Figure, error) {
			return figure.Curves([]figure.Run{{Name: "a"}}, []figure.Panel{{Title: "x", Values: [][]float64{{0.5}}}}, 5)
		},
		"nothing was logged": func() (figure.Figure, error) {
			return figure.Curves([]figure.Run{{Name: "a"}}, []figure.Panel{{Title: "x", Values: [][]float64{{nan, nan}}}}, 5)
		},
		"all ties": func() (figure.Figure, error) { return figure.Histogram([]float64{0, 0, 0}) },
		"an arm without an untrained evaluation": func() (figure.Figure, error) {
			return figure.Dumbbell([]figure.Way{{Label: "a", Before: nan, After: 0.5, Runs: []float64{0.5}, BeforeTalk: nan, AfterTalk: 0}})
		},
	} {
		f, err := draw()
		if err != nil || len(f.SVG) == 0 || strings.Contains(string(f.SVG), "NaN") {
			t.Errorf("%s: %v, %d bytes, NaN in it: %v", name, err, len(f.SVG), strings.Contains(string(f.SVG), "NaN"))
		}
	}
	for name, draw := range map[string]func() (figure.Figure, error){
		"forest":    func() (figure.Figure, error) { return figure.Forest(nil, 0.03) },
		"curves":    func() (figure.Figure, error) { return figure.Curves(nil, nil, 5) },
		"dumbbell":  func() (figure.Figure, error) { return figure.Dumbbell(nil) },
		"histogram": func() (figure.Figure, error) { return figure.Histogram(nil) },
	} {
		if _, err := draw(); err == nil {
			t.Errorf("a %s of nothing was drawn", name)
		}
	}
}

// Names from elsewhere become text of the drawing and nothing else.
func TestLabelsAreText(t *testing.T) {
	f, err := figure.Dumbbell([]figure.Way{{Label: `</text><script>alert(1)</script>&"`, Before: 0.1, After: 0.2, BeforeTalk: 0, AfterTalk: 0}})
	if err != nil || strings.Contains(string(f.SVG), "<script") {
		t.Errorf("%v: %s", err, f.SVG)
	}
}
