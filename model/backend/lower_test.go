package backend

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"k8s.io/klog/v2"
)

// step is a program of the form that GoMLX writes: two values of state, one constant input; it returns the new state and
// whether to go on.
const step = `module @step {
  func.func @main(%0: tensor<i32>, %1: tensor<2x3xf32> {mhlo.frontend_attributes = {a = "b, c"}}, %limit: tensor<i32>) -> (tensor<i32>, tensor<2x3xf32>, tensor<i1>) {
    %2 = "stablehlo.add"(%0, %limit) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %3 = "stablehlo.compare"(%2, %limit) : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%2, %1, %3) : (tensor<i32>, tensor<2x3xf32>, tensor<i1>) -> ()
  }
}
`

func TestParseSignature(t *testing.T) {
	s, err := parseSignature(step)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"%0", "%1", "%limit"}; !slices.Equal(s.args, want) {
		t.Errorf("arguments %q, want %q", s.args, want)
	}
	if want := []string{"tensor<i32>", "tensor<2x3xf32>", "tensor<i32>"}; !slices.Equal(s.types, want) {
		t.Errorf("types %q, want %q", s.types, want)
	}
	if want := []string{"tensor<i32>", "tensor<2x3xf32>", "tensor<i1>"}; !slices.Equal(s.results, want) {
		t.Errorf("results %q, want %q", s.results, want)
	}
	if !strings.Contains(step, s.head) {
		t.Errorf("the head %q is not in the text", s.head)
	}
	one, err := parseSignature("func.func @main(%x: tensor<f32>) -> tensor<f32> {\n")
	if err != nil || !slices.Equal(one.results, []string{"tensor<f32>"}) {
		t.Errorf("one result without parentheses: %q, %v", one.results, err)
	}
	for _, c := range []struct{ why, text, want string }{
		{"another function", "func.func @other(%0: tensor<i32>) -> tensor<i32> {\n", "no @main"},
		{"nothing", "", "no @main"},
		{"an argument without a type", "func.func @main(%0) -> tensor<i32> {\n", `argument "%0" has no type`},
	} {
		if _, err := parseSignature(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.why, err, c.want)
		}
	}
}

func TestSplitTypes(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"tensor<i32>", []string{"tensor<i32>"}},
		{"a: tensor<2x3xf32, #enc<x, y>>, b: tensor<i1> {k = [1, 2], l = {m, n}}", []string{"a: tensor<2x3xf32, #enc<x, y>>", " b: tensor<i1> {k = [1, 2], l = {m, n}}"}},
	} {
		if got := splitTypes(c.in); !slices.Equal(got, c.want) {
			t.Errorf("%q splits into %q, want %q", c.in, got, c.want)
		}
	}
}

func TestAliased(t *testing.T) {
	if got, err := aliased(step, nil); err != nil || got != step {
		t.Errorf("nothing to alias: %v, text changed: %t", err, got != step)
	}
	got, err := aliased(step, map[int]int{1: 1, 2: 0})
	if err != nil {
		t.Fatal(err)
	}
	want := "func.func @main(%0: tensor<i32>, %1: tensor<2x3xf32> {tf.aliasing_output = 1 : i32}, %limit: tensor<i32> {tf.aliasing_output = 0 : i32}) " +
		"-> (tensor<i32>, tensor<2x3xf32>, tensor<i1>) {\n"
	if !strings.Contains(got, want) {
		t.Errorf("the text is\n%s\nwant the head\n%s", got, want)
	}
	if _, body, _ := strings.Cut(step, "{\n    %2"); !strings.HasSuffix(got, body) {
		t.Errorf("the body changed:\n%s", got)
	}
	for _, c := range []struct {
		why   string
		alias map[int]int
	}{
		{"another type", map[int]int{0: 1}},
		{"no such output", map[int]int{0: 3}},
		{"a negative output", map[int]int{0: -1}},
		{"no such input", map[int]int{3: 0}},
	} {
		if text, err := aliased(step, c.alias); err == nil {
			t.Errorf("%s: no error, the text is\n%s", c.why, text)
		}
	}
	if _, err := aliased("module {}", map[int]int{0: 0}); err == nil {
		t.Error("a text without @main: no error")
	}
}

func TestLooped(t *testing.T) {
	got, err := looped(step, 2)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(strings.TrimSuffix(step, "}\n"), "func.func @main(", "func.func private @step(", 1) + `
  func.func @main(%in0: tensor<i32> {tf.aliasing_output = 0 : i32}, %in1: tensor<2x3xf32> {tf.aliasing_output = 1 : i32}, %in2: tensor<i32>) -> (tensor<i32>, tensor<2x3xf32>) {
    %true = stablehlo.constant dense<true> : tensor<i1>
    %r:3 = stablehlo.while(%s0 = %in0, %s1 = %in1, %more = %true) : tensor<i32>, tensor<2x3xf32>, tensor<i1>
      cond { stablehlo.return %more : tensor<i1> }
      do { %n:3 = func.call @step(%s0, %s1, %in2) : (tensor<i32>, tensor<2x3xf32>, tensor<i32>) -> (tensor<i32>, tensor<2x3xf32>, tensor<i1>)
           stablehlo.return %n#0, %n#1, %n#2 : tensor<i32>, tensor<2x3xf32>, tensor<i1> }
    return %r#0, %r#1 : tensor<i32>, tensor<2x3xf32>
  }
}
`
	if squeeze(got) != squeeze(want) {
		t.Errorf("the text is\n%s\nwant\n%s", got, want)
	}
	for _, c := range []struct {
		why  string
		text string
		n    int
		want string
	}{
		{"no word of going on", step, 3, "needs a step that returns them and a boolean"},
		{"an output too many", step, 1, "needs a step that returns them and a boolean"},
		{"the last output is no boolean", strings.ReplaceAll(step, "tensor<i1>", "tensor<i8>"), 2, "needs a step that returns them and a boolean"},
		{"the state changes its type", strings.Replace(step, "-> (tensor<i32>", "-> (tensor<i64>", 1), 2, "loop state 0 enters as tensor<i32> and leaves as tensor<i64>"},
		{"more state than inputs", "func.func @main(%0: tensor<i32>) -> (tensor<i32>, tensor<i32>, tensor<i1>) {\n", 2, "1 inputs"},
		{"no main", "module {}", 2, "no @main"},
	} {
		if _, err := looped(c.text, c.n); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.why, err, c.want)
		}
	}
}

// squeeze makes every run of blanks one.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

func TestWidened(t *testing.T) {
	dot := func(name, result string) string {
		return `    ` + name + ` = "stablehlo.dot_general"(%0, %1) {
      dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>
    } : (tensor<2x4xbf16>, tensor<3x4xbf16>) -> tensor<` + result + `>`
	}
	for _, c := range []struct {
		why    string
		in     []string
		change map[int]string // by line of in; nil: nothing changes
	}{
		{
			"the only use is a conversion: the product gives f32",
			[]string{dot("%2", "2x3xbf16"), `    %3 = "stablehlo.convert"(%2) : (tensor<2x3xbf16>) -> tensor<2x3xf32>`, `    return %3 : tensor<2x3xf32>`},
			map[int]string{0: dot("%2", "2x3xf32"), 1: `    %3 = "stablehlo.convert"(%2) : (tensor<2x3xf32>) -> tensor<2x3xf32>`},
		},
		{
			"another use needs the bf16 value",
			[]string{dot("%2", "2x3xbf16"), `    %3 = "stablehlo.convert"(%2) : (tensor<2x3xbf16>) -> tensor<2x3xf32>`, `    return %3, %2 : tensor<2x3xf32>, tensor<2x3xbf16>`},
			nil,
		},
		{
			"the use is no conversion",
			[]string{dot("%2", "2x3xbf16"), `    %3 = "stablehlo.negate"(%2) : (tensor<2x3xbf16>) -> tensor<2x3xbf16>`},
			nil,
		},
		{
			"a conversion to something else",
			[]string{dot("%2", "2x3xbf16"), `    %3 = "stablehlo.convert"(%2) : (tensor<2x3xbf16>) -> tensor<2x3xf64>`},
			nil,
		},
		{
			"an f32 product stays",
			[]string{strings.ReplaceAll(dot("%2", "2x3xf32"), "bf16", "f32"), `    %3 = "stablehlo.convert"(%2) : (tensor<2x3xf32>) -> tensor<2x3xf32>`},
			nil,
		},
		{
			"the conversion of something that is no product",
			[]string{`    %2 = "stablehlo.add"(%0, %1) : (tensor<2x3xbf16>, tensor<2x3xbf16>) -> tensor<2x3xbf16>`, `    %3 = "stablehlo.convert"(%2) : (tensor<2x3xbf16>) -> tensor<2x3xf32>`},
			nil,
		},
		{
			"one of two products, whose names begin alike",
			[]string{dot("%2", "2x3xbf16"), dot("%21", "2x3xbf16"), `    %3 = "stablehlo.convert"(%21) : (tensor<2x3xbf16>) -> tensor<2x3xf32>`, `    return %2, %3 : tensor<2x3xbf16>, tensor<2x3xf32>`},
			map[int]string{1: dot("%21", "2x3xf32"), 2: `    %3 = "stablehlo.convert"(%21) : (tensor<2x3xf32>) -> tensor<2x3xf32>`},
		},
	} {
		want := slices.Clone(c.in)
		for i, line := range c.change {
			want[i] = line
		}
		if got := widened(strings.Join(c.in, "\n")); got != strings.Join(want, "\n") {
			t.Errorf("%s: the text is\n%s\nwant\n%s", c.why, got, strings.Join(want, "\n"))
		}
	}
}

// The texts above are what GoMLX writes: a bf16 product that becomes f32 is found in a lowered program, and the gradient of
// Dot is two products more.
func TestLoweredText(t *testing.T) {
	d := device(t, XLACPU)
	build := func(dtype dtypes.DType, f func(x, w *graph.Node) []*graph.Node) string {
		t.Helper()
		g := graph.NewGraph(d.Backend, "lowered")
		defer g.Finalize()
		defer forget(g)
		x, w := graph.Parameter(g, "x", shapes.Make(dtype, 2, 4)), graph.Parameter(g, "w", shapes.Make(dtype, 3, 4))
		text, err := lower(g, f(x, w))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	text := build(dtypes.BFloat16, func(x, w *graph.Node) []*graph.Node {
		return []*graph.Node{graph.ConvertDType(Dot(x, []int{1}, nil, w, []int{1}, nil), dtypes.Float32)}
	})
	if _, err := parseSignature(text); err != nil {
		t.Errorf("%v:\n%s", err, text)
	}
	const product = "(tensor<2x4xbf16>, tensor<3x4xbf16>) -> tensor<2x3x"
	if wide := widened(text); !strings.Contains(text, product+"bf16>") || !strings.Contains(wide, product+"f32>") {
		t.Errorf("the bf16 product was not widened:\n%s", wide)
	}
	text = build(dtypes.Float32, func(x, w *graph.Node) []*graph.Node {
		return graph.Gradient(graph.ReduceAllSum(graph.Exp(Dot(x, []int{1}, nil, w, []int{1}, nil))), x, w)
	})
	if n := strings.Count(text, `"stablehlo.dot_general"`); n != 3 {
		t.Errorf("a product and its gradient are %d products, want 3:\n%s", n, text)
	}
	if strings.Contains(text, "tensor<2x3x4xf32>") {
		t.Errorf("the gradient multiplies element by element:\n%s", text)
	}
}

func TestLowerNeedsTheXLABackend(t *testing.T) {
	d := device(t, Go)
	g := graph.NewGraph(d.Backend, "host")
	defer g.Finalize()
	x := graph.Parameter(g, "x", shapes.Make(dtypes.Float32))
	if _, err := lower(g, []*graph.Node{graph.Neg(x)}); err == nil || !strings.Contains(err.Error(), "without logging its StableHLO program") {
		t.Errorf("error %v, want that no program was logged", err)
	}
}

// What go-xla logs of a compilation beside a lowering, having seen the raised verbosity, goes nowhere, after the lowering too.
func TestCompilationsAreQuiet(t *testing.T) {
	g := graph.NewGraph(device(t, Go).Backend, "quiet")
	defer g.Finalize()
	x := graph.Parameter(g, "x", shapes.Make(dtypes.Float32, 2))
	if _, err := lower(g, []*graph.Node{graph.Neg(x)}); err == nil {
		t.Fatal("the Go backend lowers")
	}
	var printed bytes.Buffer
	klog.LogToStderr(false)
	defer klog.LogToStderr(true)
	klog.SetOutput(&printed)
	defer klog.SetOutput(os.Stderr)
	klog.Infof("CompileOptions: {}")
	klog.Flush()
	if printed.Len() > 0 {
		t.Errorf("printed: %q, want nothing", printed.String())
	}
}
