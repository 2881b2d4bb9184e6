package artifact

import (
	"errors"
	"fmt"
	"os"
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
	if err != nil && !errors.As(err, new(*SealedError)) {
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
