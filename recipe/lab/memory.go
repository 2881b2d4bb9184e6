package lab

import (
	"fmt"
	"sort"
	"strings"

	"teamtalk/model"
	"teamtalk/model/backend"
	"teamtalk/recipe/cost"
	"teamtalk/recipe/experiment"
	"teamtalk/recipe/grpo"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
)

// room is what decides whether training fits a device: the shapes, and the memory there is.
type room struct {
	costs    cost.Model
	overhead cost.Overhead
	training experiment.Training
	prompt   int     // tokens of the longest prompt
	have     float64 // bytes; 0: not known, and everything fits
	tokens   int     // of a pass, preferred; 0: the trainer's own preference
}

// cpuTokens is the preferred size of a pass on a CPU, which gains nothing by large products: small passes have less padding and
// stay in its caches. The mini model's update took half as long with one row of 256 tokens as with 16.
const cpuTokens = 256

// fitting chooses the rows of a training pass of m runs. Asked for a number it checks it; 0 takes the preferred number, or as many
// fewer as fit the device. What does not fit is an error, before anything is compiled.
func (r room) fitting(m, asked int) (int, error) {
	rows, t := grpo.MicroBatchShape(r.longest(), asked)
	if asked == 0 && r.tokens > 0 {
		rows = max(1, r.tokens/t)
	}
	if r.fits(m, rows) {
		return rows, nil
	}
	if asked == 0 {
		if fewer := r.most(m, rows); fewer > 0 {
			return fewer, nil
		}
		rows = 1
	}
	return 0, fmt.Errorf("training %d runs in lockstep with %d rows in a pass would take about %s; the device has %s GiB free%s",
		m, rows, r.estimate(m, rows), cost.GiB(r.have), r.advice(m, rows))
}

func (r room) longest() int { return r.prompt + r.training.MaxCompletionLength }

func (r room) fits(m, rows int) bool { return r.have == 0 || r.estimate(m, rows).Total() <= r.have }

// most is how many rows in a pass, fewer than below, fit for m runs; 0 where one does not.
func (r room) most(m, below int) int {
	return sort.Search(max(below-1, 0), func(n int) bool { return !r.fits(m, n+1) })
}

// estimate is what training m runs with rows rows in a pass takes, the sampler included.
func (r room) estimate(m, rows int) cost.Memory {
	rows, t := grpo.MicroBatchShape(r.longest(), rows)
	return r.costs.Estimate(cost.Batch{
		Runs: m, Rows: rows, T: t, Picks: rows * t * 7 / 8,
		Samples: m * r.training.PromptsPerStep * r.training.NumGenerations, Columns: r.longest(), Prompt: r.prompt, Chunk: min(16, m*r.training.PromptsPerStep),
		Overhead: r.overhead,
	})
}

// advice says what would fit instead of m runs and rows rows.
func (r room) advice(m, rows int) string {
	var found []string
	if n := r.most(m, rows); n > 0 {
		found = append(found, fmt.Sprintf("-micro-batch %d", n))
	}
	for n := m - 1; n >= 1 && len(found) == 0; n-- {
		if r.fits(n, 1) {
			found = append(found, fmt.Sprintf("-lockstep %d with -micro-batch 1", n))
		}
	}
	if len(found) == 0 {
		for shorter := r; shorter.training.MaxCompletionLength > 16; {
			shorter.training.MaxCompletionLength /= 2
			if shorter.fits(1, 1) {
				found = append(found, fmt.Sprintf("replies of at most %d tokens (max_completion_length) with -lockstep 1 and -micro-batch 1", shorter.training.MaxCompletionLength))
				break
			}
		}
	}
	if len(found) == 0 {
		return ". Nothing smaller fits either: free memory on the device, or take a larger one or a smaller model"
	}
	return ". What fits: " + strings.Join(found, ", or ")
}

// room looks at the opened device and the plan.
func (l *Lab) room() (room, error) {
	longest, err := l.longestPrompt(l.problems.Train)
	if err != nil {
		return room{}, err
	}
	t := l.Plan.Training
	r := room{
		costs:    cost.Model{Config: l.checkpoint.Config, LoRA: model.LoRA{Rank: t.LoRA.R, Alpha: t.LoRA.LoraAlpha, Targets: t.LoRA.TargetModules}, Bytes: 4},
		overhead: cost.OnCPU, training: t, prompt: longest, have: float64(l.Device.Room()), tokens: cpuTokens,
	}
	if l.reporter != nil {
		r.have = float64(l.reporter.room)
	}
	if l.Device.DType == dtypes.BFloat16 {
		r.costs.Bytes = 2
	}
	if l.Device.Kind == backend.CUDA {
		r.overhead, r.tokens = cost.OnGPU, 0
	}
	return r, nil
}

// exhausted adds to an error about memory, which an estimate did not foresee, what to try.
func (l *Lab) exhausted(err error, m, rows int) error {
	if !backend.Exhausted(err) {
		return err
	}
	r, rerr := l.room()
	if rerr != nil {
		return err
	}
	return fmt.Errorf("%w\nThe device's memory is exhausted: training %d runs in lockstep with %d rows in a pass was estimated at %s, and %s GiB were free at the start. "+
		"See that no other program holds memory there, or go on in a new run with a smaller -micro-batch (now %d) or -lockstep (now %d)",
		err, m, rows, r.estimate(m, rows), cost.GiB(r.have), rows, m)
}
