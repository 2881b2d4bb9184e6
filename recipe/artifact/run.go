package artifact

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"teamtalk/recipe/experiment"
)

// Run is a run folder that is being written. Several processes may hold the same folder open, each for its own training runs
// and evaluations.
type Run struct {
	dir  string
	plan experiment.Plan
	hash string
}

// SealedError says that the run has its manifest: nothing may be added to what it lists.
type SealedError struct {
	Dir string
	// Incomplete is the reason with which an unfinished run was sealed; empty for a complete one.
	Incomplete string
}

func (e *SealedError) Error() string {
	if e.Incomplete == "" {
		return fmt.Sprintf("artifact: %s: the run is complete", e.Dir)
	}
	return fmt.Sprintf("artifact: %s: the run is sealed, unfinished: %s", e.Dir, e.Incomplete)
}

// LostManifestError says that a run was sealed and its manifest is not there any more.
type LostManifestError struct{ Dir string }

func (e *LostManifestError) Error() string {
	return fmt.Sprintf("artifact: %s was sealed, and its %s is missing: nothing says whether the files are still those that were sealed, so that the run is neither gone on with nor sealed again by itself; "+
		"restore the file from a copy of the run, or, if what is there shall count, seal it anew, with the reason on every page: go run ./recipe seal -because WHY %s", e.Dir, ManifestFile, e.Dir)
}

// existsError is an fs.ErrExist.
type existsError struct{ dir string }

func (e *existsError) Error() string {
	return fmt.Sprintf("artifact: %s exists already; nothing is overwritten: give another -out, or go on with -resume %s", e.dir, e.dir)
}

func (e *existsError) Is(target error) bool { return target == fs.ErrExist }

// Create makes the folder dir, which must not exist, and writes the plan and the first session's environment. It fails for a plan
// that is not valid. What it made of the folder before a failure, on a full disk for one, it takes away again.
func Create(dir string, plan experiment.Plan, env Env) (run *Run, err error) {
	if err := plan.Validate(); err != nil {
		return nil, err
	}
	hash, err := plan.Hash()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, fmt.Errorf("artifact: %w", err)
	}
	if err := os.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) {
		return nil, &existsError{dir}
	} else if err != nil {
		return nil, fmt.Errorf("artifact: %w", err)
	}
	r := &Run{dir: dir, plan: plan, hash: hash}
	defer func() {
		if err != nil {
			run = nil
			for _, made := range []string{ExperimentFile, EnvFile, EvalDir, ""} { // the plan first: without it this is no run
				_ = os.Remove(r.path(made)) // no folder with anything else in it
			}
		}
	}()
	if err := os.Mkdir(filepath.Join(dir, EvalDir), 0o755); err != nil {
		return nil, fmt.Errorf("artifact: %w", err)
	}
	data, err := encode(envFile{Version: Version, Sessions: []Env{env}})
	if err != nil {
		return nil, err
	}
	if err := WriteFile(r.path(EnvFile), data); err != nil {
		return nil, err
	}
	// The plan comes last: a folder without one is not a run, so a process killed here leaves nothing that looks like one.
	if data, err = encode(planFile{Version, hash, plan}); err != nil {
		return nil, err
	}
	return r, writeNew(r.path(ExperimentFile), data)
}

// Open opens a run folder to go on with it. It fails with a [SealedError] for a sealed run, with a [LostManifestError] for one that was
// sealed and has no manifest, and when the plan does not have the hash that stands beside it.
func Open(dir string) (*Run, error) {
	r := &Run{dir: dir}
	raw, err := os.ReadFile(r.path(ExperimentFile))
	if st, failed := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && failed == nil && st.IsDir() {
		return nil, fmt.Errorf("artifact: %s is not a run folder: expected the plan, %s, in it, found none; if it is what a process left that was stopped while it began a run, it holds no result: remove it and begin anew, or give the folder of a run",
			dir, ExperimentFile)
	}
	if err != nil {
		return nil, fmt.Errorf("artifact: %s is not a run folder: %w", dir, err)
	}
	if r.plan, r.hash, err = readPlan(raw); err != nil {
		return nil, err
	}
	raw, err = os.ReadFile(r.path(ManifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return r, r.lostManifest()
	} else if err != nil {
		return nil, fmt.Errorf("artifact: %w", err)
	}
	var m Manifest
	if err := decodeStrict(ManifestFile, raw, &m); err != nil {
		return nil, err
	}
	return r, &SealedError{dir, m.Incomplete}
}

func readPlan(raw []byte) (experiment.Plan, string, error) {
	var pf planFile
	if err := decodeStrict(ExperimentFile, raw, &pf); err != nil {
		return experiment.Plan{}, "", err
	}
	if pf.Version != Version {
		return experiment.Plan{}, "", versionError(ExperimentFile, pf.Version)
	}
	h, err := pf.Plan.Hash()
	if err != nil {
		return experiment.Plan{}, "", err
	}
	if h != pf.SHA256 {
		return experiment.Plan{}, "", fmt.Errorf("artifact: %s: the plan hashes to %.12s, the file says %.12s: it was changed after it was written", ExperimentFile, h, pf.SHA256)
	}
	return pf.Plan, h, nil
}

func versionError(file string, v int) error {
	return fmt.Errorf("artifact: %s has version %d; this program reads version %d", file, v, Version)
}

// Dir returns the folder.
func (r *Run) Dir() string { return r.dir }

// Plan returns the plan.
func (r *Run) Plan() experiment.Plan { return r.plan }

// PlanSHA256 returns the plan's hash.
func (r *Run) PlanSHA256() string { return r.hash }

func (r *Run) path(elem ...string) string { return filepath.Join(append([]string{r.dir}, elem...)...) }

// AddSession records another process that works on the run, e.g. after -resume.
func (r *Run) AddSession(env Env) error {
	ef, err := r.readEnv()
	if err != nil {
		return err
	}
	ef.Sessions = append(ef.Sessions, env)
	data, err := encode(ef)
	if err != nil {
		return err
	}
	return WriteFile(r.path(EnvFile), data)
}

func (r *Run) readEnv() (ef envFile, err error) {
	raw, err := os.ReadFile(r.path(EnvFile))
	if err != nil {
		return ef, fmt.Errorf("artifact: %w", err)
	}
	return ef, decodeStrict(EnvFile, raw, &ef)
}

// AppendPhase records what a phase cost.
func (r *Run) AppendPhase(p Phase) error { return appendLine(r.path(PhasesFile), p) }

// AppendRound adds an attempt to the Climb ledger.
func (r *Run) AppendRound(rd Round) error { return appendLine(r.path(RoundsFile), rd) }

// WriteChecks records the checks that only the trainer could make. It replaces an earlier record of the same run.
func (r *Run) WriteChecks(cs []Check) error {
	data, err := encode(checksFile{Version, cs})
	if err != nil {
		return err
	}
	return WriteFile(r.path(ChecksFile), data)
}

// EvalFile is the path of an evaluation inside the run folder, with slashes.
func EvalFile(e experiment.EvalRun) string { return EvalDir + "/" + e.Name() + ".jsonl.gz" }

// HasEval says whether the evaluation is done.
func (r *Run) HasEval(e experiment.EvalRun) bool {
	_, err := os.Stat(r.path(EvalFile(e)))
	return err == nil
}

// ReadEval returns the replies of an evaluation that is done.
func (r *Run) ReadEval(e experiment.EvalRun) ([]Reply, error) {
	return readGzip[Reply](os.DirFS(r.dir), EvalFile(e))
}

// WriteEval writes all replies of one evaluation at once, sorted by the split's order and sample. It checks that the replies are
// exactly the planned number of samples of every task that the evaluation is planned on.
func (r *Run) WriteEval(e experiment.EvalRun, replies []Reply) error {
	tasks, samples := r.plan.TasksOf(e), r.plan.SamplesOf(e)
	pos := map[int]int{}
	for i, t := range tasks {
		pos[t.Index] = i
	}
	seen := map[[2]int]bool{}
	for i := range replies {
		rp := &replies[i]
		at, ok := pos[rp.Task]
		switch key := [2]int{rp.Task, rp.Sample}; {
		case !ok || tasks[at].SHA256 != rp.TaskSHA256:
			return fmt.Errorf("artifact: %s: task %d (%.12s) is not a task that the plan evaluates on", e.Name(), rp.Task, rp.TaskSHA256)
		case rp.Sample < 0 || rp.Sample >= samples || seen[key]:
			return fmt.Errorf("artifact: %s: task %d: sample %d is out of range or given twice", e.Name(), rp.Task, rp.Sample)
		default:
			seen[key] = true
		}
	}
	if want := len(pos) * samples; len(replies) != want {
		return fmt.Errorf("artifact: %s: expected %d replies (%d tasks x %d samples), found %d", e.Name(), want, len(pos), samples, len(replies))
	}
	sorted := slices.Clone(replies)
	slices.SortFunc(sorted, func(a, b Reply) int {
		if c := pos[a.Task] - pos[b.Task]; c != 0 {
			return c
		}
		return a.Sample - b.Sample
	})
	data, err := member(sorted)
	if err != nil {
		return err
	}
	return writeNew(r.path(EvalFile(e)), data)
}

// Seal writes the manifest and so declares the run complete. It checks that every planned training run and evaluation is there.
func (r *Run) Seal() error {
	if err := errors.Join(r.lostManifest(), r.unfinished()); err != nil {
		return err
	}
	return r.seal(Manifest{})
}

// SealIncomplete writes the manifest of a run that will not be finished, with the reason. What is planned and not there stays
// named on every page that is made of it. It refuses a run with nothing missing, where the reason would stand nowhere.
func (r *Run) SealIncomplete(because string) error {
	if err := errors.Join(hasReason(because), r.lostManifest()); err != nil {
		return err
	}
	if r.unfinished() == nil {
		return fmt.Errorf("artifact: %s: expected a run of which something planned is missing, and nothing is missing: go on with -resume, which seals it as complete", r.dir)
	}
	return r.seal(Manifest{Incomplete: because})
}

// SealAnew writes another manifest for a run whose own is lost, as [LostManifestError] says, with the reason why what is there shall count.
func (r *Run) SealAnew(because string) error {
	if err := hasReason(because); err != nil {
		return err
	}
	switch err := r.lostManifest(); {
	case err == nil:
		return fmt.Errorf("artifact: %s: expected a run that was sealed and has lost its %s, found one that has not", r.dir, ManifestFile)
	case !errors.As(err, new(*LostManifestError)):
		return err
	}
	m := Manifest{Resealed: because}
	if r.unfinished() != nil {
		m.Incomplete = because
	}
	return r.seal(m)
}

func hasReason(because string) error {
	if strings.TrimSpace(because) == "" {
		return errors.New("artifact: a run that is incomplete, or has lost its manifest, is sealed with a reason; expected one")
	}
	return nil
}

// unfinished names the first planned training run or evaluation that is not there; nil if all are.
func (r *Run) unfinished() error {
	for _, t := range r.plan.Runs() {
		if _, err := os.Stat(r.path(t.Name, FinalDir)); err != nil {
			return fmt.Errorf("artifact: %s is planned but not finished: %w", t.Name, err)
		}
	}
	for _, e := range r.plan.Evaluations() {
		if !r.HasEval(e) {
			return fmt.Errorf("artifact: evaluation %s is planned but missing", e.Name())
		}
	}
	return nil
}

// stagedManifest is the manifest of a run that is being sealed, until it takes the manifest's place.
const stagedManifest = tempPrefix + ManifestFile

// seal writes m, which says how complete the run is, with the run's files filled in. The mark that the run was sealed is written between
// two steps: the manifest is laid ready, the mark is written, the manifest is renamed to its place. See lostManifest.
func (r *Run) seal(m Manifest) error {
	if _, err := os.Lstat(r.path(ManifestFile)); err == nil {
		return fmt.Errorf("artifact: %s exists already; nothing is overwritten", r.path(ManifestFile))
	}
	ef, err := r.readEnv()
	if err != nil {
		return err
	}
	ef.Sealed = true
	env, err := encode(ef)
	if err != nil {
		return err
	}
	built, err := BuildManifest(os.DirFS(r.dir), r.hash)
	if err != nil {
		return err
	}
	m.Version, m.PlanSHA256, m.Files = built.Version, built.PlanSHA256, built.with(entry(EnvFile, env))
	data, err := encode(m)
	if err != nil {
		return err
	}
	if m.Resealed != "" { // the mark is there: killed here, the run is what it was
		return WriteFile(r.path(ManifestFile), data)
	}
	if err := WriteFile(r.path(stagedManifest), data); err != nil {
		return err
	}
	if err := WriteFile(r.path(EnvFile), env); err != nil {
		return err
	}
	return r.take(stagedManifest, ManifestFile)
}

// take renames a file of the folder that lies ready to its place, where it replaces what is there.
func (r *Run) take(staged, name string) error {
	if err := os.Rename(r.path(staged), r.path(name)); err != nil {
		return fmt.Errorf("artifact: %w", err)
	}
	if err := syncDir(r.dir); err != nil {
		return fmt.Errorf("artifact: %w", err)
	}
	return nil
}

// lostManifest is a [LostManifestError] for a run without a manifest that was sealed before. The mark in env.json says that sealing had come
// as far as to the manifest, and the manifest that lies ready, which is renamed to become the run's, that it had not come further: with the
// mark alone, the manifest was there. So a process that is killed while it seals, at any point, leaves a run that may go on.
//
// It cannot tell that a run was sealed by a version of this program that made no mark, or that somebody took the mark away with the manifest: it
// is against accidents. A copy without names that begin with a dot, made of a folder in which sealing was cut off, looks as if it had lost
// its manifest, and is to be sealed anew.
func (r *Run) lostManifest() error {
	there := func(name string) bool {
		_, err := os.Lstat(r.path(name))
		return err == nil
	}
	if there(ManifestFile) || there(stagedManifest) {
		return nil
	}
	ef, err := r.readEnv()
	if err != nil {
		return err
	}
	if ef.Sealed {
		return &LostManifestError{r.dir}
	}
	return nil
}

func decodeStrict(file string, raw []byte, v any) error {
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("artifact: %s is not what this program wrote: %w", file, err)
	}
	return nil
}
