"""Modules made of kernel text: the bytes that are verified in memory are the ones that run.

A text names its constants by the path of a file, so that it runs without tracejit. Here that path
stands for the bytes that were verified: nothing is read twice, and no file is written to read them.
"""

from __future__ import annotations

import encodings.cp437  # noqa: F401  zipfile imports it when it reads, and files may not open then
import io
import linecache
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType

from tracejit.cache.folder import Folder, words
from tracejit.cache.key import sealed_size, verify_constants, verify_text
from tracejit.support.errors import TracejitError, fail

MOST_TEXT = 2**28
"""Bytes of text beyond which a file is not a kernel."""


class Unusable(Exception):
    """A kernel on disk that does not run: why, and if that is because there is none."""

    def __init__(self, problem: str, missing: bool = False) -> None:
        """`problem` is a clause about the file, without its subject."""
        super().__init__(problem)
        self.problem = problem
        self.missing = missing


class ConstantsPath:
    """`__file__` of a module while it runs: what it makes of it, `__file__[:-3] + ".npz"`, is a
    file in memory."""

    def __init__(self, constants: bytes) -> None:
        """`constants` are the bytes of that file."""
        self.constants = constants

    def __getitem__(self, part: slice) -> ConstantsPath:
        return self

    def __add__(self, suffix: str) -> io.BytesIO:
        return io.BytesIO(self.constants)


def load_text(name: str, text: str, path: Path | None, npz: bytes | None) -> ModuleType:
    """The module `tracejit.kernels.NAME` made by running `text`; nothing is verified here.

    Constants come from `npz`, whatever lies at `path`. Tracebacks and pdb show the text's lines,
    those of the file or, without `path`, from memory. What the text raises is passed on. The module
    keeps both as `__source__` and `__npz__`.

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
    module.__dict__.update(__file__=filename, __source__=text, __npz__=npz)
    if npz is not None:
        module.__dict__.update(__file__=ConstantsPath(npz))
    exec(code, module.__dict__)
    module.__file__ = filename
    return module


def run(name: str, text: str, path: Path, npz: bytes | None, fix: str) -> ModuleType:
    """`load_text` that fails with a `KernelError`: an intact kernel may meet another NumPy.
    MemoryError stays what it is."""
    try:
        return load_text(name, text, path, npz)
    except MemoryError:
        raise  # the process is at fault, not the file
    except Exception as error:
        problem = f"{path}: running it raises {type(error).__name__}: {error}"
        raise refusal(name, problem, fix) from error


def refusal(name: str, problem: str, fix: str) -> TracejitError:
    """The `KernelError` of a kernel that cannot be used."""
    return fail("kernel", None, name=name, problem=problem, fix=fix)


def read_kernel(
    folder: Folder,
    stem: str,
    *,
    follow: bool = False,
    problem_of: Callable[[os.stat_result, int], str | None] | None = None,
    check: Callable[[str, os.stat_result], None] | None = None,
) -> tuple[str, bytes | None, os.stat_result]:
    """Verified text and constants of a kernel, with the status of its file; see `Folder.read`.

    Constants are read once the text is verified and has passed `check`, which raises `Unusable` as
    this does: a text that is not trusted does not say how much there is to read.
    """
    npz: bytes | None = None
    try:
        data, status = folder.read(f"{stem}.py", MOST_TEXT, follow=follow, problem_of=problem_of)
        # What Python itself does with line endings in source.
        text = data.decode().replace("\r\n", "\n")
        problem = verify_text(text)
        if problem is None:
            if check is not None:
                check(text, status)
            size = sealed_size(text)
            if size is not None:
                with suppress(FileNotFoundError):
                    npz, _ = folder.read(f"{stem}.npz", size, follow=follow, problem_of=problem_of)
            problem = verify_constants(text, npz)
    except OSError as error:
        raise Unusable(words(error), isinstance(error, FileNotFoundError)) from error
    except UnicodeDecodeError:
        problem = "it is not UTF-8 text"
    if problem is not None:
        raise Unusable(problem)
    return text, npz, status
