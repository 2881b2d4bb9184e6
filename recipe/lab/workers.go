package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"teamtalk/model/backend"
	"teamtalk/recipe/artifact"
	"teamtalk/recipe/experiment"
	"teamtalk/recipe/grpo"
)

// maxRestarts is how often a piece of work is begun again that does not get further.
const maxRestarts = 2

// workers are the worker processes of a run, and what is dealt to them. They write the folders of training runs and the
// evaluations; everything that the run has once is written here.
type workers struct {
	lab     *Lab
	seats   []*seat
	device  artifact.Env // what all of them opened
	devices int
	room    int64 // the least that one of them found; which worker trains what must not decide on the shapes
	overall *overall

	mu sync.Mutex // guards the run's own files
}

// seat is a place with, mostly, a process at work there.
type seat struct {
	place
	process *process
	joined  bool
}

// openWorkers starts a process at every place and lets it open its device. All devices must be alike, because which of them
// computes what is left to chance.
func (l *Lab) openWorkers(ctx context.Context, places []place) error {
	l.options.Log = &wholeLines{to: l.options.Log}
	w := &workers{lab: l, devices: 1}
	names := map[string]bool{}
	for _, p := range places {
		w.seats = append(w.seats, &seat{place: p})
		if p.gpu() {
			names[strings.Join(p.env, " ")] = true
			w.devices = len(names)
		}
	}
	l.workers = w
	l.say("%d worker processes: %s to %s", len(w.seats), w.seats[0].name, w.seats[len(w.seats)-1].name)
	opened := make([]ended, len(w.seats))
	err := w.together(func(i int, s *seat) (err error) {
		opened[i], err = w.open(ctx, s)
		return err
	})
	if err != nil {
		return err
	}
	w.device = *opened[0].Device
	for _, passed := range opened[0].Passed {
		l.say("backend not taken: %s", passed)
	}
	for i, s := range w.seats {
		if err := w.same(s, *opened[i].Device); err != nil {
			return err
		}
		if i == 0 || opened[i].Room < w.room {
			w.room = opened[i].Room
		}
	}
	l.say("backend: %s, %s, in every worker process", w.device.Backend, w.device.Device)
	l.options.Backend = backend.Kind(w.device.Backend)
	l.Plan.Model.DType = dtypeName(backend.DTypeOf(l.options.Backend))
	return nil
}

// together calls f for every seat at the same time, and returns the errors in the seats' order.
func (w *workers) together(f func(i int, s *seat) error) error {
	errs := make([]error, len(w.seats))
	var wg sync.WaitGroup
	for i, s := range w.seats {
		wg.Go(func() { errs[i] = f(i, s) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// open starts a process and lets it open its device.
func (w *workers) open(ctx context.Context, s *seat) (e ended, err error) {
	o := &w.lab.options
	if s.process, err = startProcess(o.Worker, s.place, o.Log, o.watch); err != nil {
		return e, err
	}
	s.joined = false
	e, err = s.process.ask(ctx, order{Open: &openOrder{Worker: s.name, Backend: o.Backend, Processes: s.sharers, Beat: s.process.watch.beat}}, nil)
	switch {
	case err != nil:
		return e, fmt.Errorf("worker process %s: %w", s.name, err)
	case e.Error != "":
		return e, fmt.Errorf("worker process %s: %s", s.name, e.Error)
	case e.Device == nil:
		return e, fmt.Errorf("worker process %s does not say what it opened: the worker must be the same program", s.name)
	}
	return e, nil
}

// same refuses a device that would compute other numbers.
func (w *workers) same(s *seat, found artifact.Env) error {
	if want := w.device; found.Backend != want.Backend || found.Device != want.Device || found.Plugin != want.Plugin {
		return fmt.Errorf("worker processes: expected equal devices, because numbers depend on them, found %s with %s (%s) and %s with %s (%s): choose with %s, or take -processes 1",
			w.seats[0].name, want.Device, want.Backend, s.name, found.Device, found.Backend, backend.VisibleDevices)
	}
	return nil
}

// join lets a process open the run and load the model.
func (w *workers) join(ctx context.Context, s *seat) error {
	l := w.lab
	e, err := s.process.ask(ctx, order{Join: &joinOrder{
		Dir: l.Dir, Model: l.modelPath, Data: l.dataDir, AnyData: l.options.AnyData, Problems: l.options.Problems,
		Lockstep: l.options.Lockstep, Rows: l.options.Rows, EvalRows: l.options.EvalRows, StopAfter: l.options.StopAfter, Room: w.room,
	}}, nil)
	if err != nil {
		return err
	}
	if err := w.record(e); err != nil {
		return err
	}
	switch {
	case e.Interrupted:
		return w.stopped(ctx, s, "before it had the model")
	case e.Error != "":
		return errors.New(e.Error)
	}
	s.joined = true
	return nil
}

func (w *workers) train(ctx context.Context) error {
	l := w.lab
	groups := l.groups()
	w.overall = newOverall(l)
	var pieces []piece
	for _, i := range l.undoneGroups() {
		p := piece{Kind: trainPiece, Number: i}
		for _, r := range groups[i] {
			p.Names = append(p.Names, r.Name)
		}
		pieces = append(pieces, p)
	}
	return w.deal(ctx, pieces)
}

func (w *workers) evaluate(ctx context.Context) error { return w.evaluateKind(ctx, evalPiece) }

func (w *workers) evaluateTest(ctx context.Context) error { return w.evaluateKind(ctx, testPiece) }

func (w *workers) evaluateKind(ctx context.Context, kind pieceKind) error {
	l := w.lab
	rounds := l.rounds(kind.tasks())
	var pieces []piece
	for _, i := range l.undoneRounds(kind) {
		p := piece{Kind: kind, Number: i}
		for _, e := range rounds[i] {
			if !l.run.HasEval(e) {
				p.Names = append(p.Names, e.Name())
			}
		}
		pieces = append(pieces, p)
	}
	return w.deal(ctx, pieces)
}

func (w *workers) checks(ctx context.Context) error {
	if err := w.deal(ctx, []piece{{Kind: checksPiece}}); err != nil {
		return err
	}
	w.close()
	return nil
}

// undoneGroups are the numbers of the groups with a run that has no adapter.
func (l *Lab) undoneGroups() (numbers []int) {
	for i, g := range l.groups() {
		if slices.ContainsFunc(g, func(r experiment.Run) bool { return l.run == nil || !l.run.HasFinal(r.Name) }) {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// undoneRounds are the numbers of the rounds with an evaluation that is not there.
func (l *Lab) undoneRounds(kind pieceKind) (numbers []int) {
	for i, r := range l.rounds(kind.tasks()) {
		if slices.ContainsFunc(r, func(e experiment.EvalRun) bool { return l.run == nil || !l.run.HasEval(e) }) {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// deal hands pieces to the workers, one at a time to each, until all are done. After an error no more are dealt, and those under
// way are finished.
func (w *workers) deal(ctx context.Context, pieces []piece) error {
	w.overall.begin(pieces)
	queue := make(chan piece, len(pieces))
	for _, p := range pieces {
		queue <- p
	}
	close(queue)
	within, stop := context.WithCancel(ctx) // of the dealing, not of the work
	defer stop()
	err := w.together(func(_ int, s *seat) error {
		for p := range queue {
			if within.Err() != nil {
				return nil
			}
			if err := w.finish(ctx, s, p); err != nil {
				stop()
				return err
			}
			w.overall.ended(p)
		}
		return nil
	})
	return w.ended(ctx, err)
}

// ended makes one error of those of the workers. Being told to stop counts least.
func (w *workers) ended(ctx context.Context, err error) error {
	var stopped []string
	var failed []error
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			var i *interruptedError
			if errors.As(e, &i) {
				stopped = append(stopped, e.Error())
			} else {
				failed = append(failed, e)
			}
		}
	}
	switch {
	case len(failed) > 0:
		return fmt.Errorf("%w\nfinished steps, runs and evaluations are kept; go on with: %s", errors.Join(failed...), w.lab.GoOn())
	case len(stopped) > 0:
		return fmt.Errorf("%w, %s", grpo.ErrInterrupted, strings.Join(stopped, ", "))
	case ctx.Err() != nil:
		return grpo.ErrInterrupted
	}
	return nil
}

// interruptedError says where a worker stopped that was told to.
type interruptedError struct{ where string }

func (e *interruptedError) Error() string { return e.where }

// finish does a piece at a seat, with as many processes as that takes.
func (w *workers) finish(ctx context.Context, s *seat, p piece) error {
	best, deaths := w.saved(p), 0
	for {
		err := w.attempt(ctx, s, p)
		var died *diedError
		if !errors.As(err, &died) {
			return err
		}
		s.process = nil
		if ctx.Err() != nil {
			return &interruptedError{fmt.Sprintf("%s: worker process %s died before it had saved (%s)", p, s.name, died.how)}
		}
		deaths++
		if now := w.saved(p); now > best {
			best, deaths = now, 1
		}
		if deaths > maxRestarts {
			return fmt.Errorf("%s: worker process %s died %d times without getting further than %s: %w", p, s.name, deaths, w.reached(p), died)
		}
		w.lab.say("worker process %s died (%s): %s goes on in a new one from %s", s.name, died.how, p, w.reached(p))
	}
}

// saved is how much of a piece would not have to be done again.
func (w *workers) saved(p piece) int {
	switch p.Kind {
	case trainPiece:
		least := -1
		for _, name := range p.Names {
			last := 0
			if w.lab.run.HasFinal(name) {
				last = w.lab.Plan.Training.MaxSteps
			} else if steps := w.lab.run.Checkpoints(name); len(steps) > 0 {
				last = steps[len(steps)-1]
			}
			if least < 0 || last < least {
				least = last
			}
		}
		return least
	case evalPiece, testPiece:
		done := 0
		for _, e := range w.lab.rounds(p.Kind.tasks())[p.Number] {
			if w.lab.run.HasEval(e) {
				done++
			}
		}
		return done
	}
	return 0
}

// reached says where a piece goes on.
func (w *workers) reached(p piece) string {
	if p.Kind == trainPiece {
		return fmt.Sprintf("step %d", w.saved(p))
	}
	return "its beginning"
}

// attempt does a piece with the process that is there, or a new one.
func (w *workers) attempt(ctx context.Context, s *seat, p piece) error {
	if ctx.Err() != nil {
		return &interruptedError{p.String() + " not begun"}
	}
	if s.process == nil {
		e, err := w.open(ctx, s)
		if err == nil {
			err = w.same(s, *e.Device)
		}
		if err != nil {
			return err
		}
	}
	if !s.joined {
		if err := w.join(ctx, s); err != nil {
			return fmt.Errorf("worker process %s: %w", s.name, err)
		}
	}
	start := time.Now()
	e, err := s.process.ask(ctx, order{Do: &p}, func(t progress) { w.overall.told(p, t) })
	var died *diedError
	if errors.As(err, &died) {
		lost := artifact.Phase{Name: string(p.Kind), Seconds: time.Since(start).Seconds(), Died: true}
		if p.Kind != checksPiece {
			lost.Runs = p.Names
		}
		return errors.Join(err, w.record(ended{Phases: []artifact.Phase{timed(lost, s.name, start, s.sharers)}}))
	}
	if err != nil {
		return err
	}
	if err := w.record(e); err != nil {
		return err
	}
	switch {
	case e.Interrupted && w.lab.options.StopAfter > 0:
		return &interruptedError{fmt.Sprintf("%s %s", p, e.Error)}
	case e.Interrupted:
		return w.stopped(ctx, s, fmt.Sprintf("%s %s", p, e.Error))
	case e.Error != "":
		return fmt.Errorf("%s, worker process %s: %s", p, s.name, e.Error)
	}
	return nil
}

// stopped is the error of a worker that was told to stop. One that was not told by this process is as good as dead.
func (w *workers) stopped(ctx context.Context, s *seat, where string) error {
	select {
	case <-ctx.Done():
		return &interruptedError{where}
	case <-time.After(time.Second): // Ctrl-C reaches all processes of a terminal, in any order
	}
	s.process.end(30 * time.Second)
	return &diedError{"told to stop by another process", s.process.log.last()}
}

// record writes down what a worker answered.
func (w *workers) record(e ended) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range e.Phases {
		if err := w.lab.run.AppendPhase(p); err != nil {
			return err
		}
	}
	if e.Checks != nil && e.Error == "" {
		return w.lab.run.WriteChecks(e.Checks)
	}
	return nil
}

// close ends the processes.
func (w *workers) close() {
	_ = w.together(func(_ int, s *seat) error {
		if s.process != nil {
			s.process.end(30 * time.Second)
			s.process = nil
		}
		return nil
	})
}
