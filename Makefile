# tinygen: everything that a developer or a user of a checkout does, one target each.
# `make run-qemu` and `make test` set up what they need; a second run does no set-up again.

PYTHON  ?= python3
MODEL   ?= examples/digits/digits_int8.tflite
DATA    ?= $(if $(findstring digits_int8,$(MODEL)),examples/digits/digits_test.npz)
BOARD   ?= mps2-an386
KERNELS ?= auto
JOBS    ?= 2
PYTEST_FLAGS ?=
DOORS   ?= torch tensorflow tvm
DOOR_TESTS := tests/frontends/test_doors.py tests/frontends/test_same_network.py tests/frontends/test_relax.py \
	tests/frontends/test_recurrent_exports.py tests/frontends/test_in_memory.py tests/calib/test_torch_states.py

VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help

# Tests start tinygen again and again: its byte code is kept, whatever the environment says.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help: ## List all targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run-qemu
run-qemu: setup $(if $(filter qemu-rv% qemu-hazard3 rv32% hazard3,$(BOARD)),$(VENV)/.tools-riscv) ## Generate, build and run a model in QEMU (MODEL=, DATA=, BOARD=, KERNELS=)
	@$(BIN)/python -m examples.run_qemu "$(MODEL)" --target "$(BOARD)" --kernels "$(KERNELS)" $(if $(DATA),--data "$(DATA)")

.PHONY: test
test: setup ## Run all tests that this machine can run
	@$(BIN)/python -m pytest -n $(JOBS) $(PYTEST_FLAGS)

.PHONY: test-cmsis
test-cmsis: setup ## Run the tests that need the sources of CMSIS-NN
	@$(BIN)/python -m tests.support.tools
	@$(BIN)/python -m pytest -n $(JOBS) -m cmsis $(PYTEST_FLAGS)

.PHONY: test-doors
test-doors: setup $(addprefix test-door-,$(DOORS)) ## Run the tests of other frameworks' models, each in an environment of its own (DOORS=)

.PRECIOUS: .venv-doors/%/.ready

test-door-%: .venv-doors/%/.ready
	@echo "$*:"
	@.venv-doors/$*/bin/python -c 'import $*'
	@PATH="$(CURDIR)/.venv-doors/$*/bin:$$PATH" .venv-doors/$*/bin/python -m pytest -n $(JOBS) $(PYTEST_FLAGS) $(DOOR_TESTS)

.venv-doors/%/.ready: pyproject.toml
	@echo "setting up .venv-doors/$*"
	@$(PYTHON) -m venv .venv-doors/$*
	@.venv-doors/$*/bin/python -m pip install --quiet --disable-pip-version-check -e '.[test,$*]'
	@touch $@

.PHONY: test-projects
test-projects: setup .venv-projects/.ready ## Run the tests of --project with the tools' own parsers (TINYGEN_PACK_SCHEMA=PACK.xsd)
	@PATH="$(CURDIR)/.venv-projects/bin:$$PATH" .venv-projects/bin/python -m pytest -n $(JOBS) $(PYTEST_FLAGS) tests/build/test_projects.py

.venv-projects/.ready: pyproject.toml
	@echo "setting up .venv-projects"
	@$(PYTHON) -m venv .venv-projects
	@.venv-projects/bin/python -m pip install --quiet --disable-pip-version-check -e '.[test]' \
		west platformio idf-component-manager kconfiglib xmlschema
	@touch $@

.PHONY: check
check: setup docs ## Lint, formats, types, workflows, import order, MISRA C, the documentation
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/clang-format --dry-run -Werror $$(git ls-files 'runtime_c/*.c' 'runtime_c/*.h')
	@$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/[!c]*.yml
	@$(BIN)/check-jsonschema --quiet --builtin-schema vendor.citation-file-format CITATION.cff
	@$(BIN)/python -m pytest -q tests/test_layers.py tests/codegen/test_templates.py
	@$(BIN)/python -m benchmarks.compliance --check

.PHONY: docs
docs: setup ## Build the documentation as a site (build/site)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir build/site

.PHONY: format
format: setup ## Format Python and C
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format --quiet .
	@$(BIN)/clang-format -i $$(git ls-files 'runtime_c/*.c' 'runtime_c/*.h')

.PHONY: bench
bench: setup $(VENV)/.tools-riscv ## Measure the MLPerf Tiny models again (benchmarks/mlperf)
	@PATH="$(BIN):$$PATH" tinygen bench --suite mlperf -t mps2-an385,mps2-an386,mps3-an547,qemu-rv32,qemu-rv32-zve32x --compare cmsis-nn,portable \
		-o benchmarks/mlperf

.PHONY: bench-accuracy
bench-accuracy: setup ## Measure what calibration keeps of trained networks' answers, by widths (benchmarks/accuracy.md)
	@$(BIN)/python -m benchmarks.accuracy

.PHONY: bench-check
bench-check: setup ## Derive the figures of README, docs/ and benchmarks/ again (PAGES=, WRITE=1 puts them there)
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m benchmarks.check $(if $(WRITE),--write) $(PAGES)

.PHONY: bench-flash
bench-flash: setup ## Plan image classification and anomaly detection within limits of flash (benchmarks/flash.md)
	@$(BIN)/python -m benchmarks.flash

.PHONY: bench-goals
bench-goals: setup ## Plan all models for all goals, and compare each goal with the others at its own aim (benchmarks/goals.md)
	@$(BIN)/python -m benchmarks.goals

.PHONY: bench-planning
bench-planning: setup ## Measure how long planning takes again (benchmarks/planning.md)
	@$(BIN)/python -m benchmarks.planning

.PHONY: bench-ram
bench-ram: setup ## Plan the smallest arenas, beside what they should take (benchmarks/ram.md)
	@$(BIN)/python -m benchmarks.ram

.PHONY: bench-weights
bench-weights: setup ## Measure networks with narrow weights again (benchmarks/weights.md)
	@OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.weights $(MODES)

.PHONY: bench-recurrent
bench-recurrent: setup ## Measure networks that keep states again (benchmarks/recurrent.md)
	@$(BIN)/python -m benchmarks.recurrent

.PHONY: bench-dynamic
bench-dynamic: setup ## Measure quantization at run time beside float32 and static int8 again (benchmarks/dynamic.md)
	@$(BIN)/python -m benchmarks.dynamic

.PHONY: models
models: setup ## Fetch the MLPerf Tiny reference models (models/, not in git)
	@$(BIN)/tinygen mlperf models models/mlperf_tiny

.PHONY: calibrate-code
calibrate-code: setup ## Measure the code of all kernels again, for plans within --flash
	@$(BIN)/python -m benchmarks.calibrate_code

.PHONY: calibrate-costs
calibrate-costs: setup ## Measure what kernels cost again, for the planner and for --kernels auto
	@$(BIN)/python -m benchmarks.calibrate_costs

.PHONY: random-layers
random-layers: setup ## Run thousands of random layers on native kernels (LAYERS=)
	@$(BIN)/python -m benchmarks.random_layers --layers $(or $(LAYERS),2000)

.PHONY: fuzz
fuzz: setup ## Run mutants of models that compile in C, against the references (ACCEPTED=, SEED=)
	@$(BIN)/python -m benchmarks.fuzz --accepted $(or $(ACCEPTED),5000) --seed $(or $(SEED),0)

.PHONY: mutation
mutation: setup ## See which small mistakes in the code tests notice (benchmarks/mutation.md; ROOMS=, SAMPLE=)
	@$(BIN)/python -m benchmarks.mutation $(if $(ROOMS),--rooms "$(ROOMS)") $(if $(SAMPLE),--sample $(SAMPLE))

.PHONY: setup
setup: $(VENV)/.ready $(VENV)/.tools $(VENV)/.submodule ## Make the virtual environment, install tools, fetch CMSIS-NN

$(VENV)/.ready: pyproject.toml
	@echo "setting up $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$(PYTHON) is older than Python 3.11: name a newer one with make PYTHON=..."; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { sh .ci/install_tools.sh python3-venv && $(PYTHON) -m venv $(VENV); }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

$(VENV)/.tools: .ci/install_tools.sh | $(VENV)/.ready
	@sh .ci/install_tools.sh gcc gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm
	@touch $@

$(VENV)/.tools-riscv: .ci/install_tools.sh | $(VENV)/.ready
	@sh .ci/install_tools.sh gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf qemu-system-misc
	@touch $@

$(VENV)/.submodule: | $(VENV)/.ready
	@sh .ci/fetch_submodule.sh
	@touch $@

.PHONY: clean
clean: ## Remove the virtual environment and caches
	rm -rf $(VENV) .venv-doors .venv-projects build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
