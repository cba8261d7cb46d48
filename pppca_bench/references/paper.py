"""The paper of a reference, and BibTeX entries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from annotated_types import Ge, Le, MinLen
from pydantic import AfterValidator, StringConstraints

from pppca_bench.references.selection import Text
from pppca_bench.yaml_files.section import Section, broken_rule, yaml_text


def is_orcid(text: str) -> bool:
    """Return whether a text is an ORCID without a prefix, with the right check digit (ISO 7064, mod 11-2)."""
    if not re.fullmatch(r"(\d{4}-){3}\d{3}[\dX]", text):
        return False
    digits = text.replace("-", "")
    total = 0
    for digit in digits[:-1]:
        total = (total + int(digit)) * 2
    return "0123456789X"[(12 - total % 11) % 11] == digits[-1]


def _checked(text: str) -> str:
    if not is_orcid(text):
        raise broken_rule(f"expected an ORCID such as 0000-0002-1825-0097, got {yaml_text(text)}")
    return text


Orcid = Annotated[str, AfterValidator(_checked)]
Doi = Annotated[str, StringConstraints(pattern=r"^10\.\d{4,9}/\S+$")]


def _whole_entry(text: str) -> str:
    """Return a BibTeX entry without spaces around it; raise ValidationError for other text."""
    entry = text.strip()
    if not re.fullmatch(r"@\w+\{.+\}", entry, re.DOTALL) or entry.count("{") != entry.count("}"):
        raise broken_rule(
            f"expected a BibTeX entry such as @article{{key, ...}}, got {yaml_text(text)}"
        )
    return entry


Bibtex = Annotated[str, AfterValidator(_whole_entry)]


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
    bibtex: Bibtex | None = None

    @property
    def entry(self) -> str:
        """Return the BibTeX entry."""
        if self.bibtex is not None:
            return self.bibtex
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
