package notebooks_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// inputs are what a notebook's outputs follow from, each with a hash: its cells, the packages of this module that they use,
// directly or not, the versions of all others, and the published runs. They are written into the notebook with its outputs.
// Comments and layout of Go code do not count.
func inputs(t *testing.T, n *notebook) map[string]string {
	t.Helper()
	all := map[string]string{"cells": hashCells(n), "go.mod": hashFiles(t, "..", []string{"go.mod"})}
	runs, err := filepath.Glob("../recipe/results/*/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(sources(n), "recipe/results") {
		all["recipe/results"] = hashFiles(t, ".", runs)
	}
	used := packagesOf(n)
	args := append([]string{"list", "-deps", "-json=ImportPath,Dir,GoFiles,CgoFiles,IgnoredGoFiles,EmbedFiles,Module"}, used...)
	c := exec.Command("go", args...)
	c.Dir = ".."
	out, err := c.Output()
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath, Dir                               string
			GoFiles, CgoFiles, IgnoredGoFiles, EmbedFiles []string
			Module                                        *struct{ Main bool }
		}
		if err := d.Decode(&p); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Module != nil && p.Module.Main {
			files := slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles, p.EmbedFiles)
			all[p.ImportPath] = hashFiles(t, p.Dir, slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") }))
		}
	}
}

func sources(n *notebook) string {
	var b strings.Builder
	for _, c := range n.Cells {
		if c.Type == "code" {
			b.WriteString(string(c.Source) + "\n")
		}
	}
	return b.String()
}

// packagesOf are the packages of this module that cells import or run.
func packagesOf(n *notebook) []string {
	found := map[string]bool{}
	for _, m := range regexp.MustCompile(`"(teamtalk/[a-z/]+)"|go run (teamtalk/[a-z/]+)`).FindAllStringSubmatch(sources(n), -1) {
		found[m[1]+m[2]] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// hashCells hashes the code alone: text between cells can be improved without running them again.
func hashCells(n *notebook) string {
	sum := sha256.Sum256([]byte(sources(n)))
	return hex.EncodeToString(sum[:6])
}

// hashFiles hashes files by name and content; of Go files the tokens.
func hashFiles(t *testing.T, dir string, files []string) string {
	t.Helper()
	h := sha256.New()
	slices.Sort(files)
	for _, file := range files {
		raw, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, ".go") {
			raw = goTokens(raw)
		}
		fmt.Fprintf(h, "%s %d\n", filepath.ToSlash(file), len(raw))
		h.Write(raw)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// goTokens is Go source without comments and layout.
func goTokens(src []byte) []byte {
	var out []byte
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(src)), src, nil, 0)
	for {
		_, tok, literal := s.Scan()
		if tok == token.EOF {
			return out
		}
		if tok == token.SEMICOLON {
			continue // mostly implied, by layout
		}
		out = fmt.Appendf(out, "%s %s\n", tok, literal)
	}
}

// stale compares what is committed with what came out just now. Outputs are stale when their inputs changed and they did too.
// When inputs changed and outputs did not, nothing is lost; when outputs changed alone, another machine computed them, which
// rounds differently; then at least their kinds must be the same.
func stale(committed, done *notebook, now map[string]string) (complaints []string) {
	var changed []string
	old, _ := committed.Metadata["inputs"].(map[string]any)
	names := maps.Clone(now)
	for name := range old {
		names[name] = ""
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if before, _ := old[name].(string); before != now[name] {
			changed = append(changed, name)
		}
	}
	for i, c := range committed.Cells {
		was, is := joined(c.Outputs), joined(done.Cells[i].Outputs)
		switch {
		case len(changed) > 0 && text(was) != text(is):
			complaints = append(complaints, fmt.Sprintf("cell %d is stale: %s changed and so does its output; go test ./notebooks -update\nwas\n%s\nis\n%s",
				i+1, strings.Join(changed, ", "), excerpt(text(was), text(is)), excerpt(text(is), text(was))))
		case kinds(was) != kinds(is):
			complaints = append(complaints, fmt.Sprintf("cell %d holds outputs of the kinds %s, and gives %s: they were not made by these sources; go test ./notebooks -update",
				i+1, kinds(was), kinds(is)))
		}
	}
	return complaints
}

// text is a cell's outputs as they would be committed.
func text(outputs []output) string {
	var all []any
	for _, o := range outputs {
		all = append(all, o.canonical(1))
	}
	b, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		panic(err) // maps of strings
	}
	return string(b)
}

// excerpt is where a differs from b.
func excerpt(a, b string) string {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	return strings.ToValidUTF8(a[max(0, at-100):min(len(a), at+100)], "")
}

func kinds(outputs []output) string {
	var all []string
	for _, o := range outputs {
		kind := o.Type + " " + o.Name
		for _, mime := range slices.Sorted(maps.Keys(o.Data)) {
			kind += mime + " "
		}
		all = append(all, strings.TrimSpace(kind))
	}
	return fmt.Sprintf("%q", all)
}

// The rule of stale, case by case.
func TestStale(t *testing.T) {
	book := func(out string) *notebook {
		return &notebook{Metadata: map[string]any{"inputs": map[string]any{"cells": "1", "teamtalk/grader": "2"}},
			Cells: []cell{{Type: "code", Outputs: []output{{Type: "stream", Name: "stdout", Text: lines(out)}}}}}
	}
	same := map[string]string{"cells": "1", "teamtalk/grader": "2"}
	for _, c := range []struct {
		why  string
		done *notebook
		now  map[string]string
		want string
	}{
		{"nothing changed", book("1"), same, ""},
		{"other code, same outputs", book("1"), map[string]string{"cells": "1", "teamtalk/grader": "3"}, ""},
		{"other code, other outputs", book("2"), map[string]string{"cells": "1", "teamtalk/grader": "3"}, "teamtalk/grader changed"},
		{"another cell", book("2"), map[string]string{"cells": "4", "teamtalk/grader": "2"}, "cells changed"},
		{"a package more", book("2"), map[string]string{"cells": "1", "teamtalk/grader": "2", "teamtalk/model": "5"}, "teamtalk/model changed"},
		{"a package less", book("2"), map[string]string{"cells": "1"}, "teamtalk/grader changed"},
		{"another machine's rounding", book("2"), same, ""},
		{"an output that was written by hand", &notebook{Cells: []cell{{Type: "code"}}}, same, "not made by these sources"},
	} {
		t.Run(c.why, func(t *testing.T) {
			got := strings.Join(stale(book("1"), c.done, c.now), "\n")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
	a := goTokens([]byte("package a\n\n// F is old.\nfunc F() int { return 1 }\n"))
	if string(a) != string(goTokens([]byte("package a\nfunc F() int {\n\treturn 1 // new\n}"))) {
		t.Error("comments and layout count")
	}
	if string(a) == string(goTokens([]byte("package a\nfunc F() int { return 2 }"))) {
		t.Error("another number does not count")
	}
}
