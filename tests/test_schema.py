"""JSON schema of configs and studies: valid and invalid documents."""

import json
from pathlib import Path

import pytest
import yaml
from command_line import pppca
from jsonschema import Draft202012Validator

from pppca_bench.config.experiment import parse_config
from pppca_bench.documents import read_yaml
from pppca_bench.errors import ConfigError
from pppca_bench.methods.protocol import section_of
from pppca_bench.methods.registry import CLASSIFIERS, METHODS
from pppca_bench.parameters import REQUIRED

CONFIGS, DOCS = (Path(__file__).parents[1] / name for name in ("configs", "docs"))
BASE = {
    "name": "small",
    "problems": ["iris", "own.dt"],
    "repeats": 2,
    "seed": 1,
    "tau": [5, 10],
    "methods": [{"method": "dgha", "data_fraction": [100, 10]}],
    "classifier": {"hidden": [8]},
}


def validator(*options: str) -> Draft202012Validator:
    """Return a validator by the schema that the command prints."""
    printed = pppca("schema", *options)
    schema = json.loads(printed.output, parse_constant=pytest.fail)  # JSON has no infinity
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@pytest.fixture(scope="module")
def experiment() -> Draft202012Validator:
    return validator()


@pytest.fixture(scope="module")
def study() -> Draft202012Validator:
    return validator("--study")


def admits(path: Path, document: object) -> bool:
    path.write_text(yaml.safe_dump(document))
    try:
        parse_config(read_yaml(path))
    except ConfigError:
        return False
    return True


@pytest.mark.parametrize(
    "path",
    sorted(
        [
            *CONFIGS.glob("*.yaml"),
            *CONFIGS.glob("checks/*.yaml"),
            *DOCS.glob("examples/*.yaml"),
            *DOCS.glob("examples/own_data/*.yaml"),
        ]
    ),
    ids=lambda path: path.stem,
)
def test_the_shipped_experiments_are_valid(experiment, path):
    assert [error.message for error in experiment.iter_errors(read_yaml(path).value)] == []


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("studies/*.yaml")), ids=lambda path: path.stem)
def test_the_shipped_studies_are_valid(study, path):
    assert [error.message for error in study.iter_errors(read_yaml(path).value)] == []


@pytest.mark.parametrize("entry", [*METHODS.values(), *CLASSIFIERS.values()], ids=lambda entry: entry.name)
def test_the_defaults_of_every_entry_are_valid(experiment, entry):
    defaults = {key: one.default for key, one in section_of(entry).items() if one.default is not REQUIRED}
    given = json.loads(json.dumps({key: value for key, value in defaults.items() if key != "tau"}))
    key, place = ("method", "methods") if entry.name in METHODS else ("rule", "classifier")
    section = {key: entry.name, **given}
    document = {**BASE, place: [section] if place == "methods" else section}
    missing = [key for key, one in section_of(entry).items() if one.default is REQUIRED and key != "tau"]
    errors = [error.message for error in experiment.iter_errors(document)]
    assert errors == [f"{key!r} is a required property" for key in missing]


@pytest.mark.parametrize(
    "changes",
    [
        {"tau": 5},
        {"tau": None, "methods": [{"method": "gha"}]},
        {"methods": [{"method": "ne_ppca", "tau": 3, "repeats": 1, "portrait": True}]},
        {"methods": [{"method": "pca", "n_components": 2, "classifier": {"hidden": []}}]},
        {"classifier": {"hidden": [[8], [16, 8], []]}},
        {"classifier": {"rule": "bagging", "base": {"rule": "stump"}}},
        {"methods": ["dgha", "sklearn.svm:SVC", {"method": "all_features", "classifier": "backprop"}]},
        {"methods": [{"method": "sklearn.decomposition:PCA", "parameters": {"n_components": [2, 3]}, "repeats": 4}]},
        {"classifier": {"rule": "sklearn.svm:SVC", "parameters": {"kernel": "rbf", "C": [1, 10.0]}}},
        {"classifier": {"rule": "bagging", "base": "stump"}},
        {"problems": ["iris", {"csv": "own.csv", "target": "y", "drop": ["id"], "name": "own"}]},
        {"problems": {"openml": 61, "target": ["a", "b"], "task": "approximation"}, "splits": 5, "repeats": 2},
        {"problems": [{"parquet": "a.parquet", "split": {"column": "fold"}}, {"sklearn": "wine", "folds": 3}]},
        {"problems": [{"dt": "own.dt"}]},
        {"tau": "auto"},
        {"choose": ["tau", "data_fraction"], "by": "retained_variance", "retain": 90},
        {"choose": "tau", "by": "validation_error", "predictions": True},
    ],
    ids=str,
)
def test_a_valid_config_is_valid_by_the_schema(experiment, tmp_path, changes):
    document = {**BASE, "problems": ["iris"], **changes}
    assert admits(tmp_path / "c.yaml", document)
    assert experiment.is_valid(document)


@pytest.mark.parametrize(
    "changes",
    [
        {"nme": "small"},
        {"name": "with space"},
        {"problems": ["irs"]},
        {"repeats": 0},
        {"tau": 0.5},
        {"methods": [{"method": "dhga"}]},
        {"methods": [{"method": "gha", "data_fraction": 10}]},
        {"methods": [{"method": "dgha", "data_fraction": 101}]},
        {"methods": [{"method": "majority_class", "portrait": True}]},
        {"classifier": {"hidden": [0]}},
        {"classifier": {"hidden": ["pivot"]}},
        {"classifier": {"rule": "backprop", "eta_plus": 1.2}},
        {"classifier": {"base": {"rule": "stump"}}},
        {"classifier": {"rule": "bagging", "base": {"rule": "bagging"}}},
        {"methods": [{"method": "sklearn.decomposition:PCA", "n_components": 2}]},
        {"methods": [{"method": "sklearn.decomposition:PCA", "parameters": [2]}]},
        {"classifier": {"rule": "sklearn.svm:SVC", "C": 1}},
        {"problems": [{"target": "y"}]},
        {"problems": [{"csv": "own.csv", "parquet": "own.parquet"}]},
        {"problems": [{"csv": "own.csv", "tagret": "y"}]},
        {"problems": [{"csv": "own.csv", "folds": 2}]},
        {"problems": [{"parquet": "own.parquet", "decimal": ","}]},
        {"problems": [{"csv": "own.csv", "folds": 3, "split": {"column": "fold"}}]},
        {"problems": [{"dt": "own.csv"}]},
        {"problems": [{"dt": "own.dt", "target": "y"}]},
        {"tau": "all"},
        {"choose": "tau", "by": "test_error"},
        {"choose": "tau", "retain": 90},
    ],
    ids=str,
)
def test_an_invalid_config_is_invalid_by_the_schema(experiment, tmp_path, changes):
    document = {**BASE, "problems": ["iris"], **changes}
    assert not admits(tmp_path / "c.yaml", document)
    assert not experiment.is_valid(document)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("trials", 0),
        ("sampler", "grid"),
        ("vary", {"seed": {"low": 1, "high": 2}}),
        ("vary", {"methods[0].tau": {"low": 1}}),
        ("vary", {}),
        ("score", [{"tables": "T5"}]),
        ("score", [{"tables": "T5", "quantity": "time"}]),
        ("report", [{"tables": "T5", "quantity": "dimensionality", "weight": 2}]),
        ("base", {"name": "x"}),
    ],
    ids=str,
)
def test_an_invalid_study_is_invalid_by_the_schema(study, place, value):
    document = read_yaml(CONFIGS / "studies" / "dgha_tpe.yaml").value
    assert study.is_valid(document)
    assert not study.is_valid({**document, place: value})


def test_a_config_of_a_table_with_splits_needs_no_repeats(experiment, tmp_path):
    table, known = {"sklearn": "wine", "splits": 3}, {key: value for key, value in BASE.items() if key != "repeats"}
    for problems, is_valid in (([table], True), (table, True), (["iris", table], True), (["iris"], False)):
        document = {**known, "problems": problems}
        assert admits(tmp_path / "c.yaml", document) == experiment.is_valid(document) == is_valid
