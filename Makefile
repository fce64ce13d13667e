# Each target sets up what it needs in .venv, on a machine that has only Python 3.11 or later and make.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
# Tests of one file share their indexes, so a file stays with one worker.
TEST := $(BIN)/pytest -n auto --dist loadfile

MINUTES ?= 20

.PHONY: help demo test test-all soak check audit lint types contracts format adapter-docs wheel-test benchmarks clean

help: ## Show what there is to make
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

demo: .venv/demo ## Index some Wikipedia articles and ask them through both frameworks
	$(BIN)/leafspan demo

test: .venv/dev ## Run the tests, but for the slow ones: a few minutes
	$(TEST) -m "not slow"

test-all: .venv/dev ## Run all tests: also kills, scale, and long runs of the property tests
	LEAFSPAN_TESTS=thorough $(TEST)

soak: .venv/dev ## Look for faults for MINUTES (20): simulated runs, kills, a full disk, a hostile server, many readers
	$(BIN)/python -m tests.simulation.soak --minutes $(MINUTES)

check: lint types contracts ## Check style, types and the contracts between rooms

audit: .venv/dev ## Look up known vulnerabilities of what is installed, if the network allows it
	$(BIN)/python tools/audit.py

lint: .venv/dev ## Check style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/dev ## Check types
	$(BIN)/mypy

contracts: .venv/dev ## Check that imports run one way, and that the adapters' docstrings are those of the core
	$(BIN)/lint-imports
	$(BIN)/python tools/adapter_docs.py --check

format: .venv/dev ## Mend style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

adapter-docs: .venv/dev ## Write the adapters' docstrings anew from those of the core
	$(BIN)/python tools/adapter_docs.py

wheel-test: .venv/dev ## Try the built wheel with each framework alone, at the lowest and the newest supported versions
	bash tests/wheel/run.sh $(PYTHON)

# The folder holds the question sets of docs/measurements.md.
benchmarks: .venv/dev ## Measure everything: make benchmarks DATA=FOLDER
	$(BIN)/python benchmarks/latency.py
	$(BIN)/python benchmarks/lexical.py
	$(BIN)/python benchmarks/filtered.py
	$(BIN)/python benchmarks/tree.py --data "$(DATA)"
	$(BIN)/python benchmarks/themes.py
	$(BIN)/python benchmarks/quality.py --data "$(DATA)"
	$(BIN)/python benchmarks/calibration.py --data "$(DATA)"

clean: ## Remove what the other targets have made
	rm -rf .venv dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

.venv/pip:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	touch $@

.venv/demo: .venv/pip pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[all]"
	touch $@

.venv/dev: .venv/pip pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@ .venv/demo
