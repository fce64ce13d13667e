# Each target sets up what it needs in .venv, on a machine that has only Python 3.11 or later and make.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin

.PHONY: demo test lint types format wheel-test benchmarks clean

demo: .venv/demo
	$(BIN)/leafspan demo

test: .venv/dev
	$(BIN)/pytest

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/dev
	$(BIN)/mypy

format: .venv/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The built wheel, with each framework alone, at the lowest and at the newest versions that are supported.
wheel-test: .venv/dev
	bash tests/wheel/run.sh $(PYTHON)

# make benchmarks DATA=FOLDER, where the folder holds the question sets of docs/measurements.md
benchmarks: .venv/dev
	$(BIN)/python benchmarks/latency.py
	$(BIN)/python benchmarks/lexical.py
	$(BIN)/python benchmarks/filtered.py
	$(BIN)/python benchmarks/tree.py --data "$(DATA)"
	$(BIN)/python benchmarks/themes.py
	$(BIN)/python benchmarks/quality.py --data "$(DATA)"
	$(BIN)/python benchmarks/calibration.py --data "$(DATA)"

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

clean:
	rm -rf .venv dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
