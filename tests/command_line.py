"""The command line called in this process, and a config whose run is long enough to be interrupted."""

from click.testing import CliRunner, Result

from pppca_bench.cli.main import cli

# Quick first, then a run that would take minutes: a good moment to be interrupted.
LONG = """\
name: long
problems: [wdbc]
repeats: 1
seed: 1
methods:
  - {method: gha, n_epochs: 1}
  - {method: gha, n_epochs: 1000000}
classifier: {hidden: [], max_epochs: 5}
"""


def pppca(*arguments: object) -> Result:
    """Return what a command printed, and its exit code."""
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], prog_name="pppca")


def printed(*arguments: object, code: int = 0) -> str:
    """Return what a command that ends with this exit code prints: the errors, then the rest."""
    result = pppca(*arguments)
    assert result.exit_code == code, result.output
    return result.stderr + result.stdout
