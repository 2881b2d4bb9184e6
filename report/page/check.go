package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"teamtalk/recipe/artifact"
	"teamtalk/report/analysis"
	"teamtalk/report/audit"
)

// State is the outcome of Check.
type State int

// The states; they are the exit codes of "report check".
const (
	Fresh      State = 0 // the report is what the artifacts give
	Stale      State = 1 // it is not
	CannotTell State = 2 // there is no report, or the artifacts cannot be read
)

func (s State) String() string { return [...]string{"fresh", "stale", "cannot tell"}[s] }

// Check makes the report again in memory and compares it with the one in the folder stored. The lines say why: which artifacts changed, which
// files differ, and how report.md would change.
func Check(run, stored fs.FS, o Options) (State, []string) {
	raw, err := fs.ReadFile(stored, "manifest.json")
	if err != nil {
		return CannotTell, []string{"there is no report here: " + err.Error() + "; make it with go run ./report"}
	}
	var m Manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return CannotTell, []string{"the report's manifest.json is not what this program wrote: " + err.Error() + "; restore it, or make the report in another folder with -out"}
	}
	if m.Texts != "" && len(o.Questions) == 0 {
		return CannotTell, []string{"the page shows questions of a data set that is not at hand: give -data"}
	}
	now, err := Build(run, o)
	if err != nil && o.Learned != "" {
		if without, other := Build(run, Options{Questions: o.Questions}); other == nil { // the run can be read: the template is at fault, or is of another run
			return CannotTell, unfilled(m, without, err)
		}
	}
	if err != nil {
		return CannotTell, []string{"the run's artifacts are damaged or cannot be read: " + err.Error(), "Restore what is named from a copy of the run, and take away what was added; making the report again fails the same way until then."}
	}
	var lines []string
	differ := false
	for _, name := range slices.Sorted(maps.Keys(now)) {
		old, err := fs.ReadFile(stored, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			lines = append(lines, name+": missing")
		case err != nil:
			return CannotTell, []string{err.Error()}
		case !bytes.Equal(old, now[name]):
			lines = append(lines, name+": differs"+edited(m, name, old))
		default:
			continue
		}
		differ = true
	}
	for _, f := range m.Files {
		if _, ok := now[f.Path]; !ok {
			lines, differ = append(lines, f.Path+": is not made any more"), true
		}
	}
	if !differ {
		return Fresh, nil
	}
	var fresh Manifest
	if err := json.Unmarshal(now["manifest.json"], &fresh); err != nil {
		return CannotTell, []string{err.Error()}
	}
	changed := slices.Concat(inputChanges(m.Inputs, fresh.Inputs), learnedChange(m.Learned, fresh.Learned))
	if len(changed) == 0 {
		changed = []string{"no artifact changed since: the report was edited, or another version of this program made it"}
	}
	lines = append(changed, lines...)
	if old, err := fs.ReadFile(stored, "report.md"); err == nil && !bytes.Equal(old, now["report.md"]) {
		lines = append(lines, "report.md would change:")
		lines = append(lines, Diff(string(old), string(now["report.md"]))...)
	}
	return Stale, lines
}

// edited says whether a file was changed by hand after it was made.
func edited(m Manifest, name string, data []byte) string {
	for _, f := range m.Files {
		if f.Path == name && f.SHA256 != sum(data) {
			return ", and was edited after it was made"
		}
	}
	return ""
}

func inputChanges(old, now map[string]string) []string {
	var out []string
	for _, p := range slices.Sorted(maps.Keys(now)) {
		if was, ok := old[p]; !ok {
			out = append(out, "artifact "+p+": new")
		} else if was != now[p] {
			out = append(out, fmt.Sprintf("artifact %s: changed, sha256 %.12s was %.12s", p, now[p], was))
		}
	}
	for _, p := range slices.Sorted(maps.Keys(old)) {
		if _, ok := now[p]; !ok {
			out = append(out, "artifact "+p+": gone")
		}
	}
	return out
}

// unfilled says that the section Learned cannot be made: because of its template or, where artifacts are not those that the report was made
// from, because it speaks of what was in those. The files are those of the report without it.
func unfilled(m Manifest, without Files, err error) []string {
	lines := []string{learnedFile + " cannot be filled in: " + err.Error()}
	var now Manifest
	if json.Unmarshal(without["manifest.json"], &now) == nil {
		if changed := inputChanges(m.Inputs, now.Inputs); len(changed) > 0 {
			return slices.Concat(lines, changed, []string{"The run can be read and is not the one that the report was made from: restore it, or correct the template " + learnedFile + "."})
		}
	}
	return append(lines, "Correct the template "+learnedFile+"; the run's artifacts are those that the report was made from.")
}

// learnedChange says whether the section Learned is not the one that the report was made with; the arguments are its hashes, empty for none.
func learnedChange(old, now string) []string {
	switch {
	case old == now:
		return nil
	case old == "":
		return []string{learnedFile + ": new, the report was made without it"}
	case now == "":
		return []string{learnedFile + ": gone, the report was made with it"}
	}
	return []string{fmt.Sprintf("%s: changed since the report was made, sha256 %.12s was %.12s", learnedFile, now, old)}
}

// Verified is one thing that Verify did.
type Verified struct {
	OK   bool
	What string
}

// Verify trusts nothing that was recorded: every file that is here against its checksum, weights included; every check, which grades every reply again
// and recomputes every logged metric; the report made again and compared; every claim formatted again from report.json, at its place in report.md; the stored text read for
// numbers that no claim covers.
func Verify(run, stored fs.FS, o Options) ([]Verified, error) {
	var out []Verified
	say := func(ok bool, format string, args ...any) {
		out = append(out, Verified{ok, fmt.Sprintf(format, args...)})
	}
	rec, err := artifact.Load(run)
	if err != nil {
		return nil, err
	}
	if rec.Manifest == nil {
		what := artifact.ManifestFile + " is missing"
		if len(rec.Missing) > 0 {
			what += ", and so is what is planned: " + strings.Join(rec.Missing, ", ")
		}
		say(false, "the run is not complete: %s; %s", what, audit.HowToSeal)
	} else {
		faults, err := rec.Manifest.Verify(run, true)
		if err != nil {
			return nil, err
		}
		for _, f := range faults {
			say(false, "%s", f)
		}
		if len(faults) == 0 {
			what, err := compared(*rec.Manifest, run)
			if err != nil {
				return nil, err
			}
			say(true, "%s", what)
		}
	}
	an, err := analysis.New(rec)
	if err != nil {
		return nil, err
	}
	for _, c := range audit.Run(audit.Subject{Record: rec, Analysis: an, FS: run}) {
		switch c.Status {
		case artifact.Fail, artifact.Vacuous:
			say(false, "check %s: %s: %s", c.ID, c.Status, c.Value)
		case artifact.Pass:
			say(true, "check %s: %s", c.ID, c.Value)
		}
	}
	files := Files{}
	for _, name := range []string{"report.md", "report.json", "claims.json"} {
		if files[name], err = fs.ReadFile(stored, name); err != nil {
			return nil, fmt.Errorf("page: there is no report to verify: %w", err)
		}
	}
	n, bad := VerifyClaims(files)
	bad = append(bad, originsChanged(files["claims.json"], rec)...)
	for _, b := range bad {
		say(false, "%s", b)
	}
	if len(bad) == 0 {
		say(true, "%d claims are what report.json gives, where claims.json says", n)
	}
	switch problems, err := LintStored(stored); {
	case err != nil:
		say(false, "lint cannot read the stored report: %v", err)
	case len(problems) > 0:
		say(false, "lint finds %d problems in the stored report, first %s; report lint names all", len(problems), problems[0])
	default:
		say(true, "lint finds no number that is bound to nothing, and no dead reference, in the stored report")
	}
	state, lines := Check(run, stored, o)
	if state != Fresh {
		say(false, "made again, the report is %s: %s", state, strings.Join(lines[:min(3, len(lines))], "; "))
	} else {
		say(true, "made again, the report is the same, byte for byte")
	}
	return out, nil
}

// compared says how many files of the manifest were held against it, and how many could not be: a copy may leave weights out.
func compared(m artifact.Manifest, run fs.FS) (string, error) {
	here, weights, absent := 0, 0, 0
	for _, f := range m.Files {
		switch _, err := fs.Stat(run, f.Path); {
		case errors.Is(err, fs.ErrNotExist):
			absent++
		case err != nil:
			return "", fmt.Errorf("page: %w", err)
		default:
			here++
			if f.Optional {
				weights++
			}
		}
	}
	what := fmt.Sprintf("%d files are here and are what the manifest says, %d of them weights", here, weights)
	if absent > 0 {
		what += fmt.Sprintf("; %d more, all weights (optional), are listed and not here: not checked", absent)
	}
	return what, nil
}

// originsChanged names the artifacts that are not those that the claims were made from.
func originsChanged(claimsJSON []byte, rec *artifact.Record) (bad []string) {
	var cs Claims
	if err := json.Unmarshal(claimsJSON, &cs); err != nil || rec.Manifest == nil {
		return nil // VerifyClaims and the manifest say so
	}
	now := map[string]string{artifact.ManifestFile: rec.ManifestSHA256}
	for _, f := range rec.Manifest.Files {
		now[f.Path] = f.SHA256
	}
	for _, p := range slices.Sorted(maps.Keys(cs.Artifacts)) {
		if now[p] != cs.Artifacts[p] {
			bad = append(bad, fmt.Sprintf("claims.json was made from another %s: sha256 %.12s, now %.12s", p, cs.Artifacts[p], now[p]))
		}
	}
	return bad
}

// VerifyClaims formats every claim of claims.json again and looks for it at its place in report.md. It returns how many there are, and what is wrong.
func VerifyClaims(files Files) (n int, bad []string) {
	var cs Claims
	if err := json.Unmarshal(files["claims.json"], &cs); err != nil {
		return 0, []string{"claims.json: " + err.Error()}
	}
	if got := sum(files["report.json"]); got != cs.Report {
		bad = append(bad, fmt.Sprintf("claims.json is of another report.json: sha256 %.12s, expected %.12s", got, cs.Report))
	}
	t, err := newTree(files["report.json"])
	if err != nil {
		return len(cs.Claims), append(bad, err.Error())
	}
	lines := strings.Split(string(files["report.md"]), "\n")
	for _, c := range cs.Claims {
		v, err := t.at(c.Pointer)
		if err != nil {
			bad = append(bad, fmt.Sprintf("claim %d: %v", c.ID, err))
			continue
		}
		text, err := Format(c.Pointer, c.Format, v)
		if err != nil {
			bad = append(bad, fmt.Sprintf("claim %d: %v", c.ID, err))
			continue
		}
		if text != c.Text {
			bad = append(bad, fmt.Sprintf("claim %d: %s is %q, claimed %q", c.ID, c.Pointer, text, c.Text))
		}
		if c.Line < 1 || c.Line > len(lines) {
			bad = append(bad, fmt.Sprintf("claim %d: report.md has no line %d", c.ID, c.Line))
			continue
		}
		rs, want := []rune(lines[c.Line-1]), []rune(c.Text)
		if at := c.Column - 1; at < 0 || at+len(want) > len(rs) || string(rs[at:at+len(want)]) != c.Text {
			bad = append(bad, fmt.Sprintf("claim %d: report.md line %d does not say %q", c.ID, c.Line, c.Text))
		}
	}
	return len(cs.Claims), bad
}
