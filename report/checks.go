package main

import (
	"context"
	"encoding/json"
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
	args := e.t.run
	if e.t.out != filepath.Join(e.t.run, artifact.ReportDir) {
		args = "-out " + e.t.out + " " + args
	}
	if e.t.data != "" {
		args = "-data " + e.t.data + " " + args
	}
	return fmt.Sprintf("%s: %s; make the report again with: go run ./report %s", e.t.out, e.state, args)
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
		found, err := lintReport(t.out)
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

func lintReport(out string) ([]page.Problem, error) {
	md, err := os.ReadFile(filepath.Join(out, "report.md"))
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(filepath.Join(out, "claims.json"))
	if err != nil {
		return nil, err
	}
	var claims page.Claims
	if err := json.Unmarshal(raw, &claims); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(out, "claims.json"), err)
	}
	problems := page.Lint(filepath.Join(out, "report.md"), string(md), claims.Claims)
	learned, err := os.ReadFile(filepath.Join(out, "learned.md"))
	if err == nil {
		problems = append(problems, page.LintTemplate(filepath.Join(out, "learned.md"), string(learned))...)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return problems, nil
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
