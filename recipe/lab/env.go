package lab

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"teamtalk/model/backend"
	"teamtalk/recipe/artifact"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
)

// arithmetic are the modules whose versions can change numbers.
var arithmetic = []string{"github.com/gomlx/go-xla", "github.com/gomlx/gomlx", "golang.org/x/text"}

// module is this project's, as go.mod names it.
const module = "teamtalk"

// environment describes this process, without a host name or a path.
func (l *Lab) environment() artifact.Env {
	e := artifact.Env{
		Started: time.Now().UTC().Format(time.RFC3339), Command: artifact.CommandLine(l.options.Command),
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(),
		Backend: string(l.options.Backend), Device: "none: the plan alone was written",
	}
	if l.Device != nil {
		e.Backend, e.Device, e.Devices = string(l.Device.Kind), deviceName(l.Device), 1
	}
	if w := l.workers; w != nil {
		e.Backend, e.Device, e.Devices, e.Processes = w.device.Backend, w.device.Device, w.devices, len(w.seats)
		e.Plugin, e.Driver = w.device.Plugin, w.device.Driver
	}
	e.Commit, e.Dirty = commit()
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			for _, m := range arithmetic {
				if d.Path == m {
					e.Modules = append(e.Modules, artifact.Module{Path: d.Path, Version: d.Version})
				}
			}
		}
	}
	if l.Device != nil && l.Device.Plugin != "" {
		e.Plugin = artifact.Plugin{Name: filepath.Base(l.Device.Plugin), Version: l.Device.Version, SHA256: fileSum(l.Device.Plugin)}
	}
	if l.Device != nil && l.Device.Kind == backend.CUDA {
		e.Driver = nvidia("driver_version")
	}
	return e
}

// commit is the program's: what TEAMTALK_COMMIT says, else what the build recorded, else that of the working tree that this
// process runs in, if it is this project's; else empty. A tree with changes or new files is dirty.
func commit() (rev string, dirty bool) {
	if rev = os.Getenv("TEAMTALK_COMMIT"); rev != "" { // of a binary that holds none and was carried away from its working tree
		return strings.CutSuffix(rev, "-dirty")
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				rev = s.Value
			case "vcs.modified":
				dirty = s.Value == "true"
			}
		}
	}
	if rev != "" {
		return rev, dirty
	}
	return workingTree()
}

// workingTree asks git, which `go run` and builds with -buildvcs=false do not.
func workingTree() (rev string, dirty bool) {
	git := func(args ...string) (string, bool) {
		out, err := exec.Command("git", args...).Output()
		return strings.TrimSpace(string(out)), err == nil
	}
	top, ok := git("rev-parse", "--show-toplevel")
	if !ok {
		return "", false
	}
	// Another project's commit would say nothing of this program.
	if mod, err := os.ReadFile(filepath.Join(top, "go.mod")); err != nil || !strings.HasPrefix(string(mod), "module "+module+"\n") {
		return "", false
	}
	if rev, ok = git("rev-parse", "HEAD"); !ok {
		return "", false
	}
	// A file that nobody added is a change of the program only if go would compile it. A notebook is none: what a cell changes stands in
	// the plan, and a notebook that was executed has changed.
	changes, ok := git("status", "--porcelain", "--untracked-files=no", "--", top, ":(top,exclude)*.ipynb")
	added, listed := git("ls-files", "--others", "--exclude-standard", "--full-name", top+"/*.go")
	return rev, !ok || !listed || changes != "" || added != ""
}

// deviceName is what the numbers were computed on: the GPU's name, or the CPU.
func deviceName(d *backend.Device) string {
	if d.Kind == backend.CUDA {
		return nvidia("name")
	}
	raw, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for _, line := range strings.Split(string(raw), "\n") {
			if name, ok := strings.CutPrefix(line, "model name"); ok {
				return strings.TrimSpace(strings.TrimLeft(name, " \t:"))
			}
		}
	}
	return runtime.GOARCH + " CPU"
}

// nvidia asks the driver one thing about the GPU that this process computes on; "" where it does not say.
func nvidia(query string) string {
	answer, err := backend.QueryGPU(query)
	if err != nil {
		return ""
	}
	return answer
}

func fileSum(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

func dtypeName(t dtypes.DType) string {
	if t == dtypes.BFloat16 {
		return "bfloat16"
	}
	return "float32"
}
