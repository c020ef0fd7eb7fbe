# Everything a newcomer, a developer and CI run. Needs Python 3.11+ and make; the rest is set up on
# first use in .venv, from hash-locked requirements. `make PYTHON=python3.13 test` picks another Python.

PYTHON ?= python3
UV ?= uv
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
AUDIT := $(VENV)/audit

# What `make demo` hands on: make demo ROUNDS=20 SEED=7 SPEED=0 ARGS="--json"
ROUNDS ?=
SEED ?=
SPEED ?=
ARGS ?=
# Tests at a time. They wait for brokers and processes more than they work: of a game with faults,
# 5 s in 28 are work. A file's run in order. Each worker more takes ten seconds of work, to collect
# every test and to start what its tests share.
WORKERS ?= 5

# Of `make soak`, for mutants of the pure rooms; a part of it by ARGS leaves them out.
MUTANT_MINUTES ?= 20

# Distributions put mosquitto into sbin, which a user's PATH often leaves out.
export PATH := $(PATH):/usr/local/sbin:/usr/sbin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help setup demo quick test check sbom audit soak soak-processes soak-computing late broken mutants bench corpus reference verifier lock clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /make \1\t/p' Makefile | expand -t 14

setup: $(STAMP) ## .venv with the locked packages and this one
	@:

demo: $(STAMP) ## a whole table on this machine; ROUNDS=20 stops by itself; SEED, SPEED, ARGS
	@exec $(BIN)/baccarat demo $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(SEED),--seed $(SEED)) \
	    $(if $(SPEED),--speed $(SPEED)) $(ARGS)

quick: $(STAMP) ## lint, types and the tests that start no process and sweep nothing; a minute
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy & types=$$!; \
	    $(BIN)/python -m pytest -q --numprocesses 2 --dist loadfile $(PURE) $(ARGS) || tests=$$?; \
	    wait $$types && exit $${tests:-0}

# pytest fails where this selects nothing, and tests/house where it selects little.
PURE := -m "not soak and not process and not sweep" tests/unit

test: $(STAMP) ## the whole suite, against nats-server and mosquitto; ARGS="-k settle"
	@$(NEED_PARTS)
	@exec $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile $(ARGS)

# The real parts, installed where they are missing and we may.
NEED_PARTS = for part in mosquitto postgresql chromium node paho systemd; do \
    sh tests/tools/need-$$part.sh || exit 1; done

check: $(STAMP) ## lint, format, types and the house style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/house
	@$(MAKE) --no-print-directory sbom
	@$(HAVE_AUDIT)
	@$(RUN_AUDIT) || [ $$? = 3 ]

sbom: $(STAMP) ## dist/sbom.cdx.json: what an installation is made of, with hashes
	@mkdir -p dist
	@$(BIN)/cyclonedx-py requirements --output-reproducible --validate --output-format JSON \
	    --output-file dist/sbom.cdx.json requirements/runtime.txt

audit: $(STAMP) ## ask the public advisory database about the lock; needs the network
	@$(HAVE_AUDIT)
	@$(RUN_AUDIT)

# Exit code 3 is "not audited", with a line that says why: `make check` goes on, `make audit` fails.
RUN_AUDIT = $(BIN)/python -m tests.tools.audit $(AUDIT)/bin/pip-audit requirements/runtime.txt
HAVE_AUDIT = [ $(AUDIT)/installed -nt requirements/audit.txt ] || { \
    $(PYTHON) -m venv --clear $(AUDIT) && $(AUDIT)/bin/python -m pip install --quiet --retries 1 \
    --require-hashes -r requirements/audit.txt && touch $(AUDIT)/installed; } || \
    echo "make: pip-audit cannot be installed here" >&2

soak: $(STAMP) ## the long tests, which `make test` leaves out; under three hours
	@sh tests/tools/need-mosquitto.sh
	@sh tests/tools/need-postgresql.sh
	@sh tests/tools/need-node.sh
	@$(BIN)/python -m pip install --quiet --require-hashes --only-binary :all: -r requirements/soak.txt \
	    || echo "make soak: no atheris for this machine; the shoe is fuzzed without coverage" >&2
	@mkdir -p $(SAYS)
	@$(if $(ARGS),exec $(SOAK) $(WORKERS) -m soak $(ARGS),echo "what each step says: $(SAYS)/*.txt"; \
	    exec $(MAKE) --no-print-directory --keep-going --jobs 2 soak-processes soak-computing)

SAYS := dist/soak
SOAK := $(BIN)/python -m pytest --timeout 3600 --dist worksteal --verbose --durations 25 --numprocesses
# Run a step, whose output goes into a file; its last lines say how it ended.
STEP = began=$$(date +%s); $(2) >$(SAYS)/$(1).txt 2>&1; code=$$?; \
    echo "== $(1): exit $$code after $$((($$(date +%s) - began) / 60)) minutes"; \
    tail -n 45 $(SAYS)/$(1).txt

# Two lanes beside one another. What plays with real processes mostly waits, and minds being
# disturbed: four run well on two processors. What only computes takes whatever processor is left.
soak-processes:
	@$(call STEP,processes,$(SOAK) 4 -m "soak and not soak(computes=True)"); exit $$code

soak-computing:
	@$(call STEP,computing,nice $(SOAK) 2 -m "soak(computes=True)"); failed=$$code; \
	    $(call STEP,mutants,nice $(BIN)/python -m tests.tools.mutants --jobs 2 \
	    --minutes $(MUTANT_MINUTES)); exit $$((failed | code))

late: $(STAMP) ## the tests with real parts while brokers, line and disk are late at times; SEED=5
	@$(NEED_PARTS)
	@seed=$(or $(SEED),$$(date +%s)); echo "make late: SEED=$$seed"; \
	    PYTHONPATH=tests/tools/late LATE_SEED=$$seed exec $(BIN)/python -m pytest --timeout 300 \
	    --numprocesses 6 --dist loadfile $(LEFT_OUT:%=--deselect tests/integration/%) \
	    $(or $(ARGS),tests/integration tests/kill tests/browser)

# They look into the very things that are put in the way: a socket's bytes, descriptors, the broker's
# queue for a reader who is late; and the bench's own time-outs.
LEFT_OUT := events/test_bus.py::test_a_post_is_in_the_socket_when_it_returns_however_much_is_unacknowledged \
    events/test_bus.py::test_posts_and_publishes_arrive_once_and_in_the_order_of_the_calls \
    events/test_bus_connections.py::test_nothing_is_left_behind_whenever_it_is_cancelled \
    benchmarks/test_bench.py

broken: $(STAMP) ## builds with a defect each: is every one caught? ARGS="commission"
	@exec $(BIN)/python -m tests.tools.broken_builds $(ARGS)

mutants: $(STAMP) ## small changes of the pure rooms: is each noticed? ARGS="draw --jobs 2"
	@exec $(BIN)/python -m tests.tools.mutants $(ARGS)

bench: $(STAMP) ## the measured figures, each beside its floor
	@$(BIN)/python -m pip install --quiet --retries 1 --require-hashes -r requirements/bench.txt \
	    || echo "make bench: no eventsourcing here; replay is measured without its peer" >&2
	@exec $(BIN)/baccarat bench $(ARGS)

corpus: $(STAMP) ## a log of every type of event, of the version in pyproject.toml, for the tests
	@$(BIN)/python -m tests.tools.corpus
	@$(BIN)/python -m tests.tools.kept

verifier: ## what is made from the second verifier's sources: its event types, and its page
	@sh tests/tools/need-node.sh
	@node verifier/tools/make_types.mjs
	@node verifier/tools/make_page.mjs

reference: $(STAMP) ## the documents' tables of commands, and docs/reference/schema, from the types
	@$(BIN)/python -m tests.tools.reference

lock: ## requirements/*.txt anew from pyproject.toml (needs uv; ARGS="--upgrade" for newer versions)
	@command -v $(UV) >/dev/null || { echo "make lock: uv is needed: pip install uv" >&2; exit 1; }
	$(UV) pip compile $(LOCK_OPTIONS) pyproject.toml -o requirements/runtime.txt
	$(UV) pip compile $(LOCK_OPTIONS) --extra dev -c requirements/runtime.txt pyproject.toml \
	    -o requirements/dev.txt
	$(UV) pip compile $(LOCK_OPTIONS) requirements/soak.in -o requirements/soak.txt
	$(UV) pip compile $(LOCK_OPTIONS) requirements/bench.in -o requirements/bench.txt
	$(UV) pip compile $(LOCK_OPTIONS) requirements/audit.in -o requirements/audit.txt
	$(UV) pip compile $(LOCK_OPTIONS) -c requirements/dev.txt requirements/build.in \
	    -o requirements/build.txt

# One lock serves every Python and platform we support; it names no index, so a site's own one works.
LOCK_OPTIONS := --quiet --universal --generate-hashes --python-version 3.11 --no-emit-index-url \
    --no-annotate --no-header $(ARGS)

clean: ## remove .venv and all caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist

# The environment is made anew whenever the lock or the package's metadata changes: what stands in it
# is what the lock says and nothing else.
$(STAMP): requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	    echo "make: Python 3.11 or newer is needed, and '$(PYTHON)' is not:" \
	        "$$($(PYTHON) --version 2>&1 | tail -n 1). Say make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "Setting up $(VENV) (once; a minute or more) ..."
	@$(PYTHON) -m venv --clear $(VENV) || { \
	    echo "make: '$(PYTHON) -m venv' failed; on Debian: apt-get install python3-venv" >&2; exit 1; }
	@$(BIN)/python -m pip install --quiet --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --no-build-isolation --no-deps -e .
	@touch $@
