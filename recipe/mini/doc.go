// Package mini is the preset that runs on any laptop: word problems that this project generates, replies written for
// them by program, and a model of 0.85 million parameters that was pretrained on such replies and is embedded here.
//
// What it can show: that the whole path works, how the curves of a GRPO run move, what the checks and intervals look
// like. What it cannot show: anything about language models at large. The base model has learnt two ways to answer, with
// work and with a guess, because its pretraining data was mixed so; that a reward for right answers makes the guesses
// disappear is built in. Which of the two formats, monologue or talk, survives depends on which of them branches first,
// so a change of its talk rate is not a finding either. Inspect tells worked replies from guesses, so that a report can
// give the share of guesses and the accuracy of worked replies beside pass@1.
//
// Held-out problems are disjoint from all others by text. They are not disjoint by numbers: with 20 templates and small
// numbers, the pretraining data holds the same sums under other names.
package mini
