package backend

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"k8s.io/klog/v2"
)

// lowering serialises lowerings: klog's verbosity belongs to the process.
var lowering sync.Mutex

// takeLog gives klog a [textSink] for the life of the process. While one goroutine lowers, others compile, and go-xla asks for the
// verbosity in one statement and logs its options in the next: a logger that was there for the lowering alone could be gone in
// between, and the options would be printed.
var takeLog = sync.OnceFunc(func() { klog.SetLogger(logr.New(textSink{})) })

// lowered carries the StableHLO text out of GoMLX's Compile, before XLA sees it.
type lowered struct{ text string }

// lower returns the StableHLO text of g's computation of outputs and compiles nothing.
//
// GoMLX v0.26 has no call for this. Its xla backend logs the text at klog level 2 right before it compiles it, so the
// logger set here ends Compile with a panic that carries the text. klog unlocks in a defer, and g is not used again.
func lower(g *graph.Graph, outputs []*graph.Node) (text string, err error) {
	lowering.Lock()
	defer lowering.Unlock()
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	before := flags.Lookup("v").Value.String()
	takeLog() // before the verbosity is up
	if err := flags.Set("v", "2"); err != nil {
		return "", fmt.Errorf("raising klog's verbosity: %w", err)
	}
	defer func() {
		_ = flags.Set("v", before)
		if r := recover(); r != nil {
			if l, ok := r.(lowered); ok {
				text = l.text
				return
			}
			if e, ok := r.(error); ok {
				err = e
				return
			}
			err = fmt.Errorf("%v", r)
		}
	}()
	g.Compile(outputs...)
	return "", fmt.Errorf("graph %q: GoMLX's xla backend compiled without logging its StableHLO program; this needs gomlx v0.26", g.Name())
}

// textSink panics with the program's text when it is logged, hands errors on to stderr and drops every other message.
type textSink struct{}

func (textSink) Init(logr.RuntimeInfo)            {}
func (textSink) Enabled(int) bool                 { return true }
func (s textSink) WithValues(...any) logr.LogSink { return s }
func (s textSink) WithName(string) logr.LogSink   { return s }
func (textSink) Error(_ error, msg string, _ ...any) {
	fmt.Fprintln(os.Stderr, "backend:", strings.TrimSpace(msg))
}
func (textSink) Info(_ int, msg string, _ ...any) {
	if _, text, found := strings.Cut(msg, "StableHLO program:\n"); found {
		panic(lowered{text})
	}
}

var (
	mainHead = regexp.MustCompile(`func\.func @main\((.*?)\) -> (.*) \{\n`)
	ssaName  = regexp.MustCompile(`%\w+`)
	dotHead  = regexp.MustCompile(`^\s*(%\w+) = "stablehlo\.dot_general"\(`)
	toF32    = regexp.MustCompile(`^\s*%\w+ = "stablehlo\.convert"\((%\w+)\) : \(tensor<[^>]*xbf16>\) -> tensor<[^>]*xf32>$`)
)

// signature is the parsed head of a program's main function.
type signature struct {
	head    string   // the whole line
	args    []string // names: %0, %x, ...
	types   []string // tensor<...>, one for each argument
	results []string // tensor<...>
}

func parseSignature(text string) (signature, error) {
	m := mainHead.FindStringSubmatch(text)
	if m == nil {
		return signature{}, fmt.Errorf("StableHLO text has no @main function of the expected form")
	}
	s := signature{head: m[0]}
	for _, a := range splitTypes(m[1]) {
		name, typ, ok := strings.Cut(a, ": ")
		if !ok {
			return signature{}, fmt.Errorf("StableHLO argument %q has no type", a)
		}
		typ, _, _ = strings.Cut(typ, " {")
		s.args, s.types = append(s.args, strings.TrimSpace(name)), append(s.types, strings.TrimSpace(typ))
	}
	res := strings.TrimSpace(m[2])
	res = strings.TrimSuffix(strings.TrimPrefix(res, "("), ")")
	for _, r := range splitTypes(res) {
		s.results = append(s.results, strings.TrimSpace(r))
	}
	return s, nil
}

// splitTypes splits at commas outside of < > and { }.
func splitTypes(s string) []string {
	var out []string
	depth, start := 0, 0
	for i, c := range s {
		switch c {
		case '<', '{', '[':
			depth++
		case '>', '}', ']':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, s[start:i])
				start = i + 1
			}
		}
	}
	if strings.TrimSpace(s[start:]) != "" {
		out = append(out, s[start:])
	}
	return out
}

// aliased writes tf.aliasing_output on main's inputs: alias[i] = j makes output j live where input i lived.
func aliased(text string, alias map[int]int) (string, error) {
	if len(alias) == 0 {
		return text, nil
	}
	s, err := parseSignature(text)
	if err != nil {
		return "", err
	}
	for i, j := range alias {
		if i < 0 || i >= len(s.types) || j < 0 || j >= len(s.results) || s.types[i] != s.results[j] {
			return "", fmt.Errorf("input %d of %v cannot alias output %d of %v", i, s.types, j, s.results)
		}
	}
	args := make([]string, len(s.args))
	for i := range s.args {
		args[i] = s.args[i] + ": " + s.types[i]
		if j, ok := alias[i]; ok {
			args[i] += " {tf.aliasing_output = " + strconv.Itoa(j) + " : i32}"
		}
	}
	head := "func.func @main(" + strings.Join(args, ", ") + ") -> (" + strings.Join(s.results, ", ") + ") {\n"
	return strings.Replace(text, s.head, head, 1), nil
}

// looped wraps the step in a loop on the device: the first n arguments are the state, the others stay; the step returns the
// new state and, last, whether to go on. The step runs at least once. The state is updated in place.
func looped(text string, n int) (string, error) {
	s, err := parseSignature(text)
	if err != nil {
		return "", err
	}
	if len(s.results) != n+1 || s.results[n] != "tensor<i1>" {
		return "", fmt.Errorf("a loop of %d state values needs a step that returns them and a boolean, found %v", n, s.results)
	}
	if n > len(s.types) {
		return "", fmt.Errorf("a loop of %d state values needs a step that takes them, found %d inputs", n, len(s.types))
	}
	for i := range n {
		if s.types[i] != s.results[i] {
			return "", fmt.Errorf("loop state %d enters as %s and leaves as %s", i, s.types[i], s.results[i])
		}
	}
	state := strings.Join(s.types[:n], ", ")
	var args, carried, call []string
	for i, t := range s.types {
		name := fmt.Sprintf("%%in%d", i)
		if i < n {
			args = append(args, fmt.Sprintf("%s: %s {tf.aliasing_output = %d : i32}", name, t, i))
			carried = append(carried, fmt.Sprintf("%%s%d = %s", i, name))
			call = append(call, fmt.Sprintf("%%s%d", i))
		} else {
			args = append(args, name+": "+t)
			call = append(call, name)
		}
	}
	var outs, news []string
	for i := range n {
		outs = append(outs, fmt.Sprintf("%%r#%d", i))
		news = append(news, fmt.Sprintf("%%n#%d", i))
	}
	text = strings.Replace(text, "func.func @main(", "func.func private @step(", 1)
	text = strings.TrimSuffix(strings.TrimRight(text, "\n "), "}")
	return text + fmt.Sprintf(`
  func.func @main(%s) -> (%s) {
    %%true = stablehlo.constant dense<true> : tensor<i1>
    %%r:%d = stablehlo.while(%s, %%more = %%true) : %s, tensor<i1>
      cond { stablehlo.return %%more : tensor<i1> }
      do { %%n:%d = func.call @step(%s) : (%s) -> (%s, tensor<i1>)
           stablehlo.return %s, %%n#%d : %s, tensor<i1> }
    return %s : %s
  }
}
`, strings.Join(args, ", "), state,
		n+1, strings.Join(carried, ", "), state,
		n+1, strings.Join(call, ", "), strings.Join(s.types, ", "), state,
		strings.Join(news, ", "), n, state,
		strings.Join(outs, ", "), state), nil
}

// widened lets a bf16 product whose only use is a conversion to f32 leave the multiplier as f32: the accumulator's
// value, not its rounding to 8 bits. GoMLX v0.26 cannot ask for it; logits and attention scores need it.
func widened(text string) string {
	uses := map[string]int{}
	for _, name := range ssaName.FindAllString(text, -1) {
		uses[name]++
	}
	lines := strings.Split(text, "\n")
	dots := map[string]int{} // a bf16 product's name: the line that ends it
	open := ""
	for i, line := range lines {
		if m := dotHead.FindStringSubmatch(line); m != nil {
			open = m[1]
		}
		if open != "" && strings.Contains(line, "} : (") {
			if strings.HasSuffix(line, "xbf16>") && uses[open] == 2 { // its definition and one use
				dots[open] = i
			}
			open = ""
		}
		m := toF32.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if at, ok := dots[m[1]]; ok {
			lines[at] = strings.TrimSuffix(lines[at], "bf16>") + "f32>"
			lines[i] = strings.Replace(line, "xbf16>)", "xf32>)", 1)
		}
	}
	return strings.Join(lines, "\n")
}
