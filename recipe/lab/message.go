package lab

import (
	"fmt"
	"time"

	"teamtalk/model/backend"
	"teamtalk/recipe/artifact"
	"teamtalk/recipe/data"
	"teamtalk/recipe/experiment"
)

// A coordinator tells a worker process what to do in orders, lines of JSON on its standard input, and the worker answers in
// lines of JSON on its standard output: an order to open, to join or to do a piece is answered with one that says how it ended,
// after any number that say how far it got. From the order to open on it also says, at fixed intervals and whatever it does, that it is alive. The end of the input says that the coordinator needs the worker no more, or is gone.

// order is what a coordinator tells a worker. One field is set.
type order struct {
	Open *openOrder `json:"open,omitempty"`
	Join *joinOrder `json:"join,omitempty"`
	Do   *piece     `json:"do,omitempty"`
	Stop bool       `json:"stop,omitempty"` // save what is under way, as an interruption would
}

// openOrder is to open the device.
type openOrder struct {
	Worker    string       `json:"worker"` // its name in phases.jsonl
	Backend   backend.Kind `json:"backend"`
	Processes int          `json:"processes"` // that share the device, this one included
	// Beat is how often to say that it is alive, in nanoseconds; 0: never.
	Beat time.Duration `json:"beat,omitempty"`
}

// joinOrder is to open a run's folder and to load its model: the fields of Options of the same names, with the model and the
// data where the coordinator found them.
type joinOrder struct {
	Dir       string    `json:"dir"`
	Model     string    `json:"model,omitempty"`
	Data      string    `json:"data,omitempty"`
	AnyData   bool      `json:"any_data,omitempty"`
	Problems  *data.Set `json:"problems,omitempty"`
	Lockstep  int       `json:"lockstep"`
	Rows      int       `json:"rows,omitempty"`
	EvalRows  int       `json:"eval_rows,omitempty"`
	StopAfter int       `json:"stop_after,omitempty"`
	Room      int64     `json:"room,omitempty"` // bytes that the device of any worker has for it, at the start of the run; 0: not known
}

// piece is what is dealt to one worker at a time. The plan and the options fix what belongs to it: which worker takes it, and
// when, makes no difference to any number.
type piece struct {
	Kind   pieceKind `json:"kind"`
	Number int       `json:"number"` // of the group of runs, or of the round of evaluations
	Names  []string  `json:"names"`  // the runs or evaluations, for messages
}

// pieceKind is also the name of the phase.
type pieceKind string

const (
	trainPiece  pieceKind = "train"     // a group of runs in lockstep
	evalPiece   pieceKind = "eval"      // a round of evaluations in lockstep
	testPiece   pieceKind = "eval-test" // the same on the whole test split
	checksPiece pieceKind = "checks"    // what needs the model and the problems to be checked
)

// tasks are what a kind of evaluation is on, in the plan's words.
func (k pieceKind) tasks() string {
	if k == testPiece {
		return experiment.TasksTest
	}
	return ""
}

func (p piece) String() string {
	switch p.Kind {
	case trainPiece:
		return fmt.Sprintf("training %v", p.Names)
	case evalPiece, testPiece:
		return fmt.Sprintf("evaluating %v", p.Names)
	}
	return string(p.Kind)
}

// answer is what a worker says. One field is set.
type answer struct {
	Progress *progress `json:"progress,omitempty"`
	Ended    *ended    `json:"ended,omitempty"`
	Alive    bool      `json:"alive,omitempty"`
}

// progress is how much of a piece is done: steps of each run, or replies.
type progress struct {
	Done int `json:"done"`
	All  int `json:"all"`
}

// ended is how an order ended.
type ended struct {
	Device *artifact.Env    `json:"device,omitempty"` // what was opened: Backend, Device, Plugin and Driver
	Room   int64            `json:"room,omitempty"`   // bytes of the device for this process; 0: not known
	Passed []string         `json:"passed,omitempty"` // why no better backend was
	Phases []artifact.Phase `json:"phases,omitempty"`
	Checks []artifact.Check `json:"checks,omitempty"`
	Error  string           `json:"error,omitempty"`
	// Interrupted: it was told to stop, by an order, a signal or StopAfter. Error says where.
	Interrupted bool `json:"interrupted,omitempty"`
}

// timed completes a worker's phase: its share of the device, and when it began.
func timed(p artifact.Phase, worker string, start time.Time, share int) artifact.Phase {
	p.Worker, p.DeviceSeconds = worker, p.Seconds/float64(share)
	p.Started = start.UTC().Format("2006-01-02T15:04:05.000Z07:00")
	return p
}
