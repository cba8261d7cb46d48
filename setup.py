"""Copy the configs, the data archives and the citations, which are outside the package, into a built package."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

PACKAGED = (
    "configs/*.yaml",
    "data/*.tar.xz",
    "data/uci/*.csv.xz",
    "data/README.md",
    "CITATION.cff",
)


class BuildWithData(build_py):
    """Copy the files into pppca_bench; an editable install reads them in place."""

    def run(self) -> None:
        """Build, and copy."""
        super().run()
        if self.editable_mode:
            return
        for file in sorted(path for pattern in PACKAGED for path in Path().glob(pattern)):
            target = Path(self.build_lib, "pppca_bench", file)
            target.parent.mkdir(parents=True, exist_ok=True)
            self.copy_file(str(file), str(target))


setup(cmdclass={"build_py": BuildWithData})
