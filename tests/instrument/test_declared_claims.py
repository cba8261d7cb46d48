"""Claims of reference.yaml: counts of rows in which one of two numbers is less, and the answers."""

import pytest
from own_reference import MINIMAL, written

from pppca_bench.pages.claim_texts import declared_findings
from pppca_bench.references.reference import read_reference
from pppca_bench.verdicts.numbers import frame_of

CLAIM = {
    "claim": "PCA errs less than theirs on two of three problems.",
    "place": "section 4",
    "table": "A1",
    "compare": ["PCA", "theirs"],
    "expected": 2,
}
PROBLEMS = ["iris", "wine", "glass1"]


def answer(tmp_path, ours: list[float | None], theirs: list[float], **changes: object) -> str:
    """Return the answer for our means, with intervals of ± 0.5, None without runs, and published numbers."""
    table = MINIMAL["tables"][0] | {"rows": {"problem": PROBLEMS}}
    document = MINIMAL | {"tables": [table], "claims": [CLAIM | changes]}
    reference = read_reference(written(tmp_path, document))
    rows = []
    for problem, mean, published in zip(PROBLEMS, ours, theirs, strict=True):
        place = {"table": "A1", "row": problem, "quantity": "test_error_percent"}
        own = place | {"column": "PCA", "fillable": True}
        if mean is not None:
            own |= {"mean": mean, "low": mean - 0.5, "high": mean + 0.5, "n": 5}
        rows += [own, place | {"column": "theirs", "published": published}]
    (finding,) = declared_findings(reference, frame_of(rows))
    assert (finding.claim, finding.sources) == (CLAIM["claim"], ("A1",))
    return finding.answer


def test_a_claim_is_answered_by_counts_and_clear_differences(tmp_path):
    said = answer(tmp_path, [1.0, 3.9, 6.0], [2.0, 4.0, 5.0])
    assert said == (
        "Yes: PCA has less test error than theirs in 2 of 3 rows; the source says 2. The 95 % intervals of the means"
        " are apart in 1 of them, and in 1 of the others."
    )


@pytest.mark.parametrize(
    ("ours", "changes", "verdict"),
    [
        ([1.0, 4.1, 6.0], {}, "Cannot tell: PCA has less test error than theirs in 1 of 3 rows"),
        ([1.0, 5.0, 6.0], {}, "No: PCA has less test error than theirs in 1 of 3 rows"),
        (
            [1.0, None, 6.0],
            {},
            "Cannot tell: PCA has less test error than theirs in 1 of 2 rows that were",
        ),
        ([1.0, None, 6.0], {"expected": 3}, "No: "),
        (
            [1.0, 5.0, 6.0],
            {"count": "more"},
            "Yes: PCA has more test error than theirs in 2 of 3 rows",
        ),
        ([None, None, None], {}, ""),
    ],
)
def test_a_claim_is_open_while_its_count_is_possible(tmp_path, ours, changes, verdict):
    said = answer(tmp_path, ours, [2.0, 4.0, 5.0], **changes)
    assert said.startswith(verdict)
    assert bool(said) == bool(verdict)


def test_columns_are_counted_where_rows_are_compared(tmp_path):
    changes = {"compare": ["iris", "wine"], "by": "columns", "expected": 1}
    said = answer(tmp_path, [1.0, 3.0, 6.0], [5.0, 4.0, 5.0], **changes)
    assert said.startswith(
        "Yes: iris has less test error than wine in 1 of 2 columns; the source says 1."
    )
