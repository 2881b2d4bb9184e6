package audit

import (
	"strings"
	"testing"

	"teamtalk/recipe/artifact"
)

func TestEnvironment(t *testing.T) {
	plan := artifact.Env{Commit: "aaaa"} // which opened no device
	run := artifact.Env{Commit: "bbbb", Devices: 1}
	dirty := run
	dirty.Dirty = true
	unknown := run
	unknown.Commit = ""
	other := run
	other.Commit = "cccc"
	for _, c := range []struct {
		why      string
		sessions []artifact.Env
		ok       bool
		want     string
	}{
		{"planned and run at one commit", []artifact.Env{{Commit: "bbbb"}, run}, true, "commit bbbb, 1 session"},
		{"a plan is committed before it is run, so that the run is of a later commit", []artifact.Env{plan, run, run}, true, "commit bbbb, 2 sessions; the plan was written before, at aaaa"},
		{"gone on with by another program", []artifact.Env{run, other}, false, "session 2 ran commit cccc, an earlier one bbbb"},
		{"changes that no commit holds", []artifact.Env{plan, dirty}, false, "session 2 ran commit bbbb with local changes"},
		{"a plan made with changes that no commit holds", []artifact.Env{{Commit: "aaaa", Dirty: true}, run}, false, "session 1 ran commit aaaa with local changes"},
		{"nobody knows which program", []artifact.Env{plan, unknown}, false, "session 2 does not say which commit it ran"},
		{"a plan alone", []artifact.Env{plan}, false, "nothing was computed"},
		{"no record", nil, false, "no session is recorded"},
	} {
		f := environment(&artifact.Record{Sessions: c.sessions})
		if (f.status == artifact.Pass) != c.ok || !strings.Contains(f.value, c.want) {
			t.Errorf("%s: %s %q, want %q", c.why, f.status, f.value, c.want)
		}
	}
}
