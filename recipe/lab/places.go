package lab

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"teamtalk/model/backend"
)

// PerGPU asks for one worker process for each visible GPU.
const PerGPU = -1

// place is where a worker process computes.
type place struct {
	name    string   // "gpu0", the first visible GPU; "gpu0.1" where it shares that; "cpu0"
	env     []string // what it sees: variables besides this process's own
	sharers int      // processes on the same device, this one included
}

func (p place) gpu() bool { return strings.HasPrefix(p.name, "gpu") }

// places says how many processes share the work, and where each computes; fewer than two: this process does it alone. It settles
// how many runs go in lockstep where nothing else does.
func (l *Lab) places() ([]place, error) {
	o := &l.options
	gpus := l.gpus()
	n := o.Processes
	if n == PerGPU {
		n = len(gpus)
	}
	if n < 2 {
		return nil, nil
	}
	if len(o.Worker) == 0 {
		return nil, fmt.Errorf("%d processes: expected the command of a worker process, found none; or ask for one process", n)
	}
	if len(gpus) == 0 && o.Backend == backend.CUDA {
		return nil, fmt.Errorf("%d processes on the backend cuda: expected a visible GPU, found none; see nvidia-smi and %s", n, backend.VisibleDevices)
	}
	if o.Lockstep == 0 {
		o.Lockstep = (len(l.Plan.Runs()) + n - 1) / n
	}
	if n = min(n, max(len(l.undoneGroups()), len(l.undoneRounds(evalPiece)), len(l.undoneRounds(testPiece)))); n < 2 {
		return nil, nil // one piece of each kind is left, at most
	}
	if len(gpus) == 0 {
		return cpuPlaces(n), nil
	}
	o.Backend = backend.CUDA
	return gpuPlaces(n, gpus), nil
}

// gpus are the GPUs that workers may use: none if the backend is, or will be, another.
func (l *Lab) gpus() []string {
	switch l.options.Backend {
	case backend.CUDA:
	case backend.Auto, "":
		if _, err := backend.FindPlugin(backend.CUDA); err != nil {
			return nil
		}
	default:
		return nil
	}
	return backend.VisibleGPUs()
}

// gpuPlaces deals n processes out to GPUs.
func gpuPlaces(n int, gpus []string) []place {
	on := make([]int, len(gpus)) // how many processes
	for i := range n {
		on[i%len(gpus)]++
	}
	var order []string
	if _, listed := os.LookupEnv(backend.VisibleDevices); !listed && os.Getenv("CUDA_DEVICE_ORDER") == "" {
		order = []string{"CUDA_DEVICE_ORDER=PCI_BUS_ID"} // the numbers are nvidia-smi's
	}
	places := make([]place, n)
	for i := range places {
		gpu := i % len(gpus)
		places[i] = place{name: fmt.Sprintf("gpu%d", gpu), env: append([]string{backend.VisibleDevices + "=" + gpus[gpu]}, order...), sharers: on[gpu]}
		if on[gpu] > 1 {
			places[i].name += fmt.Sprintf(".%d", i/len(gpus))
		}
	}
	return places
}

// cpuPlaces divides the processors among n processes.
func cpuPlaces(n int) []place {
	var env []string
	if os.Getenv("NPROC") == "" { // how many threads XLA's CPU client starts
		env = []string{"NPROC=" + strconv.Itoa(max(1, runtime.NumCPU()/n))}
	}
	places := make([]place, n)
	for i := range places {
		places[i] = place{name: fmt.Sprintf("cpu%d", i), env: env, sharers: n}
	}
	return places
}
