"""Every command's help ends with examples, and these are calls that the command takes."""

import shlex
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from pppca_bench.cli.main import cli

HEADING = "Examples:"


def commands(command: click.Command, *names: str) -> Iterator[tuple[str, ...]]:
    yield names
    if isinstance(command, click.Group):
        for name, part in command.commands.items():
            yield from commands(part, *names, name)


def examples_of(*names: str) -> list[str]:
    """Return the calls at the end of a command's help, as it prints them."""
    shown = CliRunner().invoke(cli, [*names, "--help"], prog_name="pppca").stdout
    _, heading, end = shown.rpartition(f"\n  {HEADING}\n")
    assert heading, f"{names} has no examples"
    return [line.strip() for line in end.splitlines()]


def parse(arguments: list[str]) -> click.Context:
    """Parse a call as the command line does, and run nothing."""
    command, context = cli, cli.make_context("pppca", list(arguments))
    while isinstance(command, click.Group):
        name, command, arguments = command.resolve_command(context, context._protected_args + context.args)
        context = command.make_context(name, list(arguments), parent=context)
    return context


@pytest.mark.parametrize("names", list(commands(cli)), ids=lambda names: " ".join(names) or "pppca")
def test_the_help_ends_with_calls_that_the_command_line_takes(names):
    calls = examples_of(*names)
    assert calls
    for call in calls:
        program, *arguments = shlex.split(call)
        assert program == "pppca", call
        if ">" in arguments:
            arguments = arguments[: arguments.index(">")]
        parse(arguments)
    assert any(call.startswith(" ".join(["pppca", *names])) for call in calls)


def test_a_call_that_the_command_line_does_not_take_is_found():
    with pytest.raises(click.NoSuchOption):
        parse(["tables", "--tabel", "T5"])
    with pytest.raises(click.BadParameter):
        parse(["export", "--format", "xml"])
