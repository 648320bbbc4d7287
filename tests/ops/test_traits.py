"""Every trait that an op declares, against NumPy: on the operands of the op's samples, and on
numbers that show what is special (zeros of both signs, infinities, nan, the largest and smallest).

A check answers what is wrong; `test_a_wrong_trait_is_found` declares wrong ones and expects that.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from test_table import CASES

from tests.by_day import by_day
from tests.interpret import interpret
from tests.ops.program import quiet
from tests.rows import each_row
from tracejit.autodiff.forward.linearity import Origins, obstacles_at
from tracejit.ir.graph import Node
from tracejit.ir.types import ArrayType, type_of
from tracejit.ops.base import sized  # noqa: F401
from tracejit.ops.base.op import OPS, Op
from tracejit.support.errors import NoGradientError
from tracejit.trace.recording.record import Recording

SAMPLES = 8
"""So many samples of an op are looked at."""
ROW, TABLE, CUBE = np.arange(1.0, 5.0), np.arange(1.0, 13.0).reshape(3, 4), np.ones((2, 3, 4))
NUMBERS = {"inf": np.inf, "nan": np.nan}
PLACES, COLUMN = np.array([2, 0]), np.array([[2, 0, 1, 2]])
SECOND_ROW = ((1,),)
SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.3, -0.7, 2.5, -3.5, np.inf, -np.inf, np.nan, 1e300, -1e300, 5e-324]
)

# What no NumPy call records as it stands.
CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "above_minus_infinity": ((SPECIAL,), {}),
    "or_zero": ((np.array([True, False, True, True]), ROW), {"chosen": True}),
    "unknown_slope": ((ROW,), {}),
    "flat": ((ROW,), {}),
    "radial": ((ROW, ROW, ROW), {}),
    "bent": ((ROW, ROW, ROW), {}),
    "smirnov_slope": ((np.array([5, 5]), np.array([0.3, 0.6])), {}),
    "as_scalar": ((np.array(2.5),), {"dtype": np.dtype("f4")}),
    "as_element": ((np.array(2.5),), {}),
    "put_diagonal": ((ROW,), {"shape": (4, 4), "offset": 0, "axis1": 0, "axis2": 1}),
    "add_slice": ((TABLE, ROW), {"index": (1,)}),
    "put_slice": ((ROW,), {"shape": (3, 4), "index": (1,)}),
    "put_at": ((TABLE[:2], PLACES), {"shape": (3, 4), "index": ("{1}",)}),
    "add_at": ((TABLE[:2], PLACES), {"shape": (3, 4), "index": ("{1}",)}),
    "put_along_axis": (
        (TABLE[:1], PLACES[:1, None] + [[0, 0, 0, 0]]),
        {"shape": (3, 4), "axis": 0},
    ),
    "add_along_axis": (
        (TABLE[:1], PLACES[:1, None] + [[0, 0, 0, 0]]),
        {"shape": (3, 4), "axis": 0},
    ),
    "add_windows": (
        (TABLE[..., None] * ROW[:2],),
        {"shape": (3, 5), "window_shape": (2,), "axis": (1,)},
    ),
    "identity": ((TABLE,), {"number": 0}),
    "set_item": ((TABLE, ROW), {"index": (1,), "unique": True}),
    "add_item": ((TABLE, ROW), {"index": (1,), "unique": True}),
    "subtract_item": ((TABLE, ROW), {"index": (1,), "unique": True}),
    "swap_items": ((TABLE, np.int64(0), np.int64(2)), {"index": ("{1}",), "unique": False}),
    "matrix_view": ((ROW,), {}),
    "with_real": ((TABLE * 1j, TABLE), {}),
    "with_imag": ((TABLE + 1j, TABLE), {}),
    "take_under": ((TABLE, TABLE > 3.0), {"index": ("{1}",), "shape": (9,)}),
    "dot_in_rows": ((TABLE, TABLE + 1.0), {"rows": (3, 4)}),
}
NOT_TRIED = dict.fromkeys(
    (
        "sparse_product",
        "sparse_solve",
        "factors_solve",
        "sparse_expm_multiply",
        "sparse_expm_slope",
        "matrix_product",
    ),
    "its matrix is no array: trace/convert/test_sparse.py",
)


class Call(NamedTuple):
    """An op applied to operands by NumPy."""

    op: Op
    operands: tuple[Any, ...]
    params: dict[str, Any]

    def on(self, *operands: Any) -> Any:
        """The result for other operands."""
        return self.op.evaluate(*operands, **self.params)

    @property
    def result(self) -> Any:
        return self.on(*self.operands)

    def with_operand(self, place: int, operand: Any) -> Any:
        """The result with another operand in one place."""
        return self.on(*self.operands[:place], operand, *self.operands[place + 1 :])

    @property
    def first(self) -> Any:
        """The result, the first of several."""
        with quiet():
            result = self.result
        return result[0] if type(result) in (tuple, list) else result

    @property
    def moving_first(self) -> list[int]:
        """The places of operands, arrays, of which the first result has a derivative."""
        return [
            k
            for k, x in enumerate(self.operands)
            if self.op.vjp != () and self.op.vjp_rule(k) is not None
            if isinstance(x, np.ndarray) and x.dtype.kind in "fc" and x.dtype.itemsize > 2
            if getattr(self.first, "dtype", np.dtype(bool)).kind in "fc"
        ]

    @property
    def moving(self) -> list[int]:
        """The places of operands that have a derivative; none where not all can move."""
        places = [k for k in range(len(self.operands)) if self.op.vjp_rule(k) is not None]
        values = [*(self.operands[k] for k in places), self.first]
        return places if all(np.asarray(one).dtype.kind in "fc" for one in values) else []


@cache
def calls() -> dict[str, list[Call]]:
    """The calls of each op that its samples make."""
    found: dict[str, list[Call]] = defaultdict(list)

    def observe(node: Node, operands: list[Any], results: tuple[Any, ...]) -> None:
        found[node.op.name].append(Call(node.op, tuple(operands), node.params))

    seen: Counter[str] = Counter()
    for case in CASES:
        if case.sample.op in OPS and seen[case.sample.op] < SAMPLES:
            seen[case.sample.op] += 1
            with quiet():
                interpret(case.program.recorded[0], *case.program.leaves, observe=observe)
    for name, (operands, params) in CALLS.items():
        found[name].append(Call(OPS[name], operands, params))
    return found


def calls_of(op: Op) -> list[Call]:
    """The calls of `op`, as it is declared here."""
    return [call._replace(op=op) for call in calls()[op.name]]


# What is wrong with a declaration


def not_elementwise(op: Op) -> Iterator[str]:
    """An element of the result is computed of the elements in its place alone."""
    rng = np.random.default_rng(3)
    for call in calls_of(op):
        arrays = [np.asarray(operand) for operand in call.operands]
        shape = np.broadcast_shapes(*[one.shape for one in arrays])
        results = call.result if type(call.result) is tuple else (call.result,)
        if any(np.shape(result) != shape for result in results):
            yield f"it makes {[np.shape(result) for result in results]} of {shape}"
        if not shape:
            continue
        flat = [np.broadcast_to(one, shape).reshape(-1) for one in arrays]
        order = rng.permutation(flat[0].size)
        try:
            moved, straight = call.on(*[one[order] for one in flat]), call.on(*flat)
        except ValueError as error:
            yield str(error)
            continue
        for one, other in zip(np.atleast_2d(moved), np.atleast_2d(straight), strict=True):
            if not np.allclose(one, other[order], rtol=1e-6, equal_nan=True):
                yield "an element depends on others"


def _is_linear(apply: Callable[[list[Any]], Any], xs: list[Any]) -> bool:
    rng = np.random.default_rng(4)
    ys = [(np.asarray(x) + rng.normal(size=np.shape(x))).astype(np.asarray(x).dtype) for x in xs]
    both = [2.0 * np.asarray(x) - 0.5 * y for x, y in zip(xs, ys, strict=True)]
    cast = [one.astype(np.asarray(x).dtype) for one, x in zip(both, xs, strict=True)]
    wanted = 2.0 * apply(xs) - 0.5 * apply(ys)
    return np.allclose(apply(cast), wanted, rtol=1e-3, atol=1e-4, equal_nan=True)


def _spreads_alike(apply: Callable[[list[Any]], Any], xs: list[Any]) -> bool:
    """Tell if inf and nan in the same place make the same elements not finite, of real numbers."""
    found = []
    for number in (np.inf, -np.inf, np.nan):
        x = np.array(xs[0])
        x.reshape(-1)[x.size // 2 :][:1] = number
        operand = x if type(xs[0]) is np.ndarray else x[()]
        try:
            result = apply([operand, *xs[1:]])
        except ValueError:  # SciPy asks for finite numbers
            return True
        found.append(np.isfinite(result) if "c" not in (x.dtype.kind, result.dtype.kind) else True)
    return all(np.array_equal(one, found[0]) for one in found)


def not_linear(op: Op) -> Iterator[str]:
    """f(ax + by) is af(x) + bf(y), in the operands that are named."""
    for call in calls_of(op):
        if op.linear_in == "jointly":
            groups = [call.moving]
        elif op.linear_in == "each":
            groups = [[place] for place in call.moving]
        else:
            groups = [[place] for place in op.linear_in if place in call.moving]
        for group in filter(None, groups):

            def apply(values: list[Any], call: Call = call, group: list[int] = group) -> Any:
                operands = list(call.operands)
                for place, value in zip(group, values, strict=True):
                    operands[place] = value
                return np.asarray(call._replace(operands=tuple(operands)).first)

            xs = [call.operands[place] for place in group]
            if not _is_linear(apply, xs):
                yield f"it is not linear in {group}"
            if type(call.result) is not tuple and not _spreads_alike(apply, xs):
                yield f"it makes other elements of inf than of nan in {group}"


def not_commutative(op: Op) -> Iterator[str]:
    """No bit depends on the order of the operands."""
    kinds = [SPECIAL, SPECIAL.astype("f4"), np.arange(-3, 4), np.array([True, False])]
    for values in kinds:
        x, y = (one.reshape(-1) for one in np.meshgrid(values, values))
        call = Call(op, (x, y), {})
        try:
            one, other = call.result, call.on(y, x)
        except TypeError:
            continue
        same = (one == other) & (np.signbit(one * 1.0) == np.signbit(other * 1.0))
        if not np.all(same | ((one != one) & (other != other))):
            yield f"{op.name} of {x[~same][:3]} and {y[~same][:3]}"


def _on_special(op: Op, values: np.ndarray) -> Iterator[Any]:
    """The results for all choices of `values` as the operands of an elementwise op; for another,
    for its samples' operands full of them."""
    for call in calls_of(op):
        arrays = [np.asarray(operand) for operand in call.operands]
        if not all(one.dtype.kind == "f" for one in arrays):
            continue
        if op.elementwise and len(arrays) <= 2:
            choices = np.array(list(itertools.product(values, repeat=len(arrays)))).T
            yield np.asarray(call.on(*choices))
        for shift in range(3):
            chosen = [
                np.resize(np.roll(values, shift * k), one.shape).astype(one.dtype)
                for k, one in enumerate(arrays, 1)
            ]
            result = np.asarray(call.on(*chosen))
            yield result.astype("f8") if result.dtype.kind == "f" else np.zeros(0)


def _has_sign(result: np.ndarray) -> bool:
    return bool(np.any(np.signbit(result) & ~np.isnan(result)))


def not_of_sign(op: Op) -> Iterator[str]:
    """No element is below zero, nor -0.0; where the operands have none, for "kept"."""
    values = SPECIAL if op.sign == "nonnegative" else SPECIAL[~np.signbit(SPECIAL)]
    if any(_has_sign(result) for result in _on_special(op, values)):
        yield "it has elements below zero"


def not_within_bound(op: Op) -> Iterator[str]:
    """No element is above the bound, but by rounding."""
    for result in _on_special(op, np.concatenate([SPECIAL, np.linspace(-4.0, 4.0, 97)])):
        if np.nanmax(np.abs(result), initial=0.0) > op.bound * (1 + 1e-6):
            yield f"it makes {np.nanmax(np.abs(result))}"


def not_elements_of_operand(op: Op) -> Iterator[str]:
    """The elements are those of operand 0, where the trait says."""
    for call in calls_of(op):
        result = np.asarray(call.result)
        x = np.asarray(call.operands[0]).astype(result.dtype)
        match op.elements:
            case "same":
                right = np.array_equal(x, result, equal_nan=result.dtype.kind in "fc")
            case "reshaped":
                right = np.array_equal(x.reshape(-1), result.reshape(-1))
            case "permuted":
                right = np.array_equal(np.sort(x.reshape(-1)), np.sort(result.reshape(-1)))
            case "spread":
                right = not result.size or np.array_equal(np.unique(x), np.unique(result))
            case _:
                right = bool(np.all(np.isin(result, x)))
        if not right:
            yield f"{result} are not {op.elements} of {x}"


def not_moving(op: Op) -> Iterator[str]:
    """The elements are those of operands, or one number that is in no operand."""
    for call in calls_of(op):
        result = np.asarray(call.result)
        given = np.concatenate([np.ravel(x).astype(result.dtype) for x in call.operands])
        others = result[~np.isin(result, given)]
        if np.unique(others).size > 1:
            yield f"{others} are no elements of {call.operands}"


def not_a_view(op: Op) -> Iterator[str]:
    """The result is in the memory of the operand, in whatever order that lies."""
    assert op.view_of is not None
    for call in calls_of(op):
        x = call.operands[op.view_of]
        if type(x) is not np.ndarray or not x.size:
            continue
        for laid in (x.copy(), np.asfortranarray(x), np.stack([x, x], -1)[..., 0]):
            result = call.with_operand(op.view_of, laid)
            if type(result) is not np.ndarray or not result.size:
                continue
            if not np.shares_memory(result, laid):
                yield "it is a copy"
            if op.view == "read-only" and result.flags.writeable:
                yield "it can be written to"
            if op.view == "always" and not result.flags.writeable:
                yield "it cannot be written to"


def not_in_order(op: Op) -> Iterator[str]:
    """The result lies in the order; in C order where operand 0 does, for "kept"."""
    for call in calls_of(op):
        laid = [np.ascontiguousarray] if op.order == "kept" else [np.array, np.asfortranarray]
        arrays = [k for k, one in enumerate(call.operands) if type(one) is np.ndarray]
        for lay in laid:
            operands = list(call.operands)
            for place in arrays:
                operands[place] = lay(operands[place])
            result = call.on(*operands) if operands else call.result
            flag = "F_CONTIGUOUS" if op.order == "F" else "C_CONTIGUOUS"
            if type(result) is np.ndarray and not result.flags[flag]:
                yield "it lies in another order"


def not_uniform(op: Op) -> Iterator[str]:
    """An array of one element gives what the Python number gives."""
    x = np.concatenate([SPECIAL, np.linspace(-2.0, 2.0, 9)])
    count = len(calls()[op.name][0].operands)
    first = 1 if op.name == "where" else 0  # its condition
    for dtype, number in itertools.product(("f4", "f8"), (2.0, 0.1, -0.5, 0.0, np.inf)):
        for place in range(
            int(op.name == "clip") or first, count
        ):  # np.clip of a number is float64
            operands = [np.abs(x) > 1.0] * first + [x.astype(dtype)] * (count - first)
            call = Call(op, tuple(operands), {})
            try:
                by_number = call.with_operand(place, number)
                by_array = call.with_operand(place, np.array(number, dtype))
            except TypeError as error:
                yield str(error)
                continue
            if by_number.dtype != by_array.dtype or by_number.tobytes() != by_array.tobytes():
                yield f"of {number} in place {place}"


def not_arithmetic(op: Op) -> Iterator[str]:
    """The operator gives the same bits on Python floats."""
    for operands in itertools.product(SPECIAL, repeat=len(calls()[op.name][0].operands)):
        by_numpy = Call(op, operands, {}).result
        text = op.template([type_of(one) for one in operands], {})
        try:
            by_python = eval(text.format(*[f"({float(one)!r})" for one in operands]), NUMBERS)
        except (ZeroDivisionError, OverflowError):
            continue
        is_nan = by_python != by_python and by_numpy != by_numpy
        if type(by_python) is not float or (
            not is_nan and repr(by_python) != repr(float(by_numpy))
        ):
            yield f"{by_python} is not {by_numpy} of {operands}"


def not_reducing(op: Op) -> Iterator[str]:
    """The ufunc takes elements together, and what it makes of parts."""
    ufunc = getattr(np, op.reduces or "")
    for call in calls_of(op):
        if "dtype" in call.params:
            continue
        x, axes = np.asarray(call.operands[0]), call.params.get("axis", ())
        wanted = np.asarray(call.result)
        whole = ufunc.reduce(x, axis=axes, keepdims=call.params.get("keepdims", False))
        if not np.allclose(wanted, whole, rtol=1e-5, equal_nan=True):
            yield f"{wanted} is not {ufunc.__name__} of {x}"
        if axes and x.shape[axes[0]] > 1:
            parts = np.split(x, [1], axis=axes[0])
            made = ufunc(*[np.asarray(call.on(part)) for part in parts])
            if not np.allclose(wanted, made, rtol=1e-5, equal_nan=True):
                yield f"{made} of parts is not {wanted}"


PRODUCTS = {
    "matrices": "...ij,...jk->...ik",
    "matrix_vector": "...ij,...j->...i",
    "vector_matrix": "...i,...ij->...j",
    "vectors": "...i,...i->...",
    "outer": "i,j->ij",
}


def not_a_product(op: Op) -> Iterator[str]:
    """The same as einsum of the letters of its kind."""
    for call in calls_of(op):
        if any(np.asarray(one).dtype.kind == "c" for one in call.operands):
            continue
        operands = [np.reshape(one, -1) if op.product == "outer" else one for one in call.operands]
        try:
            wanted = np.einsum(PRODUCTS[op.product or ""], *operands)
        except ValueError as error:
            yield str(error)
            continue
        if np.shape(wanted) != np.shape(call.result) or not np.allclose(
            wanted, call.result, rtol=1e-3
        ):
            yield f"{call.result} is not {wanted}"


def not_an_update(op: Op) -> Iterator[str]:
    """A write changes the result where it is written, and as the trait says."""
    for call in calls_of(op):
        whole = np.shape(call.result) == np.shape(call.operands[0])
        values = call.operands[-1 if whole else 0]
        before = call.operands[0] if whole else np.zeros(np.shape(call.result))
        change = {"put": 0.0, "add": np.sum(values), "subtract": -np.sum(values)}[op.update or ""]
        if op.update == "put":
            written = call.result[call.result != before]
            if not np.all(np.isin(written, values)):
                yield f"{written} is not of {values}"
        elif not np.isclose(np.sum(call.result) - np.sum(before), change):
            yield f"{np.sum(call.result - before)} is not {change}"


def not_a_factorization(op: Op) -> Iterator[str]:
    """It costs the third power of the rows."""
    for call in calls_of(op)[:1]:
        kinds = [type_of(operand) for operand in call.operands]
        costs = []
        for rows in (64, 128):
            types = [
                ArrayType((*(rows,) * min(kind.ndim, 2),), kind.dtype) if kind else kind
                for kind in kinds
            ]
            costs.append(op.cost(*types, **call.params))
        if not 6 <= costs[1] / costs[0] <= 10:
            yield f"it costs {costs}"


CHECKS: dict[str, Callable[[Op], Iterator[str]]] = {
    "elementwise": not_elementwise,
    "linear_in": not_linear,
    "commutative": not_commutative,
    "sign": not_of_sign,
    "bound": not_within_bound,
    "elements": not_elements_of_operand,
    "moves": not_moving,
    "view": not_a_view,
    "order": not_in_order,
    "uniform": not_uniform,
    "arithmetic": not_arithmetic,
    "reduces": not_reducing,
    "product": not_a_product,
    "update": not_an_update,
    "factorization": not_a_factorization,
}


@pytest.mark.parametrize("trait", CHECKS)
def test_every_op_is_what_it_declares(trait: str) -> None:
    names = [name for name, op in OPS.items() if getattr(op, trait) not in (None, False, ())]
    assert names
    tried = [name for name in names if name not in NOT_TRIED and not name.startswith("map_")]
    assert [name for name in tried if not calls()[name]] == [], "no call shows it"
    with quiet():
        wrong = {name: list(CHECKS[trait](OPS[name])) for name in tried}
    assert {name: found for name, found in wrong.items() if found} == {}


# Linear functions that are not taken for such, in all of their samples or some, and why that is so.
NOT_TAKEN = {
    **dict.fromkeys(("pow_to", "power_to"), "nobody writes x ** 1"),
    **dict.fromkeys(("powm1", "max", "nanmedian", "prod"), "of one element, or the first power"),
    "complex_nan_to_num": "of finite numbers",
    "pad": "with nan all around",
    "nextafter": "the next number is as good as equal",
    "unknown_slope": "it is the identity that has no derivative",
    "flat": "it is a zero that has no second derivative",
    "xlogy": "0 at 0, be the logarithm infinite",
    "xlog1py": "0 at 0, be the logarithm infinite",
    "iterated_solve": "the number of its steps depends on the right side",
}


def _is_taken(call: Call, place: int) -> bool:
    """Tell if forward mode goes through a custom rule that has this call, by that operand."""
    recording = Recording("sample")
    operands: list[Any] = [
        recording.argument(f"x_{k}", type_of(x)) for k, x in enumerate(call.operands)
    ]
    recording.known.update(
        (x._value, number)
        for x, number in zip(operands, call.operands, strict=True)
        if x.type.form == "weak"
    )
    made = call.op(*operands, **call.params)
    first = made[0] if isinstance(made, tuple) else made
    value, moving = first._value, operands[place]._value
    try:
        return not [*obstacles_at(value.node, {moving}, Origins(), {value})]
    except NoGradientError:
        return False


def _linear_by_numbers(call: Call, place: int) -> bool:
    """Tell if the first result is linear in one operand, at several points."""

    def apply(values: list[Any]) -> Any:
        made = call.with_operand(place, values[0])
        return np.asarray(made[0] if isinstance(made, tuple) else made)

    x = call.operands[place]
    points = [x, -x, 0 * x, (-3.0 * np.flip(x)).astype(x.dtype)]
    return all(_is_linear(apply, [one]) for one in points)


def test_what_is_linear_is_taken_for_linear_and_nothing_else() -> None:
    wrong = []
    for name, found in calls().items():
        for call in found[: by_day(1, len(found))]:
            for place in call.moving_first:
                if np.size(call.operands[place]) < 2 or call.op.linear_in == "jointly":
                    continue
                try:
                    with quiet():
                        expected = _linear_by_numbers(call, place)
                except (ValueError, TypeError, np.linalg.LinAlgError):  # it asks for others
                    continue
                taken = _is_taken(call, place)
                if taken != expected and (taken or name not in NOT_TAKEN):
                    wrong.append((name, place, expected, call.params))
    assert wrong == [], "\n".join(map(repr, wrong))
    assert set(NOT_TAKEN) <= set(calls())


WRONG = [
    ("cumsum", "batch", "elementwise"),
    ("exp", "linear_in", (0,)),
    ("divide", "linear_in", "each"),
    ("multiply", "linear_in", "jointly"),
    ("subtract", "commutative", True),
    ("maximum", "commutative", True),
    ("tanh", "sign", "nonnegative"),
    ("negative", "sign", "kept"),
    ("exp", "bound", 1.0),
    ("arctan", "bound", 1.5),
    ("transpose", "elements", "reshaped"),
    ("getitem", "elements", "permuted"),
    ("cumsum", "elements", "taken"),
    ("cumsum", "moves", True),
    ("reshape", "view", "always"),
    ("broadcast_to", "view", "always"),
    ("transpose", "order", "kept"),
    ("copy", "order", "C"),
    ("copy", "order", "F"),
    ("float_power", "uniform", True),
    ("pow", "arithmetic", True),
    ("sum", "reduces", "multiply"),
    ("std", "reduces", "add"),
    ("matmul", "product", "outer"),
    ("vector_matmul", "product", "matrix_vector"),
    ("add_item", "update", "put"),
    ("add_slice", "update", "subtract"),
    ("matmul_vector", "factorization", "blocked"),
]


@each_row(("name", "trait", "value"), WRONG)
def test_a_wrong_trait_is_found(name: str, trait: str, value: Any) -> None:
    changes = {"jvp": None} if trait == "linear_in" else {}
    op = replace(OPS[name], **changes, **{trait: value})
    with quiet():
        assert list(CHECKS["elementwise" if trait == "batch" else trait](op))
