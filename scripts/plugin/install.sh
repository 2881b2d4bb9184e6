#!/bin/sh
# Installs an XLA PJRT plugin into .plugin/, where model/backend looks for it.
#
#   scripts/plugin/install.sh cpu     XLA's CPU backend: scripts/plugin/cpu.txt, or else cpu-other.txt
#   scripts/plugin/install.sh cuda    XLA's CUDA 13 backend with NVIDIA's libraries: scripts/plugin/cuda.txt
#
# Packages come through pip and whatever index it is set up with, by version and SHA-256. Everything is fetched and unpacked
# beside its place and then renamed into it. Exit code 0: installed, or there already; 1: not installed; 2: bad usage.
set -eu
umask 022

say() { echo "plugin: $*" >&2; }
fail() { say "$*"; exit 1; }

kind=${1:-}
case "$#$kind" in
1cpu | 1cuda) ;;
*) echo "usage: $0 cpu|cuda" >&2; exit 2 ;;
esac

root=$(cd "$(dirname "$0")/../.." && pwd)
lists=$root/scripts/plugin
home=$root/.plugin
stamp=$home/installed-$kind.txt

# libraryOf names the library that a list installs, below .plugin.
libraryOf() {
	case $1 in
	cpu) echo lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so ;;
	cpu-other) echo xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so ;;
	cuda) echo jax_plugins/xla_cuda13/xla_cuda_plugin.so ;;
	esac
}

lists_of_kind=$kind
[ "$kind" = cuda ] || lists_of_kind="cpu cpu-other"

# The user's own library wins over every other (model/backend/plugin.go).
case $kind in
cpu) own=${TEAMTALK_PJRT_CPU:-} ;;
cuda) own=${TEAMTALK_PJRT_CUDA:-} ;;
esac
if [ -n "$own" ]; then
	say "$own is set as the $kind plugin: nothing to do"
	exit 0
fi

# There already, and from the list as it is now: nothing to do.
for list in $lists_of_kind; do
	if [ -f "$home/$(libraryOf "$list")" ] && cmp -s "$stamp" "$lists/$list.txt"; then
		say "$(libraryOf "$list") is installed"
		exit 0
	fi
done

machine=$(uname -s)/$(uname -m)
case $machine in
Linux/x86_64 | Linux/amd64) ;;
*) fail "there is no $kind plugin for $machine, only for Linux/x86_64" ;;
esac
command -v python3 >/dev/null 2>&1 || fail "python3 is missing: install Python 3 with pip, then run this again"
if [ "$kind" = cuda ] && found=$(python3 -c '
import os, sys
for d in sys.path:
    for cuda in "xla_cuda13", "xla_cuda12":
        f = os.path.join(d, "jax_plugins", cuda, "xla_cuda_plugin.so")
        if d.endswith("-packages") and os.path.isfile(f):
            sys.exit(print(f))
sys.exit(1)'); then
	say "JAX's own plugin will be used: $found"
	exit 0
fi
python3 -m pip --version >/dev/null 2>&1 || fail "python3 has no pip: install it (Debian and Ubuntu: apt install python3-pip), then run this again"

mkdir -p "$home"
tmp=$(mktemp -d "$home/.incoming.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

# fetch unpacks every package of a list into $tmp/tree, one after the other, so that one wheel at a time takes room.
fetch() {
	rm -rf "$tmp/tree" && mkdir -p "$tmp/tree"
	grep -v '^#' "$lists/$1.txt" >"$tmp/packages"
	while read -r package; do
		rm -rf "$tmp/wheel" && mkdir "$tmp/wheel"
		echo "$package" >"$tmp/package.txt"
		say "fetching ${package%% *}"
		python3 -m pip --disable-pip-version-check --retries 2 download --no-deps --only-binary :all: --require-hashes \
			--requirement "$tmp/package.txt" --dest "$tmp/wheel" </dev/null >&2 || return 1
		python3 "$lists/unpack.py" "$tmp/wheel/"*.whl "$tmp/tree" || return 1
	done <"$tmp/packages"
	# A library that cannot be loaded here (an older C library, say) is found out now and not at the first run.
	TF_CPP_MIN_LOG_LEVEL=3 python3 -c 'import ctypes, sys; ctypes.CDLL(sys.argv[1])' "$tmp/tree/$(libraryOf "$1")" || return 1
}

# place renames the unpacked folders into .plugin, the one with the plugin's library last: while it is absent nothing is found.
place() {
	library=$(libraryOf "$1")
	folder=${library%%/*}
	others=$(cd "$tmp/tree" && ls | grep -vx "$folder" || true)
	rm -f "$stamp"
	mkdir -p "$tmp/old"
	for name in $folder $others; do
		[ ! -e "$home/$name" ] || mv "$home/$name" "$tmp/old/$name"
	done
	for name in $others $folder; do
		mv "$tmp/tree/$name" "$home/$name"
	done
	cp "$lists/$1.txt" "$tmp/stamp" && mv "$tmp/stamp" "$stamp"
	say "installed .plugin/$library"
}

for list in $lists_of_kind; do
	if fetch "$list"; then
		place "$list"
		exit 0
	fi
	say "$list.txt could not be installed"
done
for list in $lists_of_kind; do
	if [ -f "$home/$(libraryOf "$list")" ]; then
		say "keeping .plugin/$(libraryOf "$list"), which is not the pinned version or was put there by hand"
		exit 0
	fi
done
fail "no $kind plugin could be installed: pip's words are above (is there a network, and does pip reach its package index?)"
