//go:build unix

package lab

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a scripted worker says: that it opened a device, that it joined.
const (
	saysOpened = `echo '{"ended":{"device":{"backend":"xla-cpu","device":"some CPU"}}}'`
	saysDone   = `echo '{"ended":{}}'`
)

// scripted is a small run whose workers are a shell script, which reads an order a line with `read l`.
func scripted(t *testing.T, dir, script string) Options {
	t.Helper()
	o := small(t, Options{Out: dir, Backend: "xla-cpu", Processes: 2})
	o.Worker = []string{"sh", "-c", script}
	return o
}

// A worker that does not open stops the run before anything is written.
func TestWorkersThatDoNotOpen(t *testing.T) {
	for _, c := range []struct{ why, script, want string }{
		{"it says why", `read l; echo '{"ended":{"error":"no plugin found"}}'`, "worker process cpu0: no plugin found"},
		{"it ends without a word to the coordinator", `echo 'no such library' >&2; exit 3`, "worker process cpu1: exit status 3; its last lines:\n  no such library"},
		{"it is killed", `kill -9 $$`, "worker process cpu0: signal: killed, having logged nothing"},
		{"it says what no worker says", `read l; echo 'Hello'; read l`, "worker process cpu0: its answer cannot be read: invalid character 'H'"},
		{"it closes its output and stays", `read l; exec >&- 2>&-; exec sleep 60`, "worker process cpu0: signal: killed"},
		{"another program's worker", `read l; ` + saysDone + `; read l`, "worker process cpu0 does not say what it opened: the worker must be the same program"},
		{"unequal devices", `read l; case $l in *cpu1*) echo '{"ended":{"device":{"backend":"go","device":"another"}}}';; *) ` + saysOpened + `;; esac; read l`,
			"expected equal devices, because numbers depend on them, found cpu0 with some CPU (xla-cpu) and cpu1 with another (go)"},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		l, err := Open(t.Context(), scripted(t, dir, c.script))
		if err == nil {
			l.Close()
			t.Errorf("%s: it opens", c.why)
			continue
		}
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %q, want %q in it", c.why, err, c.want)
		}
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the run's folder is there all the same: %v", c.why, err)
		}
	}
}

// An error that a worker reports would come again: it is not tried again, nothing more is dealt, and what the other worker had
// under way is finished.
func TestAnErrorOfAWorkerStopsTheRun(t *testing.T) {
	top := t.TempDir()
	script := `read l; ` + saysOpened + `; read l; ` + saysDone + `
while read l; do
	echo "$l" >> ` + filepath.Join(top, "dealt") + `
	case $l in
	*'"number":0'*) echo '{"ended":{"error":"step 3: the gradient is not a number"}}'; exit 0 ;;
	*) sleep 1; ` + saysDone + ` ;;
	esac
done`
	dir := filepath.Join(top, "run")
	o := scripted(t, dir, script)
	o.Lockstep = 1 // four groups
	var log bytes.Buffer
	o.Log = &log
	err := conduct(t.Context(), o)
	want := "training [baseline-17], worker process cpu"
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), ": step 3: the gradient is not a number") ||
		!strings.Contains(err.Error(), "go on with: go run ./recipe -resume "+dir+" -processes 2") {
		t.Errorf("error %v, want %q, why, and how to go on", err, want)
	}
	dealt, err := os.ReadFile(filepath.Join(top, "dealt"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(dealt), "\n"); n > 2 || strings.Contains(log.String(), "died") {
		t.Errorf("%d pieces were dealt, want the two that were under way at most:\n%s%s", n, dealt, &log)
	}
}
