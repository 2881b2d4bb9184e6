#!/bin/sh
# Writes every notebook, with the outputs that it holds, as an HTML page that fetches nothing.
#
#   scripts/notebook/export.sh FOLDER [light|dark]
set -eu
if [ $# -lt 1 ] || [ $# -gt 2 ]; then
	echo "usage: $0 FOLDER [light|dark]" >&2
	exit 2
fi
root=$(cd "$(dirname "$0")/../.." && pwd)
if [ ! -x "$root/.venv/bin/jupyter" ]; then
	echo "notebook: .venv has no Jupyter: run make notebook-tools" >&2
	exit 1
fi
mkdir -p "$1"
out=$(cd "$1" && pwd)
JUPYTER_NO_CONFIG=1 exec "$root/.venv/bin/jupyter" nbconvert --log-level WARN --to html --theme "${2:-light}" --template offline \
	--TemplateExporter.extra_template_basedirs="$root/scripts/notebook" --output-dir "$out" "$root"/notebooks/*.ipynb
