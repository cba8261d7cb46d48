"""Export: data frames and files of all runs, and details of a single run."""

import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from builders import done, failed, plan_of
from command_line import printed

from pppca_bench import load_results
from pppca_bench.errors import StoreError, UnknownNameError
from pppca_bench.runs import Cell, ProblemFacts, RunSpec
from pppca_bench.store.export import find_run

NETWORK = {"hidden": (8, 4), "rule": "rprop", "shortcuts": True}
PIVOT = {"hidden": "pivot", "rule": "rprop", "shortcuts": False}
DGHA = Cell("iris", "a" * 64, "dgha", {"n_epochs": 50, "tau": 15.0}, NETWORK, (("dgha", 2),))
GHA = Cell("own/my.dt", "b" * 64, "gha", {"n_epochs": 20, "tau": None}, PIVOT, (("gha", 3),))
SPECS = [RunSpec(f"ab{repeat}", DGHA, repeat, 2**62 + repeat) for repeat in range(3)]
SPECS.append(RunSpec("cd0", GHA, 0, 7))
CODE = {"pppca": "0.1.0+abcdef123456.dirty", "python": "3.11.7"}
PROVENANCE = json.dumps(CODE | {"configs": {"one": "1", "third": "2"}})
TRACEBACK = "Traceback (most recent call last):\n  File 'x'\nValueError: too large: é\n"


@pytest.fixture
def results(store) -> Path:
    store.plan(plan_of(SPECS, "one", text="# mine\nname: one\n"))
    store.plan(plan_of(SPECS[:1], "two"))
    iris = ProblemFacts("iris", "a" * 64, "classification", "iris", 4, 3, 75, 38, 37)
    store.describe_problems([iris])
    curves = {"dimensionality": np.arange(5), "variances": np.ones((5, 4))}
    for spec in SPECS[:2]:
        values = {"test_error_percent": 2.5 + spec.repeat, "n_epochs": 17, "own_measure": 0.5}
        store.record([done(spec, curves, **values)], PROVENANCE)
    store.record([failed(SPECS[3], TRACEBACK)], PROVENANCE)
    return store.path.parent


def test_runs_are_rows_with_settings_and_numbers_in_columns_of_their_own(results):
    runs = load_results(results).set_index("key")
    expected = {
        **{"configs": "one two", "problem": "iris", "method": "dgha", "repeat": 0, "seed": 2**62},
        **{"status": "done", "data_sha256": "a" * 64, "n_epochs": 17, "method.n_epochs": 50},
        **{"version": "0.1.0", "commit": "abcdef123456.dirty"},
        **{"test_error_percent": 2.5, "own_measure": 0.5},
    }
    assert {name: runs.loc["ab0", name] for name in expected} == expected
    expected = {"ab0": "done", "ab1": "done", "cd0": "failed"}  # ab2 is only planned
    assert runs["status"].to_dict() == expected
    assert runs.loc["cd0", "error"] == TRACEBACK
    assert list(load_results(results, ["two"])["key"]) == ["ab0"]
    assert list(runs)[-3:] == ["test_error_percent", "n_epochs", "own_measure"]


def test_settings_are_numbers_or_flags_where_all_are_and_else_text_of_configs(results):
    runs = load_results(results).set_index("key")
    assert pd.isna(runs.loc["cd0", "method.tau"])
    expected = {"ab0": "[8, 4]", "ab1": "[8, 4]", "cd0": "pivot"}
    assert runs["classifier.hidden"].to_dict() == expected
    types = {"method.tau": "float64", "classifier.shortcuts": "boolean", "seed": "int64"}
    assert runs.dtypes[[*types]].astype(str).to_dict() == types


def test_a_folder_without_results_is_refused_and_not_created(tmp_path):
    with pytest.raises(StoreError, match=r"no results in .*results\.sqlite"):
        load_results(tmp_path / "none")
    assert not (tmp_path / "none").exists()


class TestExport:
    def test_csv_is_printed_and_holds_what_the_data_frame_holds(self, results):
        read = pd.read_csv(io.StringIO(printed("export", "--results", results)))
        loaded = load_results(results)
        assert list(read.columns) == list(loaded.columns)
        for name in ("seed", "test_error_percent"):
            assert read[name].equals(loaded[name])

    def test_parquet_keeps_every_value_and_type(self, results, tmp_path):
        path = tmp_path / "new" / "runs.parquet"
        expected = f"Wrote 3 runs to {path}.\n"
        assert printed("export", "--results", results, "--out", path) == expected
        pd.testing.assert_frame_equal(pd.read_parquet(path), load_results(results))

    def test_the_error_without_pyarrow_names_the_installation_command(self, results, monkeypatch):
        monkeypatch.setattr(
            "importlib.util.find_spec", lambda name: None if name == "pyarrow" else ...
        )
        said = "Error: Parquet needs pyarrow, which is not installed: `pip install pyarrow`.\n"
        assert printed("export", "--results", results, "--out", "runs.parquet", code=1) == said

    @pytest.mark.parametrize(("name", "start"), [("a.PARQUET", b"PAR1"), ("a.csv", b"key,")])
    def test_the_suffix_decides_the_format(self, results, tmp_path, name, start):
        printed("export", "--results", results, "--out", tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)

    def test_a_format_decides_for_another_suffix(self, results, tmp_path):
        path = tmp_path / "a.xlsx"
        printed("export", "--results", results, "--out", path, "--format", "csv")
        assert path.read_bytes().startswith(b"key,")


class TestShow:
    def test_all_facts_of_a_run_are_printed_as_yaml(self, results):
        shown = yaml.safe_load(printed("show", "ab1", "--results", results))
        assert shown.pop("problem")["n_features"] == 4
        assert shown.pop("finished_at").endswith("Z")
        assert shown == {
            **{"key": "ab1", "status": "done", "configs": ["one"], "method": "dgha"},
            **{"parameters": {"n_epochs": 50, "tau": 15.0}, "choose": {}, "predictions": False},
            "choice": {},
            **{"classifier": {"hidden": [8, 4], "rule": "rprop", "shortcuts": True}},
            **{"algorithm_versions": {"dgha": 2}, "repeat": 1, "seed": 2**62 + 1},
            **{"values": {"test_error_percent": 3.5, "n_epochs": 17, "own_measure": 0.5}},
            **{"histories": {"dimensionality": "5", "variances": "5 × 4"}},
            **{"provenance": CODE | {"configs": {"one": "1"}}},
        }

    def test_a_failed_run_is_shown_with_its_traceback_line_by_line(self, results):
        shown = printed("show", "cd", "--results", results)
        assert "\n  ValueError: too large: é\n" in shown
        assert yaml.safe_load(shown)["error"] == TRACEBACK
        expected = {"name": "own/my.dt", "data_sha256": "b" * 64}
        assert yaml.safe_load(shown)["problem"] == expected

    def test_an_unplanned_run_is_shown(self, results, store):
        store.plan(plan_of(SPECS[:1], "one"))
        shown = yaml.safe_load(printed("show", "ab2", "--results", results))
        assert (shown["configs"], shown["status"], shown["values"]) == ([], "planned", {})

    @pytest.mark.parametrize(
        ("text", "key"),
        [("ab1", "ab1"), ("c", "cd0"), ("one/iris/dgha/2", "ab2"), ("one/own/my.dt/gha/0", "cd0")],
    )
    @pytest.mark.usefixtures("results")
    def test_a_run_is_named_by_its_key_a_prefix_or_what_it_is_of(self, store, text, key):
        assert find_run(store, text) == key

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("a", r"^3 runs match 'a' in .*, such as ab0 \(problem=iris,method=dgha\); ab1 .*\.$"),
            (
                "x",
                r"^no run 'x' in .*, or CONFIG/PROBLEM/METHOD/REPEAT\. `pppca list` lists .* their keys\.$",
            ),
            ("one/iris/dgha/x", r"^no run 'one/iris/dgha/x'"),
            ("%", r"^no run '%'"),
        ],
    )
    @pytest.mark.usefixtures("results")
    def test_a_name_of_no_run_or_of_several_is_refused(self, store, text, message):
        with pytest.raises(UnknownNameError, match=message):
            find_run(store, text)

    def test_an_ambiguous_name_lists_the_settings_that_distinguish_its_runs(self, store):
        cells = [replace(DGHA, parameters={"n_epochs": 50, "tau": tau}) for tau in (5.0, 10.5)]
        store.plan(plan_of([RunSpec(f"k{n}", cell, 0, 1) for n, cell in enumerate(cells)], "one"))
        said = r"such as k0 \(.*,tau=5\); k1 \(.*,tau=10\.5\)\.$"
        with pytest.raises(UnknownNameError, match=said):
            find_run(store, "one/iris/dgha/0")


def test_the_text_of_a_config_is_printed_unchanged(results):
    assert printed("list", "--text", "one", "--results", results) == "# mine\nname: one\n"
    said = (
        "Error: no config 'on' in these results: expected one of one, two (did you mean 'one'?).\n"
    )
    assert printed("list", "--text", "on", "--results", results, code=2) == said
