"""Formats of documents, which the command line offers; this module imports nothing, so that commands start fast."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Format = Literal["terminal", "markdown", "latex", "csv", "json"]

EXTENSIONS: Mapping[Format, str] = {
    "terminal": "txt",
    "markdown": "md",
    "latex": "tex",
    "csv": "csv",
    "json": "json",
}
"""Extensions of files."""

SEPARATORS: Mapping[Format, str] = {"csv": ","}
"""Separators of the values of records."""

RECORDS: tuple[Format, ...] = (*SEPARATORS, "json")
"""Formats of records; the others are texts."""
