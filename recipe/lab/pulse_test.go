//go:build unix

package lab

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Only ticks without a word between them, and in a row, speak against a worker. "b" is a beat, "u" a word that nobody takes, "t" when
// it is taken, "." a tick.
func TestPulse(t *testing.T) {
	for _, c := range []struct {
		why, events string
		hangs       bool
	}{
		{"silent from the start", "....", true},
		{"one tick short of that", "...", false},
		{"a beat before each tick", "b.b.b.b.b.b.b.b.", false},
		{"a beat now and then, as on a machine with much to do", "..b...b...b...", false},
		{"many beats at once do not count for later", "bbbbbbbb.....", true},
		{"silent after it was heard", "b.b.b.....", true},
		{"the coordinator was stopped for long, and one tick waited for it", "b.b..b.b", false},
		{"its word waits for a coordinator that cannot write its log", "bu........", false},
		{"and is taken, and nothing comes after it", "u......t....", true},
		{"the same, one tick short", "u......t...", false},
	} {
		var p pulse
		hangs := false
		for _, e := range c.events {
			switch e {
			case 'b':
				p.heard.Store(true)
			case 'u', 't':
				p.unread.Store(e == 'u')
			case '.':
				hangs = p.tick()
			}
		}
		if hangs != c.hangs {
			t.Errorf("%s: %s: hangs %t, want %t", c.why, c.events, hangs, c.hangs)
		}
	}
}

// A worker is heard of without an order and through a long one; stopped, it is not, is killed, and says so. The clock ticks when this test
// lets it, so that nothing depends on how fast the machine is.
func TestAWorkerThatIsStopped(t *testing.T) {
	dir := planned(t, Options{})
	o := divided(t, 2, Options{})
	var log bytes.Buffer
	ticks := make(chan time.Time)
	clock := func(int, time.Duration) <-chan time.Time { return ticks }
	p, err := startProcess(o.Worker, place{name: "cpu0", sharers: 1}, &wholeLines{to: &log}, watch{beat: time.Millisecond, clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer p.end(time.Second)
	// lives lets the time go by in which a worker without a beat would be given up, after each beat a tick.
	lives := func() {
		for range 3 * silentTicks {
			for !p.pulse.heard.Load() {
				select {
				case <-p.exited:
					t.Errorf("a worker that lives is gone: %s", p.how)
					return
				case <-time.After(time.Millisecond):
				}
			}
			select {
			case ticks <- time.Time{}:
			case <-p.exited:
			}
		}
	}
	for _, ordered := range []order{
		{Open: &openOrder{Worker: "cpu0", Backend: o.Backend, Processes: 1, Beat: p.watch.beat}},
		{Join: &joinOrder{Dir: dir, Problems: o.Problems, Lockstep: 1, Rows: 2, EvalRows: o.EvalRows}},
	} {
		if e, err := p.ask(t.Context(), ordered, nil); err != nil || e.Error != "" {
			t.Fatalf("%+v (%v)", e, err)
		}
		lives()
	}

	lived := make(chan struct{})
	go func() { // while it compiles
		lives()
		close(lived)
	}()
	trained := false
	_, err = p.ask(t.Context(), order{Do: &piece{Kind: trainPiece, Number: 3}}, func(progress) {
		if trained {
			return
		}
		trained = true
		<-lived
		_ = p.cmd.Process.Signal(syscall.SIGSTOP) // one that is gone is found out below
		go func() {
			for {
				select {
				case ticks <- time.Time{}:
				case <-p.exited:
					return
				}
			}
		}()
	})
	var died *diedError
	if !errors.As(err, &died) || !trained || died.how != "it hung: no sign of life for 2m0s" {
		t.Errorf("error %v, want that it hung", err)
	}
	if want := "worker process cpu0 has given no sign of life for 2m0s: it is killed\n"; !strings.Contains(log.String(), want) {
		t.Errorf("the log has no line %q:\n%s", want, &log)
	}
}

// A worker that hangs is replaced as one that died is, and the run is that of one process, byte for byte.
func TestAWorkerThatHangsIsReplaced(t *testing.T) {
	dir, hanging := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "hanging")
	t.Setenv(killAt, "training [recipe-17") // before it compiles, to be quick
	t.Setenv(killOnce, hanging)
	t.Setenv(onlyWait, "yes")
	var log bytes.Buffer
	o := divided(t, 2, Options{Out: dir})
	o.Log = &log
	// Only for the process that waits, once it is stopped, the time goes by.
	o.watch.clock = func(pid int, _ time.Duration) <-chan time.Time {
		ticks := make(chan time.Time)
		go func() {
			for beat := time.NewTicker(time.Millisecond); ; {
				select {
				case <-t.Context().Done():
					return
				case <-beat.C:
				}
				if raw, err := os.ReadFile(hanging); err != nil || string(raw) != strconv.Itoa(pid) {
					continue
				}
				_ = syscall.Kill(pid, syscall.SIGSTOP) // killed, it cannot be stopped
				select {
				case ticks <- time.Time{}:
				case <-t.Context().Done():
				}
			}
		}()
		return ticks
	}
	if err := conduct(t.Context(), o); err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	sameAs(t, dir)
	for _, line := range []string{
		`(?m)^worker process cpu[01] has given no sign of life for 2m0s: it is killed$`,
		`(?m)^worker process cpu[01] died \(it hung: no sign of life for 2m0s\): training \[recipe-17 recipe-18\] goes on in a new one from step 0$`,
	} {
		if n := len(regexp.MustCompile(line).FindAll(log.Bytes(), -1)); n != 1 {
			t.Errorf("the log has %d lines like %s, want one:\n%s", n, line, &log)
		}
	}
}
