// Package tuned holds the kernels that recipe/results/climb/team-talk-1.5b-again ran with: for every product and fusion of its programs, which
// implementation XLA found fastest. Kernels add in different orders, and which is fastest is measured anew on every
// machine, with a different result each time. With the same kernels a run gives the bytes of the run before, and its start does not wait
// for the measuring.
//
// There is one file for each build of a plugin, written by teamtalk/model/backend/tuned/collect. Each of its lines holds a choice,
//
//	DEVICE/FINGERPRINT BASE64
//
// DEVICE being XLA's hash of the card and its clocks, FINGERPRINT that of the instruction, and the rest its AutotuneEntry
// (xla/autotune_cache.proto) as XLA wrote it; or it holds
//
//	program CARD/SHA256
//
// CARD being the driver's name for a card and its clock, and the rest of a program's StableHLO, all of whose choices for such a card are
// there. Lines that begin with # say where they come from.
package tuned

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The folders that a set is written to and read from, below one of the caller's.
const (
	Choices  = "kernels"  // DEVICE/FINGERPRINT.pb, as XLA keeps them
	Programs = "programs" // CARD/SHA256, empty files
)

//go:embed *.txt
var files embed.FS

// Set is what a file says.
type Set struct {
	Comments []string          // without the #
	Choices  map[string][]byte // DEVICE/FINGERPRINT: entry
	Programs map[string]bool   // CARD/SHA256
}

// Card is a card's name in a set: what the driver says of it, as a file name.
func Card(driver string) string {
	return strings.Trim(notInNames.ReplaceAllString(driver, "-"), "-")
}

// Of is the set for a build of a plugin, as its file is named. A build that nobody measured has an empty set.
func Of(build string) (Set, error) {
	raw, err := files.ReadFile(build + ".txt")
	if errors.Is(err, fs.ErrNotExist) {
		return Set{}, nil
	}
	if err != nil {
		return Set{}, err
	}
	s, err := Parse(raw)
	if err != nil {
		return Set{}, fmt.Errorf("kernels of %s: %w", build, err)
	}
	return s, nil
}

var (
	choiceName  = regexp.MustCompile(`^[0-9a-f]{16}/[0-9a-f]{32}$`)
	programName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}/[0-9a-f]{64}$`)
	notInNames  = regexp.MustCompile(`[^A-Za-z0-9_]+`)
)

// Parse reads a file.
func Parse(raw []byte) (Set, error) {
	s := Set{Choices: map[string][]byte{}, Programs: map[string]bool{}}
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if comment, ok := strings.CutPrefix(line, "#"); ok {
			s.Comments = append(s.Comments, strings.TrimSpace(comment))
			continue
		}
		name, value, _ := strings.Cut(line, " ")
		switch {
		case name == "program" && programName.MatchString(value):
			s.Programs[value] = true
		case choiceName.MatchString(name):
			entry, err := base64.StdEncoding.DecodeString(value)
			if err != nil || len(entry) == 0 {
				return Set{}, fmt.Errorf("line %d: %q is no choice: expected base64 after the name", n, line)
			}
			s.Choices[name] = entry
		default:
			return Set{}, fmt.Errorf("line %d: %q is neither DEVICE/FINGERPRINT BASE64 nor program CARD/SHA256", n, line)
		}
	}
	return s, lines.Err()
}

// Text is the file of a set, which Parse reads, in sorted order.
func (s Set) Text() []byte {
	var b bytes.Buffer
	for _, c := range s.Comments {
		fmt.Fprintln(&b, "#", c)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Choices)) {
		fmt.Fprintln(&b, name, base64.StdEncoding.EncodeToString(s.Choices[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Programs)) {
		fmt.Fprintln(&b, "program", name)
	}
	return b.Bytes()
}

// Write makes the folders below dir hold the set. Choices that were measured there for the same instructions give way, others stay.
// Several processes may write at once.
func (s Set) Write(dir string) error {
	for _, name := range slices.Sorted(maps.Keys(s.Choices)) {
		path := filepath.Join(dir, Choices, filepath.FromSlash(name)+".pb")
		if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, s.Choices[name]) {
			continue
		}
		if err := replace(path, s.Choices[name]); err != nil {
			return err
		}
	}
	for name := range s.Programs {
		path := filepath.Join(dir, Programs, filepath.FromSlash(name))
		if _, err := os.Stat(path); err == nil {
			continue
		}
		if err := replace(path, nil); err != nil {
			return err
		}
	}
	return nil
}

// replace writes a file that no process ever sees half of.
func replace(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp_*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// Read is what the folders below dir hold.
func Read(dir string) (Set, error) {
	s := Set{Choices: map[string][]byte{}, Programs: map[string]bool{}}
	devices, err := os.ReadDir(filepath.Join(dir, Choices))
	if err != nil {
		return Set{}, err
	}
	for _, device := range devices {
		entries, err := os.ReadDir(filepath.Join(dir, Choices, device.Name()))
		if err != nil {
			return Set{}, err
		}
		for _, e := range entries {
			fingerprint, ok := strings.CutSuffix(e.Name(), ".pb")
			name := device.Name() + "/" + fingerprint
			if !ok || !choiceName.MatchString(name) {
				continue // a file that XLA was about to rename
			}
			if s.Choices[name], err = os.ReadFile(filepath.Join(dir, Choices, device.Name(), e.Name())); err != nil {
				return Set{}, err
			}
		}
	}
	cards, err := os.ReadDir(filepath.Join(dir, Programs))
	if err != nil {
		return Set{}, err
	}
	for _, card := range cards {
		if !card.IsDir() {
			continue
		}
		programs, err := os.ReadDir(filepath.Join(dir, Programs, card.Name()))
		if err != nil {
			return Set{}, err
		}
		for _, p := range programs {
			if name := card.Name() + "/" + p.Name(); programName.MatchString(name) {
				s.Programs[name] = true
			}
		}
	}
	return s, nil
}

// Add takes over what another set has and this one has not: what runs were made with stays as it is.
func (s Set) Add(other Set) {
	for name, entry := range other.Choices {
		if _, ok := s.Choices[name]; !ok {
			s.Choices[name] = entry
		}
	}
	maps.Copy(s.Programs, other.Programs)
}
