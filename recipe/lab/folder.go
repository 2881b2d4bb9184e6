package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"teamtalk/model/backend"
	"teamtalk/model/flock"
	"teamtalk/recipe/artifact"
	"teamtalk/recipe/experiment"
)

// create makes the run's folder, with the plan fixed and hashed.
func (l *Lab) create(ctx context.Context) error {
	if err := l.Plan.Validate(); err != nil {
		return err
	}
	longest, err := l.longestPrompt(l.problems.Train)
	if err != nil {
		return err
	}
	if most := l.Plan.Training.MaxPromptLength; longest > most {
		return fmt.Errorf("the longest problem has %d tokens under one of the system messages, max_prompt_length is %d: expected a shorter system message, or -max-prompt-length %d, which takes more memory", longest, most, longest)
	}
	if l.Device != nil { // before there is a folder: a training that does not fit leaves none
		if _, err := l.microBatchRows(l.lockstep()); err != nil {
			return err
		}
	}
	if err := l.createDir(); err != nil {
		return err
	}
	l.say("%s: plan %.12s, runs %v", l.Dir, l.run.PlanSHA256(), runNames(l.Plan))
	return l.lock(ctx)
}

// createDir makes the folder: Out, or a new one, which another process may take first.
func (l *Lab) createDir() (err error) {
	if l.Dir = l.options.Out; l.Dir != "" {
		l.run, err = artifact.Create(l.Dir, l.Plan, l.environment())
		return err
	}
	for {
		dir, unfinished, err := newDir(l.Plan.Preset)
		if err != nil {
			return err
		}
		l.run, err = artifact.Create(dir, l.Plan, l.environment())
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil && unfinished != "" {
			l.say("%s is not finished: go run ./recipe -resume %s goes on with it (and -model and -data as it was begun, if it had them); this is a new run", unfinished, unfinished)
		}
		l.Dir = dir
		return err
	}
}

// canMake says why the folder dir cannot be made, before much is done for it. It tries with a folder of another name, which it
// removes, in the nearest folder that is there. What stands at dir already is left to [artifact.Create] to name.
func canMake(dir string) error {
	at := dir
	_, err := os.Lstat(at)
	if err == nil {
		return nil
	}
	for errors.Is(err, os.ErrNotExist) && filepath.Dir(at) != at {
		at = filepath.Dir(at)
		_, err = os.Lstat(at)
	}
	if err == nil {
		var probe string
		if probe, err = os.MkdirTemp(at, ".tmp-"); err == nil {
			err = os.Remove(probe)
		}
	}
	if err == nil {
		return nil
	}
	if p := (*os.PathError)(nil); errors.As(err, &p) {
		err = p.Err // its path is the probe's
	}
	if at == dir { // its name alone cannot be looked up
		at = filepath.Dir(dir)
	}
	return fmt.Errorf("%s: expected a folder that can be made, found that %s takes no such folder: %w; name another with -out", dir, at, err)
}

// reopen reads the plan of the run to go on with, and takes what the options leave open from what it was begun with: other
// batches, or another backend, would round otherwise.
func (l *Lab) reopen(ctx context.Context) (err error) {
	l.Dir = l.options.Resume
	if l.run, err = artifact.Open(l.Dir); err != nil {
		return err
	}
	if err := l.lock(ctx); err != nil {
		return err
	}
	l.Plan = l.run.Plan()
	begun, err := l.run.Configs()
	if err != nil || len(begun) == 0 {
		return err
	}
	r, o := begun[0].Settings.Runtime, &l.options
	if o.Backend == backend.Auto || o.Backend == "" {
		o.Backend = backend.Kind(r.Backend)
	}
	for _, s := range []struct {
		option *int
		begun  int
	}{{&o.Lockstep, r.RunsLockstep}, {&o.Rows, r.MicroBatch}, {&o.EvalRows, r.EvalRows}} {
		if *s.option == 0 {
			*s.option = s.begun
		}
	}
	return nil
}

// resume records that another process goes on.
func (l *Lab) resume() error {
	if l.Plan.Model.DType != l.run.Plan().Model.DType {
		return fmt.Errorf("%s was planned for weights in %s, this backend keeps %s: choose the backend it was begun on with -backend",
			l.Dir, l.run.Plan().Model.DType, l.Plan.Model.DType)
	}
	l.say("%s: going on with plan %.12s", l.Dir, l.run.PlanSHA256())
	return l.run.AddSession(l.environment())
}

// lock keeps a second process from working on the same run. It ends with this process and its workers, however they end.
func (l *Lab) lock(ctx context.Context) error {
	soon, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	unlock, err := flock.ExclusiveThenShared(soon, filepath.Join(l.Dir, artifact.ExperimentFile))
	switch {
	case err == nil:
		l.unlock = unlock
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("another process works on %s: wait for it to end, or end it", l.Dir)
	case ctx.Err() != nil:
		return ctx.Err()
	default: // some network file systems have no locks
		l.say("%s cannot be locked (%v): see to it that no other process goes on with it", l.Dir, err)
	}
	return nil
}

// GoOn is the command that goes on with this run.
func (l *Lab) GoOn() string {
	words := []string{"go run ./recipe -resume", quoted(l.Dir)}
	if l.options.Model != "" {
		words = append(words, "-model", quoted(l.options.Model))
	}
	if l.options.Data != "" {
		words = append(words, "-data", quoted(l.options.Data))
	}
	if l.options.AnyData {
		words = append(words, "-any-data")
	}
	if n := l.options.Processes; n > 1 {
		words = append(words, "-processes", strconv.Itoa(n))
	}
	return strings.Join(words, " ")
}

// quoted is a word as a shell reads it.
func quoted(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\n'\"\\$`*?[](){}<>|&;~#!") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func runNames(p experiment.Plan) []string {
	var names []string
	for _, r := range p.Runs() {
		names = append(names, r.Name)
	}
	return names
}

// runsDir is where runs are that were given no folder.
const runsDir = "runs"

// newDir is the first folder runs/PRESET-N that does not exist. The one before it is named if it is a run that is not
// complete.
func newDir(preset string) (dir, unfinished string, err error) {
	for n := 1; ; n++ {
		dir := filepath.Join(runsDir, fmt.Sprintf("%s-%d", preset, n))
		if _, err := os.Lstat(dir); errors.Is(err, os.ErrNotExist) {
			return dir, unfinished, nil
		} else if err != nil {
			return "", "", err
		}
		unfinished = ""
		_, planned := os.Stat(filepath.Join(dir, artifact.ExperimentFile))
		if _, err := os.Stat(filepath.Join(dir, artifact.ManifestFile)); planned == nil && errors.Is(err, os.ErrNotExist) {
			unfinished = dir
		}
	}
}
