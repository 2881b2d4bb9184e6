// Command recipe plans, trains and evaluates experiments, and holds the tools around them.
//
//	go run ./recipe                    both arms, seeds 17 and 18, preset mini
//	go run ./recipe -selftest          the talk counter and the grader, then the model against its goldens
//	go run ./recipe grade < x.jsonl    one of the tools; go run ./recipe help lists them
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sort"
	"strings"
	"syscall"
)

// command is one subcommand: args excludes its name. It returns nil (exit 0), a usageError (exit 2) or any other error (exit 1).
type command struct {
	help string
	run  func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error
}

// commands lists the tools; the experiment itself is what runs when the first argument is a flag or absent. One without help is
// for this program alone.
var commands = map[string]command{
	"generate": {"samples replies to a prompt, or to JSON Lines of ids", runGenerate},
	"round":    {"adds an attempt to a run's Climb ledger", runRound},
	"seal":     {"closes a run that will not be finished, or has lost its manifest, with the reason", runSeal},
	"score":    {"computes log-probabilities and entropies of JSON Lines of ids", runScore},
	"bench":    {"measures the parts that training and evaluation are made of", runBench},
	"pilot":    {"measures candidate prompts on train problems that the experiment does not use", runPilot},
	"tokenize": {"turns JSON Lines of text into token ids and back", runTokenize},
	"grade":    {"grades JSON Lines of completions and counts their turns", runGrade},

	workerCommand: {"", runWorker},
}

// usageError marks a mistake in how the command was called: exit code 2.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// usagef makes a usageError.
func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// parseFlags reads a command's flags. help says that -h was among them: the usage is printed, and there is nothing else to do. A
// mistake is a usageError of one line; the flag package alone would print it twice, with the whole usage between.
func parseFlags(f *flag.FlagSet, args []string) (help bool, err error) {
	out, usage := f.Output(), f.Usage
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	err = f.Parse(args)
	f.SetOutput(out)
	f.Usage = usage
	if errors.Is(err, flag.ErrHelp) {
		usage()
		return true, nil
	}
	if err != nil {
		return false, usagef("%w (-h lists the flags and what they take)", err)
	}
	return false, nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C does not wait for the first one's orderly end
	os.Exit(exitCode(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr), os.Stderr))
}

// exitCode prints err, if any, and says what the process exits with: 0 done, 1 failed, 2 bad usage.
func exitCode(err error, stderr io.Writer) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "recipe:", err)
	if errors.As(err, new(usageError)) {
		return 2
	}
	return 1
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		c, ok := commands[args[0]]
		if !ok {
			return usagef("unknown command %q: expected one of %s, or flags", args[0], strings.Join(commandNames(), ", "))
		}
		return c.run(ctx, args[1:], stdin, stdout, stderr)
	}
	return runExperiment(ctx, args, stdin, stdout, stderr)
}

func commandNames() []string {
	names := make([]string, 0, len(commands))
	for n, c := range commands {
		if c.help != "" {
			names = append(names, n)
		}
	}
	sort.Strings(names)
	return names
}
