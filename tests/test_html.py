"""HTML report: escaping, links, tables, verdicts and spreads."""

import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
from command_line import printed
from markupsafe import escape
from report_page import ODD, write_store
from stored_runs import cell_of, run_of, runs_by_cell

from pppca_bench.paper import findings, paper
from pppca_bench.references.numbers import Number
from pppca_bench.references.reference import own_references
from pppca_bench.reporting.comparison import Comparison, compare
from pppca_bench.reporting.document import Answers
from pppca_bench.reporting.html import HEIGHT, anchor, inline_svg, render_report, table_view
from pppca_bench.reporting.snapshot import Snapshot, take_snapshot
from pppca_bench.reporting.table import Table, TableCell
from pppca_bench.reporting.table_text import SIGNS
from pppca_bench.store.database import Store

ROOT = Path(__file__).parents[1]
MOST_BYTES = 2_700_000
VOID = {"meta", "link", "input", "br", "hr", "img"}


class Page(HTMLParser):
    """Collect what tests ask of a page; elements that are not closed in order are an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return write_store(tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="module")
def built(folder) -> tuple[Snapshot, Answers, str]:
    with Store(folder / "results.sqlite", read_only=True) as store:
        snapshot = take_snapshot(store, own_references(), with_paper=paper)
        judged = findings(snapshot, snapshot.figures(store))
        return snapshot, judged, render_report(snapshot, store, {"cancer1": "Proben1 (some place)"}, findings)


@pytest.fixture(scope="module")
def text(built) -> str:
    return built[2]


@pytest.fixture(scope="module")
def page(text) -> Page:
    return Page(text)


@pytest.mark.slow
def test_identifiers_are_unique_and_links_lead_to_them(page):
    ids = Counter(attributes["id"] for _, attributes in page.elements if "id" in attributes)
    assert [name for name, n in ids.items() if n > 1] == []
    links = [attributes["href"] for name, attributes in page.elements if name != "link" and "href" in attributes]
    assert len(links) > 100
    assert [link for link in links if not link.startswith(("#", "data:image/png"))] == []
    assert {link[1:] for link in links if link.startswith("#")} <= ids.keys()
    clips = re.findall(r"url\(#([^)]+)\)", " ".join(str(attributes) for _, attributes in page.elements))
    assert clips
    assert set(clips) <= ids.keys()
    described = {attributes["aria-labelledby"] for _, attributes in page.elements if "aria-labelledby" in attributes}
    assert described <= ids.keys()


def test_the_page_loads_no_external_resource(page, text):
    assert not [attributes for _, attributes in page.elements if "src" in attributes or "srcset" in attributes]
    assert "@import" not in text
    assert {attributes["href"] for attributes in page.all("link")} == {"data:,"}
    policy = next(one["content"] for one in page.all("meta") if one.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none';")


def test_user_defined_names_are_escaped(page, text):
    assert ODD not in text
    assert "&lt;script&gt;alert(&#39;&amp;own#data&#39;)&lt;/script&gt;.dt" in text
    assert "name: my &amp; own  # &lt;b&gt;" in text
    assert len(page.all("script")) == 1


def test_the_page_has_each_table_and_figure_below_its_heading(built, page):
    snapshot, answers, text = built
    for document in (one for one in snapshot.with_runs if one.trimmed()):
        assert f'<h3 id="{anchor(document.id)}-h">{document.id}. ' in text
    assert {one["id"] for one in page.all("figure")} == {"F1", "F2", "F5", "F6", "F7"}
    assert len([one for one in page.all("svg") if one.get("role") == "img"]) == 5
    for number, finding in enumerate(answers.claims, 1):
        assert f"<h3>{number}. {escape(finding.claim)}</h3>" in text
        assert f'href="#claim-{number}">{finding.verdict}</a>' in text
    assert len(answers.claims) > 5
    assert "checklist for authors" in text
    assert "my &amp; own" in text


def test_headers_have_a_scope_and_every_table_a_label(page):
    assert {attributes.get("scope") for attributes in page.all("th")} == {"col", "row"}
    regions = [one for one in page.all("div") if one.get("class") == "scroll"]
    assert len(regions) >= len(page.all("table"))
    assert all(one.get("aria-label") for one in regions)


def test_the_page_opens_with_the_main_results(built, text):
    run = [one for one in compare(built[0].of_means) if one.is_result and one.n]
    own = Counter(one.verdict for one in run if one.source == run[0].source)
    sentence = f"{run[0].source}: {own['reproduced']} of {own.total()} published numbers are reproduced ("
    assert text.index(sentence) < text.index("<h3>") < text.index('id="run"')


def test_without_scripts_nothing_is_hidden_and_no_control_is_dead(page):
    assert not [attributes for _, attributes in page.elements if "hidden" in attributes]
    assert page.all("button") == page.all("input") == []


def test_each_published_number_has_its_verdict(built):
    snapshot, *_ = built
    tables = {one.id: one.trimmed() for one in snapshot.with_runs if isinstance(one, Table) and one.trimmed()}
    compared = compare(tables.values())
    by_place = {one.place: one for one in compared}
    views = [table_view(table, by_place) for table in tables.values()]
    shown = Counter(
        (view.id, verdict)
        for view in views
        for row in view.rows
        for cell in row.cells
        for _, _, verdict in cell.published
        if verdict
    )
    expected = Counter(
        (one.table, one.verdict)
        for one in compared
        if one.verdict in SIGNS and one.quantity in tables[one.table].cells[one.row, one.column].shows
    )
    assert shown == expected
    assert {verdict for _, verdict in shown} >= {"reproduced", "differs"}
    (counts,) = [view.counts for view in views if view.id == "T5"]
    assert counts == {**dict.fromkeys(SIGNS, 0), **Counter(one.verdict for one in compared if one.table == "T5")}


def test_a_row_or_a_cell_names_the_runs_that_compute_it_again(page):
    cell = next(one for one in page.all("td") if one.get("id") == anchor("T1", "cancer1", "tau=5"))
    assert cell["data-run"] == "cancer1 --only problem=cancer1,method=ne_ppca,tau=5"
    assert re.fullmatch(r"(Versions .+; data|Data) [0-9a-f]{1,12}\.", cell["data-origin"])
    assert any(one.get("data-run", "").startswith("'my & own' --only ") for one in page.all("tr"))


def cell_with(*errors: float) -> TableCell:
    (runs,) = runs_by_cell(run_of(cell_of(), n, test_error_percent=error) for n, error in enumerate(errors)).values()
    return TableCell("a", "b", ("test_error_percent",), "{}").filled(runs, ("test_error_percent",), None)


def test_a_cell_shows_the_spread_of_its_repeats():
    cell = cell_with(1.0, 2.0, 2.0, 5.0)
    table = Table("Z", "", "", "a", {"a": "a"}, {"b": "b"}, {("a", "b"): cell})
    ((title, statistics, histogram),) = table_view(table, {}).rows[0].cells[0].repeats
    assert title == "Error, %"
    assert statistics == "2.50 ± 1.73, 4 repeats; 95 % interval −0.26 to 5.26; 1.00 | 1.75 | 2.00 | 2.75 | 5.00."
    bars = {int(x): int(height) for x, height in re.findall(rf"M(\d+) {HEIGHT}v-(\d+)", histogram)}
    left, middle, right = bars
    assert (middle - left) / (right - left) == pytest.approx(1 / 4, abs=0.02)
    assert list(bars.values()) == [HEIGHT // 2, HEIGHT, HEIGHT // 2]


def test_the_published_number_lies_among_the_repeats_where_it_belongs():
    cell = cell_with(1.0, 2.0, 5.0)._replace(published={"test_error_percent": Number("2.0")})
    table = Table("Z", "", "", "a", {"a": "a"}, {"b": "b"}, {("a", "b"): cell})
    place = ("Z", "a", "b", "test_error_percent")
    compared = Comparison(*place, 2.0, 8 / 3, 2.08, 3, 2 / 3, -2.5, 7.8, verdict="consistent")
    (shown,) = table_view(table, {place: compared}).rows[0].cells
    assert [*shown.published] == [("", "2.0", "consistent"), ("", "", None)]
    ((_, statistics, histogram),) = shown.repeats
    assert statistics.endswith("; ours − published +0.67, consistent.")
    bars = re.findall(r"M(\d+) \d+v-", histogram)
    assert re.findall(r'class="p" d="M(\d+) 0v', histogram) == [bars[1]]


SVG = b"""<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">
<metadata>m</metadata><defs><style>*{stroke: red}</style><path id="p"/></defs><!-- a comment -->
<g clip-path="url(#c)"><use xlink:href="#p"/><image xlink:href="data:image/png;base64,AA"/></g></svg>"""


def test_identifiers_of_drawings_do_not_collide():
    one, other = (Page(inline_svg(SVG, prefix, "x")) for prefix in ("F1", "F2"))
    assert [attributes["id"] for attributes in one.all("path") + other.all("path")] == ["F1-p", "F2-p"]
    assert one.all("use") == [{"href": "#F1-p"}]
    assert one.all("g") == [{"clip-path": "url(#F1-c)"}]
    assert one.all("image") == [{"href": "data:image/png;base64,AA"}]
    assert one.all("metadata") == []
    (drawing,) = one.all("svg")
    assert (drawing["role"], drawing["aria-label"]) == ("img", "x")


class TestCommand:
    def test_it_writes_the_page_into_the_results(self, folder):
        said = printed("report", "--results", folder)
        page = (folder / "report.html").read_bytes()
        assert said == f"Wrote {folder / 'report.html'} ({len(page) / 1e6:.1f} MB).\n"


def test_the_report_of_the_published_results_is_small_enough_and_whole():
    text = (ROOT / "results" / "report.html").read_text(encoding="utf-8")
    assert len(text.encode()) < MOST_BYTES
    page = Page(text)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {f"T{n}" for n in range(8)} | {f"F{n}" for n in range(1, 9)} | {"claims", "findings"} <= set(ids)
