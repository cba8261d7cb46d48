"""The paper on the slides and the Proben1 report: its references, and what they need beyond YAML.

The instrument works without it: it enters by the entry points of a package, as a user's package would
(docs/extending.md).
"""

from pathlib import Path

_FOLDER = Path(__file__).with_name("references")

REFERENCES = tuple(
    _FOLDER / name
    for name in ("slides", "proben1_report", "hebbian_iris", "today", "early_stopping")
)
"""Folders of the references, in the order of print: entry point of the group ``pppca_bench.references``."""
