"""Run the command line as ``python -m pppca_bench``."""

from pppca_bench.cli import main

main()
