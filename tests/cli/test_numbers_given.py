"""Numbers and sizes as options."""

from __future__ import annotations

import argparse

import pytest

from tracejit.cli.numbers_given import amount, days, positive, whole


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [(whole, "0", 0), (positive, "7", 7), (amount, "500M", 500_000_000), (days, "1.5", 1.5)],
)
def test_numbers(read, text, value):
    assert read(text) == value


@pytest.mark.parametrize(
    ("read", "text"),
    [(whole, "-1"), (whole, "1.5"), (positive, "0"), (amount, "lots"), (amount, "-1"),
     (days, "old"), (days, "-1"), (days, "nan")],
)  # fmt: skip
def test_no_numbers(read, text):
    with pytest.raises(argparse.ArgumentTypeError):
        read(text)
