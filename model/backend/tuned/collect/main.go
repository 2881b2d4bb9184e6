// Command collect adds the kernels that XLA chose on this machine to the set that the program brings along:
//
//	go run ./model/backend/tuned/collect -note "NVIDIA H200, jax-cuda13-pjrt 0.11.2" ~/.cache/teamtalk/xla-autotune/BUILD
//
// What the set's file already says stays: runs that were made with it would come out otherwise.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"teamtalk/model/backend/tuned"
)

func main() {
	into := flag.String("into", "model/backend/tuned", "the folder of the sets")
	note := flag.String("note", "", "the card and the plugin, for the first line of a new file")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: collect [-into DIR] [-note TEXT] DIR, where DIR is the cache's folder for one build of a plugin: CACHE/teamtalk/xla-autotune/BUILD")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := collect(*into, flag.Arg(0), *note); err != nil {
		fmt.Fprintln(os.Stderr, "collect:", err)
		os.Exit(1)
	}
}

// collect adds what dir holds to the set in into that has dir's name.
func collect(into, dir, note string) error {
	found, err := tuned.Read(dir)
	if err != nil {
		return err
	}
	if len(found.Choices) == 0 {
		return fmt.Errorf("%s holds no choices: nothing was compiled for a GPU with it", dir)
	}
	path := filepath.Join(into, filepath.Base(filepath.Clean(dir))+".txt")
	set := tuned.Set{Choices: map[string][]byte{}, Programs: map[string]bool{}}
	raw, err := os.ReadFile(path)
	if err == nil {
		if set, err = tuned.Parse(raw); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	before := len(set.Choices)
	set.Add(found)
	if note != "" && !slices.Contains(set.Comments, note) {
		set.Comments = append(set.Comments, note)
	}
	if err := os.WriteFile(path, set.Text(), 0o644); err != nil {
		return err
	}
	fmt.Printf("%s: %d choices, %d of them new, for %d programs\n", path, len(set.Choices), len(set.Choices)-before, len(set.Programs))
	return nil
}
