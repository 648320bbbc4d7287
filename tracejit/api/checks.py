"""check_grads: derivatives against NumPy alone.

Of each order the derivative of one real number is checked, the inner product of the result with a
fixed random array, with respect to one element of an argument at a time. The first order is
compared with the plain function: by complex step, where that agrees with differences, so that the
function is analytic there, else by differences at three steps, errors of order 2 and 4 removed.
Primitives and callbacks that answer are called with real numbers alone, as a kernel calls them.
Higher orders are compared with differences of the derivatives below, which have been checked; in
reverse mode those move with the cotangents as well.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.api.derived import callable_of
from tracejit.api.differences import Element, Settings, Slopes, in_form, inner
from tracejit.api.transforms import jvp, vjp
from tracejit.ir.graph import Node, Value
from tracejit.ir.subgraph import every_node
from tracejit.ir.types import type_of
from tracejit.ops.control.effects import call_source
from tracejit.ops.control.marker_ops import OVERRIDE
from tracejit.ops.control.routines import is_routine
from tracejit.specialise.function import Function
from tracejit.support.errors import TracejitError, fail
from tracejit.support.options import Options
from tracejit.trace.arguments.signature import bind_arguments, signature_of
from tracejit.trace.recording.active import called
from tracejit.trace.recording.variable import Variable, read_argument
from tracejit.trace.source import places
from tracejit.trace.structure.trees import flatten, labels, map_tree, unflatten
from tracejit.trace.tensor.tensor import TENSORS

MODES = {"fwd": "forward", "rev": "reverse"}
MOST_ELEMENTS = 256
ORDINALS = ("", "first", "second", "third")


class Level(NamedTuple):
    """A function of the moving arrays to a list of arrays, and how it was derived from the user's.

    `plain` is the same computed by plain Python; None above the first order.
    `more` are arrays that it takes after the user's: cotangents.
    """

    function: Callable[..., Any]
    words: str
    plain: Callable[..., Any] | None = None
    more: tuple[Any, ...] = ()


@places.at_the_users_line
def check_grads(
    f: Callable[..., Any],
    args: Any,
    *,
    order: int = 2,
    modes: Sequence[str] = ("fwd", "rev"),
    eps: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """Compare the derivatives of f(*args) with finite differences, and raise if they differ.

    Parameters
    ----------
    f : callable
        The function to check.
    args : tuple or list
        The arguments to check it at. Anything else is the only argument.
    order : int, default 2
        The highest order of derivative to check.
    modes : sequence of {"fwd", "rev"}, default ("fwd", "rev")
        The modes to check: forward, reverse, or both. From the second order on, they are also
        combined.
    eps : float, default None
        The first step of the differences. None chooses it by the dtype.
    rtol : float, default None
        The tolerance relative to the largest derivative with respect to the same array. None
        chooses it by the dtype and the order.
    atol : float, default None
        The absolute tolerance. None chooses it by the dtype and the order.

    Returns
    -------
    None
        All derivatives agree.

    Raises
    ------
    AssertionError
        If one does not. The message shows the element that is furthest off: function, argument,
        index and both numbers. It lists the markers involved, whose gradients may differ on
        purpose.
    GradientError
        If `f` has no gradient there, as for `vjp` and `jvp`. A TypeError.

    Notes
    -----
    Derivatives are checked with respect to all floating and complex arrays and numbers in `args`,
    and of all floating results. At most 256 elements of each array are checked.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tj
    >>> tj.check_grads(lambda x, y: np.sin(x) @ y, (np.ones(3), np.arange(3.0)))
    >>> @tj.custom_gradient
    ... def twice(x):
    ...     return 2.0 * x, lambda upstream: 3.0 * upstream
    >>> tj.check_grads(twice, 1.0)
    Traceback (most recent call last):
    ...
    AssertionError: twice: the first derivative in forward mode with respect to x is wrong.
      analytic  3
      numeric   2  (by complex step)
      The derivative passes through the custom gradient of twice: tj.check_grads(twice, 1.0)
    """
    python = callable_of("check_grads", f)
    modes = (modes,) if isinstance(modes, str) else tuple(modes)
    for problem in _problems(order, modes):
        raise fail("transform-option", places.here(), transform="tj.check_grads", problem=problem)
    if isinstance(f, Function) and f.is_derived:
        python = f
    check = Check(python, tuple(args) if type(args) in (tuple, list) else (args,))
    check.eps, check.rtol, check.atol = eps, rtol, atol
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        levels = [check.first()]
        for number in range(1, order + 1):
            for level in levels:
                for mode in modes:
                    check.compare(level, mode, number)
            levels = [check.derived(level, mode) for level in levels for mode in modes]


def _problems(order: int, modes: Sequence[str]) -> Iterator[str]:
    if order not in (1, 2, 3):
        yield f"order={order!r} is not 1, 2 or 3"
    if not modes or not set(modes) <= MODES.keys():
        yield f"modes={modes!r} are not 'fwd', 'rev' or both"


class Check:
    """A function at a point, as a function of the arrays that move."""

    eps: float | None = None
    rtol: float | None = None
    atol: float | None = None

    def __init__(self, f: Any, args: tuple[Any, ...]) -> None:
        """The call f(*args); Variables and eager Tensors stand for their values."""
        self.f = f
        self.name = getattr(f, "__name__", type(f).__name__)
        signature = signature_of(f)
        arguments = bind_arguments(signature, self.name, args, {})
        self.leaves, self.structure = flatten(map_tree(_settled, args))
        names = list(_names(signature, arguments, args))
        self.moving = [k for k, leaf in enumerate(self.leaves) if _is_floating(leaf)]
        self.names = [names[k] for k in self.moving]
        self.xs = [_array(self.leaves[k]) for k in self.moving]
        if not self.xs:
            problem = f"no argument of {self.name} is floating"
            where = places.here()
            raise fail("transform-option", where, transform="tj.check_grads", problem=problem)
        self.rng = np.random.default_rng(0)
        self.itemsize = min(_itemsize(x.dtype) for x in self.xs)

    def first(self) -> Level:
        """The user's function."""

        def core(*xs: Any) -> list[Any]:
            return [y for y in self._results(xs) if _moves(y)]

        functools.update_wrapper(core, self.f, updated=())
        core.__name__ = self.name
        core.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [inspect.Parameter("xs", inspect.Parameter.VAR_POSITIONAL)]
        )
        self.function: Function[..., Any] = Function(core, options=Options(cache=False))
        graph = self.function.kernel(*self.xs).graph
        sizes = [_itemsize(v.type.dtype) for v in graph.values() if v.type.is_inexact]
        self.calls_out = any(
            node.op.source is call_source or is_routine(node) for node in every_node(graph.nodes)
        )
        self.itemsize = min([self.itemsize, *sizes])
        try:
            self._results(self.xs)
        except TracejitError:  # it takes Tensors alone, as a tape does
            return Level(self.function, "", lambda xs: list(self.function(*xs)))
        return Level(self.function, "", self._results)

    def _results(self, xs: Sequence[Any]) -> list[Any]:
        """The leaves of the result where the moving arrays are these."""
        leaves = list(self.leaves)
        for k, x in zip(self.moving, xs, strict=True):
            leaves[k] = x
        result = called(self.f)(*unflatten(self.structure, leaves))
        return [read_argument(y) for y in flatten(result)[0]]

    def derived(self, level: Level, mode: str) -> Level:
        """The derivative of a level as a function: in reverse mode the gradients, by the cotangents
        too, in forward mode the tangents along a fixed direction."""
        more = level.more
        if mode == "rev":
            more += tuple(self._seeds(level))
            count = len(self.xs) + len(level.more)

            def function(*xs: Any) -> Any:
                return list(vjp(level.function, *xs[:count])[1](list(xs[count:])))
        else:
            directions = tuple(_drawn(self.rng, x) for x in (*self.xs, *more))

            def function(*xs: Any) -> Any:
                return jvp(level.function, xs, directions)[1]

        function.__name__ = self.name
        words = f" of the {MODES[mode]} mode's" if not level.words else f" of {MODES[mode]} over"
        made: Function[..., Any] = Function(function, options=Options(cache=False))
        return Level(made, f"{words}{level.words.replace(' of', '', 1)}", more=more)

    def _seeds(self, level: Level) -> list[Any]:
        results = [np.asarray(y)[()] for y in level.function(*self.xs, *level.more)]
        if len(results) == 1 and np.shape(results[0]) == () and results[0].dtype.kind != "c":
            return [np.ones_like(results[0])[()]]
        return [_drawn(self.rng, y) for y in results]

    def compare(self, level: Level, mode: str, order: int) -> None:
        """AssertionError where the derivative of a level in one mode is not what differences of it
        are."""
        seeds = self._seeds(level)
        if not seeds:
            return
        plain = level.plain
        settings = Settings(self.eps, self.rtol, self.atol, self.itemsize)

        def results(xs: Sequence[Any]) -> list[Any]:
            if plain is None:
                return list(level.function(*xs))
            return [y for y in plain(xs) if _moves(y)]

        points = [*self.xs, *level.more]
        slopes = Slopes(results, points, seeds, settings, plain is not None, not self.calls_out)
        pull = vjp(level.function, *points)[1](seeds) if mode == "rev" else None
        wrong: list[Element] = []
        for leaf, x in enumerate(points):
            indices = self._indices(x)
            if pull is not None:
                found = [complex(np.asarray(pull[leaf])[index]) for index in indices]
            else:
                found = [_pushed(level, points, seeds, leaf, index) for index in indices]
            wrong += slopes.wrong(leaf, indices, found)
        if wrong:
            self._fail(
                max(wrong, key=lambda entry: entry.excess), len(wrong), level, mode, order, seeds
            )

    def _indices(self, x: Any) -> list[tuple[int, ...]]:
        count = range(x.size)
        chosen: Any = count
        if x.size > MOST_ELEMENTS:
            chosen = np.sort(self.rng.choice(x.size, MOST_ELEMENTS, replace=False))
        return [tuple(map(int, np.unravel_index(int(k), x.shape))) for k in chosen]

    def _fail(
        self,
        worst: Element,
        count: int,
        level: Level,
        mode: str,
        order: int,
        seeds: Sequence[Any],
    ) -> None:
        place = "".join(f"[{', '.join(map(str, worst.at))}]" if worst.at else "")
        by = [*self.names, *["the cotangent"] * len(level.more)][worst.leaf]
        what = f"the {ORDINALS[order]} derivative in {MODES[mode]} mode"
        lines = [f"{self.name}: {what} with respect to {by}{place} is wrong."]
        if level.words:
            lines[0] = f"{lines[0][:-1]} (the derivative{level.words})."
        lines += [f"  analytic  {_number(worst.analytic)}"]
        lines += [f"  numeric   {_number(worst.numeric)}  ({worst.by})"]
        if np.size(seeds[0]) > 1 or len(seeds) > 1:
            lines.append(
                "  Both are derivatives of the inner product of the result and fixed "
                "random numbers."
            )
        if count > 1:
            lines.append(f"  It is the worst of {count} elements that differ.")
        lines += [
            f"  The derivative passes through {marker}" for marker in self._markers(worst.leaf)
        ]
        raise AssertionError("\n".join(lines))

    def _markers(self, leaf: int) -> list[str]:
        """The markers that the first order meets between an argument, for a cotangent any, and the
        result."""
        graph = self.function.kernel(*self.xs).graph
        reached: set[Value] = set(graph.inputs)
        if leaf < len(self.xs):
            reached = {graph.inputs[leaf]}
        met: list[Node] = []
        for node in graph.nodes:
            if not reached.isdisjoint(node.operands):
                reached.update(node.results)
                if node.op is OVERRIDE:
                    met.append(node)
        lines = []
        for node in met:
            marker = node.params["grad"]
            text = f"the custom gradient of {marker.name}"
            if marker.note != "custom gradient":
                text = marker.name if marker.note == "stopped" else f"{marker.name} ({marker.note})"
            line = f": {node.where.text}" if node.where is not None and node.where.text else ""
            lines.append(f"{text}{line}")
        return list(dict.fromkeys(lines))


def _pushed(
    level: Level, points: Sequence[Any], seeds: Sequence[Any], leaf: int, index: Any
) -> complex:
    """The gradient's element in forward mode: along one, and along the imaginary unit."""
    found = 0.0 + 0.0j
    for unit in (1.0, 1.0j) if points[leaf].dtype.kind == "c" else (1.0,):
        dots = [np.zeros_like(x) for x in points]
        dots[leaf][index] = unit
        moved = tuple(in_form(dot, x) for dot, x in zip(dots, points, strict=True))
        tangents = jvp(level.function, tuple(points), moved)[1]
        found += unit * sum(map(inner, seeds, tangents))
    return found


def _settled(leaf: Any) -> Any:
    """A Variable or eager Tensor as its value."""
    if type(leaf) is Variable or type(leaf) in TENSORS:
        return leaf.numpy()
    return leaf


def _names(signature: inspect.Signature, arguments: Any, args: Any) -> Iterator[str]:
    """A name for each leaf of the arguments."""
    roots: list[str] = []
    for name, value in arguments.items():
        kind = signature.parameters[name].kind
        several = kind is inspect.Parameter.VAR_POSITIONAL
        roots += [f"{name}[{k}]" for k in range(len(value))] if several else [name]
    for root, value in zip(roots, args, strict=False):
        for path in labels(flatten(map_tree(_settled, value))[1], root):
            yield path[0] + "".join(
                f"[{key!r}]" if not key.isdigit() else f"[{key}]" for key in path[1:]
            )


def _is_floating(leaf: Any) -> bool:
    kind = type_of(leaf)
    return kind is not None and kind.is_inexact


def _moves(y: Any) -> bool:
    """Return whether a result has a derivative."""
    return y.type.is_inexact if type(y) in TENSORS else _is_floating(y)


def _array(leaf: Any) -> Any:
    """A leaf as an array or a NumPy scalar."""
    return leaf if isinstance(leaf, (np.ndarray, np.generic)) else np.asarray(leaf)[()]


def _itemsize(dtype: np.dtype[Any]) -> int:
    """The bytes of a real number of its precision."""
    return min(dtype.itemsize // (2 if dtype.kind == "c" else 1), 8)


def _drawn(rng: np.random.Generator, y: Any) -> Any:
    """Random numbers of modulus 0.5 to 1, of the type of y."""
    y = _array(y)
    values: Any = rng.uniform(0.5, 1.0, y.shape) * rng.choice([-1.0, 1.0], y.shape)
    if y.dtype.kind == "c":
        values = values * np.exp(1j * rng.uniform(0.0, 6.0, y.shape))
    return in_form(np.asarray(values).astype(y.dtype), y)


def _number(value: complex) -> str:
    return f"{value.real:.10g}" if value.imag == 0 else f"{value:.10g}"
