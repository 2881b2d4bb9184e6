package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"teamtalk/model/checkpoint"
	"teamtalk/model/tokenizer"
)

// runTokenize encodes JSON Lines {"text":..} to {"ids":[..]} with a model's tokenizer, or decodes them back. Other keys of a
// line are passed over. It stops at the first line that it cannot do.
func runTokenize(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("tokenize", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, `usage: recipe tokenize -model DIR|FILE.gguf [-special] < x.jsonl            {"text":..} -> {"ids":[..]}
       recipe tokenize -model DIR|FILE.gguf -decode [-special] < x.jsonl    {"ids":[..]} -> {"text":..}
`)
		flags.PrintDefaults()
	}
	model := flags.String("model", "", "Hugging Face `folder` or GGUF file whose tokenizer is used (required)")
	decode := flags.Bool("decode", false, "turn ids into text")
	special := flags.Bool("special", false, "read the spelling of control tokens (<|im_end|>) in a text as those tokens; with -decode, write it. Without it they stay text, and -decode leaves them out")
	if help, err := parseFlags(flags, args); help || err != nil {
		return err
	}
	if *model == "" {
		return usagef("tokenize: -model is missing: give a Hugging Face folder or a GGUF file")
	}
	if flags.NArg() > 0 {
		return usagef("tokenize: unexpected argument %q: the lines are read from standard input", flags.Arg(0))
	}
	t, vocab, err := checkpoint.OpenTokenizer(*model)
	if err != nil {
		return err
	}
	line := func(in, out []byte) ([]byte, error) { return encodeLine(t, in, out, *special) }
	if *decode {
		line = func(in, out []byte) ([]byte, error) { return decodeLine(t, in, out, *special, vocab) }
	}
	return eachLine(ctx, stdin, stdout, line)
}

// eachLine gives every line that is not blank to do and writes what it appends; an error carries the line's number. What was
// done before it is written.
func eachLine(ctx context.Context, stdin io.Reader, stdout io.Writer, do func(in, out []byte) ([]byte, error)) (err error) {
	r, w := bufio.NewReaderSize(stdin, 1<<16), bufio.NewWriterSize(stdout, 1<<16)
	defer func() { err = errors.Join(err, w.Flush()) }()
	var out []byte
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		in, readErr := r.ReadBytes('\n')
		if n == 1 {
			in = bytes.TrimPrefix(in, []byte("\xef\xbb\xbf")) // a byte order mark
		}
		if in = bytes.TrimSpace(in); len(in) > 0 {
			if out, err = do(in, out[:0]); err != nil {
				return fmt.Errorf("line %d: %w", n, err)
			}
			if _, err := w.Write(append(out, '\n')); err != nil {
				return err
			}
		}
		if readErr == io.EOF {
			return nil
		}
		if readErr != nil {
			return readErr
		}
	}
}

func encodeLine(t *tokenizer.Tokenizer, in, out []byte, special bool) ([]byte, error) {
	var l struct {
		Text *string `json:"text"`
	}
	if err := parseLine(in, &l); err != nil {
		return nil, err
	}
	if l.Text == nil {
		return nil, errors.New(`no "text": want {"text": ".."}`)
	}
	encode := t.Encode
	if special {
		encode = t.EncodeSpecial
	}
	out = append(out, `{"ids":[`...)
	for i, id := range encode(*l.Text) {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, int64(id), 10)
	}
	return append(out, "]}"...), nil
}

func decodeLine(t *tokenizer.Tokenizer, in, out []byte, special bool, vocab int) ([]byte, error) {
	var l struct {
		IDs *[]int64 `json:"ids"`
	}
	if err := parseLine(in, &l); err != nil {
		return nil, err
	}
	if l.IDs == nil {
		return nil, errors.New(`no "ids": want {"ids": [..]}`)
	}
	ids := make([]int32, len(*l.IDs))
	for i, id := range *l.IDs {
		if id < 0 || id >= int64(vocab) {
			return nil, fmt.Errorf("ids[%d] is %d, outside the model's vocabulary of 0 to %d", i, id, vocab-1)
		}
		ids[i] = int32(id)
	}
	text := t.Decode(ids)
	if special {
		text = t.DecodeSpecial(ids)
	}
	b := bytes.NewBuffer(append(out, `{"text":`...))
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		return nil, err
	}
	return append(bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), '}'), nil
}

// parseLine reads a JSON object and wants UTF-8, which encoding/json would silently repair.
func parseLine(in []byte, into any) error {
	if !utf8.Valid(in) {
		return errors.New("not UTF-8")
	}
	if err := json.Unmarshal(in, into); err != nil {
		return fmt.Errorf("not the JSON object expected: %w", err)
	}
	return nil
}
