"""The command line: `tracejit` or `python -m tracejit`.

One function per command: it takes the parsed arguments, prints, and returns the exit code: 0 where
all is well, 1 where what was looked at is not, 2 where the request itself makes no sense. A new
command is such a function and an entry in `_parser`. What the commands say goes to stdout, what
went wrong to stderr.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import io
import os
import platform
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from tracejit.cache.key import key_of
from tracejit.cache.notices import CacheWarning
from tracejit.cache.settings import location, size_limit
from tracejit.cache.store import Store, StoredKernel
from tracejit.support.errors import KernelError
from tracejit.version import __version__

_DAY = 86400.0
_KEY_HELP = "the name of a kernel, or the first digits of its key"


class Refusal(Exception):
    """A command that cannot be carried out: why, and the exit code."""

    def __init__(self, why: str, code: int = 2) -> None:
        """`why` is shown to the user, who then sees `code`."""
        super().__init__(why)
        self.code = code


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
        arguments = _parser().parse_args(argv)
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
        _complain(str(refusal))
        return refusal.code
    except KernelError as error:
        _complain(str(error).partition("\n")[0])
        return 1
    except BrokenPipeError:
        # The reader has seen enough (`tracejit show KEY | head`). Python flushes once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("\n")  # a progress bar may be there
        _complain("interrupted")
        return 130


def _demo(arguments: argparse.Namespace) -> int:
    try:
        demo = importlib.import_module("tracejit.demo")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "sklearn":
            raise
        _complain(str(error))
        return 1
    code: int = demo.main() if arguments.epochs is None else demo.main(arguments.epochs)
    return code


def _ls(arguments: argparse.Namespace) -> int:
    entries = _store().entries()
    width = max((len(entry.name) for entry in entries), default=0)
    for entry in entries:
        damage = "" if entry.intact else "  damaged"
        print(f"{entry.name:{width}}  {_size(entry.bytes):>9}  {_date(entry.mtime):16}{damage}")
    print(_total(entries))
    return 0


def _path(arguments: argparse.Namespace) -> int:
    print(_folder())
    return 0


def _show(arguments: argparse.Namespace) -> int:
    store = _store()
    sys.stdout.write(store.read(_find(store, arguments.key)))
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    store = _store()
    wanted = None if arguments.key is None else _find(store, arguments.key)
    entries = [entry for entry in store.entries() if wanted in (None, entry.name)]
    damaged = [entry for entry in entries if not entry.intact]
    for entry in damaged:
        print(_damage(store, entry))
    print(_total(entries))
    return 1 if damaged else 0


def _prune(arguments: argparse.Namespace) -> int:
    store = _store()
    age = None if arguments.max_age is None else arguments.max_age * _DAY
    removed = store.prune(arguments.max_bytes, age)
    print(f"removed {_kernels(removed)}; {_total(store.entries())}")
    return 0


def _doctor(arguments: argparse.Namespace) -> int:
    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
    _line("python", f"{platform.python_version()}, {system}")
    for package in ("numpy", "astor"):
        _line(package, _version(package))
    _line("tracejit", __version__)
    for package, extra in (("scipy", "scipy"), ("scikit-learn", "demo")):
        _line(package, _version(package, f"not installed (pip install 'tracejit[{extra}]')"))
    _line("blas", _blas())
    settings = sorted(
        f"{name}={value}"
        for name, value in os.environ.items()
        if name.startswith("TRACEJIT_") or name.endswith("_NUM_THREADS")
    )
    _line("environment", ", ".join(settings) or "nothing set")
    try:
        _line("cache", str(_folder()))
        store = _store()
    except Refusal as refusal:
        _line("", str(refusal))
        return 0 if location() == (None, None) else 1
    entries = store.entries()
    limit = size_limit()
    _line("kernels", _total(entries))
    _line("limit", "none (TRACEJIT_CACHE_SIZE=0)" if limit is None else _size(limit))
    damaged = [_damage(store, entry) for entry in entries if not entry.intact]
    for problem in damaged:
        _line("", problem)
    return 1 if damaged else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tracejit", description="Gradients of plain NumPy functions, as NumPy code."
    )
    parser.add_argument("--version", action="version", version=f"tracejit {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, run: Any, what: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=what, description=f"{what[0].upper()}{what[1:]}.")
        made.set_defaults(run=run)
        return made

    demo = command("demo", _demo, "train on real data, then show the generated gradient code")
    demo.add_argument("--epochs", type=_positive, metavar="N", help="how often to see each image")
    command("ls", _ls, "list the kernels in the cache")
    show = command("show", _show, "print the text of a kernel in the cache")
    show.add_argument("key", metavar="KEY", help=_KEY_HELP)
    verify = command("verify", _verify, "check that kernels are what tracejit wrote; 1 if not")
    verify.add_argument("key", metavar="KEY", nargs="?", help=f"{_KEY_HELP}; all without it")
    prune = command(
        "prune", _prune, "delete kernels by age or size, and what interrupted processes left"
    )
    prune.add_argument(
        "--max-bytes", type=_whole, metavar="N", help="keep those last used, up to N bytes"
    )
    prune.add_argument("--max-age", type=_days, metavar="DAYS", help="delete what is unused")
    command("path", _path, "print where the cache is")
    command("doctor", _doctor, "show versions, BLAS and the health of the cache; 1 if not good")
    return parser


def _positive(text: str) -> int:
    if not (number := _whole(text)):
        raise argparse.ArgumentTypeError("1 is the least")
    return number


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def _days(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not number >= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of days")
    return number


def _folder() -> Path:
    path, problem = location()
    if path is None:
        raise Refusal(problem or "the cache is off (TRACEJIT_CACHE=0, or no home directory)", 1)
    return path


def _store() -> Store:
    """The kernels on disk, where they can be trusted."""
    store = Store(_folder())
    problem = store.problem()
    if problem is not None:
        raise Refusal(f"the cache cannot be used: {store.path}: {problem}", 1)
    return store


def _find(store: Store, wanted: str) -> str:
    """The one kernel that has this name, or whose key begins like this."""
    names = store.names()
    if wanted in names:
        return wanted
    short = wanted[:8].lower()
    found = [name for name in names if short and name.rpartition("__")[2].startswith(short)]
    if len(wanted) > 8:
        found = [n for n in found if (key_of(store.read(n)) or "").startswith(wanted.lower())]
    if not found:
        raise Refusal(f"no kernel in {store.path} is called {wanted!r} or has such a key")
    if len(found) > 1:
        raise Refusal(f"{wanted!r} begins the keys of several kernels: {', '.join(found)}")
    return found[0]


def _damage(store: Store, entry: StoredKernel) -> str:
    """What is wrong with a kernel that is not intact, which therefore does not run."""
    try:
        store.load(entry.name)
    except KernelError as error:
        return str(error).partition("\n")[0]
    return f"{entry.name}: intact by now"


def _total(entries: Sequence[StoredKernel]) -> str:
    damaged = sum(not entry.intact for entry in entries)
    health = f", {damaged} damaged" if damaged else ", all intact" if entries else ""
    return f"{_kernels(len(entries))}, {_size(sum(entry.bytes for entry in entries))}{health}"


def _kernels(count: int) -> str:
    return f"{count} kernel{'' if count == 1 else 's'}"


def _size(count: int) -> str:
    """Bytes as people write them, in powers of 1000."""
    if count < 1000:
        return f"{count} B"
    size, unit = count / 1e3, "kB"
    for larger in ("MB", "GB", "TB"):
        if size < 999.95:
            break
        size, unit = size / 1e3, larger
    return f"{size:.1f} {unit}"


def _date(seconds: float) -> str:
    """A time on this machine's clock; files may carry times that no calendar has."""
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
    except (ValueError, OverflowError, OSError):
        return "no date"


def _version(package: str, missing: str = "not installed as a package") -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return missing


def _blas() -> str:
    """The BLAS that NumPy was built with."""
    built: Any = np.show_config(mode="dicts")
    blas = built.get("Build Dependencies", {}).get("blas", {})
    return f"{blas.get('name', 'unknown')} {blas.get('version', '')}".rstrip()


def _line(topic: str, what: str) -> None:
    print(f"{topic:<13} {what}".rstrip())


def _complain(text: str) -> None:
    print(f"tracejit: {text}", file=sys.stderr)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    _complain(str(message))
