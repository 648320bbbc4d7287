"""Kernels that travel: saved at a path of the user, sent by pickle, and loaded again.

They carry only the seal, which anybody can compute. It finds damage and edits, and says nothing
about who wrote the file. Loading one runs it, as importing any module does, so a file must be one
that only this user, or root, can have put there.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType

from tracejit.cache.folder import Folder, distrust_of_shared, trusted
from tracejit.cache.key import verify, verify_text
from tracejit.cache.modules import MOST_TEXT, Unusable, load_text, read_kernel, refusal, run
from tracejit.support.errors import fail
from tracejit.trace.source import places

SUFFIXES = (".npz", ".pyi", ".py")
"""The files of an exported module, in the order in which they are put in place."""

_FIX = "save it again with kernel.save(path), or import it as an ordinary Python module."
_FIX_DISTRUST = (
    "read it, because tj.load runs it; then write tj.load(path, trust=True), or make "
    "the file yours."
)
_FIX_SENT = "pickle the kernel again, and send that."


def load_file(path: str | os.PathLike[str], trust: bool = False) -> ModuleType:
    """The stand-alone kernel saved at `path`, verified; symbolic links are followed.

    Line endings may have been converted (git does, on Windows). Raises `KernelError` if the file or
    its constants are missing or edited, if it is not a kernel, if running it fails, or, unless
    there is `trust`, if somebody else may have written it.
    """
    file = Path(path).absolute()
    distrusted: list[str] = []

    def problem_of(status: os.stat_result, descriptor: int) -> str | None:
        problem = distrust_of_shared(status, descriptor)
        distrusted.extend([problem] if problem is not None else [])
        return problem

    if file.suffix != ".py":
        raise refusal(file.stem, f"{file} is not the name of a Python file", _FIX)
    try:
        with Folder(file.parent) as folder:
            found = read_kernel(
                folder, file.stem, follow=True, problem_of=trusted if trust else problem_of
            )
    except Unusable as error:
        fix = _FIX_DISTRUST if distrusted else _FIX
        raise refusal(file.stem, f"{file}: {error.problem}", fix) from error.__cause__
    text, npz, _ = found
    return run(file.stem, text, file, npz, _FIX)


def load_sealed(name: str, text: str, npz: bytes | None) -> ModuleType:
    """The kernel of sealed `text`, which comes from elsewhere, in memory. Raises `KernelError` if
    it was edited."""
    problem = verify(text, npz)
    if problem is not None:
        raise refusal(name, problem, _FIX_SENT)
    return load_text(name, text, None, npz)


def save(text: str, npz: bytes | None, path: str | os.PathLike[str]) -> None:
    """Write a stand-alone copy of sealed `text` to `path`, and its constants beside it as `.npz`.

    Folders are made; each file appears whole or not at all, and is on the disk when `save` returns.
    Others may read the files, never write to them. Raises `KernelError` if the text is not sealed
    or the name does not end in `.py`, `OSError` as any write does.
    """
    file = Path(path).absolute()
    problem = verify(text, npz)
    if file.suffix != ".py":
        problem = f"{file} is not the name of a Python file"
    if problem is not None:
        raise refusal(file.stem, problem, _FIX)
    file.parent.mkdir(parents=True, exist_ok=True)
    # Constants first: a text on disk always finds those it was sealed with.
    files = {} if npz is None else {file.with_suffix(".npz").name: npz}
    with Folder(file.parent) as folder:
        folder.write({**files, file.name: text.encode()}, 0o644, lasting=True)


def write_all(
    path: Path, files: Mapping[str, bytes], overwrite: bool, stale: Collection[str] = ()
) -> None:
    """Put `files` into the folder at `path`, in their order, and delete those that are `stale`.

    All are on the disk before the first is put in place, and where one cannot be, those that were
    replaced are put back. Raises `ExportError` where one would replace, unless it may `overwrite`
    it, what tracejit did not write or somebody has edited; `OSError` as any write does.
    """
    path.mkdir(parents=True, exist_ok=True)
    with Folder(path) as folder:
        for name in files:
            problem = _problem_of_old(folder, name, overwrite)
            if problem is not None:
                raise fail("overwrite", places.here(), file=path / name, problem=problem)
        # A stale file that was edited, or whose text is not the one that was, stays.
        old = [name for name in stale if _problem_of_old(folder, name, False) is None]
        drafts: dict[str, str] = {}
        kept: dict[str, str | None] = {}
        try:
            for name, data in files.items():
                drafts[name] = folder.draft(name, data, 0o644, lasting=True)
            for name in files:
                kept[name] = _second_name(folder, name)
                folder.rename(drafts[name], name)
        except BaseException:
            for name, backup in kept.items():
                if backup is not None:
                    folder.rename(backup, name)
                    folder.remove(backup)  # two names of one file are both left by a rename
                elif not folder.remove(drafts[name]):  # it was put in place
                    folder.remove(name)
            for draft in drafts.values():
                folder.remove(draft)
            raise
        for backup in filter(None, kept.values()):
            folder.remove(backup)
        for name in old:
            folder.remove(name)


def _problem_of_old(folder: Folder, name: str, overwrite: bool) -> str | None:
    """The reason why the file `name`, where there is one, must not be replaced."""
    status = folder.status(name)
    if status is None:
        return None
    if stat.S_ISDIR(status.st_mode):
        return "it is a folder"
    if overwrite:
        return None
    stem, _, suffix = name.rpartition(".")
    try:
        if suffix == "npz":
            _, npz, _ = read_kernel(folder, stem, follow=True, problem_of=trusted)
            return None if npz is not None else "the module beside it has no constants"
        text = folder.read(name, MOST_TEXT, follow=True, problem_of=trusted)[0].decode()
        return verify_text(text.replace("\r\n", "\n"))
    except UnicodeDecodeError:
        return "tracejit did not write it"
    except Unusable as error:
        return f"the module that it belongs to is not as tracejit wrote it ({error.problem})"


def _second_name(folder: Folder, name: str) -> str | None:
    """Another name of a file that is about to be replaced; None if there is none."""
    if folder.status(name) is None:
        return None
    draft = f".{name}.{os.urandom(6).hex()}.tmp"
    with suppress(OSError, NotImplementedError):
        os.link(folder.path / name, folder.path / draft)
        return draft
    data, _ = folder.read(name, MOST_TEXT, follow=True, problem_of=trusted)
    return folder.draft(name, data, 0o644)
