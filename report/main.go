// Command report turns the artifacts of an experiment into its write-up, and holds the tools around it.
//
//	go run ./report [runs/NAME]         writes the report of a run; go run ./report -help says what
//	go run ./report check [runs/NAME]   is the report what the artifacts give? exit 0 fresh, 1 stale, 2 cannot tell
//	go run ./report lint [runs/NAME]    finds numbers that are bound to nothing, dead references, figures without text
//	go run ./report verify [runs/NAME]  grades every reply again and computes every number again
//	go run ./report watch [runs/NAME]   shows a run in the browser while it trains
//	go run ./report compare FILE.csv    the same statistics for results made elsewhere
//	go run ./report export [runs/NAME]  a run's answers as the table that compare reads
package main

import (
	"context"
	"errors"
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

// commands lists the tools.
var commands = map[string]command{
	"check":   {"says whether a report is what the artifacts give", runCheck},
	"compare": {"compares two arms from a CSV of answers made anywhere", runCompare},
	"export":  {"writes a run's answers as the CSV that compare reads", runExport},
	"lint":    {"finds numbers that are bound to nothing", runLint},
	"verify":  {"grades every reply again and computes every number again", runVerify},
	"watch":   {"shows a run in the browser while it trains", runWatch},
}

// usageError marks a mistake in how the command was called: exit code 2.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// usagef makes a usageError.
func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(exitCode(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr), os.Stderr))
}

// exitCode prints err, if any, and says what the process exits with: 0 done, 1 failed, 2 bad usage.
func exitCode(err error, stderr io.Writer) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "report:", err)
	if state := (stateError{}); errors.As(err, &state) {
		return int(state.state)
	}
	if errors.As(err, new(usageError)) {
		return 2
	}
	return 1
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) > 0 {
		if c, ok := commands[args[0]]; ok {
			return c.run(ctx, args[1:], stdin, stdout, stderr)
		}
		if _, err := os.Stat(args[0]); err != nil && !strings.HasPrefix(args[0], "-") {
			return usagef("%q is neither a run nor a command: expected a folder, or one of %s", args[0], strings.Join(commandNames(), ", "))
		}
	}
	return runWrite(ctx, args, stdin, stdout, stderr)
}

func commandNames() []string {
	names := make([]string, 0, len(commands))
	for n := range commands {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}
