package bench

import (
	"context"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"teamtalk/model"
)

// start times everything from the start of this process to the first sampled token of a training step's batch: the command, the
// backend, the weights, the sampler's programs, the prompts. The programs that later phases of the reply need are among them.
func (b *session) start(ctx context.Context) error {
	a, err := b.adapters(1)
	if err != nil {
		return err
	}
	defer a.Free()
	s, err := model.NewSampler(b.Device, b.weights, model.SamplerOptions{LoRA: &b.LoRA, Runs: 1})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Load(a); err != nil {
		return err
	}
	r := b.synthetic(b.Plan.Training.PromptsPerStep, 1)
	r.Every = 1
	within, stop := context.WithCancel(ctx)
	defer stop()
	l := Line{Name: "start", Unit: "s"}
	var failed error
	r.Progress = func([]model.Completion) {
		if len(l.Times) == 0 {
			var age time.Duration
			if age, failed = processAge(); failed == nil {
				l.Times = append(l.Times, age.Seconds())
			}
			stop()
		}
	}
	if _, err := s.Sample(within, r); ctx.Err() != nil || failed != nil || len(l.Times) == 0 {
		return fmt.Errorf("no first token: %w", firstError(ctx.Err(), failed, err))
	}
	l.Compile = s.CompileTime.Seconds()
	b.add(l, 0)
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// initialised is when this package was, for systems that do not tell when a process began.
var initialised = time.Now()

// processAge is the time since this process began, to a hundredth of a second.
func processAge() (time.Duration, error) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return time.Since(initialised), nil
	}
	up, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return time.Since(initialised), nil
	}
	return ageFrom(string(stat), string(up))
}

// ageFrom reads a process's start, field 22 of /proc/self/stat in hundredths of a second, and the system's uptime.
func ageFrom(stat, uptime string) (time.Duration, error) {
	// The command's name, in brackets, may hold blanks.
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	up, _, _ := strings.Cut(uptime, " ")
	now, errNow := strconv.ParseFloat(up, 64)
	if len(fields) < 20 || errNow != nil {
		return 0, fmt.Errorf("expected a process's start and the uptime, found %q and %q", stat, uptime)
	}
	ticks, err := strconv.ParseFloat(fields[19], 64)
	if err != nil {
		return 0, fmt.Errorf("a process's start: %w", err)
	}
	const hz = 100 // what Linux tells programs, whatever it counts with itself
	return time.Duration(math.Round((now-ticks/hz)*100)) * (time.Second / 100), nil
}
