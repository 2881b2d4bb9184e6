package grader

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Team says whose turns are counted and when turns make a conversation.
type Team struct {
	Speakers    []string // exact names, told apart by case
	Checker     string   // a conversation needs a turn of this speaker; empty: of nobody in particular
	MinTurns    int
	MinSpeakers int
}

// DefaultTeam is the team of the first experiment: Solver, Checker and Lead; at least three turns by at least two speakers,
// Checker among them.
func DefaultTeam() Team {
	return Team{Speakers: []string{"Solver", "Checker", "Lead"}, Checker: "Checker", MinTurns: 3, MinSpeakers: 2}
}

// TalkCount is how a reply is divided into turns. Its JSON names are the ones artifacts and reports use.
type TalkCount struct {
	Turns       int    `json:"turns"`
	Speakers    int    `json:"speakers"` // different ones
	Talks       bool   `json:"talks"`
	Order       string `json:"order"`       // initials of the speakers, turn by turn; "..." after the 64th
	Substantive int    `json:"substantive"` // turns with a letter or digit in them
	// TalksSubstantive is Talks counted over substantive turns alone: bare labels and an echo of the prompt's "..." do not talk.
	TalksSubstantive bool `json:"talks_substantive"`
	Switches         int  `json:"switches"`    // turns whose speaker is not that of the turn before
	NearMisses       int  `json:"near_misses"` // lines that look like a turn and are none: "1. Lead:", "lead:", "_Lead_:"
}

const maxOrder = 64

// Talk counts the turns of a reply for the default team.
func Talk(reply string) TalkCount { return DefaultTeam().Count(reply) }

// Count counts the turns of a reply. A turn begins with a line that starts with any run of white space and * # > -, then a
// speaker's exact name, any *, white space and a colon; it ends where the next one begins. Lines end at a line feed only.
// The time is linear in the length of the reply.
func (team Team) Count(reply string) TalkCount {
	var c TalkCount
	var order strings.Builder
	spoke := make([]bool, len(team.Speakers))       // has a turn
	substantive := make([]bool, len(team.Speakers)) // has a substantive turn
	speaker, pending := -1, false                   // of the open turn; pending: it has no letter or digit yet
	for len(reply) > 0 {
		line, rest, _ := strings.Cut(reply, "\n")
		reply = rest
		who, content := team.turn(line)
		if who < 0 {
			if team.nearMiss(line) {
				c.NearMisses++
			}
			content = line
		} else {
			c.Turns++
			if !spoke[who] {
				spoke[who] = true
				c.Speakers++
			}
			if speaker >= 0 && who != speaker {
				c.Switches++
			}
			if c.Turns <= maxOrder {
				r, _ := utf8.DecodeRuneInString(team.Speakers[who])
				order.WriteRune(r)
			}
			speaker, pending = who, true
		}
		if pending && hasWord(content) {
			c.Substantive++
			substantive[speaker], pending = true, false
		}
	}
	if c.Order = order.String(); c.Turns > maxOrder {
		c.Order += "..."
	}
	c.Talks = team.talks(c.Turns, spoke)
	c.TalksSubstantive = team.talks(c.Substantive, substantive)
	return c
}

func (team Team) talks(turns int, spoke []bool) bool {
	speakers, checked := 0, team.Checker == ""
	for i, s := range spoke {
		if s {
			speakers++
			checked = checked || team.Speakers[i] == team.Checker
		}
	}
	return turns >= team.MinTurns && speakers >= team.MinSpeakers && checked
}

// turn returns the index of the speaker whose turn the line begins, and what is said on it; -1 if it begins none.
func (team Team) turn(line string) (who int, content string) {
	s := line
	for {
		s = strings.TrimLeft(s, " *#>-")
		r, n := utf8.DecodeRuneInString(s)
		if n == 0 {
			return -1, ""
		}
		if !lineSpace(r) {
			break
		}
		s = s[n:]
	}
	for i, name := range team.Speakers {
		rest, ok := strings.CutPrefix(s, name)
		if !ok {
			continue
		}
		rest = strings.TrimLeftFunc(strings.TrimLeft(rest, "*"), lineSpace)
		if content, ok := strings.CutPrefix(rest, ":"); ok {
			return i, content
		}
	}
	return -1, ""
}

// lineSpace reports Python's white space (\s), which the counter of the original experiment was written with; Go's \s is
// ASCII only. The line feed is not among them: it ends the line.
func lineSpace(r rune) bool {
	return r != '\n' && (r >= 0x1c && r <= 0x1f || unicode.IsSpace(r))
}

// hasWord reports a letter or digit of any script.
func hasWord(s string) bool {
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return true
		}
	}
	return false
}
