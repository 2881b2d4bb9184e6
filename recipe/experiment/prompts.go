package experiment

// The system messages. A team described in prose is ignored by the 1.5B model (talk in no reply of 480); a form with one
// line per speaker is followed in four replies out of five, which is why the team prompt shows the form.
const (
	plainQwen = `Work through the problem step by step. Put the final number, and nothing else, inside \boxed{} at the end.`

	// Of four wordings this one had the most right answers among those that at least half of the replies followed, on 60 train
	// problems that no experiment uses: recipe/results/pilot.
	teamQwen = `Solver, Checker and Lead solve the problem by talking to each other. Write their conversation, one turn per line, in this form:

Solver: <one step, with its calculation>
Checker: <does the calculation again and says right, or gives the right number>
Solver: <the next step, with its calculation>
Checker: <does it again>
Lead: The answer is \boxed{<number>}

Start with Solver. Only these three speak. Take as many turns as the problem needs. The last line is Lead's, with the final number inside \boxed{}.`

	// The mini model was pretrained with these two, each in front of its own kind of reply.
	plainMini = `Solve the problem step by step.`
	teamMini  = `Solve the problem as a team.`
)
