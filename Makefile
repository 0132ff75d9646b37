# Two commands for a newcomer: `make demo` and `make check`. `make help` lists all.
BUILD ?= build
PREFIX ?= /usr/local
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
CMAKE_FLAGS ?=
# ON builds the tests too: `make check` does.
TESTS ?= OFF
# CUDA kernels: optimised, or any that are there. Where there are none and no GPU to run them, demo and tests are content with
# those that compile in a tenth of the time; a plain `make` then makes the others.
KERNELS ?= optimised
SHELL := /bin/bash
MAKEFLAGS += --no-print-directory

.PHONY: all demo check check-long quick eight mpi4py bench gpu-check gpu-bench gpu-programs sanitize format lint docs install clean help configure

all: configure
	@cmake --build $(BUILD) -j $(JOBS)

help: ## This list
	@sed -n 's/^\([a-z-]*\):.*## /make \1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20

# Ninja where it is and nothing else was chosen before.
configure:
	@generator=; if [ ! -e $(BUILD)/CMakeCache.txt ] && command -v ninja >/dev/null; then generator="-G Ninja"; fi; \
	kernels=-DTUTTI_CUDA_OPTIMIZE=ON; if [ $(KERNELS) = any ]; then \
	    if [ -e $(BUILD)/fatbin/pack.fatbin ] || [ -e /dev/nvidiactl ]; then kernels=; else kernels=-DTUTTI_CUDA_OPTIMIZE=OFF; fi; fi; \
	mkdir -p $(BUILD) && { cmake -S . -B $(BUILD) $$generator -DBUILD_TESTING=$(TESTS) $$kernels $(CMAKE_FLAGS) >$(BUILD)/configure.log 2>&1 || \
	    { cat $(BUILD)/configure.log; exit 1; }; }; \
	sed -n 's/^-- \(MPIs found\|.*left out\)/\1/p' $(BUILD)/configure.log

demo: ## Builds, then a validated MPI_Allreduce table of 4 ranks on simulated GPUs
	@scripts/setup.sh demo
	@scripts/mpis.sh $(BUILD)/mpis mpich
	@$(MAKE) all KERNELS=any
	@scripts/demo.sh $(BUILD)

check: ## Tests of everything; ends with "N passed, N failed, N skipped"
	@scripts/setup.sh check
	@scripts/mpis.sh $(BUILD)/mpis
	@$(MAKE) all TESTS=ON KERNELS=any CMAKE_FLAGS="-DTUTTI_TEST_LONG=1 $(CMAKE_FLAGS)"
	@scripts/check.sh $(BUILD) $(JOBS) -LE '^more$$'

# Beside those of `make check`: the rows of tests/more.txt, which run the same programs with the same settings under more MPIs, and
# four times as many random programs, sequences and rounds.
check-long: ## All tests: `make check` with four times as many random programs, and each row of settings under all MPIs
	@scripts/setup.sh check
	@scripts/mpis.sh $(BUILD)/mpis
	@$(MAKE) all TESTS=ON KERNELS=any CMAKE_FLAGS="-DTUTTI_TEST_LONG=2 $(CMAKE_FLAGS)"
	@scripts/check.sh $(BUILD) $(JOBS)

# Left out: random programs and the wide matrices, and what takes long by tests/costs/costs.txt.
quick: ## Unit tests, laws and Open MPI: those that together take about 140 seconds of the processor
	@scripts/setup.sh check
	@$(MAKE) all TESTS=ON KERNELS=any
	@scripts/check.sh $(BUILD) $(JOBS) -L '^(unit|law|openmpi)$$' -LE '^(programs|sequences|matrix|large|long|more)$$'

eight: ## Algorithms and generators with eight ranks on simulated GPUs
	@scripts/setup.sh check
	@$(MAKE) all TESTS=ON KERNELS=any CMAKE_FLAGS="-DTUTTI_TEST_LONG=2 $(CMAKE_FLAGS) -DTUTTI_TEST_EIGHT=ON"
	@scripts/check.sh $(BUILD) $(JOBS) -L '^eight$$'

bench: ## Measurements on the CPU; results under build/results
	@scripts/setup.sh check
	@scripts/mpis.sh $(BUILD)/mpis
	@$(MAKE) all KERNELS=any
	@scripts/bench.sh $(BUILD)

gpu-check: ## Tests on the GPUs of this machine (FIRST, ONLY, BUDGET, RESUME: see tests/gpu/run.sh)
	@tests/gpu/run.sh $(BUILD)

gpu-bench: ## Measurements on the GPUs of this machine
	@tests/gpu/bench.sh $(BUILD)

gpu-programs: ## Real programs on the GPUs of this machine; DIR holds their sources (see tests/gpu/programs.sh)
	@tests/gpu/programs.sh $(BUILD) $(DIR)

sanitize: ## Unit tests of all below src/mpi under the address, undefined-behaviour and thread sanitizers
	@scripts/setup.sh check
	@scripts/sanitize.sh $(BUILD) $(JOBS)

mpi4py: ## mpi4py's own tests with the library in front against the same without; needs its source package
	@scripts/setup.sh check
	@scripts/mpis.sh $(BUILD)/mpis
	@$(MAKE) all KERNELS=any
	@tests/mpi4py/compare.sh $(BUILD) $(BUILD)/mpi4py

format: ## Formats the C sources in place
	@scripts/setup.sh lint
	@scripts/format.sh

lint docs: KERNELS = any
lint: TESTS = ON
lint: configure ## Formatting, clang-tidy (tests too), cppcheck, shellcheck; warnings are errors
	@scripts/setup.sh lint
	@scripts/lint.sh $(BUILD) $(JOBS)

docs: configure ## docs/settings.md and docs/statistics.md from the lists
	@cmake --build $(BUILD) -j $(JOBS) --target docs

install: all ## Installs to PREFIX (default /usr/local)
	@cmake --install $(BUILD) --prefix "$(abspath $(PREFIX))" >$(BUILD)/install.log && tail -n 1 $(BUILD)/install.log && \
	    echo "installed to $(abspath $(PREFIX))"

clean: ## Removes what was built, not the MPIs that were fetched
	@if [ -d $(BUILD) ]; then find $(BUILD) -mindepth 1 -maxdepth 1 ! -name mpis -exec rm -rf {} +; fi
