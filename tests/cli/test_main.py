from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest

from surewrite.cli import main as command_line
from surewrite.cli.main import Command, main
from surewrite.errors import SurewriteError


@pytest.fixture
def greet(monkeypatch: pytest.MonkeyPatch) -> Command:
    """A command whose exit code is the number it is given."""

    def configure(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--code", type=int, default=0)
        parser.add_argument("--raises", choices=["failure", "interrupt"])

    def run(arguments: argparse.Namespace) -> int:
        if arguments.raises == "failure":
            raise SurewriteError("the table is gone")
        if arguments.raises == "interrupt":
            raise KeyboardInterrupt
        print("greeted")
        return arguments.code

    module = ModuleType("greeting_command")
    module.configure = configure
    module.run = run
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return Command("greet", module.__name__, "say a greeting")


UNLOADABLE = Command("unloadable", "no_module_has_this_name", "a command that cannot be imported")


def test_the_code_of_the_command_is_the_exit_code(greet: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["greet", "--code", "7"], [greet]) == 7
    assert capsys.readouterr().out == "greeted\n"


def test_only_the_named_command_is_imported(greet: Command) -> None:
    assert main(["greet"], [UNLOADABLE, greet]) == 0
    with pytest.raises(ModuleNotFoundError):
        main(["unloadable"], [UNLOADABLE, greet])


def test_help_lists_every_command_and_imports_none(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_of_help:
        main(["--help"], [UNLOADABLE])
    assert exit_of_help.value.code == 0
    assert "unloadable" in (text := capsys.readouterr().out)
    assert UNLOADABLE.summary in text


def test_no_command_prints_help_and_is_a_usage_error(greet: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], [greet]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "greet" in printed.err


def test_an_unknown_command_is_a_usage_error(greet: Command, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_of_parser:
        main(["frobnicate"], [greet])
    assert exit_of_parser.value.code == 2
    assert "frobnicate" in capsys.readouterr().err


def test_an_error_of_the_library_is_one_line_and_code_1(greet: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["greet", "--raises", "failure"], [greet]) == 1
    assert capsys.readouterr().err == "surewrite: the table is gone\n"


def test_an_interrupt_ends_with_the_code_of_its_signal(greet: Command) -> None:
    assert main(["greet", "--raises", "interrupt"], [greet]) == 130


def test_version_is_the_version_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_of_version:
        main(["--version"])
    assert exit_of_version.value.code == 0
    assert capsys.readouterr().out == f"surewrite {version('surewrite')}\n"


def test_every_command_can_be_imported_and_configured() -> None:
    for command in command_line.COMMANDS:
        command.load().configure(argparse.ArgumentParser(prog=command.name))


def test_an_interrupt_while_a_command_is_loaded_ends_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(command: Command) -> ModuleType:
        raise KeyboardInterrupt

    monkeypatch.setattr(Command, "load", interrupted)
    assert main(["unloadable"], [UNLOADABLE]) == 130


def run_greeting(redirection: str, *words: str) -> subprocess.CompletedProcess[str]:
    """The greeting in a shell of its own, with streams that the shell closes or leads elsewhere."""
    program = (
        "import sys, types\n"
        "from surewrite.cli.main import Command, main\n"
        "from surewrite.errors import SurewriteError\n"
        "def run(arguments):\n"
        "    print('greeted')\n"
        "    if arguments.fail: raise SurewriteError('the table is gone')\n"
        "    return 7\n"
        "module = types.ModuleType('greeting')\n"
        "module.configure = lambda parser: parser.add_argument('--fail', action='store_true')\n"
        "module.run = run\n"
        "sys.modules['greeting'] = module\n"
        "sys.exit(main(sys.argv[1:], [Command('greet', 'greeting', 'say a greeting')]))\n"
    )
    command = shlex.join([sys.executable, "-c", program, *words])
    return subprocess.run(["/bin/sh", "-c", f"{command} {redirection}"], capture_output=True, text=True, timeout=60, check=False)


def test_a_closed_output_changes_no_exit_code() -> None:
    done = run_greeting(">&-", "greet")
    assert (done.returncode, done.stderr) == (7, "")


def test_what_belongs_on_a_closed_error_stream_is_not_printed_among_the_results() -> None:
    done = run_greeting("2>&-", "greet", "--fail")
    assert (done.returncode, done.stdout) == (1, "greeted\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("words", [("greet",), ("--version",)])
def test_an_output_that_takes_nothing_is_one_line_and_code_1(words: tuple[str, ...]) -> None:
    done = run_greeting("> /dev/full", *words)
    assert done.returncode == 1
    assert done.stderr.startswith("surewrite: ")
    assert done.stderr.count("\n") == 1


def test_a_reader_that_goes_away_ends_the_command_without_a_traceback() -> None:
    program = (
        "import sys, types\n"
        "from surewrite.cli.main import Command, main\n"
        "module = types.ModuleType('flood')\n"
        "module.configure = lambda parser: None\n"
        "module.run = lambda arguments: [print('x' * 100) for _ in range(100_000)] and 0\n"
        "sys.modules['flood'] = module\n"
        "sys.exit(main(['flood'], [Command('flood', 'flood', 'print much')]))\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        complaint = process.stderr.read()
        assert process.wait(timeout=30) == 141
    assert complaint == b""
