package grader

import (
	"errors"
	"math/big"
	"strings"
)

// PercentRule says what "40%" means.
type PercentRule int

const (
	PercentLabel  PercentRule = iota // 40: the sign is a label
	PercentDivide                    // 0.4, as Math-Verify reads it
	PercentReject                    // not an answer
)

// Rule is a configuration of the grader. The zero Rule is the default one, which MathEqual applies.
type Rule struct {
	Policies    []Policy    // tried in order; nil means boxed, hash, answer_is, last_number
	Percent     PercentRule // what a percent sign does, in the completion and in the reference alike
	ReducedOnly bool        // refuse fractions that are not in lowest terms, as prm800k does
	FirstHash   bool        // take the first "####" line and not the last: for base models that run on into new questions
}

var defaultPolicies = []Policy{Boxed, Hash, AnswerIs, LastNumber}

// BoxedOnly returns the rule that pays a box and nothing else.
func BoxedOnly() Rule { return Rule{Policies: []Policy{Boxed}} }

// MathEqual grades a completion, which is the generated text without the prompt, against the reference answer gold under
// the default Rule. gold is a number in any spelling that a box may hold, or a GSM8K solution that ends in "#### number".
// If gold is not one number the verdict has NoReward and the reason GoldUnparsable.
func MathEqual(completion, gold string) Verdict { return Rule{}.Grade(completion, gold) }

// Grade is MathEqual under rule r.
func (r Rule) Grade(completion, gold string) Verdict {
	want, err := r.ParseGold(gold)
	if err != nil {
		return Verdict{Reward: NoReward, Policy: NoPolicy, Reason: GoldUnparsable}
	}
	a := r.Extract(completion)
	v := a.Verdict
	switch {
	case a.Value == nil:
	case a.Value.Cmp(want) == 0:
		v.Reward, v.Reason = Right, Equal
	default:
		v.Reason = NotEqual
	}
	return v
}

// Answer is what a completion says, before it is compared.
type Answer struct {
	Value *big.Rat // nil when there is none; Reason then says why
	// Verdict is complete but for the comparison: its reward is 0, and its reason is empty if there is a value.
	Verdict Verdict
}

// Extract finds the one value that a completion commits to.
func (r Rule) Extract(completion string) Answer {
	a := Answer{Verdict: Verdict{Policy: NoPolicy}}
	if len(completion) > MaxBytes {
		a.refuse(LimitSize)
		return a
	}
	text, ok := replyText(completion)
	if !ok {
		a.Verdict.Truncated = true
		a.refuse(ThinkUnclosed)
		return a
	}
	a.Verdict.Boxes, a.Verdict.DistinctBoxes = countBoxes(text)
	policies := r.Policies
	if policies == nil {
		policies = defaultPolicies
	}
	for _, p := range policies {
		found, rd := r.apply(p, text)
		if !found {
			continue
		}
		a.Verdict.Policy = p
		a.take(r.finish(rd))
		return a
	}
	a.refuse(NoAnswer)
	return a
}

// apply runs one policy over the folded text. found is false when the policy has nothing to decide on.
func (r Rule) apply(p Policy, text string) (found bool, rd reading) {
	switch p {
	case Boxed:
		return readBoxed(text)
	case Hash:
		return readHash(text, r.FirstHash)
	case AnswerIs:
		return readAnswerIs(text)
	case LastNumber:
		return readLastNumber(text)
	}
	return false, reading{}
}

// finish applies the options to what was read.
func (r Rule) finish(rd reading) reading {
	if rd.value == nil {
		return rd
	}
	if rd.percent {
		switch r.Percent {
		case PercentDivide:
			rd.value = new(big.Rat).Quo(rd.value, big.NewRat(100, 1))
		case PercentReject:
			rd.value, rd.reason = nil, Percentage
		}
	}
	if r.ReducedOnly && rd.unreduced {
		rd.value, rd.reason = nil, Unreduced
	}
	return rd
}

func (a *Answer) take(rd reading) {
	v := &a.Verdict
	v.HasPercent, v.HasUnit = rd.percent, rd.unit
	if rd.value == nil {
		a.refuse(rd.reason)
		v.Truncated = rd.reason == BoxUnclosed
		return
	}
	a.Value, v.Form = rd.value, rd.form
}

func (a *Answer) refuse(why Reason) {
	a.Verdict.Reason = why
	a.Verdict.Limit, _ = strings.CutPrefix(string(why), "limit:")
	if a.Verdict.Limit == string(why) {
		a.Verdict.Limit = ""
	}
}

var errGold = errors.New("grader: reference answer: expected one number (such as 42, 1,250, 3.5, 7/4 or \"... #### 42\"), " +
	"found something else; correct it or leave the sample out")

// ParseGold reads a reference answer. Data loaders call it once per problem, so that an unusable reference fails the run
// at load time and not in training. The error does not quote the reference.
func (r Rule) ParseGold(gold string) (*big.Rat, error) {
	if len(gold) > MaxBytes {
		return nil, errGold
	}
	s := fold(gold)
	if i := strings.LastIndex(s, "####"); i >= 0 {
		s = s[i+len("####"):]
		s, _, _ = strings.Cut(strings.TrimLeft(s, " \t"), "\n")
	}
	s = strings.Trim(s, " \t\r\n,$\u2009")
	rd := r.finish(readSpan(s, true))
	if rd.value == nil {
		return nil, errGold
	}
	return rd.value, nil
}
