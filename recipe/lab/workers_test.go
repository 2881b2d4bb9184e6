//go:build unix

package lab

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"teamtalk/recipe/grpo"
)

// sameAs compares a run's bytes with those of the run in one process.
func sameAs(t *testing.T, dir string) {
	t.Helper()
	if names, compared := differences(t, inPairs(t), dir); len(names) > 0 || compared < 30 {
		t.Errorf("%d files compared; these differ from those of a run in one process: %q", compared, names)
	}
}

// Two processes, of which one is killed between two checkpoints, make the bytes that one process makes; the group of the one that
// was killed goes on in a new process from the last checkpoint.
func TestTwoProcessesMakeWhatOneMakes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	t.Setenv(killAt, "step 3/4  recipe-17")
	t.Setenv(killOnce, filepath.Join(t.TempDir(), "killed"))
	var log bytes.Buffer
	o := divided(t, 2, Options{Out: dir})
	o.Log = &log
	if err := conduct(t.Context(), o); err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	sameAs(t, dir)

	r := record(t, dir)
	if len(r.Sessions) != 1 || r.Sessions[0].Processes != 2 || r.Sessions[0].Devices != 1 || r.Sessions[0].Device == "" || r.Sessions[0].Backend != string(o.Backend) {
		t.Errorf("recorded sessions %+v, want one, of two processes on one device", r.Sessions)
	}
	took := map[string][]string{} // by phase, who took it
	for _, p := range r.Phases {
		if _, err := time.Parse(time.RFC3339, p.Started); err != nil || p.Seconds <= 0 || p.DeviceSeconds != p.Seconds/2 {
			t.Errorf("phase %+v: want when it began, and half of the device's time", p)
		}
		if p.Died {
			if took["died"] = append(took["died"], p.Worker); p.Name != "train" || !slices.Equal(p.Runs, []string{"recipe-17", "recipe-18"}) {
				t.Errorf("phase %+v: want the training that was killed", p)
			}
			continue
		}
		took[p.Name] = append(took[p.Name], p.Worker)
	}
	for name, n := range map[string]int{"load": 3, "train": 2, "died": 1, "eval": 4, "checks": 1} {
		if len(took[name]) != n {
			t.Errorf("%s was done by %q, want %d", name, took[name], n)
		}
	}
	if slices.Sort(took["train"]); !slices.Equal(took["train"], []string{"cpu0", "cpu1"}) {
		t.Errorf("the groups were trained by %q, want one by each", took["train"])
	}
	for _, line := range []string{
		`(?m)^\[cpu[01]\] training \[baseline-17 baseline-18\], 4 steps$`, `(?m)^\[cpu[01]\] step 4/4  baseline-17 reward `,
		`(?m)^worker process cpu[01] died \(signal: killed\): training \[recipe-17 recipe-18\] goes on in a new one from step 2$`,
		`(?m)^all workers: 16/16 steps, 0/8 evaluations, 0s of the training left$`,
		`(?m)^all workers: 16/16 steps, [246]/8 evaluations, `, `(?m)^all workers: 16/16 steps, 8/8 evaluations, 0s of the evaluations left$`,
	} {
		if !regexp.MustCompile(line).Match(log.Bytes()) {
			t.Errorf("the log has no line like %s:\n%s", line, &log)
		}
	}
}

// A worker that is killed every time stops the run with advice, after the other worker's group is trained. It goes on with another
// number of processes, is interrupted, and goes on in one.
func TestAWorkerThatAlwaysDies(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	t.Setenv(killAt, "training [baseline-17") // before it compiles, to be quick
	err := conduct(t.Context(), divided(t, 2, Options{Out: dir}))
	if err == nil || errors.Is(err, grpo.ErrInterrupted) {
		t.Fatalf("error %v, want that the worker died", err)
	}
	for _, want := range []string{
		"training [baseline-17 baseline-18]: worker process cpu", "died 3 times without getting further than step 0: signal: killed; its last lines:\n",
		"\n  training [baseline-17 baseline-18], 4 steps\n", "go on with: go run ./recipe -resume " + dir + " -processes 2",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q, want %q in it", err, want)
		}
	}
	if r := record(t, dir); r.Runs[0].Final || r.Runs[1].Final || !r.Runs[2].Final || !r.Runs[3].Final {
		t.Errorf("which runs have their adapters: %t %t %t %t; want the two of the worker that lives", r.Runs[0].Final, r.Runs[1].Final, r.Runs[2].Final, r.Runs[3].Final)
	}

	os.Unsetenv(killAt)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := divided(t, 3, Options{Resume: dir})
	o.Log = &anyOf{[]*watcher{{at: "[cpu0] step 1/4", seen: cancel}, {at: "[cpu1] step 1/4", seen: cancel}, {at: "[cpu2] step 1/4", seen: cancel}}}
	err = conduct(ctx, o)
	if !errors.Is(err, grpo.ErrInterrupted) || !strings.Contains(err.Error(), "interrupted, training [baseline-17 baseline-18] after step ") || !strings.Contains(err.Error(), "go on with: go run ./recipe -resume "+dir+" -processes 3") {
		t.Fatalf("error %v, want where it stopped and how to go on", err)
	}
	if names := steps(t, filepath.Join(dir, "baseline-17")); !strings.Contains(names, "checkpoint-") {
		t.Errorf("interrupted after a step: checkpoints %q, want one", names)
	}
	if err := conduct(t.Context(), small(t, Options{Resume: dir})); err != nil {
		t.Fatal(err)
	}
	sameAs(t, dir)
	if r := record(t, dir); len(r.Sessions) != 3 || r.Sessions[1].Processes != 3 || r.Sessions[2].Processes != 0 {
		t.Errorf("sessions %+v, want three, of two, three and no worker processes", r.Sessions)
	}
}

// anyOf shows a log to several watchers.
type anyOf struct{ watchers []*watcher }

func (a *anyOf) Write(p []byte) (int, error) {
	for _, w := range a.watchers {
		_, _ = w.Write(p) // a watcher takes everything
	}
	return len(p), nil
}

// A coordinator that is gone leaves a worker whose input ends: it saves and ends. Until then nobody else may go on with the run.
func TestAWorkerWithoutACoordinator(t *testing.T) {
	dir := planned(t, Options{})
	o := divided(t, 2, Options{})
	var log bytes.Buffer
	p, err := startProcess(o.Worker, place{name: "cpu0", sharers: 1}, &wholeLines{to: &log}, watch{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.end(time.Second)
	ask := func(o order, told func(progress)) ended {
		t.Helper()
		e, err := p.ask(t.Context(), o, told)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	if e := ask(order{Open: &openOrder{Worker: "cpu0", Backend: o.Backend, Processes: 1}}, nil); e.Error != "" || e.Device == nil {
		t.Fatalf("%+v", e)
	}
	if e := ask(order{Join: &joinOrder{Dir: dir, Problems: o.Problems, Lockstep: 1, Rows: 2, EvalRows: o.EvalRows}}, nil); e.Error != "" || len(e.Phases) != 1 {
		t.Fatalf("%+v", e)
	}
	if l, err := Open(t.Context(), small(t, Options{Resume: dir})); err == nil || !strings.Contains(err.Error(), "another process works on "+dir) {
		if err == nil {
			l.Close()
		}
		t.Errorf("while a worker is at work: error %v", err)
	}
	e := ask(order{Do: &piece{Kind: trainPiece, Number: 3}}, func(t progress) {
		if t.Done == 1 {
			p.in.Close()
		}
	})
	<-p.exited
	if !e.Interrupted || !strings.HasPrefix(e.Error, "after step ") || p.how != "exit status 0" {
		t.Errorf("%+v, then %s; want that it was interrupted, and an orderly end\n%s", e, p.how, &log)
	}
	if names := steps(t, filepath.Join(dir, "recipe-18")); !strings.Contains(names, "checkpoint-") {
		t.Errorf("checkpoints %q, want one", names)
	}
	again, err := Open(t.Context(), small(t, Options{Resume: dir}))
	if err != nil {
		t.Fatalf("when the worker has ended: %v", err)
	}
	again.Close()
}
