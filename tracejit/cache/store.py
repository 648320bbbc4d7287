"""Kernel files: written atomically, verified before they run, never trusted further.

A file is run only if its seal (`tracejit.cache.key.seal`) fits, it is a plain file of ours that
nobody else can write, in a folder of ours that nobody else can write, and its key is the one asked
for. What runs is the very text that was verified. The seal finds damage and edits; against other
users stand owner and mode, because anybody can compute a SHA-256.

Readers and writers take no locks. Constants are in place before the text that names their hash,
each put there by one rename; two processes that write one name write the same bytes. Nobody waits
for the disk: after a power cut a file may be empty or in parts, which its seal shows, and is made
again. What a user saves is on the disk before `save` returns. Whatever goes wrong on the disk,
`get` is a miss and `put` a kernel in memory, with one `CacheWarning`.
"""

from __future__ import annotations

import errno
import io
import linecache
import os
import re
import stat
import sys
import tempfile
import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np

from tracejit.cache.key import KERNEL_NAME, has_constants, key_of
from tracejit.cache.key import constants_bytes as constants_bytes
from tracejit.cache.key import seal as seal
from tracejit.cache.key import verify as verify
from tracejit.errors import KernelError, TracejitError, fail

_DRAFT = re.compile(r"\.\w+__[0-9a-f]{8}\.(py|npz)\.[0-9a-f]{12}\.tmp", re.ASCII)
_ABANDONED_SECONDS = 3600.0

_FIX_CACHED = (
    "call the function: it is made again. To keep an edited one, copy and import the copy."
)
_FIX_SAVED = "save it again with kernel.save(path), or import it as an ordinary Python module."

# Topics already warned of in this process.
_warned: dict[str, object] = {}


class CacheWarning(UserWarning):
    """A file or folder of the kernel cache that cannot be used; the call itself goes on."""


class Entry(NamedTuple):
    """One kernel on disk: `bytes` counts text and constants, `intact` says that it would run."""

    name: str
    path: Path
    bytes: int
    mtime: float
    intact: bool


def load_text(name: str, text: str, path: Path | None, npz: bytes | None) -> ModuleType:
    """The module `tracejit.kernels.NAME` made by running `text`; nothing is verified here.

    The text reads constants from `__file__[:-3] + ".npz"`, whole, while it runs: the file beside
    `path`, or without `path` one in a private folder that is gone afterwards. Tracebacks and pdb
    show the text's lines in both cases. What the text raises is passed on. The module keeps both as
    `__source__` and `__npz__`.

    >>> load_text("double", "def forward(x): return 2 * x", None, None).forward(4)
    8
    """
    filename = f"<tracejit {name}>" if path is None else str(path)
    if path is None:
        # Without a modification time linecache.checkcache keeps an entry, file or not. StringIO
        # splits at line feeds only, as Python counts lines; str.splitlines knows more separators.
        linecache.cache[filename] = (len(text), None, list(io.StringIO(text)), filename)
    # dont_inherit: the future statements of this file are not the kernel's.
    code = compile(text, filename, "exec", dont_inherit=True)
    module = ModuleType(f"tracejit.kernels.{name}")
    module.__file__ = filename
    module.__dict__.update(__source__=text, __npz__=npz)
    if path is not None or npz is None:
        exec(code, module.__dict__)
        return module
    with tempfile.TemporaryDirectory(prefix="tracejit-", ignore_cleanup_errors=True) as folder:
        Path(folder, "kernel.npz").write_bytes(npz)
        module.__file__ = str(Path(folder, "kernel.py"))
        exec(code, module.__dict__)
    module.__file__ = filename
    return module


def load_file(path: str | os.PathLike[str]) -> ModuleType:
    """The stand-alone kernel saved at `path`, verified; symbolic links are followed.

    Line endings may have been converted (git does, on Windows). Raises `KernelError` if the file or
    its constants are missing or edited, if it is not a kernel, or if running it fails.
    """
    file = Path(path).absolute()
    text, npz = _read_kernel(file.stem, file, private=False, fix=_FIX_SAVED)
    return _run(file.stem, text, file, npz, fix=_FIX_SAVED)


def load_sealed(name: str, text: str, npz: bytes | None) -> ModuleType:
    """The kernel of sealed `text`, which comes from elsewhere, in memory. Raises `KernelError` if
    it was edited."""
    problem = verify(text, npz)
    if problem is not None:
        raise _refusal(name, problem, _FIX_CACHED)
    return load_text(name, text, None, npz)


def save(text: str, npz: bytes | None, path: str | os.PathLike[str]) -> None:
    """Write a stand-alone copy of sealed `text` to `path`, and its constants beside it as `.npz`.

    Folders are made; each file appears whole or not at all. Raises `KernelError` if the text is not
    sealed or the name does not end in `.py`, `OSError` as any write does.
    """
    file = Path(path).absolute()
    problem = verify(text, npz)
    if file.suffix != ".py":
        problem = f"{file} is not the name of a Python file"
    if problem is not None:
        raise _refusal(file.stem, problem, _FIX_SAVED)
    file.parent.mkdir(parents=True, exist_ok=True)
    _write_kernel(file, text, npz, mode=0o666, is_lasting=True)


def default_path() -> Path | None:
    """`$TRACEJIT_CACHE_DIR`, else a folder in the user's cache; None if `TRACEJIT_CACHE=0`."""
    if os.environ.get("TRACEJIT_CACHE") == "0":
        return None
    chosen = os.environ.get("TRACEJIT_CACHE_DIR")
    try:
        if chosen:
            return Path(chosen).expanduser().absolute()
        if sys.platform == "win32":
            local = os.environ.get("LOCALAPPDATA")
            return Path(local or Path.home() / "AppData" / "Local") / "tracejit" / "cache"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "tracejit"
        # The XDG specification says to ignore relative paths.
        base = Path(os.environ.get("XDG_CACHE_HOME", ""))
        return (base if base.is_absolute() else Path.home() / ".cache") / "tracejit"
    except RuntimeError:  # no home directory
        return None


class Store:
    """Kernels in one folder; with `path=None`, or a folder that cannot be used, in memory only."""

    def __init__(self, path: Path | None) -> None:
        self.path = None if path is None else path.absolute()

    def get(self, name: str, key: str) -> ModuleType | None:
        """The kernel `name` with that full key; None if there is none, or (a warning) a bad one."""
        if self.path is None or not self._usable():
            return None
        try:
            return self.load(name, key) if os.path.lexists(self._file(name)) else None
        except KernelError as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                _warn_once(f"{self.path} {name}", str(error))
            return None

    def put(self, name: str, text: str, constants: Mapping[str, np.ndarray]) -> ModuleType:
        """Seal generated `text`, write it, and return the module made of it.

        Where it cannot be written (read-only, full, not ours) the kernel lives in memory, and one
        warning per process says so. Raises what the text itself raises when it runs.
        """
        npz = constants_bytes(constants) if constants else None
        sealed = seal(text, npz)
        if self.path is not None and self._usable():
            try:
                path = self._file(name)
                self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
                _write_kernel(path, sealed, npz, mode=0o600)
                return load_text(name, sealed, path, npz)
            except OSError as error:
                _warn_once("write", f"kernels are kept in memory: writing one failed ({error}).")
        return load_text(name, sealed, None, npz)

    def load(self, name: str, key: str | None = None) -> ModuleType:
        """The kernel `name` with that full key, or the one its name ends in; else `KernelError`."""
        text, npz = self._verified(name, key)
        return _run(name, text, self._file(name), npz, fix=_FIX_CACHED)

    def read(self, name: str) -> str:
        """The text of kernel `name` as it stands on disk, seal included, intact or not."""
        path = self._file(name)
        try:
            return _read(path, private=True).decode(errors="replace")
        except OSError as error:
            raise _refusal(name, f"{path}: {_words(error)}", _FIX_CACHED) from error

    def names(self) -> list[str]:
        """The names of all kernels in the folder, sorted, intact or not."""
        files = (file for file in self._files() if file.suffix == ".py")
        return sorted(file.stem for file in files if KERNEL_NAME.fullmatch(file.stem))

    def entries(self) -> list[Entry]:
        """All kernels in the folder, sorted by name, each verified."""
        return [self._entry(name) for name in self.names()]

    def prune(self, max_bytes: int | None = None, max_age: float | None = None) -> int:
        """Delete kernels written over `max_age` seconds ago, then the oldest beyond `max_bytes`.

        Returns how many. What interrupted processes left behind goes too, uncounted.
        """
        removed = total = 0
        for entry in sorted(self.entries(), key=lambda entry: entry.mtime, reverse=True):
            total += entry.bytes
            too_old = max_age is not None and time.time() - entry.mtime > max_age
            if too_old or (max_bytes is not None and total > max_bytes):
                removed += self._drop(entry.name)
        self._sweep()
        return removed

    def clear(self) -> int:
        """Delete every kernel, intact or not, and no other file; returns how many."""
        removed = sum(self._drop(name) for name in self.names())
        self._sweep()
        return removed

    def _file(self, name: str) -> Path:
        """Where `name` stands; only names of kernels are ever made into paths."""
        problem = "it is not the name of a kernel, which ends in __ and 8 hex digits"
        if self.path is not None and KERNEL_NAME.fullmatch(name):
            return self.path / f"{name}.py"
        if self.path is None:
            problem = "the cache is turned off (TRACEJIT_CACHE=0)"
        raise _refusal(name, problem, _FIX_CACHED)

    def _files(self) -> list[Path]:
        """Whatever is in the folder; nothing where it cannot be trusted."""
        return list(self.path.glob("*")) if self.path is not None and self._usable() else []

    def _problem(self) -> str | None:
        """Why the folder cannot be trusted; None if it can, or is not there yet."""
        try:
            status = Path(self.path or "").stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            return _words(error)
        return _distrust(status) if stat.S_ISDIR(status.st_mode) else "it is not a folder"

    def _usable(self) -> bool:
        problem = self._problem()
        if problem is not None:
            _warn_once(str(self.path), f"kernels are kept in memory: {self.path}: {problem}.")
        return problem is None

    def _verified(self, name: str, key: str | None) -> tuple[str, bytes | None]:
        """Text and constants of `name` with that key; with None, the key that its name ends in."""
        path, problem = self._file(name), self._problem()
        if problem is not None:
            raise _refusal(name, f"{self.path}: {problem}", _FIX_CACHED)
        text, npz = _read_kernel(name, path, private=True, fix=_FIX_CACHED)
        found = key_of(text) or "missing"
        if found != key if key else not found.startswith(name[-8:]):
            raise _refusal(name, f"{path}: it is another kernel (key {found})", _FIX_CACHED)
        return text, npz

    def _entry(self, name: str) -> Entry:
        file, intact = self._file(name), False
        with suppress(KernelError):
            intact = bool(self._verified(name, None))
        size, mtime = _size_and_time(file)
        size += _size_and_time(file.with_suffix(".npz"))[0]
        return Entry(name, file, size, mtime, intact)

    def _drop(self, name: str) -> bool:
        removed = _remove(self._file(name))
        _remove(self._file(name).with_suffix(".npz"))
        return removed

    def _sweep(self) -> None:
        """Delete drafts and constants without a text, once no writer can still want them."""
        kernels = set(self.names())
        for file in self._files():
            orphan = KERNEL_NAME.fullmatch(file.stem) and file.stem not in kernels
            if _DRAFT.fullmatch(file.name) or (file.suffix == ".npz" and orphan):
                if 0.0 < _size_and_time(file)[1] < time.time() - _ABANDONED_SECONDS:
                    _remove(file)


def _refusal(name: str, problem: str, fix: str) -> TracejitError:
    return fail("kernel", None, name=name, problem=problem, fix=fix)


def _run(name: str, text: str, path: Path, npz: bytes | None, *, fix: str) -> ModuleType:
    """`load_text` that fails with a `KernelError`: an intact kernel may meet another NumPy."""
    try:
        return load_text(name, text, path, npz)
    except Exception as error:
        problem = f"{path}: running it raises {type(error).__name__}: {error}"
        raise _refusal(name, problem, fix) from error


def _read_kernel(name: str, path: Path, *, private: bool, fix: str) -> tuple[str, bytes | None]:
    """Verified text and constants of one file; a KernelError's cause tells that there is none."""
    cause: OSError | None = None
    npz: bytes | None = None
    try:
        # What Python itself does with line endings in source.
        text = _read(path, private=private).decode().replace("\r\n", "\n")
        if has_constants(text):
            with suppress(FileNotFoundError):
                npz = _read(path.with_suffix(".npz"), private=private)
        problem = verify(text, npz)
    except OSError as error:
        problem, cause = _words(error), error
    except UnicodeDecodeError:
        problem = "it is not UTF-8 text"
    if problem is not None:
        raise _refusal(name, f"{path}: {problem}", fix) from cause
    return text, npz


def _read(path: Path, *, private: bool) -> bytes:
    """The bytes of a plain file; if `private`, only of one that nobody else can have put there."""
    # O_NONBLOCK: opening a named pipe would block; what is no plain file is refused below.
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    flags |= getattr(os, "O_NOFOLLOW", 0) if private else 0
    descriptor = os.open(path, flags)
    try:
        # Asked of the open file, not of its name: the name may change hands in between.
        status = os.fstat(descriptor)
        problem = _distrust(status) if private else None
        if not stat.S_ISREG(status.st_mode):
            problem = "it is not a plain file"
        if problem is not None:
            raise OSError(problem)  # without a number: see _words
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def _distrust(status: os.stat_result) -> str | None:
    """Why somebody else may have written what `status` describes; None if nobody can have."""
    if os.name != "posix":
        return None  # Windows has access lists; a user's own folders are private by default.
    if status.st_uid != os.geteuid():
        return "it belongs to another user"
    if status.st_mode & 0o022:
        return f"others can write to it (mode {stat.S_IMODE(status.st_mode):o}; chmod go-w)"
    return None


def _words(error: OSError) -> str:
    if error.errno in (errno.ELOOP, errno.EMLINK):
        return "it is a symbolic link"
    if isinstance(error, FileNotFoundError):
        return "it does not exist"
    return f"it cannot be read ({error.strerror})" if error.errno else str(error)


def _write_kernel(
    path: Path, text: str, npz: bytes | None, *, mode: int, is_lasting: bool = False
) -> None:
    """Constants first: a text on disk always finds those it was sealed with."""
    if npz is not None:
        _replace(path.with_suffix(".npz"), npz, mode, is_lasting)
    _replace(path, text.encode(), mode, is_lasting)


def _replace(path: Path, data: bytes, mode: int, is_lasting: bool) -> None:
    """Put `data` at `path` at once: readers see the old file or the new; if `is_lasting`, also
    after a power cut."""
    draft = path.with_name(f".{path.name}.{os.urandom(6).hex()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(draft, flags, mode), "wb") as file:
            file.write(data)
            if is_lasting:
                file.flush()
                os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        _remove(draft)
        raise


def _remove(path: Path) -> bool:
    """Delete `path` and say so; what cannot be deleted, or is gone already, does not count."""
    with suppress(OSError):
        path.unlink()
        return True
    return False


def _size_and_time(path: Path) -> tuple[int, float]:
    """Bytes and modification time; of what is gone by now, zeros."""
    with suppress(OSError):
        status = path.lstat()
        return status.st_size, status.st_mtime
    return 0, 0.0


def _warn_once(topic: str, message: str) -> None:
    """One `CacheWarning` per topic and process, from whichever thread comes first."""
    ticket = object()
    if _warned.setdefault(topic, ticket) is ticket:
        warnings.warn(message, CacheWarning, stacklevel=4)
