# make demo   build a network on a small data set and show what came out
# make test   linter, formatter, types, tests
# make check  the same with the fast tier of tests only: no processes, no clusters; before each commit
# make check-newest  the fast tier in new environments: newest releases, on every other Python that is here
# make check-lowest  the fast tier in a new environment: the lowest versions that pyproject.toml names
# make check-torch   the tests that need PyTorch, in a new environment that has it
# make durations  measure every test, and write down again which are long and which files start first
# make test-slow  the tests that take too long for every day: many kills, large attacks, notebooks
# make test-site  site and playground in a headless Chromium; skipped by name where there is none
# make coverage  which lines of src the tests reach; the report in htmlcov/
# make docs   the site, gallery and doctests included: docs/_build/html/index.html
# make docs-quick  the same without running gallery and doctests
# make bench  measure speed and memory beside a dense NumPy form; MNIST and CIFAR-10 from DATA=folder
# make bench-dask  the same fits from Dask chunks on two worker processes; MNIST from DATA=folder. CASE=larger: a hundred
#             million points and two million images on disk, or SIZE of each
# make fuzz   changed model files, tables, sweeps, stores and ONNX models, and what the stand-alone checker reads, for
#             SECONDS=600 seconds: any crash, hang or wrong verdict is a finding
# make bench-weighted   the same for weighted detectors beside masks
#
# All but make check-... set up .venv on the first run, and again when pyproject.toml or the version has changed; those
# make .venvs/NAME anew each time.
# Another Python: make test PYTHON=python3.12. More test processes: make test JOBS=auto

.POSIX:

PYTHON ?= python3
JOBS ?= 2
DATA ?=
SECONDS ?= 600
RUN = .venv/bin/python
SPHINX = $(RUN) -m sphinx --fail-on-warning --keep-going --quiet --fresh-env -b html -d docs/_build/doctrees docs docs/_build/html
TEST = $(RUN) -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder --max-worker-restart 0
INSTALL = $(RUN) -m pip install --quiet --disable-pip-version-check --editable

# Modules are compiled once, also where a machine's settings say no: hundreds of processes of tests would compile them all.
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo test check check-newest check-lowest check-torch durations test-slow test-site coverage bench bench-dask bench-weighted fuzz docs docs-quick fresh-kernels

demo: .venv/.installed-demo fresh-kernels
	$(RUN) -m exactfit demo

bench: .venv/.installed-test fresh-kernels
	$(RUN) -m benchmarks fit small growth geometry --data "$(DATA)"

bench-dask: .venv/.installed-test fresh-kernels
	$(RUN) -m benchmarks $(or $(CASE),dask) --data "$(DATA)" $(if $(SIZE),--size $(SIZE))

bench-weighted: .venv/.installed-test fresh-kernels
	$(RUN) -m benchmarks weighted --data "$(DATA)"

test: .venv/.installed-test fresh-kernels
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy --strict src experiments
	$(TEST)

check: .venv/.installed-test fresh-kernels
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy --strict src experiments
	$(TEST) -q -m "not long and not slow and not site"

check-newest check-lowest check-torch:
	$(PYTHON) .ci/new_environment.py $(@:check-%=%) --jobs $(JOBS)

durations: .venv/.installed-test fresh-kernels
	PYTHONPATH=.ci $(TEST) -p durations

test-slow: .venv/.installed-test fresh-kernels
	$(TEST) -m slow

coverage: .venv/.installed-test fresh-kernels
	$(TEST) --cov --cov-report=term --cov-report=html

test-site: .venv/.installed-site fresh-kernels
	$(RUN) -m pytest -m site tests/site

docs: .venv/.installed-docs fresh-kernels
	$(SPHINX)
	$(TEST) src experiments tests/docs

docs-quick: .venv/.installed-docs
	$(SPHINX) -D plot_gallery=0

fuzz: .venv/.installed-test fresh-kernels
	$(RUN) tests/fuzzing --seconds $(SECONDS)

.venv/.installed-demo: .venv/bin/pip pyproject.toml src/exactfit/_version.py
	@echo "Installing exactfit into .venv; the first time may take minutes ..."
	$(INSTALL) ".[plot]"
	@touch $@

.venv/.installed-test: .venv/bin/pip pyproject.toml src/exactfit/_version.py
	@echo "Installing exactfit and its test tools into .venv; the first time may take minutes ..."
	$(INSTALL) ".[test]"
	@touch $@

.venv/.installed-site: .venv/.installed-test
	$(INSTALL) ".[test,site]"
	npm install --silent --no-audit --no-fund --prefix .venv typescript || \
		echo "TypeScript is not to be had here: the test of types is skipped"
	@touch $@

.venv/.installed-docs: .venv/bin/pip pyproject.toml src/exactfit/_version.py
	@echo "Installing exactfit and what its site is made with into .venv; the first time may take minutes ..."
	$(INSTALL) ".[test,docs]"
	@touch $@

# pip is the last thing that venv puts there: an environment with pip is a whole one.
.venv/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: PYTHON=...")'
	$(PYTHON) -m venv .venv

# A compiled kernel is kept until its own file changes, even if one that it calls has changed.
fresh-kernels: .venv/bin/pip
	@if [ ! -f .venv/.kernels ] || [ -n "$$(find src/exactfit/_kernels -name '*.py' -newer .venv/.kernels)" ]; then \
		rm -f src/exactfit/_kernels/__pycache__/*.nb?; fi
	@touch .venv/.kernels
