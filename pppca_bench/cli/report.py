"""The ``pppca report`` command: all results on a single HTML page."""

from __future__ import annotations

from pathlib import Path

import click

from pppca_bench.cli._shared import DATABASE, FILE, examples, results_option
from pppca_bench.cli.rules import addresses
from pppca_bench.errors import StoreError
from pppca_bench.files import atomic_write


@click.command(epilog=examples("pppca report", "pppca report --results results/demo --out demo.html"))
@results_option
@click.option("--out", type=FILE, help="File to write [default: RESULTS/report.html].")
def report(results: Path, out: Path | None) -> None:
    """Write all results on a single HTML page.

    The page has findings, tables, figures, ranks, rules and provenance. It needs no other file and no network, and can
    be read without scripts.
    """
    from pppca_bench.references.reference import own_references
    from pppca_bench.reporting.html import gather, render_report
    from pppca_bench.reporting.snapshot import take_snapshot
    from pppca_bench.store.database import Store

    with Store(results / DATABASE, read_only=True) as store:
        snapshot = take_snapshot(store, own_references())
        if not snapshot.results.cells:
            raise StoreError(f"no runs in {results / DATABASE}: run `pppca run CONFIG` first.")
        page = render_report(gather(snapshot, store, addresses()))
    path = out or results / "report.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, page)
    click.echo(f"Wrote {path} ({len(page.encode()) / 1e6:.1f} MB).")
