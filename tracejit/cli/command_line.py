"""The grammar of the command line: every command with its options, examples and exit codes."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

from tracejit.cli import demonstration, gradient_check, health, inspection, inventory, shipping
from tracejit.support.words import printable
from tracejit.version import __version__

Run: TypeAlias = Callable[[argparse.Namespace], int]

EXIT_CODES = """exit codes:
  0    all is well
  1    something is wrong: a damaged file, a difference, a wrong gradient, an error in your code
  2    the request makes no sense: an unknown name, a missing argument
  130  interrupted by Ctrl-C"""

FAMILIES = (demonstration, inspection, inventory, shipping, gradient_check, health)


class Parser(argparse.ArgumentParser):
    """A parser that says what is wrong without the control characters of the words that it got."""

    def error(self, message: str) -> NoReturn:
        """Say it, and end with exit code 2."""
        super().error(printable(message))


class Commands:
    """The commands of the parser, to which each family adds its own."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        """No command yet."""
        self._made = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(self, name: str, run: Run, what: str, examples: str) -> argparse.ArgumentParser:
        """Add a command: `what` it does, in the imperative, and `examples`, one a line."""
        lines = "\n".join(f"  {line}" for line in examples.strip().splitlines())
        made = self._made.add_parser(
            name,
            help=what,
            description=f"{what[0].upper()}{what[1:]}.",
            epilog=f"examples:\n{lines}\n\n{EXIT_CODES}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        made.add_argument("--json", action="store_true", help="print one JSON document instead")
        made.set_defaults(run=run)
        return made


def parser() -> argparse.ArgumentParser:
    """The parser of `tracejit`: of the parsed arguments, `run` is the command's function."""
    made: Any = Parser(
        prog="tracejit",
        description="Gradients of plain NumPy functions, as NumPy code.",
        epilog=f"`tracejit COMMAND --help` shows examples.\n\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--version", action="version", version=f"tracejit {__version__}")
    commands = Commands(made)
    for family in FAMILIES:
        family.add(commands)
    return made  # type: ignore[no-any-return]
