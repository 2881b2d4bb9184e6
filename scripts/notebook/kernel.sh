#!/bin/sh
# The GoNB kernel of this project, as Jupyter starts it: .jupyter/kernels/gonb/kernel.json names this file. GoNB calls goimports
# for every cell, so the folder of both is put on the PATH. -raw_error: a cell's compile errors come as text.
root=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
if [ ! -x "$root/bin/gonb" ] || [ ! -x "$root/bin/goimports" ]; then
	echo "kernel: bin/gonb or bin/goimports is missing: run make notebook-kernel" >&2
	exit 1
fi
PATH=$root/bin:$PATH
export PATH
exec "$root/bin/gonb" -raw_error --kernel "$@"
