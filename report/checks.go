package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"teamtalk/recipe/artifact"
	"teamtalk/report/page"
)

// stateError carries the exit code of report check.
type stateError struct {
	state page.State
	t     *target
}

func (e stateError) Error() string {
	if e.state == page.CannotTell {
		if _, err := os.Stat(filepath.Join(e.t.out, "manifest.json")); err == nil {
			return fmt.Sprintf("%s: %s; the reason stands above", e.t.out, e.state)
		}
		return fmt.Sprintf("%s: %s; there is no report in this folder: make it with: %s", e.t.out, e.state, e.t.command())
	}
	return fmt.Sprintf("%s: %s; make the report again with: %s", e.t.out, e.state, e.t.command())
}

// noReport says where a report was looked for and how to make it.
func (t *target) noReport(err error) error {
	return fmt.Errorf("there is no report in %s (%w): make it first with: %s", t.out, err, t.command())
}

// command makes the target's report.
func (t *target) command() string {
	args := t.run
	if t.out != filepath.Join(t.run, artifact.ReportDir) {
		args = "-out " + t.out + " " + args
	}
	if t.data != "" {
		args = "-data " + t.data + " " + args
	}
	return "go run ./report " + args
}

// runCheck says whether the report is what the artifacts give: exit 0 fresh, 1 stale, 2 cannot tell.
func runCheck(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	t, err := flagsFor("check", args, stdout)
	if err != nil || t == nil {
		return err
	}
	o, err := t.options()
	if err != nil {
		return err
	}
	state, lines := page.Check(os.DirFS(t.run), os.DirFS(t.out), o)
	for _, l := range lines {
		fmt.Fprintln(stdout, l)
	}
	fmt.Fprintln(stdout, state)
	if state != page.Fresh {
		return stateError{state, t}
	}
	return nil
}

// runLint reads the built-in prose, and a report if there is one.
func runLint(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	problems, err := page.LintProse()
	if err != nil {
		return err
	}
	t, err := flagsFor("lint", args, stdout)
	if err != nil && len(args) > 0 {
		return err
	}
	if t != nil {
		found, err := lintReport(t)
		if err != nil {
			return err
		}
		problems = append(problems, found...)
	} else if err == nil {
		return nil // help was asked for
	}
	for _, p := range problems {
		fmt.Fprintln(stdout, p)
	}
	if len(problems) > 0 {
		return fmt.Errorf("%d problems", len(problems))
	}
	fmt.Fprintln(stdout, "no problem found")
	return nil
}

func lintReport(t *target) ([]page.Problem, error) {
	problems, err := page.LintStored(os.DirFS(t.out))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, t.noReport(err)
	}
	for i := range problems {
		problems[i].File = filepath.Join(t.out, problems[i].File)
	}
	return problems, err
}

// runVerify computes everything again.
func runVerify(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	t, err := flagsFor("verify", args, stdout)
	if err != nil || t == nil {
		return err
	}
	o, err := t.options()
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(t.out, "report.md")); errors.Is(err, fs.ErrNotExist) {
		return t.noReport(err)
	}
	done, err := page.Verify(os.DirFS(t.run), os.DirFS(t.out), o)
	if err != nil {
		return err
	}
	bad := 0
	for _, v := range done {
		word := "ok"
		if !v.OK {
			word, bad = "FAIL", bad+1
		}
		fmt.Fprintf(stdout, "%-4s %s\n", word, v.What)
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d verifications failed", bad, len(done))
	}
	return nil
}
