"""The secret of a cache, which proves that this user's tracejit wrote a kernel.

64 hex digits in a file that nobody else may read, made by the first process that writes a kernel,
at once and never twice: of two that make one at the same time, both use the one that stands. A
secret that is empty or in parts, as a power cut may leave it, is replaced, and every kernel marked
with another is made again.
"""

from __future__ import annotations

import os
import re
import stat

from tracejit.cache.folder import Folder, distrust, words

SECRET = ".secret"

_LENGTH = 64
_WRITTEN = re.compile(rb"[0-9a-f]{64}\n")


def secret_of(folder: Folder, *, make: bool = False) -> bytes | None:
    """The secret of the cache in `folder`; None if there is none, or a damaged one.

    With `make`, there is one afterwards. Raises `OSError` without a number where it cannot be read
    or others may know it, and as any write does.
    """
    data = _read(folder)
    if data is not None and _WRITTEN.fullmatch(data):
        return data
    if not make:
        return None
    fresh = os.urandom(_LENGTH // 2).hex().encode() + b"\n"
    if data is None:
        folder.write_once(SECRET, fresh, 0o600)
    else:
        folder.write({SECRET: fresh}, 0o600)
    return secret_of(folder)


def _read(folder: Folder) -> bytes | None:
    try:
        return folder.read(SECRET, 4 * _LENGTH, problem_of=_known_to_others)[0]
    except FileNotFoundError:
        return None
    except OSError as error:
        raise OSError(f"its {SECRET}: {words(error)}") from error


def _known_to_others(status: os.stat_result, descriptor: int) -> str | None:
    """The reason why somebody else may have read or written the secret; None if nobody can have."""
    problem = distrust(status, descriptor)
    if problem is None and os.name == "posix" and status.st_mode & 0o077:
        mode = stat.S_IMODE(status.st_mode)
        problem = f"others can read it (mode {mode:o}; if you delete it, kernels are made again)"
    return problem
