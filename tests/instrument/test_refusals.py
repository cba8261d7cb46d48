"""Refused documents, options and data: the messages of ``refusals.yaml`` and ``refusals_data.yaml``, … for any text."""

import re
from pathlib import Path

import pytest
import yaml
from builders import csv_of, small, write_config, write_dt
from command_line import pppca, printed
from pydantic import StringConstraints
from test_problems_dt import CLASSES
from test_yaml_files import Whole

from pppca_bench import read_table
from pppca_bench.base import parameters
from pppca_bench.base.parameters import Parameter, ParameterError
from pppca_bench.config.experiment import TableSection, parse_config
from pppca_bench.errors import DataError, PppcaError
from pppca_bench.experiments.request import read_request
from pppca_bench.problems import DataSet, SplitRule, read_dt
from pppca_bench.yaml_files.source import read_yaml, to_source

FILES = [
    Path(__file__).parents[1].joinpath(f"{name}.yaml") for name in ("refusals", "refusals_data")
]
CONFIGS, DATA = (yaml.safe_load(path.read_text(encoding="utf-8")) for path in FILES)
BASE = CONFIGS.pop("base")
TEXTS = {
    "good": csv_of(10, x=[1, 2], y="ab"),
    "many": "1\n" * 599,
    "rows": csv_of(20, z=range(20), x=[0, 2, 4, 1, 3], y="uv"),
    "fold": "x,fold,y\n1,train,a\n2,train,b\n3,validation,a\n4,test,b\n",
    "codes": csv_of(200, x=[f"c{row}" for row in range(50)], z=range(7), y=[0, 1]),
    "ids": csv_of(300, x=[f"id{row}" for row in range(300)], y=[0, 1]),
}


def config(text: str) -> Path:
    Path("a.yaml").write_text(text, encoding="utf-8")
    return Path("a.yaml")


def changed(text: str, piece: str, by: str) -> str:
    assert text.count(piece) == 1
    return text.replace(piece, by)


def refuse_document(text: str) -> None:
    read_yaml(config(text))


def refuse_section(text: str) -> None:
    Whole.read(read_yaml(config(text)))


def refuse_config(piece: str, by: str) -> None:
    parse_config(read_yaml(config(changed(BASE, piece, by))))


def refuse_values(changes: dict[str, object]) -> None:
    document = small(**{"name": "a", "methods": ["pca"]} | changes)
    parse_config(read_yaml(write_config(Path(), document)))


def refuse_set(option: str) -> None:
    read_request([config(BASE)], changes=[option])


def refuse_only(option: str) -> None:
    read_request([config(BASE)], only=[option])


def refuse_parameter(annotation: str, value: object) -> None:
    names = {**vars(parameters), "StringConstraints": StringConstraints}
    Parameter("x", eval(annotation, names), None).checked(value)


def refuse_table(text: str, keys: dict[str, object]) -> None:
    Path("own.csv").write_text(text.format(**TEXTS), encoding="utf-8")
    given = {"csv": "own.csv", "target": "y"} | keys
    given = {key: value for key, value in given.items() if value is not None}
    section = TableSection.model_validate(to_source(given, Path("own.yaml")).value)
    DataSet(section.problem(SplitRule()))


def refuse_file(name: str, text: str | None, keys: dict[str, object]) -> None:
    if text is not None:
        Path(name).write_text(text, encoding="utf-8")
    read_table(name, **keys)


def refuse_argument(*arguments: str) -> None:
    done = pppca("data", "describe", *arguments)
    # A table is described before its target is looked for.
    assert (done.exit_code, done.stdout if len(arguments) == 1 else "") == (2, "")
    raise DataError(done.stderr.rpartition("Error: ")[2].rstrip("\n"))


def refuse_dt(piece: str, by: str) -> None:
    Path("own.dt").write_bytes(changed(CLASSES, piece, by).encode())
    read_dt("own.dt")


def refuse_request(problems: str, keys: dict[str, object]) -> None:
    write_dt(Path("numbers.dt"), task="real")
    text = changed(write_dt(Path("empty.dt")).read_text(), "test_examples=10", "test_examples=0")
    Path("empty.dt").write_text(changed(text, "validation_examples=10", "validation_examples=20"))
    Path("t.csv").write_text(TEXTS["rows"])
    more = yaml.safe_dump({"repeats": 1, "seed": 1, "methods": ["pca"], "tau": 5} | keys)
    read_request([config(f"name: a\nproblems: {problems}\n{more}")])


def refuse_command(command: str, code: int) -> None:
    *_, said = printed(*command.split(), code=code).splitlines()
    assert {made.name for made in Path().iterdir()} <= {"cache"}
    raise PppcaError(said.removeprefix("Error: "))


CASES = [(kind, *case) for kind, cases in (CONFIGS | DATA).items() for case in cases]


@pytest.mark.usefixtures("isolated_folders")
@pytest.mark.parametrize("case", CASES, ids=lambda case: ascii(case[:-1])[:70])
def test_a_refusal_names_place_rule_value_and_remedy(case):
    kind, *given, message = case
    with pytest.raises((PppcaError, ParameterError)) as caught:
        globals()[f"refuse_{kind}"](*(given[0] if isinstance(given[0], list) else given))
    message = {"table": "own.csv", "dt": "own.dt, "}.get(kind, "") + message
    expected = message + ". Correct the file." * (kind == "dt")
    said = str(caught.value)
    assert re.fullmatch(".*".join(map(re.escape, expected.split("…"))), said), said
