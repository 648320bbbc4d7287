"""Content identity: keys, names made of them, bytes of constants, seals. Pure functions.

A key is a SHA-256 over everything a kernel's text depends on; the caller lists those parts
(canonical graph, signature, bytes of constants, options, versions), `digest` only joins them so
that no two lists collide. The full key stands in the text's header, in a line
`    key          <64 hex digits>`. A name is for people and file systems: function, signature,
first 8 digits of the key; it decides nothing.

A kernel's last line is its seal, by which every later change is found:

    # tracejit sha256 <SHA-256 of everything above> [npz <that of the .npz beside it> <its bytes>]

Anybody can compute a seal: it finds damage and edits, not forgery. What says who wrote a kernel is
its mark, the seal again with a secret in it, which stands in a file of its own so that the text is
the same everywhere.
"""

from __future__ import annotations

import ast
import hashlib
import hmac
import io
import re
import zipfile
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from tracejit.support.errors import fail

KERNEL_NAME: Final = re.compile(r"[A-Za-z_]\w*__[0-9a-f]{8}", re.ASCII)
"""The pattern of every name made by `kernel_name` (use `fullmatch`)."""

_SEAL = re.compile(r"# tracejit sha256 ([0-9a-f]{64})(?: npz ([0-9a-f]{64}) ([0-9]{1,15}))?")
# In the column where the header has it: a word of the user's stands further right.
_KEY = re.compile(r"^ {4}key {10}([0-9a-f]{64})\b", re.MULTILINE)
_FUNCTION = re.compile(r"^ {4}user code {4}([^(\n]+)\(", re.MULTILINE)
_SIGNATURE = re.compile(r"^SIGNATURE = (\{.*?^\})$", re.MULTILINE | re.DOTALL)
_LONGEST_NAME = 60
_LONGEST_FUNCTION = 30


def digest(*parts: str | bytes) -> str:
    """The SHA-256 of `parts` in order, as 64 hex digits.

    Each part is preceded by its kind and length, so neither moving a boundary nor replacing text by
    its UTF-8 bytes keeps the digest.

    >>> digest("ab", "c") == digest("a", "bc")
    False
    >>> digest("loss")[:8]
    '3c3f725a'
    """
    hasher = hashlib.sha256()
    for part in parts:
        data = _encoded(part)
        hasher.update(b"%c%d:" % (b"s" if isinstance(part, str) else b"b", len(data)))
        hasher.update(data)
    return hasher.hexdigest()


def kernel_name(function: str, signature_letters: str, key: str) -> str:
    """The module name of a kernel: an ASCII identifier, at most 60 long, that ends in `key[:8]`.

    `function` is the user's `__name__` or `__qualname__`, `signature_letters` the arguments joined
    by two underscores; arguments that do not fit are left out whole, from the right.

    >>> kernel_name("loss", "f8_32x16__f8_16x8", "3f9a1c07" + 56 * "0")
    'loss__f8_32x16__f8_16x8__3f9a1c07'
    >>> kernel_name("Model.<lambda>", "f8", "3f9a1c07" + 56 * "0")
    'Model_lambda___f8__3f9a1c07'
    """
    tail = f"__{key[:8]}"
    plain = function.replace("<locals>.", "").replace("<lambda>", "lambda_")
    name = _identifier(plain)[:_LONGEST_FUNCTION]
    for argument in signature_letters.split("__"):
        longer = f"{name}__{_letters(argument)}" if argument else name
        if len(longer) + len(tail) > _LONGEST_NAME:
            break
        name = longer
    return name + tail


def seal(text: str, npz: bytes | None = None) -> str:
    r"""`text` with its last line: the hashes of the text and of the constants beside it.

    >>> seal("x = 1\n")
    'x = 1\n# tracejit sha256 9e26bf369911c45c243c684147b23fc9e1dcfcf257d299a1c632016a6fcd33f4\n'
    """
    # Readers undo what git may have done to line endings: a text must not hold the other kind.
    body = text.replace("\r\n", "\n").removesuffix("\n") + "\n"
    constants = "" if npz is None else f" npz {_sha256(npz)} {len(npz)}"
    return f"{body}# tracejit sha256 {_sha256(body)}{constants}\n"


def verify(text: str, npz: bytes | None = None) -> str | None:
    r"""None if `text` and its constants are exactly what `seal` made, else the problem in words.

    >>> verify(seal("x = 1\n")) is None
    True
    >>> verify(seal("x = 1\n").replace("1", "2", 1))
    'its text was changed after tracejit wrote it'
    """
    return verify_text(text) or verify_constants(text, npz)


def verify_text(text: str) -> str | None:
    """The same of the text alone."""
    body, found = _split(text)
    if found is None:
        return "it does not end in a seal: it is incomplete, or not a kernel written by tracejit"
    return None if _sha256(body) == found[1] else "its text was changed after tracejit wrote it"


def verify_constants(text: str, npz: bytes | None) -> str | None:
    """The same of the constants alone."""
    found = _split(text)[1]
    if found is None or found[2] is None:
        return None if npz is None else "it was written without constants, but has some now"
    if npz is None:
        return "its constants (the .npz beside it) are missing"
    if len(npz) == int(found[3]) and _sha256(npz) == found[2]:
        return None
    return "its constants (the .npz beside it) were changed"


def sealed_size(text: str) -> int | None:
    """The bytes of the constants that the seal of `text` names; None if it names none."""
    found = _split(text)[1]
    return None if found is None or found[3] is None else int(found[3])


def mark(secret: bytes, name: str, sealed: str) -> str:
    r"""The proof that whoever has `secret` wrote the kernel `name`: 64 hex digits.

    Of `sealed` only the seal is read: what stands above is to be verified against it.

    >>> mark(b"secret", "loss__3f9a1c07", seal("x = 1\n"))[:8]
    '82f2ac57'
    """
    last = sealed.removesuffix("\n").rpartition("\n")[2]
    return hmac.digest(secret, _encoded(f"{name}\n{last}\n"), "sha256").hex()


def key_of(text: str) -> str | None:
    """The full key in the header of a kernel's text; None if it has none."""
    found = _KEY.search(text)
    return found and found[1]


def function_of(text: str) -> str | None:
    """The user's function, with its module, in the header of a kernel's text; None if it has
    none."""
    found = _FUNCTION.search(text)
    return found and found[1]


def signature_of(text: str) -> dict[str, Any]:
    """The SIGNATURE of a kernel's text, which is not run; empty if it has none."""
    found = _SIGNATURE.search(text)
    return {} if found is None else dict(ast.literal_eval(found[1]))


def constants_bytes(arrays: Mapping[str, np.ndarray]) -> bytes:
    """An `.npz` that `np.load` reads, uncompressed, whose bytes depend on names and contents only.

    Layout (C or Fortran) and byte order are kept. Raises `UnsupportedError` for a dtype the format
    cannot hold without pickle or without loss (object, structured, extension dtypes).

    >>> data = constants_bytes({"w": np.arange(3.0)})
    >>> np.load(io.BytesIO(data))["w"]
    array([0., 1., 2.])
    """
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in sorted(arrays.items()):
            if array.dtype.hasobject or np.dtype(array.dtype.str) != array.dtype:
                words = {"what": f"the constant {name}", "dtype": array.dtype}
                fix = "convert it with .astype(...) before the call."
                raise fail("unsupported-dtype", None, fix=fix, **words)
            # Everything zipfile would take from clock or platform is fixed.
            member = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            member.create_system = 3
            member.external_attr = 0o600 << 16
            content = io.BytesIO()
            np.lib.format.write_array(content, array, version=(1, 0), allow_pickle=False)
            archive.writestr(member, content.getvalue())
    return file.getvalue()


def _split(text: str) -> tuple[str, re.Match[str] | None]:
    """Body and seal of a kernel's text; no seal if the last line, newline included, is not one."""
    if not text.endswith("\n"):
        return text, None
    body, newline, last = text[:-1].rpartition("\n")
    return body + newline, _SEAL.fullmatch(last)


def _sha256(data: str | bytes) -> str:
    return hashlib.sha256(_encoded(data)).hexdigest()


def _encoded(data: str | bytes) -> bytes:
    """UTF-8; Python strings may hold lone surrogates (from a user's literal), which are kept."""
    return data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data


def _identifier(text: str) -> str:
    """`text` as ASCII: import normalises other letters, and file systems disagree on them."""
    letters = _letters(text) or "kernel"
    return f"_{letters}" if letters[0].isdigit() else letters


def _letters(text: str) -> str:
    if text.isascii() and text.isidentifier():
        return text
    return re.sub(r"\W", "_", text, flags=re.ASCII)
