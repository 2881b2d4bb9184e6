package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"teamtalk/model/backend"
	"teamtalk/model/flock"
	"teamtalk/recipe/artifact"
	"teamtalk/recipe/eval"
	"teamtalk/recipe/grpo"
)

// Work is the whole of a worker process: it does what the coordinator of a run with several processes tells it on in, answers on
// out, and logs on log. It keeps its device and its model until in ends. When in ends before a piece of work does, or ctx is
// cancelled, a checkpoint is saved as in any interrupted run; when in ends after an order to stop, the process exits at once.
// Errors of the work are answers, not returned.
func Work(ctx context.Context, in io.Reader, out, log io.Writer) error {
	// A coordinator that is gone reads neither answers nor the log; a checkpoint is saved all the same.
	signal.Ignore(syscall.SIGPIPE)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &reporter{out: json.NewEncoder(out), done: make(chan struct{})}
	defer close(r.done)
	l := &Lab{options: Options{Log: log}, reporter: r}
	defer l.Close()
	for o := range orders(in, cancel) {
		e := l.obey(ctx, o)
		r.answer(answer{Ended: &e})
		if e.Error != "" {
			return nil
		}
	}
	return nil
}

// orders reads them. Those to stop, and the end of in, call stop.
func orders(in io.Reader, stop func()) <-chan order {
	c := make(chan order, 1)
	var stopped atomic.Bool
	go func() {
		defer close(c)
		for d := json.NewDecoder(in); ; {
			var o order
			if err := d.Decode(&o); err != nil {
				if stopped.Load() { // a second interruption does not wait for the first one's orderly end
					os.Exit(1)
				}
				stop()
				return
			}
			if o.Stop {
				stopped.Store(true)
				stop()
				continue
			}
			c <- o
		}
	}()
	return c
}

// obey does what one order says.
func (l *Lab) obey(ctx context.Context, o order) (e ended) {
	var err error
	switch {
	case o.Open != nil:
		err = l.obeyOpen(*o.Open, &e)
	case o.Join != nil:
		err = l.obeyJoin(ctx, *o.Join)
	case o.Do != nil:
		err = l.do(ctx, *o.Do, &e)
	default:
		err = errors.New("an order that this worker does not know: the coordinator must be the same program")
	}
	e.Phases = l.reporter.takePhases()
	if errors.Is(err, grpo.ErrInterrupted) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		e.Interrupted = true
	}
	if err != nil {
		e.Error = strings.TrimPrefix(err.Error(), grpo.ErrInterrupted.Error()+" ")
	}
	return e
}

func (l *Lab) obeyOpen(o openOrder, e *ended) (err error) {
	l.reporter.worker, l.reporter.share = o.Worker, o.Processes
	if o.Beat > 0 {
		go l.reporter.beat(o.Beat)
	}
	if l.Device, err = backend.OpenShare(o.Backend, o.Processes); err != nil {
		return err
	}
	env := l.environment()
	e.Device = &artifact.Env{Backend: env.Backend, Device: env.Device, Plugin: env.Plugin, Driver: env.Driver}
	e.Passed, e.Room = l.Device.Passed, l.Device.Room()
	return nil
}

func (l *Lab) obeyJoin(ctx context.Context, o joinOrder) (err error) {
	l.Dir, l.reporter.room = o.Dir, o.Room
	log := l.options.Log
	defer func() { l.options.Log = log }()
	l.options = Options{
		Resume: o.Dir, Model: o.Model, Data: o.Data, AnyData: o.AnyData, Problems: o.Problems, Backend: l.Device.Kind,
		Lockstep: o.Lockstep, Rows: o.Rows, EvalRows: o.EvalRows, StopAfter: o.StopAfter, Log: io.Discard, // the coordinator said it
	}
	if l.run, err = artifact.Open(o.Dir); err != nil {
		return err
	}
	soon, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	// Where there are no locks the coordinator has said so.
	if l.unlock, err = flock.Shared(soon, filepath.Join(l.Dir, artifact.ExperimentFile)); errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("another process works on %s: wait for it to end, or end it", l.Dir)
	}
	l.Plan = l.run.Plan()
	if err := l.openModel(ctx); err != nil {
		return err
	}
	if err := l.openData(ctx); err != nil {
		return err
	}
	return l.load(ctx)
}

// do does one piece.
func (l *Lab) do(ctx context.Context, p piece, e *ended) error {
	switch p.Kind {
	case trainPiece:
		return l.trainPiece(ctx, p.Number)
	case evalPiece:
		return l.evalPiece(ctx, p, &l.evaluator)
	case testPiece:
		return l.evalPiece(ctx, p, &l.testEvaluator)
	case checksPiece:
		if err := l.keepEvaluator(&l.evaluator, ""); err != nil {
			return err
		}
		start := time.Now()
		checks, err := l.check(ctx)
		e.Checks = checks
		return errors.Join(err, l.phase("checks", nil, start, 0))
	}
	return fmt.Errorf("a piece of the kind %q: the coordinator must be the same program", p.Kind)
}

func (l *Lab) trainPiece(ctx context.Context, number int) error {
	group, err := l.openGroup(l.groups()[number])
	if err != nil {
		return err
	}
	defer closeGroup(group)
	return l.trainGroup(ctx, group)
}

// keepEvaluator opens the whole list of evaluations on some tasks, unless it was, so that a round has the shape that it has in one
// process.
func (l *Lab) keepEvaluator(evaluator **eval.Evaluator, tasks string) error {
	if *evaluator != nil {
		return nil
	}
	jobs, err := l.jobs(tasks)
	if err != nil {
		return err
	}
	*evaluator, err = l.newEvaluator(jobs, tasks)
	return err
}

func (l *Lab) evalPiece(ctx context.Context, p piece, evaluator **eval.Evaluator) error {
	start := time.Now()
	tasks := p.Kind.tasks()
	if err := l.keepEvaluator(evaluator, tasks); err != nil {
		return err
	}
	var jobs []eval.Job
	for _, e := range l.rounds(tasks)[p.Number] {
		jobs = append(jobs, eval.Job{Run: e, Done: l.run.HasEval(e)})
	}
	return l.sample(string(p.Kind), start, jobs, func(w writeReplies) error { return (*evaluator).EvaluateRound(ctx, p.Number, w) })
}
