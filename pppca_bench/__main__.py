"""Run the command line as ``pppca`` or ``python -m pppca_bench``.

Worker processes import the module that their parent was started with, which is this one: it imports nothing at once.
"""


def main() -> None:
    """Run the command line."""
    from pppca_bench.cli import main as command_line

    command_line.main()


if __name__ == "__main__":
    main()
