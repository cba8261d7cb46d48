"""The paper of a reference, and BibTeX entries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from annotated_types import Ge, Le, MinLen
from pydantic import StringConstraints

from pppca_bench.references.selection import Text
from pppca_bench.yaml_files.section import Section

Orcid = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{4}-\d{4}-\d{3}[\dX]$")]
Doi = Annotated[str, StringConstraints(pattern=r"^10\.\d{4,9}/\S+$")]


class Author(Section):
    """Author of a paper: the name, "Family, Given" or as printed, and the ORCID identifier."""

    name: Text
    orcid: Orcid | None = None


class Paper(Section):
    """Mapping ``paper:`` of a reference: the work that printed its numbers.

    ``bibtex`` is its complete BibTeX entry, printed in place of an entry of the other keys.
    """

    title: Text
    authors: Annotated[tuple[Author, ...], MinLen(1)]
    year: Annotated[int, Ge(1000), Le(9999)] | None = None
    doi: Doi | None = None
    bibtex: Text | None = None

    @property
    def entry(self) -> str:
        """Return the BibTeX entry."""
        if self.bibtex is not None:
            return self.bibtex.strip()
        fields = {
            "author": " and ".join(author.name for author in self.authors),
            "title": f"{{{self.title}}}",
            "year": self.year,
            "doi": self.doi,
        }
        return bibtex_entry("article" if self.doi else "misc", self.title, fields)


def bibtex_entry(kind: str, title: str, fields: Mapping[str, object]) -> str:
    """Return a BibTeX entry of the fields with a value; the beginning of the title is its key."""
    key = re.sub(r"\W+", "", title.partition(":")[0].partition(".")[0]).lower()
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])
