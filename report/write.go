package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"teamtalk/recipe/artifact"
	"teamtalk/report/page"
)

const writeHelp = `usage: go run ./report [flags] [runs/NAME]

Writes the write-up of a run from its artifacts into runs/NAME/report: report.md, report.html (one file, opens offline), report.json (every number),
tasks.csv, eval_results.yaml, claims.json (number -> artifact), figures, manifest.json. Without a name it takes the newest complete run
under runs/. An incomplete run gets a page that says what is missing.

The section Learned can be written by hand: put learned.md into the report's folder. It is a template; numbers are bindings such as
{{b "+3" "contrasts" "primary" "delta"}}, and a number that is typed in fails report lint.

`

// helps say what each command that takes a run does; see flagsFor.
var helps = map[string]string{
	"write": writeHelp,
	"check": `usage: go run ./report check [flags] [runs/NAME]

Says whether a report is what its artifacts give today, byte for byte, and which files differ. Exit 0: fresh; 1: stale or edited;
2: it cannot be told, because the run or the report is damaged or not there. Without a name it takes the newest complete run.

`,
	"lint": `usage: go run ./report lint [flags] [runs/NAME]

Finds, in the report's text and in learned.md, numbers that are bound to nothing (in digits, and quantities in words such as "ten percent", "twofold" or
"half of"; other number words are not read), bindings that do not give what stands there, dead references and figures without a description. Exit 0: none; 1: found, each with its line. Without a name it takes the newest complete run.

`,
	"verify": `usage: go run ./report verify [flags] [runs/NAME]

Takes nothing on trust but the run folder: holds every file against the manifest, grades every reply again, computes every number and
every check again, each check with a planted fault that it has to find, reads the stored text as report lint does, and makes the report
again. Exit 0: everything follows; 1: something does not, each with what was expected and what was found.

It cannot see who made the replies: a published folder holds no weights, and nothing here is signed. Copies of replies it finds, but who rewrites replies,
or exchanges two runs' evaluations, reseals the run and remakes the report leaves one that follows from those replies.

`,
}

// target is a run and its report's folder, from flags that all commands share.
type target struct {
	run, out string
	data     string
	force    bool
}

// flagsFor declares the shared flags and parses them; the run may stand before, between or after them.
func flagsFor(name string, args []string, stdout io.Writer) (*target, error) {
	t := &target{}
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // a mistake is reported once, by the caller
	flags.StringVar(&t.out, "out", "", "the report's `folder`; runs/NAME/report if absent")
	flags.StringVar(&t.data, "data", "", "a `folder` with the data set's *.jsonl files, to show questions on the page")
	if name == "write" {
		flags.BoolVar(&t.force, "force", false, "write over a report that was edited by hand")
	}
	rest, err := parseAnywhere(flags, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		io.WriteString(stdout, helps[name])
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		return nil, nil
	case err != nil:
		return nil, usageError{err}
	case len(rest) > 1:
		return nil, usagef("one run at a time: found %q", rest)
	case len(rest) == 1:
		t.run = rest[0]
	default:
		if t.run, err = newest("runs", artifact.ManifestFile); err != nil {
			return nil, err
		}
	}
	if err := isRun(t.run); err != nil {
		return nil, err
	}
	if t.out == "" {
		t.out = filepath.Join(t.run, artifact.ReportDir)
	}
	return t, nil
}

func isRun(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, artifact.ExperimentFile)); err != nil {
		return usagef("%s is not a run: expected a folder with %s in it, such as those that go run ./recipe makes", dir, artifact.ExperimentFile)
	}
	return nil
}

// newest is the run with a file of this name whose first session started last; the clock is the run's, not this machine's. Equal times
// go by name. What has a manifest is complete.
func newest(dir, file string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	best, when := "", ""
	for _, e := range entries {
		run := filepath.Join(dir, e.Name())
		if _, err := os.Stat(filepath.Join(run, file)); err != nil {
			continue
		}
		started, err := artifact.Started(os.DirFS(run))
		if err == nil && started >= when {
			best, when = run, started
		}
	}
	if best == "" && file != artifact.ManifestFile {
		return "", usagef("there is no run under %s/: make one with go run ./recipe, or name one", dir)
	}
	if best == "" {
		return "", usagef("there is no complete run under %s/: make one with go run ./recipe, or name one", dir)
	}
	return best, nil
}

// options reads what the page may show beside the artifacts.
func (t *target) options() (page.Options, error) {
	var o page.Options
	learned, err := os.ReadFile(filepath.Join(t.out, "learned.md"))
	if err == nil {
		o.Learned = string(learned)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return o, err
	}
	if t.data != "" {
		if o.Questions, err = questions(t.run, t.data); err != nil {
			return o, err
		}
	}
	return o, nil
}

// runWrite makes the report.
func runWrite(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	t, err := flagsFor("write", args, stdout)
	if err != nil || t == nil {
		return err
	}
	if err := besideRuns(t.out); err != nil {
		return err
	}
	o, err := t.options()
	if err != nil {
		return err
	}
	files, err := page.Build(os.DirFS(t.run), o)
	if err != nil {
		return err
	}
	if !t.force {
		if err := ours(t.out, files); err != nil {
			return err
		}
	}
	names := slices.Sorted(maps.Keys(files))
	names = append(slices.DeleteFunc(names, func(n string) bool { return n == "manifest.json" }), "manifest.json") // last: until then the old one tells what is the old report's
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		path := filepath.Join(t.out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := artifact.WriteFile(path, files[name]); err != nil {
			return err
		}
		fmt.Fprintln(stdout, path)
	}
	verdict, err := page.VerdictOf(files)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "Verdict: %s. Open first: %s\n", verdict, filepath.Join(t.out, "report.html"))
	return nil
}

// besideRuns refuses a folder in which a report would be among a run's own files: their manifest knows nothing of it, and the report's
// would take its place.
func besideRuns(out string) error {
	dir, err := resolved(out)
	if err != nil {
		return err
	}
	for below := ""; ; {
		if _, err := os.Stat(filepath.Join(dir, artifact.ExperimentFile)); err == nil {
			if below == artifact.ReportDir {
				return nil
			}
			return usagef("-out %s is among the files of the run %s: expected a folder outside of runs, or nothing, for %s", out, dir, filepath.Join(dir, artifact.ReportDir))
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return nil
		}
		dir, below = parent, filepath.Base(dir)
	}
}

// resolved is where a path leads that need not be there yet, without symbolic links.
func resolved(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	at, rest := path, ""
	for {
		real, err := filepath.EvalSymlinks(at)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			return "", err
		}
		at, rest = filepath.Dir(at), filepath.Join(filepath.Base(at), rest)
	}
}

// ours refuses to write over what is not as an earlier report left it.
func ours(out string, files page.Files) error {
	left := map[string]string{}
	raw, err := os.ReadFile(filepath.Join(out, "manifest.json"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		var m page.Manifest
		if err := json.Unmarshal(raw, &m); err != nil || m.Run.PlanSHA256 == "" {
			return fmt.Errorf("%s is not a report's; nothing was written: give another -out, or write over it with -force", filepath.Join(out, "manifest.json"))
		}
		left["manifest.json"] = page.Sum(raw)
		for _, f := range m.Files {
			left[f.Path] = f.SHA256
		}
	}
	names := slices.Collect(maps.Keys(files))
	for name := range left {
		if _, ok := files[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		path := filepath.Join(out, filepath.FromSlash(name))
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if bytes.Equal(data, files[name]) { // of a report whose writing was stopped
			continue
		}
		switch sum, ok := left[name]; {
		case !ok:
			return fmt.Errorf("%s is not a report's; nothing was written: give another -out, or write over it with -force", path)
		case page.Sum(data) != sum:
			return fmt.Errorf("%s was edited after the report was made; nothing was written: put your text into learned.md, give another -out, or write over it with -force", path)
		}
	}
	return nil
}
