package page

import (
	"os"
	"slices"
	"strings"
	"testing"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/artifact/artifacttest"
)

// A check that fails stands beside the verdict, and in the line that the command ends with: whoever reads no further reads it. A run
// under way fails checks for what is not there yet.
func TestFailedChecksStandBesideTheVerdict(t *testing.T) {
	const says = "**A check failed:** \"Every check that only the trainer can make is recorded\" does not hold. checks.json does not hold determinism"
	without := func(checks []artifact.Check) []artifact.Check {
		return slices.DeleteFunc(checks, func(c artifact.Check) bool { return c.ID == "determinism" })
	}
	for _, c := range []struct {
		why     string
		options artifacttest.Options
		failed  bool
		ends    string
	}{
		{"all is well", artifacttest.Options{}, false, " (synthetic, not a result)"},
		{"a check is missing", artifacttest.Options{EditCheck: without}, true, " (1 check failed) (synthetic, not a result)"},
		{"a check is missing yet", artifacttest.Options{EditCheck: without, Unsealed: true}, false, " (the run is not complete) (synthetic, not a result)"},
	} {
		c.options.Tasks, c.options.Steps = 20, 4
		files := mustBuild(t, os.DirFS(syntheticRun(t, c.options)), Options{})
		head, _, _ := strings.Cut(string(files["report.md"]), "- **What was found.**")
		_, head, _ = strings.Cut(head, "**Verdict: ")
		if got := strings.Contains(head, says) && strings.Contains(head, "The verdict does not read the checks"); got != c.failed {
			t.Errorf("%s: beside the verdict stands %q", c.why, head)
		}
		if got, err := VerdictOf(files); err != nil || !strings.HasSuffix(got, c.ends) {
			t.Errorf("%s: %q, error %v, want it to end in %q", c.why, got, err, c.ends)
		}
		if problems := Lint("report.md", string(files["report.md"]), claimsOf(t, files).Claims); len(problems) > 0 {
			t.Errorf("%s: %v", c.why, problems)
		}
	}
}
