package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// idLine is one line {"ids":[..]} and what is answered to it.
type idLine struct {
	number int // of the line, from 1
	place  int // among the lines that are not blank, from 0
	ids    []int32
	start  *int     // "start", where it is read
	others []byte   // the line's other fields, as they were and in their order: "name":value,
	answer [][]byte // fields that take the place of those read, one output line for each; nil: not answered
}

// parseIDLine reads a line of ids below vocab. The fields named in replaced are left out of others, beside "ids"; "start" is
// read if it is among them.
func parseIDLine(in []byte, vocab int, replaced ...string) (*idLine, error) {
	var whole json.RawMessage
	if err := parseLine(in, &whole); err != nil {
		return nil, err
	}
	if in[0] != '{' {
		return nil, fmt.Errorf(`not the JSON object expected: want {"ids": [..]}, found %.40q`, in)
	}
	l := &idLine{}
	var ids *[]int64
	seen := map[string]bool{}
	d := json.NewDecoder(bytes.NewReader(in))
	d.Token() // the brace; in is known to be one valid object, so none of the tokens can fail
	for d.More() {
		key, _ := d.Token()
		name, _ := key.(string)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		if name != "ids" && !slices.Contains(replaced, name) {
			var err error
			if l.others, err = appendJSON(l.others, name); err != nil {
				return nil, err
			}
			l.others = append(append(append(l.others, ':'), value...), ',')
			continue
		}
		if seen[name] {
			return nil, fmt.Errorf("%q occurs twice: want it once", name)
		}
		seen[name] = true
		var err error
		switch name {
		case "ids":
			if err = json.Unmarshal(value, &ids); err != nil {
				err = fmt.Errorf(`"ids" is %.40s: want a list of whole numbers`, value)
			}
		case "start":
			if err = json.Unmarshal(value, &l.start); err != nil {
				err = fmt.Errorf(`"start" is %.40s: want a whole number`, value)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	if ids == nil {
		return nil, errors.New(`no "ids": want {"ids": [..]}`)
	}
	if len(*ids) == 0 {
		return nil, errors.New(`"ids" is empty: want at least one id`)
	}
	for i, id := range *ids {
		if id < 0 || id >= int64(vocab) {
			return nil, fmt.Errorf("ids[%d] is %d, outside the model's vocabulary of 0 to %d", i, id, vocab-1)
		}
		l.ids = append(l.ids, int32(id))
	}
	return l, nil
}

// idLines reads lines in windows of up to size and has each window answered together; the answers are written in the order of
// the lines. It stops at the first line that parse refuses or answer fails on: the answered lines before it are written.
func idLines(ctx context.Context, stdin io.Reader, stdout io.Writer, size int, parse func(in []byte) (*idLine, error), answer func(window []*idLine) error) error {
	r, w := bufio.NewReaderSize(stdin, 1<<16), bufio.NewWriterSize(stdout, 1<<16)
	number, place := 1, 0
	for more := true; more; {
		var window []*idLine
		var stop error
		for len(window) < size && more && stop == nil {
			if stop = ctx.Err(); stop != nil {
				break
			}
			in, err := r.ReadBytes('\n')
			if more = err == nil; err != nil && err != io.EOF {
				stop = err
				break
			}
			if in = bytes.TrimSpace(in); len(in) > 0 {
				l, err := parse(in)
				if err != nil {
					stop = fmt.Errorf("line %d: %w", number, err)
					break
				}
				l.number, l.place = number, place
				window = append(window, l)
				place++
			}
			number++
		}
		if len(window) > 0 {
			if err := answer(window); err != nil {
				stop = errors.Join(err, stop)
			}
		}
		for _, l := range window {
			if l.answer == nil {
				break
			}
			for _, fields := range l.answer {
				w.WriteByte('{')
				w.Write(l.others)
				w.Write(fields)
				w.WriteString("}\n")
			}
		}
		if err := errors.Join(stop, w.Flush()); err != nil {
			return err
		}
	}
	return nil
}

// byWidth groups lines by the bucket of their ids, narrowest first; within one in the lines' order.
func byWidth(window []*idLine) (widths []int, lines map[int][]*idLine) {
	lines = map[int][]*idLine{}
	for _, l := range window {
		b := bucket(len(l.ids))
		if lines[b] == nil {
			widths = append(widths, b)
		}
		lines[b] = append(lines[b], l)
	}
	slices.Sort(widths)
	return widths, lines
}

// appendInts appends "name":[..].
func appendInts(out []byte, name string, ids []int32) []byte {
	out = append(strconv.AppendQuote(out, name), ":["...)
	for i, id := range ids {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, int64(id), 10)
	}
	return append(out, ']')
}

// appendFloats appends "name":[..], each with the fewest digits that give the same float32 back.
func appendFloats(out []byte, name string, x []float32) []byte {
	out = append(strconv.AppendQuote(out, name), ":["...)
	for i, v := range x {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendFloat(out, float64(v), 'g', -1, 32)
	}
	return append(out, ']')
}
