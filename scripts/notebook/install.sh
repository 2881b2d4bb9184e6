#!/bin/sh
# Installs what the notebooks need, inside the project and nowhere else.
#
#   scripts/notebook/install.sh kernel   bin/gonb and bin/goimports at the versions of go.mod, and .jupyter/kernels/gonb
#   scripts/notebook/install.sh tools    that, and what executes notebooks without a browser: scripts/notebook/tools.txt in .venv
#   scripts/notebook/install.sh lab      that, and JupyterLab: scripts/notebook/lab.txt in .venv
#
# Packages come through pip and whatever index it is set up with, by version and SHA-256. Exit code 0: installed, or there
# already; 1: not installed; 2: bad usage.
set -eu

say() { echo "notebook: $*" >&2; }
fail() { say "$*"; exit 1; }

kind=${1:-}
case "$#$kind" in
1kernel | 1tools | 1lab) ;;
*) echo "usage: $0 kernel|tools|lab" >&2; exit 2 ;;
esac

root=$(cd "$(dirname "$0")/../.." && pwd)
lists=$root/scripts/notebook
venv=$root/.venv

kernel() {
	(cd "$root" && go build -o bin/ github.com/janpfeifer/gonb golang.org/x/tools/cmd/goimports) || fail "the kernel could not be built"
	mkdir -p "$root/.jupyter/kernels/gonb"
	quoted=$(printf %s "$lists/kernel.sh" | sed 's/[\\"]/\\&/g')
	printf '{"argv": ["%s", "{connection_file}"], "display_name": "Go (gonb)", "language": "go", "interrupt_mode": "message"}\n' \
		"$quoted" >"$root/.jupyter/kernels/gonb/kernel.json"
	# In a workspace, which is what cells are built in, go reads the go.mod of every module there is, more than a build of this
	# one has fetched. They are fetched now, so that cells need no network.
	workspace=$(mktemp -d)
	(cd "$workspace" && go mod init workspace && go work init . "$root" && go list -m all) >/dev/null 2>&1 ||
		say "note: not every go.mod could be fetched: the first cell will need a network"
	rm -rf "$workspace"
}

# packages installs a list into .venv. The environment is made without pip of its own and pip is told to install into it, so
# that Debian's python3 does without its package python3-venv.
packages() {
	for list in "$@"; do
		if [ -x "$venv/bin/jupyter" ] && cmp -s "$venv/installed-$list.txt" "$lists/$list.txt"; then
			say "the packages of $list.txt are installed"
			return
		fi
	done
	list=$1
	command -v python3 >/dev/null 2>&1 || fail "python3 is missing: install Python 3 with pip, then run this again"
	python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || fail "Python 3.10 or newer is needed, found $(python3 -V 2>&1)"
	python3 -m pip --version >/dev/null 2>&1 || fail "python3 has no pip: install it (Debian and Ubuntu: apt install python3-pip), then run this again"
	say "installing the packages of $list.txt into .venv"
	"$venv/bin/python" -c '' 2>/dev/null || python3 -m venv --clear --without-pip "$venv" || fail "python3 could not make $venv"
	if python3 -m pip --python "$venv/bin/python" --version >/dev/null 2>&1; then
		set -- python3 -m pip --python "$venv/bin/python"
	else # a pip older than 22.3
		python3 -m venv "$venv" || fail "this pip is older than 22.3 and python3 has no venv: install either (Debian and Ubuntu: apt install python3-venv)"
		set -- "$venv/bin/python" -m pip
	fi
	rm -f "$venv"/installed-*.txt
	"$@" --disable-pip-version-check --retries 2 install --quiet --only-binary :all: --require-hashes \
		--requirement "$lists/$list.txt" </dev/null >&2 || fail "pip's words are above (is there a network, and does pip reach its package index?)"
	cp "$lists/$list.txt" "$venv/installed-$list.txt"
}

kernel
case $kind in
tools) packages tools lab ;; # JupyterLab's list holds the tools
lab) packages lab ;;
esac
if [ -d "$venv/bin" ]; then
	# VS Code looks for kernels inside the environments that it finds.
	mkdir -p "$venv/share/jupyter/kernels"
	ln -sfn ../../../../.jupyter/kernels/gonb "$venv/share/jupyter/kernels/gonb"
fi
