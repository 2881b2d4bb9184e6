package artifact

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"

	"teamtalk/recipe/experiment"
)

// Record is a run folder in memory.
type Record struct {
	Plan       experiment.Plan
	PlanSHA256 string
	Sessions   []Env
	Runs       []TrainingRecord // planned runs that exist, in the plan's order
	Evals      []EvalRecord     // planned evaluations that exist, in the plan's order
	Phases     []Phase
	Checks     []Check
	Rounds     []Round
	Manifest   *Manifest // nil: the run is not complete
	// ManifestSHA256 identifies the whole run; empty when it is not complete.
	ManifestSHA256 string
	// Missing names what is planned and not there; empty for a complete run.
	Missing []string
}

// TrainingRecord is one ARM-SEED folder.
type TrainingRecord struct {
	Config   experiment.RunConfig
	Steps    []Step
	Rollouts []Rollout
	Final    bool // a trained adapter is there, or was there when the run was sealed
}

// Step is one line of metrics.jsonl. A value that was not finite is NaN.
type Step struct {
	Step   int
	Values map[string]float64
}

// Value returns a metric, NaN when it was not recorded.
func (s Step) Value(key string) float64 {
	if v, ok := s.Values[key]; ok {
		return v
	}
	return math.NaN()
}

// EvalRecord is one evaluation.
type EvalRecord struct {
	experiment.EvalRun
	File    string
	Replies []Reply
}

// FaultsError says that files are not what the manifest says.
type FaultsError struct {
	Faults []Fault
	// Noting: the one fault is a ledger that a process was replacing when it was stopped; see [FinishNote].
	Noting bool
}

func (e *FaultsError) Error() string {
	if e.Noting {
		return fmt.Sprintf("artifact: %s lacks the attempt that was being noted when `recipe round` was stopped: repeat that command, which finishes it", RoundsFile)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "artifact: %d files are not what %s says; restore them, or run the experiment again:", len(e.Faults), ManifestFile)
	for _, f := range e.Faults {
		b.WriteString("\n  " + f.String())
	}
	return b.String()
}

// Load reads a run folder. A complete run is first held against its manifest (a [FaultsError] names every bad file; of weights
// only the size is looked at); of a run without a manifest what is there is read, and Missing says what is not.
func Load(fsys fs.FS) (*Record, error) {
	r := &Record{}
	raw, err := fs.ReadFile(fsys, ManifestFile)
	switch {
	case err == nil:
		m := Manifest{}
		if err := decodeStrict(ManifestFile, raw, &m); err != nil {
			return nil, err
		}
		if m.Version != Version {
			return nil, versionError(ManifestFile, m.Version)
		}
		faults, err := m.Verify(fsys, false)
		if err != nil {
			return nil, err
		}
		if len(faults) > 0 {
			return nil, &FaultsError{faults, m.noting(fsys, faults)}
		}
		sum := sha256.Sum256(raw)
		r.Manifest, r.ManifestSHA256 = &m, hex.EncodeToString(sum[:])
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("artifact: %w", err)
	}

	if raw, err = fs.ReadFile(fsys, ExperimentFile); err != nil {
		return nil, fmt.Errorf("artifact: not a run folder: %w", err)
	}
	if r.Plan, r.PlanSHA256, err = readPlan(raw); err != nil {
		return nil, err
	}
	if r.Manifest != nil && r.Manifest.PlanSHA256 != r.PlanSHA256 {
		return nil, fmt.Errorf("artifact: %s is of plan %.12s, %s holds plan %.12s", ManifestFile, r.Manifest.PlanSHA256, ExperimentFile, r.PlanSHA256)
	}
	if raw, err = fs.ReadFile(fsys, EnvFile); err != nil {
		return nil, fmt.Errorf("artifact: %w", err)
	}
	var ef envFile
	if err := decodeStrict(EnvFile, raw, &ef); err != nil {
		return nil, err
	}
	if ef.Version != Version {
		return nil, versionError(EnvFile, ef.Version)
	}
	r.Sessions = ef.Sessions

	for _, run := range r.Plan.Runs() {
		t, err := loadTraining(fsys, run, r.Manifest)
		if errors.Is(err, fs.ErrNotExist) {
			r.Missing = append(r.Missing, run.Name)
			continue
		} else if err != nil {
			return nil, err
		}
		if !t.Final {
			r.Missing = append(r.Missing, run.Name+"/"+FinalDir)
		}
		r.Runs = append(r.Runs, t)
	}
	for _, e := range r.Plan.Evaluations() {
		rec := EvalRecord{EvalRun: e, File: EvalFile(e)}
		if rec.Replies, err = readGzip[Reply](fsys, rec.File); errors.Is(err, fs.ErrNotExist) {
			r.Missing = append(r.Missing, rec.File)
			continue
		} else if err != nil {
			return nil, err
		}
		inOrder(r.Plan.TasksOf(e), rec.Replies)
		r.Evals = append(r.Evals, rec)
	}
	if r.Phases, err = readLog[Phase](fsys, PhasesFile); err != nil {
		return nil, err
	}
	if r.Rounds, err = readLog[Round](fsys, RoundsFile); err != nil {
		return nil, err
	}
	if raw, err = fs.ReadFile(fsys, ChecksFile); err == nil {
		var cf checksFile
		if err := decodeStrict(ChecksFile, raw, &cf); err != nil {
			return nil, err
		}
		if cf.Version != Version {
			return nil, versionError(ChecksFile, cf.Version)
		}
		r.Checks = cf.Checks
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("artifact: %w", err)
	}
	return r, nil
}

// inOrder sorts replies as WriteEval writes them, so that what is made from them does not depend on the order of the lines.
func inOrder(tasks []experiment.Task, replies []Reply) {
	pos := make(map[int]int, len(tasks))
	for i, t := range tasks {
		pos[t.Index] = i
	}
	slices.SortStableFunc(replies, func(a, b Reply) int {
		return cmp.Or(cmp.Compare(pos[a.Task], pos[b.Task]), cmp.Compare(a.Sample, b.Sample))
	})
}

// Started is when the run's first process began, as it recorded itself; the rest of the folder is not read.
func Started(fsys fs.FS) (string, error) {
	raw, err := fs.ReadFile(fsys, EnvFile)
	if err != nil {
		return "", fmt.Errorf("artifact: %w", err)
	}
	var ef envFile
	if err := decodeStrict(EnvFile, raw, &ef); err != nil {
		return "", err
	}
	if len(ef.Sessions) == 0 {
		return "", fmt.Errorf("artifact: %s has no session", EnvFile)
	}
	return ef.Sessions[0].Started, nil
}

func loadTraining(fsys fs.FS, run experiment.Run, m *Manifest) (TrainingRecord, error) {
	var t TrainingRecord
	raw, err := fs.ReadFile(fsys, run.Name+"/"+ConfigFile)
	if err != nil {
		return t, fmt.Errorf("artifact: %w", err)
	}
	if err := decodeStrict(run.Name+"/"+ConfigFile, raw, &t.Config); err != nil {
		return t, err
	}
	if t.Config.Version != experiment.Version {
		return t, versionError(run.Name+"/"+ConfigFile, t.Config.Version)
	}
	if t.Steps, err = readMetrics(fsys, run.Name+"/"+MetricsFile); err != nil {
		return t, err
	}
	name := run.Name + "/" + CompletionsFile
	if m == nil {
		// A killed process may have left a torn member: read what is whole.
		raw, err := fs.ReadFile(fsys, name)
		if err != nil {
			return t, fmt.Errorf("artifact: %w", err)
		}
		if _, ends := scanMembers(raw); len(ends) > 0 {
			t.Rollouts, err = decodeGzip[Rollout](name, bytes.NewReader(raw[:ends[len(ends)-1]]))
			if err != nil {
				return t, err
			}
		}
		_, err = fs.Stat(fsys, run.Name+"/"+FinalDir)
		t.Final = err == nil
		return t, nil
	}
	if t.Rollouts, err = readGzip[Rollout](fsys, name); err != nil {
		return t, err
	}
	slices.SortStableFunc(t.Rollouts, func(a, b Rollout) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Prompt, b.Prompt), cmp.Compare(a.Sample, b.Sample))
	})
	t.Final = slices.ContainsFunc(m.Files, func(e FileEntry) bool { return strings.HasPrefix(e.Path, run.Name+"/"+FinalDir+"/") })
	return t, nil
}

func readMetrics(fsys fs.FS, name string) ([]Step, error) {
	raw, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, fmt.Errorf("artifact: %w", err)
	}
	nums, ends := scanLines(raw)
	var steps []Step
	var start int64
	for i, end := range ends {
		var vs map[string]*float64
		if err := json.Unmarshal(raw[start:end], &vs); err != nil {
			return nil, fmt.Errorf("artifact: %s:%d: %w", name, i+1, err)
		}
		s := Step{Step: nums[i], Values: make(map[string]float64, len(vs))}
		for k, v := range vs {
			if v == nil {
				s.Values[k] = math.NaN()
			} else {
				s.Values[k] = *v
			}
		}
		delete(s.Values, "step")
		steps, start = append(steps, s), end
	}
	return steps, nil
}

// readLog reads a log of appendLine; a torn line is skipped, no file is an empty log.
func readLog[T any](fsys fs.FS, name string) ([]T, error) {
	raw, err := fs.ReadFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("artifact: %w", err)
	}
	var out []T
	for ln := range bytes.Lines(raw) {
		var v T
		if json.Unmarshal(ln, &v) == nil {
			out = append(out, v)
		}
	}
	return out, nil
}

func readGzip[T any](fsys fs.FS, name string) ([]T, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("artifact: %w", err)
	}
	defer f.Close()
	return decodeGzip[T](name, f)
}

func decodeGzip[T any](name string, src io.Reader) ([]T, error) {
	zr, err := gzip.NewReader(bufio.NewReaderSize(src, 1<<16))
	if err != nil {
		return nil, fmt.Errorf("artifact: %s: %w", name, err)
	}
	raw, err := io.ReadAll(zr)
	if err != nil {
		return nil, fmt.Errorf("artifact: %s is cut short or damaged: %w", name, err)
	}
	var out []T
	n := 0
	for ln := range bytes.Lines(raw) {
		n++
		var v T
		if err := json.Unmarshal(ln, &v); err != nil {
			return nil, fmt.Errorf("artifact: %s:%d: %w", name, n, err)
		}
		out = append(out, v)
	}
	return out, nil
}
