package grpo

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"teamtalk/model"
	"teamtalk/model/backend"
	"teamtalk/model/backend/backendtest"
	"teamtalk/model/checkpoint"
	"teamtalk/model/checkpoint/checkpointtest"
)

// The right answers are those of transformers, PEFT and PyTorch in float64: model/testdata/tiny-qwen2/oracle.json.
const tinyDir = "../../model/testdata/tiny-qwen2"

// close32 fails when values differ by more than tolerance, relative to the largest magnitude of the tensor.
func close32(t *testing.T, what string, got []float32, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	largest := 0.0
	for _, w := range want {
		largest = max(largest, math.Abs(w))
	}
	for i := range got {
		if d := math.Abs(float64(got[i]) - want[i]); !(d <= tolerance*largest) {
			t.Fatalf("%s: value %d is %g, want %g (tolerance %g of %g)", what, i, got[i], want[i], tolerance, largest)
		}
	}
}

func sum(x []float32) float64 {
	total := 0.0
	for _, v := range x {
		total += float64(v)
	}
	return total
}

type rig struct {
	dev     *backend.Device
	weights *model.Weights
	lora    model.LoRA
	adapter map[string][]float32
	oracle  *checkpointtest.Values
}

// onBackends runs a test on every backend that is to be tested: see backendtest.
func onBackends(t *testing.T, test func(t *testing.T, r *rig)) {
	for _, name := range backendtest.Names(t) {
		t.Run(name, func(t *testing.T) {
			dev, err := backend.Open(backend.Kind(name))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(dev.Close)
			cp, err := checkpoint.Open(tinyDir)
			if err != nil {
				t.Fatal(err)
			}
			defer cp.Close()
			w, err := model.LoadWeights(dev, cp.Config, cp)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(w.Free)
			r := &rig{
				dev: dev, weights: w, lora: model.LoRA{Rank: 4, Alpha: 8, Targets: checkpoint.Linears},
				adapter: checkpointtest.Read(t, tinyDir+"/adapter/adapter_model.safetensors").All(),
				oracle:  checkpointtest.Read(t, tinyDir+"/oracle.safetensors"),
			}
			test(t, r)
		})
	}
}

func (r *rig) trainer(t *testing.T, o TrainerOptions, runs ...map[string][]float32) (*Trainer, *model.Adapters) {
	t.Helper()
	a, err := model.AdaptersFrom(r.dev, r.weights.Config, r.lora, runs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Free)
	tr, err := NewTrainer(r.dev, r.weights, a, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tr.Close)
	return tr, a
}

// batch is the oracle's batch of 8 completions, one to a row, repeated for each run.
func (r *rig) batch(t *testing.T, lossType string, microBatches, runs int, scale float64) MicroBatch {
	t.Helper()
	ids, mask, learnt := r.oracle.Float64("grpo/ids"), r.oracle.Float64("grpo/mask"), r.oracle.Float64("grpo/completion_mask")
	lengths := make([]int, 8)
	for i, m := range learnt {
		lengths[i/32] += int(m)
	}
	weights, err := TokenWeights(lossType, lengths, 16, microBatches)
	if err != nil {
		t.Fatal(err)
	}
	advantages, err := Advantages(r.oracle.Float64("grpo/reward"), 4, "none")
	if err != nil {
		t.Fatal(err)
	}
	var b MicroBatch
	for run := range runs {
		for i := range 8 {
			b.Runs = append(b.Runs, int32(run))
			for j := range 32 {
				at := i*32 + j
				b.IDs = append(b.IDs, int32(ids[at]))
				b.Segments = append(b.Segments, int32(mask[at]))
				b.Branches = append(b.Branches, 0)
				b.Positions = append(b.Positions, int32(float64(j)*mask[at]))
				target, weight := int32(0), float32(0)
				if j < 31 {
					target = int32(ids[at+1])
					weight = float32(weights[i] * learnt[at+1] * scale)
				}
				b.At, b.Targets = append(b.At, int32(run*8*32+at)), append(b.Targets, target)
				b.Weights = append(b.Weights, weight)
				b.Advantages = append(b.Advantages, float32(advantages[i]))
			}
		}
	}
	return b
}

func TestAdvantagesEqualTRL(t *testing.T) {
	oracle := checkpointtest.Read(t, tinyDir+"/oracle.safetensors")
	for _, scale := range []string{"none", "group", "batch"} {
		got, err := Advantages(oracle.Float64("grpo/reward"), 4, scale)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range oracle.Float64("grpo/advantage_" + scale) {
			if math.Abs(got[i]-want) > 1e-6 {
				t.Errorf("scale_rewards %s: advantage %d is %g, want %g", scale, i, got[i], want)
			}
		}
	}
}

func TestLossesAndGradientsEqualPyTorch(t *testing.T) {
	onBackends(t, func(t *testing.T, r *rig) {
		for _, c := range []struct {
			loss  string
			micro int
			want  string
			grad  string
		}{
			{"grpo", 1, "grpo/loss_grpo", "grpo/grad_grpo/"},
			{"bnpo", 1, "grpo/loss_bnpo", ""},
			{"bnpo", 2, "grpo/loss_bnpo_2micro", ""},
			{"dr_grpo", 1, "grpo/loss_dr_grpo", ""},
			{"dapo", 1, "grpo/loss_dapo", "grpo/grad_dapo/"},
		} {
			tr, _ := r.trainer(t, TrainerOptions{Rows: 8, T: 32, Clip: ClipRange{0.2, 0.28}}, r.adapter)
			s, err := tr.Accumulate(r.batch(t, c.loss, c.micro, 1, 1), 0.9)
			if err != nil {
				t.Fatal(err)
			}
			if want := r.oracle.Float64(c.want)[0]; math.Abs(sum(s.Loss)-want) > 1e-4*max(math.Abs(want), 1e-2) {
				t.Errorf("%s: loss %g, want %g", c.want, sum(s.Loss), want)
			}
			if c.grad == "" {
				continue
			}
			grads, err := tr.Gradients(0)
			if err != nil {
				t.Fatal(err)
			}
			compared := 0
			for name, g := range grads {
				close32(t, c.grad+name, g, r.oracle.Float64(c.grad+name), 1e-4)
				compared++
			}
			if compared != 2*7*2 {
				t.Errorf("%d gradients compared, want 28", compared)
			}
		}
	})
}

func TestAdamWEqualsPyTorch(t *testing.T) {
	onBackends(t, func(t *testing.T, r *rig) {
		o := TrainerOptions{Rows: 8, T: 32, Clip: ClipRange{0.2, 0.28}, Optim: AdamW{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, MaxGradNorm: 1}}
		tr, a := r.trainer(t, o, r.adapter)
		b := r.batch(t, "dapo", 1, 1, 60)
		for k := range 5 {
			rate := LinearRate(1e-2, k, 5)
			if want := r.oracle.Float64("adamw/lr")[k]; math.Abs(rate-want) > 1e-8 {
				t.Errorf("step %d: learning rate %g, want %g", k+1, rate, want)
			}
			s, err := tr.Accumulate(b, 0.9)
			if err != nil {
				t.Fatal(err)
			}
			close32(t, fmt.Sprintf("loss of step %d", k+1), []float32{float32(sum(s.Loss))}, r.oracle.Float64("adamw/loss")[k:k+1], 1e-4)
			norm, err := tr.Step(rate)
			if err != nil {
				t.Fatal(err)
			}
			close32(t, fmt.Sprintf("gradient norm of step %d", k+1), norm, r.oracle.Float64("adamw/grad_norm")[k:k+1], 1e-4)
			if k == 0 || k == 4 {
				got, err := a.Values(0)
				if err != nil {
					t.Fatal(err)
				}
				for name, v := range got {
					r.stepped(t, fmt.Sprintf("step %d: %s", k+1, name), name, v, r.oracle.Float64(fmt.Sprintf("adamw/step%d/%s", k+1, name)))
				}
			}
		}
	})
}

// stepped compares parameters after optimizer steps. Where the first step was clearly shorter than the learning rate, the
// gradient was no larger than AdamW's epsilon, 1e-8: there the step is its rounding error and only its length is bounded.
func (r *rig) stepped(t *testing.T, what, name string, got []float32, want []float64) {
	t.Helper()
	const rate = 1e-2
	var clear []float32
	var clearWant []float64
	for i, start := range r.adapter[name] {
		if math.Abs(r.oracle.Float64("adamw/step1/" + name)[i]-float64(start)) > 0.999*rate {
			clear, clearWant = append(clear, got[i]), append(clearWant, want[i])
		} else if d := math.Abs(float64(got[i]) - want[i]); d > 5*rate {
			t.Errorf("%s: value %d is off by %g, more than all steps together", what, i, d)
		}
	}
	if n := len(got); len(clear) < n*98/100 {
		t.Errorf("%s: only %d of %d values have a gradient above epsilon", what, len(clear), n)
	}
	var off, size float64
	for i, w := range clearWant {
		off += (float64(clear[i]) - w) * (float64(clear[i]) - w)
		size += w * w
	}
	if !(math.Sqrt(off) <= 1e-4*math.Sqrt(size)) {
		t.Errorf("%s: relative error %g, want at most 1e-4", what, math.Sqrt(off/size))
	}
}

// A run's gradients and steps are its own, whichever runs train beside it.
func TestLockstepEqualsOneRun(t *testing.T) {
	onBackends(t, func(t *testing.T, r *rig) {
		other := map[string][]float32{}
		for name, v := range r.adapter {
			for i, x := range v {
				other[name] = append(other[name], x*float32(1+i%3)/2)
			}
		}
		o := TrainerOptions{Rows: 16, T: 32, Clip: ClipRange{0.2, 0.28}, Optim: AdamW{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, MaxGradNorm: 1}}
		tr, a := r.trainer(t, o, other, r.adapter)
		if _, err := tr.Accumulate(r.batch(t, "dapo", 1, 2, 60), 0.9); err != nil {
			t.Fatal(err)
		}
		norm, err := tr.Step(1e-2)
		if err != nil {
			t.Fatal(err)
		}
		close32(t, "gradient norm of the second run", norm[1:], r.oracle.Float64("adamw/grad_norm")[:1], 1e-4)
		got, err := a.Values(1)
		if err != nil {
			t.Fatal(err)
		}
		for name, v := range got {
			r.stepped(t, name, name, v, r.oracle.Float64("adamw/step1/"+name))
		}
	})
}

// Sharing a group's prompt among its replies changes no gradient.
func TestSharedPromptsGiveTheSameGradient(t *testing.T) {
	onBackends(t, func(t *testing.T, r *rig) {
		ids, mask, learnt := r.oracle.Float64("grpo/ids"), r.oracle.Float64("grpo/mask"), r.oracle.Float64("grpo/completion_mask")
		advantages, err := Advantages(r.oracle.Float64("grpo/reward"), 4, "none")
		if err != nil {
			t.Fatal(err)
		}
		lengths := make([]int, 8)
		var replies []reply
		for i := range 8 {
			rep := reply{group: i / 4, advantage: float32(advantages[i])}
			for j := range 32 {
				switch at := i*32 + j; {
				case learnt[at] == 1:
					rep.ids = append(rep.ids, int32(ids[at]))
				case mask[at] == 1:
					rep.prompt = append(rep.prompt, int32(ids[at]))
				}
			}
			lengths[i] = len(rep.ids)
			replies = append(replies, rep)
		}
		weights, err := TokenWeights("dapo", lengths, 16, 1)
		if err != nil {
			t.Fatal(err)
		}
		prompts := 0
		for i := range replies {
			replies[i].weight = float32(weights[i])
			prompts += len(replies[i].prompt)
		}
		for i := range replies { // the oracle's groups share a prompt, or there is nothing to test
			if fmt.Sprint(replies[i].prompt) != fmt.Sprint(replies[i/4*4].prompt) {
				t.Fatalf("row %d has another prompt than its group", i)
			}
		}
		const rows, width, k = 2, 48, 40 // too small for all: several passes
		p, err := pack(replies, rows, width, k)
		if err != nil {
			t.Fatal(err)
		}
		tokens := 0
		for _, ps := range p.passes {
			for _, n := range ps.used {
				tokens += n
			}
		}
		if all := prompts + int(sumInts(lengths)); len(p.passes) < 2 || tokens >= all {
			t.Errorf("%d passes, %d tokens packed of %d unshared; want several passes and fewer tokens", len(p.passes), tokens, all)
		}
		tr, _ := r.trainer(t, TrainerOptions{Rows: rows, T: width, Picks: k, Clip: ClipRange{0.2, 0.28}}, r.adapter)
		for n := range p.passes {
			if _, err := tr.Accumulate(p.passes[n].MicroBatch, 0.9); err != nil {
				t.Fatal(err)
			}
		}
		grads, err := tr.Gradients(0)
		if err != nil {
			t.Fatal(err)
		}
		for name, g := range grads {
			close32(t, name, g, r.oracle.Float64("grpo/grad_dapo/"+name), 1e-4)
		}
	})
}

func sumInts(x []int) (total int) {
	for _, v := range x {
		total += v
	}
	return total
}

// Off-policy, the loss is the clipped surrogate of the ratio to the given log-probabilities.
func TestClippedObjective(t *testing.T) {
	onBackends(t, func(t *testing.T, r *rig) {
		tr, _ := r.trainer(t, TrainerOptions{Rows: 8, T: 32, Clip: ClipRange{0.2, 0.28}}, r.adapter)
		b := r.batch(t, "dapo", 1, 1, 1)
		b.OldLogp = make([]float32, 8*32)
		want := 0.0
		for i := range b.OldLogp {
			col := i % 32
			if b.Weights[i] == 0 {
				continue
			}
			logp := r.oracle.Float64("grpo/logp")[i/32*31+col]
			ratio := []float64{0.5, 0.9, 1, 1.2, 2}[i%5] // below, inside and above the range
			b.OldLogp[i] = float32(logp - math.Log(ratio))
			adv := float64(b.Advantages[i])
			want -= float64(b.Weights[i]) * min(ratio*adv, min(max(ratio, 0.8), 1.28)*adv)
		}
		s, err := tr.Accumulate(b, 0.9)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(sum(s.Loss)-want) > 1e-4 {
			t.Errorf("loss %g, want %g", sum(s.Loss), want)
		}
	})
}

func TestTokenWeightsRefuseUnknownLoss(t *testing.T) {
	if _, err := TokenWeights("ppo", []int{1, 1}, 8, 1); err == nil || !strings.Contains(err.Error(), "expected grpo, bnpo, dr_grpo or dapo") {
		t.Errorf("error %v, want the known losses named", err)
	}
}
