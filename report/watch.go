package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"mime"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"teamtalk/recipe/artifact"
	"teamtalk/report/page"
)

const watchHelp = `usage: go run ./report watch [flags] [runs/NAME]

Shows a run in the browser while it trains: the report of what is there so far, made again when the run has grown. Without a name it
takes the newest run under runs/, complete or not. Nothing is written. Ctrl-C ends it.

`

// watchPage is the page around the report: it asks for the report's stamp and loads it again when that changes.
//
//go:embed watch.html
var watchPage string

var watchTemplate = template.Must(template.New("watch").Parse(watchPage))

// runWatch serves the report of a run that may still be training.
func runWatch(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("watch", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	addr := flags.String("addr", "localhost:8137", "`host:port` to serve on; port 0 takes a free one")
	every := flags.Duration("every", 2*time.Second, "how often to look whether the run has grown")
	rest, err := parseAnywhere(flags, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		io.WriteString(stdout, watchHelp)
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		return nil
	case err != nil:
		return usageError{err}
	case len(rest) > 1:
		return usagef("one run at a time: found %q", rest)
	case *every < 100*time.Millisecond:
		return usagef("-every %s: expected 100ms or more", *every)
	}
	dir := ""
	if len(rest) == 1 {
		dir = rest[0]
	} else if dir, err = newest("runs", artifact.ExperimentFile); err != nil {
		return err
	}
	if err := isRun(dir); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		return fmt.Errorf("cannot serve on %s (%w): give another -addr, such as localhost:0", *addr, err)
	}
	w := &watched{dir: dir, every: *every}
	server := &http.Server{Handler: sameMachine(listener.Addr(), w.handler()), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		server.Close() // who waits for a page sees the connection end
	}()
	fmt.Fprintf(stdout, "watching %s at http://%s/ until Ctrl-C\n", dir, listener.Addr())
	if !thisMachineOnly(listener.Addr()) {
		fmt.Fprintln(stderr, "report: whoever reaches this machine can read the run there")
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// watched is a run and the report that was made of it last.
type watched struct {
	dir   string
	every time.Duration

	mu    sync.Mutex
	next  time.Time  // not to look before
	grown string     // what the folder looked like when the report was made
	files page.Files // nil before there is anything to show
	state string     // one line for the page's head
	stamp string
}

// look makes the report again if the run has grown and the last look is some time ago. A report that cannot be made, because a
// file is being written or nothing has been trained yet, leaves the one before and says why.
func (w *watched) look() {
	start := time.Now()
	if start.Before(w.next) {
		return
	}
	// A large run's report takes seconds to make: the processor is the training's for most of the time.
	defer func() { w.next = time.Now().Add(max(w.every, 9*time.Since(start))) }()
	now := footprint(os.DirFS(w.dir))
	if now == w.grown {
		return
	}
	files, err := page.Build(os.DirFS(w.dir), page.Options{})
	if err != nil {
		w.state = fmt.Sprintf("nothing to show yet: %v", err)
		if w.files != nil {
			w.state = fmt.Sprintf("as of the last look but one: %v", err)
		}
		w.stamp = page.Sum([]byte(w.state))
		return
	}
	if w.state, err = stateOf(files); err != nil {
		w.state = err.Error()
	}
	w.files, w.grown, w.stamp = files, now, page.Sum(append([]byte(w.state), files["manifest.json"]...))
}

// stateOf says in a line how far the run of a report is.
func stateOf(files page.Files) (string, error) {
	var doc struct {
		Run struct {
			Complete bool     `json:"complete"`
			Missing  []string `json:"missing"`
		} `json:"run"`
		Plan struct {
			Training struct {
				Steps int `json:"max_steps"`
			} `json:"training"`
		} `json:"plan"`
		Planned []string `json:"planned_runs"`
		Curves  map[string]struct {
			Steps []int `json:"steps"`
		} `json:"curves"`
	}
	if err := json.Unmarshal(files["report.json"], &doc); err != nil {
		return "", fmt.Errorf("report.json: %w", err)
	}
	steps := 0
	for _, c := range doc.Curves {
		steps += len(c.Steps)
	}
	switch all := len(doc.Planned) * doc.Plan.Training.Steps; {
	case doc.Run.Complete:
		return "complete", nil
	case steps < all:
		return fmt.Sprintf("training: %d of %d steps of all runs", steps, all), nil
	default:
		return fmt.Sprintf("trained; of what was planned %d parts are missing", len(doc.Run.Missing)), nil
	}
}

// footprint changes when a file of a run does, by sizes and times, without its being read. Weights and reports are left out.
func footprint(run fs.FS) string {
	var b strings.Builder
	_ = fs.WalkDir(run, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it went while we looked: the next look sees what came of it
		}
		if d.IsDir() {
			if name == artifact.ReportDir || strings.HasPrefix(path.Base(name), "checkpoint-") {
				return fs.SkipDir
			}
			return nil
		}
		if info, err := d.Info(); err == nil && path.Ext(name) != ".safetensors" {
			fmt.Fprintln(&b, name, info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
	return b.String()
}

// sameMachine hands on what asks for this machine by a name of its own, where it listens for this machine alone. A page on the web could
// have its own name lead here (DNS rebinding) and read the run; who listens on an address of the network has opened it to others.
func sameMachine(listens net.Addr, h http.Handler) http.Handler {
	if !thisMachineOnly(listens) {
		return h
	}
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		host = strings.Trim(host, "[]")
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(out, fmt.Sprintf("%q is not this machine: open http://%s/, or let others in with -addr", host, listens), http.StatusForbidden)
			return
		}
		h.ServeHTTP(out, r)
	})
}

func thisMachineOnly(listens net.Addr) bool {
	a, ok := listens.(*net.TCPAddr)
	return ok && a.IP.IsLoopback()
}

func (w *watched) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(out http.ResponseWriter, _ *http.Request) {
		var b bytes.Buffer
		err := watchTemplate.Execute(&b, map[string]any{"Run": filepath.Base(w.dir), "Every": w.every.Milliseconds()})
		if err != nil {
			http.Error(out, err.Error(), http.StatusInternalServerError)
			return
		}
		out.Header().Set("Content-Type", "text/html; charset=utf-8")
		out.Write(b.Bytes())
	})
	mux.HandleFunc("GET /stamp", func(out http.ResponseWriter, _ *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.look()
		out.Header().Set("Cache-Control", "no-store")
		shown := "no"
		if w.files != nil {
			shown = "yes"
		}
		fmt.Fprintf(out, "%s\n%s\n%s\n", w.stamp, shown, w.state)
	})
	mux.HandleFunc("GET /report/{file...}", func(out http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.look()
		content, ok := w.files[r.PathValue("file")]
		w.mu.Unlock()
		if !ok {
			http.NotFound(out, r)
			return
		}
		out.Header().Set("Cache-Control", "no-store")
		if t := mime.TypeByExtension(path.Ext(r.PathValue("file"))); t != "" {
			out.Header().Set("Content-Type", t)
		}
		out.Write(content)
	})
	return mux
}
