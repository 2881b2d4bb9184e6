package mini

import (
	"testing"

	"teamtalk/recipe/data"
	"teamtalk/recipe/experiment"
)

func TestExampleAtIsAFunctionOfItsArguments(t *testing.T) {
	late := ExampleAt(3, 50, DefaultMixture)
	for i := range 50 {
		if i > 0 && ExampleAt(3, i, DefaultMixture).Problem.Question == ExampleAt(3, i-1, DefaultMixture).Problem.Question {
			t.Errorf("examples %d and %d are the same", i-1, i)
		}
	}
	again := ExampleAt(3, 50, DefaultMixture)
	if late.Reply != again.Reply || late.Problem.Question != again.Problem.Question || late.Team != again.Team {
		t.Errorf("example 50 is %+v, and then %+v", late, again)
	}
	if ExampleAt(4, 50, DefaultMixture).Problem.Question == late.Problem.Question {
		t.Error("two seeds share their examples")
	}
}

// Examples never ask a held-out question. A hit by chance is too rare for a test to meet, so the rule is tested on texts
// that the stream does contain.
func TestHeldOutTextsAreDrawnAgain(t *testing.T) {
	plain := make([]Example, 40)
	excluded := map[string]bool{}
	for i := range plain {
		plain[i] = exampleAt(9, i, DefaultMixture, nil)
		if i%2 == 0 {
			excluded[data.Normalize(plain[i].Problem.Question)] = true
		}
	}
	for i := range plain {
		got := exampleAt(9, i, DefaultMixture, excluded)
		if excluded[data.Normalize(got.Problem.Question)] {
			t.Errorf("example %d asks an excluded question: %s", i, got.Problem.Question)
		}
		if i%2 == 1 && got.Problem.Question != plain[i].Problem.Question {
			t.Errorf("example %d moved because others were excluded", i)
		}
	}
	for _, p := range Problems().Holdout {
		if !heldOut()[data.Normalize(p.Question)] {
			t.Errorf("%s is not among the texts that are drawn again", p.ID())
		}
	}
	if len(heldOut()) != HoldoutCount {
		t.Errorf("%d texts are held out, want %d", len(heldOut()), HoldoutCount)
	}
}

// The model is pretrained with the prompts that the experiment's mini preset uses.
func TestPromptsAreTheExperiments(t *testing.T) {
	plan, err := experiment.Preset("mini")
	if err != nil {
		t.Fatal(err)
	}
	for _, arm := range plan.Arms {
		if want := System(arm.Talk); arm.System != want {
			t.Errorf("arm %s has the system message %q, the model knows %q", arm.Name, arm.System, want)
		}
	}
	if len(plan.Arms) != 2 || plan.Arms[0].Talk == plan.Arms[1].Talk {
		t.Errorf("expected one arm that talks and one that does not, found %+v", plan.Arms)
	}
}
