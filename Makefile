# What a fresh machine needs for this file: Go, a C compiler, make, and Python 3 with pip. `make` alone lists the targets.
.DEFAULT_GOAL := help
.PHONY: help run test reproduce notebook notebook-kernel notebook-tools notebook-html plugin plugin-cuda build need check

# The model and the data of `make reproduce`.
MODEL ?= hub:Qwen/Qwen2.5-1.5B-Instruct
DATA ?= fetch
# Its training seeds, e.g. 17,18,19,20; empty: the preset's two.
SEEDS ?=
# Further flags of JupyterLab for `make notebook`, e.g. --no-browser, or --allow-root in a container.
LAB ?=
# `make notebook-html` writes here, in the theme light or dark.
HTML ?= .jupyter/html
THEME ?= light

help:
	@echo 'make run          trains and evaluates the mini preset, both arms, and writes its report (no GPU needed)'
	@echo 'make test         gofmt, go vet and every test'
	@echo 'make reproduce    the real experiment on every visible GPU, with MODEL=folder|FILE.gguf|hub:NAME and DATA=folder|fetch;'
	@echo '                  now MODEL=$(MODEL) DATA=$(DATA); SEEDS=17,18,.. for others than the preset has'
	@echo 'make notebook     opens JupyterLab on the notebooks; everything it needs goes into .venv/ and .jupyter/; LAB=more flags'
	@echo 'make notebook-kernel  bin/gonb and .jupyter/kernels/gonb, for a Jupyter that you have'
	@echo 'make notebook-tools   that, and what executes notebooks without a browser, in .venv/ (test does it by itself)'
	@echo 'make notebook-html    the notebooks as HTML pages that fetch nothing, in HTML=$(HTML), THEME=light|dark'
	@echo "make plugin       installs XLA's CPU plugin into .plugin/ (run and test do it by themselves)"
	@echo "make plugin-cuda  installs XLA's CUDA 13 plugin and NVIDIA's libraries into .plugin/ (1.9 GB to fetch)"
	@echo 'make build        bin/recipe and bin/report'

run: need
	@scripts/plugin/install.sh cpu || echo 'note: no XLA plugin, so the Go backend trains, and it is SLOW:' \
		'5 to 8 GFLOP/s where XLA does 150 to 260 on the same two cores' >&2
	go run ./recipe
	go run ./report

# The first build compiles XLA's C interface, which takes about a minute. Without a network for pip less is tested, and said so.
test: need check
	@scripts/plugin/install.sh cpu || { echo 'note: no XLA plugin, so the tests run on the Go backend alone and no notebook is executed' >&2; \
		export TEAMTALK_TEST_BACKENDS=go TEAMTALK_TEST_NOTEBOOKS=off; }; \
	scripts/notebook/install.sh tools || { echo 'note: no Jupyter, so no notebook is executed' >&2; export TEAMTALK_TEST_NOTEBOOKS=off; }; \
	echo 'go test -timeout 20m ./...'; go test -timeout 20m ./...

check:
	@unformatted=$$(gofmt -l .) && if [ -n "$$unformatted" ]; then \
		echo "not gofmt-ed, run gofmt -w on:" $$unformatted >&2; exit 1; fi
	go vet ./...

reproduce: need build
	@[ -e /dev/nvidiactl ] || echo 'note: no NVIDIA driver on this machine: the CPU will be very slow at a model of this size' >&2
	@[ ! -e /dev/nvidiactl ] || scripts/plugin/install.sh cuda
	bin/recipe -preset qwen -model '$(MODEL)' -data '$(DATA)' $(if $(SEEDS),-seeds '$(SEEDS)')
	bin/report

notebook: need
	@scripts/plugin/install.sh cpu || echo 'note: no XLA plugin, so the Go backend trains, and it is SLOW' >&2
	@scripts/notebook/install.sh lab
	@scripts/notebook/open.sh $(LAB)

notebook-kernel: need
	@scripts/notebook/install.sh kernel

notebook-tools: need
	@scripts/notebook/install.sh tools

notebook-html: notebook-tools
	@scripts/notebook/export.sh '$(HTML)' '$(THEME)'

plugin:
	@scripts/plugin/install.sh cpu

plugin-cuda:
	@scripts/plugin/install.sh cuda

# A run records the commit of the program that made it: whatever GOFLAGS says, the binaries hold theirs, where git can be asked.
build: need
	go build -buildvcs=$$(git status --porcelain >/dev/null 2>&1 && echo auto || echo false) -o bin/ ./recipe ./report

need:
	@scripts/need.sh
