# Each target works as the first command on a fresh machine with Python 3.11 to 3.13, pip and make.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: install demo test check format peers chaos bench bench-engine lock screenshots keys fuzz

install: .venv/installed

.venv/installed: requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --requirement requirements.lock
	$(BIN)/pip install --quiet --no-deps --editable .
	touch $@

demo: install
	$(BIN)/crewtop demo

test: install
	$(BIN)/pytest --numprocesses 3 --dist loadgroup

check: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: install
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The other queues, in a Python of their own: Oban needs 3.12 or newer.
PEERS_PYTHON ?= $(shell command -v python3.13 >/dev/null && python3.13 -V >/dev/null 2>&1 && echo python3.13 \
                  || PYENV_VERSION=$$(pyenv latest 3.13 2>/dev/null) pyenv which python3.13)

peers: .venv-peers/installed

.venv-peers/installed: benchmarks/peers/requirements.lock
	$(PEERS_PYTHON) -m venv .venv-peers
	.venv-peers/bin/pip install --quiet --requirement benchmarks/peers/requirements.lock
	touch $@

# DURATION=45s for a short one; ENGINE=pgqueuer and so on (after `make peers`) lets the same chaos loose on another queue
DURATION ?= 30m
ENGINE ?= crewtop
chaos: install
	$(BIN)/python -m tests.chaos $(DURATION) --engine $(ENGINE)

bench: install
	$(BIN)/python -m benchmarks

bench-engine: install peers
	$(BIN)/python -m benchmarks.engine_peers --backlog 1000000

lock: install
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --extra all --extra dev --universal --python-version 3.11 \
	  --no-header --no-annotate --no-emit-index-url --quiet --output-file requirements.lock

screenshots: install
	$(BIN)/python -m tests.snapshots.pictures

keys: install
	$(BIN)/crewtop keys --markdown > docs/keys.md

# The real screen under 20,000 random keys, clicks and resizes while its servers come and go
KEYS ?= 20000
fuzz: install
	$(BIN)/python -m tests.chaos.screen $(KEYS)
