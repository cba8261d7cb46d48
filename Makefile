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
# Configs that take long and have no recorded cell.
UNCHECKED := $(patsubst %,configs/%.yaml,as_written as_written_speedup proben1_printed proben1_search ga_readings \
	rfe_readings streaming streaming_curves keep_rules ne_ppca_selection)
# What the tests of the instrument need, and where they find it.
INSTRUMENT := CITATION.cff LICENSE README.md benchmarks configs constraints.txt constraints-lowest.txt data docs \
	pppca_bench pyproject.toml setup.py tests
COPY := build/instrument
# Configs that fill T1 to T7 and the tables of the Proben1 report.
RESEEDED := $(patsubst %,configs/%.yaml,ne_ppca_by_tau dgha_partial_data feature_selection systems baselines \
	speedup proben1_linear proben1_mushroom proben1_pivot proben1_no_shortcuts)

# Where it is set, as in many containers, each start would compile all libraries again: bytecode is written on first use.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo tables experiment check-published reseed bench test test-instrument test-all test-lowest lint docs clean

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
	$(BIN)/pppca render --results $(RESULTS) --findings docs/findings.md \
		--verdicts docs/verdicts.md --readme README.md
	$(BIN)/pppca report --results $(RESULTS)

# The registered experiments, apart from the other results, and the methods of today (S1, S2, K1, F9), which `tables`
# renders.
experiment: .venv/package
	$(BIN)/pppca run $(TODAY) --results $(RESULTS) --no-tables
	$(call registered,experiment2,E2)
	$(call registered,experiment3,E3)

# Run the registered experiment $(1), and render its tables and its figure, whose identifiers begin with $(2).
define registered
$(BIN)/pppca run configs/$(1).yaml configs/$(1)_large.yaml --results $(RESULTS)/$(1) --no-tables
for form in markdown csv; do \
	$(BIN)/pppca tables --results $(RESULTS)/$(1) --format $$form --out $(RESULTS)/$(1)/tables \
		--table $(2) --table $(2)_losses --table $(2)_tests --table $(2)_margins --table $(2)_matrix || exit 1; \
done
$(BIN)/pppca figures $(2)_matrix --results $(RESULTS)/$(1)
endef

# The regression against the recorded results: all configs at few repeats, compared with the same repeats of the full run.
check-published: .venv/package
	rm -rf build/check
	$(BIN)/pppca run $(filter-out $(UNCHECKED),$(CONFIGS)) --results build/check --repeats $(CHECK_REPEATS) --no-tables
	$(BIN)/pppca compare --strict --repeats $(CHECK_REPEATS) --scores --results build/check --against results/recorded.csv.xz

# The published numbers with another seed, the verdicts that differ from those on the recorded results, with the totals of
# both, and the duration. Speed-ups are counts of operations, which follow from the seed.
reseed: .venv/package
	@start=$$(date +%s); \
	$(BIN)/pppca run $(RESEEDED) --seed $(SEED) --results build/reseed --no-tables && \
	$(BIN)/pppca compare --results build/reseed --against results/recorded.csv.xz && \
	$(BIN)/pppca compare --results build/reseed --record > /dev/null && \
	cp build/reseed/recorded.csv.xz results/reseed.csv.xz && \
	echo "Duration: $$(( ($$(date +%s) - start) / 60 )) minutes."

# Speed against peers. They have an environment of their own, since PyTorch is large and nothing else needs it.
bench: .venv-bench/installed
	.venv-bench/bin/python -m benchmarks $(BENCH)

.venv-bench/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/$(PIP) -c constraints.txt -e '.[bench]'
	touch $@

test: test-instrument
	$(BIN)/python -m pytest -q -m "not slow" -n auto --dist worksteal tests/paper
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -m "not slow" tests/instrument/test_*_kernels.py

# The fast tests of the instrument, in a copy that has neither pppca_bench/paper nor its entry points. The copy shares the
# compiled kernels.
test-instrument: .venv/test
	rm -rf $(COPY)
	mkdir -p $(COPY) pppca_bench/__pycache__
	cp -Rp $(INSTRUMENT) $(COPY)
	rm -rf $(COPY)/pppca_bench/paper $(COPY)/pppca_bench/__pycache__ $(COPY)/tests/paper
	ln -s $(CURDIR)/pppca_bench/__pycache__ $(COPY)/pppca_bench
	sed '/^\[project.entry-points/,/^$$/d' pyproject.toml > $(COPY)/pyproject.toml
	cd $(COPY) && $(abspath $(BIN))/python setup.py --quiet egg_info
	cd $(COPY) && PYTHONPATH=$(CURDIR)/$(COPY) $(abspath $(BIN))/python -m pytest -q -m "not slow" -n auto \
		--dist worksteal tests/instrument

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
	@echo "Building the site in build/docs, which takes about three minutes"
	$(BIN)/python -m sphinx --fail-on-warning --keep-going -b html docs build/docs

clean:
	rm -rf .venv .venv-bench .venv-lowest .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist *.egg-info docs/gallery
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
