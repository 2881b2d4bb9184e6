// Package cell is what the cells of the notebooks call: it reads runs and shows prompts, grades, tables, figures and parts of a
// report below the cell. It reads artifacts and never trains; package trial does that. Keeping the two apart keeps XLA out of
// most cells, and a cell that needs no XLA builds in a second.
//
// Every cell of a GoNB notebook is a program of its own. A mistake therefore ends the cell: [Must] and [OK] write it to
// standard error and exit with code 1. The functions that only show something do the same.
//
// Outside a notebook everything is printed as text, so that code can be moved from a cell into a program.
package cell

import (
	"fmt"
	"os"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"
)

// Must returns v, or ends the cell with err.
func Must[T any](v T, err error) T {
	OK(err)
	return v
}

// OK ends the cell if err is not nil.
func OK(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// output is one piece of what a cell shows: its richest form, and the same as text.
type output struct {
	mime protocol.MIMEType
	rich string
	text string
}

// show puts outputs below the cell, in order with what the cell printed before.
func show(outputs ...output) {
	for _, o := range outputs {
		if !gonbui.IsNotebook {
			fmt.Println(o.text)
			continue
		}
		data := map[protocol.MIMEType]any{o.mime: o.rich}
		if o.mime == protocol.MIMEImageSVG {
			data[protocol.MIMETextPlain] = o.text // what a figure shows, for whoever cannot see it
		}
		gonbui.SendData(&protocol.DisplayData{Data: data})
		gonbui.Sync()
		OK(gonbui.Error())
	}
}
