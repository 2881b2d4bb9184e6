package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"teamtalk/recipe/artifact"
	"teamtalk/recipe/artifact/artifacttest"
)

// serve starts report watch and returns the address it says.
func serve(t *testing.T, args ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, append([]string{"watch", "-addr", "localhost:0", "-every", "100ms"}, args...), strings.NewReader(""), in, io.Discard)
		in.CloseWithError(io.EOF)
		ended <- err
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("stopped: %v, want no error", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("it says %q, %v", line, <-ended)
	}
	_, rest, _ := strings.Cut(line, "http://")
	address, _, ok := strings.Cut(rest, "/")
	if !ok {
		t.Fatalf("no address in %q", line)
	}
	return "http://" + address
}

func get(t *testing.T, url string) (status int, body, kind string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b), r.Header.Get("Content-Type")
}

// stampAfter waits for a stamp other than this one; the test's own time limit ends the wait.
func stampAfter(t *testing.T, url, old string) (stamp, shown, state string) {
	t.Helper()
	for {
		_, body, _ := get(t, url+"/stamp")
		lines := strings.Split(body, "\n")
		if len(lines) != 4 {
			t.Fatalf("stamp %q", body)
		}
		if lines[0] != old {
			return lines[0], lines[1], lines[2]
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// A run is watched from before its first step until it is sealed, through a moment in which a file cannot be read. Nothing is written.
func TestWatch(t *testing.T) {
	whole, dir := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "run")
	simulate(t, whole, artifacttest.Options{})
	copyRun := func(match func(string) bool) {
		t.Helper()
		err := filepath.WalkDir(whole, func(p string, d os.DirEntry, err error) error {
			name, _ := filepath.Rel(whole, p)
			if err != nil || d.IsDir() || !match(filepath.ToSlash(name)) {
				return err
			}
			raw, err := os.ReadFile(p)
			if err == nil {
				err = os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name), raw, 0o644)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	copyRun(func(name string) bool { return name == artifact.ExperimentFile || name == artifact.EnvFile })
	url := serve(t, dir)
	status, body, kind := get(t, url+"/")
	if status != 200 || !strings.HasPrefix(kind, "text/html") || !strings.Contains(body, "<title>run</title>") {
		t.Errorf("the page: %d, %s, %.200s", status, kind, body)
	}
	stamp, _, _ := stampAfter(t, url, "")

	copyRun(func(name string) bool { return strings.HasPrefix(name, "baseline-17/") })
	stamp, shown, state := stampAfter(t, url, stamp)
	if shown != "yes" || state != "training: 2 of 8 steps of all runs" {
		t.Errorf("one run trained: shown %q, state %q", shown, state)
	}
	if _, body, _ := get(t, url+"/report/report.html"); !strings.Contains(body, "baseline-17") {
		t.Error("the page does not show the run that was trained")
	}
	_, before, _ := get(t, url+"/report/report.json")

	copyRun(func(name string) bool { return name == "recipe-17/"+artifact.ConfigFile })
	stamp, shown, state = stampAfter(t, url, stamp)
	if shown != "yes" || state != "training: 2 of 8 steps of all runs" {
		t.Errorf("a second run before its first step: shown %q, state %q", shown, state)
	}

	if err := os.WriteFile(filepath.Join(dir, "recipe-17", artifact.ConfigFile), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	stamp, shown, state = stampAfter(t, url, stamp)
	if shown != "yes" || !strings.Contains(state, artifact.ConfigFile) {
		t.Errorf("a file that cannot be read: shown %q, state %q, want the earlier report and the file's name", shown, state)
	}
	if _, now, _ := get(t, url+"/report/report.json"); !strings.HasPrefix(now, "{") || len(now) < len(before) {
		t.Errorf("the earlier report is gone: %.80s", now)
	}
	copyRun(func(name string) bool { return true })
	for state != "complete" {
		stamp, _, state = stampAfter(t, url, stamp)
	}
	if _, body, _ := get(t, url+"/report/report.html"); !strings.Contains(body, "Unresolved") && !strings.Contains(body, "unresolved") {
		t.Error("the page of the complete run has no verdict")
	}
	for name, want := range map[string]string{"report.md": "text/markdown", "figures/fig-curves.svg": "image/svg+xml", "report.json": "application/json"} {
		if status, _, kind := get(t, url+"/report/"+name); status != 200 || !strings.HasPrefix(kind, want) {
			t.Errorf("%s: %d, %s, want %s", name, status, kind, want)
		}
	}
	for _, name := range []string{"/report/../experiment.json", "/report/", "/experiment.json"} {
		if status, _, _ := get(t, url+name); status != 404 {
			t.Errorf("%s: %d, want 404: only the report is served", name, status)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, artifact.ReportDir)); err == nil {
		t.Error("watching wrote a report into the run")
	}
}

func TestWatchRefuses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	simulate(t, dir, artifacttest.Options{})
	taken := strings.TrimPrefix(serve(t, dir), "http://")
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		why  string
		args []string
		code int
		says string
	}{
		{"no run at all", nil, 2, "there is no run under runs/"},
		{"a folder that is none", []string{"."}, 2, "is not a run"},
		{"two runs", []string{dir, dir}, 2, "one run at a time"},
		{"too often", []string{"-every", "1ms", dir}, 2, "expected 100ms or more"},
		{"a port that is taken", []string{"-addr", taken, dir}, 1, "give another -addr"},
	} {
		code, _, errs := call(t, append([]string{"watch"}, c.args...)...)
		if code != c.code || !strings.Contains(errs, c.says) {
			t.Errorf("%s: exit %d, %q; want %d and %q", c.why, code, errs, c.code, c.says)
		}
	}
	if code, out, errs := call(t, "watch", "-h"); code != 0 || errs != "" || !strings.HasPrefix(out, "usage: go run ./report watch ") || !strings.Contains(out, "-addr host:port") {
		t.Errorf("watch -h: exit %d, %q, %q", code, out, errs)
	}
}

// A page on the web whose name leads to this machine does not read the run.
func TestWatchAnswersThisMachine(t *testing.T) {
	ok := http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) { out.WriteHeader(http.StatusOK) })
	for _, c := range []struct {
		why, listens, host string
		want               int
	}{
		{"as it says", "127.0.0.1:8137", "127.0.0.1:8137", http.StatusOK},
		{"by name, through a tunnel with another port", "127.0.0.1:8137", "localhost:9000", http.StatusOK},
		{"over IPv6", "[::1]:8137", "[::1]:8137", http.StatusOK},
		{"port 80", "127.0.0.1:80", "localhost", http.StatusOK},
		{"somebody else's name", "127.0.0.1:8137", "evil.example:8137", http.StatusForbidden},
		{"somebody else's address", "127.0.0.1:8137", "192.0.2.1", http.StatusForbidden},
		{"no name", "127.0.0.1:8137", "", http.StatusForbidden},
		{"opened to the network", "0.0.0.0:8137", "gpu-7.example:8137", http.StatusOK},
	} {
		addr, err := net.ResolveTCPAddr("tcp", c.listens)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = c.host
		out := httptest.NewRecorder()
		sameMachine(addr, ok).ServeHTTP(out, r)
		if out.Code != c.want {
			t.Errorf("%s: Host %q is answered with %d, want %d", c.why, c.host, out.Code, c.want)
		}
	}
}
