package lab

import (
	"testing"

	"teamtalk/recipe/artifact"
)

func TestJudgeDeterminism(t *testing.T) {
	for _, c := range []struct {
		same, other, all int
		want             artifact.Status
		why              string
	}{
		{8, 3, 8, artifact.Pass, "all as recorded, and another seed is told apart"},
		{7, 3, 8, artifact.Fail, "one reply differs"},
		{8, 8, 8, artifact.Vacuous, "another seed gives the same replies too, as at temperature 0: the comparison shows nothing"},
		{7, 8, 8, artifact.Fail, "a difference that was found counts, whatever the control"},
	} {
		got := judgeDeterminism(artifact.Check{}, c.same, c.other, c.all, []string{"base-baseline"})
		if got.Status != c.want || got.Control.Caught != (c.other < c.all) {
			t.Errorf("%d as recorded, %d with another seed, of %d: %s (caught %t), want %s: %s", c.same, c.other, c.all, got.Status, got.Control.Caught, c.want, c.why)
		}
	}
}
