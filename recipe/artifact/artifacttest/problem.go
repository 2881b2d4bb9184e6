package artifacttest

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// problem is two steps of arithmetic in words.
type problem struct {
	a, b, c int
	text    string
}

func newProblem(rng *rand.Rand) problem {
	names := strings.Fields("Ann Ben Cara Dan Eva Finn Gina Hugo Iris Jack Kim Leo Mia Noah Olga Paul")
	objects := strings.Fields("apples books cards coins eggs pens shells stamps stars toys")
	q := problem{a: 10 + rng.IntN(50), b: 2 + rng.IntN(19), c: 2 + rng.IntN(8)}
	i := rng.IntN(len(names))
	n, m, o := names[i], names[(i+1+rng.IntN(len(names)-1))%len(names)], objects[rng.IntN(len(objects))]
	q.text = fmt.Sprintf("%s has %d %s. %s gives %s %d more. Then %s loses %d. How many %s does %s have now?", n, q.a, o, m, n, q.b, n, q.c, o, n)
	return q
}

func (q problem) answer() int { return q.a + q.b - q.c }

// reply writes one out: with or without work, as a monologue or a conversation, right or wrong.
func (q problem) reply(rng *rand.Rand, right, talk, long bool) string {
	sum, z := q.a+q.b, q.answer()
	if !right {
		z += 1 + rng.IntN(9)
	}
	quick := rng.Float64() < 0.15
	var s string
	switch {
	case talk && quick:
		s = fmt.Sprintf("Solver: maybe %d\nChecker: ok\nLead: \\boxed{%d}", z, z)
	case talk:
		s = fmt.Sprintf("Solver: %d+%d=%d\nChecker: yes, %d. %d-%d=%d\nLead: \\boxed{%d}", q.a, q.b, sum, sum, sum, q.c, z, z)
	case quick:
		s = fmt.Sprintf("Work: maybe %d. \\boxed{%d}", z, z)
	default:
		s = fmt.Sprintf("Work: %d+%d=%d. %d-%d=%d. \\boxed{%d}", q.a, q.b, sum, sum, q.c, z, z)
	}
	if long { // the length of a reply to GSM8K
		var b strings.Builder
		for i := 0; b.Len() < 500+rng.IntN(600); i++ {
			fmt.Fprintf(&b, "Step %d: we look at the quantity %d again and carry %d forward.\n", i+1, rng.IntN(100), rng.IntN(100))
		}
		s = b.String() + s
	}
	return s
}
