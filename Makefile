# Each target sets up .venv itself. The machine needs only make and Python 3.11 or later.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
# Neighbouring tests share their indexes, so each worker gets a run of tests, and takes others' tests only at the end.
# With bytecode, the processes that tests start need not compile leafspan each time.
TEST := PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n auto --dist worksteal --slowest 10

MINUTES ?= 20

.PHONY: help demo docs pictures test test-all soak mutants bench bench-quick check audit lint types contracts ratchet format wheel-test release benchmarks clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

demo: .venv/demo ## Index some Wikipedia articles, and ask questions through both frameworks
	$(BIN)/leafspan demo

docs: .venv/docs ## Build the pages as a site in the folder site. Fails at a broken link or anchor
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

pictures: .venv/dev ## Draw the pictures of the strategies' pages again
	$(BIN)/python -m tools.site.pictures

test: .venv/dev ## Run all tests except the slow ones, in about four minutes
	LEAFSPAN_TEST_FIGURES=.test-figures.json $(TEST) -m "not slow" --budget 1

test-all: .venv/dev ## Run all tests, including long kill and property tests, servers, browsers, notebooks and large indexes
	LEAFSPAN_TESTS=thorough $(TEST)

soak: .venv/dev ## Search for faults for MINUTES (20): simulated runs, kills, a full disk, a hostile server, many readers
	$(BIN)/python -m tests.simulation.soak --minutes $(MINUTES)

# All changes of a module or room: make mutants MODULE=spans/_packing.py. Some of all: make mutants SAMPLE=640 SEED=1.
# The list made by hand: make mutants LIST=1. AGAIN=1 repeats changes that no test has noticed; ROOM=1 runs no wider tests.
mutants: .venv/mutants ## Make single changes to the code, and count how many the tests notice: make mutants SAMPLE=640
	$(BIN)/python -m tools.mutants $(if $(MODULE),--module $(MODULE)) $(if $(SAMPLE),--sample $(SAMPLE)) \
		$(if $(SEED),--seed $(SEED)) $(if $(LIST),--by-hand) $(if $(AGAIN),--again) $(if $(ROOM),--only-room)

check: lint types contracts ratchet ## Check style, types, the import rules and the ratchet

audit: .venv/dev ## Look up known vulnerabilities of the installed packages (needs the network)
	$(BIN)/python tools/audit.py

lint: .venv/dev ## Check style and sentences
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tools/plain_english.py

types: .venv/dev ## Check types
	$(BIN)/mypy

contracts: .venv/dev ## Check the import rules between rooms
	$(BIN)/lint-imports

ratchet: .venv/dev ## Check that no size, walk, cost or quality is worse than tools/ratchet.toml allows
	$(BIN)/python tools/ratchet.py

format: .venv/dev ## Format the code, and repair style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

wheel-test: .venv/dev ## Test the built wheel with each framework alone, with the oldest and newest supported versions
	bash tests/wheel/run.sh $(PYTHON)

release: .venv/pip ## Build the files of a release, check them, and use them from a local index as docs/publishing.md says
	bash tools/release.sh $(PYTHON)

# The folder holds the question sets of docs/measurements.md.
benchmarks: .venv/dev ## Measure everything: make benchmarks DATA=FOLDER
	$(BIN)/python benchmarks/latency.py
	$(BIN)/python benchmarks/latency.py --data "$(DATA)"
	$(BIN)/python benchmarks/callers.py
	$(BIN)/python benchmarks/growing.py
	$(BIN)/python benchmarks/opening.py
	$(BIN)/python benchmarks/adding.py
	$(BIN)/python benchmarks/lexical.py
	$(BIN)/python benchmarks/filtered.py
	$(BIN)/python benchmarks/syncing.py
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/scanned_pages.py
	$(BIN)/python benchmarks/workers.py
	$(BIN)/python benchmarks/reembedding.py
	$(BIN)/python benchmarks/watching.py
	$(BIN)/python benchmarks/postgres.py --data "$(DATA)"
	$(BIN)/python benchmarks/outgrowing.py --leaves 8000
	$(BIN)/python benchmarks/tree.py --data "$(DATA)"
	$(BIN)/python benchmarks/themes.py
	$(BIN)/python benchmarks/quality.py --data "$(DATA)"
	$(BIN)/python benchmarks/typing_errors.py
	$(BIN)/python benchmarks/choosing.py --data "$(DATA)"
	$(BIN)/python benchmarks/choosing.py --data "$(DATA)" --other-embedders
	$(BIN)/python benchmarks/calibration.py --data "$(DATA)"
	$(BIN)/python benchmarks/answerable.py --data "$(DATA)" --fit
	$(BIN)/python benchmarks/languages.py --data "$(DATA)"
	$(BIN)/python benchmarks/embedders.py --data "$(DATA)"
	$(BIN)/python benchmarks/tuning.py --data "$(DATA)"

# All figures take about ten minutes and 2 GB of disk; make bench FULL=1 takes some hours and 12 GB.
bench: .venv/bench ## Compare with the peers, and write docs/benchmarks.md: make bench FULL=1 for 100,000 leaves
	$(BIN)/python benchmarks/bench.py --page $(if $(FULL),--full)

bench-quick: .venv/bench ## Check that make bench runs, with a few thousand leaves
	$(BIN)/python benchmarks/bench.py --quick

clean: ## Delete everything that the other targets have made
	rm -rf .venv .test-figures.json .mutants dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

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

.venv/docs: .venv/dev
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	touch $@

.venv/mutants: .venv/dev
	$(BIN)/python -m pip install --quiet --editable ".[mutants]"
	touch $@

# The last package requires PyStemmer below 3, but works with the newer version that the benchmarks use.
.venv/bench: .venv/pip pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	$(BIN)/python -m pip install --quiet --no-deps "llama-index-retrievers-bm25>=0.8,<0.9"
	touch $@
