package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"teamtalk/model"
	"teamtalk/model/backend"
	"teamtalk/model/tokenizer"
	"teamtalk/recipe/experiment"
	"teamtalk/recipe/mini"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
)

// maxReplies is how many replies are sampled at once.
const maxReplies = 64

// sampling says how replies are drawn.
type sampling struct {
	n           int
	temperature float64
	topP        float64
	maxTokens   int
	seed        int64
	stop        []int32
}

// runGenerate draws replies: to a prompt in the model's chat form, written as they are sampled, or with -ids to JSON Lines of
// ids. A reply depends on the model, its prompt, the settings and the seed, not on what is drawn beside it; line i (from 0)
// takes the noise that an evaluation with this base seed takes for problem i.
func runGenerate(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("generate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, `usage: recipe generate [-model ..] [-adapter ..] [-system S] -prompt P     a reply, as it is sampled
       recipe generate [-model ..] [-adapter ..] -ids [-n N] < x.jsonl     {"ids":[..]} -> {"ids":[..]}, the new ids; N lines for each
       the ids that end a reply (the configuration's and the tokenizer's) are among the new ids; other fields of a line come back as they are
`)
		flags.PrintDefaults()
	}
	var m modelFlags
	m.register(flags)
	system := flags.String("system", "", "system `message` (default: the model's own)")
	prompt := flags.String("prompt", "", "user `message`")
	ids := flags.Bool("ids", false, "read prompts as JSON Lines of ids from standard input, write ids")
	var s sampling
	flags.IntVar(&s.n, "n", 1, "replies to each prompt")
	flags.Float64Var(&s.temperature, "temperature", 0.9, "divide logits by this `number`; 0 takes the likeliest id each time")
	flags.Float64Var(&s.topP, "top_p", 0.95, "draw from the likeliest ids that together have this `probability`; 1 is all")
	flags.IntVar(&s.maxTokens, "max_tokens", 0, "most new `ids` (default: 512, or half of the model's positions if that is less)")
	flags.Int64Var(&s.seed, "seed", 1, "`seed` of the noise")
	if help, err := parseFlags(flags, args); help || err != nil {
		return err
	}
	set := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { set[f.Name] = true })
	switch {
	case flags.NArg() > 0:
		return usagef("generate: unexpected argument %q: the prompt goes behind -prompt, in quotes", flags.Arg(0))
	case *ids && (set["prompt"] || set["system"]):
		return usagef("generate: -ids reads prompts from standard input, expected no -prompt and no -system beside it")
	case !*ids && *prompt == "":
		return usagef("generate: -prompt is missing: give a message, or -ids and lines of ids on standard input")
	case s.n < 1 || s.n > maxReplies:
		return usagef("generate: -n %d: expected 1 to %d; another -seed gives others", s.n, maxReplies)
	case !(s.temperature >= 0) || math.IsInf(s.temperature, 1):
		return usagef("generate: -temperature %g: expected 0 or more", s.temperature)
	case !(s.topP > 0 && s.topP <= 1):
		return usagef("generate: -top_p %g: expected above 0, up to 1", s.topP)
	case set["max_tokens"] && s.maxTokens < 1:
		return usagef("generate: -max_tokens %d: expected 1 or more", s.maxTokens)
	}
	if err := m.check(); err != nil {
		return err
	}
	o, err := m.open(ctx, stderr)
	if err != nil {
		return err
	}
	defer o.Close()
	c := o.checkpoint.Config
	if s.maxTokens == 0 {
		s.maxTokens = min(512, c.MaxPositionEmbeddings/2)
	}
	tok, err := o.checkpoint.Tokenizer()
	if err != nil && !*ids {
		return err
	}
	if err != nil {
		fmt.Fprintf(stderr, "model: no tokenizer (%v): the configuration's ids %v end a reply\n", err, c.EOSTokenIDs)
	}
	s.stop = stopIDs(c.EOSTokenIDs, tok)
	sampler, err := model.NewSampler(o.device, o.weights, model.SamplerOptions{LoRA: o.lora, Runs: 1, Stop: s.stop, RoundPrompt: 64, Phases: []int{}})
	if err != nil {
		return err
	}
	defer sampler.Close()
	if o.lora != nil {
		if err := sampler.Load(o.adapters); err != nil {
			return err
		}
	}
	if *ids {
		g := &generating{model: o, sampler: sampler, sampling: s, rows: map[int]int{}}
		return g.run(ctx, stdin, stdout, stderr)
	}
	if !set["system"] && m.model == embeddedModel {
		*system, set["system"] = mini.SystemPlain, true
	}
	messages := []tokenizer.Message{{Role: "user", Content: *prompt}}
	if set["system"] {
		messages = append([]tokenizer.Message{{Role: "system", Content: *system}}, messages...)
	}
	chat, err := tok.ChatML(messages, true)
	if err != nil {
		return err
	}
	if n := len(chat) + s.maxTokens; n > c.MaxPositionEmbeddings {
		return fmt.Errorf("the prompt has %d tokens; with %d new ones they need %d positions, the model has %d: shorten it or lower -max_tokens",
			len(chat), s.maxTokens, n, c.MaxPositionEmbeddings)
	}
	return s.chat(ctx, sampler, tok, chat, stdout, stderr)
}

// stopIDs are the ids that end a reply: the configuration's and, if there is a tokenizer, its own.
func stopIDs(configured []int32, tok *tokenizer.Tokenizer) []int32 {
	stop := slices.Clone(configured)
	if tok != nil {
		stop = append(stop, tok.EOS()...)
	}
	slices.Sort(stop)
	return slices.Compact(stop)
}

// request asks for replies to prompts; the noise is that of the places of their lines.
func (s sampling) request(prompts [][]int32, places []int) model.Request {
	r := model.Request{MaxTokens: s.maxTokens, Temperature: s.temperature, TopP: s.topP}
	noise := experiment.Eval.Seed(s.seed)
	for i, ids := range prompts {
		p := model.Prompt{IDs: ids}
		for sample := range s.n {
			p.Keys = append(p.Keys, model.NewKey(noise, uint64(places[i]), uint64(sample)))
		}
		r.Prompts = append(r.Prompts, p)
	}
	return r
}

// chat writes the replies to one prompt. The first is written as it is sampled, the others, sampled beside it, behind it, each
// under a line that numbers it.
func (s sampling) chat(ctx context.Context, sampler *model.Sampler, tok *tokenizer.Tokenizer, prompt []int32, stdout, stderr io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r := s.request([][]int32{prompt}, []int{0})
	stream, told := tok.Stream(false), 0
	var failed error
	write := func(text string) {
		if _, err := io.WriteString(stdout, text); err != nil && failed == nil {
			failed = err
			stop() // nobody reads
		}
	}
	tell := func(c model.Completion) {
		for ; told < len(c.IDs); told++ {
			if text := stream.Next(c.IDs[told]); text != "" {
				write(text)
			}
		}
	}
	r.Every = 1
	r.Progress = func(now []model.Completion) { tell(now[0]) }
	if s.n > 1 {
		write(heading(1, s.n))
	}
	start := time.Now()
	all, err := sampler.Sample(ctx, r)
	if failed != nil {
		return failed
	}
	if err != nil {
		write("\n")
		return err
	}
	took := time.Since(start) - sampler.CompileTime
	tell(all[0][0])
	write(stream.Flush() + "\n")
	tokens := 0
	for i, c := range all[0] {
		if i > 0 {
			write(heading(i+1, s.n) + tok.Decode(c.IDs) + "\n")
		}
		tokens += len(c.IDs)
		fmt.Fprintf(stderr, "generate: reply %d: %d tokens, finish %s\n", i+1, len(c.IDs), c.Finish)
	}
	fmt.Fprintf(stderr, "generate: prompt of %d tokens, %.1f tokens/s, compiled in %.1f s\n", len(prompt), float64(tokens)/took.Seconds(), sampler.CompileTime.Seconds())
	return failed
}

func heading(i, n int) string { return fmt.Sprintf("== reply %d of %d\n", i, n) }

// generating answers windows of lines of ids.
type generating struct {
	model   *openModel
	sampler *model.Sampler
	sampling
	rows         map[int]int // prompts in a batch, by columns
	lines, drawn int
}

func (g *generating) run(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error {
	err := idLines(ctx, stdin, stdout, 256, g.parse, func(window []*idLine) error { return g.answer(ctx, window) })
	fmt.Fprintf(stderr, "generate: %d lines, %d new ids, %d compiled shapes\n", g.lines, g.drawn, len(g.rows))
	return err
}

func (g *generating) parse(in []byte) (*idLine, error) {
	c := g.model.checkpoint.Config
	l, err := parseIDLine(in, c.VocabSize, "sample")
	if err != nil {
		return nil, err
	}
	if n := len(l.ids) + g.maxTokens; n > c.MaxPositionEmbeddings {
		return nil, fmt.Errorf("%d ids; with %d new ones they need %d positions, the model has %d: shorten it or lower -max_tokens", len(l.ids), g.maxTokens, n, c.MaxPositionEmbeddings)
	}
	return l, nil
}

// batch is the most prompts of t columns that are answered at once: up to maxReplies replies, whose keys and values take up to two
// gigabytes, on a GPU sixteen.
func (g *generating) batch(t int) int {
	c := g.model.checkpoint.Config
	size, budget := 4, 2<<30
	if g.model.device.DType == dtypes.BFloat16 {
		size = 2
	}
	if g.model.device.Kind == backend.CUDA {
		budget = 16 << 30
	}
	row := 2 * c.NumHiddenLayers * c.NumKeyValueHeads * c.HeadDim * (t + g.maxTokens) * size
	return max(1, min(maxReplies, budget/row)/g.n)
}

func (g *generating) answer(ctx context.Context, window []*idLine) error {
	c := g.model.checkpoint.Config
	widths, lines := byWidth(window)
	for _, t := range widths {
		of := lines[t]
		if g.rows[t] == 0 {
			g.rows[t] = min(g.batch(t), len(of))
		}
		rows := g.rows[t]
		for ; len(of) > 0; of = of[min(rows, len(of)):] {
			batch := of[:min(rows, len(of))]
			prompts, places := make([][]int32, rows), make([]int, rows) // what is left of them is padding
			for i, l := range batch {
				prompts[i], places[i] = l.ids, l.place
			}
			r := g.request(prompts, places)
			r.Columns = min(t, c.MaxPositionEmbeddings-g.maxTokens)
			r.Every = 64 // looks for an interruption
			replies, err := g.sampler.Sample(ctx, r)
			if err != nil {
				return err
			}
			for i, l := range batch {
				for sample, reply := range replies[i] {
					fields := appendInts(nil, "ids", reply.IDs)
					if g.n > 1 {
						fields = fmt.Appendf(fields, `,"sample":%d`, sample)
					}
					l.answer = append(l.answer, fields)
					g.drawn += len(reply.IDs)
				}
				g.lines++
			}
		}
	}
	return nil
}
