package backendtest

import "os"

// CompileQuickly keeps XLA's CPU plugin from optimizing machine code, about half of the time that compiling takes. What XLA makes
// of a graph, its fusions and its memory, stays as it is. It is for a TestMain, before a plugin is loaded, of packages whose
// programs are many and run for seconds; processes started later inherit it. A level that the user put into XLA_FLAGS counts.
func CompileQuickly() {
	_ = os.Setenv("XLA_FLAGS", "--xla_backend_optimization_level=0 "+os.Getenv("XLA_FLAGS")) // fails only for names with '=' or NUL
}
