"""Constants of a module: arrays, and numbers as 0-d arrays for use with small arrays.

A ufunc takes 200 ns longer for a Python number than for a 0-d array of the dtype that it computes
in, which matters for small arrays. `c2 = array(2.0)` and `c2 * x` compute the same as `2.0 * x`, to
the bit. The name spells the value where that is short.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, count
from typing import Any

import numpy as np

from tracejit.ir.graph import Constant, Node, Value
from tracejit.ops.elementwise.choices import where
from tracejit.ops.indexing.indexing import take
from tracejit.support.cost_model import costs
from tracejit.targets.numpy.plan.plan import Plan

EXACT_INT = 2**24
LARGEST = {2: 65504.0, 4: 3.4028234663852886e38, 8: sys.float_info.max}
"""The largest number of a floating dtype, by the bytes it takes."""
LONGEST_NAME = 8


class Constants:
    """The constants of the functions of a module, by the names they have at its head."""

    def __init__(
        self, plans: Iterable[Plan], numbers: bool = True, reserved: Collection[str] = ()
    ) -> None:
        """The arrays that the plans use, and with `numbers` those worth a name.

        No constant is called what a value of the plans is, or may come to be, nor as what is
        `reserved`.
        """
        plans = list(plans)
        self.arrays: dict[str, Constant] = {}
        self.numbers: dict[str, Any] = {}
        self._names: dict[tuple[Any, ...], str] = {}
        self._alike: dict[tuple[Any, ...], list[tuple[int, str]]] = {}
        self._places: dict[tuple[Node, int], str] = {}
        self._equal: dict[tuple[Any, ...], str] = {}
        self._indices: set[Value] = set()
        self._counts: dict[str, count[int]] = {}
        self._taken = {
            word for plan in plans for value in _values(plan) for word in (value.base, value.name)
        }.union(reserved)
        for plan in plans:
            nodes = [node for node in _in_order_of_text(plan) if _reads_constants(node)]
            self._indices |= {value for node in nodes for value in _indices_of(node)}
            for value in (*(v for n in nodes for v in n.operands), *plan.results, *plan.kept):
                if isinstance(value, Constant) and value.type.form == "array":
                    self._enter_array(value)
            for node in nodes if numbers else ():
                self._enter_numbers(node)
        self.arrays = self._in_order_of_making()

    @property
    def names(self) -> set[str]:
        """Every name."""
        return {*self.arrays, *self.numbers}

    def name_of(self, node: Node, position: int) -> str | None:
        """The name of a number that `node` reads at `position`, if it has one."""
        return self._places.get((node, position))

    def _enter_array(self, constant: Constant) -> None:
        if self.arrays.get(constant.name) is constant:
            return
        if is_view(constant):
            assert constant.made is not None
            whole = constant.made.operands[constant.made.op.view_of]
            assert isinstance(whole, Constant)
            self._enter_array(whole)
            constant.name = ""
            return
        self._enter_parts(constant)
        data = constant.data
        sizes = "x".join(map(str, data.shape))
        if data.size and data.dtype.kind == "f" and bool((data == 1).all()):
            base = f"ones_{sizes}"
        elif data.size and data.dtype.kind == "f" and not data.tobytes().strip(b"\0"):
            base = f"zeros_{sizes}"
        elif is_range(data):
            base = f"arange_{sizes}"
        elif is_identity(data):
            base = f"eye_{data.shape[0]}"
        elif diagonal_of(data) is not None:
            base = f"tri_{data.shape[0]}"
        elif is_table(data):
            base = f"places_{sizes}"
        else:
            base = constant.label or ("index" if constant in self._indices else "c")
        key = base, _identity(constant)
        if key not in self._equal:
            self._equal[key] = self._free(base, data.dtype)
            self.arrays[self._equal[key]] = constant
        constant.name = self._equal[key]

    def _enter_parts(self, constant: Constant) -> None:
        """Enter what a constant is computed from. Steps on the way have no name, unless they are
        viewed."""
        for value in constant.made.operands if constant.made is not None else ():
            if isinstance(value, Constant) and value.type.form == "array":
                if value.made is None or is_view(value):
                    self._enter_array(value)
                elif self.arrays.get(value.name) is not value:
                    self._enter_parts(value)
                    value.name = ""

    def _in_order_of_making(self) -> dict[str, Constant]:
        """The arrays, each after those that it is computed from: a step on the way to one may have
        got its name later, where a function reads it."""
        ordered: dict[str, Constant] = {}
        seen: set[int] = set()

        def enter(constant: Constant) -> None:
            named = self.arrays.get(constant.name)
            if named is not None and _identity(named) == _identity(constant):
                constant = named
            if id(constant) in seen:
                return
            seen.add(id(constant))
            for value in constant.made.operands if constant.made is not None else ():
                if isinstance(value, Constant):
                    enter(value)
            if self.arrays.get(constant.name) is constant:
                ordered[constant.name] = constant

        for constant in self.arrays.values():
            enter(constant)
        return ordered

    def _enter_numbers(self, node: Node) -> None:
        read = [value if isinstance(value, Constant) else value.type for value in node.operands]
        alike = node.op.name, *read, *[value.type for value in node.results]
        if alike not in self._alike:
            self._alike[alike] = self._numbers_of(node)
        for position, name in self._alike[alike]:
            self._places[node, position] = name

    def _numbers_of(self, node: Node) -> list[tuple[int, str]]:
        """The positions at which `node` reads numbers that have names, and these."""
        found = []
        for position, value in enumerate(node.operands):
            dtype = dtype_at(node, position)
            if dtype is None:
                continue
            number = dtype.type(value.data)
            key = repr(number), dtype
            name = self._names.get(key)
            if name is None:
                self._names[key] = name = self._free(short_name(number), dtype)
                self.numbers[name] = np.asarray(number)
            found.append((position, name))
        return found

    def _free(self, base: str, dtype: np.dtype[Any]) -> str:
        """`base`, with the dtype or a number where it is taken; "c" and "index" always have a
        number, and what NumPy has, too."""
        names = (
            [] if base in ("c", "index") or hasattr(np, base) else [base, f"{base}_{dtype.name}"]
        )
        numbered = (f"{base}_{number}" for number in self._counts.setdefault(base, count(1)))
        return next(name for name in chain(names, numbered) if not self._is_taken(name))

    def _is_taken(self, name: str) -> bool:
        return name in self.arrays or name in self.numbers or name in self._taken


def is_view(constant: Constant) -> bool:
    """Return whether a constant is a view of another."""
    made = constant.made
    if made is None or made.op.view_of is None:
        return False
    whole = made.operands[made.op.view_of]
    is_whole = isinstance(whole, Constant) and whole.made is None
    return whole.type.form == "array" and (is_whole or made.op.elements != "reshaped")


def is_identity(data: Any) -> bool:
    """Return whether an array is an identity matrix of floats or truth values, to the bit."""
    if data.ndim != 2 or data.shape[0] != data.shape[1] or data.dtype.kind not in "fb":
        return False
    if data.size < 2 or data.dtype.itemsize > 8 or data[0, 0] != 1:
        return False
    return bool(data.tobytes() == np.eye(data.shape[0], dtype=data.dtype).tobytes())


def is_range(data: Any) -> bool:
    """Return whether an array of one axis numbers its elements.

    >>> is_range(np.arange(3)), is_range(np.arange(1, 3)), is_range(np.zeros(1, int))
    (True, False, False)
    """
    if data.ndim != 1 or data.dtype != np.arange(1).dtype or data.size < 2:
        return False
    return bool(np.array_equal(data, np.arange(data.size)))


def is_table(data: Any) -> bool:
    """Return whether an array of several axes numbers its elements.

    >>> is_table(np.arange(6).reshape(2, 3)), is_table(np.arange(6))
    (True, False)
    """
    if data.ndim < 2 or data.dtype != np.arange(1).dtype or data.size < 3:
        return False
    return bool(np.array_equal(data.reshape(-1), np.arange(data.size)))


def diagonal_of(data: Any) -> int | None:
    """The last diagonal of the triangle in which a mask is true; None if it is no such mask.

    >>> diagonal_of(np.tri(3, dtype=bool)), diagonal_of(np.tri(3, 5, -1, dtype=bool))
    (0, -1)
    """
    if data.ndim != 2 or data.dtype != bool or not data.any():
        return None
    row = int(data.any(axis=1).argmax())
    diagonal = int(data[row].sum()) - 1 - row
    rows, columns = data.shape
    mask = np.tri(rows, columns, diagonal, dtype=bool)
    return diagonal if np.array_equal(mask, data) else None


def short_name(number: Any) -> str:
    """A name that spells the value of a number; "c" where that would be long.

    >>> short_name(np.float64(2.0)), short_name(np.float32(-0.5)), short_name(np.float64(1e-6))
    ('c2', 'c_minus_0_5', 'c1em06')
    >>> short_name(np.float64(1) / 3)
    'c'
    """
    text = str(number).removesuffix(".0")
    if len(text) > LONGEST_NAME:
        return "c"
    word = text.lstrip("-").replace("e-", "em").replace("e+", "e").replace(".", "_")
    return f"c_minus_{word}" if text.startswith("-") else f"c{word}"


def dtype_at(node: Node, position: int) -> np.dtype[Any] | None:
    """The dtype in which `node` takes the number at `position`, where an array of it computes the
    same and is worth a name; else None."""
    constant = node.operands[position]
    if not isinstance(constant, Constant) or constant.type.form not in ("scalar", "weak"):
        return None
    if not node.op.uniform or len(node.results) != 1 or not _is_small(node):
        return None
    if constant.type.form == "scalar":
        return constant.type.dtype if _is_floating(constant.type.dtype) else None
    if constant.type.dtype.kind not in "if":
        return None
    others = [value for value in node.operands if value is not constant]
    if node.op is where:
        others = [value for value in node.operands[1:] if value is not constant]
        dtypes = {node.results[0].type.dtype, *(value.type.dtype for value in others)}
    else:
        dtypes = {value.type.dtype for value in others if value.type.form != "weak"}
    if len(dtypes) != 1 or not _is_floating(dtype := dtypes.pop()):
        return None
    return dtype if _fits(constant.data, dtype) else None


def _is_floating(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f" and dtype.itemsize <= 8


def _fits(number: Any, dtype: np.dtype[Any]) -> bool:
    """Return whether `number` converts to `dtype` unambiguously and without a warning."""
    largest = LARGEST[dtype.itemsize]
    if type(number) is int:
        return abs(number) <= min(EXACT_INT, largest)
    return not math.isfinite(number) or abs(number) <= largest


def _is_small(node: Node) -> bool:
    types = [value.type for value in (*node.operands, *node.results) if value.type.shape]
    most = costs().named_number_elements
    return bool(types) and all(type.estimated_size < most for type in types)


def _identity(constant: Constant) -> tuple[Any, ...]:
    """The contents of a small constant that is given, not computed; another is itself alone."""
    is_array = constant.type.form == "array" and constant.made is None
    if not is_array or constant.type.size > costs().most_mask_elements:
        return (id(constant),)
    return constant.type, constant.data.tobytes()


def _indices_of(node: Node) -> Iterator[Value]:
    """The arrays of integers that a node reads elements at."""
    if node.op is take or "index" in node.params:
        yield from (value for value in node.operands[1:] if value.type.dtype.kind in "iu")


def _reads_constants(node: Node) -> bool:
    return any([isinstance(value, Constant) for value in node.operands])


def _values(plan: Plan) -> Iterator[Value]:
    yield from plan.inputs
    for node in (*plan.statements, *plan.inlined):
        yield from node.results


def _in_order_of_text(plan: Plan) -> list[Node]:
    """Every node, those written inside others in front of them."""

    text: list[Node] = []

    def write(node: Node) -> None:
        for value in node.operands:
            if value.node is not None and value.node in plan.inlined:
                write(value.node)
        text.append(node)

    for node in plan.statements:
        write(node)
    for value in (*plan.results, *plan.kept):
        if value.node is not None and value.node in plan.inlined:
            write(value.node)
    return text
