// Package backend opens what computations run on (a GPU or the CPU through an XLA plugin, or GoMLX's Go backend), compiles
// GoMLX graphs for it, with loops and in-place updates that GoMLX v0.26 itself cannot express, and says what was opened.
// It knows nothing of models.
package backend

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/gomlx/go-xla/pkg/pjrt"
	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/simplego"
	"github.com/gomlx/gomlx/backends/xla"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
)

// Kind names a backend: cuda, xla-cpu or go.
type Kind string

// The backends, best first.
const (
	CUDA   Kind = "cuda"
	XLACPU Kind = "xla-cpu"
	Go     Kind = "go"
	// Auto is the best of them that opens.
	Auto Kind = "auto"
)

// Kinds is every backend that can be named, best first.
var Kinds = []Kind{CUDA, XLACPU, Go}

// Device is an open backend.
type Device struct {
	Kind    Kind
	Backend backends.Backend
	// DType is what frozen weights and activations are kept in: bf16 on a GPU, f32 elsewhere.
	DType dtypes.DType
	// Plugin is the PJRT plugin's file, empty on the Go backend.
	Plugin string
	// Version is the plugin's own word of what it is.
	Version string
	// Passed says why each better backend was passed over, for the log.
	Passed []string

	client *pjrt.Client
	peak   peakCounter
	stop   chan struct{}

	compiled    sync.Mutex // guards executables and programs
	executables map[[sha256.Size]byte]*pjrt.LoadedExecutable
	programs    []Compiled
	room        func() int64
	kernels     kernels
}

// Open opens the named backend; Auto takes the best that opens and says in Passed why not the others.
func Open(kind Kind) (*Device, error) { return OpenShare(kind, 1) }

// OpenShare is Open for one of several processes that share a device, this one included: Room is its part of the memory,
// and of a GPU's memory it can take no more.
func OpenShare(kind Kind, processes int) (*Device, error) {
	d, err := open(kind, processes)
	if err == nil && processes > 1 && d.room != nil {
		all := d.room
		d.room = func() int64 { return all() / int64(processes) }
	}
	return d, err
}

func open(kind Kind, processes int) (*Device, error) {
	switch kind {
	case CUDA:
		return openCUDA(processes)
	case XLACPU:
		return openXLACPU()
	case Go:
		return openGo()
	case Auto, "":
		var passed []string
		for _, k := range Kinds {
			d, err := open(k, processes)
			if err == nil {
				d.Passed = passed
				return d, nil
			}
			passed = append(passed, fmt.Sprintf("%s: %v", k, err))
		}
		return nil, errors.New(strings.Join(passed, "; "))
	}
	return nil, fmt.Errorf("backend %q: expected auto, cuda, xla-cpu or go", kind)
}

// DTypeOf is what a backend keeps frozen weights in: bf16 on a GPU, f32 elsewhere.
func DTypeOf(kind Kind) dtypes.DType {
	if kind == CUDA {
		return dtypes.BFloat16
	}
	return dtypes.Float32
}

// String is one line for a person: what runs, and where from.
func (d *Device) String() string {
	if d.Plugin == "" {
		return string(d.Kind)
	}
	return fmt.Sprintf("%s (%s, %s)", d.Kind, filepath.Base(d.Plugin), d.Version)
}

// InPlaceUpdates tells whether DynamicUpdateSlice exists, which writes into a buffer at a computed place.
func (d *Device) InPlaceUpdates() bool { return d.client != nil }

// Close frees the device.
func (d *Device) Close() {
	if d.stop != nil {
		close(d.stop)
	}
	for _, exe := range d.executables {
		_ = exe.Destroy() // the client goes next
	}
	d.Backend.Finalize()
}

func openGo() (*Device, error) {
	// With its default settings the Go backend of v0.26 deadlocks on products that become ready together.
	b, err := quietly(func() (backends.Backend, error) { return simplego.New("parallelism=-1") })
	if err != nil {
		return nil, fmt.Errorf("the Go backend: %w", err)
	}
	return &Device{Kind: Go, Backend: b, DType: DTypeOf(Go), Version: "gomlx simplego, " + runtime.Version(), room: hostRoom()}, nil
}

// quietly calls open with the process's standard output closed to it: the Go backend prints a line there, where this
// project's tools write JSON.
func quietly(open func() (backends.Backend, error)) (backends.Backend, error) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return open()
	}
	defer null.Close()
	out := os.Stdout
	os.Stdout = null
	defer func() { os.Stdout = out }()
	return open()
}

func openXLACPU() (*Device, error) {
	path, err := FindPlugin(XLACPU)
	if err != nil {
		return nil, err
	}
	// f32 values must not keep more digits than they say, whatever XLA would gain by it.
	addXLAFlag("--xla_allow_excess_precision=false")
	d, err := openPlugin(XLACPU, path, nil)
	if err != nil {
		return nil, err
	}
	d.room = hostRoom()
	return d, nil
}

func openCUDA(processes int) (*Device, error) {
	if _, err := os.Stat("/dev/nvidiactl"); err != nil {
		return nil, errors.New("no NVIDIA driver on this machine (/dev/nvidiactl is absent)")
	}
	path, err := FindPlugin(CUDA)
	if err != nil {
		return nil, err
	}
	// go-xla v0.1.4 would point XLA at a folder of its author's; XLA needs the CUDA libraries beside the plugin.
	if err := os.Setenv("GOPJRT_CUDA_CHECKS", "no"); err != nil {
		return nil, err
	}
	if dir := cudaDataDir(path); dir != "" {
		addXLAFlag("--xla_gpu_cuda_data_dir=" + dir)
	}
	chosen := kernelsFor(path)
	if chosen.dir != "" && !addXLAFlag("--xla_gpu_per_fusion_autotune_cache_dir="+chosen.choices()) {
		chosen = kernels{} // the user's own folder, of which nothing is known
	}
	room := gpuRoom()
	options := memoryOptions(processes, func() error { return hasPool(driverLibrary) })
	d, err := openPlugin(CUDA, path, options)
	if err != nil {
		return nil, err
	}
	if options["allocator"] == pooled {
		if err := keepPool(driverLibrary); err != nil {
			d.Close()
			return nil, fmt.Errorf("the GPU's memory pool: %w; with %s=bfc XLA does without it", err, allocatorVariable)
		}
	}
	d.room, d.kernels = room, chosen
	d.stop = make(chan struct{})
	go d.watch(d.stop)
	return d, nil
}

func openPlugin(kind Kind, path string, options pjrt.NamedValuesMap) (*Device, error) {
	for name, value := range map[string]string{"TF_CPP_MIN_LOG_LEVEL": "3", "GOMLX_NO_AUTO_INSTALL": "1"} {
		if os.Getenv(name) == "" {
			if err := os.Setenv(name, value); err != nil {
				return nil, err
			}
		}
	}
	xla.EnableAutoInstall(false)
	b, err := xla.NewWithOptions(path, options)
	if err != nil {
		return nil, fmt.Errorf("plugin %s does not open: %w", path, err)
	}
	probe, err := tensors.FromScalar(int32(0)).Buffer(b, 0)
	if err != nil {
		b.Finalize()
		return nil, fmt.Errorf("plugin %s: no device takes a value: %w", path, err)
	}
	client := probe.(*pjrt.Buffer).Client()
	return &Device{
		Kind: kind, Backend: b, DType: DTypeOf(kind), Plugin: path, client: client,
		Version: versionOf(client.Platform(), client.PlatformVersion()),
	}, nil
}

// versionOf joins the words of a platform's name and version. Some versions begin with the name, which then stands once.
func versionOf(platform, version string) string {
	name, words := strings.Fields(platform), strings.Fields(version)
	if len(words) >= len(name) && slices.Equal(words[:len(name)], name) {
		name = nil
	}
	return strings.Join(append(name, words...), " ")
}

// addXLAFlag appends to XLA_FLAGS, which a plugin reads when it is loaded, unless the user set the flag. It tells whether the flag has
// this value now.
func addXLAFlag(flag string) bool {
	name, _, _ := strings.Cut(flag, "=")
	now := os.Getenv("XLA_FLAGS")
	if strings.Contains(now, name+"=") {
		return slices.Contains(strings.Fields(now), flag)
	}
	_ = os.Setenv("XLA_FLAGS", strings.TrimSpace(now+" "+flag)) // fails only for names with '=' or NUL
	return true
}
