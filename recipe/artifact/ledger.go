package artifact

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// stagedLedger is the ledger with the attempt that is being noted, until it takes the ledger's place.
const stagedLedger = tempPrefix + RoundsFile

// Note adds an attempt to the Climb ledger of the run in dir, numbered after the last one. A sealed run is held against its manifest
// first, and its manifest then names the longer ledger and is otherwise the one that was sealed: the ledger, alone of a run's files, goes on
// after the run. An attempt is known by its plan, and one that is in the ledger already is refused. Where a process was stopped in the
// middle of that, Note fails with a [FaultsError] until [FinishNote].
func Note(dir string, rd Round) error {
	if rd.Changed == "" {
		return errors.New("artifact: an attempt is noted with what was changed; expected a text")
	}
	rec, err := Load(os.DirFS(dir))
	if err != nil {
		return err
	}
	for _, old := range rec.Rounds {
		if rd.Plan != "" && rd.Plan == old.Plan { // whatever either says was changed
			return fmt.Errorf("artifact: the attempt with plan %.12s is noted already, as round %d (%s); expected one that is not in the ledger: an attempt is noted once, in whatever words",
				rd.Plan, old.Round, old.Changed)
		}
	}
	rd.Round = 1
	if n := len(rec.Rounds); n > 0 {
		rd.Round = rec.Rounds[n-1].Round + 1
	}
	r, err := Open(dir)
	if err != nil && !errors.As(err, new(*SealedError)) {
		return err
	}
	if rec.Manifest == nil {
		return r.AppendRound(rd)
	}
	return r.noteSealed(*rec.Manifest, rd)
}

// noteSealed adds an attempt to the ledger of a run that is sealed with m. Two files change, which no file system does at once, so the new
// ledger is laid beside the old one first, then the manifest that names it is written, then it takes its place. Killed before the manifest is
// written, the folder is what it was; killed after it, it lacks a ledger that lies ready and that the manifest names.
func (r *Run) noteSealed(m Manifest, rd Round) error {
	ledger, err := os.ReadFile(r.path(RoundsFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("artifact: %w", err)
	}
	if ledger, err = withLine(ledger, rd); err != nil {
		return err
	}
	if err := WriteFile(r.path(stagedLedger), ledger); err != nil {
		return err
	}
	// Everything else stays listed as it was sealed: weights, which a published copy may lack and of which only the size was looked at, too.
	m.Files = m.with(entry(RoundsFile, ledger))
	data, err := encode(m)
	if err != nil {
		return err
	}
	if err := WriteFile(r.path(ManifestFile), data); err != nil {
		return err
	}
	return r.take(stagedLedger, RoundsFile)
}

// FinishNote finishes the [Note] of a process that was stopped between the manifest and the ledger, and returns the attempt that is noted
// now; nil where there is no such thing to finish. It changes nothing in a folder with any other fault, which [Load] names.
func FinishNote(dir string) (*Round, error) {
	_, err := Load(os.DirFS(dir))
	var fe *FaultsError
	if !errors.As(err, &fe) || !fe.Noting {
		return nil, nil
	}
	if err := (&Run{dir: dir}).take(stagedLedger, RoundsFile); err != nil {
		return nil, err
	}
	rec, err := Load(os.DirFS(dir))
	if err != nil {
		return nil, err
	}
	return &rec.Rounds[len(rec.Rounds)-1], nil
}

// noting says whether faults are those of a folder whose ledger was being replaced, and nothing else: the ledger that lies ready is, byte for
// byte, the one that the manifest names, and it begins with the one in its place. What lies ready is therefore worth what the manifest is: whoever
// could plant it could as well have written the ledger itself.
func (m Manifest) noting(fsys fs.FS, faults []Fault) bool {
	if len(faults) != 1 || faults[0].Path != RoundsFile {
		return false
	}
	staged, err := fs.ReadFile(fsys, stagedLedger)
	if err != nil || !slices.Contains(m.Files, entry(RoundsFile, staged)) {
		return false
	}
	ledger, err := fs.ReadFile(fsys, RoundsFile)
	return (err == nil || errors.Is(err, fs.ErrNotExist)) && bytes.HasPrefix(staged, ledger)
}

// Outcome is what the ledger says of an attempt that has this record: pass@1 of the primary comparison's second arm under its own
// prompt on the held-out tasks, over all of its trained runs, what it differs by from the first arm's, and how much it talks. What the
// record has no evaluation for is nil.
func (r *Record) Outcome() Round {
	a, b, plain := r.Plan.Primary.A, r.Plan.Primary.B, r.Plan.BaselineArm().Name
	own, talk := r.rates(b, b)
	rd := Round{Value: own, Metric: fmt.Sprintf("pass@1 %s", b), Plan: r.PlanSHA256, Talk: talk}
	other, _ := r.rates(a, a)
	rd.Difference = minus(own, other)
	bare, _ := r.rates(b, plain)
	alone, _ := r.rates(a, plain)
	rd.PlainDifference = minus(bare, alone)
	return rd
}

// rates are the share of right replies among those that were graded, and the share of replies that talk, of an arm's trained runs
// under a prompt, on the held-out tasks; nil where there are none.
func (r *Record) rates(arm, prompt string) (right, talk *float64) {
	hits, graded, talks, replies := 0, 0, 0, 0
	for _, e := range r.Evals {
		if e.Prompt != prompt || e.Tasks != "" || !r.trained(e.Model, arm) {
			continue
		}
		for _, rp := range e.Replies {
			replies++
			if rp.Verdict.Reward != nil {
				graded++
			}
			if rp.Verdict.Correct() {
				hits++
			}
			if rp.Talk.Talks {
				talks++
			}
		}
	}
	return share(hits, graded), share(talks, replies)
}

func share(k, n int) *float64 {
	if n == 0 {
		return nil
	}
	v := float64(k) / float64(n)
	return &v
}

func minus(b, a *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	v := *b - *a
	return &v
}

func (r *Record) trained(model, arm string) bool {
	for _, run := range r.Plan.Runs() {
		if run.Name == model && run.Arm == arm {
			return true
		}
	}
	return false
}
