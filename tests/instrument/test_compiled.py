"""Compiled kernels: their cache, families, signatures and vector operations."""

import gc
import os
import re
import shutil
from inspect import signature
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from command_line import output_of

from pppca_bench import engines
from pppca_bench.classifiers import BackpropMLPClassifier, RpropMLPClassifier, lanes
from pppca_bench.classifiers.genetic_mlp import GAMLPClassifier
from pppca_bench.compiled import cache, jit, simd
from pppca_bench.compiled.arrays import Floats2D, Samples2D, aligned_zeros
from pppca_bench.compiled.jit import kernel, signature_of, subroutine
from pppca_bench.compiled.operation import INTERPRETED
from pppca_bench.compiled.simd import load, reduce_add, store

compiles = pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")

KERNEL = """
from pppca_bench.compiled.arrays import Floats2D
from pppca_bench.compiled.example_part import twice
from pppca_bench.compiled.jit import kernel
from pppca_bench.compiled.simd import load, reduce_add

@kernel
def total(A: Floats2D) -> float:
    return reduce_add(twice(load(A, 0, 0)))
"""
PART = """
from typing import Any
from pppca_bench.compiled.jit import subroutine
from pppca_bench.compiled.simd import add

@subroutine
def twice(x: Any) -> Any:
    return add(x, x)
"""
FAMILY = """
import sys
from pppca_bench.compiled import cache
cache.FAMILIES.clear()
cache.FAMILIES["example"] = ("compiled.example:total",)
"""
CALL = f"""
{FAMILY}
print(cache.is_compiled("example"), "numba" in sys.modules)
print(cache.cache_problem() or "")
import numpy as np
from pppca_bench.compiled.example import total
print(total(np.ones((1, 8))), sum(total._cache_hits.values()))
print(cache.is_compiled("example"))
"""


class Copy:
    """A copy of the package's compiled layer with a kernel and its part, and folders of its own for their code."""

    def __init__(self, root: Path) -> None:
        self.package = root / "source" / "pppca_bench"
        self.user_cache = root / "user"
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(cache.PACKAGE / "compiled", self.package / "compiled", ignore=ignored)
        for name in ("__init__.py", "files.py"):
            shutil.copy(cache.PACKAGE / name, self.package)
        (self.package / "compiled" / "example.py").write_text(KERNEL, encoding="utf-8")
        (self.package / "compiled" / "example_part.py").write_text(PART, encoding="utf-8")
        self.settings = {
            "NUMBA_CACHE_DIR": "",
            "PYTHONPATH": str(self.package.parent),
            "PYTHONSAFEPATH": "1",
            "HOME": str(root),
            "XDG_CACHE_HOME": str(self.user_cache),
        }

    def run(self, program: str) -> list[str]:
        return output_of(program, **self.settings).splitlines()

    def call(self, total: float = 16.0, *, loads: bool, keeps: bool = True) -> str:
        """Call the kernel in a new process, which loads its code or compiles it; return the refusal of the cache."""
        before, refusal, result, after = self.run(CALL)
        assert before == f"{loads} False"
        assert result == f"{total} {int(loads)}"
        assert after == str(keeps)
        return refusal

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.package / "compiled" / name
        source = path.read_text(encoding="utf-8")
        assert source.count(old) == 1
        path.write_text(source.replace(old, new), encoding="utf-8")

    def kept(self, folder: Path | None = None) -> list[Path]:
        return sorted((folder or self.package / "__pycache__").glob("total-*"))

    def seal_off(self) -> None:
        """Put a file where the folder of the package's compiled code would be."""
        (self.package / "__pycache__").write_bytes(b"")


@pytest.fixture
def copy(tmp_path) -> Copy:
    return Copy(tmp_path)


@compiles
@pytest.mark.slow
class TestCache:
    def test_an_edit_of_an_imported_module_compiles_again_and_removes_the_old_code(self, copy):
        assert copy.call(loads=False) == ""
        first = copy.kept()
        copy.edit("example_part.py", "add(x, x)", "add(x, add(x, x))")
        copy.call(24.0, loads=False)
        second = copy.kept()
        of_sums = "for distance in (4, 2, 1):\n        total"
        copy.edit("simd.py", of_sums, of_sums.replace(", 1", ""))
        copy.call(12.0, loads=False)
        third = copy.kept()
        assert len(first) == len(second) == len(third) == 1
        assert len({*first, *second, *third}) == 3
        other = copy.package / "compiled" / "other.py"
        other.write_text("from pppca_bench.compiled import example\n")
        copy.call(12.0, loads=True)

    def test_a_package_that_cannot_be_written_uses_the_users_cache(self, copy):
        copy.seal_off()
        assert copy.call(loads=False) == ""
        copy.call(loads=True)
        (folder,) = copy.user_cache.iterdir()
        assert folder.name.startswith("pppca_bench-")
        assert len(copy.kept(folder)) == 1

    @pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
    def test_code_that_others_may_have_written_is_not_loaded(self, copy, tmp_path):
        copy.call(loads=False)
        (code,) = copy.kept()
        code.chmod(0o666)
        copy.call(loads=False)
        (copy.package / "__pycache__").chmod(0o777)
        copy.call(loads=False)
        assert copy.kept(*copy.user_cache.iterdir())
        copy.settings["NUMBA_CACHE_DIR"] = str(tmp_path / "shared")
        copy.call(loads=False)
        (folder,) = (tmp_path / "shared").iterdir()
        folder.chmod(0o775)
        reason = f"{folder}: others may write to it"
        assert f"({reason}). Set NUMBA_CACHE_DIR." in copy.call(loads=False, keeps=False)

    def test_without_a_folder_kernels_are_compiled_and_the_reason_is_given(self, copy):
        copy.seal_off()
        copy.user_cache.write_bytes(b"")
        line = copy.call(loads=False, keeps=False)
        said = "compiled kernels cannot be cached, so every process compiles them again ("
        assert line.startswith(said)
        assert line.endswith("). Set NUMBA_CACHE_DIR.")
        assert str(copy.package) in line
        assert str(copy.user_cache) in line

    def test_a_damaged_file_is_replaced(self, copy):
        copy.call(loads=False)
        (code,) = copy.kept()
        intact = code.read_bytes()
        for content in (intact[:-9], intact[::-1], b""):
            code.write_bytes(content)
            copy.call(loads=False)
        copy.call(loads=True)

    @pytest.mark.parametrize("disabled", ["0", "1"])
    def test_a_family_is_compiled_ahead_of_its_first_call_or_not_at_all(
        self, copy, disabled, tmp_path
    ):
        copy.settings |= {"NUMBA_DISABLE_JIT": disabled, "NUMBA_CACHE_DIR": str(tmp_path / "mine")}
        program = f"{FAMILY}\ncache.compile_family('example'); print(cache.is_compiled('example'))"
        assert copy.run(program) == ["True"]
        assert copy.kept() == [], "NUMBA_CACHE_DIR is the only folder"
        kept = [path for folder in (tmp_path / "mine").glob("*") for path in copy.kept(folder)]
        assert len(kept) == (disabled == "0")


def test_a_kernel_is_built_from_every_module_that_it_imports():
    sources = set(cache.sources_of("pppca_bench.classifiers.learning_rules"))
    direct, indirect = "classifiers.early_stopping", "compiled.operation"
    assert {f"pppca_bench.{name}" for name in (direct, indirect, "files")} < sources
    assert not any(name.startswith("pppca_bench.engines") for name in sources)


def test_without_a_home_folder_the_package_is_the_only_place(monkeypatch):
    monkeypatch.setattr(cache.Path, "home", Mock(side_effect=RuntimeError("no home folder")))
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert cache.folders() == [cache.PACKAGE / "__pycache__"]


class TestFamilies:
    def test_every_kernel_belongs_to_a_single_family(self):
        named = [name for kernels in cache.FAMILIES.values() for name in kernels]
        assert len(named) == len(set(named))
        marked = set()
        for path in cache.PACKAGE.rglob("*.py"):
            module = ".".join(path.relative_to(cache.PACKAGE).with_suffix("").parts)
            found = re.findall(
                r"^@kernel\ndef (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE
            )
            marked |= {f"{module}:{name}" for name in found}
        assert marked == set(named)

    @compiles
    def test_estimators_compile_nothing_but_their_families(self):
        for family in cache.FAMILIES:
            cache.compile_family(family)
            assert cache.is_compiled(family)
        X, y = np.random.default_rng(0).random((30, 4)), np.arange(30) % 2
        for estimator in (
            engines.GHA(n_epochs=2),
            engines.DGHA(n_epochs=5, min_variance_ratio=0.5),
            *(engines.NEpPCA(n_generations=2, n_jobs=n) for n in (1, 2)),
            RpropMLPClassifier((2,), max_epochs=3),
            BackpropMLPClassifier((2,), max_epochs=3),
            GAMLPClassifier((2,), max_generations=3),
        ):
            estimator.fit(X, y)
        kernels = [one for one in gc.get_objects() if isinstance(one, jit._Kernel)]
        named = {
            f"{one.__module__.removeprefix('pppca_bench.')}:{one.__name__}"
            for one in kernels
            if one.overloads
        }
        assert {name for names in cache.FAMILIES.values() for name in names} <= named
        # Tests in the same process may have compiled parts by themselves: no estimator's module calls those.
        assert all(len(one.overloads) <= 1 for one in kernels)

    @compiles
    def test_nothing_of_a_kernel_but_itself_is_visible_to_others(self, tmp_path, monkeypatch):
        # A helper that two kernels held under one name was run by both as the first of them had optimised it.
        monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
        alone = jit._Kernel(lanes.multiply_matrices.py_func)
        alone.ensure_compiled()
        (compiled,) = alone.overloads.values()
        functions = compiled.library.get_defined_functions()
        visible = [one.name for one in functions if one.linkage.name != "internal"]
        assert all("multiply_matrices" in name for name in visible)


@subroutine
def last_row(A: Samples2D, n: int) -> float:
    return reduce_add(load(A, n, 0))


@kernel
def sum_of_last_row(A: Samples2D, n: int) -> float:
    return last_row(A, n)


@compiles
class TestSignatures:
    def test_a_signature_is_that_of_the_annotations(self):
        expected = ["readonly array(float64, 2d, C)", "int64"]
        assert [str(one) for one in signature_of(sum_of_last_row.py_func)] == expected

    def test_writable_arrays_are_accepted_as_read_only_arrays(self):
        A = np.arange(16.0).reshape(2, 8)
        assert sum_of_last_row(A, 1) == last_row(A, np.int32(1)) == A[1].sum()
        assert len(sum_of_last_row.signatures) == 1

    @pytest.mark.parametrize(
        ("A", "given"),
        [
            (np.ones((8, 8), order="F"), "float64, 2d, F"),
            (np.ones((8, 8))[:, ::2], "float64, 2d, A"),
            (np.ones(8), "float64, 1d, C"),
            (np.ones((8, 8), dtype=np.float32), "float32, 2d, C"),
        ],
        ids=["columns", "strided", "vector", "float32"],
    )
    def test_other_arrays_are_refused_by_name(self, A, given):
        said = rf"A in sum_of_last_row: expected a C-contiguous readonly .*, got array\({given}\)"
        with pytest.raises(TypeError, match=said):
            sum_of_last_row(A, 0)

    def test_a_number_that_would_lose_its_fraction_is_refused(self):
        with pytest.raises(TypeError, match="n in sum_of_last_row: expected int64, got float64"):
            sum_of_last_row(np.ones((8, 8)), 0.5)


def test_arrays_for_vectors_start_at_a_cache_line():
    for shape in ((1, 8), (3, 16), (2, 5, 8), (7,)):
        zeros = aligned_zeros(*shape)
        assert zeros.shape == shape
        assert zeros.ctypes.data % 64 == 0
        assert not zeros.any()


UNARY = ["sqrt", "absolute", "exponent", "significand"]
OTHERS = ["add", "subtract", "multiply", "divide", "copysign", "fma", "fnma", "select_less"]


@compiles
@pytest.mark.parametrize("name", UNARY + OTHERS)
def test_compiled_operations_agree_with_their_twins(name):
    operation = getattr(simd, name)
    n_arguments = len(signature(operation.twin).parameters)
    call = subroutine(
        {
            1: lambda A: operation(load(A, 0, 0)),
            2: lambda A: operation(load(A, 0, 0), load(A, 1, 0)),
            3: lambda A: operation(load(A, 0, 0), load(A, 1, 0), load(A, 2, 0)),
            4: lambda A: operation(load(A, 0, 0), load(A, 1, 0), load(A, 2, 0), load(A, 3, 0)),
        }[n_arguments]
    )

    @kernel
    def run(A: Floats2D, result: Floats2D) -> None:
        store(result, 0, 0, call(A))

    A, result = np.random.default_rng(0).uniform(0.1, 9.0, (4, 8)), np.zeros((1, 8))
    run(A, result)
    np.testing.assert_allclose(result[0], operation.twin(*A[:n_arguments]), rtol=1e-14)
