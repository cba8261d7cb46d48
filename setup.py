"""Put the configs into the built package: in the repository their one place is the folder configs/."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithConfigs(build_py):
    """Copy the experiments and studies to pppca_bench/configs; an editable install reads them in place."""

    def run(self) -> None:
        """Build, and copy."""
        super().run()
        if self.editable_mode:
            return
        for file in sorted([*Path("configs").glob("*.yaml"), *Path("configs/studies").glob("*.yaml")]):
            target = Path(self.build_lib, "pppca_bench", file)
            target.parent.mkdir(parents=True, exist_ok=True)
            self.copy_file(str(file), str(target))


setup(cmdclass={"build_py": BuildWithConfigs})
