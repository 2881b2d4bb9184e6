package main

import (
	"testing"

	"teamtalk/model/checkpoint/checkpointtest"
)

// The right answers of model/testdata/tiny-qwen2 are those of transformers and PEFT, in float64 (oracle.json there).
const (
	tinyQwen    = "../model/testdata/tiny-qwen2"
	tinyAdapter = tinyQwen + "/adapter"
)

func readOracle(t *testing.T) *checkpointtest.Values {
	t.Helper()
	return checkpointtest.Read(t, tinyQwen+"/oracle.safetensors")
}
