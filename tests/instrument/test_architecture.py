"""Architecture: allowed imports, modules that print or draw, imports at start-up, and public names."""

import re
import sys
import time
import tomllib
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from architecture import (
    AFTER_THE_STORE,
    ALONE,
    LEAVES,
    MAY_IMPORT,
    PACKAGE,
    SCIENCE,
    calls,
    executes_no_stored_data,
    for_each,
    imports,
    imports_in_one_direction,
    imports_what_it_may,
    may_import,
    modules,
    name_of,
    names_no_method,
    neither_prints_nor_exits,
    own_parts,
    part_of,
    reachable,
    reads_no_number_from_a_label,
    third_party,
)
from command_line import output_of

import pppca_bench

INSTRUMENT = [path for path in modules() if part_of(path) != "paper"]


def test_the_allowed_imports_have_one_direction_from_computation_to_reports():
    graph = {part: may_import(part) for part in MAY_IMPORT}
    assert set(TopologicalSorter(graph).static_order()) == {*MAY_IMPORT, *LEAVES}
    assert reachable("paper").isdisjoint(SCIENCE)
    assert {"engines", "errors", "compiled"} <= reachable("cli")
    assert {"cli", "paper"}.isdisjoint(set().union(*graph.values())), "entry points load the paper"


def test_every_part_of_the_package_is_listed():
    parts = {part_of(path) for path in modules()}
    assert parts | {"paper"} == {*MAY_IMPORT, *LEAVES, "__main__"}


@pytest.mark.parametrize("part", [part for part in MAY_IMPORT if part != "paper"])
def test_the_modules_of_a_part_import_each_other_in_one_direction(part):
    imports_in_one_direction(part)


@for_each(INSTRUMENT)
def test_each_part_has_only_allowed_imports(path):
    imports_what_it_may(path)


@for_each(INSTRUMENT)
def test_the_paper_is_named_by_entry_points_alone(path):
    assert "pppca_bench.paper" not in path.read_text(encoding="utf-8")


@for_each(path for path in modules() if part_of(path) in ALONE)
def test_estimators_have_no_configs_files_stores_or_logging(path):
    allowed = "abc collections concurrent contextlib copy dataclasses functools itertools math numbers os time types"
    allowed += " typing warnings numpy numba llvmlite scipy sklearn annotated_types"
    assert third_party(path) <= set(allowed.split())
    assert {"open", "input", "print"}.isdisjoint(calls(path))


def is_kernel(path: Path) -> bool:
    return any(name.startswith("pppca_bench.compiled.jit") for name in imports(path))


def test_kernels_are_recognised():
    kernels = "engines/gha_literal.py engines/evolution.py classifiers/learning_rules.py"
    assert set(kernels.split()) <= set(map(name_of, filter(is_kernel, modules())))


@for_each(filter(is_kernel, modules()))
def test_kernels_import_numpy_numba_and_other_kernels_alone(path):
    allowed = "numpy numba llvmlite contextlib itertools math typing collections"
    assert third_party(path) <= set(allowed.split())
    assert own_parts(path) <= {"compiled"}


# It keeps what third-party code prints away from standard output.
REDIRECTS = "methods/third_party.py"


@for_each(path for path in INSTRUMENT if part_of(path) != "cli" and name_of(path) != REDIRECTS)
def test_only_the_command_line_prints_and_exits(path):
    neither_prints_nor_exits(path)


@for_each(INSTRUMENT)
def test_no_module_executes_stored_data(path):
    executes_no_stored_data(path)


@for_each(path for path in INSTRUMENT if name_of(path) != "methods/registry.py")
def test_methods_and_classifiers_are_named_in_the_registry_alone(path):
    names_no_method(path)


@for_each(path for path in INSTRUMENT if part_of(path) in AFTER_THE_STORE)
def test_no_label_is_parsed_back_into_numbers(path):
    reads_no_number_from_a_label(path)


def test_times_are_of_a_clock_that_stands_still_while_the_machine_is_suspended():
    used = {name for path in modules() for name in calls(path) if name.startswith("time.")}
    assert used <= {"time.perf_counter", "time.sleep"}
    if sys.platform == "linux":
        expected = "clock_gettime(CLOCK_MONOTONIC)"
        assert time.get_clock_info("perf_counter").implementation == expected


def test_matplotlib_is_imported_by_drawing_modules_alone():
    drawing = [name_of(path) for path in modules() if "matplotlib" in third_party(path)]
    assert drawing == ["pages/figure_drawing.py", "pages/means_drawing.py", "pages/own_figures.py"]
    assert "matplotlib.pyplot" not in imports(PACKAGE / drawing[0])


HEAVY = "numpy numba scipy pandas matplotlib sklearn pydantic pooch tqdm yaml sqlite3"
LOADED = f"print(*sorted({{name.split('.')[0] for name in sys.modules}} & set('{HEAVY}'.split())))"


@pytest.mark.parametrize(
    ("program", "loaded"),
    [
        ("import pppca_bench.cli.main, pppca_bench.runs, pppca_bench.methods.registry", ""),
        ("import pppca_bench.problems; pppca_bench.problems.known_problems()", "numpy yaml"),
    ],
)
def test_light_modules_import_no_heavy_package_and_the_list_of_problems_two(program, loaded):
    assert output_of(f"import sys; {program}; {LOADED}") == f"{loaded}\n"


def test_the_help_imports_no_heavy_package():
    call = "sys.argv = ['pppca', 'run', '--help']\ntry:\n main()\nexcept SystemExit:\n "
    shown = output_of(f"import sys\nfrom pppca_bench.cli.main import main\n{call}{LOADED}")
    assert shown.startswith("Usage: pppca run")
    assert shown.splitlines()[-1] == ""


def test_the_dependencies_are_the_imported_packages():
    text = (PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *extras["dask"], *extras["bundle"]]
    stated = {re.split(r"[<>=]", line)[0].replace("-", "_") for line in lines}
    owners = packages_distributions()
    of_others = {"llvmlite", "pydantic_core"}  # of numba and pydantic
    imported = set().union(*map(third_party, modules())) - sys.stdlib_module_names - of_others
    assert {owners[name][0].lower().replace("-", "_") for name in imported} == stated


@pytest.mark.parametrize("name", pppca_bench.__all__)
def test_each_public_name_exists_and_is_documented(name):
    assert getattr(pppca_bench, name).__doc__
    assert name in dir(pppca_bench)


def test_an_unknown_name_raises_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'NoSuchThing'"):
        _ = pppca_bench.NoSuchThing
