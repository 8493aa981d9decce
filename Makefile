# make demo   build a network on a small data set and show what came out
# make test   linter, formatter, types, tests
#
# Both set up .venv on the first run, and again when pyproject.toml has changed.
# Another Python: make test PYTHON=python3.12. More test processes: make test JOBS=auto

.POSIX:

PYTHON ?= python3
JOBS ?= 2
RUN = .venv/bin/python
INSTALL = $(RUN) -m pip install --quiet --disable-pip-version-check --editable

.PHONY: demo test

demo: .venv/.installed-demo
	$(RUN) -m exactfit demo

test: .venv/.installed-test
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy --strict src
	$(RUN) -m pytest -n $(JOBS)

.venv/.installed-demo: .venv/bin/pip pyproject.toml
	@echo "Installing exactfit into .venv; the first time may take minutes ..."
	$(INSTALL) ".[plot]"
	@touch $@

.venv/.installed-test: .venv/bin/pip pyproject.toml
	@echo "Installing exactfit and its test tools into .venv; the first time may take minutes ..."
	$(INSTALL) ".[test]"
	@touch $@

# pip is the last thing that venv puts there: an environment with pip is a whole one.
.venv/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: PYTHON=...")'
	$(PYTHON) -m venv .venv
