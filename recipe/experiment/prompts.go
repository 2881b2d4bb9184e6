package experiment

// The system messages. A team described in prose is ignored by the 1.5B model (talk in no reply of 480); a form with one
// line per speaker is followed in four replies out of five, which is why the team prompt shows the form.
const (
	plainQwen = `Work through the problem step by step. Put the final number, and nothing else, inside \boxed{} at the end.`

	teamQwen = `Solver, Checker and Lead solve the problem by talking to each other. Write their conversation, one turn per line, in this form:

Solver: <works out a step>
Checker: <recomputes it and agrees or corrects it>
Solver: <next step>
Checker: <checks>
Lead: <states the result> \boxed{<number>}

Start with Solver. Only these three speak. Lead has the last turn and writes the final number inside \boxed{}.`

	// The mini model was pretrained with these two, each in front of its own kind of reply.
	plainMini = `Solve the problem step by step.`
	teamMini  = `Solve the problem as a team.`
)
