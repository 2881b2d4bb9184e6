// Package selftest checks, on the machine it runs on and without network, that the instruments and the model give known
// answers: the grader and the talk counter first, then the model's programs on the backend that is asked for.
package selftest

import (
	"context"
	"fmt"
	"io"

	"teamtalk/grader"
	"teamtalk/model/backend"
)

// Run writes a line for each part and, last, "selftest: ok (N checks)". The first fault is the error.
func Run(ctx context.Context, w io.Writer, kind backend.Kind) error {
	checks, err := grader.SelfTest()
	if err != nil {
		return fmt.Errorf("selftest: grader and talk counter: %w", err)
	}
	fmt.Fprintf(w, "grader and talk counter: ok (%d checks)\n", checks)
	dev, err := backend.Open(kind)
	if err != nil {
		return fmt.Errorf("selftest: %w", err)
	}
	defer dev.Close()
	for _, p := range dev.Passed {
		fmt.Fprintf(w, "backend not taken: %s\n", p)
	}
	fmt.Fprintf(w, "backend: %s\n", dev)
	n, err := testModel(ctx, dev)
	if err != nil {
		return fmt.Errorf("selftest: model on %s: %w", dev.Kind, err)
	}
	fmt.Fprintf(w, "model, against golden replies: ok (%d checks)\n", n)
	fmt.Fprintf(w, "selftest: ok (%d checks)\n", checks+n)
	return nil
}
