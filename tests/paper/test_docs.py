"""Documentation site: build without warnings, no third-party content, no broken links."""

import os
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from command_line import offline

import pppca_bench
from pppca_bench.cli.main import cli
from pppca_bench.methods.registry import CLASSIFIERS, METHODS

ROOT = Path(__file__).parents[2]
LOADED = {"img": "src", "script": "src", "link": "href", "source": "src", "iframe": "src"}


class Page(HTMLParser):
    """Ids, links and loaded resources of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids, self.links, self.loads = set(), set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.links.add(given["href"])
        if given.get(LOADED.get(tag)):
            self.loads.add(given[LOADED[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """Build the site from a copy of the versioned sources, without a network."""
    folder = tmp_path_factory.mktemp("site")
    made = shutil.ignore_patterns("gallery", "by_config", "*.dt", "*.sqlite*", "__pycache__")
    for name in ("configs", "data", "docs", "examples", "results"):
        shutil.copytree(ROOT / name, folder / name, ignore=made)
    for name in ("CITATION.cff", "README.md"):
        shutil.copy(ROOT / name, folder)
    sphinx = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going"]
    path = os.environ.get("PYTHONPATH", "")
    offline(*sphinx, "docs", "build/docs", folder=folder, PYTHONPATH=path)
    return folder / "build" / "docs"


@pytest.fixture(scope="module")
def pages(site) -> dict[Path, Page]:
    """Return every page but the report, which has tests of its own."""
    return {
        file: Page(file.read_text(encoding="utf-8"))
        for file in site.rglob("*.html")
        if file.name != "report.html"
    }


def unresolved(page: Path, links: set[str], pages: dict[Path, Page]) -> list[str]:
    """Return the links within the site whose file or anchor does not exist."""
    broken = []
    for link in links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        place = unquote(parts.fragment)
        if not target.is_file() or (place and target in pages and place not in pages[target].ids):
            broken.append(f"{page.name}: {link}")
    return broken


@pytest.mark.slow
def test_no_link_of_the_site_is_broken(site, pages):
    assert len(pages[site / "index.html"].links) > 20
    broken = (unresolved(page, own.links | own.loads, pages) for page, own in pages.items())
    assert [link for links in broken for link in links] == []


@pytest.mark.slow
def test_the_site_begins_with_the_main_results_of_the_readme(site):
    text = (site / "index.html").read_text(encoding="utf-8")
    assert 0 < text.index("<li><p>Reducing features costs accuracy") < text.index("F5.png")


@pytest.mark.slow
def test_no_page_of_the_site_loads_third_party_content(pages):
    loaded = {url for page in pages.values() for url in page.loads}
    assert {url for url in loaded if urlsplit(url).scheme not in ("", "data")} == set()


@pytest.mark.slow
def test_the_site_documents_every_public_name_command_method_classifier_and_table(site, pages):
    assert {f"pppca_bench.{name}" for name in pppca_bench.__all__} <= pages[site / "api.html"].ids
    assert {f"pppca-{name}" for name in cli.commands} <= pages[site / "commands.html"].ids
    keys = pages[site / "config_keys.html"].ids
    named = {f"method-{name}" for name in METHODS} | {f"rule-{name}" for name in CLASSIFIERS}
    assert {name.replace("_", "-") for name in named} <= keys
    tables = {
        file.stem.lower().replace("_", "-") for file in (ROOT / "results" / "tables").glob("*.md")
    }
    assert tables <= pages[site / "results.html"].ids


@pytest.mark.slow
def test_every_example_was_run_and_every_document_is_on_the_site(site):
    shown = {file.stem for file in (site / "gallery").glob("plot_*.html")}
    assert shown == {file.stem for file in (ROOT / "examples").glob("plot_*.py")}
    expected = {file.stem for file in site.glob("*.html")}
    assert {file.stem for file in (ROOT / "docs").glob("*.md")} <= expected
