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
    """Set options for the whole process, or for a `with` block.

    Each option is also an environment variable. A setting made here overrides the variable, and the
    variable overrides the default. Options that are not given do not change.

    Parameters
    ----------
    threads : int, default None
        `TRACEJIT_THREADS`: the most threads for the tiles of a kernel.
    cache : bool, default None
        `TRACEJIT_CACHE`: keep kernels as files.
    cache_dir : str or path, default None
        `TRACEJIT_CACHE_DIR`: the folder for these files.
    cache_relative : bool, default None
        `TRACEJIT_CACHE_RELATIVE`: allow a relative folder.
    cache_size : int or str, default None
        `TRACEJIT_CACHE_SIZE`: the most bytes in that folder, as a number or "500M". 0 is no limit.
    log : str or iterable of str, default None
        `TRACEJIT_LOG`: topics to log and write to stderr, of "compile", "guards" and "fallback".
    progress : bool, default None
        `TRACEJIT_PROGRESS`: show a line on the terminal for work that takes more than 2 s.
    disable : bool, default None
        `TRACEJIT_DISABLE`: run plain Python instead of kernels.
    check : bool, default None
        `TRACEJIT_CHECK`: record each new call twice, and require the same recording.
    strict : bool, default None
        `TRACEJIT_STRICT`: raise errors of kernels instead of falling back to Python.
    verify : bool, default None
        `TRACEJIT_VERIFY`: check the graph after every compiler pass.
    dump : str or iterable of str, default None
        `TRACEJIT_DUMP`: stages to print to stderr, of "converted", "trace", "adjoint", "plan" and
        "source".
    convert : bool, default None
        `TRACEJIT_CONVERT`: convert functions, so that calls are recorded under any name.
    as_is : str or iterable of str, default None
        `TRACEJIT_AS_IS`: packages whose functions run without conversion.

    Returns
    -------
    Configuration
        A context manager that restores the settings at the end of its block. `settings` is a dict
        of all that are in force, so `tj.config().settings` shows them.

    Raises
    ------
    ArityError
        If an option does not exist. The message names the nearest one. A TypeError.
    ArgumentError
        If a value is not allowed. A TypeError.

    Notes
    -----
    Settings hold on all threads. If blocks overlap on several threads, the newest open block
    decides. Each block restores only its own settings.

    Examples
    --------
    >>> import tracejit as tj
    >>> with tj.config(threads=1, log="compile") as block:
    ...     block.settings["threads"]
    1
    >>> tj.config(log="compiled")
    Traceback (most recent call last):
    ...
    tracejit.support.errors.ArgumentError: log='compiled' is not a choice of compile, guards, fallback.
    ...
      Fix: Did you mean compile?
    """  # noqa: E501
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
