package lab

import (
	"sync"
	"testing"

	"teamtalk/recipe/experiment"
)

// Processes that start together take folders of their own.
func TestNewFoldersAreNotShared(t *testing.T) {
	t.Chdir(t.TempDir())
	plan, err := experiment.Preset("mini")
	if err != nil {
		t.Fatal(err)
	}
	tasks := func(word string) []experiment.Task { return []experiment.Task{experiment.NewTask(1, word, "1", true)} }
	plan.Data = experiment.Data{Source: "mini", Train: experiment.NewSplit("train", tasks("a")), Holdout: experiment.NewSplit("holdout", tasks("b"))}
	var all sync.WaitGroup
	labs := make([]*Lab, 6)
	for i := range labs {
		labs[i] = &Lab{Plan: plan, options: Options{Log: t.Output()}}
		all.Go(func() {
			if err := labs[i].createDir(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	seen := map[string]bool{}
	for _, l := range labs {
		seen[l.Dir] = true
	}
	if len(seen) != len(labs) {
		t.Errorf("folders %v, want %d", seen, len(labs))
	}
}
