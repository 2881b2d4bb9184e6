package mini

import "fmt"

// Mixture says which replies the base model is shown. All fields are probabilities. What the model does later at
// temperature 0.9 follows them closely, so they decide how much there is to gain: a guess is almost always wrong, because
// a model of this size cannot compute two steps in its head, and slips make worked replies wrong.
type Mixture struct {
	Team float64 // examples under the team prompt; the others are under the plain prompt

	TalkUnderPlain     float64 // conversations under the plain prompt
	MonologueUnderTeam float64 // monologues under the team prompt

	Guess float64 // replies without work: the right answer, which the model can only guess at

	WrongOperation float64 // steps that add where the problem subtracts, and so on; carried on with
	SlipMonologue  float64 // steps of a monologue with a wrong result
	SlipTalk       float64 // steps of a conversation with a wrong result
	Caught         float64 // slips of a conversation that the next speaker corrects; the others are carried on with
}

// DefaultMixture is what the embedded base model was made with.
var DefaultMixture = Mixture{
	Team:               0.5,
	TalkUnderPlain:     0.02,
	MonologueUnderTeam: 0.30,
	Guess:              0.25,
	WrongOperation:     0.08,
	SlipMonologue:      0.22,
	SlipTalk:           0.24,
	Caught:             0.20,
}

// Validate reports a field that is no probability.
func (m Mixture) Validate() error {
	for _, f := range []struct {
		name string
		p    float64
	}{
		{"Team", m.Team}, {"TalkUnderPlain", m.TalkUnderPlain}, {"MonologueUnderTeam", m.MonologueUnderTeam}, {"Guess", m.Guess},
		{"WrongOperation", m.WrongOperation}, {"SlipMonologue", m.SlipMonologue}, {"SlipTalk", m.SlipTalk}, {"Caught", m.Caught},
	} {
		if !(f.p >= 0 && f.p <= 1) {
			return fmt.Errorf("mini mixture: expected %s between 0 and 1, found %v", f.name, f.p)
		}
	}
	return nil
}
