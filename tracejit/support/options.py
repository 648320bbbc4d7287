"""The options of `function`."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple


class Options(NamedTuple):
    """The options of `function`.

    `static_argnums` and `static_argnames` choose arguments whose Python numbers always select a
    kernel. `cache=False` keeps kernels off the disk. `exact=True` promises NumPy's bits for ever:
    no rewrite that changes rounding. `name` is the name in generated code. Where Python goes by
    values of arrays, up to `max_paths` traces of the function are recorded; calls that take yet
    other branches run as plain Python. `dynamic_shapes=False`
    makes a kernel for every shape; "auto" leaves a dimension free from its second size on.
    `input_signature`, one TensorSpec for each argument, leaves those free from the first call on
    that are None in it. Where a kernel has tiles, they run on up to so many `threads`, whose
    number changes no bit; None leaves it to TRACEJIT_THREADS, or to the machine.
    `memory_budget` bounds the bytes of intermediate arrays that a gradient keeps for its backward
    part and computes again there, at once: what does not fit is computed again, up to once for each
    array; arguments do not count. With `recycle=True` arrays of 32 MiB and more that tiles fill are
    handed out again by a later call when no Python object holds them or a view of them any more:
    do not keep raw pointers to results. With `freeze=True` arrays that the function reads besides
    its arguments are made read-only while a kernel relies on them, and are not compared at each
    call: writing to one raises, but through views that were made before.
    """

    static_argnums: int | tuple[int, ...] = ()
    static_argnames: str | tuple[str, ...] = ()
    cache: bool = True
    exact: bool = False
    name: str | None = None
    max_paths: int = 64
    dynamic_shapes: Literal["auto"] | bool = "auto"
    input_signature: Sequence[Any] | None = None
    threads: int | None = None
    memory_budget: int | None = None
    recycle: bool = False
    freeze: bool = False


def did_you_mean(option: str) -> str:
    """A hint at the option that is spelled most like `option`, or at all of them.

    >>> did_you_mean("exakt")
    'Did you mean exact?'
    """
    close = difflib.get_close_matches(option, Options._fields, n=1)
    return f"Did you mean {close[0]}?" if close else f"Choose from {', '.join(Options._fields)}."
