package hub

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"teamtalk/recipe/fetch"
)

const (
	testCommit = "0123456789abcdef0123456789abcdef01234567"
	testName   = "acme/tiny"
)

// fakeHub answers as the real one does: HEAD and GET of /NAME/resolve/REV/FILE; .safetensors files are in large file
// storage, a redirect to another host (here /storage/ under another name of the same machine) with X-Linked-* headers.
type fakeHub struct {
	*httptest.Server
	mu       sync.Mutex
	files    map[string][]byte
	requests []string        // "GET path", with the Range if there was one
	cut      map[string]int  // GET of this file breaks off once after so many bytes
	corrupt  map[string]bool // GET of this file sends other bytes
	refuse   func(*http.Request) (code int, errorCode string)
	etag     func(file, tag string) string
	noCommit bool
}

func newFakeHub(t *testing.T, files map[string]string) *fakeHub {
	t.Helper()
	f := &fakeHub{files: map[string][]byte{}, cut: map[string]int{}, corrupt: map[string]bool{}}
	for name, text := range files {
		f.files[name] = []byte(text)
	}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *fakeHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+r.Header.Get("Range")))
	if file, ok := strings.CutPrefix(r.URL.Path, "/storage/"); ok {
		if r.Header.Get("Authorization") != "" {
			http.Error(w, "the storage must not see the token", http.StatusTeapot)
			return
		}
		f.send(w, r, file)
		return
	}
	if f.refuse != nil {
		if code, errorCode := f.refuse(r); code != 0 {
			w.Header().Set("X-Error-Code", errorCode)
			w.WriteHeader(code)
			return
		}
	}
	if rest, ok := strings.CutPrefix(r.URL.Path, "/acme/renamed/"); ok {
		w.Header()["Location"] = []string{"/" + testName + "/" + rest} // relative, as the hub writes it
		w.WriteHeader(http.StatusTemporaryRedirect)
		return
	}
	rest, ok := strings.CutPrefix(r.URL.Path, "/"+testName+"/resolve/")
	if !ok {
		w.Header().Set("X-Error-Code", "RepoNotFound")
		w.WriteHeader(http.StatusUnauthorized) // as the hub does, lest it tell which private models exist
		return
	}
	revision, file, _ := strings.Cut(rest, "/")
	if revision != "main" && revision != testCommit {
		w.Header().Set("X-Error-Code", "RevisionNotFound")
		w.WriteHeader(http.StatusNotFound)
		return
	}
	text, ok := f.files[file]
	if !ok {
		w.Header().Set("X-Error-Code", "EntryNotFound")
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if !f.noCommit {
		w.Header().Set("X-Repo-Commit", testCommit)
	}
	if strings.HasSuffix(file, ".safetensors") {
		sum := sha256.Sum256(text)
		w.Header().Set("X-Linked-Etag", f.tag(file, hex.EncodeToString(sum[:])))
		w.Header().Set("X-Linked-Size", fmt.Sprint(len(text)))
		w.Header().Set("Location", strings.Replace(f.URL, "127.0.0.1", "localhost", 1)+"/storage/"+file)
		w.WriteHeader(http.StatusFound)
		return
	}
	sum := sha1.Sum([]byte(fmt.Sprintf("blob %d\x00%s", len(text), text)))
	w.Header().Set("ETag", f.tag(file, hex.EncodeToString(sum[:])))
	f.send(w, r, file)
}

func (f *fakeHub) tag(file, tag string) string {
	if f.etag != nil {
		tag = f.etag(file, tag)
	}
	return `"` + tag + `"`
}

func (f *fakeHub) send(w http.ResponseWriter, r *http.Request, file string) {
	text := bytes.Clone(f.files[file])
	if f.corrupt[file] {
		text[len(text)/2] ^= 1
	}
	if n, ok := f.cut[file]; ok && r.Method == http.MethodGet {
		delete(f.cut, file)
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		_, _ = w.Write(text[:n]) // and the connection closes: the server finds that less came than was announced
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}

// seen counts the requests that contain s.
func (f *fakeHub) seen(s string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, r := range f.requests {
		if strings.Contains(r, s) {
			n++
		}
	}
	return n
}

func (f *fakeHub) hub(t *testing.T) *Hub {
	t.Helper()
	return &Hub{Endpoint: f.URL, Dir: t.TempDir(), Getter: fetch.Getter{Wait: time.Millisecond}}
}

// oneFile is a model with all its weights in one file, in pieces long enough to be cut.
func oneFile() map[string]string {
	return map[string]string{
		"config.json":            `{"architectures":["Qwen2ForCausalLM"]}`,
		"tokenizer.json":         `{"model":{"type":"BPE"}}`,
		"generation_config.json": `{"eos_token_id":[1,2]}`,
		"model.safetensors":      strings.Repeat("weights ", 100000),
	}
}

// shards is a model with its weights in two files.
func shards() map[string]string {
	return map[string]string{
		"config.json":                      `{"architectures":["Qwen2ForCausalLM"]}`,
		"tokenizer.json":                   `{"model":{"type":"BPE"}}`,
		"model.safetensors.index.json":     `{"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors","c":"model-00001-of-00002.safetensors"}}`,
		"model-00001-of-00002.safetensors": strings.Repeat("one ", 1000),
		"model-00002-of-00002.safetensors": strings.Repeat("two ", 1000),
	}
}
