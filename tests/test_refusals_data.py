"""Refused tables, .dt files and problems of configs: the messages of ``refusals_data.yaml``, with … for any text."""

import re
from pathlib import Path

import pytest
import yaml
from builders import write_dt
from command_line import pppca
from test_problems_dt import CLASSES

from pppca_bench.config.experiment import TableSection
from pppca_bench.errors import ConfigError, DataError
from pppca_bench.experiments.request import read_request
from pppca_bench.problems import DataSet, SplitRule, read_dt
from pppca_bench.yaml_files.source import to_source

TEXTS = {
    "good": "x,y\n" + "1,a\n2,b\n" * 5,
    "many": "1\n" * 599,
    "rows": "z,x,y\n" + "".join(f"{row},{row * 7 % 5},{'uv'[row % 2]}\n" for row in range(20)),
    "fold": "x,fold,y\n1,train,a\n2,train,b\n3,validation,a\n4,test,b\n",
    "ids": "x,y\n" + "".join(f"id{row},{row % 2}\n" for row in range(300)),
}


def refuse_table(text: str, keys: dict[str, object]) -> None:
    Path("own.csv").write_text(text.format(**TEXTS), encoding="utf-8")
    keys = {
        key: value
        for key, value in ({"csv": "own.csv", "target": "y"} | keys).items()
        if value is not None
    }
    own = TableSection.model_validate(to_source(keys, Path("own.yaml")).value).problem(SplitRule())
    DataSet(own)


def refuse_argument(*arguments: str) -> None:
    done = pppca("data", "describe", *arguments)
    # A table is described before its target is looked for.
    assert (done.exit_code, done.stdout if len(arguments) == 1 else "") == (2, "")
    raise DataError(done.stderr.rpartition("Error: ")[2].rstrip("\n"))


def refuse_dt(piece: str, by: str) -> None:
    assert CLASSES.count(piece) == 1
    Path("own.dt").write_bytes(CLASSES.replace(piece, by).encode())
    read_dt("own.dt")


def refuse_request(problems: str, keys: dict[str, object]) -> None:
    write_dt(Path("numbers.dt"), task="real")
    text = write_dt(Path("empty.dt")).read_text()
    text = text.replace("validation_examples=10", "validation_examples=20").replace(
        "\ntest_examples=10", "\ntest_examples=0"
    )
    Path("empty.dt").write_text(text)
    Path("t.csv").write_text(TEXTS["rows"])
    more = yaml.safe_dump({"repeats": 1, "seed": 1, "methods": ["pca"], "tau": 5} | keys)
    Path("a.yaml").write_text(f"name: a\nproblems: {problems}\n{more}")
    read_request([Path("a.yaml")])


TABLE = yaml.safe_load(Path(__file__).with_name("refusals_data.yaml").read_text(encoding="utf-8"))
PREFIXES = {"table": "own.csv", "dt": "own.dt, "}
CASES = [(kind, given, message) for kind, cases in TABLE.items() for *given, message in cases]


@pytest.mark.usefixtures("isolated_folders")
@pytest.mark.parametrize(
    ("kind", "given", "message"),
    CASES,
    ids=[ascii(f"{kind} {given}")[:70] for kind, given, _ in CASES],
)
def test_a_refusal_names_place_rule_value_and_remedy(kind, given, message):
    with pytest.raises((ConfigError, DataError)) as caught:
        globals()[f"refuse_{kind}"](*given)
    expected = f"{PREFIXES.get(kind, '')}{message}" + ". Correct the file." * (kind == "dt")
    assert re.fullmatch(".*".join(map(re.escape, expected.split("…"))), str(caught.value)), str(
        caught.value
    )
