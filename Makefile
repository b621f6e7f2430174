# Every target creates the virtual environment it needs. PYTHON selects the interpreter (3.11 or newer), VENV the directory.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
BROWSER := $(VENV)/.browser
API := $(VENV)/.api
SITE := $(VENV)/.site
SPARK := $(VENV)/.spark
WORKERS ?= auto
# Tests that `make test`, `make test-pythons` and `make test-wheel` run, such as T="tests/server"; without, all of them.
T ?=
# Agents that `make test-agents` runs, such as AGENTS="codex"; without, all. Of those in NEWEST the newest version is taken.
AGENTS ?=
NEWEST ?=
# Versions that `make test-pythons` leaves out, such as WITHOUT="3.12".
WITHOUT ?=
PYTHON_VERSION := import sys; print("%d.%d" % sys.version_info[:2])

# Compiled modules are kept, whatever the environment says: without them every process compiles the package again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help same-python demo test quick test-postgres test-browser test-api test-spark test-pythons test-wheel test-agents tools check docs site build bench long mutants lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

# Fail if the environment was created with another interpreter than the named one.
same-python:
ifneq ($(origin PYTHON),file)
	@test ! -x $(BIN)/python || test "$$($(BIN)/python -c '$(PYTHON_VERSION)')" = "$$($(PYTHON) -c '$(PYTHON_VERSION)')" || { \
		echo "$(VENV) was not created with $(PYTHON): run make clean first, or keep both with VENV=.venv-3.X" >&2; exit 1; }
endif

$(STAMP): requirements/dev.lock pyproject.toml | same-python
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "steelyard needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	@echo "installing the dependencies into $(VENV) (about two minutes) ..."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

demo: $(STAMP) ## set up .venv, print an example measurement and write demo.html
	$(BIN)/steelyard demo --report demo.html

test: $(STAMP) ## set up .venv and run the tests; T="tests/test_gate.py" selects, WORKERS=2 limits the processes
	$(BIN)/python -m pytest -q -n $(WORKERS) -m "not long and not browser and not spark" $(T)

quick: $(STAMP) ## run the tests related to your change, for at most one minute
	$(BIN)/python scripts/quick.py

test-postgres: $(STAMP) ## test the store and the arena on a temporary PostgreSQL
	scripts/postgres.sh $(BIN)/python -m pytest -q -p no:xdist -m "not long" tests/arena

$(BROWSER): requirements/browser.lock $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/browser.lock
	touch $@

tools: $(BROWSER) $(API) $(SITE) $(SPARK) ## install the tools of the targets below, so that two of them can run at once

test-browser: $(BROWSER) ## open the pages in Chromium, which is installed if missing
	scripts/browser.sh $(BIN)/python -m pytest -q -p no:xdist -m "browser and not long" tests/browser

$(API): requirements/api.lock $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/api.lock
	touch $@

test-api: $(API) ## send valid and invalid requests, generated from the OpenAPI document, to a local server
	$(BIN)/python -m pytest -q -p no:xdist -m "not long" tests/api

$(SPARK): requirements/spark.lock $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/spark.lock
	touch $@

test-spark: $(SPARK) ## read and measure on a local Spark cluster and through Spark Connect
	scripts/spark.sh $(BIN)/python -m pytest -q -p no:xdist -m "spark and not long" tests/spark

test-pythons: $(STAMP) ## run the tests on every other supported Python that is installed
	MAKE="$(MAKE)" scripts/pythons.sh test $$($(BIN)/python -c '$(PYTHON_VERSION)') $(WITHOUT)

build: $(STAMP) ## build the wheel and the source distribution in dist/
	rm -rf dist
	$(BIN)/python -m hatchling build

test-wheel: build ## test the wheel in a clean environment for every supported Python that is installed
	T="$(T)" scripts/pythons.sh wheel $(WITHOUT)

check: $(STAMP) ## lint, check types and generated documentation
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python docs/generate.py --check

docs: $(STAMP) ## write the generated documentation
	$(BIN)/python docs/generate.py

$(SITE): requirements/site.lock $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/site.lock
	touch $@

site: $(SITE) ## build the documentation site with offline search in build/site/
	rm -rf build/site
	$(BIN)/python -m sphinx -q -W --keep-going -E -d build/site-state -c docs/site . build/site
	$(BIN)/python scripts/check_site.py build/site

bench: $(STAMP) ## run every benchmark against a named alternative
	$(BIN)/python -m benchmarks

test-agents: $(STAMP) ## install pinned agents, run each in the sandbox against a scripted model, and compare counts (4 GB, needs npm)
	STEELYARD_TESTED_AGENTS="$(AGENTS)" STEELYARD_NEWEST_AGENTS="$(NEWEST)" $(BIN)/python -m pytest -q -p no:xdist -m agents tests/agents

long: $(BROWSER) $(API) $(SPARK) mutants test-pythons ## run the long tests: simulations, fuzzing, crash series, mutants, agents, every Python
	$(BIN)/python -m pytest -q -n $(WORKERS) -m "long and not browser and not agents and not spark" --ignore=tests/arena/test_soak.py
	$(BIN)/python -m pytest -q -p no:xdist -m long tests/arena/test_soak.py
	$(MAKE) test-agents NEWEST="claude-code codex gemini-cli opencode mini-swe-agent aider openhands"
	$(BIN)/python -m benchmarks.coverage --write
	scripts/browser.sh $(BIN)/python -m pytest -q -p no:xdist -m "browser and long" tests/browser
	scripts/postgres.sh $(BIN)/python -m pytest -q -p no:xdist -m long tests/arena
	scripts/spark.sh $(BIN)/python -m pytest -q -p no:xdist -m "spark and long" tests/spark

mutants: $(STAMP) ## run the mutation tests: every change to a copy of the package must fail a test
	$(BIN)/python scripts/mutants.py

lock: ## resolve the dependencies into requirements/*.lock (needs uv)
	uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -o requirements/dev.lock
	uv pip compile pyproject.toml --group build -c requirements/dev.lock --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate -o requirements/action.lock
	uv pip compile --group pyproject.toml:browser -c requirements/dev.lock --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -o requirements/browser.lock
	uv pip compile --group pyproject.toml:api -c requirements/dev.lock --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -o requirements/api.lock
	uv pip compile --group pyproject.toml:site -c requirements/dev.lock --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -o requirements/site.lock
	uv pip compile --group pyproject.toml:spark -c requirements/dev.lock --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -o requirements/spark.lock

clean: ## remove the virtual environments and the output of the tools
	rm -rf $(VENV) .venv-3.* .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
