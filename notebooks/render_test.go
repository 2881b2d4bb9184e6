package notebooks_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// export writes the committed notebooks as HTML, as make notebook-html does.
func export(t *testing.T, theme string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if out, err := exec.Command("../scripts/notebook/export.sh", dir, theme).CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("export: %v\n%s", err, out)
	}
	return dir
}

// The pages fetch nothing and leave no figure out.
func TestRendered(t *testing.T) {
	need(t)
	fetched := regexp.MustCompile(`<script|<iframe|<link|@import|\bsrc\s*=\s*["']?(?:[^"'d]|d[^a])|url\(\s*["']?https?:`)
	picture := regexp.MustCompile(`<img alt="[^"]{10,}" src="data:image/svg\+xml;base64,`)
	dir := export(t, "light")
	for _, name := range names {
		page, err := os.ReadFile(filepath.Join(dir, name+".html"))
		if err != nil {
			t.Fatal(err)
		}
		if at := fetched.FindIndex(page); at != nil {
			t.Errorf("%s fetches something: %.100q", name, page[at[0]:])
		}
		if got, want := len(picture.FindAll(page, -1)), promises[name].figures; got != want {
			t.Errorf("%s shows %d figures with alternative text, want %d", name, got, want)
		}
	}
}
