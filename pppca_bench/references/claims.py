"""Claims of a source that compare two columns, or two rows, of a table: "X errs less than Y on 7 of 10 problems"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from annotated_types import Ge

from pppca_bench.errors import nearest
from pppca_bench.references.layout import Layout
from pppca_bench.references.selection import Text
from pppca_bench.runs import Names
from pppca_bench.yaml_files.section import UNSET, Section


class Claim(Section):
    """Claim that one of two columns has the smaller (or larger) number in so many rows, or a row in so many columns.

    The number of a cell is the mean of its runs, or the published number of a cell that no run can fill.
    """

    claim: Text  # in the words of the source
    place: Text  # where the source makes it
    table: Text
    compare: tuple[Text, Text]  # keys of two columns, or of two rows
    by: Literal["rows", "columns"] = "rows"  # that are counted
    count: Literal["less", "more"] = (
        "less"  # where the first of the two has less, or more, than the second
    )
    quantity: Text = UNSET  # by default, the first that the cells show
    expected: Annotated[int, Ge(0)]  # number of these rows or columns

    def unknown_names(self, layouts: Mapping[str, Layout]) -> Iterator[tuple[str, str]]:
        """Yield the key, and the error, of each name that no layout has."""
        if self.table not in layouts:
            yield "table", f"expected some of {'; '.join(layouts)}, got {self.table!r}"
            return
        layout = layouts[self.table]
        known = [line.key for line in (layout.columns if self.by == "rows" else layout.rows)]
        for name in self.compare:
            if name not in known:
                hint = nearest(name, known)
                yield "compare", f"expected two of {'; '.join(known)}, got {name!r}{hint}"
        if len({*self.compare}) == 1:
            yield (
                "compare",
                f"expected two different {'columns' if self.by == 'rows' else 'rows'}, got one twice",
            )
        if self.quantity and self.quantity not in layout.all_quantities:
            shown = "; ".join(layout.all_quantities)
            yield "quantity", f"expected some of {shown}, got {self.quantity!r}"
        n_places = len(layout.rows if self.by == "rows" else layout.columns)
        if self.expected > n_places:
            yield "expected", f"expected at most the {n_places} {self.by}, got {self.expected}"

    def cells(self, layout: Layout) -> list[tuple[tuple[str, str], tuple[str, str], str]]:
        """Return the row and column of both cells, and the quantity, in each counted row or column."""
        pairs = []
        for line in layout.rows if self.by == "rows" else layout.columns:
            first, second = ((line.key, key) for key in self.compare)
            if self.by == "columns":
                first, second = first[::-1], second[::-1]
            pairs.append((first, second, self.quantity or self._first_shown(layout, first)))
        return pairs

    @staticmethod
    def _first_shown(layout: Layout, cell: tuple[str, str]) -> str:
        rows = {line.key: line for line in layout.rows}
        columns = {line.key: line for line in layout.columns}
        shown: Names = layout.quantities(rows[cell[0]], columns[cell[1]])
        return shown[0]
