package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"teamtalk/report/stats"
)

// Claim is one number, or one text that holds numbers, in report.md and where it comes from.
type Claim struct {
	ID      int             `json:"id"`
	Text    string          `json:"text"`    // as it stands in report.md
	Line    int             `json:"line"`    // from 1
	Column  int             `json:"column"`  // in characters, from 1
	Section string          `json:"section"` // heading above it
	Pointer string          `json:"pointer"` // RFC 6901, into report.json
	Value   json.RawMessage `json:"value"`   // what is there, at full precision
	Format  string          `json:"format"`  // see Format
	From    []string        `json:"from"`    // artifacts it was computed from; their checksums are in Artifacts
}

// Claims is claims.json.
type Claims struct {
	Version   int               `json:"version"`
	Report    string            `json:"report_sha256"` // of report.json
	Artifacts map[string]string `json:"artifacts"`     // path to SHA-256, of every artifact that a claim names
	Claims    []Claim           `json:"claims"`
}

// tree is report.json decoded for look-ups.
type tree struct{ root any }

func newTree(reportJSON []byte) (tree, error) {
	d := json.NewDecoder(bytes.NewReader(reportJSON))
	d.UseNumber()
	var t tree
	if err := d.Decode(&t.root); err != nil {
		return t, fmt.Errorf("report.json: %w", err)
	}
	return t, nil
}

var unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")
var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")

// pointer joins reference tokens.
func pointer(tokens ...any) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString("/" + escapePointer.Replace(fmt.Sprint(t)))
	}
	return b.String()
}

// at looks a pointer up.
func (t tree) at(ptr string) (any, error) {
	v := t.root
	for i, tok := range strings.Split(ptr, "/") {
		if i == 0 {
			if tok != "" {
				return nil, fmt.Errorf("pointer %q: expected a leading slash", ptr)
			}
			continue
		}
		tok = unescapePointer.Replace(tok)
		switch x := v.(type) {
		case map[string]any:
			e, ok := x[tok]
			if !ok {
				return nil, fmt.Errorf("report.json has no %s: %q is not there", ptr, tok)
			}
			v = e
		case []any:
			n, err := strconv.Atoi(tok)
			if err != nil || n < 0 || n >= len(x) {
				return nil, fmt.Errorf("report.json has no %s: index %q of %d", ptr, tok, len(x))
			}
			v = x[n]
		default:
			return nil, fmt.Errorf("report.json has no %s: %q is inside a value", ptr, tok)
		}
	}
	return v, nil
}

// None is written for a number that the design cannot give.
const None = "n/a"

// Format writes a value of report.json as text:
//
//	+N     number with sign and N decimals          N      number with N decimals
//	%N     share as a percentage with N decimals    g      number as short as it reads back
//	i      count, in groups of three                p      p value
//	dur    seconds as seconds, minutes or hours     MiB    bytes as mebibytes
//	~N     number with N significant digits
//	text   text                                     code   text as a code span
//	scoped interval with its level and scope        pair   interval as a bare pair, for a column that names the scope
//	share  object {k, n, rate}: k of n and the rate list   list of texts as code spans
//	clip   SHA-256 as a code span of its first 12 digits
//
// scoped and pair take +N or N after a colon ("scoped:+3"), and "cut:" before it for a difference of shares ("scoped:cut:+3"), whose ends
// are then cut at ±1; the scope's words come from the pointer's last token, which is why an interval
// cannot be written under another scope's name.
func Format(ptr, format string, v any) (string, error) {
	bad := func() (string, error) {
		return "", fmt.Errorf("%s: format %q does not fit the value %v", ptr, format, v)
	}
	name, arg, _ := strings.Cut(format, ":")
	num := func() (float64, bool) {
		n, ok := v.(json.Number)
		if !ok {
			return 0, false
		}
		f, err := n.Float64()
		return f, err == nil
	}
	if v == nil && name != "scoped" && name != "pair" {
		return None, nil
	}
	switch name {
	case "text", "code", "clip":
		s, ok := v.(string)
		if !ok {
			if n, isNum := v.(json.Number); isNum {
				s = n.String()
			} else if b, isBool := v.(bool); isBool {
				s = strconv.FormatBool(b)
			} else {
				return bad()
			}
		}
		switch name {
		case "code":
			return Code(s), nil
		case "clip":
			return Code(s[:min(12, len(s))]), nil
		}
		return Inline(s), nil
	case "list":
		xs, ok := v.([]any)
		if !ok {
			return bad()
		}
		out := make([]string, len(xs))
		for i, x := range xs {
			s, ok := x.(string)
			if !ok {
				s = fmt.Sprint(x)
			}
			out[i] = Code(s)
		}
		if len(out) == 0 {
			return "none", nil
		}
		return strings.Join(out, ", "), nil
	case "scoped", "pair":
		return formatInterval(ptr, name, arg, v)
	case "share":
		m, ok := v.(map[string]any)
		if !ok {
			return bad()
		}
		rate, err := Format(ptr, "%1", m["rate"])
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%v of %v (%s)", m["k"], m["n"], rate), nil
	}
	f, ok := num()
	if !ok {
		return bad()
	}
	switch {
	case name == "i":
		return thousands(f), nil
	case name == "g":
		if s, negative := strings.CutPrefix(v.(json.Number).String(), "-"); negative {
			return stats.Minus + s, nil
		}
		return v.(json.Number).String(), nil
	case name == "p":
		return stats.PValue(f), nil
	case name == "dur":
		return duration(f), nil
	case strings.HasPrefix(name, "~"):
		if n, err := strconv.Atoi(name[1:]); err == nil {
			return strings.Replace(strconv.FormatFloat(f, 'g', n, 64), "e-", "e"+stats.Minus, 1), nil
		}
	case name == "MiB":
		return thousands(float64(int64(f) >> 20)), nil
	case strings.HasPrefix(name, "+"):
		if n, err := strconv.Atoi(name[1:]); err == nil {
			return stats.Signed(f, n), nil
		}
	case strings.HasPrefix(name, "%"):
		if n, err := strconv.Atoi(name[1:]); err == nil {
			return stats.Percent(f, n), nil
		}
	default:
		if n, err := strconv.Atoi(name); err == nil {
			return stats.Fixed(f, n), nil
		}
	}
	return bad()
}

// scopes are the words of the intervals, from their types.
var scopes = map[string]string{
	stats.Interval[stats.Tasks]{}.Key(): stats.Interval[stats.Tasks]{}.Over(),
	stats.Interval[stats.Runs]{}.Key():  stats.Interval[stats.Runs]{}.Over(),
	stats.Interval[stats.Both]{}.Key():  stats.Interval[stats.Both]{}.Over(),
}

// cutFormat in an interval's format cuts its ends at ±1, outside of which no difference of shares can lie.
const cutFormat = "cut:"

func formatInterval(ptr, name, arg string, v any) (string, error) {
	key := ptr[strings.LastIndexByte(ptr, '/')+1:]
	over, ok := scopes[key]
	if !ok {
		return "", fmt.Errorf("%s: an interval is named after its scope, one of ci_tasks, ci_runs, ci_both", ptr)
	}
	if v == nil {
		if name == "pair" {
			return "none", nil
		}
		return "no interval " + over, nil
	}
	ends, ok := v.([]any)
	if !ok || len(ends) != 2 {
		return "", fmt.Errorf("%s: expected a pair, found %v", ptr, v)
	}
	if ends[0] == ends[1] { // nothing varied: the sample does not make the number exact
		if name == "pair" {
			return "none", nil
		}
		return "no interval " + over + ": nothing varied, so that its width cannot be estimated", nil
	}
	if rest, cut := strings.CutPrefix(arg, cutFormat); cut {
		arg, ends = rest, []any{cutEnd(ends[0]), cutEnd(ends[1])}
	}
	lo, err := Format(ptr, arg, ends[0])
	if err != nil {
		return "", err
	}
	hi, err := Format(ptr, arg, ends[1])
	if err != nil {
		return "", err
	}
	pair := "[" + lo + ", " + hi + "]"
	if name == "pair" {
		return pair, nil
	}
	return stats.Percent(stats.Level, 0) + " " + pair + " " + over, nil
}

func cutEnd(v any) any {
	if n, ok := v.(json.Number); ok {
		if f, err := n.Float64(); err == nil && f > 1 {
			return json.Number("1")
		} else if err == nil && f < -1 {
			return json.Number("-1")
		}
	}
	return v
}

// duration writes seconds in the largest unit of which there are at least two, with a no-break space.
func duration(seconds float64) string {
	switch {
	case seconds < 120:
		return stats.Fixed(seconds, 1) + "\u00a0s"
	case seconds < 7200:
		return stats.Fixed(seconds/60, 1) + "\u00a0min"
	}
	return stats.Fixed(seconds/3600, 1) + "\u00a0h"
}

// thousands writes a whole number in groups of three from five digits on.
func thousands(f float64) string {
	s := strconv.FormatFloat(f, 'f', 0, 64)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = stats.Minus, s[1:]
	}
	if len(s) > 4 {
		for i := len(s) - 3; i > 0; i -= 3 {
			s = s[:i] + "," + s[i:]
		}
	}
	return sign + s
}
