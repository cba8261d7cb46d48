"""Run the command line as ``python -m pppca_bench``."""

from pppca_bench.cli.main import main

main()
