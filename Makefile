# `make demo` and `make test` set up their own environment; both are quick when nothing changed.
PYTHON ?= python3.11
PYTHON := $(shell command -v $(PYTHON) || command -v python3)
VENV := .venv
READY := $(VENV)/.ready
BIN := $(VENV)/bin
WORKERS ?= 2

.PHONY: browser demo test slow fuzz check lint generated clean

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Regard needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt torch==2.13.0 -e '.[dev]'
	touch $(READY)

demo: $(READY)
	$(BIN)/regard demo --out out/demo

test: $(READY) browser
	OMP_NUM_THREADS=1 $(BIN)/pytest -n $(WORKERS) --dist worksteal

# The page of `regard look` is tested in a real browser: the one that is installed, else Debian's where we may.
browser:
	@for name in chromium chromium-browser google-chrome google-chrome-stable; do \
	  if command -v $$name >/dev/null; then exit 0; fi; \
	done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get -qq update && apt-get -qq install -y chromium >/dev/null; \
	then exit 0; fi; \
	echo "No Chromium: tests of the page in a browser are skipped. Install one, such as by: apt-get install chromium"

slow: $(READY)
	$(BIN)/pytest -m slow

# Hostile runs: every folder of the collection, models of other makers, then random ones for so long; a case is done
# again with --only N.
SEED ?= 1
MINUTES ?= 20
CASES ?= 2000
fuzz: $(READY)
	PYTHONPATH=tests OMP_NUM_THREADS=1 $(BIN)/python -m attack.folders
	PYTHONPATH=tests:tests/importing OMP_NUM_THREADS=1 $(BIN)/python -m attack.imports --seed $(SEED) --cases $(CASES)
	PYTHONPATH=tests OMP_NUM_THREADS=1 $(BIN)/python -m attack.fuzz --seed $(SEED) --minutes $(MINUTES) --workers $(WORKERS)

check: lint
	$(BIN)/mypy
	$(BIN)/lint-imports

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# What is written from the menu: the texts of `regard menu`, the schema for editors, docs/options.md.
generated: $(READY)
	$(BIN)/python -m regard.commands.generated

clean:
	rm -rf $(VENV) out
