"""Rows of the frame of printed numbers, made by hand."""

import math
from collections.abc import Iterable
from typing import Any

import pandas as pd

from pppca_bench.references.numbers import Number, VerdictRule
from pppca_bench.results.statistics import Summary
from pppca_bench.runs import Selector
from pppca_bench.verdicts.judge import judge
from pppca_bench.verdicts.numbers import NOT_RUN, PUBLISHED, RULE, frame_of

PLACE = {"table": "T1", "row": "a", "column": "b", "quantity": "test_error_percent"}


def number_of(
    number: Number | None = None,
    ours: Summary = NOT_RUN,
    rule: VerdictRule | None = None,
    **others: Any,
) -> dict[str, Any]:
    """Return a printed number as a row: ours, the published number and its rule, if there are any."""
    cell = {"shown": "cell", "form": "{}", "fillable": True, "selection": Selector("a", "dgha")}
    row = {**PLACE, **cell, **ours._asdict(), "compare": ""}
    if number:
        sd = math.nan if number.sd is None else number.sd
        published = number.text, number.value, number.half_unit, sd
        row |= dict(zip(PUBLISHED, published, strict=True))
    if rule:
        values = rule.compare, rule.margin, rule.unit, rule.runs or math.inf
        row |= dict(zip(RULE, values, strict=True))
    return row | others


def judged(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Return printed numbers with their verdicts; no number repeats another one."""
    return judge(frame_of(list(rows))).assign(same_as="")
