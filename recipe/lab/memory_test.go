package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"teamtalk/model"
	"teamtalk/model/backend"
	"teamtalk/model/checkpoint"
	"teamtalk/recipe/bench"
	"teamtalk/recipe/cost"
	"teamtalk/recipe/experiment"
)

// qwenRoom is the qwen preset's training on a GPU with so many GiB free: 256 tokens of prompt, rows of 1,024, about 4,000 tokens in
// a pass.
func qwenRoom(t *testing.T, gib float64) room {
	t.Helper()
	plan, err := experiment.Preset("qwen")
	if err != nil {
		t.Fatal(err)
	}
	return room{
		costs: cost.Model{
			Config: bench.Qwen15,
			LoRA:   model.LoRA{Rank: 32, Alpha: 64, Targets: checkpoint.Linears}, Bytes: 2,
		},
		overhead: cost.OnGPU, training: plan.Training, prompt: 256, have: gib * (1 << 30),
	}
}

func TestMicroBatchFitsTheDevice(t *testing.T) {
	for _, c := range []struct {
		why     string
		gib     float64
		m       int
		asked   int
		want    int
		refused []string
	}{
		{"an H200 takes the preferred pass", 132, 4, 0, 4, nil},
		{"a device that does not tell", 0, 4, 0, 4, nil},
		{"a device that does not tell takes what it is asked for", 0, 4, 100, 100, nil},
		{"a 24 GiB card takes fewer rows by itself", 22, 1, 0, 2, nil},
		{"what was asked for fits", 132, 1, 8, 8, nil},
		{"what was asked for does not fit: nothing is chosen instead", 40, 1, 8, 0, []string{"8 rows in a pass would take about", "weights 2.88", "activations", "the device has 40.00 GiB free", "What fits: -micro-batch"}},
		{"one row fits for fewer runs", 19, 4, 0, 0, []string{"training 4 runs", "1 rows in a pass", "What fits: -lockstep"}},
		{"one row fits with shorter replies", 12, 1, 0, 0, []string{"What fits: replies of at most", "(max_completion_length)"}},
		{"nothing fits", 4, 1, 0, 0, []string{"Nothing smaller fits either"}},
	} {
		r := qwenRoom(t, c.gib)
		got, err := r.fitting(c.m, c.asked)
		if got != c.want || (err == nil) != (c.refused == nil) {
			t.Errorf("%s: %d rows, error %v, want %d; one row takes %s", c.why, got, err, c.want, r.estimate(c.m, 1))
			continue
		}
		for _, want := range c.refused {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %q does not say %q", c.why, err, want)
			}
		}
	}
}

// On a CPU a pass is small unless it is asked to be larger.
func TestAutoIsSmallOnACPU(t *testing.T) {
	r := qwenRoom(t, 132)
	r.training.MaxCompletionLength, r.prompt = 96, 80 // rows of 256 tokens
	for _, c := range []struct{ tokens, asked, want int }{{cpuTokens, 0, 1}, {600, 0, 2}, {cpuTokens, 5, 5}, {0, 0, 16}} {
		r.tokens = c.tokens
		if got, err := r.fitting(1, c.asked); got != c.want || err != nil {
			t.Errorf("%d tokens preferred, %d rows asked for: %d rows, error %v, want %d", c.tokens, c.asked, got, err, c.want)
		}
	}
	if r := mustRoom(t, opened(t)); r.tokens != cpuTokens || r.overhead != cost.OnCPU || r.have <= 0 || r.costs.Bytes != 4 {
		t.Errorf("on a CPU: %+v", r)
	}
}

func mustRoom(t *testing.T, l *Lab) room {
	t.Helper()
	r, err := l.room()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// What auto chooses fits, and one row more does not, or is more than preferred.
func TestAutoTakesTheMostThatFits(t *testing.T) {
	for gib := 15.0; gib < 80; gib += 2.5 {
		r := qwenRoom(t, gib)
		rows, err := r.fitting(1, 0)
		if err != nil {
			continue
		}
		if !r.fits(1, rows) || (rows < 4 && r.fits(1, rows+1)) {
			t.Errorf("%g GiB: %d rows take %s, one more %s", gib, rows, r.estimate(1, rows), r.estimate(1, rows+1))
		}
	}
}

// opened is a small experiment before its first step.
func opened(t *testing.T) *Lab {
	t.Helper()
	l, err := Open(t.Context(), small(t, Options{Out: filepath.Join(t.TempDir(), "run")}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func TestTrainingThatDoesNotFitIsRefusedBeforeItIsCompiled(t *testing.T) {
	l := opened(t)
	l.options.Rows = 1 << 20
	before := len(l.Device.Programs())
	err := l.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "1048576 rows in a pass would take about") || !strings.Contains(err.Error(), "What fits: -micro-batch") {
		t.Errorf("error %v", err)
	}
	if n := len(l.Device.Programs()); n != before {
		t.Errorf("%d programs were compiled", n-before)
	}
	// Asked for from the start it is refused before there is a folder.
	out := filepath.Join(t.TempDir(), "run")
	o := small(t, Options{Out: out})
	o.Rows = 1 << 20
	if l, err := Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "What fits: -micro-batch") {
		if l != nil {
			l.Close()
		}
		t.Errorf("error %v, want what fits", err)
	}
	if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder was left: %v", err)
	}
}

func TestExhaustedMemoryIsExplained(t *testing.T) {
	l := opened(t)
	cause := errors.New("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes.")
	err := l.exhausted(fmt.Errorf("step 3: running gradient_m2: %w", cause), 2, 3)
	for _, want := range []string{"step 3: running gradient_m2: RESOURCE_EXHAUSTED", "was estimated at", "smaller -micro-batch (now 3) or -lockstep (now 2)"} {
		if !errors.Is(err, cause) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %q, want %q", err, want)
		}
	}
	other := errors.New("a full disk")
	if got := l.exhausted(other, 2, 3); got != other || backend.Exhausted(got) {
		t.Errorf("another error became %v", got)
	}
}
