"""Architecture: allowed imports, modules that print or draw, imports at start-up, and public names."""

import ast
import re
import sys
import time
import tomllib
from collections.abc import Iterable
from functools import cache
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from command_line import output_of

import pppca_bench
from pppca_bench.methods.registry import CLASSIFIERS, METHODS

PACKAGE = Path(__file__).parents[1] / "pppca_bench"

# Subpackages and the other parts that each may import. Data flow downwards.
MAY_IMPORT = {
    "compiled": "files",
    "problems": "errors files",
    "store": "errors runs quantities",
    "base": "compiled",
    "yaml_files": "errors base",
    "references": "errors runs quantities yaml_files",
    "engines": "base compiled",
    "classifiers": "base compiled",
    "reducers": "base compiled classifiers",
    "methods": "errors base",
    "config": "errors runs quantities base yaml_files problems references methods",
    "experiments": "errors files runs quantities version compiled base problems store references engines"
    " classifiers reducers methods yaml_files config",
    "results": "runs quantities store references methods",
    "verdicts": "errors files runs quantities store references methods results",
    "pages": "errors files runs quantities version store references methods results verdicts",
    "paper": "runs quantities yaml_files store references methods results verdicts pages",
    "notebook": "errors store references experiments results verdicts pages yaml_files",
    "cli": "errors files runs quantities version yaml_files problems store references methods config experiments"
    " results verdicts pages",
}
LEAVES = ("errors", "files", "runs", "version", "quantities")
ALONE = ("engines", "reducers", "classifiers")
SCIENCE = (*ALONE, "problems", "experiments")
AFTER_THE_STORE = ("results", "verdicts", "pages", "paper", "cli")


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@cache
def imports(path: Path) -> frozenset[str]:
    """Return the absolute dotted names of all imports of a module, inside functions too."""
    package = ["pppca_bench", *path.relative_to(PACKAGE).parent.parts]
    names: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            names.update(
                ".".join([*base, *filter(None, [node.module]), alias.name]) for alias in node.names
            )
    return frozenset(names)


def own_parts(path: Path) -> set[str]:
    """Return the other parts of the package that a module imports."""
    names = [name.split(".") for name in imports(path) if name.startswith("pppca_bench")]
    return {name[1] for name in names if len(name) > 1} - {part_of(path), "__version__"}


def third_party(path: Path) -> set[str]:
    """Return the third-party and standard packages that a module imports."""
    return {name.split(".")[0] for name in imports(path)} - {"pppca_bench", "__future__"}


@cache
def calls(path: Path) -> frozenset[str]:
    """Return the dotted names of the functions that a module calls."""
    return frozenset(
        ast.unparse(node.func) for node in ast.walk(tree(path)) if isinstance(node, ast.Call)
    )


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def for_each(paths: Iterable[Path]) -> pytest.MarkDecorator:
    """Return the mark of a test of each module."""
    return pytest.mark.parametrize("path", list(paths), ids=name_of)


def may_import(part: str) -> set[str]:
    """Return the other parts that a subpackage or a top-level module may import."""
    return set({**MAY_IMPORT, **dict.fromkeys(LEAVES, ""), "__main__": "cli"}[part].split())


def reachable(part: str) -> set[str]:
    """Return the parts that a part may import, and that these may import."""
    return may_import(part).union(*map(reachable, may_import(part)))


def test_the_allowed_imports_have_one_direction_from_computation_to_reports():
    graph = {part: may_import(part) for part in MAY_IMPORT}
    assert set(TopologicalSorter(graph).static_order()) == {*MAY_IMPORT, *LEAVES}
    assert reachable("paper").isdisjoint(SCIENCE)
    assert {"engines", "errors", "compiled"} <= reachable("cli")
    assert {"cli", "paper"}.isdisjoint(set().union(*graph.values())), "entry points load the paper"


@pytest.mark.parametrize("part", MAY_IMPORT)
def test_the_modules_of_a_part_import_each_other_in_one_direction(part):
    paths = [path for path in modules() if part_of(path) == part]
    names = {f"pppca_bench.{name_of(path)[:-3].replace('/', '.')}": path for path in paths}
    graph = {}
    for module, path in names.items():
        used = {name for each in imports(path) for name in (each, each.rpartition(".")[0])}
        graph[module] = used & names.keys() - {module}
    assert set(TopologicalSorter(graph).static_order()) == names.keys()


def test_every_part_of_the_package_is_listed():
    assert {part_of(path) for path in modules()} == {*MAY_IMPORT, *LEAVES, "__main__"}


@for_each(modules())
def test_each_part_has_only_allowed_imports(path):
    assert own_parts(path) <= may_import(part_of(path))


@for_each(path for path in modules() if part_of(path) != "paper")
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


@for_each(path for path in modules() if part_of(path) != "cli")
def test_only_the_command_line_prints_and_exits(path):
    assert {"print", "input", "exit", "quit", "sys.exit"}.isdisjoint(calls(path))
    assert third_party(path).isdisjoint({"click", "tqdm", "rich"})
    names = {ast.unparse(node) for node in ast.walk(tree(path)) if isinstance(node, ast.Attribute)}
    assert {"sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__"}.isdisjoint(names)


def test_times_are_of_a_clock_that_stands_still_while_the_machine_is_suspended():
    used = {name for path in modules() for name in calls(path) if name.startswith("time.")}
    assert used <= {"time.perf_counter", "time.sleep"}
    if sys.platform == "linux":
        expected = "clock_gettime(CLOCK_MONOTONIC)"
        assert time.get_clock_info("perf_counter").implementation == expected


def test_matplotlib_is_imported_by_drawing_modules_alone():
    drawing = [name_of(path) for path in modules() if "matplotlib" in third_party(path)]
    assert drawing == ["pages/figure_drawing.py"]
    assert "matplotlib.pyplot" not in imports(PACKAGE / drawing[0])


@for_each(modules())
def test_no_module_executes_stored_data(path):
    # Tables of a caller go to workers as pickles in a private temporary folder of the process, which deletes it.
    forbidden_modules = {"pickle", "marshal", "shelve", "dill", "cloudpickle"}
    if name_of(path) in ("config/given.py", "problems/read_table.py"):
        forbidden_modules.remove("pickle")
    assert third_party(path).isdisjoint(forbidden_modules)
    assert {name for name in imports(path) if name.startswith("joblib")} <= {"joblib.cpu_count"}
    forbidden = "eval exec compile yaml.load yaml.unsafe_load yaml.full_load __import__"
    assert set(forbidden.split()).isdisjoint(calls(path))
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            assert ast.unparse(node.value) == "False"


@for_each(path for path in modules() if name_of(path) != "methods/registry.py")
def test_methods_and_classifiers_are_named_in_the_registry_alone(path):
    nodes = [node for node in ast.walk(tree(path)) if isinstance(node, ast.Constant)]
    texts = {node.value for node in nodes if isinstance(node.value, str)}
    assert texts.isdisjoint(METHODS.keys() | CLASSIFIERS.keys())
    if part_of(path) not in ALONE:  # whose classes have such names
        assert texts.isdisjoint(entry.title for entry in (*METHODS.values(), *CLASSIFIERS.values()))


TAKEN_APART = "split rsplit partition rpartition removeprefix removesuffix strip group groups"


@for_each(path for path in modules() if part_of(path) in AFTER_THE_STORE)
def test_no_label_is_parsed_back_into_numbers(path):
    """Values travel as values: after the store no number is read from a text."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("float", "int"):
            assert set(TAKEN_APART.split()).isdisjoint(
                part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)
            )


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
    lines = [*project["dependencies"], *extras["dask"], *extras["tables"]]
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
