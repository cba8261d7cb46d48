"""YAML documents: plain values with their lines, and validation errors."""

import math
import re
from pathlib import Path
from typing import Annotated, Literal, Self

import pytest
import yaml
from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import Field, model_validator

from pppca_bench.documents import (
    MAX_BYTES,
    MAX_DEPTH,
    Section,
    YamlSource,
    broken_rule,
    dump_yaml,
    parse_yaml,
    raise_errors,
    read_yaml,
)
from pppca_bench.errors import ConfigError


@pytest.fixture
def read(tmp_path):
    def read_text(content: str | bytes) -> YamlSource:
        path = tmp_path / "a.yaml"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_yaml(path)

    return read_text


@pytest.fixture
def refusal(read):
    """Return the message, without its folder, with which a document is refused."""

    def read_and_fail(content: str | bytes) -> str:
        with pytest.raises(ConfigError) as caught:
            read(content)
        assert caught.value.__cause__ is None
        return re.sub(r"^\S*/(a\.yaml)", r"\1", str(caught.value))

    return read_and_fail


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


def test_values_are_plain_and_typed_by_yaml(read):
    assert read(DOCUMENT).value == {
        "name": "cancer1",
        "tau": (5, 10.5),
        "methods": ({"method": "dgha", "centre": True}, {"method": "gha", "n_components": None}),
    }


@pytest.mark.parametrize(
    ("location", "line"),
    [
        (("name",), 2),
        (("tau", 0), 3),
        (("tau", 1), 4),
        (("methods",), 5),
        (("methods", 0), 6),
        (("methods", 0, "centre"), 7),
        (("methods", 1, "n_components"), 9),
        (("methods", 1, "classifier", "hidden"), 9),
        (("seed",), 2),
    ],
)
def test_each_value_knows_the_line_of_its_key_or_item_and_absent_values_that_of_their_parent(read, location, line):
    assert read(DOCUMENT).line(location) == line


def test_an_empty_document_holds_nothing(read):
    assert read("# nothing\n").value is None
    assert read("").line(("name",)) == 1


def test_a_number_too_long_to_print_is_refused(refusal):
    digits = "1" * 5000
    assert refusal(f"a: 1\nseed: {digits}\n").startswith(
        f"a.yaml:2: not valid YAML: expected a value that Python can represent, got '{digits[:40]}' (Exceeds"
    )
    assert refusal(f"a: 1\nseed: 0x{'f' * 5000}\n") == (
        f"a.yaml:2: not valid YAML: expected numbers of at most 1024 bits, got '0x{'f' * 38}'...."
    )


def test_nesting_is_read_to_the_limit_and_refused_beyond(read, refusal):
    assert read("[" * MAX_DEPTH + "]" * MAX_DEPTH).value is not None
    deeper = "a:\n " + "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1)
    assert refusal(deeper) == f"a.yaml:2: not valid YAML: expected at most {MAX_DEPTH} levels, got more."


def test_a_huge_file_is_refused(refusal):
    assert refusal("#" * (MAX_BYTES + 1)) == f"a.yaml: expected at most {MAX_BYTES} bytes, got more. Is it a config?"


@pytest.mark.parametrize(("name", "cause"), [("none.yaml", "No such file or directory"), ("", "Is a directory")])
def test_an_unreadable_path_is_refused_with_the_cause(tmp_path, name, cause):
    with pytest.raises(ConfigError, match=rf"{tmp_path / name}: cannot be read \({cause}\)\. Check the path\.$"):
        read_yaml(tmp_path / name)


def test_no_tag_runs_code(read, refusal, tmp_path):
    trace = tmp_path / "trace"
    refusal(f"a: !!python/object/apply:pathlib.Path.touch [!!python/object/apply:pathlib.Path [{trace}]]\n")
    refusal(f"a: !!python/object/new:pathlib.Path.touch [{trace}]\n")
    read(f"!!python/object/apply:pathlib.Path.touch a: {trace}\n")  # a key is its text alone
    assert not trace.exists()


NUMBERS = {
    "1e-3": 1e-3, "1E3": 1e3, "-.5e+2": -50.0, "2.e1": 20.0, "-0": 0, "0.5": 0.5, "00.5": 0.5, "0x17": 23,
    "1_000": 1000, "-.inf": -math.inf, str(2**1024 - 1): 2**1024 - 1, "true": True, "~": None, "": None,
}  # fmt: skip
TEXTS = [
    "e3",
    "1e",
    "017",
    "-010",
    "00",
    "1:30",
    "1:30:00.5",
    "on",
    "No",
    "OFF",
    "yes",
    "2024-01-01",
    "2024-01-01 10:00:00",
]


def test_numbers_are_read_as_they_are_written_and_anything_else_is_text():
    for text, value in [*NUMBERS.items(), *zip(TEXTS, TEXTS, strict=True)]:
        assert parse_yaml(Path("a.yaml"), f"x: {text}\n").value == {"x": value}


@pytest.mark.parametrize("text", [*NUMBERS, *TEXTS])
def test_a_text_that_looks_like_another_value_is_still_text_once_it_is_written(text):
    written = dump_yaml({"x": text})
    assert parse_yaml(Path("a.yaml"), written).value == yaml.safe_load(written) == {"x": text}


def test_a_merge_key_is_a_key_like_any_other(read):
    assert read("<<: {a: 1}\n").value == {"<<": {"a": 1}}


class Part(Section):
    names: tuple[Annotated[str, MinLen(1)], ...] = ()
    kind: Literal["a", "b"] = Field("a", alias="type")
    size: Literal["all"] | Annotated[int, Ge(1), Le(9)] | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.size == 9:
            raise_errors([(("size",), "expected less than 9 {really}, got 9"), ((), "expected another part")])
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


def whole(text: str) -> Whole:
    return Whole.read(parse_yaml(Path("a.yaml"), text))


def test_a_document_is_validated_without_conversions_but_lists_become_tuples():
    read = whole("seed: 1\nrate: 2\nparts: [{names: [x, y], type: b}]\n")
    assert (read.seed, read.rate, read.parts) == (1, 2.0, (Part(names=("x", "y"), type="b"),))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a.yaml:1: config: expected a mapping with the keys seed, rate, parts, more, got nothing."),
        ("rate: 1", "a.yaml:1: seed: expected a value, got none. Add the key `seed`."),
        ("seed: 1.0", "a.yaml:1: seed: expected an integer >= 0, got 1.0."),
        ("seed: true", "a.yaml:1: seed: expected an integer >= 0, got True."),
        ("seed: 1\nrate: x", "a.yaml:2: rate: expected a number, got 'x'."),
        (
            "seed: 1\nsede: 2",
            "a.yaml:2: sede: unknown key, expected one of seed, rate, parts, more (did you mean 'seed'?).",
        ),
        ("seed: 1\nparts: []", "a.yaml:2: parts: expected a list of 1 to 3 mappings, got []."),
        (
            "seed: 1\nparts:\n- {}\n- 3",
            "a.yaml:4: parts[1]: expected a mapping with the keys names, type, size, got 3.",
        ),
        (
            "seed: 1\nparts: [{names: [x, 3]}]",
            "a.yaml:2: parts[0].names[1]: expected text, got 3. If it is text, put it in quotation marks.",
        ),
        ("seed: 1\nparts: [{kind: a}]", "a.yaml:2: parts[0].kind: unknown key, expected one of names, type, size."),
        ("seed: 1\nmore: {a: {type: c}}", "a.yaml:2: more.a.type: expected 'a' or 'b', got 'c'."),
        (
            "seed: 1\nparts: [{size: [0]}]",
            "a.yaml:2: parts[0].size: expected 'all' or an integer from 1 to 9 or null, got [0].",
        ),
        ("seed: 13", "a.yaml:1: config: expected a lucky seed, got 13."),
        (
            "more: {a: {size: 9}}\nseed: x",
            "a.yaml:1: more.a.size: expected less than 9 {really}, got 9.\n"
            "a.yaml:1: more.a: expected another part.\n"
            "a.yaml:2: seed: expected an integer >= 0, got 'x'.",
        ),
    ],
)
def test_validation_errors_name_line_key_rule_and_value_in_the_order_of_the_document(text, message):
    with pytest.raises(ConfigError) as caught:
        whole(text)
    assert str(caught.value) == message
