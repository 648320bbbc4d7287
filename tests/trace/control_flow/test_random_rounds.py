"""Loops over elements do what plain Python does: values by type and bits, what is left behind, and
derivatives. 20 random programs in every run, 5,000 with `-m nightly`."""

from __future__ import annotations

import re

import pytest

from tests.trace.control_flow.random_rounds import Writer, rounds_differ


@pytest.mark.parametrize("seed", range(20))
def test_random_programs_with_loops(seed: int) -> None:
    problem = rounds_differ(seed)
    assert not problem, f"{problem}\n{Writer(seed).program()}"


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(30_000, 35_000, 100))
def test_nightly_programs_with_loops(first: int) -> None:
    for seed in range(first, first + 100):
        test_random_programs_with_loops(seed)


def test_programs_do_what_they_are_for() -> None:
    """Every part is there, and each is a program."""
    texts = [Writer(seed).program().partition("def outer")[2] for seed in range(600)]
    parts = (
        r"range\(n\)", r"range\(len\(v\)\)", "zip", "enumerate", "reversed", "break", "continue",
        "return s, a, k", r"out\[i", r"m\[", "append", r"for i\d* in range\(i", "del i", "helped",
    )  # fmt: skip
    for part in parts:
        assert sum(re.search(part, text) is not None for text in texts) > 10, part
    for seed in range(50):
        compile(Writer(seed).program(), f"<rounds {seed}>", "exec")
