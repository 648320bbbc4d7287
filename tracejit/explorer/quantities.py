"""Quantities: bytes and seconds as people write them."""

from __future__ import annotations

import math
import re

from tracejit.ir.types import HANDLE, parse_type
from tracejit.support.errors import TracejitError

_FREE = re.compile(r"[~*]?[a-z](\d+)\[([^\[\]]*)\]")


def bytes_text(count: int) -> str:
    """Bytes in the unit that fits.

    >>> bytes_text(0), bytes_text(999), bytes_text(2344), bytes_text(5_000_000)
    ('0 B', '999 B', '2.3 kB', '5.0 MB')
    """
    if count < 1000:
        return f"{count} B"
    size, unit = count / 1e3, "kB"
    for larger in ("MB", "GB", "TB"):
        if size < 999.95:
            break
        size, unit = size / 1e3, larger
    return f"{size:.1f} {unit}"


def seconds_text(seconds: float) -> str:
    """A duration in the unit that fits, in three digits.

    >>> seconds_text(0), seconds_text(42e-9), seconds_text(1.234e-6), seconds_text(0.0567)
    ('0 ns', '42 ns', '1.23 µs', '56.7 ms')
    """
    for factor, unit in ((1e9, "ns"), (1e6, "µs"), (1e3, "ms")):
        if seconds * factor < 999.5:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def size_text(type_text: str) -> str:
    """The bytes of an array of a type as printed, in words; a product where a dimension is free.

    >>> size_text("f8[97]"), size_text("f8[n,3]"), size_text("handle")
    ('776 B', '24\N{MIDDLE DOT}n B', '')
    """
    known = bytes_of(type_text)
    if known is not None:
        return bytes_text(known)
    found = _FREE.fullmatch(type_text)
    if found is None:
        return ""
    words = [word.strip() for word in found[2].split(",")]
    number = int(found[1]) * math.prod(int(word) for word in words if word.isdigit())
    free = [word if word.isidentifier() else f"({word})" for word in words if not word.isdigit()]
    return "\N{MIDDLE DOT}".join([str(number), *free]) + " B"


def bytes_of(type_text: str) -> int | None:
    """The bytes of an array of a type as printed; None if a dimension is free.

    >>> bytes_of("f8[97]"), bytes_of("f4"), bytes_of("f8[n,3]")
    (776, 4, None)
    """
    try:
        kind = parse_type(type_text)
    except TracejitError:
        return None
    return None if kind is HANDLE else kind.size * kind.dtype.itemsize
