package grpo

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"teamtalk/model"
	"teamtalk/model/backend"
	"teamtalk/model/backend/backendtest"
	"teamtalk/recipe/artifact"
	"teamtalk/recipe/experiment"
)

// groups are the oracle's 8 completions as two groups of replies to learn from, with dapo's weights over all of them.
func (r *rig) groups(t *testing.T, advantages []float64) []reply {
	t.Helper()
	ids, mask, learnt := r.oracle.Float64("grpo/ids"), r.oracle.Float64("grpo/mask"), r.oracle.Float64("grpo/completion_mask")
	replies := make([]reply, 8)
	lengths := make([]int, 8)
	for i := range replies {
		replies[i] = reply{group: i / 4, advantage: float32(advantages[i])}
		for at := i * 32; at < (i+1)*32; at++ {
			switch {
			case learnt[at] == 1:
				replies[i].ids = append(replies[i].ids, int32(ids[at]))
			case mask[at] == 1:
				replies[i].prompt = append(replies[i].prompt, int32(ids[at]))
			}
		}
		lengths[i] = len(replies[i].ids)
	}
	weights, err := TokenWeights("dapo", lengths, 16, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range replies {
		replies[i].weight = float32(weights[i])
	}
	return replies
}

// A reply whose advantage is 0 needs no backward pass: leaving it out changes no gradient. It counts in the loss's
// normalisation, which is over all replies.
func TestRepliesWithoutAdvantageHaveNoGradient(t *testing.T) {
	onBackends(t, func(t *testing.T, r *rig) {
		advantages, err := Advantages([]float64{1, 0, 0, 1, 1, 1, 1, 1}, 4, "none") // the second group is all right
		if err != nil {
			t.Fatal(err)
		}
		gradients := func(replies []reply) map[string][]float32 {
			p, err := pack(replies, 2, 64, 80)
			if err != nil {
				t.Fatal(err)
			}
			tr, _ := r.trainer(t, TrainerOptions{Rows: 2, T: 64, Picks: 80, Clip: ClipRange{0.2, 0.28}}, r.adapter)
			for n := range p.passes {
				if _, err := tr.Accumulate(p.passes[n].MicroBatch, 0.9); err != nil {
					t.Fatal(err)
				}
			}
			g, err := tr.Gradients(0)
			if err != nil {
				t.Fatal(err)
			}
			return g
		}
		all := r.groups(t, advantages)
		var needed []reply
		for _, x := range all {
			if x.advantage != 0 {
				needed = append(needed, x)
			}
		}
		if len(needed) != 4 {
			t.Fatalf("%d replies have an advantage, want those of one group", len(needed))
		}
		with, without := gradients(all), gradients(needed)
		size := 0.0
		for name, g := range without {
			var want []float64
			for _, v := range with[name] {
				want = append(want, float64(v))
				size = max(size, math.Abs(float64(v)))
			}
			close32(t, name, g, want, 1e-5)
		}
		if size == 0 {
			t.Error("every gradient is 0: nothing is compared")
		}
	})
}

// Runs share passes, row by row, and a pass's rows come in any order: each run's gradient is the one that it has alone. The
// runs have unequal amounts to learn, which is what sharing is for: no pass waits for the run with the most.
func TestRunsSharePasses(t *testing.T) {
	onBackends(t, func(t *testing.T, r *rig) {
		advantages, err := Advantages(r.oracle.Float64("grpo/reward"), 4, "none")
		if err != nil {
			t.Fatal(err)
		}
		other := map[string][]float32{}
		for name, v := range r.adapter {
			for i, x := range v {
				other[name] = append(other[name], x*float32(1+i%3)/2)
			}
		}
		all := r.groups(t, advantages)
		runs := [][]reply{all, all[:4], all[5:6]}
		adapters := []map[string][]float32{r.adapter, other, r.adapter}
		var together []reply
		for run, of := range runs {
			for _, x := range of {
				x.run = run
				together = append(together, x)
			}
		}
		gradients := func(replies []reply, reversed bool, adapters ...map[string][]float32) (passes int, of []map[string][]float32) {
			const rows, width, k = 3, 64, 150
			p, err := pack(replies, rows, width, k)
			if err != nil {
				t.Fatal(err)
			}
			tr, _ := r.trainer(t, TrainerOptions{Rows: rows, T: width, Picks: k, Clip: ClipRange{0.2, 0.28}}, adapters...)
			for _, ps := range p.passes {
				b := ps.MicroBatch
				if reversed {
					b = turnedRound(b, rows, width)
				}
				if _, err := tr.Accumulate(b, 0.9); err != nil {
					t.Fatal(err)
				}
			}
			for run := range adapters {
				g, err := tr.Gradients(run)
				if err != nil {
					t.Fatal(err)
				}
				of = append(of, g)
			}
			return len(p.passes), of
		}
		passes, shared := gradients(together, false, adapters...)
		_, reversed := gradients(together, true, adapters...)
		sum, most := 0, 0
		for run, of := range runs {
			alone, want := gradients(of, false, adapters[run])
			sum, most = sum+alone, max(most, alone)
			for name, v := range want[0] {
				var w []float64
				for _, x := range v {
					w = append(w, float64(x))
				}
				close32(t, fmt.Sprintf("run %d, %s", run, name), shared[run][name], w, 1e-5)
				close32(t, fmt.Sprintf("run %d, rows in another order, %s", run, name), reversed[run][name], w, 1e-5)
			}
		}
		if passes >= sum || most < 1 {
			t.Errorf("%d passes for all runs, %d when each has its own: sharing saves nothing here, so nothing is tested", passes, sum)
		}
	})
}

// turnedRound is a micro-batch with its rows in the opposite order.
func turnedRound(b MicroBatch, rows, width int) MicroBatch {
	out := b
	out.IDs, out.Segments, out.Branches, out.Positions, out.Runs, out.At = nil, nil, nil, nil, nil, nil
	for row := rows - 1; row >= 0; row-- {
		from, to := row*width, (row+1)*width
		out.IDs, out.Segments = append(out.IDs, b.IDs[from:to]...), append(out.Segments, b.Segments[from:to]...)
		out.Branches, out.Positions = append(out.Branches, b.Branches[from:to]...), append(out.Positions, b.Positions[from:to]...)
		out.Runs = append(out.Runs, b.Runs[row])
	}
	for _, at := range b.At {
		row := int(at) / width
		out.At = append(out.At, at+int32((rows-1-2*row)*width))
	}
	return out
}

// A row holds replies of one run, and a run that has more to learn takes more rows.
func TestPackRuns(t *testing.T) {
	prompt, ids := []int32{1, 2}, []int32{3, 4, 5}
	var replies []reply
	for range 4 { // four groups of run 1, two replies each; one group of run 0
		for range 2 {
			replies = append(replies, reply{run: 1, group: len(replies) / 2, prompt: prompt, ids: ids})
		}
	}
	replies = append(replies, reply{run: 0, group: 0, prompt: prompt, ids: ids})
	p, err := pack(replies, 3, 8, 100)
	if err != nil {
		t.Fatal(err)
	}
	// A group of run 1 takes 2 + 3 + 3 tokens, a whole row: five rows in all, in two passes.
	var runs []int32
	var used []int
	for _, ps := range p.passes {
		runs, used = append(runs, ps.Runs...), append(used, ps.used...)
	}
	if fmt.Sprint(runs, used) != "[0 1 1 1 1 0] [5 8 8 8 8 0]" {
		t.Errorf("runs of rows and their tokens: %v %v", runs, used)
	}
}

func TestSound(t *testing.T) {
	l := &loop{settings: experiment.Training{MaxLogpDifference: 0.02}}
	for _, c := range []struct {
		why  string
		logp float64
		norm float64
		sum  float64 // of the differences of 10 tokens
		want string  // "": sound
	}{
		{"as it should be", -3, 0.5, 0.1, ""},
		{"at the bound", -3, 0.5, 0.2, ""},
		{"above the bound", -3, 0.5, 0.21, "differ by 0.021 on average; expected at most 0.02 (max_logp_difference)"},
		{"a difference that is no number must not pass as small", -3, 0.5, math.NaN(), "differ by NaN on average"},
		{"a gradient that is no number", -3, math.NaN(), 0.1, "the gradient's norm is NaN; expected a finite number"},
		{"a gradient beyond f32", -3, math.Inf(1), 0.1, "the gradient's norm is +Inf"},
		{"logits that are no numbers, which no reward may hide", math.NaN(), 0, 0, "reply 0 was sampled with log-probability NaN"},
		{"an impossible token", math.Inf(-1), 0.5, 0.1, "reply 0 was sampled with log-probability -Inf"},
	} {
		s := &stepOf{rollouts: []artifact.Rollout{{SumLogpSampler: c.logp}}}
		s.difference.sum, s.difference.n = c.sum, 10
		err := l.sound(s, c.norm)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.why, err, c.want)
		}
	}
	if err := l.sound(&stepOf{}, 0); err != nil {
		t.Errorf("no reply had an advantage, nothing was scored again: %v", err)
	}
}

func TestTrainRefusesNoRuns(t *testing.T) {
	if err := Train(t.Context(), nil, Options{}); err == nil || !strings.Contains(err.Error(), "no runs") {
		t.Errorf("error %v", err)
	}
}

// A GPU adds up a scatter's terms in any order, so that two runs of one seed would part after their first step. The one that a
// gather's gradient would be is where several replies read their prompt's last token.
func TestLearningScattersNothing(t *testing.T) {
	backendtest.Need(t, "xla-cpu") // the Go backend lowers nothing
	onBackends(t, func(t *testing.T, r *rig) {
		if r.dev.Kind == backend.Go {
			return
		}
		before := len(r.dev.Programs())
		for _, runs := range [][]map[string][]float32{{r.adapter}, {r.adapter, r.adapter}} {
			r.trainer(t, TrainerOptions{Rows: 2, T: 64, Picks: 100, Clip: ClipRange{0.2, 0.28}}, runs...)
		}
		all := r.dev.Programs()[before:]
		if len(all) < 4 {
			t.Errorf("%d programs, expected a gradient and an update for one run and for two", len(all))
		}
		for _, p := range all {
			if p.Scatters {
				t.Errorf("%s scatters", p.Name)
			}
		}
	})
}

// The trainer's log-probability of a reply is recorded where it computed one, and null where it had none to compute: 0 would be that
// of a certain reply.
func TestScored(t *testing.T) {
	for _, c := range []struct {
		why    string
		scored bool
		want   string
	}{
		{"trained on", true, `"sum_logp_trainer":-1.5`},
		{"without advantage, so in no pass", false, `"sum_logp_trainer":null`},
	} {
		s := &stepOf{rollouts: make([]artifact.Rollout, 1), completions: []model.Completion{{LogProbs: []float32{-1, -0.5}}}}
		if c.scored {
			s.scored(0, Scores{Logp: []float32{9, -1, -0.5}, Loss: make([]float32, 3)}, 1)
		}
		raw, err := json.Marshal(s.rollouts[0])
		if err != nil || !strings.Contains(string(raw), c.want) {
			t.Errorf("%s: %s, error %v, want %s", c.why, raw, err, c.want)
		}
	}
	var old artifact.Rollout
	if err := json.Unmarshal([]byte(`{"sum_logp_trainer":0}`), &old); err != nil || old.SumLogpTrainer == nil || *old.SumLogpTrainer != 0 {
		t.Errorf("a line of an earlier version: %v, error %v, want 0 as it stands there", old.SumLogpTrainer, err)
	}
}
