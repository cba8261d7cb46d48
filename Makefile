# Each target makes what it needs, from nothing. Variables:
#   PYTHON     interpreter to build .venv with
#   RESULTS    where `tables` and `experiment` write the results database and the rendered tables
#   CHECK_REPEATS  repeats of the regression against the recorded results
#   SEED       another seed for `reseed`
#   BENCH      parts of the benchmarks to measure, such as `rprop gha`; empty: all

PYTHON ?= python3
RESULTS ?= results
CHECK_REPEATS ?= 3
SEED ?= 4242
BENCH ?=
BIN := .venv/bin
PIP := python -m pip install --quiet --quiet --disable-pip-version-check --no-compile
EXPERIMENTS := $(wildcard configs/experiment*.yaml)
TODAY := configs/streaming.yaml configs/streaming_curves.yaml configs/keep_rules.yaml
CONFIGS := $(filter-out configs/demo.yaml $(EXPERIMENTS),$(wildcard configs/*.yaml))
# Configs that take long and have no cell in the baseline.
UNCHECKED := $(patsubst %,configs/%.yaml,speedup as_written as_written_speedup proben1_printed proben1_search ga_readings \
	rfe_readings streaming streaming_curves keep_rules fitness_time ne_ppca_selection)
# Configs that fill T1 to T7 and the tables of the Proben1 report; T4 and T6 by their operation counts.
RESEEDED := $(patsubst %,configs/%.yaml,ne_ppca_by_tau dgha_partial_data feature_selection systems baselines \
	checks/speedup proben1_linear proben1_mushroom proben1_pivot proben1_no_shortcuts)

.PHONY: setup demo tables experiment check-published reseed bench test test-all test-lowest lint docs clean

# Everything a developer needs.
setup: .venv/test .venv/lint .venv/docs

.venv/package: pyproject.toml constraints.txt
	@echo "Creating the environment .venv"
	@$(PYTHON) -m venv .venv
	@echo "Installing the package and its dependencies"
	@$(BIN)/$(PIP) -c constraints.txt -e .
	@touch $@

# The tools of a task: .venv/test, .venv/lint or .venv/docs.
.venv/%: .venv/package
	@echo "Installing the tools of \`make $*\`"
	@$(BIN)/$(PIP) -c constraints.txt -e '.[$*]'
	@touch $@

demo: .venv/package
	$(BIN)/pppca run demo

tables: .venv/package
	$(BIN)/pppca run $(CONFIGS) --results $(RESULTS) --no-tables
	$(BIN)/pppca render --results $(RESULTS) --findings docs/findings.md --verdicts docs/verdicts.md
	$(BIN)/pppca report --results $(RESULTS)

# The registered experiments, apart from the other results, and the methods of today (S1, S2, K1, F9), which `tables`
# renders.
experiment: .venv/package
	$(BIN)/pppca run $(TODAY) --results $(RESULTS) --no-tables
	for experiment in experiment:E experiment2:E2; do \
		name=$${experiment%:*} id=$${experiment#*:}; \
		$(BIN)/pppca run configs/$$name.yaml configs/$${name}_large.yaml --results $(RESULTS)/$$name --no-tables && \
		for form in markdown csv; do \
			$(BIN)/pppca tables --results $(RESULTS)/$$name --format $$form --out $(RESULTS)/$$name/tables \
				--table $$id --table $${id}_losses --table $${id}_tests --table $${id}_margins --table $${id}_matrix || exit 1; \
		done && \
		$(BIN)/pppca figures $${id}_matrix --results $(RESULTS)/$$name || exit 1; \
	done

# The regression against the recorded results: all configs at few repeats, compared with the same repeats of the full run.
check-published: .venv/package
	rm -rf build/check
	$(BIN)/pppca run $(filter-out $(UNCHECKED),$(CONFIGS)) configs/checks/speedup.yaml \
		--results build/check --repeats $(CHECK_REPEATS) --no-tables
	$(BIN)/pppca compare --strict --repeats $(CHECK_REPEATS) --scores --results build/check --baseline results/baseline.json

# The published numbers with another seed, and the verdicts that differ from those on the recorded results.
reseed: .venv/package
	$(BIN)/pppca run $(RESEEDED) --seed $(SEED) --results build/reseed --no-tables
	$(BIN)/pppca compare --results build/reseed --against results/baseline.json

# Speed against peers. They have an environment of their own, since PyTorch is large and nothing else needs it.
bench: .venv-bench/installed
	.venv-bench/bin/python -m benchmarks $(BENCH)

.venv-bench/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/$(PIP) -c constraints.txt -e '.[bench]'
	touch $@

test: .venv/test
	$(BIN)/python -m pytest -q -m "not slow" -n auto --dist worksteal
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -m "not slow" tests/test_*_kernels.py

test-all: .venv/test .venv/docs
	$(BIN)/python -m pytest -q -n auto --dist worksteal

# The fast tests with the lowest versions that pyproject.toml admits. Old libraries may use deprecated names.
test-lowest: .venv-lowest/installed
	.venv-lowest/bin/python -m pytest -q -m "not slow" -n auto --dist worksteal -W ignore::DeprecationWarning

.venv-lowest/installed: pyproject.toml constraints-lowest.txt
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/$(PIP) -c constraints-lowest.txt -e '.[test]'
	touch $@

lint: .venv/lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The site, in build/docs, with the output of the tour's commands and of the examples.
docs: .venv/docs
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -b html docs build/docs

clean:
	rm -rf .venv .venv-bench .venv-lowest .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist *.egg-info docs/gallery
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
