package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"teamtalk/recipe/fetch"
)

// The files a model is read from.
const (
	configFile     = "config.json"
	generationFile = "generation_config.json" // optional
	tokenizerFile  = "tokenizer.json"
	weightsFile    = "model.safetensors"
	indexFile      = "model.safetensors.index.json" // where there are several files of weights
)

// download gets the commit that revision is now. Every file appears under its name when it is whole and checked, the weights
// last, so that a folder of which this is not yet true is never complete.
func (h *Hub) download(ctx context.Context, name, revision string) (Model, error) {
	config, err := h.head(ctx, name, revision, configFile)
	if err != nil {
		return Model{}, err
	}
	base := filepath.Join(h.Dir, folder(name))
	m := Model{Name: name, Revision: revision, Commit: config.commit, Dir: filepath.Join(base, "snapshots", config.commit), Fetched: true}
	get := func(file string) error {
		r, err := h.head(ctx, name, m.Commit, file)
		if err != nil {
			return err
		}
		r.file.Path = filepath.Join(m.Dir, file)
		return h.Getter.Get(ctx, r.file)
	}
	for _, file := range []string{configFile, tokenizerFile} {
		if err := get(file); err != nil {
			return Model{}, err
		}
	}
	if err := get(generationFile); err != nil && !absent(err) {
		return Model{}, err
	}
	if err := weights(get, m.Dir); err != nil {
		return Model{}, err
	}
	if !complete(m.Dir) {
		return Model{}, fmt.Errorf("%s: a file that was there is missing or empty now", m.Dir)
	}
	return m, writeRef(filepath.Join(base, "refs", filepath.FromSlash(revision)), m.Commit)
}

// weights gets model.safetensors or, where there is none, the index and its shards.
func weights(get func(file string) error, dir string) error {
	err := get(weightsFile)
	if !absent(err) {
		return err
	}
	if err := get(indexFile); absent(err) {
		return fmt.Errorf("it has neither %s nor %s; other formats of weights are not read from a hub (a GGUF file can be passed by its path): %w", weightsFile, indexFile, err)
	} else if err != nil {
		return err
	}
	shards, err := shardsOf(filepath.Join(dir, indexFile))
	if err != nil {
		return err
	}
	for _, shard := range shards {
		if err := get(shard); err != nil {
			return err
		}
	}
	return nil
}

// shardForm is a plain file name: an index must not lead out of the folder.
var shardForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*\.safetensors$`)

// shardsOf lists the files that an index of weights names, in order.
func shardsOf(index string) ([]string, error) {
	raw, err := os.ReadFile(index)
	if err != nil {
		return nil, err
	}
	var x struct {
		WeightMap map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(raw, &x); err != nil {
		return nil, fmt.Errorf("%s: %w", index, err)
	}
	if len(x.WeightMap) == 0 {
		return nil, fmt.Errorf("%s: expected weight_map to name the file of every tensor, found none", index)
	}
	shards := slices.Compact(slices.Sorted(maps.Values(x.WeightMap)))
	for _, s := range shards {
		if !shardForm.MatchString(s) {
			return nil, fmt.Errorf("%s: expected plain names of .safetensors files, found %q", index, s)
		}
	}
	return shards, nil
}

// absent says whether the hub answered that the model has no such file.
func absent(err error) bool {
	var status *fetch.StatusError
	if !errors.As(err, &status) || status.Code != http.StatusNotFound {
		return false
	}
	code := status.Header.Get("X-Error-Code")
	return code == "" || code == "EntryNotFound"
}

// remote is a file as the hub describes it.
type remote struct {
	commit string
	file   fetch.File // without its Path
}

var sha256Form = regexp.MustCompile(`^[0-9a-f]{64}$`)

// head asks the hub what a file is, without following it to the storage behind: for files in large file storage the
// redirect carries the size and SHA-256 (X-Linked-Size, X-Linked-Etag), for others the ETag is git's name of the content.
// Redirects within the hub, as for a renamed model, are followed.
func (h *Hub) head(ctx context.Context, name, revision, file string) (remote, error) {
	at := h.Endpoint + "/" + name + "/resolve/" + url.PathEscape(revision) + "/" + file
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, at, nil)
	if err != nil {
		return remote{}, fmt.Errorf("%w: check HF_ENDPOINT", err)
	}
	req.Header.Set("Accept-Encoding", "identity")
	if h.Token != "" {
		req.Header.Set("Authorization", "Bearer "+h.Token)
	}
	client := fetch.Client
	if h.Getter.HTTP != nil {
		client = h.Getter.HTTP
	}
	within := *client
	within.CheckRedirect = func(next *http.Request, via []*http.Request) error {
		to, err := url.Parse(next.Response.Header.Get("Location"))
		if err != nil || to.Host != "" || len(via) >= 10 {
			return http.ErrUseLastResponse
		}
		return nil
	}
	resp, err := within.Do(req)
	if err != nil {
		return remote{}, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return remote{}, err
	}
	if resp.StatusCode >= 400 {
		return remote{}, &fetch.StatusError{URL: at, Code: resp.StatusCode, Status: resp.Status, Header: resp.Header}
	}
	r := remote{commit: resp.Header.Get("X-Repo-Commit"), file: fetch.File{URL: at, Token: h.Token}}
	if !commitForm.MatchString(r.commit) {
		return remote{}, fmt.Errorf("%s does not answer as a Hugging Face hub does: expected a commit in X-Repo-Commit, found %q: check HF_ENDPOINT", at, r.commit)
	}
	tag := resp.Header.Get("X-Linked-Etag")
	if tag == "" {
		tag = resp.Header.Get("ETag")
	}
	switch tag = strings.Trim(strings.TrimPrefix(tag, "W/"), `"`); {
	case sha256Form.MatchString(tag):
		r.file.SHA256 = tag
	case commitForm.MatchString(tag): // a git hash has the same form
		r.file.GitBlob = tag
	default:
		return remote{}, fmt.Errorf("%s comes without a hash to check it by: expected a SHA-256 or git hash in X-Linked-Etag or ETag, found %q", at, tag)
	}
	if linked := resp.Header.Get("X-Linked-Size"); linked != "" {
		if _, err := fmt.Sscanf(linked, "%d", &r.file.Size); err != nil || r.file.Size < 0 {
			return remote{}, fmt.Errorf("%s: expected a number of bytes in X-Linked-Size, found %q", at, linked)
		}
	} else if resp.StatusCode == http.StatusOK && resp.ContentLength > 0 {
		r.file.Size = resp.ContentLength
	}
	return r, nil
}

// writeRef records which commit a revision was. A commit needs no record.
func writeRef(path, commit string) error {
	if filepath.Base(path) == commit {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp := path + ".new" // the caller holds the model's lock
	if err := os.WriteFile(tmp, []byte(commit+"\n"), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
