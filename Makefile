# Everything from a bare machine with Python 3.11 or newer, pip, gcc and make. `make help` lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

# The first Python that is new enough; `make PYTHON=/path/to/python ...` names one.
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13 python3.14; do \
	if $$p -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo $$p; break; fi; done)
JOBS ?= 2
# Options for pytest, such as ARGS="-k softmax".
ARGS ?=
SHARED ?= ../shared

# Interpreted, the package in place: development, lint and the interpreted tests.
VENV := .venv
# The compiled wheel, as users get it.
COMPILED := .venv-compiled
# Real Paddle beside the package in place.
ORACLE := .venv-oracle
# torch beside the package in place, apart from Paddle.
TORCH := .venv-oracle-torch

PIP := -m pip install --quiet --disable-pip-version-check
PYTEST := -m pytest -n $(JOBS) --dist worksteal $(ARGS)
SOURCES := $(shell find src ops -type f \( -name '*.py' -o -name '*.yaml' \) \
	-not -path 'src/wherry/_generated/*' -not -name '_C_ops.py') setup.py trashcan.h pyproject.toml LICENSE

.PHONY: help
help: ## This list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

# ---------------------------------------------------------------------------------------------- environments

$(VENV)/.stamp: pyproject.toml setup.py
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer with venv is needed; name one: make PYTHON=/path/to/python"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	WHERRY_PURE=1 $(VENV)/bin/python $(PIP) -e '.[dev]'
	touch $@

# The wheel is built anew when a source changes; `build` must go first, or removed modules would stay in it.
$(COMPILED)/.wheel: $(VENV)/.stamp $(SOURCES)
	rm -rf build $(COMPILED)/dist
	mkdir -p $(COMPILED)
	WHERRY_COMPILED=1 $(VENV)/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation \
		--wheel-dir $(COMPILED)/dist .
	touch $@

$(COMPILED)/.stamp: $(COMPILED)/.wheel
	test -x $(COMPILED)/bin/python || $(PYTHON) -m venv $(COMPILED)
	wheel=$$(ls $(COMPILED)/dist/wherry-*.whl); $(COMPILED)/bin/python $(PIP) "$$wheel[test]"; \
	$(COMPILED)/bin/python $(PIP) --force-reinstall --no-deps "$$wheel"
	touch $@

$(ORACLE)/.stamp: pyproject.toml setup.py
	$(PYTHON) -m venv $(ORACLE)
	WHERRY_PURE=1 $(ORACLE)/bin/python $(PIP) -e '.[test]' paddlepaddle==3.3.1
	touch $@

$(TORCH)/.stamp: pyproject.toml setup.py
	$(PYTHON) -m venv $(TORCH)
	WHERRY_PURE=1 $(TORCH)/bin/python $(PIP) -e '.[test]' torch==2.13.0
	touch $@

# ---------------------------------------------------------------------------------------------- what one types

.PHONY: build
build: $(VENV)/.stamp ## Generate the code from ops/*.yaml
	$(VENV)/bin/python -m wherry_codegen

.PHONY: test
test: test-interpreted test-compiled ## All tests, interpreted, then compiled

.PHONY: test-interpreted
test-interpreted: build ## Tests of the package in place
	WHERRY_EXPECT=interpreted $(VENV)/bin/python $(PYTEST)

# The package comes from the wheel: src/ is not on the path.
.PHONY: test-compiled
test-compiled: $(COMPILED)/.stamp ## Tests of the compiled wheel
	WHERRY_EXPECT=compiled $(COMPILED)/bin/python $(PYTEST)

.PHONY: demo
demo: $(COMPILED)/.stamp ## Train on real images with the compiled wheel (SHORT=1: two passes)
	$(COMPILED)/bin/wherry run examples/train_digits.py $(if $(SHORT),--quick)

.PHONY: lint
lint: build ## ruff, mypy --strict on the engine and the generator, the operation entries
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy --strict --follow-imports=silent src/wherry_codegen src/wherry/core src/wherry/dispatch src/wherry/infermeta src/wherry/autograd
	$(VENV)/bin/python -m wherry_codegen --check

.PHONY: screenshots
screenshots: build ## Take the pictures of docs/images in a real browser
	WHERRY_BROWSER=required WHERRY_SCREENSHOTS=$(CURDIR)/docs/images $(VENV)/bin/python -m pytest tests/browser

.PHONY: bench
bench: $(COMPILED)/.stamp ## Compare speed with torch and Paddle; writes docs/benchmark.md
	$(COMPILED)/bin/python -m bench.run --wherry-python $(COMPILED)/bin/python $(ARGS)

.PHONY: bench-memory
bench-memory: $(COMPILED)/.stamp ## Compare memory with torch and Paddle; writes docs/memory.md
	$(COMPILED)/bin/python -m bench.memory --wherry-python $(COMPILED)/bin/python $(ARGS)

.PHONY: bench-seams
bench-seams: $(COMPILED)/.stamp ## What the observer seam costs while nobody listens
	$(COMPILED)/bin/python -m bench.seams --wherry-python $(COMPILED)/bin/python $(ARGS)

.PHONY: oracle
oracle: build $(ORACLE)/.stamp $(TORCH)/.stamp ## Compare behaviour with real Paddle 3.3.1 and with torch
	$(TORCH)/bin/python -m pytest tests/oracle/test_torch.py $(ARGS)
	$(ORACLE)/bin/python -m pytest tests/oracle $(ARGS)
	if test -f $(SHARED)/tools/run_cases.py; then \
		$(ORACLE)/bin/python $(SHARED)/tools/run_cases.py $(SHARED)/cases/bugs --impl wherry --jobs $(JOBS) || true; \
		$(ORACLE)/bin/python $(SHARED)/tools/api_diff.py $(SHARED)/cases/api_configs_dev.txt \
			--oracle paddle --impl wherry --jobs $(JOBS); \
	fi

.PHONY: properties
properties: $(COMPILED)/.stamp ## Properties over random shapes, dtypes, axes and strides, EXAMPLES=2000 of each
	WHERRY_EXAMPLES=$(or $(EXAMPLES),2000) $(COMPILED)/bin/python $(PYTEST) tests/properties

.PHONY: verification
verification: build ## Write docs/verification.md, what the suites check of every operation
	$(VENV)/bin/python -m tests.verification

.PHONY: clean
clean: ## Remove everything that was built
	rm -rf $(VENV) $(COMPILED) $(ORACLE) $(TORCH) .venv-bench-* build dist src/wherry/_generated src/wherry/_C_ops.py src/wherry/api/__init__.pyi src/*.egg-info
