"""Belongs here: arguments, exit codes, help. Must not be here: work.

A command is a module with two functions: ``configure(parser)`` adds its arguments, ``run(arguments)`` does the work and
returns the exit code. It is imported only when it is named on the command line, so that help and version stay quick.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

from surewrite.errors import InvalidRequest, SurewriteError

EXIT_FAILED = 1
EXIT_USAGE = 2
# What a shell reports for a process that ended by SIGINT and SIGPIPE: 128 and the number of the signal.
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141


class CommandModule(Protocol):
    """What the module of a command offers."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's arguments and its description to the parser."""
        ...

    def run(self, arguments: argparse.Namespace) -> int:
        """Do the work. Return the exit code: 0 only if all is right."""
        ...


@dataclass(frozen=True, slots=True)
class Command:
    """One command: the word that names it, the module that does it, and its line in the help."""

    name: str
    module: str
    summary: str

    def load(self) -> CommandModule:
        """Import the command's module."""
        return cast("CommandModule", importlib.import_module(self.module))


COMMANDS: tuple[Command, ...] = (
    Command("simulate", "surewrite.cli.simulate", "run clients through seeded schedules of faults and check every word that they are told"),
    Command("race", "surewrite.cli.race", "write from several processes that lose answers and die, with a plain client and with Surewrite"),
)


def version_text() -> str:
    """The version of the installed package."""
    from importlib.metadata import version  # noqa: PLC0415 - reading metadata costs more than the rest of the start

    return version("surewrite")


class _VersionAction(argparse.Action):
    """Reads the version when it is asked for: argparse's own action wants it beforehand."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(f"surewrite {version_text()}")
        parser.exit()


def build_parser(commands: Sequence[Command], named: str | None) -> tuple[argparse.ArgumentParser, CommandModule | None]:
    """Make the parser; load and configure only the command that is named.

    Returns:
        The parser, and the module of the named command, or None if no command has that name.
    """
    parser = argparse.ArgumentParser(prog="surewrite", description="Writes to DynamoDB that race, or are sent twice, and still leave the right state.")
    parser.add_argument("--version", action=_VersionAction, nargs=0, help="print the version and exit")
    loaded: CommandModule | None = None
    if commands:
        subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
        for command in commands:
            subparser = subparsers.add_parser(command.name, help=command.summary, description=command.summary)
            if command.name == named:
                loaded = command.load()
                loaded.configure(subparser)
    return parser, loaded


def main(arguments: Sequence[str] | None = None, commands: Sequence[Command] = COMMANDS) -> int:
    """Run the command line and return its exit code: 2 for a call that cannot be understood, 1 for a command that failed."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _open_closed_streams()
    try:
        code = _run(words, commands)
        sys.stdout.flush()
    except SurewriteError as error:
        print(f"surewrite: {error}", file=sys.stderr)
        # Code 1 is for a promise that is broken, and a wrong option breaks none.
        return EXIT_USAGE if isinstance(error, InvalidRequest) else EXIT_FAILED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return EXIT_BROKEN_PIPE
    except OSError as error:
        # A full disk behind the output, or a folder that cannot be written.
        _drop_output()
        print(f"surewrite: {error}", file=sys.stderr)
        return EXIT_FAILED
    return code


def _run(words: Sequence[str], commands: Sequence[Command]) -> int:
    # No option of the parser above the commands takes a value, so the first word that is no option names the command.
    named = next((word for word in words if not word.startswith("-")), None)
    parser, command = build_parser(commands, named)
    parsed = parser.parse_args(words)
    if command is None:
        parser.print_help(sys.stderr)
        return EXIT_USAGE
    return command.run(parsed)


def _open_closed_streams() -> None:
    """A stream that was closed before the start is ``None``, which ``print`` takes for standard output."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - it lives as long as the process


def _drop_output() -> None:
    """Whoever reads the output has gone, or there is no room for it: without this the interpreter fails once more when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
