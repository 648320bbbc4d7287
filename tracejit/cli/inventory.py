"""Commands for the cache as a whole: `ls`, `path`, `verify` and `prune`; and its kernels by name,
key or prefix."""

from __future__ import annotations

import argparse
import fnmatch
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tracejit.cache.key import key_of
from tracejit.cache.settings import location
from tracejit.cache.store import Store, StoredKernel
from tracejit.cli.numbers_given import amount, days
from tracejit.cli.output import Refusal, complain, date, kernels, print_json, say, size, timestamp
from tracejit.support.errors import KernelError
from tracejit.support.options import nearest

DAY = 86400.0
KEY_HELP = "the name of a kernel or of its function, or the first digits of its key"
ORDERS: dict[str, Any] = {
    "name": lambda entry: entry.name,
    "date": lambda entry: -entry.mtime,
    "size": lambda entry: -entry.bytes,
}


def add(commands: Any) -> None:
    """Declare the commands."""
    ls = commands.command(
        "ls",
        _ls,
        "list the kernels in the cache",
        "tracejit ls\ntracejit ls loss --sort date\ntracejit ls 'train_*' --larger 100k --json",
    )
    ls.add_argument("name", metavar="NAME", nargs="?", help=f"{KEY_HELP}; * stands for anything")
    ls.add_argument("--damaged", action="store_true", help="only kernels that do not run")
    ls.add_argument("--larger", type=amount, metavar="SIZE", help="only kernels larger than SIZE")
    ls.add_argument("--older", type=days, metavar="DAYS", help="only kernels not used for DAYS")
    ls.add_argument("--newer", type=days, metavar="DAYS", help="only kernels used within DAYS")
    ls.add_argument("--sort", choices=ORDERS, default="name", help="the order of the list (name)")
    commands.command("path", _path, "print where the cache is", "cd $(tracejit path)")
    verify = commands.command(
        "verify",
        _verify,
        "check that kernels are as tracejit wrote them; 1 if not",
        "tracejit verify\ntracejit verify loss\ntracejit verify 3f9a1c07",
    )
    verify.add_argument(
        "key", metavar="KEY", nargs="?", help=f"{KEY_HELP}; all kernels if left out"
    )
    prune = commands.command(
        "prune",
        _prune,
        "delete kernels by age or size, and files of interrupted processes",
        "tracejit prune --max-age 30\ntracejit prune --max-bytes 100M\ntracejit prune",
    )
    prune.add_argument(
        "--max-bytes", type=amount, metavar="SIZE", help="keep the last used kernels, up to SIZE"
    )
    prune.add_argument("--max-age", type=days, metavar="DAYS", help="delete what is unused")


def _ls(arguments: argparse.Namespace) -> int:
    entries = store().entries()
    if arguments.name is not None:
        named = set(matching(arguments.name, [entry.name for entry in entries]))
        entries = [entry for entry in entries if entry.name in named]
    entries = sorted(_filtered(entries, arguments), key=ORDERS[arguments.sort])
    if arguments.json:
        print_json([record(entry) for entry in entries])
        return 0
    width = max((len(entry.name) for entry in entries), default=0)
    for entry in entries:
        damage = "" if entry.intact else "  damaged"
        say(f"{entry.name:{width}}  {size(entry.bytes):>9}  {date(entry.mtime):16}{damage}")
    say(total(entries))
    return 0


def _filtered(
    entries: Iterable[StoredKernel], arguments: argparse.Namespace
) -> Iterable[StoredKernel]:
    now = time.time()
    for entry in entries:
        age = (now - entry.mtime) / DAY
        if (
            (entry.intact and arguments.damaged)
            or (arguments.larger is not None and entry.bytes <= arguments.larger)
            or (arguments.older is not None and not age > arguments.older)
            or (arguments.newer is not None and not age <= arguments.newer)
        ):
            continue
        yield entry


def record(entry: StoredKernel) -> dict[str, Any]:
    """A kernel on disk, for JSON."""
    return {
        "name": entry.name,
        "function": entry.function,
        "key": entry.key,
        "signature": entry.signature,
        "path": str(entry.path),
        "bytes": entry.bytes,
        "last_used": timestamp(entry.mtime),
        "intact": entry.intact,
    }


def _path(arguments: argparse.Namespace) -> int:
    path = str(_folder())
    if arguments.json:
        print_json({"path": path})
    else:
        say(path)
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    there = store()
    entries = there.entries()
    if arguments.key is not None:
        named = set(matching(arguments.key, [entry.name for entry in entries], there))
        if not named:
            raise _unknown(arguments.key, there)
        entries = [entry for entry in entries if entry.name in named]
    damaged = {entry.name: damage(there, entry) for entry in entries if not entry.intact}
    if arguments.json:
        listed = [record(entry) | {"problem": damaged.get(entry.name)} for entry in entries]
        print_json({"kernels": listed, "damaged": len(damaged)})
    else:
        say("\n".join([*damaged.values(), total(entries)]))
    return 1 if damaged else 0


def _prune(arguments: argparse.Namespace) -> int:
    there = store()
    age = None if arguments.max_age is None else arguments.max_age * DAY
    removed = there.prune(arguments.max_bytes, age)
    left = there.entries()
    if arguments.json:
        print_json({"removed": removed, "kernels": len(left), "bytes": sum(e.bytes for e in left)})
    else:
        say(f"removed {kernels(removed)}; {total(left)}")
    return 0


def _folder() -> Path:
    path, problem = location()
    if path is None:
        raise Refusal(problem or "the cache is off (TRACEJIT_CACHE=0, or no home directory)", 1)
    return path


def store() -> Store:
    """The kernels on disk, where they can be trusted."""
    there = Store(_folder())
    problem = there.problem()
    if problem is not None:
        raise Refusal(f"the cache cannot be used: {there.path}: {problem}", 1)
    return there


def function_of(name: str) -> str:
    """The function in the name of a kernel.

    >>> function_of("loss__f8_32x16__3f9a1c07"), function_of("my__loss__3f9a1c07")
    ('loss', 'my')
    """
    return name.partition("__")[0]


def matching(wanted: str, names: Sequence[str], there: Store | None = None) -> list[str]:
    """The names of kernels that are meant: by a whole name, the name of a function, a pattern with
    *, the first digits of a key, or the beginning of a name."""
    if wanted in names:
        return [wanted]
    if any(letter in wanted for letter in "*?["):
        return [n for n in names if fnmatch.fnmatchcase(n, wanted) or _named(n, wanted)]
    if found := [name for name in names if function_of(name) == wanted]:
        return found
    if found := [name for name in names if wanted and name.startswith(f"{wanted}__")]:
        return found
    short = wanted[:8].lower()
    found = [name for name in names if short and name.rpartition("__")[2].startswith(short)]
    if len(wanted) > 8 and there is not None:
        found = [n for n in found if (key_of(there.read(n)) or "").startswith(wanted.lower())]
    return found or [name for name in names if wanted and name.startswith(wanted)]


def _named(name: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(function_of(name), pattern)


def find(there: Store, wanted: str) -> str:
    """The one kernel that is meant. Of several of one function it is that which was used last, and
    a note names the others."""
    found = matching(wanted, there.names(), there)
    if not found:
        raise _unknown(wanted, there)
    if len(found) == 1:
        return found[0]
    if not all(name.startswith(f"{wanted}__") for name in found):
        raise Refusal(f"{wanted!r} is the beginning of several kernels: {', '.join(found)}")
    times = {entry.name: entry.mtime for entry in there.entries()}
    newest = max(found, key=lambda name: times.get(name, 0.0))
    others = ", ".join(name for name in found if name != newest)
    complain(f"{wanted} has {kernels(len(found))}; this is {newest}. Other kernels: {others}")
    return newest


def _unknown(wanted: str, there: Store) -> Refusal:
    functions = sorted({function_of(name) for name in there.names()})
    hint = f" {nearest(wanted, functions)}" if functions else ""
    if wanted.endswith(".py"):
        hint = f" To see a function, name it: {wanted}:FUNCTION."
    elif "." in wanted:
        hint = f" To see a function, write {':'.join(wanted.rsplit('.', 1))}."
    return Refusal(f"no kernel in {there.path} is called {wanted!r} or has a key like this.{hint}")


def damage(there: Store, entry: StoredKernel) -> str:
    """The damage of a kernel that is not intact and therefore does not run."""
    try:
        there.load(entry.name)
    except KernelError as error:
        return str(error).partition("\n")[0]
    return f"{entry.name}: intact by now"


def total(entries: Sequence[StoredKernel]) -> str:
    """A count of kernels, their bytes and their health."""
    damaged = sum(not entry.intact for entry in entries)
    health = f", {damaged} damaged" if damaged else ", all intact" if entries else ""
    return f"{kernels(len(entries))}, {size(sum(entry.bytes for entry in entries))}{health}"
