"""A small reference of a user."""

from pathlib import Path

import yaml

MINIMAL = {
    "title": "A paper",
    "citation": "Somebody 1994",
    "verdicts": [{"quantities": ["test_error_percent"], "margin": 1.0}],
    "tables": [
        {
            "id": "A1",
            "title": "Errors",
            "place": "table 1",
            "row_header": "Problem",
            "rows": {"problem": ["iris", "wine"]},
            "columns": [{"key": "PCA", "runs": {"method": "pca"}}, {"key": "theirs"}],
            "shows": ["test_error_percent"],
        }
    ],
}
NUMBERS = "table,row,column,quantity,value,sd\nA1,iris,PCA,test_error_percent,4.67,1.2\n"
FIGURE = {
    "id": "G1",
    "title": "Curves",
    "place": "figure 1",
    "step": "epoch",
    "y_label": "nodes left",
    "quantity": "dimensionality",
    "runs": {"method": "dgha", "tau": 10},
    "curves": {"problem": ["iris", "wine"]},
}


def written(folder: Path, document: object = MINIMAL, numbers: str | bytes = NUMBERS) -> Path:
    """Write a reference into a folder, and return the folder."""
    text = yaml.safe_dump(document, allow_unicode=True)
    (folder / "reference.yaml").write_text(text, encoding="utf-8")
    (folder / "numbers.csv").write_bytes(numbers.encode() if isinstance(numbers, str) else numbers)
    return folder


def with_table(**changes: object) -> dict:
    """Return the minimal document with keys of its table changed, or left out where they are None."""
    table = {**MINIMAL["tables"][0], **changes}
    return MINIMAL | {"tables": [{key: value for key, value in table.items() if value is not None}]}
