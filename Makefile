# make demo | test | test-all | test-long | coverage | mutants | lint | docs |
# clean. For another interpreter than python3: make clean, then make
# PYTHON=python3.10 test.
PYTHON ?= python3
# Relative throughout: the path of the checkout may hold spaces.
VENV := .venv/bin/python
# Stamps: what the demonstration needs is installed; the tools, too.
STAMP := .venv/installed
TOOLS := .venv/tools
# Few of the 20,000 files of all packages are ever imported, so files are
# compiled at import. The result is kept, whatever the environment says.
INSTALL := $(VENV) -m pip install --no-compile -c constraints.txt
export PYTHONDONTWRITEBYTECODE :=
PYTEST := OMP_NUM_THREADS=1 $(VENV) -m pytest -n auto --maxprocesses 4 \
    --dist loadfile
SOURCES := $(wildcard setup.py csv_plugin configs tools tests docs/conf.py)

.PHONY: demo test test-all test-long coverage mutants lint docs clean

demo: $(STAMP)
	.venv/bin/salience demo

# The tests that take seconds: what to run after every change.
test: $(TOOLS)
	$(PYTEST) -m 'not slow and not long'

# What to run before a change is sent.
test-all: $(TOOLS)
	$(PYTEST) -m 'not long'

# What repeats whole trainings and studies.
test-long: $(TOOLS)
	$(PYTEST) -m long

# How much of the package test-all runs, in other processes too.
coverage: $(TOOLS)
	$(PYTEST) -m 'not long' --cov --cov-fail-under=95

# How many of a hundred planted bugs no test notices. Slow tests run where the
# quick ones notice nothing.
mutants: $(TOOLS)
	$(VENV) tools/mutants.py --sample 100 --seed 0

lint: $(TOOLS)
	$(VENV) -m yapf --parallel --diff --recursive $(SOURCES)
	$(VENV) -m isort --check-only --diff $(SOURCES)
	$(VENV) -m flake8 $(SOURCES)
	$(VENV) -m mypy
	.venv/bin/lint-imports --no-cache
	.venv/bin/vulture

# The site, without a network: docs/_build/html/index.html. The gallery is run.
docs: $(TOOLS)
	@$(VENV) -c 'import sys; sys.version_info >= (3, 11) or sys.exit( \
	    "The site needs Python 3.11 or 3.12: make clean, then make PYTHON=python3.11 docs")'
	OMP_NUM_THREADS=1 $(VENV) -m sphinx -b html -d docs/_build/doctrees \
	    -E -W --keep-going --quiet docs docs/_build/html

clean:
	rm -rf .venv build dist docs/_build .coverage* .hypothesis .mypy_cache .pytest_cache
	rm -rf *.egg-info
	find $(SOURCES) -name __pycache__ -prune -exec rm -rf {} +

# Without a stamp .venv is new, foreign or half installed: start from nothing.
$(STAMP): setup.cfg pyproject.toml constraints.txt
	@"$(PYTHON)" -c 'import sys; (3, 10) <= sys.version_info < (3, 13) or \
	    sys.exit("Python 3.10, 3.11 or 3.12 is needed, $(PYTHON) is " \
	    + sys.version.split()[0] + "; try: make PYTHON=python3.11")'
	test -e $@ || "$(PYTHON)" -m venv --clear .venv
	rm -f $@
	$(INSTALL) -e '.[opencompass,report]'
	touch $@

$(TOOLS): $(STAMP)
	$(INSTALL) -e '.[opencompass,report,test,style,docs]'
	touch $@
