package grader

import (
	"bytes"
	"fmt"
)

// Reward is what a completion earns: Wrong (0), Right (1), or NoReward when the reference answer cannot be used.
// In JSON it is 0, 1 or null.
type Reward int8

const (
	Wrong Reward = 0
	Right Reward = 1
	// NoReward means that the sample must be left out: the reference answer is not one number. It is not a score.
	NoReward Reward = -1
)

// Float returns the reward as a number, and false when there is none.
func (r Reward) Float() (float64, bool) {
	if r == NoReward {
		return 0, false
	}
	return float64(r), true
}

// MarshalJSON writes 0, 1 or null.
func (r Reward) MarshalJSON() ([]byte, error) {
	switch r {
	case Wrong:
		return []byte("0"), nil
	case Right:
		return []byte("1"), nil
	case NoReward:
		return []byte("null"), nil
	}
	return nil, fmt.Errorf("grader: reward is %d, expected 0, 1 or NoReward", int8(r))
}

// UnmarshalJSON reads 0, 1 or null.
func (r *Reward) UnmarshalJSON(b []byte) error {
	switch string(bytes.TrimSpace(b)) {
	case "0":
		*r = Wrong
	case "1":
		*r = Right
	case "null":
		*r = NoReward
	default:
		return fmt.Errorf("grader: reward is %.20q in JSON, expected 0, 1 or null", b)
	}
	return nil
}

// Policy is a way to find the answer in a completion.
type Policy string

const (
	Boxed      Policy = "boxed"
	Hash       Policy = "hash"
	AnswerIs   Policy = "answer_is"
	LastNumber Policy = "last_number"
	// NoPolicy is reported when no policy found anything to decide on.
	NoPolicy Policy = "none"
)

// Form is how the answer was written.
type Form string

const (
	Integer    Form = "integer" // also the hour of a clock time, 7:00
	Decimal    Form = "decimal"
	Fraction   Form = "fraction"
	Mixed      Form = "mixed"
	Scientific Form = "scientific"
)

// Reason says in one word why a verdict is what it is. It is one of the constants below and never quotes the reference.
type Reason string

const (
	Equal          Reason = "equal"
	NotEqual       Reason = "not_equal"
	GoldUnparsable Reason = "gold_unparsable"
	NoAnswer       Reason = "no_answer"      // no policy found a number
	BoxEmpty       Reason = "box_empty"      // the last box holds nothing
	BoxUnclosed    Reason = "box_unclosed"   // the last box never closes
	ThinkUnclosed  Reason = "think_unclosed" // <think> without </think>
	NotANumber     Reason = "not_a_number"   // words, symbols, other scripts' digits, 0x6, a version
	NumberWord     Reason = "number_word"    // six; also 18 (nine each)
	Prose          Reason = "prose"          // words before the number that are not a label
	Negated        Reason = "negated"        // the answer is not 42
	Several        Reason = "several_values" // 5 or 6, 3 hours 30 minutes, (6, 4)
	Expression     Reason = "expression"     // 40+24, 8^2, \sqrt{4096}: not evaluated
	Inequality     Reason = "inequality"
	BadGrouping    Reason = "bad_grouping" // 12,50
	Ratio          Reason = "ratio_or_time"
	ZeroDivision   Reason = "zero_denominator"
	UnknownUnit    Reason = "unknown_unit" // 5k, 6x, 3 and a half: a hidden factor or value
	Percentage     Reason = "percent"      // only under RejectPercent
	Unreduced      Reason = "unreduced"    // only under ReducedOnly

	LimitSize     Reason = "limit:size"     // completion over MaxBytes
	LimitSpan     Reason = "limit:span"     // answer over MaxSpan characters
	LimitDigits   Reason = "limit:digits"   // run of more than MaxDigits digits
	LimitExponent Reason = "limit:exponent" // power of ten beyond MaxExponent
	LimitDepth    Reason = "limit:depth"    // braces deeper than MaxDepth
)

// Bounds on what is read. They keep every step linear; beyond one the verdict is 0 with the limit as its reason.
const (
	MaxBytes       = 4 << 20 // completion, bytes
	MaxSpan        = 512     // answer span, characters
	MaxDigits      = 256     // one run of digits
	MaxExponent    = 400     // absolute power of ten
	MaxDepth       = 32      // nested braces in an answer span
	MaxHashMarkers = 16      // "####" markers tried
	maxDistinct    = 256     // different boxes told apart
)

// Verdict is the grade of one completion. Its JSON names are the ones artifacts and reports use.
type Verdict struct {
	Reward        Reward `json:"reward"`
	Policy        Policy `json:"policy"`
	Reason        Reason `json:"reason"`
	Form          Form   `json:"form,omitempty"` // set when a value was read
	HasPercent    bool   `json:"has_percent"`
	HasUnit       bool   `json:"has_unit"`        // a currency sign or unit words
	Boxes         int    `json:"boxes"`           // boxes in the text, the last unclosed one included
	DistinctBoxes int    `json:"distinct_boxes"`  // boxes with different values (or texts, if not numbers); stops at 256
	Truncated     bool   `json:"truncated"`       // the text breaks off inside a box or inside <think>
	Limit         string `json:"limit,omitempty"` // the bound that was hit: size, span, digits, exponent, depth
}

// BoxedOnly returns the reward under the rule that pays a box and nothing else. Boxed comes first in the default chain
// and never falls through, so the verdict of the default chain already holds it.
func (v Verdict) BoxedOnly() Reward {
	if v.Reward == Right && v.Policy != Boxed {
		return Wrong
	}
	return v.Reward
}
