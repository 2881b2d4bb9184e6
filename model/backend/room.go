package backend

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Room is the device memory that this process can take, in bytes: what was free when the device was opened, before anything of
// ours lay there. On the CPU it is the machine's, or what the container's limit leaves. 0: the system does not tell.
func (d *Device) Room() int64 {
	if d.room == nil {
		return 0
	}
	return d.room()
}

// gpuShare is how much of a card XLA may take (memory_fraction).
const gpuShare = 0.92

// gpuRoom asks the driver, while the plugin opens, what the first visible card has and what others use of it.
func gpuRoom() func() int64 {
	f := sync.OnceValue(func() int64 {
		line, err := QueryGPU("memory.total,memory.used")
		if err != nil {
			return 0
		}
		total, used, err := cardLine(line)
		if err != nil {
			return 0
		}
		return roomOf(total, used)
	})
	done := make(chan struct{})
	go func() { f(); close(done) }()
	return func() int64 { <-done; return f() }
}

// roomOf is what XLA may take of a card, both in bytes: its share of the whole, and no more than is free.
func roomOf(total, used int64) int64 { return max(0, min(int64(gpuShare*float64(total)), total-used)) }

// firstGPU is the first name in CUDA_VISIBLE_DEVICES, as nvidia-smi's -i takes it.
func firstGPU(visible string) string {
	first, _, _ := strings.Cut(visible, ",")
	if first = strings.TrimSpace(first); first == "" {
		return "0"
	}
	return first
}

// cardLine reads "143771, 4" (MiB) into bytes.
func cardLine(line string) (total, used int64, err error) {
	a, b, ok := strings.Cut(strings.TrimSpace(line), ",")
	t, errT := strconv.ParseInt(strings.TrimSpace(a), 10, 64)
	u, errU := strconv.ParseInt(strings.TrimSpace(b), 10, 64)
	if !ok || errT != nil || errU != nil {
		return 0, 0, fmt.Errorf("nvidia-smi says %q, expected total and used MiB", line)
	}
	return t << 20, u << 20, nil
}

// hostRoom is what the machine, and the container's limit if there is one, leave free now.
func hostRoom() func() int64 {
	free := memAvailable("/proc/meminfo")
	for _, g := range []struct{ limit, used string }{
		{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
		{"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"},
	} {
		limit, used := readNumber(g.limit), readNumber(g.used)
		if limit > 0 && used > 0 && limit-used < free {
			free = max(0, limit-used)
		}
	}
	return func() int64 { return free }
}

// memAvailable is MemAvailable of a file like /proc/meminfo, in bytes; 0 when it does not say.
func memAvailable(name string) int64 {
	return kilobytes(name, "MemAvailable")
}

// readNumber is the number that a file holds; 0 when it holds none ("max").
func readNumber(name string) int64 {
	raw, err := os.ReadFile(name)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
