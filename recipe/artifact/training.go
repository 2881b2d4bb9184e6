package artifact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"teamtalk/recipe/experiment"
)

// TrainingRun is the folder ARM-SEED of one training run. One process writes it.
type TrainingRun struct {
	run         *Run
	name        string
	metrics     *appender
	completions *appender
}

// OpenTraining creates or reopens the folder of a training run. The configuration is written once; when the folder exists its configuration must be the
// same, or the error names the settings that differ. Torn ends of the logs are cut.
func (r *Run) OpenTraining(cfg experiment.RunConfig) (*TrainingRun, error) {
	t := &TrainingRun{run: r, name: cfg.Run.Name}
	if cfg.PlanSHA256 != r.hash {
		return nil, fmt.Errorf("artifact: %s belongs to plan %.12s, this folder to %.12s", t.name, cfg.PlanSHA256, r.hash)
	}
	if err := os.MkdirAll(r.path(t.name), 0o755); err != nil {
		return nil, fmt.Errorf("artifact: %w", err)
	}
	raw, err := os.ReadFile(t.path(ConfigFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		data, err := encode(cfg)
		if err != nil {
			return nil, err
		}
		if err := writeNew(t.path(ConfigFile), data); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, fmt.Errorf("artifact: %w", err)
	default:
		var old experiment.RunConfig
		if err := decodeStrict(t.name+"/"+ConfigFile, raw, &old); err != nil {
			return nil, err
		}
		ds, err := experiment.ArmDiff(old, cfg)
		if err != nil {
			return nil, err
		}
		if len(ds) > 0 || old.PlanSHA256 != cfg.PlanSHA256 {
			return nil, fmt.Errorf("artifact: %s was started with other settings (%s); go on with the same ones, or start another run", t.name, otherSettings(ds))
		}
	}
	if t.metrics, err = openAppender(t.path(MetricsFile), scanLines); err != nil {
		return nil, err
	}
	if t.completions, err = openAppender(t.path(CompletionsFile), scanMembers); err != nil {
		t.metrics.Close()
		return nil, err
	}
	return t, nil
}

// otherSettings says what was and what is, for at most three settings.
func otherSettings(ds []experiment.Difference) string {
	var said []string
	for i, d := range ds {
		if i == 3 {
			said = append(said, fmt.Sprintf("and %d more", len(ds)-i))
			break
		}
		said = append(said, fmt.Sprintf("%s was %s, is now %s", d.Path, d.A, d.B))
	}
	return strings.Join(said, "; ")
}

// Configs returns the resolved configurations of the training runs that were begun, in the plan's order.
func (r *Run) Configs() ([]experiment.RunConfig, error) {
	var out []experiment.RunConfig
	for _, t := range r.plan.Runs() {
		raw, err := os.ReadFile(r.path(t.Name, ConfigFile))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("artifact: %w", err)
		}
		var c experiment.RunConfig
		if err := decodeStrict(t.Name+"/"+ConfigFile, raw, &c); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func (t *TrainingRun) path(elem string) string { return t.run.path(t.name, elem) }

// Close closes the logs.
func (t *TrainingRun) Close() error { return errors.Join(t.metrics.Close(), t.completions.Close()) }

// LastStep is the last step for which both logs are whole, 0 for none.
func (t *TrainingRun) LastStep() int { return min(t.metrics.last(), t.completions.last()) }

// CutAfter removes what was logged after step: training goes on from a checkpoint of that step. It is an error when a log
// ends before it.
func (t *TrainingRun) CutAfter(step int) error {
	if err := t.metrics.cutAfter(step); err != nil {
		return err
	}
	return t.completions.cutAfter(step)
}

// AppendMetrics appends one line for a step: "step" first, then the keys sorted. NaN and infinities become null. The step must be the next one.
func (t *TrainingRun) AppendMetrics(step int, values map[string]float64) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"step":%d`, step)
	for _, k := range slices.Sorted(maps.Keys(values)) {
		if k == "step" {
			continue
		}
		key, err := json.Marshal(k)
		if err != nil {
			return fmt.Errorf("artifact: %w", err)
		}
		b.WriteByte(',')
		b.Write(key)
		b.WriteByte(':')
		if v := values[k]; math.IsNaN(v) || math.IsInf(v, 0) {
			b.WriteString("null")
		} else {
			b.WriteString(strconv.FormatFloat(v, 'g', -1, 64))
		}
	}
	b.WriteString("}\n")
	return t.metrics.append(step, b.Bytes())
}

// AppendCompletions appends all rollouts of a step, in the order given, as one gzip member. Their Step is set here. The step must
// be the next one.
func (t *TrainingRun) AppendCompletions(step int, rs []Rollout) error {
	if len(rs) == 0 {
		return fmt.Errorf("artifact: %s: step %d has no rollouts", t.name, step)
	}
	rs = slices.Clone(rs)
	for i := range rs {
		rs[i].Step = step
	}
	data, err := member(rs)
	if err != nil {
		return err
	}
	return t.completions.append(step, data)
}

const checkpointPrefix = "checkpoint-"

// CheckpointDir is the folder of the checkpoint after a step.
func (t *TrainingRun) CheckpointDir(step int) string {
	return t.path(checkpointPrefix + strconv.Itoa(step))
}

// Checkpoint lets write fill a temporary folder and makes it checkpoint-STEP. A checkpoint that exists is left as it is.
func (t *TrainingRun) Checkpoint(step int, write func(dir string) error) error {
	if slices.Contains(t.Checkpoints(), step) {
		return nil
	}
	return writeDir(t.CheckpointDir(step), write)
}

// RemoveCheckpoint takes a checkpoint away, at once: a process that is killed meanwhile leaves no part of it that looks whole.
func (t *TrainingRun) RemoveCheckpoint(step int) error {
	tmp, err := os.MkdirTemp(t.run.path(t.name), tempPrefix)
	if err != nil {
		return fmt.Errorf("artifact: %w", err)
	}
	if err := os.Rename(t.CheckpointDir(step), filepath.Join(tmp, "removed")); err != nil {
		return fmt.Errorf("artifact: %w", errors.Join(err, os.Remove(tmp)))
	}
	if err := os.RemoveAll(tmp); err != nil {
		return fmt.Errorf("artifact: %w", err)
	}
	return nil
}

// Checkpoints lists the steps that have one, ascending.
func (t *TrainingRun) Checkpoints() []int { return t.run.Checkpoints(t.name) }

// Checkpoints lists the steps that a training run has a checkpoint of, ascending. It may be written by another process.
func (r *Run) Checkpoints(run string) []int {
	entries, _ := os.ReadDir(r.path(run)) // no folder, no checkpoints
	var steps []int
	for _, e := range entries {
		if s, ok := strings.CutPrefix(e.Name(), checkpointPrefix); ok {
			if n, err := strconv.Atoi(s); err == nil {
				steps = append(steps, n)
			}
		}
	}
	slices.Sort(steps)
	return steps
}

// FinalDir is the folder of the trained adapter.
func (t *TrainingRun) FinalDir() string { return t.path(FinalDir) }

// Done says whether the trained adapter is there.
func (t *TrainingRun) Done() bool { return t.run.HasFinal(t.name) }

// HasFinal says whether a training run has its trained adapter. It may be written by another process.
func (r *Run) HasFinal(run string) bool {
	_, err := os.Stat(r.path(run, FinalDir))
	return err == nil
}

// Final lets write fill a temporary folder and makes it final/.
func (t *TrainingRun) Final(write func(dir string) error) error {
	return writeDir(t.FinalDir(), write)
}
