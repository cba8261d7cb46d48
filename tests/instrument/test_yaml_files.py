"""YAML files: plain values with their lines, texts and numbers; `test_refusals` has the validation errors."""

import math
from pathlib import Path
from typing import Annotated, Literal, Self

import pytest
import yaml
from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import Field, model_validator

from pppca_bench.errors import ConfigError
from pppca_bench.yaml_files.section import Section, broken_rule, broken_rules
from pppca_bench.yaml_files.source import (
    MAX_BYTES,
    MAX_DEPTH,
    YamlSource,
    dump_yaml,
    parse_yaml,
    read_yaml,
)


def read(text: str) -> YamlSource:
    return parse_yaml(Path("a.yaml"), text)


DOCUMENT = """\
# a comment
name: cancer1
tau: [5,
      10.5]
methods:
  - method: dgha
    centre: true

  - {method: gha, n_components: null}
"""


def test_values_are_plain_and_typed_by_yaml():
    assert read(DOCUMENT).value == {
        "name": "cancer1",
        "tau": (5, 10.5),
        "methods": ({"method": "dgha", "centre": True}, {"method": "gha", "n_components": None}),
    }
    assert read("# nothing\n").value is None
    assert read("<<: {a: 1}\n").value == {"<<": {"a": 1}}, "a merge key is a key like any other"
    expected = {"a": (5, {"b": "x"}), "c": (5, {"b": "x"}), "d": ((5, {"b": "x"}),)}
    assert read("a: &t [5, {b: x}]\nc: *t\nd: [*t]\n").value == expected
    assert read("[" * MAX_DEPTH + "]" * MAX_DEPTH).value is not None


@pytest.mark.parametrize(
    ("location", "line"),
    [
        (("name",), 2),
        (("tau", 1), 4),
        (("methods",), 5),
        (("methods", 0, "centre"), 7),
        (("methods", 1, "classifier", "hidden"), 9),
        (("seed",), 2),
    ],
)
def test_each_value_knows_the_line_of_its_key_or_item_or_of_its_parent(location, line):
    assert read(DOCUMENT).line(location) == line


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("none.yaml", ": cannot be read (No such file or directory). Check the path."),
        ("", ": cannot be read (Is a directory). Check the path."),
        ("large.yaml", f": expected at most {MAX_BYTES} bytes, got more. Is it a config?"),
        ("bytes.yaml", ":2: expected UTF-8 text, got byte 0xff."),
    ],
)
def test_an_unreadable_path_is_refused_with_the_cause(tmp_path, name, cause):
    (tmp_path / "large.yaml").write_text("#" * (MAX_BYTES + 1))
    (tmp_path / "bytes.yaml").write_bytes(b"name: a\nx: \xff\n")
    with pytest.raises(ConfigError) as caught:
        read_yaml(tmp_path / name)
    assert str(caught.value) == f"{tmp_path / name}{cause}"
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("tag", ["apply:pathlib.Path.touch", "new:pathlib.Path.touch"])
def test_no_tag_runs_code(tmp_path, tag):
    path = f"!!python/object/apply:pathlib.Path [{tmp_path / 'trace'}]"
    with pytest.raises(ConfigError, match="expected plain values, got the tag"):
        read(f"a: !!python/object/{tag} [{path}]")
    assert not list(tmp_path.iterdir())


NUMBERS = {
    "1e-3": 1e-3, "1E3": 1e3, "-.5e+2": -50.0, "2.e1": 20.0, "-0": 0, "0.5": 0.5, "00.5": 0.5, "0x17": 23,
    "1_000": 1000, "-.inf": -math.inf, str(10**308 - 1): 10**308 - 1, "true": True, "~": None, "": None,
}  # fmt: skip
NO_NUMBERS = "e3 1e 017 -010 00 1:30 1:30:00.5 on No OFF yes 2024-01-01"
TEXTS = [*NO_NUMBERS.split(), "1" * 309, "0x" + "f" * 256]


def test_numbers_are_read_as_they_are_written_and_anything_else_is_text():
    for text, value in [*NUMBERS.items(), *zip(TEXTS, TEXTS, strict=True)]:
        assert read(f"x: {text}\n").value == {"x": value}


@pytest.mark.parametrize("text", [*NUMBERS, *TEXTS])
def test_a_text_that_looks_like_another_value_is_still_text_once_it_is_written(text):
    written = dump_yaml({"x": text})
    assert read(written).value == yaml.safe_load(written) == {"x": text}


class Part(Section):
    names: tuple[Annotated[str, MinLen(1)], ...] = ()
    kind: Literal["a", "b"] = Field("a", alias="type")
    size: Literal["all"] | Annotated[int, Ge(1), Le(9)] | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.size == 9:
            raise broken_rules(
                [(("size",), "expected less than 9 {really}, got 9"), ((), "expected another part")]
            )
        return self


class Whole(Section):
    seed: Annotated[int, Ge(0)]
    rate: float = 1.0
    parts: Annotated[tuple[Part, ...], MinLen(1), MaxLen(3)] = (Part(),)
    more: dict[str, Part] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.seed == 13:
            raise broken_rule("expected a lucky seed, got 13")
        return self


def test_a_document_is_validated_without_conversions_but_lists_become_tuples():
    whole = Whole.read(read("seed: 1\nrate: 2\nparts: [{names: [x, y], type: b}]\n"))
    assert (whole.seed, whole.rate, whole.parts) == (1, 2.0, (Part(names=("x", "y"), type="b"),))
