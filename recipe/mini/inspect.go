package mini

import (
	"regexp"
	"strconv"
	"strings"
)

// Reply is what can be told of a reply of the mini model besides its verdict and its turns.
type Reply struct {
	Worked bool // at least one step is written out
	Guess  bool // none is, and the reply says that it guesses
	Steps  int  // steps written out
	Slips  int  // of these, steps whose result is not what the operation gives
}

var writtenStep = regexp.MustCompile(`\b([0-9]{1,9})([-+*])([0-9]{1,9})=([0-9]{1,18})\b`)

// Inspect reads the steps of a reply.
func Inspect(reply string) Reply {
	var out Reply
	for _, m := range writtenStep.FindAllStringSubmatch(reply, -1) {
		x, _ := strconv.Atoi(m[1]) // the pattern leaves no way to fail
		y, _ := strconv.Atoi(m[3])
		z, _ := strconv.Atoi(m[4])
		out.Steps++
		if apply(m[2][0], x, y) != z {
			out.Slips++
		}
	}
	out.Worked = out.Steps > 0
	out.Guess = !out.Worked && strings.Contains(reply, ": guess ")
	return out
}
