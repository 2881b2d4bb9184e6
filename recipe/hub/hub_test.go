package hub

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"teamtalk/recipe/fetch"
)

// sameFiles fails unless dir holds exactly files: nothing missing, changed or left over.
func sameFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, ok := files[e.Name()]; !ok {
			t.Errorf("%s is left over", e.Name())
		}
	}
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %d bytes, %v; want %d bytes", name, len(got), err, len(want))
		}
	}
}

func TestDownload(t *testing.T) {
	for _, c := range []struct {
		why, name string
		files     map[string]string
	}{
		{"weights in one file", "hub:acme/tiny", oneFile()},
		{"weights in shards, no generation_config.json", "acme/tiny", shards()},
		{"a commit in place of a branch", "acme/tiny@" + testCommit, oneFile()},
		{"a renamed model is found under its new name", "hub:acme/renamed", oneFile()},
	} {
		t.Run(c.why, func(t *testing.T) {
			f := newFakeHub(t, c.files)
			h := f.hub(t)
			h.Token = "secret" // the storage refuses to be sent it
			var last int64
			h.Getter.Progress = func(path string, done, total int64) {
				if strings.HasSuffix(path, ".safetensors") {
					last = done
				}
			}
			m, err := h.Model(t.Context(), c.name)
			if err != nil {
				t.Fatal(err)
			}
			sameFiles(t, m.Dir, c.files)
			if !m.Fetched || m.Commit != testCommit || filepath.Base(m.Dir) != testCommit {
				t.Errorf("got %+v", m)
			}
			if last == 0 {
				t.Error("no progress was told")
			}
			if f.seen("/resolve/main/")+f.seen("/resolve/"+testCommit+"/config.json") == 0 || f.seen("GET /acme/tiny/resolve/main/") != 0 {
				t.Errorf("files must be got by commit, so that they belong together: %q", f.requests)
			}

			before := len(f.requests)
			again, err := h.Model(t.Context(), c.name)
			if err != nil || again.Fetched || again.Dir != m.Dir || len(f.requests) != before {
				t.Errorf("the second call must use the copy and ask nothing: %+v, %v, %q", again, err, f.requests[before:])
			}
			f.Close()
			if _, err := h.Model(t.Context(), c.name); err != nil {
				t.Errorf("a copy must do without a network: %v", err)
			}
		})
	}
}

func TestResume(t *testing.T) {
	t.Run("a cut connection is taken up again within the call", func(t *testing.T) {
		f := newFakeHub(t, oneFile())
		f.cut["model.safetensors"] = 300000
		m, err := f.hub(t).Model(t.Context(), testName)
		if err != nil {
			t.Fatal(err)
		}
		sameFiles(t, m.Dir, oneFile())
		if f.seen("GET /storage/model.safetensors bytes=300000-") != 1 {
			t.Errorf("want the rest from byte 300000, got %q", f.requests)
		}
	})
	t.Run("an interrupted call is taken up by the next, which gets no finished file again", func(t *testing.T) {
		f := newFakeHub(t, oneFile())
		h := f.hub(t)
		ctx, cancel := context.WithCancel(t.Context())
		f.cut["model.safetensors"] = 300000
		h.Getter.Progress = func(path string, done, total int64) {
			if done == 300000 {
				cancel()
			}
		}
		_, err := h.Model(ctx, testName)
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "300000 bytes are kept") {
			t.Fatalf("got %v", err)
		}
		h.Getter.Progress = nil
		if m, ok := h.cached(testName, "main"); ok {
			t.Fatalf("half a download looks complete: %+v", m)
		}
		m, err := h.Model(t.Context(), testName)
		if err != nil {
			t.Fatal(err)
		}
		sameFiles(t, m.Dir, oneFile())
		if f.seen("bytes=300000-") == 0 || f.seen("GET /acme/tiny/resolve/"+testCommit+"/tokenizer.json") != 1 {
			t.Errorf("got %q", f.requests)
		}
	})
	t.Run("the half of another version is not continued", func(t *testing.T) {
		f := newFakeHub(t, oneFile())
		h := f.hub(t)
		dir := filepath.Join(h.Dir, "models--acme--tiny", "snapshots", testCommit)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		old := filepath.Join(dir, "model.safetensors."+strings.Repeat("0", 16)+".part")
		if err := os.WriteFile(old, []byte("half of something else"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Model(t.Context(), testName); err != nil {
			t.Fatal(err)
		}
		if f.seen("bytes=") != 0 {
			t.Errorf("a range was asked for: %q", f.requests)
		}
	})
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		why, name string
		change    func(*fakeHub, *Hub)
		want      []string
	}{
		{"wrong bytes are thrown away", testName, func(f *fakeHub, h *Hub) { f.corrupt["model.safetensors"] = true },
			[]string{"another content than expected", "expected sha256", "thrown away"}},
		{"wrong bytes of a small file too: git's hash", testName, func(f *fakeHub, h *Hub) { f.corrupt["tokenizer.json"] = true },
			[]string{"another content than expected", "expected git blob"}},
		{"no such model", "acme/typo", nil, []string{"acme/typo does not exist", "check the spelling", "HF_TOKEN"}},
		{"no such revision", "acme/tiny@v9", nil, []string{`no revision "v9"`}},
		{"gated, no token", testName, func(f *fakeHub, h *Hub) {
			f.refuse = func(*http.Request) (int, string) { return 401, "GatedRepo" }
		}, []string{"acme/tiny is gated", "accept its terms", "set HF_TOKEN"}},
		{"gated, and the token does not help", testName, func(f *fakeHub, h *Hub) {
			h.Token = "hf_secret"
			f.refuse = func(*http.Request) (int, string) { return 403, "GatedRepo" }
		}, []string{"gated", "HF_TOKEN is set, but its token may not read it"}},
		{"a plain 404, as mirrors answer", testName, func(f *fakeHub, h *Hub) {
			f.refuse = func(*http.Request) (int, string) { return 404, "" }
		}, []string{"no such model"}},
		{"too many requests", testName, func(f *fakeHub, h *Hub) {
			f.refuse = func(*http.Request) (int, string) { return 429, "" }
		}, []string{"asks to wait"}},
		{"no network", testName, func(f *fakeHub, h *Hub) { f.Close() },
			[]string{"cannot reach", ": on a machine with a network, get the files of ", "pass it as the model"}},
		{"told to stay offline", testName, func(f *fakeHub, h *Hub) { h.Offline = true },
			[]string{"HF_HUB_OFFLINE", "no complete copy", "copy their folder here, and pass it as the model"}},
		{"not a hub", testName, func(f *fakeHub, h *Hub) { f.noCommit = true }, []string{"does not answer as a Hugging Face hub", "HF_ENDPOINT"}},
		{"nothing to check the weights by", testName, func(f *fakeHub, h *Hub) {
			f.etag = func(file, tag string) string {
				if file == "model.safetensors" {
					return "abc-123"
				}
				return tag
			}
		}, []string{"without a hash", `"abc-123"`}},
		{"weights in a format of Python's", testName, func(f *fakeHub, h *Hub) {
			delete(f.files, "model.safetensors")
			f.files["pytorch_model.bin"] = []byte("pickle")
		}, []string{"neither model.safetensors nor", "GGUF"}},
		{"no tokenizer", testName, func(f *fakeHub, h *Hub) { delete(f.files, "tokenizer.json") }, []string{"tokenizer.json", "404"}},
		{"an index that leads out of the folder", testName, func(f *fakeHub, h *Hub) {
			delete(f.files, "model.safetensors")
			f.files["model.safetensors.index.json"] = []byte(`{"weight_map":{"a":"../../x.safetensors"}}`)
		}, []string{"plain names", "../../x.safetensors"}},
		{"an index of nothing", testName, func(f *fakeHub, h *Hub) {
			delete(f.files, "model.safetensors")
			f.files["model.safetensors.index.json"] = []byte(`{}`)
		}, []string{"weight_map"}},
		{"a path as a name", "../etc/passwd", nil, []string{"no model name"}},
		{"a name that would climb", "acme/..", nil, []string{"no model name"}},
		{"a revision that would climb", "acme/tiny@../x", nil, []string{"no revision"}},
		{"no name", "hub:", nil, []string{"expected ORG/NAME"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			f := newFakeHub(t, oneFile())
			h := f.hub(t)
			if c.change != nil {
				c.change(f, h)
			}
			m, err := h.Model(t.Context(), c.name)
			if err == nil {
				t.Fatalf("got %+v", m)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v\nwant %q in it", err, want)
				}
			}
			if h.Token != "" && strings.Contains(err.Error(), h.Token) {
				t.Error("the token is in the message")
			}
			if _, ok := h.cached(testName, "main"); ok {
				t.Error("what was refused looks like a complete copy")
			}
			parts, _ := filepath.Glob(filepath.Join(h.Dir, "*", "snapshots", "*", "*.part"))
			if len(parts) != 0 {
				t.Errorf("left behind: %q", parts)
			}
		})
	}
}

// Hugging Face's own cache is used as it is: refs and snapshots, whose files are links to blobs.
func TestHuggingFaceCache(t *testing.T) {
	root := t.TempDir()
	base := filepath.Join(root, "models--acme--tiny")
	snapshot := filepath.Join(base, "snapshots", testCommit)
	write := func(path, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(base, "refs", "main"), testCommit)
	for name, text := range shards() {
		write(filepath.Join(base, "blobs", name+"-blob"), text)
		if err := os.MkdirAll(snapshot, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join("..", "..", "blobs", name+"-blob"), filepath.Join(snapshot, name)); err != nil {
			t.Fatal(err)
		}
	}
	f := newFakeHub(t, oneFile())
	h := f.hub(t)
	h.Caches = []string{root}
	for _, name := range []string{"hub:acme/tiny", "acme/tiny@" + testCommit} {
		m, err := h.Model(t.Context(), name)
		if err != nil || m.Dir != snapshot || m.Fetched || m.Commit != testCommit || len(f.requests) != 0 {
			t.Errorf("%s: got %+v, %v, %q; want the snapshot and no request", name, m, err, f.requests)
		}
	}

	// A shard whose blob never came: the copy is not used and the model is got elsewhere; this cache stays as it is.
	if err := os.Remove(filepath.Join(base, "blobs", "model-00002-of-00002.safetensors-blob")); err != nil {
		t.Fatal(err)
	}
	m, err := h.Model(t.Context(), "acme/tiny")
	if err != nil || !m.Fetched || !strings.HasPrefix(m.Dir, h.Dir) {
		t.Errorf("got %+v, %v", m, err)
	}
}

func TestFromEnv(t *testing.T) {
	for _, c := range []struct {
		why   string
		env   map[string]string
		cache string
		check func(*Hub) bool
	}{
		{"the cache's own variable comes first", map[string]string{"HF_HUB_CACHE": "/a", "HF_HOME": "/b"}, "/a", func(h *Hub) bool { return h.Endpoint == DefaultEndpoint }},
		{"then Hugging Face's folder", map[string]string{"HF_HOME": "/b", "XDG_CACHE_HOME": "/c"}, "/b/hub", nil},
		{"then the system's cache", map[string]string{"XDG_CACHE_HOME": "/c"}, "/c/huggingface/hub", func(h *Hub) bool { return h.Dir == "/c/teamtalk/hub" }},
		{"then the home folder", map[string]string{"HOME": "/home/me"}, "/home/me/.cache/huggingface/hub", nil},
		{"a mirror, a token, offline", map[string]string{"HF_ENDPOINT": "http://mirror/", "HF_TOKEN": "t", "HF_HUB_OFFLINE": "1", "HF_HOME": "/b"}, "/b/hub",
			func(h *Hub) bool { return h.Endpoint == "http://mirror" && h.Token == "t" && h.Offline }},
	} {
		t.Run(c.why, func(t *testing.T) {
			for _, name := range []string{"HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME", "HF_ENDPOINT", "HF_TOKEN", "HF_HUB_OFFLINE"} {
				t.Setenv(name, "")
			}
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			h, err := FromEnv(nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(h.Caches) != 1 || h.Caches[0] != filepath.FromSlash(c.cache) || c.check != nil && !c.check(h) {
				t.Errorf("got %+v", h)
			}
		})
	}
}

// Two processes that want the same model at once, which one machine with several GPUs does: one gets it, the other waits.
func TestTwoAtOnce(t *testing.T) {
	f := newFakeHub(t, oneFile())
	dir := t.TempDir()
	results := make(chan error, 2)
	for range 2 {
		go func() {
			h := &Hub{Endpoint: f.URL, Dir: dir, Getter: fetch.Getter{}}
			_, err := h.Model(t.Context(), testName)
			results <- err
		}()
	}
	for range 2 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if n := f.seen("GET /storage/model.safetensors"); n != 1 {
		t.Errorf("the weights were sent %d times", n)
	}
}
