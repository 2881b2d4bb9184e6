// Package grader decides two things about a model's reply to a math word problem: whether its answer is right, and
// whether the reply is a conversation.
//
// # The answer
//
// MathEqual takes the generated text and the reference answer and returns a Verdict. A completion yields at most one
// value. Four policies are tried in order, and the verdict names the one that decided:
//
//	boxed        the last \boxed{...} or \fbox{...}; it never falls through: empty, unclosed or unclear is 0
//	hash         a line "#### 42" that holds one number and nothing else
//	answer_is    the last "answer is 42", "Answer: 42", "answer = 42"
//	last_number  the last number of the text, never a piece of a fraction, a time or a version
//
// The value found and the reference become exact rationals, and equal means equal: no floating point, no tolerance.
// Only literals are read; nothing is evaluated, so no completion can make the grader compute for long, and the time is
// linear in the length of the text. A percent sign and a unit are labels: 40% equals 40 and not 0.4.
// A reference that is not one number gives no reward at all (NoReward), neither 0 nor 1.
//
// The rule differs on purpose from Math-Verify with default settings, which merges boxes that stand close together into
// a set, divides percentages by 100, and falls back to an earlier number when the last box is empty or cut off.
//
// # The conversation
//
// Talk counts speaker turns: lines that begin with Solver:, Checker: or Lead:, with or without Markdown around the name.
// It is a metric and never part of the reward.
//
// Both are pure functions of their arguments, safe for any bytes and for concurrent use.
package grader
