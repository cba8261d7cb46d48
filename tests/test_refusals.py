"""Refused documents, configs, options and values: the messages of ``refusals.yaml``, with ``…`` for any text."""

import re
from pathlib import Path

import pytest
import yaml
from builders import small, write_config
from pydantic import StringConstraints
from test_yaml_files import Whole

from pppca_bench.base import parameters
from pppca_bench.base.parameters import Parameter, ParameterError
from pppca_bench.config.experiment import parse_config
from pppca_bench.errors import PppcaError
from pppca_bench.experiments.request import read_request
from pppca_bench.yaml_files.source import read_yaml

REFUSALS = yaml.safe_load(Path(__file__).with_name("refusals.yaml").read_text(encoding="utf-8"))
BASE = REFUSALS.pop("base")


def refuse_document(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    read_yaml(path)


def refuse_section(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    Whole.read(read_yaml(path))


def refuse_config(path: Path, piece: str, by: str) -> None:
    assert BASE.count(piece) == 1
    path.write_text(BASE.replace(piece, by), encoding="utf-8")
    parse_config(read_yaml(path))


def refuse_values(path: Path, **changes: object) -> None:
    parse_config(
        read_yaml(write_config(path.parent, small(**{"name": "a", "methods": ["pca"]} | changes)))
    )


def refuse_set(path: Path, option: str) -> None:
    path.write_text(BASE)
    read_request([path], changes=[option])


def refuse_only(path: Path, option: str) -> None:
    path.write_text(BASE)
    read_request([path], only=[option])


def refuse_parameter(path: Path, annotation: str, value: object) -> None:  # noqa: ARG001
    Parameter(
        "x", eval(annotation, {**vars(parameters), "StringConstraints": StringConstraints}), None
    ).checked(value)


CASES = [(kind, *case) for kind, cases in REFUSALS.items() for case in cases]


@pytest.mark.usefixtures("isolated_folders")
@pytest.mark.parametrize(
    ("kind", "given", "message"), CASES, ids=[f"{kind} {given}"[:70] for kind, given, _ in CASES]
)
def test_a_refusal_names_place_rule_value_and_remedy(tmp_path, kind, given, message):
    arguments = given if isinstance(given, list) else [given]
    keywords = arguments.pop() if kind == "values" else {}
    with pytest.raises((PppcaError, ParameterError)) as caught:
        globals()[f"refuse_{kind}"](tmp_path / "a.yaml", *arguments, **keywords)
    said = str(caught.value).replace(f"{tmp_path}/", "")
    assert re.fullmatch(".*".join(map(re.escape, message.split("…"))), said), said
