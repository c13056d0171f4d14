# `make demo` and `make test` are all a newcomer needs: they create .venv and install into it first.
PYTHON ?= $(firstword $(foreach name,python3.11 python3.12 python3.13 python3,$(shell command -v $(name))))
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Two processes: more would disturb the tests that hold a limit of time against a hang.
PYTEST_ARGS ?= -n 2

.PHONY: demo test check format bench interop docs lock clean compiled

$(READY): pyproject.toml requirements-dev.lock
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $@

# An installed package is compiled, so what is started often or measured should be too.
compiled: $(READY)
	$(BIN)/python -m compileall -q adapter host_probe

demo: compiled
	$(BIN)/muse-adapter demo

test: compiled
	$(BIN)/python -m pytest $(PYTEST_ARGS)

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: compiled
	$(BIN)/python -m tests.bench

interop: compiled
	$(BIN)/python -m tests.interop

# Write what README and docs repeat of the code.
docs: compiled
	$(BIN)/python -m tests.write_docs

# Re-resolve the development lock from the ranges in pyproject.toml.
lock:
	rm -rf .venv-lock && $(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	.venv-lock/bin/python -m pip freeze --exclude-editable > requirements-dev.lock
	rm -rf .venv-lock

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .interop
