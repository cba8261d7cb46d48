"""Shell completion of arguments: names of configs and problems, and files."""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem

_FILES = CompletionItem("", type="file")


def complete_experiments(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the shipped experiments and files."""
    from pppca_bench.config.shipped import shipped_experiments

    return [_FILES, *_beginning(incomplete, shipped_experiments())]


def complete_studies(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the shipped studies and files."""
    from pppca_bench.config.shipped import shipped_studies

    return [_FILES, *_beginning(incomplete, shipped_studies())]


def complete_proben1(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the Proben1 problems."""
    from pppca_bench.problems import known_problems

    return _beginning(incomplete, known_problems("proben1"))


def _beginning(incomplete: str, names: Iterable[str]) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
