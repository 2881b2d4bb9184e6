package grader

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

func TestTalk(t *testing.T) {
	for _, c := range []struct {
		why, text string
		want      TalkCount
	}{
		{"a conversation", "Solver: 36\nChecker: ok\nSolver: so 36\nLead: \\boxed{36}", TalkCount{4, 3, true, "SCSL", 4, true, 3, 0}},
		{"one speaker again and again is one speaker", "Checker: a\nChecker: b\nChecker: c", TalkCount{3, 1, false, "CCC", 3, false, 0, 0}},
		{"nobody checks", "Solver: a\nLead: b\nSolver: c", TalkCount{3, 2, false, "SLS", 3, false, 2, 0}},
		{"bare labels talk, but not in substance", "Solver:\nChecker:\nLead:", TalkCount{3, 3, true, "SCL", 0, false, 2, 0}},
		{"words on the lines below are part of the turn", "Solver:\n\nfour rows\nChecker:\n- yes\nLead:\n\\[36\\]", TalkCount{3, 3, true, "SCL", 3, true, 2, 0}},
		{"text before the first turn belongs to nobody", "36 it is.\nSolver: ...", TalkCount{1, 1, false, "S", 0, false, 0, 0}},
		{"no-break and ideographic spaces", "\u00a0\u3000Solver\u00a0: 36", TalkCount{1, 1, false, "S", 1, false, 0, 0}},
		{"a separator that Python calls white space", "\x1cSolver: 36", TalkCount{1, 1, false, "S", 1, false, 0, 0}},
		{"the colon is on the next line", "Solver\n: 36", TalkCount{}},
		{"a lone carriage return ends no line", "Solver: 36\rChecker: ok", TalkCount{1, 1, false, "S", 1, false, 0, 0}},
		{"list numbers", "1. Solver: 36\n2) Checker: ok\n12. **Lead:** 36", TalkCount{NearMisses: 3}},
		{"other bullets", "+ Solver: 36\n• Checker: ok\n– Lead: 36\n| Lead: 36 |", TalkCount{NearMisses: 4}},
		{"other marks around the name", "_Solver_: 36\n`Checker:` ok\n[Lead]: 36\n\"Lead: 36\"\n<b>Lead:</b> 36\n<b>Lead</b>: 36\n(Lead): 36", TalkCount{NearMisses: 7}},
		{"spaces inside the bold", "** Solver **: 36", TalkCount{NearMisses: 1}},
		{"another case", "solver: 36\nCHECKER: ok", TalkCount{NearMisses: 2}},
		{"a fullwidth colon", "Solver：36", TalkCount{NearMisses: 1}},
		{"near misses among turns", "Solver: 36\n1. Checker: ok\nLead: 36", TalkCount{2, 2, false, "SL", 2, false, 1, 1}},
		{"no turn and no near miss", "Leader: 1\nTeam Lead: 2\nSolver 1: 3\nSolver (2): 4\nSolver - 5\nSolver says: 6\nAs Solver: 7\nѕolver: 8\n1 Solver: 9\n\u200bSolver: 10\n{\"speaker\": \"Lead\"}\n36", TalkCount{}},
		{"the order stops after 64 turns", strings.Repeat("Lead: a\n", 65), TalkCount{65, 1, false, strings.Repeat("L", 64) + "...", 65, false, 0, 0}},
	} {
		if got := Talk(c.text); got != c.want {
			t.Errorf("%s: %q\n got %+v\nwant %+v", c.why, c.text, got, c.want)
		}
	}
}

func TestOtherTeam(t *testing.T) {
	pair := Team{Speakers: []string{"Ann", "Anna"}, MinTurns: 2, MinSpeakers: 2}
	if got, want := pair.Count("Anna: a\nAnn: b"), (TalkCount{2, 2, true, "AA", 2, true, 1, 0}); got != want {
		t.Errorf("a name that begins another: got %+v, want %+v", got, want)
	}
	if got := (Team{}).Count("Solver: a"); got.Turns != 0 {
		t.Errorf("nobody speaks in a team of nobody: %+v", got)
	}
}

func TestTalkJSON(t *testing.T) {
	b, err := json.Marshal(Talk("Solver: a\nlead: b"))
	const want = `{"turns":1,"speakers":1,"talks":false,"order":"S","substantive":1,"talks_substantive":false,"switches":0,"near_misses":1}`
	if err != nil || string(b) != want {
		t.Errorf("got %s, want %s (%v)", b, want, err)
	}
}

// originTurn is the turn rule of the original experiment as one regular expression, with Python's white space spelled out
// and the colon on the name's line.
var originTurn = func() *regexp.Regexp {
	const space = `\t\v\f\r \x1c-\x1f\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}`
	return regexp.MustCompile(`(?m)^[\n` + space + `*#>-]*(Solver|Checker|Lead)\**[` + space + `]*:`)
}()

// FuzzTalk holds the counter, which goes line by line, against the original's pattern over the whole text.
func FuzzTalk(f *testing.F) {
	for _, s := range append(seedTexts, "Solver: a\n\n* **Checker**: b\n> Lead : c", "\n \n-\nSolver: a", "Solver\n: a", "--- Solver:: x", "\u00a0Lead:", "*Lead*:\r\n#Solver:", "\x85Lead:", "Lead\x1f:", "Lead:Lead:\n\nLead:") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Talk(text)
		order := ""
		speakers := map[string]bool{}
		matches := originTurn.FindAllStringSubmatch(text, -1)
		for i, m := range matches {
			speakers[m[1]] = true
			if i < maxOrder {
				order += m[1][:1]
			}
		}
		if len(matches) > maxOrder {
			order += "..."
		}
		talks := len(matches) >= 3 && len(speakers) >= 2 && speakers["Checker"]
		if got.Turns != len(matches) || got.Speakers != len(speakers) || got.Order != order || got.Talks != talks {
			t.Fatalf("%q: %+v, the pattern finds %d turns by %d (%s)", text, got, len(matches), len(speakers), order)
		}
		if got.Substantive > got.Turns || got.Switches > max(got.Turns-1, 0) || got.TalksSubstantive && !got.Talks {
			t.Fatalf("%q: %+v contradicts itself", text, got)
		}
	})
}
