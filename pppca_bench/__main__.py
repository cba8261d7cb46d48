"""Entry point of ``pppca`` and ``python -m pppca_bench``.

It imports nothing slow at the top: worker processes import the main module of their parent.
"""

import os
import sys


def main() -> None:
    """Run the command line."""
    from pppca_bench.cli import main as command_line

    command_line.main()


if __name__ == "__main__":
    # `python -m` looks for modules in the working directory first: a random.py there would replace Python's.
    if sys.path[0] == os.getcwd() != __file__.rpartition("pppca_bench")[0].rstrip(os.sep):  # noqa: PTH109
        sys.path.append(sys.path.pop(0))
    main()
