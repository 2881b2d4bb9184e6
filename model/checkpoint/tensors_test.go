package checkpoint

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestTensorsRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.safetensors")
	want := []Tensor{{"b", []int{2, 1}, []float32{1.5, -2}}, {"a", []int{3}, []float32{0, 1, 1e-30}}}
	if _, err := WriteTensors(path, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadTensors(path)
	if err != nil || !reflect.DeepEqual(got, map[string]Tensor{"a": want[1], "b": want[0]}) {
		t.Errorf("%v %v, want %v", got, err, want)
	}
	if _, err := WriteTensors(path, want); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("written over: %v", err)
	}
	if err := os.WriteFile(path, safetensorsBytes(`{"n":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}`, 8), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadTensors(path); err == nil || !strings.Contains(err.Error(), "tensor n: dtype I64") {
		t.Errorf("whole numbers: %v", err)
	}
}
