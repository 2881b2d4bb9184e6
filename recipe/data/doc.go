// Package data holds what the experiments train and are measured on: problems with a gold number (GSM8K read from a
// folder, its files checked by SHA-256), the draw of train and held-out problems, the check that the two are disjoint,
// the order in which training sees the prompts, and the packing of token sequences into rows.
//
// Nothing here reads a clock or a global random source. Everything random is a Rand: a function of a seed, a name and
// a counter.
package data
