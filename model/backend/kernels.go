package backend

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"teamtalk/model/backend/tuned"
)

// kernels is a folder in which XLA keeps, for every product and fusion, which kernel it found fastest on a card
// (--xla_gpu_per_fusion_autotune_cache_dir), so that a later process neither measures again nor chooses otherwise: kernels round
// sums in different orders, and a run would part from the same run made before. Some come with the program ([tuned]).
type kernels struct {
	dir      string
	card     func() string // what is measured holds for; "" where the driver does not tell
	sessions *sessions
}

// kernelsOf is the folder for a plugin's file below a cache folder; the choices of one build of XLA are not those of another. It
// holds those that this program brings along for the build.
func kernelsOf(cache, plugin string, card func() string) (kernels, error) {
	build, err := buildOf(plugin)
	if err != nil {
		return kernels{}, err
	}
	k := kernels{filepath.Join(cache, "teamtalk", "xla-autotune", build), card, &sessions{}}
	if err := errors.Join(os.MkdirAll(k.choices(), 0o755), os.MkdirAll(k.programs(), 0o755)); err != nil {
		return kernels{}, err
	}
	set, err := tuned.Of(build)
	if err != nil {
		return kernels{}, err
	}
	if err := set.Write(k.dir); err != nil {
		return kernels{}, err
	}
	try, err := os.CreateTemp(k.choices(), ".tmp_*") // a folder that has everything may still take nothing
	if err != nil {
		return kernels{}, err
	}
	return k, errors.Join(try.Close(), os.Remove(try.Name()))
}

// kernelsFor is the folder of kernels in the user's cache, or, as in a container that may not write there, among the user's temporary
// files; either has what the program brings along. Where there can be none, XLA measures each time.
func kernelsFor(plugin string) kernels {
	card := cardOf()
	cache, err := os.UserCacheDir()
	if err == nil {
		var k kernels
		if k, err = kernelsOf(cache, plugin, card); err == nil {
			return k
		}
	}
	cache, other := ownTemporary()
	if other == nil {
		var k kernels
		if k, other = kernelsOf(cache, plugin, card); other == nil {
			fmt.Fprintf(os.Stderr, "backend: the kernels that XLA finds fastest are kept in %s, since they cannot be in the user's cache (%v); XDG_CACHE_HOME names another\n", cache, err)
			return k
		}
	}
	fmt.Fprintf(os.Stderr, "backend: no folder for the kernels that XLA finds fastest (%v): every start measures, and processes may choose different ones; XDG_CACHE_HOME names a folder\n", errors.Join(err, other))
	return kernels{}
}

// ownTemporary is a folder for temporary files that is this user's alone.
func ownTemporary() (string, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("teamtalk-%d", os.Getuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || !ownedByUser(info) {
		return "", fmt.Errorf("%s is not this user's alone", dir)
	}
	return dir, nil
}

// buildOf names a build of a plugin: the file's name and the hash of its size, first and last MiB. The whole file has hundreds of
// megabytes.
func buildOf(plugin string) (string, error) {
	f, err := os.Open(plugin)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	const part = 1 << 20
	h := sha256.New()
	fmt.Fprintln(h, info.Size())
	for _, at := range []int64{0, max(0, info.Size()-part)} {
		if _, err := io.Copy(h, io.NewSectionReader(f, at, part)); err != nil {
			return "", err
		}
	}
	return filepath.Base(plugin) + "-" + hex.EncodeToString(h.Sum(nil))[:12], nil
}

// choices is XLA's own folder. programs has a file for each program that was compiled with it, in a folder for each kind of card.
func (k kernels) choices() string { return filepath.Join(k.dir, tuned.Choices) }

func (k kernels) programs() string { return filepath.Join(k.dir, tuned.Programs) }

// cardOf asks the driver, while the plugin opens, what the first visible card is: its name and its clock, on which XLA's own name for it
// depends.
func cardOf() func() string {
	f := sync.OnceValue(func() string {
		line, err := QueryGPU("name,clocks.max.sm")
		if err != nil {
			fmt.Fprintf(os.Stderr, "backend: nvidia-smi does not say what card this is (%v): at every start one process at a time compiles\n", err)
			return ""
		}
		if first := firstGPU(os.Getenv(VisibleDevices)); strings.HasPrefix(first, "MIG-") { // a part of the card that the line is of
			line += " " + first
		}
		return tuned.Card(line)
	})
	go f()
	return f
}

// state changes when a choice is added or replaced.
func (k kernels) state() string {
	var b strings.Builder
	devices, _ := os.ReadDir(k.choices()) // what cannot be read does not change
	for _, device := range devices {
		choices, _ := os.ReadDir(filepath.Join(k.choices(), device.Name()))
		for _, c := range choices {
			if info, err := c.Info(); err == nil {
				fmt.Fprintln(&b, device.Name(), c.Name(), info.Size(), info.ModTime().UnixNano())
			}
		}
	}
	return b.String()
}

func exists(path string) bool {
	if path == "" {
		return false
	}
	_, err := os.Stat(path)
	return err == nil
}
