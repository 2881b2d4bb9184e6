package page

import (
	"os"
	"strings"
	"testing"
)

func TestTheBuiltInProseHasNoNakedNumber(t *testing.T) {
	ps, err := LintProse()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range ps {
		t.Error(p)
	}
}

func TestLintOfAWholeReport(t *testing.T) {
	files := mustBuild(t, os.DirFS(syntheticRun(t, small())), Options{})
	for _, p := range Lint("report.md", string(files["report.md"]), claimsOf(t, files).Claims) {
		t.Error(p)
	}
}

func TestLintFinds(t *testing.T) {
	bound := Claim{Text: "0.75", Line: 1, Column: 9, Pointer: "/x"}
	for _, c := range []struct {
		why    string
		md     string
		claims []Claim
		want   []Kind
	}{
		{"a bound number", "pass is 0.75", []Claim{bound}, nil},
		{"a typed one", "pass is 0.75", nil, []Kind{NakedNumber}},
		{"a typed one beside a bound one", "pass is 0.75, up 3 points", []Claim{bound}, []Kind{NakedNumber}},
		{"a number that was changed after it was bound", "pass is 0.76", []Claim{bound}, []Kind{WrongClaim, NakedNumber}},
		{"a claim beyond the end of its line", "pass", []Claim{bound}, []Kind{WrongClaim}},
		{"names that hold digits", "pass@4 on GSM8K, Table 3, Figure 12, SHA-256", nil, nil},
		{"a name with other digits", "pass@4 on GSM8K2", nil, []Kind{NakedNumber, NakedNumber}},
		{"code and fences are quotations", "`r=32` and\n\n```sh\nrun -seed 17\n```\n", nil, nil},
		{"a longer fence holds a shorter one", "````\n```\n17\n````\n", nil, nil},
		{"text after a fence is read again", "```\n17\n```\n18", nil, []Kind{NakedNumber}},
		{"a fence that is never closed would hide the rest", "```\n17", nil, []Kind{UnfinishedText}},
		{"code with two backticks", "``a ` 17`` 18", nil, []Kind{NakedNumber}},
		{"list marks", "1. one\n2. two", nil, nil},
		{"a number at the end of a line that begins with one", "1. one of 2", nil, []Kind{NakedNumber}},
		{"a percentage", "by 13%", nil, []Kind{NakedNumber}},
		{"a table cell", "**Table 1.** x\n\n| a |\n|---|\n| 7 |", nil, []Kind{NakedNumber}},
		{"a citation with an entry", "so [1]\n\n## References\n\n1. A. 2024.", nil, nil},
		{"a dead one", "so [2]\n\n## References\n\n1. A.", nil, []Kind{DeadReference, UnusedEntry}},
		{"an entry nobody cites", "so [1]\n\n## References\n\n1. A.\n2. B.", nil, []Kind{UnusedEntry}},
		{"numbers not in the order of first use", "so [2] and [1]\n\n## References\n\n1. A.\n2. B.", nil, []Kind{UnorderedCite}},
		{"a figure with both texts", "![what it shows](figures/a.svg)\n\n**Figure 1.** x", nil, nil},
		{"a figure without a description", "![](figures/a.svg)\n\n**Figure 1.** x", nil, []Kind{SilentFigure}},
		{"a figure without a caption", "![what it shows](figures/a.svg)\n\nx", nil, []Kind{SilentFigure}},
		{"a table without a caption", "x\n\n| a |\n|---|\n| b |", nil, []Kind{NamelessTable}},
		{"an unfinished sentence", "TODO say why", nil, []Kind{UnfinishedText}},
		{"a percentage in words", "ten percent better, twenty-five per cent worse", nil, []Kind{NumberInWords, NumberInWords}},
		{"a multiple in words", "twofold, a ten-fold gain, three times as good", nil, []Kind{NumberInWords, NumberInWords, NumberInWords}},
		{"a share in words", "Half of the runs, a third of the tasks, three quarters of the replies", nil, []Kind{NumberInWords, NumberInWords, NumberInWords}},
		{"points in words", "by two points", nil, []Kind{NumberInWords}},
		{"number words that claim no quantity", "one of several, two arms, the first quarter of the steps, many times, a percent sign, at one point, half a sentence, sometimes", nil, nil},
		{"the power of a design, which is its definition", "a true difference is found four times in five", nil, nil},
		{"another frequency", "it talks three times in five", nil, []Kind{NumberInWords}},
		{"a quotation and code", "`half of`\n\n```\nhalf of the apples\n```\n", nil, nil},
		{"a bound text", "pass is half of it", []Claim{{Text: "half of it", Line: 1, Column: 9, Pointer: "/x"}}, nil},
		{"characters outside ASCII before a number", "− é 5", nil, []Kind{NakedNumber}},
	} {
		got := Lint("x.md", c.md, c.claims)
		ok := len(got) == len(c.want)
		for i := range got {
			ok = ok && got[i].Kind == c.want[i]
		}
		if !ok {
			t.Errorf("%s: %q: got %v, want %v", c.why, c.md, got, c.want)
		}
	}
}

func TestLintTemplate(t *testing.T) {
	for _, c := range []struct {
		text string
		want string // in the problem; empty for none
	}{
		{`It is {{b "+3" "contrasts" "primary" "delta"}}.`, ""},
		{`{{if .X}}It is 13 points.{{else}}{{end}}`, "13"}, // a branch that no run has taken
		{`{{table "arms"}} in 40 steps`, "40"},
		{`{{if .X}}It is twofold.{{end}}`, "twofold"},
		{`Replies are {{b "1" "evals" "a" "tokens"}} times as long.`, ""},
	} {
		got := LintTemplate("x.md", c.text)
		if (len(got) > 0) != (c.want != "") || len(got) > 0 && !strings.Contains(got[0].Text, c.want) {
			t.Errorf("%q: %v, want %q", c.text, got, c.want)
		}
	}
}
