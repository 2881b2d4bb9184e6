package backend

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// PeakHostBytes is the most memory that this process has had resident, 0 where the system does not tell (it tells on Linux).
func PeakHostBytes() int64 {
	return kilobytes("/proc/self/status", "VmHWM")
}

// kilobytes is a field of a file like /proc/meminfo ("MemAvailable:  123 kB"), in bytes; 0 when it does not say.
func kilobytes(name, field string) int64 {
	f, err := os.Open(name)
	if err != nil {
		return 0
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), field+":"); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				return 0
			}
			return kb << 10
		}
	}
	return 0
}

// watch polls the driver for the GPU memory that this process holds, until stop is closed. go-xla v0.1.4 wraps no memory
// statistics; XLA's allocator keeps what it has taken, so that a poll now and then sees the peak.
func (d *Device) watch(stop <-chan struct{}) {
	pid := strconv.Itoa(os.Getpid())
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		out, err := exec.Command("nvidia-smi", append([]string{"--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"}, onFirstGPU()...)...).Output()
		if err != nil {
			return
		}
		total, mine := int64(0), int64(0)
		for _, line := range strings.Split(string(out), "\n") {
			p, mb, ok := strings.Cut(line, ",")
			n, err := strconv.ParseInt(strings.TrimSpace(mb), 10, 64)
			if !ok || err != nil {
				continue
			}
			total += n << 20
			if strings.TrimSpace(p) == pid {
				mine += n << 20
			}
		}
		if mine == 0 {
			mine = total // inside a container the driver may name no process of ours
		}
		if mine == 0 {
			mine = cardMemory()
		}
		for {
			old := d.peak.Load()
			if mine <= old || d.peak.CompareAndSwap(old, mine) {
				break
			}
		}
	}
}

// cardMemory is what is in use on the first visible GPU, by whomever.
func cardMemory() int64 {
	used, err := QueryGPU("memory.used")
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(used, 10, 64)
	if err != nil {
		return 0
	}
	return n << 20
}

// PeakBytes is the most GPU memory that was seen in use; 0 on other backends.
func (d *Device) PeakBytes() int64 { return d.peak.Load() }

// peakCounter keeps the type out of Device's declaration.
type peakCounter = atomic.Int64
