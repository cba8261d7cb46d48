"""HTML report of the published numbers: links, labels and size."""

import re
from collections import Counter
from pathlib import Path

import pytest
from command_line import printed
from published_page import write_store
from report_page import Page

ROOT = Path(__file__).parents[2]
MOST_BYTES = 3_000_000


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> str:
    folder = write_store(tmp_path_factory.mktemp("results"))
    printed("report", "--results", folder)
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(text) -> Page:
    return Page(text)


def test_identifiers_are_unique_and_links_lead_to_them(page):
    ids = Counter(page.values("id"))
    assert [name for name, n in ids.items() if n > 1] == []
    links = [one["href"] for name, one in page.elements if name != "link" and "href" in one]
    assert len(links) > 100
    assert [link for link in links if not link.startswith(("#", "data:image/png"))] == []
    clips = re.findall(r"url\(#([^)]+)\)", " ".join(str(one) for _, one in page.elements))
    assert clips
    named = {*clips, *page.values("aria-labelledby")}
    assert {link[1:] for link in links if link.startswith("#")} | named <= ids.keys()


def test_tables_and_drawings_have_labels_and_the_page_needs_no_script(page):
    assert {attributes.get("scope") for attributes in page.all("th")} == {"col", "row"}
    regions = [one for one in page.all("div") if one.get("class") == "scroll"]
    assert len(regions) >= len(page.all("table"))
    drawings = [one for one in page.all("svg") if one.get("role") == "img"]
    assert len(page.all("figure")) == len(drawings) == 3
    assert {"F6-ranks", "F7-ranks"} <= set(page.values("id")), "F6 and F7 are tables alone"
    assert all(one.get("aria-label") for one in (*regions, *drawings))
    assert not [attributes for _, attributes in page.elements if "hidden" in attributes]
    assert page.all("button") == page.all("input") == []


def test_the_report_of_the_published_results_is_small_enough_and_whole():
    text = (ROOT / "results" / "report.html").read_text(encoding="utf-8")
    assert len(text.encode()) < MOST_BYTES
    whole = {f"T{n}" for n in range(8)} | {f"F{n}" for n in range(1, 9)} | {"claims", "provenance"}
    assert whole <= set(Page(text).values("id"))
