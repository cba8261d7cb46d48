"""The modules of the package, what they import and call, and the rules that they keep."""

import ast
from collections.abc import Iterable
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

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


def imports_in_one_direction(part: str) -> None:
    """Fail if modules of a part import each other in a circle."""
    paths = [path for path in modules() if part_of(path) == part]
    names = {f"pppca_bench.{name_of(path)[:-3].replace('/', '.')}": path for path in paths}
    graph = {}
    for module, path in names.items():
        used = {name for each in imports(path) for name in (each, each.rpartition(".")[0])}
        graph[module] = used & names.keys() - {module}
    assert set(TopologicalSorter(graph).static_order()) == names.keys()


def imports_what_it_may(path: Path) -> None:
    """Fail if a module imports another part than those that its part may import."""
    assert own_parts(path) <= may_import(part_of(path))


def neither_prints_nor_exits(path: Path) -> None:
    """Fail if a module does what only the command line does."""
    assert {"print", "input", "exit", "quit", "sys.exit"}.isdisjoint(calls(path))
    assert third_party(path).isdisjoint({"click", "tqdm", "rich"})
    names = {ast.unparse(node) for node in ast.walk(tree(path)) if isinstance(node, ast.Attribute)}
    assert {"sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__"}.isdisjoint(names)


def executes_no_stored_data(path: Path) -> None:
    """Fail if a module evaluates text or reads pickles.

    Tables of a caller go to workers as pickles in a private temporary folder of the process, which deletes it.
    """
    forbidden_modules = {"pickle", "marshal", "shelve", "dill", "cloudpickle"}
    if name_of(path) in ("config/given.py", "problems/read_files.py"):
        forbidden_modules.remove("pickle")
    assert third_party(path).isdisjoint(forbidden_modules)
    assert {name for name in imports(path) if name.startswith("joblib")} <= {"joblib.cpu_count"}
    forbidden = "eval exec compile yaml.load yaml.unsafe_load yaml.full_load __import__"
    assert set(forbidden.split()).isdisjoint(calls(path))
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            assert ast.unparse(node.value) == "False"


def names_no_method(path: Path) -> None:
    """Fail if a module names a method or classifier of the registry."""
    nodes = [node for node in ast.walk(tree(path)) if isinstance(node, ast.Constant)]
    texts = {node.value for node in nodes if isinstance(node.value, str)}
    assert texts.isdisjoint(METHODS.keys() | CLASSIFIERS.keys())
    if part_of(path) not in ALONE:  # whose classes have such names
        assert texts.isdisjoint(entry.title for entry in (*METHODS.values(), *CLASSIFIERS.values()))


TAKEN_APART = "split rsplit partition rpartition removeprefix removesuffix strip group groups"


def reads_no_number_from_a_label(path: Path) -> None:
    """Fail if a module parses a text into a number: after the store, values travel as values."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("float", "int"):
            assert set(TAKEN_APART.split()).isdisjoint(
                part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)
            )
