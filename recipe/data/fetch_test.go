package data

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"teamtalk/recipe/fetch"
)

func TestFetchGSM8K(t *testing.T) {
	requests := 0
	files := http.FileServer(http.Dir("testdata/gsm8k"))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		files.ServeHTTP(w, r)
	}))
	defer server.Close()
	getter := &fetch.Getter{Wait: time.Millisecond}
	dir := filepath.Join(t.TempDir(), "gsm8k")
	if err := fetchProblems(t.Context(), dir, server.URL+"/", testHashes, getter); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadGSM8K(dir, testHashes); err != nil {
		t.Errorf("what was fetched is not what is read: %v", err)
	}
	if err := fetchProblems(t.Context(), dir, server.URL, testHashes, getter); err != nil || requests != 2 {
		t.Errorf("a second call must find the files: %v, %d requests", err, requests)
	}

	t.Run("the published files are pinned", func(t *testing.T) {
		dir := t.TempDir()
		err := FetchGSM8K(t.Context(), dir, server.URL, nil)
		var wrong *fetch.HashError
		if !errors.As(err, &wrong) || wrong.Want != PinnedGSM8K.Train {
			t.Errorf("other files were taken for GSM8K: %v", err)
		}
		if _, err := os.Stat(filepath.Join(dir, GSM8KTrainFile)); err == nil {
			t.Error("a file with a wrong hash was kept")
		}
	})
	t.Run("a file of the user's is not overwritten", func(t *testing.T) {
		dir := t.TempDir()
		mine := filepath.Join(dir, GSM8KTestFile)
		write(t, mine, "mine")
		err := fetchProblems(t.Context(), dir, server.URL, testHashes, getter)
		if got, _ := os.ReadFile(mine); err == nil || !strings.Contains(err.Error(), "move it away") || string(got) != "mine" {
			t.Errorf("got %v and %q", err, got)
		}
	})
	t.Run("nothing there", func(t *testing.T) {
		err := fetchProblems(t.Context(), t.TempDir(), server.URL+"/elsewhere", testHashes, getter)
		if err == nil || !strings.Contains(err.Error(), "404") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no network", func(t *testing.T) {
		server.Close()
		err := FetchGSM8K(t.Context(), t.TempDir(), server.URL, nil)
		if err == nil || !strings.Contains(err.Error(), "cannot reach") || !strings.Contains(err.Error(), GSM8KSource) {
			t.Errorf("got %v", err)
		}
	})
}
