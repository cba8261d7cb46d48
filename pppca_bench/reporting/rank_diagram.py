"""Critical-difference diagrams of rankings, written as SVG, PNG and CSV."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from pppca_bench.reporting.figure_drawing import add_note, page_svg, write_drawing
from pppca_bench.reporting.ranking import ALPHA, Contest, Ranking

TEXT_MARGIN = 0.01
"""Distance of names from the outermost ranks, in ranks."""


def ranking_svg(contest: Contest, ranking: Ranking) -> bytes:
    """Draw the critical-difference diagram of a ranking as SVG for a web page."""
    return page_svg(partial(draw_ranking, contest, ranking))


def write_ranking(contest: Contest, ranking: Ranking, out_dir: Path) -> list[Path]:
    """Write the critical-difference diagram of a ranking as SVG, PNG and, with its numbers, CSV."""
    numbers = ranking.errors.T.assign(mean_rank=ranking.mean_ranks).rename_axis("method").reset_index()
    return write_drawing(contest.id, partial(draw_ranking, contest, ranking), numbers, out_dir)


def draw_ranking(contest: Contest, ranking: Ranking) -> Drawing:
    """Draw a critical-difference diagram (Demšar 2006, figure 1)."""
    longest = max(len(str(method)) for method in ranking.errors)
    size = max(7.4, 3.4 + 0.16 * longest), 1.7 + 0.16 * len(ranking.mean_ranks)  # names on both sides
    drawing = Drawing(figsize=size, layout="constrained")
    ax = drawing.subplots()
    ax.grid(visible=False)
    ax.yaxis.set_visible(False)
    ax.xaxis.set_ticks_position("top")
    ax.spines[["left", "right", "bottom"]].set_visible(False)
    ax.spines["top"].set_visible(True)
    ax.spines["top"].set_position("zero")
    _name_methods(ax, ranking, below=_draw_bars(ax, ranking))
    drawing.suptitle(f"{contest.id}. {contest.title}", x=0.01, horizontalalignment="left", fontsize=10)
    permutations = f", {ranking.n_problems} problems," if ranking.n_problems > len(ranking.errors) else ""
    note = (
        f"Over {len(ranking.errors)} data sets{permutations} rank 1 has the least error. Methods that a bar joins do"
        f" not differ by Nemenyi's test (α = {ALPHA}: ranks must lie {ranking.critical_difference:.2f} apart)."
    )
    add_note(drawing, note)
    return drawing


def joined(ranking: Ranking) -> list[tuple[int, int]]:
    """Return the first and last place of the longest runs of methods that do not differ by Nemenyi's test.

    Its p value falls with the distance of two mean ranks, so that a run of which the ends do not differ has no pair
    that does.
    """
    p_values = ranking.nemenyi.loc[ranking.mean_ranks.index, ranking.mean_ranks.index].to_numpy()
    runs: list[tuple[int, int]] = []
    for first, row in enumerate(p_values):
        last = max(place for place, p in enumerate(row) if p >= ALPHA)
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs


def _draw_bars(ax: Axes, ranking: Ranking) -> int:
    """Draw a bar over each run of methods that do not differ, on as few levels as hold them; return the lowest."""
    ranks = ranking.mean_ranks.to_numpy()
    level_ends: list[float] = []
    for first, last in joined(ranking):
        free = (place for place, end in enumerate(level_ends) if end < ranks[first])
        level = next(free, len(level_ends))
        level_ends[level : level + 1] = [ranks[last]]
        ax.plot(ranks[[first, last]], [-level - 1] * 2, color="black", linewidth=2, zorder=3)
    return -len(level_ends)


def _name_methods(ax: Axes, ranking: Ranking, below: int) -> None:
    """Mark the mean ranks, and lead a line from each to its name: the better half to the left, the others right."""
    ranks = [(str(method), float(rank)) for method, rank in ranking.mean_ranks.items()]
    n_left = (len(ranks) + 1) // 2
    ax.plot(
        [rank for _, rank in ranks], [0.0] * len(ranks), "o", color="black", markersize=4.5, zorder=3, clip_on=False
    )
    left, right = ranks[0][1] - TEXT_MARGIN, ranks[-1][1] + TEXT_MARGIN
    for side, x, named in (("left", left, ranks[:n_left]), ("right", right, ranks[: n_left - 1 : -1])):
        for line, (method, rank) in enumerate(named, 1):
            ax.plot([x, rank, rank], [below - line, below - line, 0.0], color="black")
            text = f"{method} ({rank:.2f}) " if side == "left" else f" ({rank:.2f}) {method}"
            ax.text(x, below - line, text, va="center", ha="right" if side == "left" else "left")
