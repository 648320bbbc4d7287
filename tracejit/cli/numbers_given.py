"""Types of options: numbers and sizes, as argparse asks for them."""

from __future__ import annotations

import argparse

from tracejit.support.config import SETTINGS


def whole(text: str) -> int:
    """A whole number."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def positive(text: str) -> int:
    """A whole number of at least one."""
    if not (number := whole(text)):
        raise argparse.ArgumentTypeError("1 is the least")
    return number


def amount(text: str) -> int:
    """A number of bytes, which may have a unit: 500M."""
    try:
        return int(SETTINGS["cache_size"].kind.read(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 500M or 2G") from None


def days(text: str) -> float:
    """A number of days."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not number >= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of days")
    return number
