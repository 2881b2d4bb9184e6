package bench

// Goal is what a line should come to on one machine.
type Goal struct {
	Line string  `json:"line"`
	What string  `json:"what"`
	Most float64 `json:"most"` // in the line's unit, of its median
}

// h200 are the goals for one NVIDIA H200: Qwen2.5-1.5B, 12 prompts x 4 replies of 512 tokens, LoRA r=32 on all seven linear maps.
// They were set from what peers were measured to take on the same machine and from what its memory allows.
var h200 = []Goal{
	{"start", "process start to the first sampled token", 45},
	{"load-gguf", "the weights from a GGUF file to the GPU", 10},
	{"load-safetensors", "the weights from safetensors to the GPU", 4},
	{"decode", "a decoding step of 48 rows, cache of 768 (the memory's limit is 0.74 ms)", 2.5},
	{"decode-m4", "a decoding step of 192 rows, four runs in lockstep", 4.5},
	{"eval-480", "480 evaluation replies, temperature 0.9, top_p 0.95", 4.0},
	{"train-8x704", "a gradient pass of 8 x 704 tokens", 85},
	{"step", "a GRPO step, mean of steps 2 to 10", 2.0},
	{"step-ratio", "a step of four runs in lockstep over a step of one", 2.0},
	{"memory", "peak memory of one run's training", 24},
	{"memory-m4", "peak memory of four runs' training", 40},
}

// goalOf is the goal of a line on this machine and shape, if it has one.
func goalOf(goals []Goal, line string) *Goal {
	for i := range goals {
		if goals[i].Line == line {
			return &goals[i]
		}
	}
	return nil
}
