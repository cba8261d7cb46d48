"""Main results from synthetic comparisons, counts and speed-ups."""

from types import SimpleNamespace

import pytest
from printed_numbers import judged, number_of
from test_claims import NOTHING, line

from pppca_bench.paper.claims import _claims_file
from pppca_bench.paper.main_results import main_results, speedups_within_margin
from pppca_bench.references.numbers import Number, VerdictRule
from pppca_bench.results.statistics import summarise
from pppca_bench.verdicts.shares import ALL

METHODS = ("NE-pPCA (as written)", "DGHA (as written)", "PCA")
SLIDES = SimpleNamespace(title="Slides")


def results(*lines, counts=None, speed=None) -> tuple[list[str], list[str]]:
    evidence = NOTHING._replace(compared=lines)
    return main_results(_claims_file().main, evidence, counts or {}, speed or {})


def cut(low: float) -> list:
    """Return the comparisons with all features."""
    own = {"low": low, "typical": 0.5, "high": 2.0, "features_percent": 41.4}
    return [line("cutting", method, "all features", **own) for method in METHODS]


def as_many(method: str, verdict: str, **values) -> list:
    """Return the comparisons of exact PCA with as many components, in both readings."""
    lines = []
    for reading in ("as written", "fitted"):
        name = f"{method} ({reading})"
        lines.append(line("exact_pca", f"PCA, as many as {name}", name, verdict=verdict, **values))
    return lines


def test_without_runs_and_tables_there_is_no_result():
    assert results() == ([], [])


def test_the_cost_of_cutting_is_stated_where_all_intervals_lie_above_0():
    assert results(*cut(0.2))[0] == [
        "Reducing features costs accuracy: where features were cut, test errors rise by 0.5 points with"
        " NE-pPCA (95 % interval 0.2–2.0; 20 data sets, 41 % of features kept), 0.5 with DGHA (0.2–2.0; 20, 41 %)"
        " and 0.5 with exact PCA (0.2–2.0; 20, 41 %), each on its own sets."
    ]
    assert results(*cut(-0.2))[0][0].startswith("Whether reducing features costs accuracy is open:")


@pytest.mark.parametrize(
    ("of_dgha", "of_ne_ppca", "said"),
    [
        (
            *("holds", "undecided"),
            "Exact PCA with as many components loses at most 1 point against DGHA; against NE-pPCA this is undecided."
            " On typical data sets, pseudo-PCA showed no advantage.",
        ),
        (
            *("holds", "holds"),
            "Exact PCA with as many components loses at most 1 point against DGHA and NE-pPCA. On typical data"
            " sets, pseudo-PCA showed no advantage.",
        ),
        (
            *("undecided", "does not hold"),
            "Whether exact PCA with as many components loses at most 1 point against DGHA is undecided. It loses more"
            " against NE-pPCA.",
        ),
    ],
)
def test_exact_pca_is_said_to_lose_no_more_only_where_both_readings_show_it(
    of_dgha, of_ne_ppca, said
):
    lines = [*as_many("DGHA", of_dgha), *as_many("NE-pPCA", of_ne_ppca)]
    assert results(*lines)[0] == [said]


@pytest.mark.parametrize(
    ("gain", "kept", "said"),
    [
        (
            "holds",
            20.0,
            "is better than NE-pPCA (with fewer features cut, even 1 point is undecided)",
        ),
        ("holds", 60.0, "is better than NE-pPCA"),
        (
            *("undecided", 20.0),
            "loses at most 1 point against NE-pPCA (with fewer features cut, even 1 point is undecided)",
        ),
    ],
)
def test_the_later_experiment_decides_and_the_earlier_is_named_where_it_did_not(gain, kept, said):
    earlier = as_many("NE-pPCA", "undecided", features_percent=50.0)
    later = as_many("NE-pPCA", "holds", features_percent=kept, experiment="E3", gain=gain)
    assert results(*earlier, *later)[0] == [
        f"Exact PCA with as many components {said}. On typical data sets, pseudo-PCA showed no advantage."
    ]


def test_a_verdict_that_stays_undecided_is_said_once():
    earlier = as_many("DGHA", "undecided", features_percent=50.0)
    later = as_many("DGHA", "undecided", features_percent=20.0, experiment="E3")
    assert results(*earlier, *later)[0] == [
        "Whether exact PCA with as many components loses at most 1 point against DGHA is undecided. On typical"
        " data sets, pseudo-PCA showed no advantage."
    ]


@pytest.mark.parametrize("gains", [("holds", "undecided"), ("undecided", "does not hold")])
def test_exact_pca_is_better_only_in_both_readings_and_a_small_advantage_counts(gains):
    lines = as_many("DGHA", "holds", experiment="E3")
    lines = [own._replace(gain=gain) for own, gain in zip(lines, gains, strict=True)]
    said = "Exact PCA with as many components loses at most 1 point against DGHA."
    if "does not hold" not in gains:
        said += " On typical data sets, pseudo-PCA showed no advantage."
    assert results(*lines)[0] == [said]


@pytest.mark.parametrize(
    ("ours", "as_often", "said"),
    [
        (41, "as often", "as often as by a correct program (41 of 64; 40–55 expected)"),
        (30, "less often", "less often than by a correct program (30 of 64; 40–55 expected)"),
    ],
)
def test_the_slides_numbers_are_counted_by_method_beside_a_correct_program(ours, as_often, said):
    part = {"n": 64, "ours": ours, "right": 48.0, "low": 40.0, "high": 55.0, "as_often": as_often}
    counts = {"slides": (SLIDES, {ALL: part, "NE-pPCA": part, "DGHA": part})}
    (first,), sources = results(counts=counts)
    assert first == (
        f"The slides (settings fitted): NE-pPCA's numbers are reproduced {said}, DGHA's {as_often} ({ours} of 64;"
        " 40–55)."
    )
    assert sources == ["Slides"]


def test_without_a_simulation_only_the_counts_are_stated():
    counts = {"slides": (SLIDES, {"DGHA": {"n": 4, "ours": 3}})}
    assert results(counts=counts)[0] == [
        "The slides (settings fitted): DGHA's numbers are reproduced in 3 of 4 cases."
    ]
    counts = {"proben1_report": (SLIDES, {ALL: {"n": 4, "ours": 3}})}
    said = "Proben1 report: 3 of 4 numbers reproduced, with another training than printed."
    assert results(counts=counts) == ([said], ["Slides"])


def test_the_speed_is_stated_in_operations():
    speed = {"whole": 2.04, "part": 11.4}
    said = "Speed: GHA needs 2.0 times DGHA's operations, 11.4 if DGHA has a tenth of the data."
    assert results(speed=speed)[0] == [said]


def test_speedups_are_counted_by_means_and_by_verdicts():
    rule = VerdictRule(compare="ratios", margin=1.2, unit="factor", runs=10)
    found = []
    for mean, spread in ((2.1, 0.01), (2.3, 0.5), (3.0, 0.01)):
        ours = summarise([mean - spread, mean, mean + spread])
        found.append(number_of(Number("2.00"), ours, rule) | {"quantity": "speedup_operations"})
    assert speedups_within_margin(judged(found)) == {"n": 3, "within": 2, "reproduced": 1}
