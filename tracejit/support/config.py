"""Settings of the process, in one table: what `tj.config` and environment variables set.

`SETTINGS` has a row for each: its name in `tj.config`, its variable, its values, its default, and a
sentence on what it does. `setting(name)` returns the value in force: that of the newest
`tj.config`, else the variable's, else the default. Variables are read whenever they are asked
for, so that a program may set them while it runs.

A setting is that of the whole process, whichever thread sets it. `watch` has a function called
whenever `tj.config` changes a setting.
"""

from __future__ import annotations

import functools
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from tracejit.support.errors import fail
from tracejit.support.options import nearest

STAGES = ("converted", "trace", "adjoint", "plan", "source")
TOPICS = ("compile", "guards", "fallback")
_FLAGS = dict.fromkeys(("1", "true", "on", "yes"), True)
_FLAGS |= dict.fromkeys(("0", "false", "off", "no"), False)
_SIZE = re.compile(r"\s*(\d{1,12}(?:\.\d{1,6})?)\s*([kmgt]?)(i?)b?\s*", re.ASCII | re.IGNORECASE)


class Kind(NamedTuple):
    """The values of a setting, in words; `read` makes one of text or of what Python code gives, and
    raises ValueError where it is none, with the nearest right one if there is one."""

    words: str
    read: Callable[[Any], Any]


class Setting(NamedTuple):
    """One setting: `default` holds where neither `tj.config` nor the variable says anything."""

    name: str
    variable: str
    kind: Kind
    default: Any
    meaning: str


def _flag(given: Any) -> bool:
    if isinstance(given, bool):
        return given
    if isinstance(given, str) and given.strip().lower() in _FLAGS:
        return _FLAGS[given.strip().lower()]
    if type(given) is int and given in (0, 1):
        return given == 1
    raise ValueError


def _count(given: Any) -> int:
    number = int(given) if isinstance(given, str) and given.strip().isdecimal() else given
    if type(number) is not int or number < 1:
        raise ValueError
    return number


def _folder(given: Any) -> str:
    try:
        path = os.fspath(given)
    except TypeError:
        raise ValueError from None
    if not isinstance(path, str) or not path:
        raise ValueError
    return path


def _bytes(given: Any) -> int:
    if type(given) is int and given >= 0:
        return given
    found = _SIZE.fullmatch(given) if isinstance(given, str) else None
    if found is None:
        raise ValueError
    unit = 1024 if found[3] else 1000
    return int(float(found[1]) * unit ** " kmgt".index(found[2].lower() or " "))


def _some_of(choices: tuple[str, ...]) -> Kind:
    def read(given: Any) -> tuple[str, ...]:
        if isinstance(given, str):
            given = given.split(",")
        if not isinstance(given, Iterable):
            raise ValueError
        words = [word.strip() if isinstance(word, str) else word for word in given]
        words = [word for word in words if word != ""]
        for word in words:
            if word not in choices:
                raise ValueError(nearest(str(word), choices))
        return tuple(word for word in choices if word in words)

    return Kind(f"a choice of {', '.join(choices)}", read)


def _names(given: Any) -> tuple[str, ...]:
    names = given.split(",") if isinstance(given, str) else given
    if not isinstance(names, Iterable):
        raise ValueError
    found = tuple(name.strip() for name in names if isinstance(name, str) and name.strip())
    if not all(part.isidentifier() for name in found for part in name.split(".")):
        raise ValueError
    return found


FLAG = Kind("0 or 1", _flag)
COUNT = Kind("a whole number of at least 1", _count)
FOLDER = Kind("the name of a folder", _folder)
NAMES = Kind("names of modules or packages", _names)
BYTES = Kind("a size such as 500M or 2G", _bytes)

SETTINGS = {
    each.name: each
    for each in (
        Setting(
            "threads", "TRACEJIT_THREADS", COUNT, None,
            "Most threads for the tiles of a kernel. The default is the number of processors, and "
            "at most two.",
        ),
        Setting(
            "cache", "TRACEJIT_CACHE", FLAG, True,
            "Keep kernels as files; 0 keeps them in memory.",
        ),
        Setting(
            "cache_dir", "TRACEJIT_CACHE_DIR", FOLDER, None,
            "The folder of these files: an absolute path, or one that begins with ~. The default "
            "is the user's cache folder.",
        ),
        Setting(
            "cache_relative", "TRACEJIT_CACHE_RELATIVE", FLAG, False,
            "Allow this folder to be relative to the working directory.",
        ),
        Setting(
            "cache_size", "TRACEJIT_CACHE_SIZE", BYTES, 1_000_000_000,
            "Most bytes that the cache holds from one day to the next; 0 for no limit.",
        ),
        Setting(
            "log", "TRACEJIT_LOG", _some_of(TOPICS), (),
            "Write to stderr, and log by `logging`, each kernel that is made (compile), each guard "
            "that fails (guards) and each call that Python makes itself (fallback).",
        ),
        Setting(
            "progress", "TRACEJIT_PROGRESS", FLAG, True,
            "Show progress on a terminal if making a kernel takes more than two seconds.",
        ),
        Setting(
            "disable", "TRACEJIT_DISABLE", FLAG, False,
            "Run compiled functions as plain Python.",
        ),
        Setting(
            "check", "TRACEJIT_CHECK", FLAG, False,
            "Record each new call twice, and raise ImpureError if the recordings differ.",
        ),
        Setting(
            "strict", "TRACEJIT_STRICT", FLAG, False,
            "Raise StrictError if a fallback to Python would hide a mistake of tracejit.",
        ),
        Setting(
            "verify", "TRACEJIT_VERIFY", FLAG, False,
            "Check the graph after every pass.",
        ),
        Setting(
            "dump", "TRACEJIT_DUMP", _some_of(STAGES), (),
            "Print these stages of every kernel that is made to stderr.",
        ),
        Setting(
            "convert", "TRACEJIT_CONVERT", FLAG, True,
            "Convert functions before they are recorded, so that calls under any name are "
            "recorded.",
        ),
        Setting(
            "as_is", "TRACEJIT_AS_IS", NAMES, (),
            "Run functions of these modules and packages without conversion.",
        ),
    )
}  # fmt: skip


def setting(name: str) -> Any:
    """The value of a setting that is in force. Raises ArgumentError if its variable holds
    none."""
    found = _in_force.get(name)
    if found is not None:
        return found
    row = SETTINGS[name]
    text = os.environ.get(row.variable)
    return _value_of(name, text) if text else row.default


def dump(stage: str, text: Callable[[], str]) -> None:
    """Print `text` to stderr if the setting `dump` names the stage."""
    if stage in setting("dump"):
        sys.stderr.write(f"--- {stage}\n{text()}\n")


def source_of(name: str) -> str:
    """The place that the value in force comes from, as a user writes it; empty for the default."""
    if name in _in_force:
        return f"{name}={_in_force[name]}"
    variable = SETTINGS[name].variable
    text = os.environ.get(variable)
    return f"{variable}={text}" if text else ""


@functools.lru_cache(256)
def _value_of(name: str, text: str) -> Any:
    """The value in the text of a variable; nothing but blanks says nothing."""
    row = SETTINGS[name]
    return read(name, text, f"{row.variable}={text}") if text.strip() else row.default


def read(name: str, given: Any, spelled: str) -> Any:
    """The value of a setting that is meant by what a user gives, `spelled` like this. Raises
    ArgumentError where it is none."""
    row = SETTINGS[name]
    try:
        return row.kind.read(given)
    except ValueError as error:
        fix = str(error) or f"give {row.kind.words}."
    raise fail("setting", None, given=spelled, words=row.kind.words, fix=fix)


class Layer:
    """The values that one call of `tj.config` has set. One that is `lasting` nobody takes back any
    more."""

    def __init__(self, values: dict[str, Any]) -> None:
        """Values by the names of their settings."""
        self.values = values
        self.is_lasting = False


def unknown_variables() -> dict[str, str]:
    """The variables of the environment that look like settings and are none, each with a hint at
    the one that was meant."""
    known = [each.variable for each in SETTINGS.values()]
    set_here = sorted(name for name in os.environ if name.startswith("TRACEJIT_"))
    return {name: nearest(name, known) for name in set_here if name not in known}


def watch(name: str, react: Callable[[], None]) -> None:
    """Call `react` whenever `tj.config` has changed the setting `name`."""
    _watchers.append((name, react))


_mutex = threading.RLock()
_layers: list[Layer] = []  # the newest last
_in_force: dict[str, Any] = {}
_watchers: list[tuple[str, Callable[[], None]]] = []


def put(layer: Layer) -> None:
    """Let a layer decide from now on, if it does not yet."""
    with _mutex:
        if layer not in _layers:
            _layers.append(layer)
            for below, above in zip(_layers[-2::-1], _layers[:0:-1], strict=True):
                if below.is_lasting and above.is_lasting:  # the list stays short
                    below.values = below.values | above.values
                    with suppress(ValueError):  # a signal handler has done so
                        _layers.remove(above)
            _renew()


def take_back(layer: Layer) -> None:
    """Let a layer decide no more."""
    with _mutex:
        if layer in _layers:
            _layers.remove(layer)
            _renew()


def _renew() -> None:
    """Let the layers decide as they stand, and call those who watch what has changed."""
    global _in_force
    before, _in_force = _in_force, {k: v for layer in _layers for k, v in layer.values.items()}
    for name, react in _watchers:
        if before.get(name) != _in_force.get(name):
            react()


def _unlock_in_child() -> None:
    """In a forked child, no other thread holds the lock."""
    global _mutex
    _mutex = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock_in_child)
