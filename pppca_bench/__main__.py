"""Entry point of ``pppca`` and ``python -m pppca_bench``.

It imports nothing at the top: worker processes import the main module of their parent.
"""


def main() -> None:
    """Run the command line."""
    from pppca_bench.cli import main as command_line

    command_line.main()


if __name__ == "__main__":
    main()
