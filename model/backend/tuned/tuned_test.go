package tuned

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const (
	device = "ed0e56ab8b2a0ecb"
	first  = device + "/000de3da15600e9241f3cca2680eb984"
	second = device + "/00abbc0dfaec0d1c688a6d6d545d774b"
	text   = "# a card\n" + first + " Zmlyc3Q=\n" + second + " c2Vjb25k\nprogram " + known + "\n"
	known  = "NVIDIA-H200-1980/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

// XLA looks an entry up by the name of its file and believes what is in it: every entry has to say that name itself.
func TestSetsThatTheProgramBringsAlong(t *testing.T) {
	names, err := fs.Glob(files, "*.txt")
	if err != nil || len(names) == 0 {
		t.Fatalf("sets %v, error %v", names, err)
	}
	for _, name := range names {
		s, err := Of(strings.TrimSuffix(name, ".txt"))
		if err != nil {
			t.Fatal(err)
		}
		if raw, err := files.ReadFile(name); err != nil || !bytes.Equal(raw, s.Text()) {
			t.Errorf("%s is not what its own set writes, error %v", name, err)
		}
		if len(s.Comments) == 0 || len(s.Choices) == 0 || len(s.Programs) == 0 {
			t.Errorf("%s: %d comments, %d choices, %d programs", name, len(s.Comments), len(s.Choices), len(s.Programs))
		}
		for choice, entry := range s.Choices {
			device, fingerprint, _ := strings.Cut(choice, "/")
			if !bytes.Contains(entry, []byte(device)) || !bytes.Contains(entry, []byte(fingerprint)) {
				t.Errorf("%s: the entry %s is another's", name, choice)
			}
		}
	}
	if s, err := Of("xla_cuda_plugin.so-000000000000"); err != nil || len(s.Choices) > 0 {
		t.Errorf("a build that nobody measured: %v, error %v", s, err)
	}
}

func TestParse(t *testing.T) {
	s, err := Parse([]byte(text))
	if err != nil || string(s.Text()) != text || string(s.Choices[first]) != "first" || !s.Programs[known] {
		t.Errorf("%v, error %v", s, err)
	}
	for _, c := range []struct{ why, line, want string }{
		{"cut off in the middle", first + " Zmlyc3", "expected base64"},
		{"cut off before the entry", first, "expected base64"},
		{"a path out of the folder", "../../../etc/passwd Zmlyc3Q=", "neither"},
		{"a path in the program's name", "program ../" + known[17:], "neither"},
		{"a program without a card", "program " + known[17:], "neither"},
		{"an empty line", "", "neither"},
	} {
		_, err := Parse([]byte(text + c.line + "\n"))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "line 5") {
			t.Errorf("%s: error %v, want line 5 and %q", c.why, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(text))
	f.Add([]byte(first + " Zmlyc3Q=\r\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := Parse(raw)
		if err != nil {
			return
		}
		again, err := Parse(s.Text())
		if err != nil || !bytes.Equal(again.Text(), s.Text()) {
			t.Errorf("%q gives %q, error %v", s.Text(), again.Text(), err)
		}
	})
}

// What the program brings along takes the place of what was measured; what it does not know stays.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	set, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	own := device + "/ffffffffffffffffffffffffffffffff"
	measured := Set{Choices: map[string][]byte{first: []byte("slower"), own: []byte("own")}, Programs: map[string]bool{}}
	if err := measured.Write(dir); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 { // processes that start together
		all.Go(func() {
			if err := set.Write(dir); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	found, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{first: "first", second: "second", own: "own"} {
		if got := string(found.Choices[name]); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if len(found.Choices) != 3 || len(found.Programs) != 1 || !found.Programs[known] {
		t.Errorf("%v", found)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*", "*", ".tmp_*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, error %v", left, err)
	}
	before, err := os.Stat(filepath.Join(dir, Choices, first+".pb"))
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Write(dir); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(filepath.Join(dir, Choices, first+".pb")); err != nil || !os.SameFile(before, after) {
		t.Errorf("a choice that was right is written again, error %v", err)
	}
	if err := set.Write(filepath.Join(dir, Choices, first+".pb")); err == nil {
		t.Error("a folder that cannot be made is no error")
	}
}

func TestReadPassesOverWhatIsNoChoice(t *testing.T) {
	dir := t.TempDir()
	set, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Write(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".tmp_000de3da15600e9241f3cca2680eb984_12_34", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(dir, Choices, device, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Read(dir)
	if err != nil || len(s.Choices) != 2 {
		t.Errorf("%v, error %v", s, err)
	}
	if err := os.WriteFile(filepath.Join(dir, Programs, known[17:]), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if s, err := Read(dir); err != nil || len(s.Programs) != 1 {
		t.Errorf("a program of no card: %v, error %v", s.Programs, err)
	}
	if _, err := Read(t.TempDir()); err == nil {
		t.Error("a folder that is no cache can be read")
	}
}

func TestCard(t *testing.T) {
	for line, want := range map[string]string{
		"NVIDIA H200, 1980":                   "NVIDIA-H200-1980",
		"NVIDIA A100-SXM4-80GB, 1410":         "NVIDIA-A100-SXM4-80GB-1410",
		"../../etc/passwd":                    "etc-passwd",
		"NVIDIA H200, [N/A] MIG-5f0e-11ee ":   "NVIDIA-H200-N-A-MIG-5f0e-11ee",
		"NVIDIA GeForce RTX 4090 (mobile), 1": "NVIDIA-GeForce-RTX-4090-mobile-1",
	} {
		if got := Card(line); got != want || !programName.MatchString(got+"/"+known[17:]) {
			t.Errorf("%q is %q, want %q, which a set can name", line, got, want)
		}
	}
}
