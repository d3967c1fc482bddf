# Each target sets up what it needs. PYTHON picks the interpreter that .venv is made from.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
NATIVE := setup.py plugins/ocean/setup.py $(wildcard puffer_core/pufferlib/native/*.[hp]* plugins/ocean/pufferlib_ocean/*.h plugins/ocean/pufferlib_ocean/*/*.h)
ENV_NAME ?= ocean-breakout

.PHONY: help train test test-nmmo test-microrts lint type docs gallery bench sanitize dist clean

help:
	@echo "make train   install into $(VENV) and train $(ENV_NAME)   (ENV_NAME=ocean-pong ARGS='--train.seed 2')"
	@echo "make test    install what the tests need and run them all"
	@echo "make test-nmmo | test-microrts   the real packages, each in a virtual environment of its own"
	@echo "make gallery take a picture of each Ocean game and write its page in docs/ocean   (GAMES='pong go')"
	@echo "make sanitize ten million random steps of each Ocean game under sanitizers; takes half an hour   (GAMES='pong go')"
	@echo "make lint | type | docs | bench | dist | clean"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# What is needed to train: the core and the Ocean games, editable, their C built in place.
$(VENV)/run.stamp: $(BIN)/python requirements.txt pyproject.toml plugins/ocean/pyproject.toml $(NATIVE)
	$(BIN)/python -m pip install --quiet -r requirements.txt
	@touch $@

$(VENV)/dev.stamp: $(VENV)/run.stamp requirements-dev.txt $(wildcard plugins/*/pyproject.toml)
	$(BIN)/python -m pip install --quiet -r requirements-dev.txt
	$(BIN)/python -m pip install --quiet --no-deps nle==1.3.0 minihack==1.0.2  # nle's metadata wants an older gymnasium
	-$(BIN)/python -m pip install --quiet --no-deps procgen2==0.10.7 gym3==0.3.3  # wants an older numpy; no wheel for every Python
	@touch $@

train: $(VENV)/run.stamp
	$(BIN)/puffer train $(ENV_NAME) $(ARGS)

test: $(VENV)/dev.stamp
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist loadfile --ignore plugins/ray $(ARGS)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q plugins/ray $(ARGS)  # a cluster of two nodes wants the machine for itself

# Packages that want a virtual environment of their own, $(VENV)-nmmo and so on. PYTHON=python3.10 works as well.
test-nmmo test-microrts: test-%: $(VENV)-%/test.stamp
	OMP_NUM_THREADS=1 $(VENV)-$*/bin/python -m pytest -q plugins/$* $(ARGS)

$(VENV)-nmmo/test.stamp: BUILT = --no-build-isolation --no-cache-dir --no-binary nmmo nmmo==2.1.2
$(VENV)-microrts/test.stamp: BUILT = gym-microrts==0.6.0

$(VENV)-%/test.stamp: plugins/%/pyproject.toml pyproject.toml
	$(PYTHON) -m venv $(VENV)-$*
	$(VENV)-$*/bin/python -m pip install --quiet --upgrade pip
	$(VENV)-$*/bin/python -m pip install --quiet setuptools hypothesis -e . -e plugins/pettingzoo -e plugins/$*[test]
	$(VENV)-$*/bin/python -m pip install --quiet --no-deps --ignore-requires-python $(BUILT)
	@touch $@

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

type: $(VENV)/dev.stamp
	$(BIN)/mypy

docs: $(VENV)/dev.stamp
	$(BIN)/python -m pip install --quiet "mkdocs-material>=9" "mkdocstrings[python]>=0.24"
	$(BIN)/mkdocs build --strict

gallery: $(VENV)/dev.stamp
	$(BIN)/python docs/gallery.py $(GAMES)

sanitize: $(VENV)/dev.stamp
	$(BIN)/python plugins/ocean/tests/sanitize.py $(GAMES)

bench: $(VENV)/dev.stamp
	for script in benchmarks/[a-z]*.py; do $(BIN)/python $$script || exit 1; done

# An sdist and a wheel of every package, in dist/.
dist: $(VENV)/dev.stamp
	$(BIN)/python -m build --no-isolation --outdir dist .
	for plugin in plugins/*/; do $(BIN)/python -m build --no-isolation --outdir dist $$plugin || exit 1; done

clean:
	rm -rf $(VENV) $(VENV)-* build dist plugins/*/build
	find . -name '*.so' -o -name '*.egg-info' -prune | xargs rm -rf
