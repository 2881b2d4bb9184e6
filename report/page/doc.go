// Package page makes the write-up of a run: report.md, the report.html made from it, report.json with every number, and what belongs to
// them.
//
// The prose is templates (prose/), and a number in prose is a binding: a JSON pointer into report.json and a format. The binding writes the
// number and leaves a [Claim] behind: which number, from which artifacts, at which place of report.md. [Lint] finds digits that no claim
// covers; [Verify] formats every claim again from report.json. A sentence about a difference comes whole from stats, whose intervals carry
// their scope as a type.
//
// Markdown is the source: HTML is goldmark's rendering of it plus the page around it. What models wrote goes into the page only as fenced
// text or as compressed data that the page's script shows as text; see Visible.
//
// The output is a function of the run folder: no clock, no network, no locale, no path, no map order.
package page
