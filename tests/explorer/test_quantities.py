"""Bytes and seconds as people write them."""

from __future__ import annotations

import pytest

from tracejit.explorer.quantities import bytes_of, bytes_text, seconds_text, size_text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (1, "1 B"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (10**15, "1000.0 TB"),
    ],
)
def test_bytes(count: int, text: str) -> None:
    assert bytes_text(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(999.4e-9, "999 ns"), (999.6e-9, "1 µs"), (0.9996, "1 s"), (75.25, "75.2 s")],
)
def test_seconds(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


def test_sizes_of_types() -> None:
    assert bytes_of("c16[2,3]") == 96 and bytes_of("~f8") == 8 and bytes_of("handle") is None
    assert size_text("f4[n,10]") == "40\N{MIDDLE DOT}n B"
    assert size_text("f8[n,n + 1]") == "8\N{MIDDLE DOT}n\N{MIDDLE DOT}(n + 1) B"
