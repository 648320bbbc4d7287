"""The command line: `tracejit` or `python -m tracejit`.

One module per family of commands. A command is a function that takes the parsed arguments, prints,
and returns the exit code; its family's `add` declares it. What commands say goes to stdout, what
went wrong, and notes on it, to stderr.

Exit codes are the same everywhere: 0 where all is well, 1 where what was looked at is not, 2 where
the request itself makes no sense, 130 after Ctrl-C.
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Sequence
from typing import TextIO

from tracejit.cache.settings import CacheWarning
from tracejit.cli.command_line import parser
from tracejit.cli.output import Refusal, complain
from tracejit.support.errors import KernelError, TracejitError, fail


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; `argv` defaults to the words after `tracejit`.

    >>> main(["no-such-command"])
    2
    """
    for stream in (sys.stdout, sys.stderr):
        # Kernels hold the user's names; not every terminal knows every letter.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        arguments = parser().parse_args(argv)
    except SystemExit as end:  # argparse has said why
        return int(end.code or 0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default", CacheWarning)
            warnings.showwarning = _show_warning
            code: int = arguments.run(arguments)
            sys.stdout.flush()
            return code
    except Refusal as refusal:
        complain(str(refusal))
        return refusal.code
    except KernelError as error:
        complain(str(error).partition("\n")[0])
        return 1
    except TracejitError as error:
        complain(f"{type(error).__name__}: {_without_our_line(error)}")
        return 1
    except BrokenPipeError:  # the reader has seen enough: `tracejit show KEY | head`
        _write_no_more()
        return 1
    except OSError as error:
        try:
            sys.stdout.flush()
        except OSError:
            _write_no_more()
        complain(": ".join([str(x) for x in (error.filename, error.strerror) if x] or [str(error)]))
        return 2
    except (MemoryError, RecursionError):
        complain("there is not enough memory for this")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("\n")  # a progress bar may be there
        complain("interrupted")
        return 130


def _write_no_more() -> None:
    """Let Python, which flushes once more at exit, write nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _without_our_line(error: TracejitError) -> TracejitError:
    """`error` without the line that runs the command, which is none of the user's."""
    ours = ("<frozen ", sys.argv[0])
    if error.where is None or not error.row or not error.where.filename.startswith(ours):
        return error
    return fail(error.row, None, **error.words)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    complain(str(message))
