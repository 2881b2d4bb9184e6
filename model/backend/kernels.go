package backend

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"teamtalk/model/backend/tuned"
	"teamtalk/model/flock"
)

// kernels is a folder in which XLA keeps, for every product and fusion, which kernel it found fastest on a card
// (--xla_gpu_per_fusion_autotune_cache_dir), so that a later process neither measures again nor chooses otherwise: kernels round
// sums in different orders, and a run would part from the same run made before.
//
// XLA guards the files against half-written ones, not against processes that measure at the same time, each of which goes on with
// its own choice. So a program that was never compiled with this folder is compiled by one process at a time.
type kernels struct{ dir string }

// measuring is how long a process waits for another that measures. The largest program of a 1.5B model took under a minute.
const measuring = 10 * time.Minute

// kernelsOf is the folder for a plugin's file below a cache folder; the choices of one build of XLA are not those of another. It
// holds those that this program brings along for the build.
func kernelsOf(cache, plugin string) (kernels, error) {
	build, err := buildOf(plugin)
	if err != nil {
		return kernels{}, err
	}
	k := kernels{filepath.Join(cache, "teamtalk", "xla-autotune", build)}
	if err := errors.Join(os.MkdirAll(k.choices(), 0o755), os.MkdirAll(k.programs(), 0o755)); err != nil {
		return kernels{}, err
	}
	set, err := tuned.Of(build)
	if err != nil {
		return kernels{}, err
	}
	return k, set.Write(k.dir)
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

// choices is XLA's own folder. programs has a file for each program that was compiled with it.
func (k kernels) choices() string { return filepath.Join(k.dir, tuned.Choices) }

func (k kernels) programs() string { return filepath.Join(k.dir, tuned.Programs) }

// choosing calls compile for the program with this hash, alone among processes unless the folder has its choices. That the folder
// cannot be used is no error: XLA then measures.
func (k kernels) choosing(program [sha256.Size]byte, compile func() error) error {
	known := filepath.Join(k.programs(), hex.EncodeToString(program[:]))
	if k.dir == "" || exists(known) {
		return compile()
	}
	ctx, cancel := context.WithTimeout(context.Background(), measuring)
	defer cancel()
	unlock, err := flock.Exclusive(ctx, filepath.Join(k.dir, "lock"))
	if err != nil {
		return compile()
	}
	if exists(known) { // another process measured meanwhile
		unlock()
		return compile()
	}
	defer unlock()
	if err := compile(); err != nil {
		return err
	}
	_ = os.WriteFile(known, nil, 0o644) // without it the next process waits for its turn, and finds the choices all the same
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
