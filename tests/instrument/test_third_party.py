"""Third-party code that misbehaves is contained: it gets copies, and what it returns is checked."""

import os
import platform
import re
import sys
import warnings
from dataclasses import replace
from json import JSONDecoder
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import pppca_process, printed
from third_party import CULPRITS, run_own, write_own

from pppca_bench import load_results
from pppca_bench.errors import ConfigError
from pppca_bench.experiments import runner, worker
from pppca_bench.experiments.cell import contained
from pppca_bench.experiments.executors import Workers
from pppca_bench.experiments.request import read_request
from pppca_bench.methods.lookup import find_method
from pppca_bench.methods.third_party import version_of
from pppca_bench.runs import Cell, RunSpec, cause_of, failed_result
from pppca_bench.store import RESULTS
from pppca_bench.store.columns import pack, unpack
from pppca_bench.store.database import Store


def runs_of(module: str, *methods: str, results: str = RESULTS, code: int = 0) -> pd.DataFrame:
    """Run methods on iris; return the runs, with the classes' names as methods."""
    named = [
        "{method: pca, tau: 10}" if method == "pca" else f'"{module}:{method}"'
        for method in methods
    ]
    run_own(*named, results=results, code=code)
    return loaded(results)


def loaded(results: str = RESULTS) -> pd.DataFrame:
    runs = load_results(results).sort_values("repeat")
    return runs.assign(method=runs["method"].str.rpartition(":")[2])


def errors(runs: pd.DataFrame) -> dict[str, list[float]]:
    """Return the test errors of the repeats by method."""
    return {name: list(own) for name, own in runs.groupby("method")["test_error_percent"]}


def test_a_method_gets_copies_and_its_features_are_copied(module):
    alone = errors(runs_of(module, "pca", "Halves", results="alone"))
    beside = errors(runs_of(module, "Negates", "Buffer", "Halves", "pca", results="beside"))
    assert beside["pca"] == alone["pca"], "the problem is as it was"
    assert beside["Negates"] == beside["Buffer"] == beside["Halves"] == alone["Halves"]


def test_all_scores_of_a_split_come_from_one_prediction(module):
    write_own(f'"{module}:Guess"', more="predictions: true\n")
    printed("run", "own.yaml", "--workers", "0", "--quiet", "--no-tables")
    runs = loaded()
    assert list(runs["accuracy_percent"]) == pytest.approx(list(100.0 - runs["test_error_percent"]))
    assert runs["test_error_percent"].nunique() == 2, "the repeats have seeds of their own"


def test_global_generators_are_seeded_by_the_run(module):
    first = errors(runs_of(module, "Global", "Guess", results="first"))
    np.random.seed(3)
    assert errors(runs_of(module, "Guess", "Global", results="second")) == first


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["processes", "dask"])
def test_workers_give_the_same_numbers(module, executor):
    here = errors(runs_of(module, "Negates", "Buffer", "Global", "Guess", "pca", results="here"))
    # In a process of its own: the workers inherit what this one has imported.
    done = pppca_process(
        "run", "own.yaml", "--workers", 2, "--executor", executor, "--results", "there", "--quiet"
    )
    assert done.returncode == 0, done.stderr
    assert errors(loaded("there")) == here


def test_what_cannot_be_recorded_is_a_failed_run_and_the_others_go_on(module):
    runs = runs_of(module, *CULPRITS, "Halves", code=1)
    assert np.isfinite(errors(runs)["Halves"]).all()
    causes = dict(zip(runs["method"], runs["error"], strict=True))
    for culprit, (_, cause) in CULPRITS.items():
        assert cause in causes[culprit]


def test_the_version_depends_on_all_modules_of_the_folder_that_are_imported(module):
    before = find_method(f"{module}:Later").version
    later = sys.modules[module].Later
    Path("unrelated.py").write_text("")
    assert version_of(later) == before
    for name in ("helper", "lazy"):
        file = Path(f"{module}_{name}.py")
        text = file.read_text()
        file.write_text(f"{text}# changed\n")
        with pytest.raises(ConfigError, match=rf"expected the code {before}, which this process"):
            version_of(later)
        file.write_text(text)


def test_an_edited_file_is_refused_in_a_process_that_has_imported_it(module):
    path = write_own(f'"{module}:Halves"')
    read_request([path])
    with Path(f"{module}_helper.py").open("a") as helper:
        helper.write("# edited\n")
    with pytest.raises(ConfigError, match=r"the file was edited\. Start Python, such as a noteb"):
        read_request([path])


def test_the_version_of_a_class_of_python_is_pythons():
    assert version_of(JSONDecoder) == platform.python_version()


@pytest.mark.parametrize("name", ["json", "calendar"])
def test_a_module_that_another_module_shadows_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path(f"{name}.py").write_text("class Own:\n    pass\n")
    write_own(f'"{name}:Own"')
    said = printed("run", "own.yaml", "--dry-run", code=2)
    assert re.search(rf"expected the module \S+{name}\.py, got \S+, which comes first\. Ren", said)


def test_a_process_that_has_loaded_other_code_than_was_planned_fails_the_runs(module, monkeypatch):
    monkeypatch.setattr(worker, "algorithms_of", lambda *_: ((f"{module}:Halves", "0" * 12),) * 2)
    runs = runs_of(module, "Halves", code=1)
    assert (
        runs["error"].str.contains("which this process has loaded. Start the workers again.").all()
    )


def test_damaged_curves_are_read_as_they_were_or_refused():
    rng = np.random.default_rng(0)
    curves = {"variances": rng.uniform(size=(20, 3)), "errors": np.linspace(1, 0, 50)}
    blob, n_refused = pack(curves), 0
    for bit in rng.choice(8 * len(blob), size=1_500, replace=False):
        damaged = bytearray(blob)
        damaged[bit // 8] ^= 1 << bit % 8
        try:
            found = unpack(bytes(damaged))
        except ValueError:
            n_refused += 1
        else:
            for name in found.keys() & curves:
                np.testing.assert_array_equal(found[name], curves[name].astype(np.float32))
    assert n_refused > 1_000


SPEC = RunSpec("k", Cell("iris", "a", "gha", {}, {}), 0, 1)


def test_a_stored_error_names_no_folder():
    text = """File "{0}/mine.py", line 4\nOSError: {1}/x.csv: 'https://a.org/b/c', 1/2"""
    error = failed_result(SPEC, text.format("/home/ann smith/own", "/home/ann")).error
    assert error == text.format("…", "…")


def test_a_huge_error_is_cut_where_it_is_stored():
    huge = 'Traceback:\n  File "a.py", line 1, in fit\nValueError: ' + "é" * 1_000_000
    error = failed_result(SPEC, huge).error
    assert len(error.encode()) <= 10_100
    assert cause_of(error).startswith("ValueError: éé")
    assert "bytes more" in error
    assert failed_result(SPEC, "x" * 10_000).error == "x" * 10_000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_a_child_process_that_leaves_third_party_code_ends():
    spec = replace(SPEC, cell=replace(SPEC.cell, algorithms=(("m:C", "1"),)))
    with contained(spec, 0), warnings.catch_warnings(action="ignore"):  # a fork beside threads
        if (child := os.fork()) == 0:
            sys.exit()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


@pytest.mark.slow
@pytest.mark.skipif(
    not sys.platform.startswith("linux"),
    reason="other systems do not list the processes that are left",
)
@pytest.mark.parametrize(
    "options", [("--workers", 0), ("--workers", 1), ("--workers", 1, "--executor", "dask")]
)
def test_a_thread_and_a_process_that_a_method_leaves_do_not_hold_the_command(module, options):
    write_own(f'"{module}:Leaves"')
    done = pppca_process("run", "own.yaml", "--no-tables", *options)
    assert done.returncode == 0
    assert done.stderr.endswith("2 runs done, 0 were already stored.\n")


def test_the_code_of_a_main_module_is_refused():
    said = r"got a class of a script or notebook\. Move it into a module"
    with pytest.raises(ConfigError, match=said):
        version_of(type("M", (), {"__module__": "__main__"}))


@pytest.mark.parametrize(("share_s", "expected"), [(0, [0, 1, 2, 3, 4]), (1e9, [0, 4])])
def test_slow_runs_of_third_party_code_are_saved_one_by_one_and_short_runs_together(
    module, monkeypatch, share_s, expected
):
    monkeypatch.setattr(worker, "SHARE_S", share_s)
    write_own(f'"{module}:Halves"')
    request, finished = read_request([Path("own.yaml")], repeats=4), []

    def progress(n_finished, _):
        finished.append(n_finished)

    with Store(Path("results.sqlite")) as store:
        given = (request.specs, store, request.problems, Workers(0))
        runner.run(*given, plans=request.plans, progress=progress)
    assert finished == expected
