#!/bin/sh
# Says what a fresh machine is still missing: Go, a C compiler (XLA is reached through cgo) and, for the plugins, Python 3 with pip.
# Exit code 0: the programs can be built; 1: they cannot. Python is only advised: the Go backend runs without it.
set -u
missing=0
need() { echo "missing: $*" >&2; missing=1; }

want=$(awk '$1 == "go" { print $2; exit }' "$(dirname "$0")/../go.mod")
if ! command -v go >/dev/null 2>&1; then
	need "Go $want or newer (every system: go.dev/dl)"
else
	# Asked from /, where no go.mod sends an older Go after a newer one.
	have=$(cd / && GOTOOLCHAIN=local go version | awk '{ print $3 }')
	case $have in
	go1.[0-9] | go1.[0-9].* | go1.1[0-9]* | go1.20*)
		need "Go $want or newer: found $have, which is too old to fetch a newer one by itself" ;;
	esac
	compiler=$(cd / && GOTOOLCHAIN=local go env CC)
	if ! command -v "${compiler%% *}" >/dev/null 2>&1; then
		need "a C compiler: ${compiler:-gcc} is not on the PATH (Debian and Ubuntu: apt install gcc libc6-dev; macOS: xcode-select --install)"
	elif ! echo '#include <stdlib.h>
int main(void) { return 0; }' | $compiler -x c -fsyntax-only - 2>/dev/null; then
		need "the C library's headers: $compiler finds no stdlib.h (Debian and Ubuntu: apt install libc6-dev)"
	elif [ "$(cd / && GOTOOLCHAIN=local go env CGO_ENABLED)" = 0 ]; then
		need "cgo: CGO_ENABLED is 0; unset it or set it to 1"
	fi
fi
if ! command -v python3 >/dev/null 2>&1; then
	echo "note: no python3, so no XLA plugin can be installed (Debian and Ubuntu: apt install python3 python3-pip)" >&2
elif ! python3 -m pip --version >/dev/null 2>&1; then
	echo "note: python3 has no pip, so no XLA plugin can be installed (Debian and Ubuntu: apt install python3-pip)" >&2
fi
exit $missing
