package artifact

import (
	"errors"
	"fmt"
	"os"

	"teamtalk/recipe/experiment"
)

// Note adds an attempt to the Climb ledger of the run in dir, numbered after the last one. A sealed run is held against its manifest
// first and sealed again, so that the ledger, alone of a run's files, goes on after the run.
func Note(dir string, rd Round) error {
	if rd.Changed == "" {
		return errors.New("artifact: an attempt is noted with what was changed; expected a text")
	}
	rec, err := Load(os.DirFS(dir))
	if err != nil {
		return err
	}
	rd.Round = 1
	if n := len(rec.Rounds); n > 0 {
		rd.Round = rec.Rounds[n-1].Round + 1
	}
	r, err := Open(dir)
	if err != nil && !errors.Is(err, ErrComplete) {
		return err
	}
	if err := r.AppendRound(rd); err != nil || rec.Manifest == nil {
		return err
	}
	m, err := BuildManifest(os.DirFS(dir), r.hash)
	if err != nil {
		return err
	}
	m.Incomplete = rec.Manifest.Incomplete
	// Weights that a published copy leaves out stay listed.
	have := map[string]bool{}
	for _, f := range m.Files {
		have[f.Path] = true
	}
	for _, f := range rec.Manifest.Files {
		if f.Optional && !have[f.Path] {
			m.Files = append(m.Files, f)
		}
	}
	m.sort()
	data, err := encode(m)
	if err != nil {
		return err
	}
	return WriteFile(r.path(ManifestFile), data)
}

// Outcome is what the ledger says of an attempt: pass@1 of the arm that was worked on, the primary comparison's second, under its
// own prompt on the held-out tasks, over all of its trained runs. The value is nil where the record holds no such evaluation.
func (r *Record) Outcome() (value *float64, metric string) {
	arm := r.Plan.Primary.B
	right, graded := 0, 0
	for _, e := range r.Evals {
		if e.Model == experiment.Base || e.Prompt != arm || e.Tasks != "" || !r.trained(e.Model, arm) {
			continue
		}
		for _, rp := range e.Replies {
			if rp.Verdict.Reward != nil {
				graded++
			}
			if rp.Verdict.Correct() {
				right++
			}
		}
	}
	metric = fmt.Sprintf("pass@1 %s", arm)
	if graded == 0 {
		return nil, metric
	}
	v := float64(right) / float64(graded)
	return &v, metric
}

func (r *Record) trained(model, arm string) bool {
	for _, run := range r.Plan.Runs() {
		if run.Name == model && run.Arm == arm {
			return true
		}
	}
	return false
}
