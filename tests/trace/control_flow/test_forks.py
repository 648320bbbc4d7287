"""Conditions on data: both sides are recorded where they can be merged, and one for each outcome
elsewhere. Values, types, bits, what is left behind, and gradients are Python's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tests.support.differences import slopes
from tracejit.ir.types import parse_type
from tracejit.trace.control_flow.forks import common_kind

UP, DOWN = np.array([1.0, 2.0, 3.0]), np.array([-1.0, 2.0, -3.0])


def assigned(x: Any) -> Any:
    y = x * 2.0
    if x[0] > 0.0:
        y = np.sin(x)
    return y.sum()


def both_assign(x: Any) -> Any:
    if x[0] > 0.0:
        y, z = x[1], x * 2.0
    else:
        y, z = x[2], x * 3.0
    return y * z.sum()


def with_parts(x: Any) -> Any:
    s = x.sum()
    if (x[0] > 0.0 and x[1] > 1.0) or x[2] < -4.0:
        s = s * s
    return s


def chained(x: Any) -> Any:
    first = x[0]
    return x[1] * (2.0 if 0.0 < first < 1.5 else 3.0)


def in_one_another(x: Any) -> Any:
    if x[0] > 0.0:
        if x[1] > 1.0:
            return x.sum()
        return x[0]
    return x[2] * (x[1] if x[2] < -1.0 else x[0])


def called(x: Any) -> Any:
    def halved(v: Any) -> Any:
        return v * 0.5 if v > 0.0 else v

    return halved(x[0]) + halved(x[1]) * x[2]


def in_a_loop(x: Any) -> Any:
    s = 0.0
    for v in x:
        if v > 0.0:
            s = s + v * v
        else:
            s = s - v
    return s


def in_containers(x: Any) -> Any:
    if x[0] > 0.0:
        p = (x[0], [x[1], x * 2.0], {"k": x[2]})
    else:
        p = (x[1], [x[2], x * 3.0], {"k": x[0]})
    return p[0] * p[1][0] + p[1][1].sum() + p[2]["k"]


class Gaussian(NamedTuple):
    """A state of a filter."""

    mean: Any
    spread: Any = 2.0

    def upper(self) -> Any:
        return self.mean + self.spread


def in_named_tuples(x: Any) -> Any:
    state = Gaussian(x[0])
    for v in x:
        if v > 0.0:
            state = Gaussian(state.mean + v, state.spread * 0.5)
        else:
            state = state._replace(spread=state.spread - v)
    return state.upper() * (Gaussian(x[1]) if x[2] > 0.0 else Gaussian(x[2], x[1])).upper()


def kept_in_a_list(x: Any) -> Any:
    """The list may have another name."""
    p = [x[0], x[1]]
    if x[0] > 0.0:
        p = [p[1], x[2] * 2.0]
    return p[0] * p[1]


def only_one_side_reads(x: Any) -> Any:
    s = x[1]
    if x[0] > 0.0:
        t = x * x
        s = t.sum()
    return s


def written_on_one_side(x: Any) -> Any:
    y = x * 1.0
    if x[0] > 0.0:
        y[1] = x[2] * 5.0
    return (y * x).sum()


def written_by_another_name(x: Any) -> Any:
    y = x * 1.0
    z = y
    if x[0] > 0.0:
        z[0] = x[1] * 3.0
    else:
        z *= 2.0
    return (y + z).sum()


def written_through_a_view(x: Any) -> Any:
    y = x * 1.0
    part = y[1:]
    if x[0] > 0.0:
        part[0] = x[2] * 3.0
    return (y * x).sum() + part[0]


def the_larger(x: Any) -> Any:
    return max(x[0], x[1] - 2.0, 0.5) * min(x[2], 1.0)


ONCE = [
    assigned, both_assign, with_parts, chained, in_one_another, called, in_a_loop, in_containers,
    in_named_tuples,
    only_one_side_reads, written_on_one_side, written_by_another_name, written_through_a_view,
    the_larger,
]  # fmt: skip
DATA = [UP, DOWN, np.array([0.3, 0.2, 2.0]), np.array([-2.0, -1.0, -5.0])]


def name_of(f: Any) -> str:
    return str(f.__name__)


@pytest.mark.parametrize("f", ONCE, ids=name_of)
def test_both_sides_are_one_recording(f: Callable[[Any], Any]) -> None:
    compiled, gradient = tj.function(f), tj.value_and_grad(f)
    for x in DATA:
        found, wanted = compiled(x), f(x)
        assert type(found) is type(wanted)
        np.testing.assert_array_equal(found, wanted)
        value, slope = gradient(x)
        np.testing.assert_allclose(value, wanted, rtol=1e-14)
        np.testing.assert_allclose(slope, slopes(f, x, step=1e-5), rtol=2e-5, atol=1e-8)
    for each in (compiled, gradient):
        assert each.tracing_count == 1
        assert "raise BranchNotRecorded(" not in each.source


@pytest.mark.parametrize("f", ONCE, ids=name_of)
def test_transforms_go_through_both_sides(f: Callable[[Any], Any]) -> None:
    rows = np.array(DATA)
    np.testing.assert_allclose(tj.vmap(f)(rows), [f(x) for x in DATA], rtol=1e-13)
    for x in DATA:
        _, tangent = tj.jvp(f, (x,), (np.ones(3),))
        np.testing.assert_allclose(tangent, tj.grad(f)(x).sum(), rtol=1e-12)


# Numbers of two types


def number_or_scalar(x: Any) -> Any:
    s = 0.0
    if x[0] > 0.0:
        s = x[1]
    return s


def truth_or_scalar(x: Any) -> Any:
    found = False
    if x[0] > 0.0:
        found = x[1] > 1.0
    return found


def integer_or_float(x: Any) -> Any:
    n = 0
    if x[0] > 0.0:
        n = 1.5
    return n


def passed_on(x: Any) -> Any:
    s = 0.0
    if x[0] > 0.0:
        s = x[1]
    t = s * 2.0 + 1.0
    return t, s


def widened(x: Any) -> Any:
    s = 1.0
    if x[0] > 0.0:
        s = x[1]
    return s * np.float32(2.0), x.astype(np.float32) * s


def divided(x: Any) -> Any:
    s = 0.0
    if x[0] > 0.0:
        s = x[1]
    try:
        return 1.0 / s
    except ZeroDivisionError:
        return x[2]


def asked_for_its_type(x: Any) -> Any:
    s = 0.0
    if x[0] > 0.0:
        s = x[1]
    return isinstance(s, np.floating)


@pytest.mark.parametrize(
    "f",
    [
        number_or_scalar, truth_or_scalar, integer_or_float, passed_on, widened, divided,
        asked_for_its_type,
    ],
    ids=name_of,
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::tracejit.TracejitWarning")
def test_numbers_have_the_type_that_python_gives_them(f: Callable[[Any], Any]) -> None:
    compiled = tj.function(f)
    for x in [*DATA, *DATA]:
        assert repr(compiled(x)) == repr(f(x))
        assert type(compiled(x)) is type(f(x))


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        ("f8", "f8", "f8"),
        ("f8", "~f8", "f8"),
        ("f8", "~i8", "f8"),
        ("~f8", "~i8", "f8"),
        ("b1", "~b1", "b1"),
        ("f4", "~f8", None),
        ("f4", "f8", None),
        ("i8", "~i8", None),
        ("f8[3]", "f8[3]", "f8[3]"),
        ("f8[3]", "f8[2]", None),
        ("f8[3]", "f8", None),
        ("f8[]", "f8", None),
    ],
)
def test_the_type_that_two_have(one: str, other: str, common: str | None) -> None:
    wanted = None if common is None else parse_type(common)
    for a, b in ((one, other), (other, one)):
        found = common_kind(parse_type(a), parse_type(b))
        assert found is wanted or (found is not None and found.dtype == wanted.dtype), (a, b)


# What is given up


class Holder:
    """An object that a side changes."""

    def __init__(self) -> None:
        self.n = 0.0


def changes_an_object(x: Any) -> Any:
    holder = Holder()
    s = x[1]
    if x[0] > 0.0:
        holder.n = 2.0
        s = x[2]
    return s + holder.n


def appends(x: Any) -> Any:
    found, s = [], 0.0
    if x[0] > 0.0:
        found.append(x[1])
        s = x[2]
    return s + len(found)


def other_dtype(x: Any) -> Any:
    y = x
    if x[0] > 0.0:
        y = x.astype(np.float32)
    return y


def other_shape(x: Any) -> Any:
    y = x
    if x[0] > 0.0:
        y = x[:2]
    return y.sum()


def other_length(x: Any) -> Any:
    return (x[0],) if x[0] > 0.0 else (x[1], x[2])


def other_text(x: Any) -> Any:
    label = "up" if x[0] > 0.0 else "down"
    return x.sum(), label


def raises(x: Any) -> Any:
    y = x[1]
    if x[0] > 0.0:
        y = x[2] / len([]) if len(x) > 3 else y
    else:
        y = {"k": y}["k"]
    return y


def fails_on_one_side(x: Any) -> Any:
    y, table = x[1], {"k": 1.0}
    if x[0] > 0.0:
        y = y * 2.0
    else:
        y = y + table["k" if x.ndim else "j"] + [1.0, 2.0][len(table)]
    return y


def needs_a_number(x: Any) -> Any:
    y = x[1]
    if x[0] > 0.0:
        y = y * 2.0
        for _ in [None] * int(x[2]):
            y = y + 1.0
    return y


BY_SIDES = [
    changes_an_object, appends, other_dtype, other_shape, other_length, other_text, needs_a_number,
    kept_in_a_list,
]  # fmt: skip


@pytest.mark.parametrize("f", [*BY_SIDES, raises, fails_on_one_side], ids=name_of)
@pytest.mark.filterwarnings("ignore::tracejit.TracejitWarning")
def test_what_is_given_up_is_right(f: Callable[[Any], Any]) -> None:
    compiled = tj.function(f)
    for x in [*DATA, *DATA]:
        assert repr(compiled(x)) == repr(f(x))


@pytest.mark.parametrize("f", BY_SIDES, ids=name_of)
def test_what_is_given_up_is_told(f: Callable[[Any], Any]) -> None:
    compiled = tj.function(f)
    compiled(UP)
    compiled(DOWN)
    assert compiled.tracing_count == 2
    told = compiled.explain()
    assert f"in {f.__name__} is recorded for one side at a time, because " in told
    assert "To record both sides: " in told


def test_nothing_is_left_of_a_side_that_is_given_up() -> None:
    seen: list[float] = []

    def f(x: Any) -> Any:
        y = x * 1.0
        if x[0] > 0.0:
            y[0] = 7.0
            seen.append(1.0)
        return y

    compiled = tj.function(f)
    np.testing.assert_array_equal(compiled(DOWN), DOWN)
    assert seen == []
    np.testing.assert_array_equal(compiled(UP), [7.0, 2.0, 3.0])
    assert seen == [1.0]


def test_what_is_refused_on_a_side_is_refused_where_it_is_taken() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        if x[0] > 0.0:
            y = np.ma.masked_where(x > 1.0, x).filled(0.0)
        return y * 2.0

    def g(x: Any) -> Any:
        while x[0] > 0.0:
            x = np.ma.masked_where(x > 1.0, x).filled(0.0) - 1.0
        return x * 2.0

    for function in (f, g):
        compiled = tj.function(function)
        for _ in range(2):
            np.testing.assert_array_equal(compiled(DOWN), function(DOWN))
            with pytest.raises(tj.TracejitError, match=r"np\.ma\.masked_where is not recorded"):
                compiled(UP)


def test_an_error_is_raised_where_conditions_merge_what_nobody_reads() -> None:
    def f(x: Any) -> Any:
        s, k = 1.5, 0
        for k in range(3):  # noqa: B007
            s = s + np.linalg.inv(np.eye(2) * (x > 1.0))[0, 0]
            x = x / 2.0
            if x < 1.0:
                break
        if x < 0.6:
            s = s + np.sin(x)
        return k, x

    compiled = tj.function(f)
    for x in (3.0, 5.0, 1.5, 1.1):
        assert compiled(x) == f(x)
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        compiled(0.7)


def test_a_place_that_was_given_up_is_remembered() -> None:
    """Another call of the function does not try it again; other places in it are merged."""
    runs: list[int] = []

    def f(x: Any) -> Any:
        runs.append(0)
        found: list[Any] = []
        s = x[1]
        if x[0] > 0.0:
            found = [*found, x[2]]
            s = x[2] * len(runs)
        return s

    def g(x: Any) -> Any:
        s = f(x) * 0.0
        for _ in range(3):
            if x[1] > 0.0:
                s = s + x[0]
        return s

    compiled = tj.function(g)
    for x in DATA:
        np.testing.assert_allclose(compiled(x), g(x))


def test_an_array_with_two_names_is_written_to_after_a_condition() -> None:
    def f(x: Any, y: Any) -> Any:
        a, b = x * 1.0, y * 1.0
        c = a
        if x[0] > 0.0:
            c = b
        c[0] = 9.0
        return a, b, c

    compiled = tj.function(f)
    for x in (UP, DOWN):
        for found, wanted in zip(compiled(x, x + 1.0), f(x, x + 1.0), strict=True):
            np.testing.assert_array_equal(found, wanted)
    assert "Conditions and loops on data in f are recorded for each way through them" in (
        compiled.explain()
    )
    assert "because an array that they choose is written to" in compiled.explain()


def test_an_argument_is_written_on_one_side() -> None:
    def f(x: Any, y: Any) -> Any:
        if x[0] > 0.0:
            y[1] = x[2]
        return y.sum()

    compiled = tj.function(f)
    for x in (UP, DOWN):
        mine, its = np.zeros(3), np.zeros(3)
        assert compiled(x, mine) == f(x, its)
        np.testing.assert_array_equal(mine, its)
    assert compiled.tracing_count == 1


def test_an_error_that_one_side_raises_is_raised_there_alone() -> None:
    def f(x: Any) -> Any:
        y = x[1]
        if x[0] > 0.0:
            y = y + np.linalg.inv(x[:1].reshape(1, 1) * 0.0)[0, 0]
        return y

    compiled = tj.function(f)
    assert compiled(DOWN) == f(DOWN)
    with pytest.raises(np.linalg.LinAlgError):
        compiled(UP)


def test_draws_and_variables_on_a_side() -> None:
    variable = tj.Variable(np.zeros(()))

    def f(x: Any) -> Any:
        y = x[1]
        if x[0] > 0.0:
            variable.assign(y)
            y = y * 2.0
        return y

    compiled = tj.function(f)
    assert compiled(DOWN) == DOWN[1] and variable.numpy() == 0.0
    assert compiled(UP) == UP[1] * 2.0 and variable.numpy() == UP[1]

    def drawn(x: Any, rng: Any) -> Any:
        y = x[1]
        if x[0] > 0.0:
            y = y + rng.normal()
        return y + rng.normal()

    recorded = tj.function(drawn)
    mine, its = np.random.default_rng(0), np.random.default_rng(0)
    for x in (UP, DOWN, UP, UP):
        assert recorded(x, mine) == drawn(x, its)
    assert mine.bit_generator.state == its.bit_generator.state


def test_a_number_that_is_left_behind_has_the_type_that_python_gives_it() -> None:
    left: dict[str, Any] = {}

    def added(x: Any) -> Any:
        total = 1.5
        if x > 2.0:
            total = total + x
        left["total"] = [total]
        return x * 2.0

    compiled = tj.function(added)
    for number in (1.0, 3.0, 0.5):
        compiled(np.float64(number))
        (found,) = left["total"]
        added(np.float64(number))
        (wanted,) = left["total"]
        assert type(found) is type(wanted)
        assert found == wanted


def test_an_index_that_is_pythons_on_one_side_alone_is_one() -> None:
    def chosen(x: Any) -> Any:
        flag: Any = True
        if x[0] > 0.0:
            flag = x[0] > 1.0
        return [x[1] * 2.0, x[1] * 3.0][flag]

    compiled = tj.function(chosen)
    assert compiled(DOWN) == DOWN[1] * 3.0
    # Before NumPy 2.3 its truth values warn that they will be no index.
    with pytest.raises((TypeError, DeprecationWarning), match=r"list indices must be|In future"):
        compiled(UP)
