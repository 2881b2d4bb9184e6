package page

import "strings"

// Diff shows which lines a text loses and gains, in the form of a unified diff without numbers: "-old", "+new". The Markdown
// has one sentence per line, so that a line is a sentence.
func Diff(old, now string) []string {
	a, b := strings.Split(old, "\n"), strings.Split(now, "\n")
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	// Longest common subsequence; what is left after the common ends is small, and bounded for a text that was rewritten.
	const most = 3000
	a, b = a[:min(len(a), most)], b[:min(len(b), most)]
	next := make([][]int16, len(a)+1)
	for i := range next {
		next[i] = make([]int16, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				next[i][j] = next[i+1][j+1] + 1
			} else {
				next[i][j] = max(next[i+1][j], next[i][j+1])
			}
		}
	}
	var out []string
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j = i+1, j+1
		case j >= len(b) || i < len(a) && next[i+1][j] >= next[i][j+1]:
			out = append(out, "-"+a[i])
			i++
		default:
			out = append(out, "+"+b[j])
			j++
		}
	}
	return out
}
