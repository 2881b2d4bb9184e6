package artifact

import (
	"encoding/json"
	"slices"
	"testing"
)

// What the grader says is recorded as it says it; a gold answer that cannot be read gives null, not 0.
func TestGrade(t *testing.T) {
	for _, c := range []struct {
		text, gold string
		reward     string // as JSON
		reason     string
		flags      []string
		talks      bool
	}{
		{`7+5=12 \boxed{12}`, "12", "1", "equal", nil, false},
		{`\boxed{13}`, "12", "0", "not_equal", nil, false},
		{`\boxed{12\%}`, "12", "1", "equal", []string{"percent"}, false},
		{`\boxed{12 apples}`, "12", "1", "equal", []string{"unit"}, false},
		{`\boxed{12`, "12", "0", "box_unclosed", []string{"open"}, false},
		{`\boxed{12}`, "a dozen", "null", "gold_unparsable", nil, false},
		{"Solver: 7+5=12\nChecker: yes\nLead: \\boxed{12}", "12", "1", "equal", nil, true},
	} {
		v, k := Grade(c.text, c.gold)
		raw, err := json.Marshal(v.Reward)
		if err != nil {
			t.Fatal(err)
		}
		if string(raw) != c.reward || v.Reason != c.reason || !slices.Equal(v.Flags, c.flags) || k.Talks != c.talks || k.TalksSubstantive != c.talks {
			t.Errorf("Grade(%q, %q) = reward %s, %+v, %+v", c.text, c.gold, raw, v, k)
		}
	}
}
