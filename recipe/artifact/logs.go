package artifact

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// appender is a log that grows by one block per step; a block is a line or a gzip member. It knows where each block ends, so that a torn
// end and the steps after a checkpoint can be cut.
type appender struct {
	f     *os.File
	steps []int   // of the blocks
	ends  []int64 // offsets just after the blocks
}

// scanner returns the steps and ends of the whole blocks at the beginning of data; what follows the last end is torn.
type scanner func(data []byte) (steps []int, ends []int64)

func openAppender(name string, scan scanner) (*appender, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("artifact: %w", err)
	}
	a := &appender{f: f}
	data, err := io.ReadAll(f)
	if err == nil {
		a.steps, a.ends = scan(data)
		if a.end() < int64(len(data)) {
			err = a.truncate()
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("artifact: %s: %w", name, err)
	}
	return a, nil
}

func (a *appender) last() int {
	if len(a.steps) == 0 {
		return 0
	}
	return a.steps[len(a.steps)-1]
}

func (a *appender) end() int64 {
	if len(a.ends) == 0 {
		return 0
	}
	return a.ends[len(a.ends)-1]
}

func (a *appender) truncate() error {
	if err := a.f.Truncate(a.end()); err != nil {
		return err
	}
	return a.f.Sync()
}

func (a *appender) append(step int, block []byte) error {
	if step != a.last()+1 {
		return fmt.Errorf("artifact: %s: step %d cannot follow step %d; cut the log to the checkpoint first", a.f.Name(), step, a.last())
	}
	if _, err := a.f.WriteAt(block, a.end()); err != nil {
		// A full disk leaves a torn block; take it back so that the log stays whole.
		return fmt.Errorf("artifact: %w", errors.Join(err, a.truncate()))
	}
	if err := a.f.Sync(); err != nil {
		return fmt.Errorf("artifact: %w", err)
	}
	a.ends = append(a.ends, a.end()+int64(len(block)))
	a.steps = append(a.steps, step)
	return nil
}

func (a *appender) cutAfter(step int) error {
	n := len(a.steps)
	for n > 0 && a.steps[n-1] > step {
		n--
	}
	a.steps, a.ends = a.steps[:n], a.ends[:n]
	if a.last() != step {
		return fmt.Errorf("artifact: %s is whole up to step %d, expected step %d: resume from an earlier checkpoint", a.f.Name(), a.last(), step)
	}
	if err := a.truncate(); err != nil {
		return fmt.Errorf("artifact: %w", err)
	}
	return nil
}

func (a *appender) Close() error { return a.f.Close() }

// stepOf reads "step" of a line of JSON; ok is false when the line is not whole.
func stepOf(line []byte) (step int, ok bool) {
	var v struct{ Step int }
	if json.Unmarshal(line, &v) != nil {
		return 0, false
	}
	return v.Step, true
}

// scanLines finds whole lines of JSON whose steps count up by one.
func scanLines(data []byte) (steps []int, ends []int64) {
	for at := 0; ; {
		n := bytes.IndexByte(data[at:], '\n')
		if n < 0 {
			return steps, ends
		}
		s, ok := stepOf(data[at : at+n])
		if !ok || s != len(steps)+1 {
			return steps, ends
		}
		at += n + 1
		steps, ends = append(steps, s), append(ends, int64(at))
	}
}

// scanMembers finds whole gzip members; a member's step is that of its first line.
func scanMembers(data []byte) (steps []int, ends []int64) {
	src := bytes.NewReader(data) // an io.ByteReader: gzip reads no further than the member's end
	var zr gzip.Reader
	for src.Len() > 0 {
		if zr.Reset(src) != nil {
			break
		}
		zr.Multistream(false)
		br := bufio.NewReader(&zr)
		first, err := br.ReadBytes('\n')
		if err != nil {
			break
		}
		if _, err := io.Copy(io.Discard, br); err != nil {
			break
		}
		s, ok := stepOf(first)
		if !ok || s != len(steps)+1 {
			break
		}
		steps, ends = append(steps, s), append(ends, int64(len(data)-src.Len()))
	}
	return steps, ends
}

// member encodes values as JSON Lines in one gzip member without a time.
func member[T any](vs []T) ([]byte, error) {
	var b bytes.Buffer
	zw, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("artifact: %w", err)
	}
	e := json.NewEncoder(zw)
	e.SetEscapeHTML(false)
	for i := range vs {
		if err := e.Encode(vs[i]); err != nil {
			return nil, fmt.Errorf("artifact: %w", err)
		}
	}
	if err := zw.Close(); err != nil {
		return nil, fmt.Errorf("artifact: %w", err)
	}
	return b.Bytes(), nil
}

// withLine is a small log with one more line. A torn last line is completed with a newline first and is skipped by readers.
func withLine(log []byte, v any) ([]byte, error) {
	data, err := line(v)
	if err != nil {
		return nil, err
	}
	log = bytes.Clone(log)
	if len(log) > 0 && log[len(log)-1] != '\n' {
		log = append(log, '\n')
	}
	return append(log, data...), nil
}

// appendLine adds one line to a small log that several processes may write, as withLine does.
func appendLine(name string, v any) error {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("artifact: %w", err)
	}
	defer f.Close()
	var tail []byte
	if st, err := f.Stat(); err == nil && st.Size() > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, st.Size()-1); err == nil {
			tail = last
		}
	}
	data, err := withLine(tail, v)
	if err != nil {
		return err
	}
	if _, err := f.Write(data[len(tail):]); err != nil {
		return fmt.Errorf("artifact: %w", err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("artifact: %w", err)
	}
	return nil
}
