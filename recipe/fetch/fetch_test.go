package fetch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const text = "0123456789abcdefghijklmnopqrstuvwxyz"

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

// Servers differ in what they make of a Range. half is what an earlier call left behind.
func TestServers(t *testing.T) {
	partial := func(w http.ResponseWriter, contentRange, body string) {
		w.Header().Set("Content-Range", contentRange)
		w.WriteHeader(http.StatusPartialContent)
		fmt.Fprint(w, body)
	}
	for _, c := range []struct {
		why, half string
		size      int64
		serve     func(w http.ResponseWriter, r *http.Request, n int) // the n-th request, from 1
		requests  int
		err       string // "": the file arrives
	}{
		{"the whole file", "", 36, func(w http.ResponseWriter, r *http.Request, n int) { fmt.Fprint(w, text) }, 1, ""},
		{"the rest of it", text[:10], 36, func(w http.ResponseWriter, r *http.Request, n int) {
			partial(w, "bytes 10-35/36", text[10:])
		}, 1, ""},
		{"the rest of a file of unknown length", text[:10], 0, func(w http.ResponseWriter, r *http.Request, n int) {
			partial(w, "bytes 10-35/36", text[10:])
		}, 1, ""},
		{"a server that knows no ranges sends it all: what was there is replaced, not added to", text[:10], 36,
			func(w http.ResponseWriter, r *http.Request, n int) { fmt.Fprint(w, text) }, 1, ""},
		{"a server that sends another part than was asked for: begun anew", text[:10], 36,
			func(w http.ResponseWriter, r *http.Request, n int) {
				if n == 1 {
					partial(w, "bytes 5-35/36", text[5:])
				} else {
					fmt.Fprint(w, text)
				}
			}, 2, ""},
		{"all was there before the process was killed, its length is known: nothing is asked", text, 36, nil, 0, ""},
		{"all was there, its length is not known: 416 tells", text, 0,
			func(w http.ResponseWriter, r *http.Request, n int) {
				w.Header().Set("Content-Range", "bytes */36")
				w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			}, 1, ""},
		{"more was there than the file has: begun anew", text + "zz", 36,
			func(w http.ResponseWriter, r *http.Request, n int) { fmt.Fprint(w, text) }, 1, ""},
		{"a busy server is asked again", "", 36, func(w http.ResponseWriter, r *http.Request, n int) {
			if n == 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
			} else {
				fmt.Fprint(w, text)
			}
		}, 2, ""},
		{"a server that hangs is asked again", "", 36, func(w http.ResponseWriter, r *http.Request, n int) {
			if n == 1 {
				w.Header().Set("Content-Length", "36")
				fmt.Fprint(w, text[:7])
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			} else {
				partial(w, "bytes 7-35/36", text[7:])
			}
		}, 2, ""},
		{"a server that never gets anywhere is given up", "", 36, func(w http.ResponseWriter, r *http.Request, n int) {
			w.WriteHeader(http.StatusBadGateway)
		}, 3, "gave up after 3 tries"},
		{"a refusal is final", "", 36, func(w http.ResponseWriter, r *http.Request, n int) {
			w.WriteHeader(http.StatusForbidden)
		}, 1, "403 Forbidden"},
		{"a file of another length is not even begun", "", 36, func(w http.ResponseWriter, r *http.Request, n int) {
			fmt.Fprint(w, text[:20])
		}, 1, "expected 36 bytes, the server offers 20"},
		{"other bytes", "", 36, func(w http.ResponseWriter, r *http.Request, n int) {
			fmt.Fprint(w, strings.ToUpper(text))
		}, 1, "expected sha256 " + sum(text)},
	} {
		t.Run(c.why, func(t *testing.T) {
			n := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n++
				if want := fmt.Sprintf("bytes=%d-", len(c.half)); n == 1 && c.half != "" && len(c.half) <= 36 && r.Header.Get("Range") != want {
					t.Errorf("asked for %q, want %q", r.Header.Get("Range"), want)
				}
				c.serve(w, r, n)
			}))
			defer server.Close()
			path := filepath.Join(t.TempDir(), "new", "file")
			f := File{URL: server.URL + "/file", Path: path, Size: c.size, SHA256: sum(text)}
			part := path + "." + f.SHA256[:16] + ".part"
			if c.half != "" {
				if err := errors.Join(os.MkdirAll(filepath.Dir(part), 0o755), os.WriteFile(part, []byte(c.half), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			g := Getter{Wait: time.Millisecond, Tries: 3, Idle: 200 * time.Millisecond}
			err := g.Get(t.Context(), f)
			if n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
			got, readErr := os.ReadFile(path)
			if c.err == "" {
				if err != nil || string(got) != text {
					t.Errorf("got %q, %v", got, errors.Join(err, readErr))
				}
			} else if err == nil || !strings.Contains(err.Error(), c.err) || readErr == nil {
				t.Errorf("got %v and a file of %d bytes, want an error with %q and none", err, len(got), c.err)
			}
			if _, err := os.Stat(part); err == nil {
				t.Error("a partial file is left though nothing can be made of it")
			}
		})
	}
}

func TestGetOverwritesNothing(t *testing.T) {
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "file")
	f := File{URL: server.URL, Path: path, SHA256: sum(text)}
	for _, c := range []struct{ why, there, err string }{
		{"the right file is there", text, ""},
		{"another one is", "mine", "move it away"},
	} {
		if err := os.WriteFile(path, []byte(c.there), 0o644); err != nil {
			t.Fatal(err)
		}
		err := new(Getter).Get(t.Context(), f)
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: got %v", c.why, err)
		}
		if got, _ := os.ReadFile(path); string(got) != c.there || asked {
			t.Errorf("%s: now %q, asked: %v", c.why, got, asked)
		}
	}
	if err := new(Getter).Get(t.Context(), File{URL: server.URL, Path: path + "2"}); err == nil || asked {
		t.Errorf("a file that nothing identifies: got %v", err)
	}
}

func TestUnreachable(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	f := File{URL: server.URL, Path: filepath.Join(t.TempDir(), "file"), SHA256: sum(text)}
	if err := new(Getter).Get(t.Context(), f); err == nil || Unreachable(err) {
		t.Errorf("a server that answers is reachable: %v", err)
	}
	server.Close()
	g := Getter{Wait: time.Hour} // it must not wait for a network that was never there
	if err := g.Get(t.Context(), f); !Unreachable(err) {
		t.Errorf("got %v", err)
	}
}

func TestPrinter(t *testing.T) {
	var out strings.Builder
	p := Printer(&out, time.Hour)
	p("/x/a.bin", 10, 2_500_000_000)
	p("/x/a.bin", 2_500_000_000, 2_500_000_000)
	p("/x/b.bin", 1500, 0)
	if want := "a.bin: 2.50 GB of 2.50 GB\n"; out.String() != want {
		t.Errorf("got %q, want %q", &out, want)
	}
	p = Printer(&out, 0)
	out.Reset()
	p("/x/b.bin", 1_500_000, 3_000_000)
	p("/x/c.bin", 1500, 0)
	if want := "b.bin: 1.5 MB of 3.0 MB\nc.bin: 1.5 kB\n"; out.String() != want {
		t.Errorf("got %q, want %q", &out, want)
	}
}
