package backend

import (
	"slices"
	"strings"
	"time"

	"github.com/gomlx/go-xla/pkg/pjrt"
)

// Usage is the device memory that a compiled program takes while it runs, in bytes, as XLA laid it out. The Go backend lays
// nothing out: all are 0.
type Usage struct {
	Arguments int64 `json:"arguments"` // inputs
	Outputs   int64 `json:"outputs"`
	Aliased   int64 `json:"aliased"` // outputs that lie where inputs lay, counted in both
	Temporary int64 `json:"temporary"`
	Code      int64 `json:"code"`
}

// Total is what must be free for the program to run, its inputs included.
func (u Usage) Total() int64 { return u.Arguments + u.Outputs - u.Aliased + u.Temporary + u.Code }

// Compiled is a program that a device has compiled.
type Compiled struct {
	Name        string        `json:"name"`
	CompileTime time.Duration `json:"-"`
	Usage       Usage         `json:"usage"`
	// Scatters says that the program adds up with a scatter, which a GPU does with atomic operations, in any order: its results
	// may differ from one time to the next.
	Scatters bool `json:"scatters,omitempty"`
}

// Programs lists what was compiled so far, in that order.
func (d *Device) Programs() []Compiled {
	d.compiled.Lock()
	defer d.compiled.Unlock()
	return slices.Clone(d.programs)
}

// note records a program for Programs.
func (d *Device) note(p *Program, text string) {
	d.compiled.Lock()
	defer d.compiled.Unlock()
	d.programs = append(d.programs, Compiled{Name: p.name, CompileTime: p.CompileTime, Usage: usageOf(p.exe), Scatters: strings.Contains(text, "stablehlo.scatter")})
}

// usageOf reads XLA's statistics of an executable (PJRT_Executable_GetCompiledMemoryStats).
func usageOf(exe *pjrt.LoadedExecutable) Usage {
	if exe == nil {
		return Usage{}
	}
	s := exe.OnDeviceMemoryUsageStats
	return Usage{Arguments: s.Inputs, Outputs: s.Outputs, Aliased: s.Aliases, Temporary: s.Temporary, Code: s.GeneratedCode}
}
