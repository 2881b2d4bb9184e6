// Package trial plans and runs experiments from a notebook, where cells are run again and again and often with something
// changed. The same plan is never run twice: a run's folder carries the plan's hash in its name, so that a cell that is run
// again finds its run, one that was stopped goes on, and a changed plan gets a folder of its own. Nothing is overwritten.
package trial

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"teamtalk/notebooks/cell"
	"teamtalk/recipe/artifact"
	"teamtalk/recipe/experiment"
	"teamtalk/recipe/lab"
)

// Plan resolves what o asks for, model and problems included, and runs nothing.
func Plan(o lab.Options) (experiment.Plan, error) {
	dir, err := os.MkdirTemp("", "teamtalk-plan-")
	if err != nil {
		return experiment.Plan{}, err
	}
	defer os.RemoveAll(dir)
	o.Out, o.Resume = filepath.Join(dir, "run"), ""
	l, err := lab.Open(context.Background(), o)
	if err != nil {
		return experiment.Plan{}, err
	}
	defer l.Close()
	return l.Plan, nil
}

// Run trains and evaluates what o asks for, with its progress below the cell, unless that was done before. The run is in the
// folder NAME-HASH, by the plan's hash, and the link NAME points to it; o.Out and o.Resume are Run's own. Interrupting the cell
// saves, and running it again goes on.
func Run(name string, o lab.Options) error {
	plan, err := Plan(o)
	if err != nil {
		return err
	}
	hash, err := plan.Hash()
	if err != nil {
		return err
	}
	dir := fmt.Sprintf("%s-%.8s", name, hash)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	progress := cell.NewProgress()
	if !has(dir, artifact.ManifestFile) {
		if err := conduct(dir, name, o, progress); err != nil {
			return err
		}
	}
	if err := point(name, dir); err != nil {
		return err
	}
	progress.Done(fmt.Sprintf("%s: plan %.12s, %d runs of %d steps, %d evaluations",
		dir, hash, len(plan.Runs()), plan.Training.MaxSteps, len(plan.Evaluations())))
	return nil
}

func has(dir, file string) bool {
	_, err := os.Stat(filepath.Join(dir, file))
	return err == nil
}

// conduct begins the run or goes on with it.
func conduct(dir, name string, o lab.Options, progress *cell.Progress) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o.Out, o.Resume, o.Log = dir, "", progress
	if has(dir, artifact.ExperimentFile) {
		o.Out, o.Resume = "", dir
	}
	if o.Command == nil {
		o.Command = []string{"notebook", filepath.Base(name)}
	}
	l, err := lab.Open(ctx, o)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := l.Run(ctx); err != nil {
		return fmt.Errorf("%w (or run this cell again)", err)
	}
	return nil
}

// point makes name a link to dir, which is its sibling. What is there and is no link stays.
func point(name, dir string) error {
	if at, err := os.Lstat(name); err == nil && at.Mode()&fs.ModeSymlink == 0 {
		return fmt.Errorf("%s is in the way: expected nothing or a link to a run there; choose another name", name)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	fresh := fmt.Sprintf("%s.%d", name, os.Getpid())
	if err := os.Symlink(filepath.Base(dir), fresh); err != nil {
		return err
	}
	if err := os.Rename(fresh, name); err != nil {
		os.Remove(fresh)
		return err
	}
	return nil
}
