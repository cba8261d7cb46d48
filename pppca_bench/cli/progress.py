"""The progress bar of the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(unit: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """Show one bar on stderr, once there is something to wait for.

    Parameters
    ----------
    unit : str
        What is counted.
    quiet : bool, default False
        Show nothing.

    Yields
    ------
    callable(n_finished, n_total) or None
        To be called with every step; None where nothing is shown.
    """
    if quiet:
        yield None
        return
    from tqdm import tqdm  # needed only here, and start-up time counts

    with tqdm(unit=unit, file=sys.stderr, dynamic_ncols=True, leave=False, delay=0.2) as bar:

        def show(n_finished: int, n_total: int) -> None:
            bar.total = n_total
            bar.update(n_finished - bar.n)

        yield show
