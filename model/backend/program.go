package backend

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gomlx/go-xla/pkg/pjrt"
	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
)

// Build makes a computation's outputs from its inputs. It may panic the GoMLX way: Compile returns the panic as an error.
type Build func(g *graph.Graph, in []*graph.Node) []*graph.Node

// Option changes how Compile treats a computation.
type Option func(*options)

type options struct {
	alias map[int]int
	state int
}

// InPlace makes output j live where input i lived; Run then takes input i away from its owner. On the Go backend the
// output is a copy, and the input is freed all the same.
func InPlace(i, j int) Option {
	return func(o *options) {
		if o.alias == nil {
			o.alias = map[int]int{}
		}
		o.alias[i] = j
	}
}

// LoopOver turns the computation into one step of a loop: its first n inputs are the state, updated in place; its
// outputs are the n new values and, last, a boolean scalar that says whether to take another step. The step runs at
// least once. On XLA the loop runs on the device (a stablehlo.while around the lowered step), on the Go backend here.
func LoopOver(n int) Option { return func(o *options) { o.state = n } }

// check says which option does not fit the computation, on every backend alike.
func (o options) check(inputs []shapes.Shape, outputs []*graph.Node) error {
	taken := map[int]int{} // by output
	for _, i := range slices.Sorted(maps.Keys(o.alias)) {
		j := o.alias[i]
		if i < 0 || i >= len(inputs) || j < 0 || j >= len(outputs) {
			return fmt.Errorf("output %d in place of input %d: there are %d inputs and %d outputs", j, i, len(inputs), len(outputs))
		}
		if !inputs[i].Equal(outputs[j].Shape()) {
			return fmt.Errorf("output %d, %s, in place of input %d, %s: expected one shape", j, outputs[j].Shape(), i, inputs[i])
		}
		if other, twice := taken[j]; twice {
			return fmt.Errorf("output %d in place of inputs %d and %d: expected one of them", j, other, i)
		}
		taken[j] = i
	}
	if o.state == 0 {
		return nil
	}
	if len(o.alias) > 0 {
		return errors.New("a loop updates its state in place by itself, expected no InPlace beside LoopOver")
	}
	if n := o.state; n > len(inputs) || len(outputs) != n+1 || !outputs[n].Shape().Equal(shapes.Make(dtypes.Bool)) {
		return fmt.Errorf("a loop of %d state values needs a step that takes them and returns them and a boolean, found %d inputs and %d outputs", n, len(inputs), len(outputs))
	}
	for i := range o.state {
		if !inputs[i].Equal(outputs[i].Shape()) {
			return fmt.Errorf("loop state %d enters as %s and leaves as %s", i, inputs[i], outputs[i].Shape())
		}
	}
	return nil
}

// Program is a computation compiled for one device. It is not safe for use by several goroutines at once.
type Program struct {
	name    string
	device  *Device
	inputs  []shapes.Shape
	donate  []int
	state   int
	exe     *pjrt.LoadedExecutable // XLA
	graph   *graph.Graph           // Go backend
	outputs int
	// CompileTime is how long XLA took, and how long others had to be waited for that measure kernels.
	CompileTime time.Duration
}

// Compile builds and compiles a computation over inputs of the given shapes.
func (d *Device) Compile(name string, inputs []shapes.Shape, build Build, opts ...Option) (p *Program, err error) {
	var o options
	for _, f := range opts {
		f(&o)
	}
	defer func() {
		if r := recover(); r != nil {
			if e, ok := r.(error); ok {
				err = fmt.Errorf("building %s: %w", name, e)
			} else {
				err = fmt.Errorf("building %s: %v", name, r)
			}
		}
	}()
	p = &Program{name: name, device: d, inputs: inputs, state: o.state}
	for i := range inputs {
		if _, ok := o.alias[i]; ok || i < o.state {
			p.donate = append(p.donate, i)
		}
	}
	g := graph.NewGraph(d.Backend, name)
	defer forget(g)
	in := make([]*graph.Node, len(inputs))
	for i, s := range inputs {
		in[i] = graph.Parameter(g, fmt.Sprintf("p%d", i), s)
	}
	outputs := build(g, in)
	if err := o.check(inputs, outputs); err != nil {
		return nil, fmt.Errorf("building %s: %w", name, err)
	}
	p.outputs = len(outputs)
	start := time.Now()
	if d.client == nil {
		g.Compile(outputs...)
		p.graph = g
		p.CompileTime = time.Since(start)
		return p, nil
	}
	text, err := lower(g, outputs)
	g.Finalize()
	if err != nil {
		return nil, fmt.Errorf("lowering %s: %w", name, err)
	}
	text = widened(text)
	if o.state > 0 {
		text, err = looped(text, o.state)
	} else {
		text, err = aliased(text, o.alias)
	}
	if err != nil {
		return nil, fmt.Errorf("lowering %s: %w", name, err)
	}
	if dir := os.Getenv("TEAMTALK_DUMP"); dir != "" { // for profiling: the text that XLA gets
		if err := os.WriteFile(filepath.Join(dir, name+".mlir"), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	start = time.Now()
	p.exe, err = d.executable(text)
	p.CompileTime = time.Since(start)
	if err != nil {
		return nil, fmt.Errorf("compiling %s for %s: %w", name, d.Kind, err)
	}
	d.note(p, text)
	return p, nil
}

// executable compiles a program's text, or returns what the same text was compiled to before: training one group of runs
// after another asks for the same programs again.
func (d *Device) executable(text string) (*pjrt.LoadedExecutable, error) {
	key := sha256.Sum256([]byte(text))
	d.compiled.Lock()
	exe := d.executables[key]
	d.compiled.Unlock()
	if exe != nil {
		return exe, nil
	}
	err := d.kernels.choosing(key, func() error {
		again, err := d.client.Compile().WithStableHLO([]byte(text)).Done()
		if exe != nil { // with kernels that are not the ones to stay with
			_ = exe.Destroy()
		}
		exe = again
		return err
	})
	if err != nil {
		return nil, err
	}
	d.compiled.Lock()
	defer d.compiled.Unlock()
	if d.executables == nil {
		d.executables = map[[sha256.Size]byte]*pjrt.LoadedExecutable{}
	}
	d.executables[key] = exe
	return exe, nil
}

// Run executes the program. Inputs that are updated in place are finalised; the caller owns the outputs.
func (p *Program) Run(in ...*tensors.Tensor) (out []*tensors.Tensor, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("running %s: %v", p.name, r)
		}
	}()
	if len(in) != len(p.inputs) {
		return nil, fmt.Errorf("running %s: %d inputs given, %d expected", p.name, len(in), len(p.inputs))
	}
	for i, t := range in {
		if !t.Shape().Equal(p.inputs[i]) {
			return nil, fmt.Errorf("running %s: input %d is %s, expected %s", p.name, i, t.Shape(), p.inputs[i])
		}
	}
	if p.graph != nil {
		return p.runHere(in)
	}
	buffers := make([]*pjrt.Buffer, len(in))
	donated := make(map[int]bool, len(p.donate))
	for _, i := range p.donate {
		donated[i] = true
	}
	for i, t := range in {
		if donated[i] {
			b, err := give(p.device.Backend, t)
			if err != nil {
				return nil, fmt.Errorf("running %s: giving input %d away: %w", p.name, i, err)
			}
			buffers[i] = b
			continue
		}
		b, err := t.Buffer(p.device.Backend, 0)
		if err != nil {
			return nil, fmt.Errorf("running %s: input %d: %w", p.name, i, err)
		}
		buffers[i] = b.(*pjrt.Buffer)
	}
	exec := p.exe.Execute(buffers...).DonateNone()
	if len(p.donate) > 0 {
		exec = exec.Donate(p.donate...)
	}
	results, err := exec.OnDeviceByNum(0).Done()
	if err != nil {
		return nil, fmt.Errorf("running %s: %w", p.name, err)
	}
	out = make([]*tensors.Tensor, len(results))
	for i, b := range results {
		if out[i], err = tensors.FromBuffer(p.device.Backend, b); err != nil {
			return nil, fmt.Errorf("running %s: output %d: %w", p.name, i, err)
		}
	}
	return out, nil
}

// give takes a tensor's buffer from it and finalises what is left of it.
func give(b backends.Backend, t *tensors.Tensor) (*pjrt.Buffer, error) {
	owner := t
	if t.IsShared() { // another program read it: it lies in memory that is GoMLX's, which XLA must not write to
		var err error
		if owner, err = t.LocalClone(); err != nil {
			return nil, err
		}
	}
	buffer, err := owner.DonateBuffer(b, 0)
	if err != nil {
		return nil, err
	}
	return buffer.(*pjrt.Buffer), t.FinalizeAll()
}

// runHere is Run on the Go backend, whose loops turn in this process.
func (p *Program) runHere(in []*tensors.Tensor) ([]*tensors.Tensor, error) {
	args := append([]*tensors.Tensor(nil), in...)
	for {
		anyArgs := make([]any, len(args))
		for i, a := range args {
			anyArgs[i] = a
		}
		out := p.graph.Run(anyArgs...)
		for _, i := range p.donate {
			args[i].MustFinalizeAll()
		}
		if p.state == 0 {
			return out, nil
		}
		more, ok := out[p.state].Value().(bool)
		if !ok {
			return nil, errors.New("a loop's last output is not a boolean")
		}
		out[p.state].MustFinalizeAll()
		if !more {
			return out[:p.state], nil
		}
		copy(args, out[:p.state])
	}
}

// Close frees the program. What XLA compiled stays with the device, for the next program of the same text.
func (p *Program) Close() error {
	if p.graph != nil {
		p.graph.Finalize()
	}
	return nil
}

// Together runs functions at the same time, compilations mostly, and returns the errors of all.
func Together(fs ...func() error) error {
	errs := make([]error, len(fs))
	var wg sync.WaitGroup
	for i, f := range fs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			errs[i] = f()
		}()
	}
	wg.Wait()
	return errors.Join(errs...)
}
