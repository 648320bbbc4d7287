"""Random programs of several traces, joined in one kernel: on each path they are what NumPy
computes, whatever paths were recorded before, and their gradients are right.

24 programs in every run, 5,000 with `-m nightly`. A program that fails is printed as Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tracejit as tj
from tests.by_day import some_by_day
from tests.random_loops import program_of
from tests.random_traces import calls_of, differs, text_of
from tracejit.targets.numpy.text import module

pytestmark = pytest.mark.filterwarnings("ignore::tracejit.support.errors.TracejitWarning")


@pytest.fixture(autouse=True)
def in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels of random programs are not kept."""
    monkeypatch.setenv("TRACEJIT_CACHE", "0")


@pytest.mark.parametrize("seed", some_by_day([*range(10), *range(11, 24), 58], 3))
def test_random_programs(seed: int) -> None:
    assert differs(seed) == "", text_of(seed)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(1000, 6000, 100))
def test_nightly_random_programs(first: int) -> None:
    problems = {seed: differs(seed) for seed in range(first, first + 100)}
    found = {seed: problem for seed, problem in problems.items() if problem}
    assert not found, (found, *map(text_of, found))


def test_programs_do_what_they_are_for() -> None:
    """Most have several traces, and every part is there."""
    texts = [text_of(seed) for seed in range(300)]
    bodies = [text.partition(", []\n")[2] for text in texts]
    parts = "break", "while", "descend(", "return (", "+=", "np.add.at", "z[::-1] =", "P[", ".T"
    for part in parts:
        assert sum(part in body for body in bodies) > 10, part
    counts = []
    for seed in range(10):
        f = program_of(texts[seed], seed)
        compiled = tj.function(f)
        for call in calls_of(f, seed):
            compiled(*call.arguments)
        counts.append(compiled.tracing_count)
    assert sum(count > 1 for count in counts) > 6 and max(counts) > 3


def test_a_wrong_gradient_of_one_path_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault under one path alone, of the kind that the programs are for."""
    written: Callable[..., Any] = module._written

    def faulty(body: Any, *rest: Any) -> Any:
        text = written(body, *rest)
        if body.path == 1:
            text.lines[-1] = text.lines[-1].replace("return (", "return (0.0 * ", 1)
        return text

    monkeypatch.setattr(module, "_written", faulty)
    assert "slope" in differs(1)


def test_a_program_is_the_same_every_time() -> None:
    assert text_of(7) == text_of(7) != text_of(8)
