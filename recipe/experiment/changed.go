package experiment

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Change is a setting of which two plans have different values, as JSON; "" where a plan lacks it.
type Change struct {
	Path       string // dotted, e.g. "training.lora.r"
	From, Here string
}

// ChangedFrom lists the settings in which a plan differs from another, sorted by path. Model and data, which are filled in when a plan is
// opened, and the list of overrides do not count.
func (p Plan) ChangedFrom(other Plan) ([]Change, error) {
	for _, q := range []*Plan{&p, &other} {
		q.Model, q.Data, q.Overrides = Model{}, Data{}, nil
	}
	a, err := Flatten(other)
	if err != nil {
		return nil, err
	}
	b, err := Flatten(p)
	if err != nil {
		return nil, err
	}
	paths := maps.Clone(a)
	maps.Copy(paths, b)
	var all []Change
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if a[path] != b[path] {
			all = append(all, Change{path, a[path], b[path]})
		}
	}
	return all, nil
}

// shortValue is the longest value that stands in an override; a system message stands elsewhere in the plan.
const shortValue = 32

// Record adds to the plan's overrides what was changed in it since before, where that was not done by [Plan.Apply]. The title and the
// sentence that says which change is asked about are the preset's; where a system message was changed and that sentence was not, they give
// way to such as are true of any.
func (p *Plan) Record(before Plan) error {
	changes, err := p.ChangedFrom(before)
	if err != nil {
		return err
	}
	system := false
	for i, a := range p.Arms {
		system = system || i >= len(before.Arms) || a.System != before.Arms[i].System
	}
	if system && p.Question.Change == before.Question.Change {
		p.Question.Change = "The system message. Those of all arms stand below, verbatim."
		if p.Question.Title == before.Question.Title {
			p.Question.Title = "Another system message: train a model under it, and under the baseline's"
		}
	}
	for _, c := range changes {
		path, text := p.named(c.Path), ""
		switch {
		case c.Here == "":
			p.Overrides = append(p.Overrides, path+" left out")
		case len(c.Here) > shortValue:
			p.Overrides = append(p.Overrides, path)
		case json.Unmarshal([]byte(c.Here), &text) == nil:
			p.Overrides = append(p.Overrides, path+"="+text)
		default:
			p.Overrides = append(p.Overrides, path+"="+c.Here)
		}
	}
	return nil
}

// named is a path with an arm's name in the place of its number.
func (p *Plan) named(path string) string {
	for i, a := range p.Arms {
		if rest, ok := strings.CutPrefix(path, fmt.Sprintf("arms.%d.", i)); ok {
			return "arms." + a.Name + "." + rest
		}
	}
	return path
}
