package mini

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"teamtalk/recipe/data"
)

// The preset's problems: how many, and the seed they come from. Changing either makes another preset.
const (
	ProblemSeed  = 7
	TrainCount   = 512
	HoldoutCount = 120
)

// The names of the two splits, as data.Problem carries them.
const (
	TrainSplit   = "train"
	HoldoutSplit = "holdout"
)

// Problem is one generated word problem with the steps that solve it.
type Problem struct {
	Question string
	Template int    // which of the templates, from 0
	Answer   int    // result of the last step, 1 to 99 like those before it
	steps    []step // two to four
}

// step is an operation with its numbers filled in.
type step struct {
	op   byte
	x, y operand
}

// operand is a number from the question, or, with from > 0, the result of step number from.
type operand struct{ number, from int }

func (o operand) value(results []int) int {
	if o.from > 0 {
		return results[o.from-1]
	}
	return o.number
}

// Steps is the number of operations it takes.
func (p Problem) Steps() int { return len(p.steps) }

// Draw makes a problem from a random stream: a template, two names, an object, a container, then numbers, drawn again
// until every step's result lies in 1 to 99.
func Draw(r *data.Rand) Problem {
	t := r.IntN(len(templates))
	who := r.Perm(len(names))[:2]
	fill := []string{
		"{n}", names[who[0]],
		"{m}", names[who[1]],
		"{o}", objects[r.IntN(len(objects))],
		"{ps}", containers[r.IntN(len(containers))],
	}
	for {
		numbers := make(map[string]int, len(variables))
		for _, v := range variables {
			numbers[v.name] = r.Between(v.lo, v.hi)
		}
		p := Problem{Template: t}
		for _, o := range templates[t].program {
			p.steps = append(p.steps, step{o.op, resolve(o.x, numbers), resolve(o.y, numbers)})
		}
		results, ok := p.solve()
		if !ok {
			continue
		}
		for _, v := range variables {
			fill = append(fill, "{"+v.name+"}", strconv.Itoa(numbers[v.name]))
		}
		p.Question = strings.NewReplacer(fill...).Replace(templates[t].text)
		p.Answer = results[len(results)-1]
		return p
	}
}

func resolve(name string, numbers map[string]int) operand {
	if v, ok := numbers[name]; ok {
		return operand{number: v}
	}
	if from, ok := strings.CutPrefix(name, "r"); ok {
		return operand{from: mustAtoi(from)}
	}
	return operand{number: mustAtoi(name)}
}

func mustAtoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(fmt.Sprintf("mini: a template names the operand %q: %v", s, err))
	}
	return n
}

// solve returns the right result of every step; ok is false if one leaves 1 to 99.
func (p Problem) solve() (results []int, ok bool) {
	for _, s := range p.steps {
		z := apply(s.op, s.x.value(results), s.y.value(results))
		if z < 1 || z > maxResult {
			return nil, false
		}
		results = append(results, z)
	}
	return results, true
}

func apply(op byte, x, y int) int {
	switch op {
	case '+':
		return x + y
	case '-':
		return x - y
	case '*':
		return x * y
	}
	panic(fmt.Sprintf("mini: unknown operation %q", op))
}

// preset draws the held-out problems first, then train problems that differ in text from them, and all from each other.
var preset = sync.OnceValue(func() data.Set {
	seen := make(map[string]bool)
	draw := func(split string, n int) []data.Problem {
		r := data.NewRand(ProblemSeed, "mini "+split)
		problems := make([]data.Problem, 0, n)
		for len(problems) < n {
			p := Draw(r)
			if text := data.Normalize(p.Question); !seen[text] {
				seen[text] = true
				problems = append(problems, data.NewProblem(split, len(problems), p.Question, strconv.Itoa(p.Answer)))
			}
		}
		return problems
	}
	holdout := draw(HoldoutSplit, HoldoutCount)
	return data.Set{Name: "mini", Train: draw(TrainSplit, TrainCount), Holdout: holdout}
})

// Problems are the preset's 512 train and 120 held-out problems, always the same. The slices are the caller's.
func Problems() data.Set {
	s := preset()
	return data.Set{Name: s.Name, Train: append([]data.Problem(nil), s.Train...), Holdout: append([]data.Problem(nil), s.Holdout...)}
}
