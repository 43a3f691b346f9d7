# Each target works as the first command on a fresh machine with Python 3.11 to 3.13, pip and make.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: install demo test check format chaos bench lock screenshots

install: .venv/installed

.venv/installed: requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --requirement requirements.lock
	$(BIN)/pip install --quiet --no-deps --editable .
	touch $@

demo: install
	$(BIN)/crewtop demo

test: install
	$(BIN)/pytest --numprocesses 2 --dist loadgroup

check: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: install
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# DURATION=45s for a short one
DURATION ?= 30m
chaos: install
	$(BIN)/python -m tests.chaos $(DURATION)

bench: install
	$(BIN)/python -m benchmarks

lock: install
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --extra all --extra dev --universal --python-version 3.11 \
	  --no-header --no-annotate --no-emit-index-url --quiet --output-file requirements.lock

screenshots: install
	$(BIN)/python -m tests.snapshots.pictures
