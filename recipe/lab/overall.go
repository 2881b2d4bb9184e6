package lab

import (
	"fmt"
	"sync"
	"time"
)

// overallEvery is how often there is a line about all workers together.
const overallEvery = 5 * time.Second

// overall counts what all workers have done, and says so now and then.
type overall struct {
	lab *Lab

	mu              sync.Mutex
	steps, allSteps int // finished pieces of training, in steps of single runs
	evals, allEvals int
	began, said     time.Time
	pieces          map[string]counted // of the present kind of work
}

// counted is a piece under way. What it had when it was first heard of was not done in this sitting.
type counted struct {
	piece
	done, all, before int
}

// newOverall counts what was done before.
func newOverall(l *Lab) *overall {
	o := &overall{lab: l, allSteps: len(l.Plan.Runs()) * l.Plan.Training.MaxSteps, allEvals: len(l.Plan.Evaluations())}
	o.steps = o.allSteps
	groups := l.groups()
	for _, i := range l.undoneGroups() {
		o.steps -= len(groups[i]) * l.Plan.Training.MaxSteps
	}
	for _, e := range l.Plan.Evaluations() {
		if l.run.HasEval(e) {
			o.evals++
		}
	}
	return o
}

// begin starts a kind of work.
func (o *overall) begin(pieces []piece) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range o.pieces {
		if c.Kind != trainPiece && c.done == c.all {
			o.evals += len(c.Names)
		}
	}
	o.began, o.pieces = time.Now(), map[string]counted{}
	for _, p := range pieces {
		c := counted{piece: p, all: 1}
		switch p.Kind {
		case trainPiece:
			c.all = o.lab.Plan.Training.MaxSteps
		case evalPiece, testPiece:
			c.all = 0
			for _, e := range o.lab.rounds(p.Kind.tasks())[p.Number] {
				c.all += len(o.lab.Plan.TasksOf(e)) * o.lab.Plan.SamplesOf(e)
			}
		}
		o.pieces[p.String()] = c
	}
}

// told hears how far a piece is.
func (o *overall) told(p piece, t progress) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.pieces[p.String()]
	if c.done == 0 && p.Kind == trainPiece {
		c.before = t.Done - 1
	}
	c.done, c.all = t.Done, t.All
	o.pieces[p.String()] = c
	if time.Since(o.said) >= overallEvery {
		o.say()
	}
}

// ended hears that a piece is done.
func (o *overall) ended(p piece) {
	if p.Kind == checksPiece {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.pieces[p.String()]
	c.done = c.all
	o.pieces[p.String()] = c
	o.say()
}

func (o *overall) say() {
	o.said = time.Now()
	o.lab.say("%s", o.line(time.Since(o.began)))
}

// line is what there is to say a time after the present kind of work began.
func (o *overall) line(spent time.Duration) string {
	steps, evals, kind := o.steps, o.evals, "the training"
	done, all, inSitting := 0, 0, 0
	for _, c := range o.pieces {
		weight := 1 // of a step or a reply
		if c.Kind == trainPiece {
			weight = len(c.Names)
			steps += weight * c.done
		} else {
			kind = "the evaluations"
			if steps = o.allSteps; c.done == c.all {
				evals += len(c.Names)
			}
		}
		done, all, inSitting = done+weight*c.done, all+weight*c.all, inSitting+weight*(c.done-c.before)
	}
	line := fmt.Sprintf("all workers: %d/%d steps, %d/%d evaluations", steps, o.allSteps, evals, o.allEvals)
	if inSitting > 0 {
		left := time.Duration(float64(spent) / float64(inSitting) * float64(all-done))
		line += fmt.Sprintf(", %s of %s left", left.Round(time.Second), kind)
	}
	return line
}
