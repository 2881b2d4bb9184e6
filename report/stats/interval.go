package stats

import (
	"encoding/json"
	"fmt"
	"math"
)

// Level is the confidence level of every interval unless its name says otherwise.
const Level = 0.95

const alpha = 1 - Level

// Scope is what an interval generalises to. The set is closed: Tasks, Runs, Both.
type Scope interface {
	key() string
	words() string
}

type (
	// Tasks: the trained models stay as they are, the tasks are a sample of tasks.
	Tasks struct{}
	// Runs: the recipe is trained again, the tasks stay as they are.
	Runs struct{}
	// Both: the recipe is trained again and other tasks are drawn. Claims about a recipe need this one.
	Both struct{}
)

func (Tasks) key() string   { return "ci_tasks" }
func (Runs) key() string    { return "ci_runs" }
func (Both) key() string    { return "ci_both" }
func (Tasks) words() string { return "over new tasks, for these models" }
func (Runs) words() string  { return "over new training runs, on these tasks" }
func (Both) words() string  { return "over new training runs and new tasks" }

// Interval is a confidence interval whose type says what it generalises to. It cannot be assigned or converted to an interval of
// another scope, its words come from the type, and For refuses another scope's name. The zero value is an interval that was not
// computed.
type Interval[S Scope] struct {
	_      [0]S // keeps the underlying types of two scopes different, so that a conversion does not compile
	lo, hi float64
	level  float64
	ok     bool
	plain  bool // of a share, which has no sign, rather than of a difference
	places int  // decimals in text less 3, which fits rates
	why    string
}

func around[S Scope](centre, half, level float64) Interval[S] {
	half = float64(half) // rounded here, since it arrives as a product
	return Interval[S]{lo: centre - half, hi: centre + half, level: level, ok: true}
}

func between[S Scope](lo, hi, level float64) Interval[S] {
	return Interval[S]{lo: lo, hi: hi, level: level, ok: true}
}

// ofShare is an interval of a number between 0 and 1; what lies outside cannot be.
func ofShare[S Scope](lo, hi float64) Interval[S] {
	return Interval[S]{lo: max(0, lo), hi: min(1, hi), level: Level, ok: true, plain: true}
}

func absent[S Scope](why string) Interval[S] { return Interval[S]{why: why} }

// None is no interval, for the reason given.
func None[S Scope](why string) Interval[S] { return absent[S](why) }

// OK reports whether there is an interval.
func (i Interval[S]) OK() bool { return i.ok }

// Lo is the lower end, NaN when there is no interval.
func (i Interval[S]) Lo() float64 { return i.end(i.lo) }

// Hi is the upper end, NaN when there is no interval.
func (i Interval[S]) Hi() float64 { return i.end(i.hi) }

// Half is half the width, NaN when there is no interval.
func (i Interval[S]) Half() float64 { return i.end((i.hi - i.lo) / 2) }

func (i Interval[S]) end(x float64) float64 {
	if !i.ok {
		return math.NaN()
	}
	return x
}

// Level is the confidence level, e.g. 0.95; 0 when there is no interval.
func (i Interval[S]) Level() float64 { return i.level }

// Why says why there is no interval to show; empty when there is one. An interval of no width has its ends, which report.json keeps, but is
// not shown: that nothing varied in the sample does not make the number exact.
func (i Interval[S]) Why() string {
	switch {
	case i.ok && i.lo == i.hi:
		return "nothing varied, so that its width cannot be estimated"
	case i.ok || i.why != "":
		return i.why
	}
	return "not computed"
}

// Key is the name of the scope in JSON and in prose bindings: ci_tasks, ci_runs or ci_both.
func (i Interval[S]) Key() string { var s S; return s.key() }

// Over is the scope in words, e.g. "over new training runs and new tasks".
func (i Interval[S]) Over() string { var s S; return s.words() }

// Shown is the interval, absent where Why says that there is none to show: text and JSON of a comparison both ask Why.
func (i Interval[S]) Shown() Interval[S] {
	if why := i.Why(); why != "" {
		return absent[S](why)
	}
	return i
}

// P is the p value that stands beside the interval, NaN where there is none to stand beside: without a width it would be 0 or 1 from
// nothing.
func (i Interval[S]) P(p float64) float64 {
	if i.Why() != "" {
		return math.NaN()
	}
	return p
}

// Contains reports whether x lies in the interval, its ends included. An interval that does not exist contains nothing.
func (i Interval[S]) Contains(x float64) bool { return i.ok && i.lo <= x && x <= i.hi }

// String is the interval with its level and its scope: "95% [−0.202, +0.452] over new training runs and new tasks".
func (i Interval[S]) String() string {
	if why := i.Why(); why != "" {
		return fmt.Sprintf("no interval %s: %s", i.Over(), why)
	}
	return fmt.Sprintf("%s %s %s", Percent(i.level, 0), i.pair(), i.Over())
}

// For is the bare pair "[−0.202, +0.452]" for a place that already names the scope, such as a table column headed ci_both or a
// sentence about new training runs. key is the scope that place names; another scope's key is an error, and so is an interval
// that Why says is not there, since the text around it would claim one.
func (i Interval[S]) For(key string) (string, error) {
	if key != i.Key() {
		return "", fmt.Errorf("interval of scope %s (%s) used where the text says %s: use the %s value, or change the text", i.Key(), i.Over(), key, key)
	}
	if why := i.Why(); why != "" {
		return "", fmt.Errorf("no %s here: %s", i.Key(), why)
	}
	return i.pair(), nil
}

// WithDecimals is the interval with another number of decimals in its text; 3 suits rates, 1 suits lengths.
func (i Interval[S]) WithDecimals(n int) Interval[S] {
	i.places = n - 3
	return i
}

func (i Interval[S]) pair() string {
	digits := i.places + 3
	return "[" + format(i.lo, digits, !i.plain) + ", " + format(i.hi, digits, !i.plain) + "]"
}

// Cut is the interval of a difference of shares for text: outside of −1 and +1 no such difference can lie. Files keep the ends as computed.
func (i Interval[S]) Cut() Interval[S] {
	if i.ok && i.lo < i.hi {
		i.lo, i.hi = max(-1, i.lo), min(1, i.hi)
	}
	return i
}

// MarshalJSON writes [lo, hi] at full precision, or null. What a reader takes as it stands is Shown before.
func (i Interval[S]) MarshalJSON() ([]byte, error) {
	if !i.ok {
		return []byte("null"), nil
	}
	return json.Marshal([2]float64{noNegativeZero(i.lo), noNegativeZero(i.hi)})
}
