package artifact

import (
	"teamtalk/recipe/experiment"
)

// planFile is experiment.json.
type planFile struct {
	Version int             `json:"version"`
	SHA256  string          `json:"sha256"` // experiment.Plan.Hash of Plan
	Plan    experiment.Plan `json:"plan"`
}

// envFile is env.json.
type envFile struct {
	Version  int   `json:"version"`
	Sessions []Env `json:"sessions"`
	// Sealed says that a manifest was written, and stays should that be lost.
	Sealed bool `json:"sealed,omitempty"`
}

// Env describes one process that conducted the run, with the workers that it started. It holds no host name and no path.
type Env struct {
	Started   string   `json:"started"` // RFC 3339, UTC
	Command   string   `json:"command"` // as typed, folders of absolute paths left out: see CommandLine
	Commit    string   `json:"commit"`  // of this program
	Dirty     bool     `json:"dirty"`   // the working tree had changes that are not in Commit
	Go        string   `json:"go"`
	Platform  string   `json:"platform"` // GOOS/GOARCH
	CPUs      int      `json:"cpus"`
	Modules   []Module `json:"modules"` // the libraries that do the arithmetic, sorted by path
	Backend   string   `json:"backend"` // "cuda", "xla-cpu", "go"
	Device    string   `json:"device"`  // e.g. "NVIDIA H200"
	Devices   int      `json:"devices"`
	Processes int      `json:"processes,omitempty"` // workers that shared the runs and the devices; 0: this process did all
	Plugin    Plugin   `json:"plugin"`
	Driver    string   `json:"driver,omitempty"`
}

// Module is a Go module and its version.
type Module struct {
	Path    string `json:"path"`
	Version string `json:"version"`
}

// Plugin is the PJRT plugin, if the backend uses one.
type Plugin struct {
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
	SHA256  string `json:"sha256,omitempty"`
}

// FinishReason says why a reply ended.
type FinishReason string

// The finish reasons, as in the OpenAI and vLLM APIs.
const (
	Stop   FinishReason = "stop"   // an end-of-sequence token
	Length FinishReason = "length" // the cap: the reply is truncated
)

// Verdict is the grader's, as recorded. Reward nil: the gold answer could not be read, so the reply counts for nothing.
type Verdict struct {
	Reward        *int     `json:"reward"` // 0, 1 or null
	Policy        string   `json:"policy"` // which place in the reply decided
	Reason        string   `json:"reason"`
	Form          string   `json:"form,omitempty"`
	Boxes         int      `json:"boxes,omitempty"`
	DistinctBoxes int      `json:"distinct_boxes,omitempty"`
	Flags         []string `json:"flags,omitempty"` // "percent", "unit", "open" (breaks off inside a box), "limit:..."
}

// Graded returns a reward for Verdict.Reward.
func Graded(reward int) *int { return &reward }

// Correct says whether the reply was graded right.
func (v Verdict) Correct() bool { return v.Reward != nil && *v.Reward == 1 }

// Talk is the turn counter's result, as recorded.
type Talk struct {
	Turns       int    `json:"turns"`
	Speakers    int    `json:"speakers"`
	Talks       bool   `json:"talks"`
	Order       string `json:"order,omitempty"` // initials of the speakers in order
	Substantive int    `json:"substantive"`     // turns with a letter or digit in them
	// TalksSubstantive is Talks over substantive turns alone: an echo of the prompt's form does not talk.
	TalksSubstantive bool `json:"talks_substantive,omitempty"`
	Switches         int  `json:"switches,omitempty"`
	NearMisses       int  `json:"near_misses,omitempty"`
}

// Sampled is one reply of a model to one task, graded.
type Sampled struct {
	Task         int          `json:"task"` // the task's index in its split
	TaskSHA256   string       `json:"task_sha256"`
	Sample       int          `json:"sample"`
	Text         string       `json:"text"`   // valid UTF-8: see Text; graded in this form
	Tokens       int          `json:"tokens"` // EOS included
	FinishReason FinishReason `json:"finish_reason"`
	Verdict      Verdict      `json:"verdict"`
	Talk         Talk         `json:"talk"`
}

// Truncated says whether the reply hit the cap.
func (s *Sampled) Truncated() bool { return s.FinishReason == Length }

// Reply is one line of an evaluation.
type Reply struct {
	Sampled
}

// Rollout is one line of completions.jsonl.gz.
type Rollout struct {
	Step   int `json:"step"`   // 1, 2, ...
	Prompt int `json:"prompt"` // position of the task in the step: the group
	Sampled
	PromptTokens   int     `json:"prompt_tokens"`
	Advantage      float64 `json:"advantage"`
	SumLogpSampler float64 `json:"sum_logp_sampler"` // log-probability of the whole reply, nats
	// SumLogpTrainer is that of the same tokens in the training graph; null where the row needed none, for which files of earlier
	// versions have 0.
	SumLogpTrainer *float64 `json:"sum_logp_trainer"`
}

// Phase is one line of phases.jsonl: what it cost. A phase that several runs shared (lockstep) names them all. Phases of worker
// processes run side by side: they say which and when, so that time can be counted once.
type Phase struct {
	Name            string   `json:"name"` // "load", "compile", "train", "eval", ...
	Runs            []string `json:"runs,omitempty"`
	Seconds         float64  `json:"seconds"`        // wall clock
	DeviceSeconds   float64  `json:"device_seconds"` // wall clock times devices held, a share where processes share one
	Tokens          int64    `json:"tokens,omitempty"`
	PeakHostBytes   int64    `json:"peak_host_bytes,omitempty"`
	PeakDeviceBytes int64    `json:"peak_device_bytes,omitempty"`
	Worker          string   `json:"worker,omitempty"`  // the worker process, e.g. "gpu0"; empty: the run's only process
	Started         string   `json:"started,omitempty"` // RFC 3339 in UTC with milliseconds; given for a worker's phases
	Died            bool     `json:"died,omitempty"`    // the worker did not live to its end: what was not saved was done again
}

// Round is one line of the Climb ledger: one attempt at the experiment. Nothing here is computed from the present run.
type Round struct {
	Round   int      `json:"round"`
	Changed string   `json:"changed"`        // what was changed, and why
	Value   *float64 `json:"value"`          // pass@1 of the arm that was worked on; null where the attempt gave none
	Metric  string   `json:"metric"`         // what Value is, e.g. "pass@1 recipe"
	Plan    string   `json:"plan,omitempty"` // SHA-256 of that attempt's plan
	// What else the attempt came to, where its evaluations are there: pass@1 of the arm that was worked on minus the other's, each
	// under its own prompt and both under the plain one, and the share of the arm's replies that talk.
	Difference      *float64 `json:"difference,omitempty"`
	PlainDifference *float64 `json:"plain_difference,omitempty"`
	Talk            *float64 `json:"talk,omitempty"`
}

// Status is the outcome of a check.
type Status string

// The outcomes. Vacuous: the check passed, but its negative control shows that it would have passed anyway.
const (
	Pass    Status = "pass"
	Fail    Status = "fail"
	NotRun  Status = "not run"
	Vacuous Status = "vacuous"
)

// Check is one check with its negative control.
type Check struct {
	ID      string  `json:"id"`
	Title   string  `json:"title"`
	Source  string  `json:"source,omitempty"` // reference key
	Status  Status  `json:"status"`
	Value   string  `json:"value"`            // what was found, in words
	Control Control `json:"control,omitzero"` // absent: none is possible, and Value says why
}

// Control is a planted fault: what was planted and whether the check found it.
type Control struct {
	Planted string `json:"planted"`
	Caught  bool   `json:"caught"`
}

// checksFile is checks.json.
type checksFile struct {
	Version int     `json:"version"`
	Checks  []Check `json:"checks"`
}
