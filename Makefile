# make demo | test | test-long | check | format | clean. Each installs what is missing first, and only once.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# the interpreter that builds .venv; empty means the first of python3.12, python3.11, python3 that works
PYTHON ?=
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# one torch thread in tests: the engine's own threads use the cores
export OMP_NUM_THREADS ?= 1

.PHONY: help setup native demo test test-long check format check-constraints clean

help:
	@echo "make demo               install, train, evaluate, export, verify and drive a simulated robot (about 6 minutes)"
	@echo "make test               install what is missing and run the tests"
	@echo "make test-long          the same with full counts; keeps the summary in benchmarks/"
	@echo "make setup              install only"
	@echo "make check              format, lint, types, import contracts"
	@echo "make format             put the code into the house format"
	@echo "make native             compile the native core for C and C++ programs into native/build (needs cmake)"
	@echo "make check-constraints  prove that every pinned wheel loads on glibc 2.28 (needs the package index)"
	@echo "make clean              remove .venv and caches; runs/ stays"

setup: $(STAMP)

# the stamp is newer than what decides the installation, so a second run does nothing
$(STAMP): pyproject.toml constraints/py311.txt constraints/py312.txt scripts/find_python.sh
	@python="$$(scripts/find_python.sh "$(PYTHON)")"; \
	if [ ! -x $(BIN)/python ] || ! $(BIN)/python -c '' 2>/dev/null; then \
	    rm -rf $(VENV); "$$python" -m venv $(VENV); \
	fi; \
	version="$$($(BIN)/python -c 'import sys; print("%d%d" % sys.version_info[:2])')"; \
	if [ ! -f "constraints/py$$version.txt" ]; then \
	    echo "found: $(VENV) holds Python $$version; expected 3.11 or 3.12; next step: make clean" >&2; exit 2; \
	fi; \
	echo "installing into $(VENV) with constraints/py$$version.txt (1 to 5 minutes)"; \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c "constraints/py$$version.txt" -e '.[train,dev]'; \
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/bedplate demo

test: $(STAMP)
	$(BIN)/python -m pytest

test-long: $(STAMP)
	@mkdir -p benchmarks
	BEDPLATE_FULL=1 $(BIN)/python -m pytest 2>&1 | tee .test-long.log; status=$${PIPESTATUS[0]}; \
	scripts/summarise_tests.sh .test-long.log > benchmarks/test-long.txt; \
	echo "summary: benchmarks/test-long.txt"; exit $$status

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

# the library, its pkg-config file and the examples; Python compiles its own copy at first use
native:
	cmake -S native -B native/build
	cmake --build native/build

check-constraints: $(STAMP)
	$(BIN)/python scripts/check_constraints.py constraints/py311.txt constraints/py312.txt

clean:
	rm -rf $(VENV) native/build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .test-long.log
