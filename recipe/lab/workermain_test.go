package lab

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"testing"
)

// The environment of a test program that is to be a worker process.
const (
	beAWorker = "LAB_TEST_WORKER" // not empty: be one
	killAt    = "LAB_TEST_KILL"   // kill yourself when your log has a line that begins so
	killOnce  = "LAB_TEST_ONCE"   // unless this file is there, and make it, with your number
	onlyWait  = "LAB_TEST_WAIT"   // not empty: wait, forever, instead
)

// workerMain is a worker process that can kill itself.
func workerMain() int {
	var log io.Writer = os.Stderr
	if at := os.Getenv(killAt); at != "" {
		log = io.MultiWriter(os.Stderr, &watcher{at: at, seen: func() {
			if name := os.Getenv(killOnce); name != "" {
				f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
				if err != nil {
					return
				}
				_, err = f.WriteString(strconv.Itoa(os.Getpid()))
				if errors.Join(err, f.Close()) != nil {
					return
				}
			}
			if os.Getenv(onlyWait) != "" {
				select {}
			}
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				_ = self.Kill()
			}
		}})
	}
	if err := Work(context.Background(), os.Stdin, os.Stdout, log); err != nil {
		return 1
	}
	return 0
}

// divided is a small run in several processes, two runs in lockstep in each.
func divided(t *testing.T, processes int, o Options) Options {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(beAWorker, "yes")
	o.Worker, o.Processes = []string{exe}, processes
	return small(t, o)
}
