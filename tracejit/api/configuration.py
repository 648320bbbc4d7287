"""`tj.config`: settings of the process, or of a block of it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tracejit.support.config import SETTINGS, Layer, put, read, setting, take_back
from tracejit.support.errors import TracejitError, fail, placed
from tracejit.support.options import nearest
from tracejit.trace.source import places


class Configuration:
    """The settings of one call of `tj.config`. As a context manager it takes them back at the end
    of the block."""

    def __init__(self, values: dict[str, Any]) -> None:
        """Put `values` in force, by the names of their settings."""
        self._layer = Layer(values)
        self._open_blocks = 0
        put(self._layer)

    @property
    def settings(self) -> dict[str, Any]:
        """The value of every setting that is in force now, by name."""
        return {name: setting(name) for name in SETTINGS}

    def __enter__(self) -> Configuration:
        self._open_blocks += 1
        put(self._layer)
        return self

    def __exit__(self, *error: object) -> None:
        self._open_blocks -= 1
        if self._open_blocks <= 0:
            take_back(self._layer)

    def __del__(self) -> None:
        self._layer.is_lasting = True

    def __repr__(self) -> str:
        values = self._layer.values or self.settings
        return f"config({', '.join(f'{name}={value!r}' for name, value in values.items())})"


@places.at_the_users_line
def config(
    *,
    threads: int | None = None,
    cache: bool | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    cache_relative: bool | None = None,
    cache_size: int | str | None = None,
    log: str | Iterable[str] | None = None,
    progress: bool | None = None,
    disable: bool | None = None,
    check: bool | None = None,
    strict: bool | None = None,
    verify: bool | None = None,
    dump: str | Iterable[str] | None = None,
    convert: bool | None = None,
    as_is: str | Iterable[str] | None = None,
    **unknown: Any,
) -> Configuration:
    """Set what environment variables set, for the whole process, or for a `with` block.

    A name that is not given, or is None, stays as it is. The call sets at once; as a context
    manager it takes back what it has set when the block ends. Settings hold for the process, on
    all its threads. Where blocks overlap on several threads, the newest that is open decides, and
    each takes back only its own. `tj.config()` alone sets nothing; it shows what is in force.

    | name | variable | means |
    |---|---|---|
    | `threads` | `TRACEJIT_THREADS` | up to so many threads for the tiles of a kernel |
    | `cache` | `TRACEJIT_CACHE` | keep kernels as files |
    | `cache_dir` | `TRACEJIT_CACHE_DIR` | the folder for them |
    | `cache_relative` | `TRACEJIT_CACHE_RELATIVE` | it may be relative |
    | `cache_size` | `TRACEJIT_CACHE_SIZE` | what it may hold: bytes, "500M", 0 for all |
    | `log` | `TRACEJIT_LOG` | "compile,guards,fallback": what is logged, and written to stderr |
    | `progress` | `TRACEJIT_PROGRESS` | a line on the terminal for what takes more than 2 s |
    | `disable` | `TRACEJIT_DISABLE` | plain Python instead of kernels |
    | `check` | `TRACEJIT_CHECK` | each new call is recorded twice, and must be the same |
    | `strict` | `TRACEJIT_STRICT` | no fallback to Python hides a mistake of tracejit |
    | `verify` | `TRACEJIT_VERIFY` | the graph is checked after every pass |
    | `dump` | `TRACEJIT_DUMP` | "converted,trace,adjoint,plan,source": printed to stderr |
    | `convert` | `TRACEJIT_CONVERT` | functions are converted: calls are recorded under any name |
    | `as_is` | `TRACEJIT_AS_IS` | packages whose functions run as they are written |

    Raises ArityError for a name that is none, and ArgumentError for a value that is none.

    >>> import tracejit as tj
    >>> with tj.config(threads=1, log="compile") as block:
    ...     block.settings["threads"]
    1
    >>> tj.config(log="compiled")
    Traceback (most recent call last):
    ...
    tracejit.support.errors.ArgumentError: log='compiled' is not a choice of compile, guards, \
fallback.
    ...
      Fix: Did you mean compile?
    """
    given = {name: value for name, value in locals().items() if name in SETTINGS}
    chosen = {name: value for name, value in given.items() if value is not None}
    try:
        for name in unknown:
            raise fail("unknown-setting", None, name=name, fix=nearest(name, SETTINGS))
        values = {name: read(name, value, f"{name}={value!r}") for name, value in chosen.items()}
        _check_folder(values)
    except TracejitError as error:
        raise placed(error, places.here()) from None
    return Configuration(values)


def _check_folder(values: dict[str, Any]) -> None:
    """Refuse a relative folder for the cache, unless the user allows that."""
    folder = values.get("cache_dir")
    if folder is None or values.get("cache_relative", setting("cache_relative")):
        return
    if not Path(folder).expanduser().is_absolute():
        fix = "give an absolute path, such as pathlib.Path(...).absolute()."
        words = {"given": f"cache_dir={folder!r}", "words": "an absolute path", "fix": fix}
        raise fail("setting", None, **words)
