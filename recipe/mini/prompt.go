package mini

// The system messages the base model knows. They are the mini preset's two arms.
const (
	SystemPlain = "Solve the problem step by step."
	SystemTeam  = "Solve the problem as a team."
)

// System is the system message of an example.
func System(team bool) string {
	if team {
		return SystemTeam
	}
	return SystemPlain
}
