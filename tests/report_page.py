"""A small results database whose report has odd names, and the parts of its page."""

from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from types import MappingProxyType

from stored_runs import cell_of, run_of, store_runs

from pppca_bench.runs import Plan, ProblemFacts, StoredRun
from pppca_bench.store.database import Store

ODD = "<script>alert('&own#data')</script>.dt"
"""Name of a problem that HTML would run."""

VOID = {"meta", "link", "input", "br", "hr", "img"}


def write_store(
    folder: Path,
    plans: Mapping[str, Sequence[StoredRun]] = MappingProxyType({}),
    sizes: Sequence[ProblemFacts] = (),
) -> Path:
    """Write a database with a config with odd names, and those of ``plans``, on problems of ``sizes``."""
    own = cell_of(ODD, "pca", {"tau": 15.0}, {"hidden": (4,), "rule": "rprop"})
    odd = [run_of(own, repeat, test_error_percent=3.0) for repeat in range(2)]
    with Store(folder / "results.sqlite") as store:
        store.describe_problems([*sizes, ProblemFacts(ODD, "a", "classification", ODD, *[9] * 5)])
        store_runs(store, plans)
        store.plan(Plan("my & own", "", "name: my & own  # <b>", tuple(spec for spec, _ in odd)))
        store.record([result for _, result in odd], "{}")
    return folder


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
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def values(self, name: str) -> list[str | None]:
        return [attributes[name] for _, attributes in self.elements if name in attributes]

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]
