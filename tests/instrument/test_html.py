"""HTML report: escaping, links, labels and spreads."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import printed
from report_page import ODD, Page, write_store
from stored_runs import cell_of, results_of, run_of, store_runs

from pppca_bench.pages.html import inline_svg
from pppca_bench.pages.page_tables import CellView, table_of_means
from pppca_bench.pages.snapshot import Snapshot
from pppca_bench.references.layout import Layout
from pppca_bench.references.numbers import Number, VerdictRule
from pppca_bench.references.reference import Reference
from pppca_bench.results.statistics import histogram
from pppca_bench.runs import ProblemFacts


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> str:
    folder = write_store(tmp_path_factory.mktemp("results"))
    page = folder / "report.html"
    said = printed("report", "--results", folder)
    assert said == f"Wrote {page} ({page.stat().st_size / 1e3:,.0f} kB).\n"
    return page.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(text) -> Page:
    return Page(text)


def test_the_page_loads_no_external_resource(page, text):
    assert page.values("src") == page.values("srcset") == []
    assert "@import" not in text
    assert {attributes["href"] for attributes in page.all("link")} == {"data:,"}
    policy = 'http-equiv="Content-Security-Policy" content="default-src \'none\';'
    assert policy in text


def test_user_defined_names_are_escaped(page, text):
    assert ODD not in text
    assert "&lt;script&gt;alert(&#39;&amp;own#data&#39;)&lt;/script&gt;.dt" in text
    assert "name: my &amp; own  # &lt;b&gt;" in text
    assert len(page.all("script")) == 1
    assert "pppca run &#39;my &amp; own.yaml&#39; --only " in text


def test_a_config_opens_to_its_settings_and_its_problems(text):
    odd = text[text.index('id="rules-my') :]
    assert "<li><b>Method.</b> PCA: " in odd
    assert "Settings: tau = 15.</li>" in odd
    assert ">own</td>" not in odd
    assert odd.count('<th scope="row">PCA, RPROP</th><td ') == 1


def test_coordinates_of_a_drawing_are_cut_to_a_tenth_but_its_texts_stay():
    text = inline_svg(b'<svg><text x="1.2345">below 0.001</text></svg>', "F1", "Losses")
    assert '<text x="1.2">below 0.001</text>' in text


def shown(
    margins: dict[str, float], errors: Sequence[float], published: str = "6.0"
) -> list[CellView]:
    """Return a cell of some quantities without and with published numbers, of which each has a margin."""
    runs = [run_of(cell_of(), n, **dict.fromkeys(margins, error)) for n, error in enumerate(errors)]
    lines = {"rows": ({"key": "a"},), "columns": ({"key": "b"},), "row_header": "a"}
    keys = {"id": "Z", "title": "t", "place": "p", "shows": tuple(margins), **lines}
    form = "{} ({})" if len(margins) > 1 else "{}"
    layout = Layout(**keys, runs={"problem": "cancer1", "method": "dgha"}, form=form)
    number = {("Z", "a", "b"): dict.fromkeys(margins, Number(published))}
    rules = [VerdictRule(quantities=(name,), margin=margin) for name, margin in margins.items()]
    cells = []
    for numbers in ({}, number):
        facts = {"folder": Path("mine"), "title": "Mine", "numbers": numbers}
        reference = Reference.model_construct(**facts, rules=rules, layouts=(layout,))
        snapshot = Snapshot(
            results_of(runs, {"mine": [spec.key for spec, _ in runs]}), {}, [reference]
        )
        ((_, cell),) = table_of_means(snapshot, "Z", ("", "")).rows
        cells.append(cell)
    return cells


def test_a_cell_shows_the_spread_of_its_repeats_around_the_published_number():
    alone, beside = shown({"test_error_percent": 0.5}, (1.0, 2.0, 2.0, 5.0))
    ((title, statistics, bars, scale),) = alone.repeats
    assert title == "Test error, %"
    assert (
        statistics
        == "2.50 ± 1.73, 4 repeats; 95 % interval −0.26 to 5.26; minimum 1.00 | lower quartile 1.75 | median 2.00 |"
        " upper quartile 2.75 | maximum 5.00."
    )
    assert bars == ({0: 1, 36: 2, 144: 1}, None)
    assert scale == ("1.00", "tallest bar: 2", "5.00")
    assert (alone.published, alone.differences, alone.verdict) == ("", [], None)
    assert beside.published == "6.0"
    assert beside.differences == [("", "−3.50", "differs"), ("", "", None)]
    ((_, _, bars, scale),) = beside.repeats
    assert (bars.counts[0], bars.marked) == (1, 144)
    assert scale[-1] == "6.00", "the published number is on the scale"


def test_the_colour_of_a_cell_is_that_of_its_worst_quantity():
    _, cell = shown({"test_error_percent": 5.0, "dimensionality": 0.5}, (2.0, 2.0))
    assert cell.verdict == "differs"
    expected = [("", "−4.00", "reproduced"), (" (", "−4.0", "differs"), (")", "", None)]
    assert cell.differences == expected


def test_equal_repeats_are_in_the_middle_of_their_histogram():
    assert histogram([2.0, 2.0], length=144, width=3) == ({72: 2}, None)


def test_the_report_of_own_results_compares_methods_and_has_no_other_section(store, tmp_path):
    runs = [
        run_of(
            cell_of("flowers", method, {"tau": 10.0}, {"hidden": (4,), "rule": "rprop"}),
            repeat,
            **dict.fromkeys(("test_error_percent", "validation_error_percent"), error),
            dimensionality=2.0,
            retained_variance_percent=90.0,
        )
        for method, errors in (("pca", (1.0, 1.1, 1.2, 0.9)), ("gha", (4.0, 4.2, 4.1, 4.3)))
        for repeat, error in enumerate(errors)
    ]
    alone = cell_of("alone", "pca", {"tau": 10.0}, {"hidden": (4,), "rule": "rprop"})
    runs += [
        run_of(alone, n, test_error_percent=1.0, validation_error_percent=1.0, dimensionality=2.0)
        for n in (0, 1)
    ]
    sizes = ProblemFacts("flowers", "a", "classification", "flowers", 4, 3, 75, 37, 38)
    store.describe_problems([sizes, replace(sizes, name="alone")])
    store_runs(store, {"mine": runs})
    printed("report", "--results", tmp_path)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<title>mine</title>" in text
    expected = ["answer", "methods", "provenance"]
    assert [one["id"] for one in Page(text).all("section") if "id" in one] == expected
    links = [one["href"] for tag, one in Page(text).elements if tag == "a"]
    assert [link for link in links if not str(link).startswith("#")] == []
    headline = text.partition('<ul class="headline">')[2].partition("</ul>")[0]
    (first, second) = re.findall("<li>(.*?)</li>", headline)[-2:]
    assert first.startswith(
        "Best by the validation error, without a baseline to compare with: flowers, PCA"
    )
    assert (text.count("Best by the validation error"), "Not compared" in text) == (1, False)
    assert second.startswith(
        "flowers: test error from 1.05 to 4.15\u00a0% with 2.0 to 2.0 features; 0 of"
    )
    assert "pppca run mine.yaml --only" in text
    assert "claim" not in text.partition("<script>")[0].partition("</style>")[2].lower()
