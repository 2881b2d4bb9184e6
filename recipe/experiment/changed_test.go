package experiment

import (
	"slices"
	"strings"
	"testing"
)

// What a caller changed stands among the plan's overrides, and a sentence that is no longer true does not stay.
func TestRecord(t *testing.T) {
	const neutral = "The system message."
	for _, c := range []struct {
		why       string
		change    func(*Plan)
		overrides []string
		question  string // how Question.Change begins; "": as in the preset
	}{
		{"nothing", func(*Plan) {}, nil, ""},
		{"a prompt", func(p *Plan) { p.Arms[1].System, p.Arms[1].Prompt = strings.Repeat("Arr! ", 20), "pirate prompt" }, []string{"arms.recipe.prompt=pirate prompt", "arms.recipe.system"}, neutral},
		{"a prompt, with a sentence of one's own", func(p *Plan) { p.Arms[0].System, p.Question.Change = "Short.", "Politeness." }, []string{"arms.baseline.system=Short.", "question.change=Politeness."}, "Politeness."},
		{"the margin, which decides what counts as none", func(p *Plan) { p.Margin = 0.5 }, []string{"margin=0.5"}, ""},
		{"a setting within", func(p *Plan) { p.Training.LoRA.R = 8 }, []string{"training.lora.r=8"}, ""},
		{"an arm more", func(p *Plan) {
			p.Arms = append(p.Arms, Arm{Name: "third", Role: RoleRecipe, Display: "Third", Prompt: "third prompt", System: "Sing."})
		}, []string{"arms.third.display=Third", "arms.third.name=third", "arms.third.prompt=third prompt", "arms.third.role=recipe", "arms.third.system=Sing.", "arms.third.talk=false"}, neutral},
		{"an evaluation less", func(p *Plan) { p.Evaluation.Prompts = p.Evaluation.Prompts[:1] }, []string{"evaluation.prompts.1 left out"}, ""},
		{"model and data are filled in for every plan", func(p *Plan) { p.Model.Name, p.Data.Source = "mine", "gsm8k" }, nil, ""},
	} {
		before, err := Preset("mini")
		if err != nil {
			t.Fatal(err)
		}
		p, err := Preset("mini")
		if err != nil {
			t.Fatal(err)
		}
		c.change(&p)
		if err := p.Record(before); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(p.Overrides, c.overrides) {
			t.Errorf("%s: overrides %q, want %q", c.why, p.Overrides, c.overrides)
		}
		if c.question == "" {
			c.question = before.Question.Change
		}
		if !strings.HasPrefix(p.Question.Change, c.question) {
			t.Errorf("%s: the change is said to be %q, want %q", c.why, p.Question.Change, c.question)
		}
	}
}
