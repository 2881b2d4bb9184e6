package main

import (
	"context"
	"io"

	"teamtalk/recipe/lab"
)

// workerCommand is the command of the processes among which an experiment's process divides its work.
const workerCommand = "worker"

// runWorker does what the process that started it says on its standard input.
func runWorker(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) > 0 {
		return usagef("recipe worker takes no arguments: it is started by an experiment with several -processes")
	}
	return lab.Work(ctx, stdin, stdout, stderr)
}
