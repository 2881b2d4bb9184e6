package cell

import (
	"encoding/json"
	"fmt"
	"strings"

	"teamtalk/recipe/experiment"
)

// Plan shows what a plan changes in its preset, and in which settings its arms differ from each other, both found by comparing
// every setting.
func Plan(p experiment.Plan) {
	preset := Must(experiment.Preset(p.Preset))
	Table([]string{"changed from preset " + p.Preset, "preset", "here"}, changes(preset, p)...)
	Table([]string{"arms", "settings that differ"}, Must(armDifferences(p))...)
}

// changes lists the settings of which the preset and the plan have different values.
func changes(preset, plan experiment.Plan) [][]string {
	var rows [][]string
	for _, c := range Must(plan.ChangedFrom(preset)) {
		rows = append(rows, []string{c.Path, leaf(c.From), leaf(c.Here)})
	}
	if len(rows) == 0 {
		rows = [][]string{{"nothing", "", ""}}
	}
	return rows
}

// leaf is a setting as text: JSON, but a string without its quotes.
func leaf(v string) string {
	if v == "" {
		return "absent"
	}
	var s string
	if json.Unmarshal([]byte(v), &s) == nil {
		return s
	}
	return v
}

// armDifferences compares every other trained arm with the first, at one seed.
func armDifferences(p experiment.Plan) ([][]string, error) {
	if len(p.TrainArms) < 2 {
		return [][]string{{strings.Join(p.TrainArms, ""), "one arm: nothing to compare it with"}}, nil
	}
	var rows [][]string
	first, err := p.RunConfig(p.TrainArms[0], p.Seeds[0], experiment.Runtime{})
	if err != nil {
		return nil, err
	}
	for _, arm := range p.TrainArms[1:] {
		other, err := p.RunConfig(arm, p.Seeds[0], experiment.Runtime{})
		if err != nil {
			return nil, err
		}
		diffs, err := experiment.ArmDiff(first, other)
		if err != nil {
			return nil, err
		}
		var paths []string
		for _, d := range diffs {
			paths = append(paths, d.Path)
		}
		if len(paths) == 0 {
			paths = []string{"none: these arms are the same"}
		}
		rows = append(rows, []string{fmt.Sprintf("%s, %s", p.TrainArms[0], arm), strings.Join(paths, ", ")})
	}
	return rows, nil
}
