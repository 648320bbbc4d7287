"""Loops unrolled: `scan` and `fori_loop` as Python loops, and Python's loops step by step: the
references for the loops of one node.

A reference is compiled without improvements: that takes half of the time, and it shares no rewrite
with what is compared to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np

import tracejit as tj
from tracejit.support.cost_model import assuming
from tracejit.trace.structure.trees import flatten, unflatten


def scan(
    f: Callable[[Any, Any], Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """As `tj.scan`, with one copy of the body for each step."""
    leaves, structure = flatten(xs)
    arrays = [leaf for leaf in leaves if leaf is not None]
    count = length if not arrays else arrays[0].shape[0]
    rows: list[Any] = [None] * int(count)  # type: ignore[arg-type]
    steps = range(len(rows))
    for t in reversed(steps) if reverse else steps:
        x = unflatten(structure, [None if leaf is None else leaf[t] for leaf in leaves])
        init, rows[t] = f(init, x)
    columns = zip(*[flatten(row)[0] for row in rows], strict=True)
    whole = [None if column[0] is None else np.stack(column) for column in columns]
    return init, unflatten(flatten(rows[0])[1], whole)


def fori_loop(lower: int, upper: int, body: Callable[[Any, Any], Any], init: Any) -> Any:
    """As `tj.fori_loop`, with one copy of the body for each step."""
    for i in range(lower, upper):
        init = body(i, init)
    return init


@contextmanager
def left_unrolled() -> Iterator[None]:
    """Record Python's loops step by step meanwhile."""

    def leave(*arguments: Any) -> None:
        return None

    with (
        patch("tracejit.specialise.callee.reroll", leave),
        patch("tracejit.api.derived.reroll", leave),
        patch("tracejit.targets.numpy.lower.improve.IMPROVEMENTS", ()),
    ):
        yield


@contextmanager
def unrolled() -> Iterator[None]:
    """Find every loop of Python's too short to be rolled meanwhile."""
    with (
        assuming(least_rolled_nodes=10**9, least_sized_nodes=10**9),
        patch("tracejit.targets.numpy.lower.improve.IMPROVEMENTS", ()),
    ):
        yield


LOOPS = SimpleNamespace(scan=tj.scan, fori_loop=tj.fori_loop)
UNROLLED = SimpleNamespace(scan=scan, fori_loop=fori_loop)
