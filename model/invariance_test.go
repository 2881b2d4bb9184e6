package model

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"teamtalk/model/checkpoint"
)

// What a row gets is its own: padding, the rows beside it, their order and other runs' adapters change it by rounding alone.
const rounding = 1e-5

// conversations are prompt and reply of the oracle's batch: 8 sequences of 12 to 27 ids, and where the replies begin.
func (x *tiny) conversations(t *testing.T) (sequences [][]int32, begin []int) {
	t.Helper()
	o := x.oracle(t)
	for completion := range slices.Chunk(o.IDs("grpo/completion_mask"), 32) {
		begin = append(begin, slices.Index(completion, 1))
	}
	return o.Sequences("grpo", 32), begin
}

// scores are log-probability and entropy of every token but the first of each sequence, laid one to a row.
func scores(t *testing.T, s *Scorer, sequences ...[]int32) (logp, entropy [][]float32) {
	t.Helper()
	lp, h, err := s.Score(rowsOf(s.t, s.rows, sequences...), 0.9)
	if err != nil {
		t.Fatal(err)
	}
	for i, q := range sequences {
		n := max(len(q)-1, 0)
		logp, entropy = append(logp, lp[i*s.t:i*s.t+n]), append(entropy, h[i*s.t:i*s.t+n])
	}
	return logp, entropy
}

func TestScoresDoNotDependOnTheBatch(t *testing.T) {
	onBackends(t, func(t *testing.T, x *tiny) {
		q, _ := x.conversations(t)
		batch := x.scorer(t, 8, 32, &x.lora, x.adapter)
		logp, entropy := scores(t, batch, q...)
		same := func(what string, i int, lp, h []float32) {
			t.Helper()
			near(t, fmt.Sprintf("%s: log-probabilities of sequence %d", what, i), lp, logp[i], rounding)
			near(t, fmt.Sprintf("%s: entropies of sequence %d", what, i), h, entropy[i], rounding)
		}

		order := []int{5, 2, 7, 0, 3, 6, 1, 4}
		var turned [][]int32
		for _, i := range order {
			turned = append(turned, q[i])
		}
		lp, h := scores(t, batch, turned...)
		for at, i := range order {
			same("another order", i, lp[at], h[at])
		}

		lp, h = scores(t, batch, nil, nil, q[4], nil, q[1])
		same("among padding", 4, lp[2], h[2])
		same("among padding", 1, lp[4], h[4])

		alone := x.scorer(t, 1, 48, &x.lora, x.adapter)
		for _, i := range []int{0, 4, 5} {
			lp, h = scores(t, alone, q[i])
			same("alone, in more columns", i, lp[0], h[0])
		}

		three := x.scorer(t, 6, 32, &x.lora, x.scaled(1.5), x.adapter, x.scaled(-0.5))
		lp, h = scores(t, three, q[3], q[4], q[0], q[4], q[1], q[4])
		same("between two other runs", 0, lp[2], h[2])
		same("between two other runs", 4, lp[3], h[3])
		if slices.Equal(lp[1], lp[3]) || slices.Equal(lp[5], lp[3]) || slices.Equal(lp[1], lp[5]) {
			t.Error("three different adapters give the same log-probabilities: the runs are mixed up")
		}
	})
}

func TestPackedRowsEqualRowsOfTheirOwn(t *testing.T) {
	onBackends(t, func(t *testing.T, x *tiny) {
		q, _ := x.conversations(t)
		s := x.scorer(t, 8, 32, &x.lora, x.adapter)
		logp, entropy := scores(t, s, q...)
		// 12 + 14, 19, 16, 21, 27, 23, 19 tokens; the first row ends with a third, cut sequence.
		third := q[6][:5]
		wantThird, _ := scores(t, s, third)
		packed := rowsOf(32, 8)
		places := map[int]int{1: 0, 5: 12, 0: 32, 2: 64, 7: 96, 4: 128, 3: 160, 6: 192}
		for i, at := range places {
			segment := int32(1)
			if i == 5 {
				segment = 2
			}
			packed.put(at, segment, q[i])
		}
		packed.put(26, 3, third)
		lp, h, err := s.Score(packed, 0.9)
		if err != nil {
			t.Fatal(err)
		}
		for i, at := range places {
			n := len(q[i]) - 1
			near(t, fmt.Sprintf("log-probabilities of sequence %d", i), lp[at:at+n], logp[i], rounding)
			near(t, fmt.Sprintf("entropies of sequence %d", i), h[at:at+n], entropy[i], rounding)
		}
		near(t, "log-probabilities of the third sequence of a row", lp[26:30], wantThird[0], rounding)
	})
}

// sample draws 20 tokens, two completions for each prompt, as the package's other tests do: one shape, one program.
func sampleTokens(t *testing.T, s *Sampler, prompts ...Prompt) [][]Completion {
	t.Helper()
	got, err := s.Sample(context.Background(), Request{Prompts: prompts, MaxTokens: 20, Temperature: 0.9})
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		for _, c := range got[i] {
			consistent(t, c, stops, 20, len(prompts[i].IDs) == 0)
		}
	}
	return got
}

// prompts are three beginnings of unequal length, with keys for two completions each.
func (x *tiny) prompts(t *testing.T) []Prompt {
	q, begin := x.conversations(t)
	var out []Prompt
	for n, ids := range [][]int32{q[0][:begin[0]], q[4][:begin[4]], q[2][:3]} {
		out = append(out, Prompt{IDs: ids, Keys: []Key{NewKey(17, uint64(n), 0), NewKey(17, uint64(n), 1)}})
	}
	return out
}

func sameReplies(t *testing.T, what string, got, want []Completion) {
	t.Helper()
	for j := range want {
		if !slices.Equal(got[j].IDs, want[j].IDs) || got[j].Finish != want[j].Finish {
			t.Errorf("%s: completion %d is %v (%s), want %v (%s)", what, j, got[j].IDs, got[j].Finish, want[j].IDs, want[j].Finish)
			continue
		}
		near(t, what+": log-probabilities", got[j].LogProbs, want[j].LogProbs, rounding)
		near(t, what+": entropies", got[j].Entropies, want[j].Entropies, rounding)
	}
}

func TestRepliesDoNotDependOnTheBatch(t *testing.T) {
	onBackends(t, func(t *testing.T, x *tiny) {
		p := x.prompts(t)
		batch := x.sampler(t, &x.lora, x.adapter)
		want := sampleTokens(t, batch, p...)
		if slices.Equal(want[0][0].IDs, want[0][1].IDs) {
			t.Errorf("two samples of one prompt are both %v", want[0][0].IDs)
		}

		again := sampleTokens(t, batch, p...)
		for i := range p {
			sameReplies(t, "again", again[i], want[i])
		}
		turned := sampleTokens(t, batch, p[2], p[0], p[1])
		for at, i := range []int{2, 0, 1} {
			sameReplies(t, "another order", turned[at], want[i])
		}
		none := Prompt{Keys: make([]Key, 2)}
		padded := sampleTokens(t, batch, none, p[1], none)
		sameReplies(t, "among padding", padded[1], want[1])
		for _, i := range []int{0, 2} {
			for _, c := range padded[i] {
				if len(c.IDs) != 0 || c.Finish != "" {
					t.Errorf("a row without a prompt got the reply %v (%s)", c.IDs, c.Finish)
				}
			}
		}

		alone, err := batch.Sample(context.Background(), Request{
			Prompts: p[1:2], MaxTokens: 20, Temperature: 0.9, Columns: 33, // 64 columns, not 32
		})
		if err != nil {
			t.Fatal(err)
		}
		sameReplies(t, "alone, in more columns", alone[0], want[1])

		three := x.sampler(t, &x.lora, x.scaled(1.5), x.adapter, x.scaled(-0.5))
		got := sampleTokens(t, three, p[1], p[2], p[0], p[0], p[1], p[2], p[1], p[1], p[1])
		for i := range p {
			sameReplies(t, "between two other runs", got[3+i], want[i])
		}
		if slices.Equal(got[0][0].LogProbs, got[4][0].LogProbs) || slices.Equal(got[6][0].LogProbs, got[4][0].LogProbs) {
			t.Error("three different adapters give the same reply: the runs are mixed up")
		}
	})
}

// The sampler has A appended to the frozen weights, the scorer keeps adapters apart: they are one model.
func TestSamplerAndScorerAreOneModel(t *testing.T) {
	onBackends(t, func(t *testing.T, x *tiny) {
		sampled := sampleTokens(t, x.sampler(t, &x.lora, x.adapter), x.prompts(t)...)
		agree(t, x.scorer(t, 8, 32, &x.lora, x.adapter), x.prompts(t), sampled)
	})
}

// agree compares what sampling said of its tokens with what scoring says of them.
func agree(t *testing.T, s *Scorer, prompts []Prompt, sampled [][]Completion) {
	t.Helper()
	var rows [][]int32
	for i, p := range prompts {
		for _, c := range sampled[i] {
			rows = append(rows, slices.Concat(p.IDs, c.IDs))
		}
	}
	logp, entropy := scores(t, s, rows...)
	at := 0
	for i, p := range prompts {
		for j, c := range sampled[i] {
			from := len(p.IDs) - 1
			near(t, fmt.Sprintf("log-probabilities of completion %d of prompt %d", j, i), c.LogProbs, logp[at][from:], rounding)
			near(t, fmt.Sprintf("entropies of completion %d of prompt %d", j, i), c.Entropies, entropy[at][from:], rounding)
			at++
		}
	}
}

// An adapter of some modules is an adapter of all whose other B's are zero.
func TestAdapterOfSomeModules(t *testing.T) {
	onBackends(t, func(t *testing.T, x *tiny) {
		some := LoRA{Rank: 4, Alpha: 8, Targets: []string{"v_proj", "q_proj"}} // not in the layer's order
		few, full := map[string][]float32{}, map[string][]float32{}
		for i, s := range x.lora.Specs(x.weights.Config) {
			full[s.Name] = x.adapter[s.Name]
			if module := checkpoint.Linears[i/2%len(checkpoint.Linears)]; slices.Contains(some.Targets, module) {
				few[s.Name] = x.adapter[s.Name]
			} else if i%2 == 1 {
				full[s.Name] = make([]float32, s.Rows*s.Cols)
			}
		}
		if len(few) != 2*2*2 {
			t.Fatalf("%d matrices for q_proj and v_proj of two layers, want 8", len(few))
		}
		want := sampleTokens(t, x.sampler(t, &x.lora, full), x.prompts(t)...)
		got := sampleTokens(t, x.sampler(t, &some, few), x.prompts(t)...)
		for i := range want {
			sameReplies(t, fmt.Sprintf("prompt %d", i), got[i], want[i])
		}
		whole := sampleTokens(t, x.sampler(t, &x.lora, x.adapter), x.prompts(t)...)
		if slices.Equal(whole[0][0].LogProbs, want[0][0].LogProbs) {
			t.Error("leaving five modules out changes nothing")
		}
		agree(t, x.scorer(t, 8, 32, &some, few), x.prompts(t), got)
		agree(t, x.scorer(t, 8, 32, &x.lora, full), x.prompts(t), got)
	})
}
