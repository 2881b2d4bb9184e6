package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Manifest lists the files of a complete run.
type Manifest struct {
	Version    int         `json:"version"`
	PlanSHA256 string      `json:"plan_sha256"`
	Files      []FileEntry `json:"files"` // sorted by path
	// Incomplete says why planned parts of the run are not there; empty for a complete run.
	Incomplete string `json:"incomplete,omitempty"`
	// Resealed says why another manifest was made after the run's own was lost; empty for the run's own. What it lists is what was there then.
	Resealed string `json:"resealed,omitempty"`
}

// FileEntry is one file. Weights are optional: a published copy of a run may leave them out.
type FileEntry struct {
	Path     string `json:"path"` // with slashes, relative to the run folder
	Bytes    int64  `json:"bytes"`
	SHA256   string `json:"sha256"`
	Optional bool   `json:"optional,omitempty"`
}

// BuildManifest hashes every file of a run folder except the manifest, the report and what killed processes left behind.
func BuildManifest(fsys fs.FS, planSHA256 string) (Manifest, error) {
	return buildManifest(fsys, planSHA256, true)
}

// Sums are the SHA-256 sums, by path, of a run folder's files that are not weights, as a manifest would list them.
func Sums(fsys fs.FS) (map[string]string, error) {
	m, err := buildManifest(fsys, "", false)
	if err != nil {
		return nil, err
	}
	return m.Sums(), nil
}

// Sums are the SHA-256 sums, by path, of the files listed that are not weights.
func (m Manifest) Sums() map[string]string {
	sums := map[string]string{}
	for _, f := range m.Files {
		if !f.Optional {
			sums[f.Path] = f.SHA256
		}
	}
	return sums
}

// buildManifest hashes weights only if asked to: a run's adapters and checkpoints are gigabytes, everything else megabytes.
func buildManifest(fsys fs.FS, planSHA256 string, weights bool) (Manifest, error) {
	m := Manifest{Version: Version, PlanSHA256: planSHA256}
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (p == ReportDir || hidden(p)):
			return fs.SkipDir
		case d.IsDir() || p == ManifestFile || hidden(p):
			return nil
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is not a regular file", p)
		}
		if isWeights(p) && !weights {
			info, err := d.Info()
			if err != nil {
				return err
			}
			m.Files = append(m.Files, FileEntry{Path: p, Bytes: info.Size(), Optional: true})
			return nil
		}
		e, err := hashFile(fsys, p)
		m.Files = append(m.Files, e)
		return err
	})
	if err != nil {
		return Manifest{}, fmt.Errorf("artifact: manifest: %w", err)
	}
	m.sort()
	return m, nil
}

// hidden says of a path that its last name begins with a dot: such as file managers and editors leave behind, and this package's own
// temporary files. None has a name that is read.
func hidden(p string) bool { return p != "." && strings.HasPrefix(path.Base(p), ".") }

func (m *Manifest) sort() {
	slices.SortFunc(m.Files, func(a, b FileEntry) int { return strings.Compare(a.Path, b.Path) })
}

// with are the files listed, with e in the place of the one that has its path.
func (m Manifest) with(e FileEntry) []FileEntry {
	m.Files = slices.DeleteFunc(slices.Clone(m.Files), func(f FileEntry) bool { return f.Path == e.Path })
	m.Files = append(m.Files, e)
	m.sort()
	return m.Files
}

func hashFile(fsys fs.FS, p string) (FileEntry, error) {
	f, err := fsys.Open(p)
	if err != nil {
		return FileEntry{}, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return FileEntry{}, fmt.Errorf("%s: %w", p, err)
	}
	return FileEntry{p, n, hex.EncodeToString(h.Sum(nil)), isWeights(p)}, nil
}

// SumFile is the SHA-256 of a file's bytes, in hex.
func SumFile(name string) (string, error) {
	e, err := hashFile(os.DirFS(filepath.Dir(name)), filepath.Base(name))
	return e.SHA256, err
}

// entry is that of a file with this content, which is none of the weights.
func entry(p string, data []byte) FileEntry {
	sum := sha256.Sum256(data)
	return FileEntry{Path: p, Bytes: int64(len(data)), SHA256: hex.EncodeToString(sum[:])}
}

// isWeights: checkpoints and adapters live one level below a training run's folder.
func isWeights(p string) bool {
	d := path.Base(path.Dir(p))
	return d == FinalDir || strings.HasPrefix(d, checkpointPrefix)
}

// Fault is one way in which a folder is not what its manifest says.
type Fault struct {
	Path    string
	Problem string // "missing", "truncated", "changed", "not in the manifest"
	Detail  string
}

func (f Fault) String() string { return f.Path + ": " + f.Problem + ": " + f.Detail }

// Verify compares a folder with its manifest and names every file that differs, sorted by path. Optional files may be absent. Of weights
// only the size is compared unless weights is true.
func (m Manifest) Verify(fsys fs.FS, weights bool) ([]Fault, error) {
	now, err := buildManifest(fsys, m.PlanSHA256, weights)
	if err != nil {
		return nil, err
	}
	have := map[string]FileEntry{}
	for _, e := range now.Files {
		have[e.Path] = e
	}
	var faults []Fault
	for _, want := range m.Files {
		got, ok := have[want.Path]
		delete(have, want.Path)
		switch {
		case !ok && (want.Optional || hidden(want.Path)): // not looked at, listed or not
		case !ok:
			faults = append(faults, Fault{want.Path, "missing", fmt.Sprintf("the manifest lists %d bytes, sha256 %.12s", want.Bytes, want.SHA256)})
		case got.SHA256 == want.SHA256, !weights && want.Optional && got.Bytes == want.Bytes:
		case got.Bytes < want.Bytes:
			faults = append(faults, Fault{want.Path, "truncated", fmt.Sprintf("%d of %d bytes", got.Bytes, want.Bytes)})
		default:
			faults = append(faults, Fault{want.Path, "changed", fmt.Sprintf("sha256 %.12s, the manifest says %.12s", got.SHA256, want.SHA256)})
		}
	}
	for p, e := range have {
		faults = append(faults, Fault{p, "not in the manifest", fmt.Sprintf("%d bytes were added after the run was sealed", e.Bytes)})
	}
	slices.SortFunc(faults, func(a, b Fault) int { return strings.Compare(a.Path, b.Path) })
	return faults, nil
}
