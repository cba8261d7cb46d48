"""Data of a caller as problems of a config."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pppca_bench.config.experiment import NAME
from pppca_bench.config.given import Table
from pppca_bench.errors import ConfigError
from pppca_bench.problems import OwnData, registered
from pppca_bench.yaml_files.source import YamlSource

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

GivenData = Mapping[
    str, Table | tuple["pd.DataFrame | ArrayLike", "pd.DataFrame | pd.Series[Any] | ArrayLike"]
]


def with_given(source: YamlSource, given: Collection[str], **changes: object) -> YamlSource:
    """Return a document with changed keys, and with the given problems if it names no problems."""
    if not isinstance(source.value, dict):
        return source
    problems = {"problems": tuple(given)} if given else {}
    return replace(source, value={**problems, **source.value, **changes})


@contextmanager
def saved(problems: GivenData) -> Iterator[dict[str, OwnData]]:
    """Save given data in temporary files, which worker processes can read; yield the declarations by name."""
    with tempfile.TemporaryDirectory(prefix="pppca-") as folder:
        given = {}
        for number, (name, data) in enumerate(problems.items()):
            if name in registered() or not (isinstance(name, str) and NAME.fullmatch(name)):
                rule = "a name of letters, digits, _ and - that is not the name of a known problem"
                raise ConfigError(f"problems: expected {rule}, got {name!r}. Choose another name.")
            table = data if isinstance(data, Table) else Table(*data)
            given[name] = table.save(name, Path(folder, f"{number}.pickle"))
        yield given
