package lab

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"teamtalk/model/backend"
	"teamtalk/recipe/artifact"
	"teamtalk/recipe/experiment"
)

// planOf is the mini preset with so many seeds in each of its two arms.
func planOf(t *testing.T, seeds int) experiment.Plan {
	t.Helper()
	p, err := experiment.Preset("mini")
	if err != nil {
		t.Fatal(err)
	}
	p.Seeds = nil
	for i := range seeds {
		p.Seeds = append(p.Seeds, int64(i))
	}
	return p
}

func TestPlaces(t *testing.T) {
	plugin := t.TempDir() + "/plugin.so"
	if err := os.WriteFile(plugin, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TEAMTALK_PJRT_CUDA", plugin) // found, and never opened here
	t.Setenv("NPROC", "")
	half := fmt.Sprintf("NPROC=%d", max(1, runtime.NumCPU()/2))
	for _, c := range []struct {
		why      string
		o        Options
		gpus     string
		seeds    int
		want     string // of each process: name, variables, processes on its device
		lockstep int    // runs in one; 0: all, by the zero value
		err      string
	}{
		{"a notebook asks for nothing", Options{Backend: backend.CUDA}, "0,1", 2, "", 0, ""},
		{"one visible GPU needs no workers", Options{Backend: backend.CUDA, Processes: PerGPU}, "3", 2, "", 0, ""},
		{"no GPU neither", Options{Processes: PerGPU}, "", 2, "", 0, ""},
		{"another backend leaves GPUs alone", Options{Backend: backend.XLACPU, Processes: PerGPU}, "0,1", 2, "", 0, ""},
		{"one for each, in the words and the order of the list", Options{Processes: PerGPU}, "3,GPU-aa", 2,
			"gpu0 CUDA_VISIBLE_DEVICES=3 1; gpu1 CUDA_VISIBLE_DEVICES=GPU-aa 1", 2, ""},
		{"eight runs on three GPUs: 3, 3 and 2", Options{Backend: backend.CUDA, Processes: PerGPU}, "0,1,2", 4,
			"gpu0 CUDA_VISIBLE_DEVICES=0 1; gpu1 CUDA_VISIBLE_DEVICES=1 1; gpu2 CUDA_VISIBLE_DEVICES=2 1", 3, ""},
		{"no more processes than there is work for: two runs, three rounds of evaluations", Options{Backend: backend.CUDA, Processes: PerGPU}, "0,1,2,3,4,5,6,7", 1,
			"gpu0 CUDA_VISIBLE_DEVICES=0 1; gpu1 CUDA_VISIBLE_DEVICES=1 1; gpu2 CUDA_VISIBLE_DEVICES=2 1", 1, ""},
		{"three share two GPUs", Options{Backend: backend.CUDA, Processes: 3}, "4,5", 3,
			"gpu0.0 CUDA_VISIBLE_DEVICES=4 2; gpu1 CUDA_VISIBLE_DEVICES=5 1; gpu0.1 CUDA_VISIBLE_DEVICES=4 2", 2, ""},
		{"lockstep as asked for", Options{Backend: backend.CUDA, Processes: 2, Lockstep: 1}, "0,1,2,3", 2,
			"gpu0 CUDA_VISIBLE_DEVICES=0 1; gpu1 CUDA_VISIBLE_DEVICES=1 1", 1, ""},
		{"processes on the CPU divide its threads", Options{Backend: backend.XLACPU, Processes: 2}, "0,1", 2, "cpu0 " + half + " 2; cpu1 " + half + " 2", 2, ""},
		{"several for no GPU", Options{Backend: backend.CUDA, Processes: 2}, "", 2, "", 0, "2 processes on the backend cuda: expected a visible GPU, found none"},
	} {
		t.Setenv(backend.VisibleDevices, c.gpus)
		c.o.Worker = []string{"recipe", "worker"}
		l := &Lab{Plan: planOf(t, c.seeds), options: c.o}
		places, err := l.places()
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: error %v, want %q", c.why, err, c.err)
			}
			continue
		}
		var got []string
		for _, p := range places {
			got = append(got, fmt.Sprintf("%s %s %d", p.name, strings.Join(p.env, " "), p.sharers))
		}
		if s := strings.Join(got, "; "); err != nil || s != c.want || l.options.Lockstep != c.lockstep {
			t.Errorf("%s:\n%s, %d in lockstep, error %v; want\n%s, %d", c.why, s, l.options.Lockstep, err, c.want, c.lockstep)
		}
	}
	l := &Lab{Plan: planOf(t, 2), options: Options{Processes: 2, Backend: backend.Go}}
	if _, err := l.places(); err == nil || !strings.Contains(err.Error(), "expected the command of a worker process") {
		t.Errorf("several processes and no command for them: error %v", err)
	}
}

// Workers on unequal devices would make numbers depend on which of them took what.
func TestWorkersNeedEqualDevices(t *testing.T) {
	h200 := artifact.Env{Backend: "cuda", Device: "NVIDIA H200"}
	w := &workers{device: h200, seats: []*seat{{place: place{name: "gpu0"}}}}
	s := &seat{place: place{name: "gpu1"}}
	if err := w.same(s, h200); err != nil {
		t.Errorf("equal devices: error %v", err)
	}
	err := w.same(s, artifact.Env{Backend: "cuda", Device: "NVIDIA A100"})
	if want := "found gpu0 with NVIDIA H200 (cuda) and gpu1 with NVIDIA A100 (cuda): choose with CUDA_VISIBLE_DEVICES, or take -processes 1"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q in it", err, want)
	}
}

// What all workers have done, counted by hand: two groups of two runs, 40 steps each.
func TestOverallLine(t *testing.T) {
	l := &Lab{Plan: planOf(t, 2)}
	if n := l.Plan.Training.MaxSteps; n != 40 {
		t.Fatalf("the preset has %d steps: count again", n)
	}
	a := piece{Kind: trainPiece, Number: 0, Names: []string{"baseline-0", "baseline-1"}}
	b := piece{Kind: trainPiece, Number: 1, Names: []string{"recipe-0", "recipe-1"}}
	o := &overall{lab: l, allSteps: 160, allEvals: 8}
	o.begin([]piece{a, b})
	o.pieces[a.String()] = counted{piece: a, done: 10, all: 40}
	o.pieces[b.String()] = counted{piece: b, done: 30, all: 40, before: 20} // it went on from step 20
	// 80 of 160 are done, 40 of them in these 20 s: the other 80 take 40 s.
	if got, want := o.line(20e9), "all workers: 80/160 steps, 0/8 evaluations, 40s of the training left"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
