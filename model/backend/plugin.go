package backend

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// pluginFiles are the places of a plugin's library below the folder of a Python environment's packages, or below the
// project's plugin folder, most wanted first.
var pluginFiles = map[Kind][]string{
	CUDA: {
		"jax_plugins/xla_cuda13/xla_cuda_plugin.so",
		"jax_plugins/xla_cuda12/xla_cuda_plugin.so",
	},
	XLACPU: {
		"lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so",
		"xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so",
	},
}

// pluginMake is the command that installs each plugin.
var pluginMake = map[Kind]string{CUDA: "make plugin-cuda", XLACPU: "make plugin"}

// pluginVariable names the file itself and wins over every search.
var pluginVariable = map[Kind]string{CUDA: "TEAMTALK_PJRT_CUDA", XLACPU: "TEAMTALK_PJRT_CPU"}

// FindPlugin returns the absolute path of a backend's PJRT plugin: the file that TEAMTALK_PJRT_CUDA or TEAMTALK_PJRT_CPU
// names, else the project's .plugin folder (looked for from the working directory and from the program upwards), else the
// packages of python3. The error says where it looked and what installs one.
func FindPlugin(kind Kind) (string, error) {
	if path := os.Getenv(pluginVariable[kind]); path != "" {
		abs, err := filepath.Abs(path)
		if err != nil {
			return "", fmt.Errorf("%s: %w", pluginVariable[kind], err)
		}
		if err := isFile(abs); err != nil {
			return "", fmt.Errorf("%s names no library: %w", pluginVariable[kind], err)
		}
		return abs, nil
	}
	dirs := append(pluginDirs(), pythonDirs()...)
	for _, dir := range dirs {
		for _, file := range pluginFiles[kind] {
			path := filepath.Join(dir, file)
			if isFile(path) == nil {
				return path, nil
			}
		}
	}
	places := append([]string{".plugin above the working directory and above the program"}, dirs...)
	return "", fmt.Errorf("no plugin found (looked for %s in %s): run `%s` in the project, or set %s to the library",
		strings.Join(pluginFiles[kind], " and "), strings.Join(places, ", "), pluginMake[kind], pluginVariable[kind])
}

func isFile(path string) error {
	s, err := os.Stat(path)
	if err == nil && s.IsDir() {
		err = fmt.Errorf("%s is a folder", path)
	}
	return err
}

// pluginDirs are the existing .plugin folders above the working directory and above the program.
func pluginDirs() []string {
	var dirs []string
	seen := map[string]bool{}
	add := func(from string) {
		for {
			dir := filepath.Join(from, ".plugin")
			if s, err := os.Stat(dir); err == nil && s.IsDir() && !seen[dir] {
				seen[dir] = true
				dirs = append(dirs, dir)
			}
			up := filepath.Dir(from)
			if up == from {
				return
			}
			from = up
		}
	}
	if wd, err := os.Getwd(); err == nil {
		add(wd)
	}
	if exe, err := os.Executable(); err == nil {
		add(filepath.Dir(exe))
	}
	return dirs
}

// pythonDirs are the package folders of the python3 on the PATH, if there is one.
func pythonDirs() []string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "python3", "-c",
		"import sys; print('\\n'.join(p for p in sys.path if p.endswith('-packages')))").Output()
	if err != nil {
		return nil
	}
	return strings.Fields(string(out))
}

// cudaDataDir is the folder of CUDA's libdevice and compilers that belongs to a plugin, or "".
func cudaDataDir(plugin string) string {
	packages := filepath.Dir(filepath.Dir(filepath.Dir(plugin)))
	for _, dir := range []string{"nvidia/cu13", "nvidia/cuda_nvcc"} {
		path := filepath.Join(packages, dir)
		if s, err := os.Stat(path); err == nil && s.IsDir() {
			return path
		}
	}
	return ""
}
