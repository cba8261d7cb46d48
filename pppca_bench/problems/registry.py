"""Registry of the known problems: source, task, sizes and SHA-256."""

import csv
import difflib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Literal

from pppca_bench.errors import UnknownProblemError

Task = Literal["classification", "approximation"]
Source = Literal["proben1", "bundled"]

PROBEN1_URL = "https://github.com/jeffheaton/proben1/tree/1c63a400c5811fdd924510e08ccdba631d118c96"


@dataclass(frozen=True, slots=True)
class ProblemInfo:
    """Registry entry of a known problem.

    Attributes
    ----------
    name : str
        Name in configs and tables, such as ``"cancer1"``.
    source : {"proben1", "bundled"}
        Packaged file of the Proben1 collection, or data set that comes with scikit-learn.
    task : {"classification", "approximation"}
        From the file's header: outputs that are classes (``bool_out``) or numbers (``real_out``).
    n_features, n_outputs : int
        Columns of the inputs and of the outputs (1-of-n coded for classes).
    n_train, n_validation, n_test : int
        Examples of each split.
    sha256 : str
        Digest of the file (Proben1) or of the arrays (bundled), 64 hexadecimal digits.
    """

    name: str
    source: Source
    task: Task
    n_features: int
    n_outputs: int
    n_train: int
    n_validation: int
    n_test: int
    sha256: str

    @property
    def family(self) -> str:
        """Proben1 name without the number of the permutation; any other name unchanged."""
        return self.name[:-1] if self.source == "proben1" else self.name

    @property
    def filename(self) -> str:
        """Name of the file, such as ``"cancer1.dt"``."""
        return f"{self.name}.dt"


@cache
def registered() -> MappingProxyType[str, ProblemInfo]:
    """Return all known problems by name, Proben1 first, then the bundled problems, as a read-only mapping."""
    text = resources.files(__package__).joinpath("registry.csv").read_text(encoding="ascii")
    infos = {}
    for row in csv.DictReader(text.splitlines()):
        values: dict[str, Any] = {name: int(text) if name.startswith("n_") else text for name, text in row.items()}
        infos[row["name"]] = ProblemInfo(**values)
    return MappingProxyType(infos)


def known_problems(source: Source | None = None) -> list[str]:
    """Return the names that `load_problem` accepts, in registry order.

    Parameters
    ----------
    source : {"proben1", "bundled"}, optional
        Only the problems of this source; all of them by default.
    """
    return [info.name for info in registered().values() if source in (None, info.source)]


def problem_info(name: str) -> ProblemInfo:
    """Return the registry entry of a problem; raise UnknownProblemError for an unknown name."""
    info = registered().get(name)
    if info is None:
        raise UnknownProblemError(
            "problem: expected a name that `pppca data list` prints, or the path of a .dt file, "
            f"got {name!r}. {suggest(name)}"
        )
    return info


def suggest(name: str) -> str:
    """Return the sentence that suggests the known name nearest to a wrong name."""
    nearest = difflib.get_close_matches(name.lower().removesuffix(".dt"), known_problems(), n=1)
    return f"Did you mean {nearest[0]!r}?" if nearest else "Run `pppca data list` to see them all."
