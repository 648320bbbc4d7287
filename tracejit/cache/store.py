"""Kernel files: written atomically, verified before they run, never trusted further.

A file is run only if its seal fits (`tracejit.cache.key.seal`), which finds damage and edits, if
its mark was made with this user's secret (`mark`, `tracejit.cache.secret`), and its key is the one
asked for. It must be a plain file of ours that nobody else can write, in a folder held by
descriptor into whose place nobody else can put another (`tracejit.cache.folder`). What runs, text
and constants, is the very bytes that were verified (`tracejit.cache.modules`).

Readers and writers take no locks. Constants and mark are in place before the text that they belong
to, each put there by one rename; two processes that write one name write the same bytes. Nobody
waits for the disk: after a power cut a file may be empty or in parts, which its seal shows, and is
made again. Whatever goes wrong on the disk, `get` is a miss and `put` a kernel in memory, with one
`CacheWarning`.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from tracejit.cache import eviction
from tracejit.cache.folder import Folder, held, words
from tracejit.cache.key import (
    KERNEL_NAME,
    constants_bytes,
    function_of,
    key_of,
    mark,
    seal,
    signature_of,
)
from tracejit.cache.modules import MOST_TEXT, Unusable, load_text, read_kernel, refusal, run
from tracejit.cache.secret import SECRET, secret_of
from tracejit.cache.settings import CacheWarning as CacheWarning
from tracejit.cache.settings import size_limit, warn_once
from tracejit.support.errors import KernelError, TracejitError

_FIX = (
    "call the function, which makes it again. To keep an edited kernel, copy the file and "
    "import the copy."
)
_LONGEST_MARK = 80


class StoredKernel(NamedTuple):
    """One kernel on disk: `bytes` counts text and constants, `mtime` is its last use to the day,
    `intact` says that it would run. `function` is the user's, with its module, `key` the full one,
    and `signature` the module's SIGNATURE; of a kernel that is not intact they are empty."""

    name: str
    path: Path
    bytes: int
    mtime: float
    intact: bool
    function: str = ""
    key: str = ""
    signature: Mapping[str, Any] = MappingProxyType({})


class Unmarked(Unusable):
    """A kernel that this user's tracejit did not write."""


class NoFolder(Unusable):
    """The folder of the cache, or its secret, cannot be used."""


class Store:
    """Kernels in one folder; with `path=None`, or a folder that cannot be used, in memory only."""

    def __init__(self, path: Path | None) -> None:
        """The kernels in the folder called `path`, which need not be there yet."""
        self.path = None if path is None else path.absolute()

    def get(self, name: str, key: str) -> ModuleType | None:
        """The kernel `name` with that full key; None if there is none, or (a warning) a bad one."""
        if self.path is None:
            return None
        try:
            return self._loaded(name, key)
        except NoFolder as error:
            if not error.missing:
                self._warn_of_memory(f"{self.path}: {error.problem}")
        except Unusable as error:
            if not error.missing:
                topic = "marks" if isinstance(error, Unmarked) else name
                warn_once(f"{self.path} {topic}", str(self._refusal(name, error)))
        except KernelError as error:
            warn_once(f"{self.path} {name}", str(error))
        return None

    def put(self, name: str, text: str, constants: Mapping[str, np.ndarray]) -> ModuleType:
        """Seal generated `text`, write it, and return the module made of it.

        Where it cannot be written (read-only, full, not ours) the kernel lives in memory, and one
        warning per process says so. Raises what the text itself raises when it runs.
        """
        npz = constants_bytes(constants) if constants else None
        sealed = seal(text, npz)
        is_on_disk = self.path is not None and self._is_written(name, sealed, npz)
        return load_text(name, sealed, self._file(name) if is_on_disk else None, npz)

    def load(self, name: str, key: str | None = None) -> ModuleType:
        """The kernel `name` with that full key, or the one its name ends in; else `KernelError`."""
        try:
            return self._loaded(name, key)
        except Unusable as error:
            raise self._refusal(name, error) from error.__cause__

    def read(self, name: str) -> str:
        """The text of kernel `name` as it stands on disk, seal included, intact or not."""
        try:
            file = self._file(name).name
            with self._held() as folder:
                return folder.read(file, MOST_TEXT)[0].decode(errors="replace")
        except OSError as error:
            raise self._refusal(name, Unusable(words(error))) from error
        except Unusable as error:
            raise self._refusal(name, error) from error.__cause__

    def problem(self) -> str | None:
        """The reason why the folder cannot be trusted; None if it can, or is not there yet."""
        try:
            with self._held():
                return None
        except NoFolder as error:
            return None if error.missing else error.problem

    def names(self) -> list[str]:
        """The names of all kernels in the folder, sorted, intact or not."""
        with suppress(NoFolder), self._held() as folder:
            return eviction.kernel_names(folder)
        return []

    def entries(self) -> list[StoredKernel]:
        """All kernels in the folder, sorted by name, each verified."""
        with suppress(NoFolder), self._held() as folder:
            return [self._entry(folder, name) for name in eviction.kernel_names(folder)]
        return []

    def prune(self, max_bytes: int | None = None, max_age: float | None = None) -> int:
        """Delete kernels not used for `max_age` seconds, then those longest unused beyond
        `max_bytes`.

        Returns how many. What interrupted processes left behind goes too, uncounted.
        """
        with suppress(NoFolder), self._held() as folder:
            return eviction.prune(folder, max_bytes, max_age)
        return 0

    def clear(self) -> int:
        """Delete every kernel, intact or not, and no other file; returns how many."""
        with suppress(NoFolder), self._held() as folder:
            removed = sum(eviction.drop(folder, name) for name in eviction.kernel_names(folder))
            eviction.remove_abandoned(folder)
            return removed
        return 0

    def _file(self, name: str) -> Path:
        """The path of the file `name`; only names of kernels are ever made into paths."""
        problem = "it is not the name of a kernel, which ends in __ and 8 hex digits"
        if self.path is not None and KERNEL_NAME.fullmatch(name):
            return self.path / f"{name}.py"
        if self.path is None:
            problem = "the cache is turned off (TRACEJIT_CACHE=0)"
        raise refusal(name, problem, _FIX)

    def _refusal(self, name: str, error: Unusable) -> TracejitError:
        """The `KernelError` of a kernel that does not run."""
        folder_is_bad = isinstance(error, NoFolder) and not error.missing
        path = self.path if folder_is_bad else self._file(name)
        return refusal(name, f"{path}: {error.problem}", _FIX)

    def _held(self) -> Folder:
        """The folder, to be used in a `with`; `NoFolder` where it is missing or not trusted."""
        try:
            if self.path is not None:
                return held(self.path)
        except FileNotFoundError as error:
            raise NoFolder("it does not exist", missing=True) from error
        except OSError as error:
            raise NoFolder(words(error)) from error
        raise NoFolder("the cache is turned off", missing=True)

    def _loaded(self, name: str, key: str | None) -> ModuleType:
        """The kernel that runs: `Unusable` where it may not, `KernelError` where it cannot."""
        path = self._file(name)
        with self._held() as folder:
            text, npz, status = self._verified(folder, name, key)
            eviction.note_use(folder, name, status)
        return run(name, text, path, npz, _FIX)

    def _verified(
        self, folder: Folder, name: str, key: str | None
    ) -> tuple[str, bytes | None, os.stat_result]:
        """Text, constants and status of `name` with that key, or else the one its name ends in."""

        def check(text: str, status: os.stat_result) -> None:
            found = key_of(text) or "missing"
            if found != key if key else not found.startswith(name[-8:]):
                raise Unusable(f"it is another kernel (key {found})")
            self._check_mark(folder, name, text, status)

        try:
            return read_kernel(folder, name, check=check)
        except Unusable as error:
            if error.missing or isinstance(error, NoFolder):
                raise
        # Once more: another process may have deleted or replaced one file after the other.
        return read_kernel(folder, name, check=check)

    def _check_mark(self, folder: Folder, name: str, text: str, status: os.stat_result) -> None:
        """Raise `Unmarked` unless this user's tracejit wrote the verified `text`."""
        try:
            secret = secret_of(folder)
        except OSError as error:
            raise NoFolder(str(error)) from error
        is_older = False
        try:
            written = folder.read(f"{name}.mark", _LONGEST_MARK)[0]
            if secret and hmac.compare_digest(written, _mark(secret, name, text)):
                return
        except FileNotFoundError:
            # Kernels of versions that wrote no marks are made again without a word.
            made = folder.status(SECRET)
            is_older = made is None or status.st_mtime < made.st_mtime
        except OSError as error:
            raise Unusable(f"its mark: {words(error)}") from error
        problem = "it does not have the mark of this cache, so another user's tracejit wrote it"
        raise Unmarked(problem, missing=is_older)

    def _entry(self, folder: Folder, name: str) -> StoredKernel:
        use = eviction.use_of(folder, name)
        damaged = StoredKernel(name, self._file(name), use.bytes, use.time, False)
        with suppress(Unusable):
            text, *_ = self._verified(folder, name, None)
            known = function_of(text) or "", key_of(text) or "", signature_of(text)
            return StoredKernel(*damaged[:4], True, *known)
        return damaged

    def _is_written(self, name: str, sealed: str, npz: bytes | None) -> bool:
        """Write a kernel; where that is not possible say so once, and return False."""
        self._file(name)
        limit, size = size_limit(), len(sealed) + len(npz or b"")
        if limit is not None and size > limit:
            why = f"it takes {size} bytes, and the cache may hold {limit} (TRACEJIT_CACHE_SIZE)"
            warn_once(f"size {name}", f"kernel {name} is kept in memory: {why}.")
            return False
        try:
            try:
                self._write(name, sealed, npz)
            except FileNotFoundError:  # another process has deleted the folder meanwhile
                self._write(name, sealed, npz)
        except OSError as error:
            if self._is_there(name, sealed):
                return True
            problem = f"{self.path}: {error}"
            if error.errno is not None:
                problem = f"writing one to {self.path} failed ({error.strerror})"
            self._warn_of_memory(problem)
            return False
        return True

    def _write(self, name: str, sealed: str, npz: bytes | None) -> None:
        assert self.path is not None
        with held(self.path, make=True) as folder:
            secret = secret_of(folder, make=True)
            if secret is None:
                raise FileNotFoundError(f"{self.path}: its secret was deleted")
            # The text last: on disk it always finds the constants and the mark that belong to it.
            files = {} if npz is None else {f"{name}.npz": npz}
            files[f"{name}.mark"] = _mark(secret, name, sealed)
            files[f"{name}.py"] = sealed.encode()
            folder.write(files, 0o600)
            with suppress(OSError):
                eviction.sweep(folder, size_limit())

    def _is_there(self, name: str, sealed: str) -> bool:
        """Return whether another process has written this very kernel."""
        with suppress(Unusable), self._held() as folder:
            return self._verified(folder, name, None)[0] == sealed
        return False

    def _warn_of_memory(self, problem: str) -> None:
        warn_once(str(self.path), f"kernels are kept in memory: {problem}.")


def _mark(secret: bytes, name: str, sealed: str) -> bytes:
    """The contents of the file beside a kernel that says who wrote it."""
    return f"{mark(secret, name, sealed)}\n".encode()
