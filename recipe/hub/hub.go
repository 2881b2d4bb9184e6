// Package hub turns the name of a model on a Hugging Face hub into a local folder: from the Hugging Face cache if the model
// is there, else from this project's own cache, else downloaded into it.
package hub

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"teamtalk/model/flock"
	"teamtalk/recipe/fetch"
)

// Prefix marks a model argument as a name on the hub: hub:ORG/NAME or hub:ORG/NAME@REVISION.
const Prefix = "hub:"

// DefaultEndpoint is where names are looked up unless HF_ENDPOINT says otherwise.
const DefaultEndpoint = "https://huggingface.co"

// DefaultRevision is the branch that a name without @REVISION means.
const DefaultRevision = "main"

// Hub says where models are looked for.
type Hub struct {
	Endpoint string   // scheme and host
	Token    string   // for models that need one; sent to Endpoint alone
	Offline  bool     // never ask the network
	Caches   []string // folders laid out like Hugging Face's cache, only read, first match wins
	Dir      string   // this project's own cache, laid out alike, looked at last and downloaded into
	Getter   fetch.Getter
}

// Model is a model on this machine.
type Model struct {
	Name     string // ORG/NAME
	Revision string // as asked for: a branch, a tag or a commit
	Commit   string // what the revision was when it was resolved; the name of its folder in the cache
	Dir      string // with config.json, tokenizer.json and model.safetensors, or its index and shards
	Fetched  bool   // over the network, by this call
}

// FromEnv follows the variables of Python's huggingface_hub: HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE, and for its cache HF_HUB_CACHE, else
// HF_HOME/hub, else huggingface/hub below XDG_CACHE_HOME or ~/.cache.
func FromEnv(progress fetch.Progress) (*Hub, error) {
	own, err := fetch.CacheDir("hub")
	if err != nil {
		return nil, err
	}
	h := &Hub{
		Endpoint: strings.TrimRight(os.Getenv("HF_ENDPOINT"), "/"),
		Token:    os.Getenv("HF_TOKEN"),
		Dir:      own,
		Getter:   fetch.Getter{Progress: progress},
	}
	if h.Endpoint == "" {
		h.Endpoint = DefaultEndpoint
	}
	switch strings.ToUpper(os.Getenv("HF_HUB_OFFLINE")) {
	case "1", "ON", "YES", "TRUE":
		h.Offline = true
	}
	if dir := hfCache(); dir != "" {
		h.Caches = []string{dir}
	}
	return h, nil
}

// hfCache is the folder of Hugging Face's own cache, or "" where there is no home folder.
func hfCache() string {
	if dir := os.Getenv("HF_HUB_CACHE"); dir != "" {
		return dir
	}
	if dir := os.Getenv("HF_HOME"); dir != "" {
		return filepath.Join(dir, "hub")
	}
	if dir := os.Getenv("XDG_CACHE_HOME"); dir != "" {
		return filepath.Join(dir, "huggingface", "hub")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".cache", "huggingface", "hub")
}

var (
	nameForm     = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)?$`)
	revisionForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*$`)
	commitForm   = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// Model resolves name, "ORG/NAME" or "ORG/NAME@REVISION", with or without Prefix. A complete copy in a cache is taken as it
// is, without asking whether the branch has moved; the commit in the result says which it is. A download is of one commit and
// checked file by file; an interrupted one counts as absent and goes on at the next call.
func (h *Hub) Model(ctx context.Context, name string) (Model, error) {
	name, revision, given := strings.Cut(strings.TrimPrefix(name, Prefix), "@")
	if !given {
		revision = DefaultRevision
	}
	if !nameForm.MatchString(name) || strings.Contains(name, "..") || strings.Contains(name, "--") {
		return Model{}, fmt.Errorf("%q is no model name: expected ORG/NAME or ORG/NAME@REVISION, such as Qwen/Qwen2.5-1.5B-Instruct", name)
	}
	if !revisionForm.MatchString(revision) || strings.Contains(revision, "..") {
		return Model{}, fmt.Errorf("%q is no revision: expected a branch, a tag or a commit", revision)
	}
	if m, ok := h.cached(name, revision); ok {
		return m, nil
	}
	if h.Offline {
		return Model{}, fmt.Errorf("HF_HUB_OFFLINE is set and there is no complete copy of %s (%s) in %s: %s",
			name, revision, strings.Join(h.caches(), " or "), byHand(name))
	}
	unlock, err := flock.Exclusive(ctx, filepath.Join(h.Dir, folder(name), ".lock"))
	if err != nil {
		return Model{}, err
	}
	defer unlock()
	if m, ok := h.cached(name, revision); ok { // another process got it meanwhile
		return m, nil
	}
	m, err := h.download(ctx, name, revision)
	if err != nil {
		return Model{}, h.explain(name, revision, err)
	}
	return m, nil
}

func (h *Hub) caches() []string { return append(append([]string(nil), h.Caches...), h.Dir) }

// folder is what both caches call the folder of a model.
func folder(name string) string { return "models--" + strings.ReplaceAll(name, "/", "--") }

// cached looks for a complete snapshot: models--ORG--NAME/snapshots/COMMIT, with refs/REVISION naming the commit.
func (h *Hub) cached(name, revision string) (Model, bool) {
	for _, cache := range h.caches() {
		base := filepath.Join(cache, folder(name))
		commit := revision
		if ref, err := os.ReadFile(filepath.Join(base, "refs", filepath.FromSlash(revision))); err == nil {
			commit = strings.TrimSpace(string(ref))
		}
		if !commitForm.MatchString(commit) {
			continue
		}
		dir := filepath.Join(base, "snapshots", commit)
		if complete(dir) {
			return Model{Name: name, Revision: revision, Commit: commit, Dir: dir}, true
		}
	}
	return Model{}, false
}

// complete says whether a folder has every file that a model is read from. Links to nothing, which an interrupted download
// of Hugging Face's leaves, count as absent.
func complete(dir string) bool {
	has := func(name string) bool {
		info, err := os.Stat(filepath.Join(dir, name))
		return err == nil && info.Mode().IsRegular() && info.Size() > 0
	}
	if !has(configFile) || !has(tokenizerFile) {
		return false
	}
	if has(weightsFile) {
		return true
	}
	shards, err := shardsOf(filepath.Join(dir, indexFile))
	if err != nil {
		return false
	}
	for _, shard := range shards {
		if !has(shard) {
			return false
		}
	}
	return true
}

func byHand(name string) string {
	return fmt.Sprintf("on a machine with a network, get the files of %s (`hf download %s`), copy their folder here, and pass it as the model", name, name)
}

// explain says what to do about a download that failed.
func (h *Hub) explain(name, revision string, err error) error {
	var status *fetch.StatusError
	switch {
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case fetch.Unreachable(err):
		return fmt.Errorf("cannot reach %s for %s: %w: %s", h.Endpoint, name, err, byHand(name))
	case !errors.As(err, &status):
		return fmt.Errorf("model %s: %w", name, err)
	}
	code := status.Header.Get("X-Error-Code")
	token := "set HF_TOKEN to a token that may read it"
	if h.Token != "" {
		token = "HF_TOKEN is set, but its token may not read it"
	}
	switch {
	case code == "RevisionNotFound":
		return fmt.Errorf("%s has no revision %q: %w", name, revision, err)
	case code == "GatedRepo" || status.Code == 403:
		return fmt.Errorf("%s is gated: accept its terms on its page of %s, and %s: %w", name, h.Endpoint, token, err)
	case status.Code == 401: // the hub's answer for what is private and for what does not exist
		return fmt.Errorf("%s does not exist on %s or is private: check the spelling; if it is private or gated, %s: %w", name, h.Endpoint, token, err)
	case status.Code == 404:
		return fmt.Errorf("no such model: %s is not on %s, or lacks this file: %w", name, h.Endpoint, err)
	case status.Code == 429:
		return fmt.Errorf("%s asks to wait before the next download (too many requests; a HF_TOKEN raises the limit): %w", h.Endpoint, err)
	}
	return fmt.Errorf("model %s: %w", name, err)
}
