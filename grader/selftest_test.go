package grader

import "testing"

func TestSelfTest(t *testing.T) {
	if n, err := SelfTest(); err != nil || n < 30 {
		t.Errorf("%d checks, %v", n, err)
	}
}
