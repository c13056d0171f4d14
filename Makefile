# `make demo` and `make test` are all a newcomer needs: they create .venv and install into it first.
PYTHON ?= $(firstword $(foreach name,python3.11 python3.12 python3.13 python3.14 python3,$(shell command -v $(name))))
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Two processes: more would disturb the tests that hold a limit of time against a hang.
PYTEST_ARGS ?= -n 2

.PHONY: faults soak model load orphans rules fuzz cases versions demo test search check format bench speed interop browser dist docs site lock clean compiled

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

# The tests that try many examples, with other and more of them each time.
search: compiled
	$(BIN)/python -m pytest $(PYTEST_ARGS) -m hypothesis --hypothesis-profile=search --timeout=3600

# What a system does not have is not used there; the tests are written for Linux.
MYPY_ELSEWHERE := --no-warn-unreachable --package adapter --package host_probe

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --platform darwin --cache-dir .mypy_cache/darwin $(MYPY_ELSEWHERE)
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32 $(MYPY_ELSEWHERE)
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# All of it, about a quarter of an hour; the page of performance and README have it.
bench: compiled
	$(BIN)/python -m tests.benchmarks --write

# A short form of some of it, compared with what the last whole run has kept. Machines differ and are busy: only what is
# twice as bad as it was, and is so twice, fails.
speed: compiled
	$(BIN)/python -m tests.benchmarks --compare

# What outlives adapters that are killed or end, 400 of them.
orphans: compiled
	$(BIN)/python -m tests.orphans --write

# The tests of every fault case, and how many there are of each kind; the page of figures has it.
cases: compiled
	$(BIN)/python -m tests.fault_cases --write

# Ten minutes a target, two at a time; `FUZZ_TARGETS="framing frames" FUZZ_SECONDS=60 make fuzz` for less.
fuzz: compiled
	$(BIN)/python -m tests.fuzz

# Client and hosts played in any order against the whole adapter, 4,000 times; the page of figures has it.
model: compiled
	$(BIN)/python -m tests.model --write

# Each rule of the design, broken in a copy to see that a test notices; the page of figures has it.
rules: compiled
	$(BIN)/python -m tests.rules_broken --write

# Memory and back-pressure, each load small and big; the page of figures has it. `python -m tests.load NAME` does one.
load: compiled
	$(BIN)/python -m tests.load --write

# Half an hour of everything at once; the page of figures has it. `SOAK_SECONDS=60 make soak` for less, which keeps none.
soak: compiled
	$(BIN)/python -m tests.soak

# A part of it: `python -m tests.faults.matrix --only PHASE:FAULT`; either may be *.
faults: compiled
	$(BIN)/python -m tests.faults.matrix --write

interop: compiled
	$(BIN)/python -m tests.interop

# Pages, looked at with a headless Chromium; as root on Debian it is installed if it is missing.
browser: compiled
	$(BIN)/python -m tests.browser

# The whole suite on each Python that is here, on asyncio and on trio. `PYTHONS=` names some, by name or path.
versions: compiled
	PYTHONS="$(PYTHONS)" BACKENDS="$(BACKENDS)" $(BIN)/python -m tests.versions $(PYTEST_ARGS)

# The wheel and the sdist, in `dist`, and what is promised of them.
dist: $(READY)
	$(BIN)/python -m tests.dist

# Write what README and docs repeat of the code, and build the site.
docs: compiled
	$(BIN)/python -m tests.write_docs
	$(MAKE) site

# The site has an environment of its own: what builds it is nothing a test needs. The variable silences an advertisement.
SITE := .venv-site
SITE_READY := $(SITE)/.ready

$(SITE_READY): requirements-docs.lock
	$(PYTHON) -m venv $(SITE)
	$(SITE)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-docs.lock
	touch $@

site: $(READY) $(SITE_READY)
	NO_MKDOCS_2_WARNING=1 $(SITE)/bin/mkdocs build --clean
	$(BIN)/python -m tests.site_check site

# The tools of one group of pyproject.toml, which have an environment of their own.
define tools_lock
rm -rf .venv-lock && $(PYTHON) -m venv .venv-lock
.venv-lock/bin/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["$(1)"], sep="\n")' > .venv-lock/$(1).in
.venv-lock/bin/python -m pip install --quiet --disable-pip-version-check -r .venv-lock/$(1).in
.venv-lock/bin/python -m pip freeze > requirements-$(1).lock
endef

# Re-resolve the locks from the ranges in pyproject.toml.
lock:
	rm -rf .venv-lock && $(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	.venv-lock/bin/python -m pip freeze --exclude-editable > requirements-dev.lock
	$(call tools_lock,docs)
	$(call tools_lock,dist)
	$(call tools_lock,fuzz)
	rm -rf .venv-lock

clean:
	rm -rf $(VENV) $(SITE) .venv-fuzz .fuzz site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .interop .dist .versions dist
