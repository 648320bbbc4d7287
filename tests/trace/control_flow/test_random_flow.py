"""Control flow on data does what plain Python does: values by type and bits, what is left behind
and in which order, and derivatives. 24 random programs in every run, 5,000 with `-m nightly`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import tracejit as tj
from tests.by_day import some_by_day
from tests.trace.control_flow.random_flow import HEAD, Writer, flow_differs


@pytest.mark.parametrize("seed", some_by_day([*range(60), *range(64, 76)], 5))
def test_random_programs_with_control_flow(seed: int) -> None:
    problem = flow_differs(seed)
    assert not problem, f"{problem}\n{Writer(seed).program()}"


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(20_000, 25_000, 100))
def test_nightly_programs_with_control_flow(first: int) -> None:
    for seed in range(first, first + 100):
        test_random_programs_with_control_flow(seed)


def test_programs_do_what_they_are_for() -> None:
    """Every part is there, and each is a program."""
    texts = [Writer(seed).program().removeprefix(HEAD) for seed in range(300)]
    parts = (
        "elif", "else:", "while", "for", "break", "continue", " if .* else ", " and ", " or ",
        "not ", "try:", "finally:", "with Within", r"del t", r"y\[0\] ", "append", "lambda",
        "noted", r"callback", "only", "halved", r"u\[.*\] [+*]?=", r"v\[\d\] [+*]?=",
    )  # fmt: skip
    for part in parts:
        found = sum(re.search(part, text.partition("early_of")[2]) is not None for text in texts)
        assert found > 10, part
    for seed, text in enumerate(texts):
        compile(HEAD + text, f"<flow {seed}>", "exec")


def test_a_stale_kernel_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that goes by its first argument is found, and so is a derivative of nothing."""
    seeds = range(1, 21, 2)

    def stale(program: Callable[..., Any], **_: Any) -> Callable[..., Any]:
        first: list[Any] = []

        def call(x: Any, *more: Any) -> Any:
            first.append(x)
            return program(first[0], *more)

        return call

    with monkeypatch.context() as patched:
        patched.setattr(tj, "function", stale)
        assert sum(bool(flow_differs(seed)) for seed in seeds) > 7
    with monkeypatch.context() as patched:
        patched.setattr(tj, "function", lambda program, **_: program)
        assert not any(flow_differs(seed) for seed in [0, 2, 6])
        patched.setattr(tj, "grad", lambda program: lambda x, *more: 0.0)
        assert sum(bool(flow_differs(seed)) for seed in seeds) > 5
