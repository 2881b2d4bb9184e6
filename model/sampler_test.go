package model

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"teamtalk/model/checkpoint"
)

// consistent checks what holds of every completion of at most limit tokens.
func consistent(t *testing.T, c Completion, stop []int32, limit int, padding bool) {
	t.Helper()
	if padding {
		return
	}
	n := len(c.IDs)
	if n == 0 || n > limit || len(c.LogProbs) != n || len(c.Entropies) != n {
		t.Fatalf("completion of %d ids, %d log-probabilities, %d entropies; want as many of each, 1 to %d", n, len(c.LogProbs), len(c.Entropies), limit)
	}
	for i, id := range c.IDs {
		ends := slices.Contains(stop, id)
		if ends && i < n-1 {
			t.Errorf("the stop token %d is followed by %v", id, c.IDs[i+1:])
		}
		if i == n-1 && (c.Finish == "stop") != ends {
			t.Errorf("the completion ends with %d of stop tokens %v and finish %q", id, stop, c.Finish)
		}
		if lp, h := float64(c.LogProbs[i]), float64(c.Entropies[i]); !(lp <= 0 && lp > -100 && h >= 0 && h <= math.Log(320)+1e-5) {
			t.Errorf("token %d: log-probability %g, entropy %g", i, lp, h)
		}
	}
	if c.Finish == "length" && n != limit {
		t.Errorf("a completion of %d tokens ended by length, the limit is %d", n, limit)
	}
}

// The device's loop, taken whole, in pieces, or token by token, gives the same tokens; what is finished stays as it is.
func TestLoopInPieces(t *testing.T) {
	onBackends(t, func(t *testing.T, x *tiny) {
		s := x.sampler(t, &x.lora, x.adapter)
		request := Request{Prompts: x.prompts(t), MaxTokens: 20, Temperature: 0.9, TopP: 0.95}
		whole := sampleTokens(t, s, request.Prompts...)
		want, err := s.Sample(context.Background(), request)
		if err != nil {
			t.Fatal(err)
		}
		differ := 0
		for i := range want {
			for j := range want[i] {
				if !slices.Equal(want[i][j].IDs, whole[i][j].IDs) {
					differ++
				}
			}
		}
		if differ == 0 {
			t.Error("the nucleus changes no reply: the test does not show that it is there")
		}
		ends := map[bool]int{}
		for _, every := range []int{1, 7} {
			var before []Completion
			request.Every = every
			calls := 0
			request.Progress = func(now []Completion) {
				calls++
				for i, c := range now {
					consistent(t, c, stops, len(c.IDs), false) // at any moment a reply is as long as the limit so far, or done
					if before == nil {
						continue
					}
					b := before[i]
					if !slices.Equal(c.IDs[:len(b.IDs)], b.IDs) || !slices.Equal(c.LogProbs[:len(b.IDs)], b.LogProbs) {
						t.Errorf("row %d was %v and became %v", i, b.IDs, c.IDs)
					}
					if b.Finish == "stop" && len(c.IDs) != len(b.IDs) {
						t.Errorf("row %d was finished as %v and went on to %v", i, b.IDs, c.IDs)
					}
					if b.Finish != "stop" && len(c.IDs) == len(b.IDs) {
						t.Errorf("row %d stayed at %v and is not finished", i, b.IDs)
					}
				}
				before = now
			}
			got, err := s.Sample(context.Background(), request)
			if err != nil {
				t.Fatal(err)
			}
			longest := 0
			for i := range want {
				for j, c := range got[i] {
					consistent(t, c, stops, 20, false)
					if !slices.Equal(c.IDs, want[i][j].IDs) || !slices.Equal(c.LogProbs, want[i][j].LogProbs) || c.Finish != want[i][j].Finish {
						t.Errorf("every %d: completion %d of prompt %d is %v (%s), want %v (%s)", every, j, i, c.IDs, c.Finish, want[i][j].IDs, want[i][j].Finish)
					}
					longest = max(longest, len(c.IDs))
					if c.Finish == "stop" {
						ends[len(c.IDs) == 1]++
					}
				}
			}
			if n := (longest - 1 + every - 1) / every; calls != n {
				t.Errorf("every %d: %d calls of Progress for %d tokens, want %d", every, calls, longest, n)
			}
		}
		if ends[true] == 0 || ends[false] == 0 {
			t.Errorf("%d replies ended with their first token and %d later; the test wants both", ends[true], ends[false])
		}
	})
}

// Stopping at a token leaves the tokens before it as they are: the oracle's greedy replies, cut.
func TestStopTokens(t *testing.T) {
	x := openTiny(t, "go")
	stop := []int32{141, 219}
	s, err := NewSampler(x.dev, x.weights, SamplerOptions{LoRA: &x.lora, Stop: stop})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Load(x.adapters(t, x.lora, x.adapter)); err != nil {
		t.Fatal(err)
	}
	prompts, want := x.greedy(t)
	got, err := s.Sample(context.Background(), Request{Prompts: prompts, MaxTokens: 20})
	if err != nil {
		t.Fatal(err)
	}
	longest := 0
	for i, w := range want {
		n := slices.IndexFunc(w, func(id int32) bool { return slices.Contains(stop, id) }) + 1
		longest = max(longest, n)
		for _, c := range got[i] {
			consistent(t, c, stop, 20, false)
			if n == 0 || !slices.Equal(c.IDs, w[:n]) {
				t.Errorf("reply %d is %v, want %v", i, c.IDs, w[:n])
			}
		}
	}
	// The first token is the prefill's; the loop ends with the last row.
	if s.Steps != longest-1 {
		t.Errorf("%d steps for replies of at most %d tokens, want %d", s.Steps, longest, longest-1)
	}
}

func TestCancelledSampling(t *testing.T) {
	x := openTiny(t, "go")
	ctx, cancel := context.WithCancel(context.Background())
	r := Request{Prompts: x.prompts(t), MaxTokens: 20, Temperature: 0.9, Every: 1}
	r.Progress = func([]Completion) { cancel() }
	s := x.sampler(t, &x.lora, x.adapter)
	if _, err := s.Sample(ctx, r); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	if _, err := s.Sample(context.Background(), Request{Prompts: r.Prompts, MaxTokens: 20}); err != nil {
		t.Errorf("the sampler does not serve after an interruption: %v", err)
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	x := openTiny(t, "go")
	key := []Key{{1, 2}}
	prompt := Prompt{IDs: []int32{5, 6, 7}, Keys: key}
	one := []Prompt{prompt}
	base := x.sampler(t, nil)
	three := x.sampler(t, &x.lora, x.adapter, x.adapter, x.adapter)
	unloaded, err := NewSampler(x.dev, x.weights, SamplerOptions{LoRA: &x.lora})
	if err != nil {
		t.Fatal(err)
	}
	defer unloaded.Close()
	for _, c := range []struct {
		why     string
		sampler *Sampler
		request Request
		want    string
	}{
		{"no prompts", base, Request{MaxTokens: 1}, "0 prompts for 1 runs"},
		{"as many for each run", three, Request{Prompts: []Prompt{prompt, prompt}, MaxTokens: 1}, "2 prompts for 3 runs; expected as many for each run"},
		{"nothing to draw", base, Request{Prompts: one}, "max tokens is 0, expected 1 or more"},
		{"cold beyond zero", base, Request{Prompts: one, MaxTokens: 1, Temperature: -1}, "temperature -1"},
		{"no number", base, Request{Prompts: one, MaxTokens: 1, Temperature: math.NaN()}, "temperature NaN"},
		{"without bound", base, Request{Prompts: one, MaxTokens: 1, Temperature: math.Inf(1)}, "temperature +Inf"},
		{"more than everything", base, Request{Prompts: one, MaxTokens: 1, TopP: 1.5}, "top_p 1.5"},
		{"less than nothing", base, Request{Prompts: one, MaxTokens: 1, TopP: -0.1}, "top_p -0.1"},
		{"no number", base, Request{Prompts: one, MaxTokens: 1, TopP: math.NaN()}, "top_p NaN"},
		{"no completions", base, Request{Prompts: []Prompt{{IDs: []int32{1}}}, MaxTokens: 1}, "prompt 0 asks for 0 completions"},
		{"unequal groups", base, Request{Prompts: []Prompt{prompt, {IDs: []int32{1}, Keys: make([]Key, 2)}}, MaxTokens: 1}, "prompt 1 asks for 2 completions, prompt 0 for 1"},
		{"id too high", base, Request{Prompts: []Prompt{{IDs: []int32{1, 320}, Keys: key}}, MaxTokens: 1}, "prompt 0 holds id 320, outside of the vocabulary of 320"},
		{"id too low", base, Request{Prompts: []Prompt{{IDs: []int32{-1}, Keys: key}}, MaxTokens: 1}, "prompt 0 holds id -1"},
		{"positions", base, Request{Prompts: one, MaxTokens: 254}, "a prompt of 3 tokens and 254 new ones need 257 positions, the model has 256"},
		{"no adapters", unloaded, Request{Prompts: one, MaxTokens: 1}, "no adapters loaded"},
	} {
		_, err := c.sampler.Sample(context.Background(), c.request)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.why, err, c.want)
		}
	}
}

// A distribution that is none is an error on every backend, of whichever run; training and evaluation draw through the sampler, and
// so accept no such reply either.
func TestSamplingFromNoDistribution(t *testing.T) {
	onBackends(t, func(t *testing.T, x *tiny) {
		for _, c := range []struct {
			why         string
			temperature float64
			every       int
			damaged     int // of two runs
		}{
			{"drawn", 0.9, 0, 0},
			{"the likeliest token", 0, 0, 1},
			{"in pieces: before the first is told of", 0.9, 1, 1},
		} {
			runs := []map[string][]float32{x.adapter, x.adapter}
			runs[c.damaged] = maps.Clone(x.adapter)
			name := checkpoint.AdapterKey(1, "down_proj", "B")
			b := slices.Clone(x.adapter[name])
			b[0] = float32(math.NaN())
			runs[c.damaged][name] = b
			prompt := Prompt{IDs: []int32{5, 6, 7}, Keys: []Key{{1, 2}}}
			r := Request{Prompts: []Prompt{prompt, prompt}, MaxTokens: 6, Temperature: c.temperature, Every: c.every}
			if c.every > 0 {
				r.Progress = func([]Completion) { t.Errorf("%s: it is told of a reply", c.why) }
			}
			_, err := x.sampler(t, &x.lora, runs...).Sample(context.Background(), r)
			// Rows of other runs share the products with its matrices, in which NaN times 0 is NaN: the first reply is named.
			want := fmt.Sprintf("completion 0 of prompt 0: the log-probability of token 1 is NaN and the entropy NaN at temperature %g; expected numbers", c.temperature)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %q", c.why, err, want)
			}
		}
	})
}
