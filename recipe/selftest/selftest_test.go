package selftest

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"teamtalk/model/backend"
	"teamtalk/model/backend/backendtest"
)

var update = flag.Bool("update", false, "sample the golden replies again, on the Go backend")

func TestMain(m *testing.M) {
	flag.Parse()
	if *update {
		if err := sampleGolden(); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

func sampleGolden() error {
	dev, err := backend.Open(backend.Go)
	if err != nil {
		return err
	}
	defer dev.Close()
	s, err := open(dev)
	if err != nil {
		return err
	}
	defer s.Close()
	replies, err := s.reply(context.Background())
	if err != nil {
		return err
	}
	var out bytes.Buffer
	for i, r := range replies {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		out.WriteString([]string{"[", ","}[min(i, 1)] + "\n" + string(line))
	}
	out.WriteString("\n]\n")
	golden = out.Bytes()
	return os.WriteFile("golden.json", golden, 0o644)
}

func TestRun(t *testing.T) {
	for _, name := range backendtest.Names(t) {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if err := Run(t.Context(), &out, backend.Kind(name)); err != nil {
				t.Fatal(err)
			}
			want := regexp.MustCompile(`^grader and talk counter: ok \(\d\d+ checks\)\nbackend: ` + name + `.*\nmodel, against golden replies: ok \(\d{3,} checks\)\nselftest: ok \(\d{3,} checks\)\n$`)
			if !want.MatchString(out.String()) {
				t.Errorf("it says\n%s", out.String())
			}
		})
	}
}

func TestRunNamesTheBackendThatFails(t *testing.T) {
	t.Setenv("TEAMTALK_PJRT_CPU", "/no/such/plugin.so")
	var out strings.Builder
	if err := Run(t.Context(), &out, backend.XLACPU); err == nil || !strings.Contains(err.Error(), "/no/such/plugin.so") {
		t.Errorf("error %v, want the plugin that was named", err)
	}
	if !strings.HasPrefix(out.String(), "grader and talk counter: ok") {
		t.Errorf("it says %q first, want the instruments, which need no backend", out.String())
	}
}

// A self-test that cannot fail shows nothing: each fault that it is for makes it fail.
func TestFaultsAreFound(t *testing.T) {
	dev, err := backend.Open(backend.Kind(backendtest.Fastest(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	s, err := open(dev)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	read := func() (rs []goldenReply) {
		if err := json.Unmarshal(golden, &rs); err != nil {
			t.Fatal(err)
		}
		return rs
	}
	talks := map[bool]int{}
	for _, r := range read() {
		talks[r.Team]++
	}
	if talks[true] != goldenProblems || talks[false] != goldenProblems {
		t.Errorf("golden replies by prompt: %v, want as many under each", talks)
	}
	f32 := tolerancesOf(backend.Go)
	for _, c := range []struct {
		fault   string
		plant   func(sampled, want []goldenReply)
		t       tolerances
		message string
	}{
		{"other noise: a token falls otherwise", func(sampled, _ []goldenReply) { sampled[3].IDs[2]++ }, f32, "reply 1 to problem 1 (team prompt: true): sampled"},
		{"another model: one golden log-probability is off", func(_, want []goldenReply) { want[5].Logp[1] += 0.01 }, f32, "token 1 of golden reply 1 to problem 2"},
		{"the sampler's layers differ from training's", func(sampled, _ []goldenReply) { sampled[0].Logp[0] -= 0.01 }, f32, "token 0 of reply just sampled 0 to problem 0"},
		{"a reply is missing", func(_, want []goldenReply) { want[0] = goldenReply{} }, f32, "reply 0 to problem 0"},
		{"in bf16 one token may move, all of them may not", func(sampled, _ []goldenReply) {
			for i := range sampled {
				for k := range sampled[i].Logp {
					sampled[i].Logp[k] += 0.06
				}
			}
		}, tolerancesOf(backend.CUDA), "on average; expected at most 0.05"},
	} {
		sampled, want := read(), read()
		c.plant(sampled, want)
		if _, err := s.compare(sampled, want, c.t); err == nil || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: error %v, want %q", c.fault, err, c.message)
		}
	}
	if _, err := s.compare(read(), read(), f32); err != nil {
		t.Errorf("without a fault: %v", err)
	}
	if _, err := s.compare(read()[:3], read(), f32); err == nil {
		t.Error("replies are missing and nothing is said")
	}
}
