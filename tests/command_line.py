"""Call the command line in this process."""

from click.testing import CliRunner, Result

from pppca_bench.cli.main import cli


def pppca(*arguments: object) -> Result:
    """Return what a command printed, and its exit code."""
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], prog_name="pppca")
