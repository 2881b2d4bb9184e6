#!/bin/sh
# Opens JupyterLab on the notebooks, with everything that Jupyter keeps (kernels, settings, signatures) in .jupyter/ and not in
# the home folder. Further flags go to JupyterLab: --no-browser on a machine without one, --allow-root in a container.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
JUPYTER_DATA_DIR=$root/.jupyter
JUPYTER_CONFIG_DIR=$root/.jupyter/config
JUPYTER_RUNTIME_DIR=$root/.jupyter/runtime
IPYTHONDIR=$root/.jupyter/ipython
export JUPYTER_DATA_DIR JUPYTER_CONFIG_DIR JUPYTER_RUNTIME_DIR IPYTHONDIR
# Jupyter hides figures that it did not see being made; these were made by this project.
"$root/.venv/bin/jupyter" trust "$root"/notebooks/*.ipynb
exec "$root/.venv/bin/jupyter" lab --ServerApp.root_dir="$root" "$@" "$root/notebooks/team-talk.ipynb"
