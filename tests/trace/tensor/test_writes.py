"""Code that writes in place does what NumPy does, to arrays, their views and the caller's
arguments, recorded and under a tape; and its gradient is that of what it computes."""

from __future__ import annotations

import functools
import operator
import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
import tracejit.numpy as tnp
import tracejit.scipy.linalg
from tests.by_day import by_day
from tests.convert.running import define
from tests.support.compare import assert_same
from tests.support.differences import extrapolated
from tracejit.support.errors import InPlaceError, TracejitError

RNG = np.random.default_rng(4)
X = RNG.normal(size=6)
M = RNG.normal(size=(4, 5))
PLACES = np.array([3, 0, 3])


def element(x):
    y = x * 1.0
    y[2] = x[0] * x[1]
    return y


def element_by_element(x):
    y = tnp.zeros(len(x))
    for i in range(1, len(x)):
        y[i] = y[i - 1] * x[i] + x[0]
    return y


def slices(x):
    y = x.copy()
    y[1:-1] = x[2:] - 2 * x[1:-1] + x[:-2]
    y[::2] *= x[0]
    y[::-1][:2] -= x[3]
    return y


def augmented_rebinding(x):
    y = x + 1.0
    z = y
    y += x
    y *= 2.0
    y /= x[1]
    y -= 0.5
    y **= 2
    return y + z


def scalars_are_rebound(x):
    s = x[0]
    before = s
    s += x[1]
    s *= 2.0
    return s * before


def view_changes_base(x):
    y = x.copy()
    z = y[1:]
    z *= 2.0
    z[0] = x[5]
    return y * z[0]


def base_changes_view(x):
    y = x.copy()
    z = y[1:4]
    w = z[::-1]
    y[2] = x[0] ** 2
    y += 1.0
    return np.concatenate([z * 2.0, w])


def view_of_view(m):
    y = m * 1.0
    y.T[1:3][0, ::2] = m[:2, 0]
    y[1][2] *= 3.0
    return y


def transposed_views(m):
    y = m.copy()
    z = y.T
    z += np.arange(4.0)
    np.swapaxes(y, 0, 1)[2] = m[:, 0]
    y[None, :, 1] = m[:, 2]
    return z @ y


def rows_by_iteration(m):
    y = m.copy()
    for row in y:
        row[:] = row / np.sum(row * row)
    return y


def reshaped_views(m):
    y = np.zeros_like(m)
    flat = y.reshape(-1)
    flat[3:9] = m[0, 0] * m[1, :5].sum()
    y.ravel()[0] = m[2, 2]
    wide = y.reshape(2, 2, 5)
    wide[0] += m[:2]
    return y


def fancy(x):
    y = x.copy()
    y[PLACES] = x[1:4]
    y[[1, 2]] += x[0]
    y[[5]] *= x[4]
    return y


def fancy_rows(m):
    y = m.copy()
    y[[0, 2], 1:3] = m[1:3, 3:]
    y[np.array([[1], [3]]), np.array([0, 4])] = m[:2, :2]
    y[..., -1] = m[:, 0]
    return y


def known_mask(x):
    y = x.copy()
    y[np.array([True, False, True, False, False, True])] = x[:3] ** 2
    return y


def recorded_mask(x):
    y = x.copy()
    y[y > 0] = x[0]
    y[np.abs(x) > 1.0] = 0.25
    return y * x


def masks_and_indices(m):
    y, rows = m.copy(), np.array([True, False, True, False])
    y[rows, 1] = m[:2, 0]
    y[rows, 1:3] *= m[1:3, :2]
    y[rows, [0, 4]] += m[0, 0]
    y[1, np.array([True, False, True, True, False])] = m[2, 2:]
    y[rows] = m[1:3]
    return y


def rows_under_a_mask(m):
    y = m.copy()
    y[np.array([True, False, True, True])] = m[1]
    y[m[:, 0] > 0] = m[2] * m[0, 0]
    return y


def masked_rows(m):
    y = m * 2.0
    y[m[:, 0] > 0] = m[0, 1]
    return y


def with_lists(x):
    y = x.copy()
    y[:2] += [x[3], 1.0]
    y += [x[0], x[1], 1.0, 2, x[2], 0.0]
    return y


def not_conjugated(x):
    y = x.copy()
    z = y.conj()
    z[0] = x[1]
    np.conj(y)[1] = 7.0
    return y


def whole(x):
    y = np.ones_like(x)
    y[:] = x
    y[...] = y * x
    z = y[:]
    z[:] = z + 1.0
    return y


def zero_dimensional(x):
    s = tnp.zeros(())
    t = s
    s += x[0]
    s[()] = s * x[1]
    s[...] += 1.0
    return t * 1.0


def with_out(x):
    y = np.empty_like(x)
    np.sin(x, out=y)
    np.multiply(y, x, y)
    z = y[:3]
    np.add(z, x[3:], out=z)
    return y


def reduced_into(m):
    y = np.zeros_like(m[0])
    r = np.sum(m, axis=0, out=y)
    assert r is y
    np.cumsum(y * 1.0, out=y)
    m.mean(axis=0, out=y[:])
    return y


def divide_where(x):
    y = np.zeros_like(x)
    np.divide(1.0, x, out=y, where=x > 0)
    return y


def ufunc_at(x):
    y = x.copy()
    np.add.at(y, PLACES, x[:3])
    np.subtract.at(y, PLACES, 2.0 * x[3:])
    np.multiply.at(y, [0, 4], x[1])
    np.negative.at(y, [2])
    return y


def methods(x):
    y = x.copy()
    y.fill(2.0)
    y.put([0, 1, -1], x[2:4])
    z = x * y
    z.sort()
    w = -z
    w.partition(2)
    return y + z * w


def functions(m):
    y = m.copy()
    np.fill_diagonal(y, m[0, :4])
    np.copyto(y, m * m, where=np.arange(5) < 2)
    np.copyto(y[3], m[0])
    np.put_along_axis(y, np.array([[4], [3], [2], [1]]), m[:, :1] * 3.0, axis=1)
    np.putmask(y, m > 1.0, m[0])
    np.place(y, m < -1.0, m[1, 1])
    np.put(y, [2, 7], m[3, :2])
    return y


def sorted_view(m):
    y = m.copy()
    y[1].sort()
    y[:, 2].fill(m[0, 0])
    return y


def arguments_change(x):
    x[1:] += x[:-1]
    x[0] = 5.0
    return np.sum(x)


def integer_arrays(x):
    counts = tnp.zeros(4, int)
    np.add.at(counts, [0, 1, 1], 1)
    counts[3] = 7
    return counts * x[:4]


def truncating(x):
    y = np.zeros_like(x, dtype=int)
    y[:2] = x[:2] * 10
    return y + x


def self_assignment(x):
    y = x.copy()
    y[1:] = y[:-1]
    y[0] = y[0]
    y[2:][:] = y[:-2][::-1]
    return y


def swapped(x):
    y = x.copy()
    y[0], y[1] = y[1], y[0]
    y[[2, 3]] = y[[3, 2]]
    return y * x


def gauss_seidel(m):
    a = m[:, :4] + 6.0 * np.eye(4)
    b, y = m[:, 4], tnp.zeros(4)
    for _ in range(3):
        for i in range(4):
            y[i] += (b[i] - a[i] @ y) / a[i, i]
    return y


def cholesky(m):
    a = m @ m.T + np.eye(4)
    n = len(a)
    low = tnp.zeros((n, n))
    for j in range(n):
        low[j, j] = np.sqrt(a[j, j] - low[j, :j] @ low[j, :j])
        low[j + 1 :, j] = (a[j + 1 :, j] - low[j + 1 :, :j] @ low[j, :j]) / low[j, j]
    return low


def lu(m):
    a = m[:, :4] + 4.0 * np.eye(4)
    for k in range(3):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


def jacobi(m):
    u = m.copy()
    for _ in range(3):
        u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    return u


def heat(x):
    u, new = x.copy(), tnp.empty(len(x))
    for _ in range(4):
        new[0], new[-1] = u[0], u[-1]
        new[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u, new = new, u
    return u


def fdtd(x):
    e, h = tnp.zeros(6), tnp.zeros(5)
    for n in range(4):
        h += 0.5 * (e[1:] - e[:-1])
        e[1:-1] += x[1:-1] * (h[1:] - h[:-1])
        e[2] += np.sin(0.3 * n) * x[0]
    return np.concatenate([e, h])


def prefix_sums(x):
    table = tnp.zeros((3, len(x)))
    table[0] = x
    for k in range(1, 3):
        table[k] = table[k - 1]
        table[k, k:] += table[k - 1, :-k]
    return table


PROGRAMS = {
    f.__name__: (f, given)
    for given, functions_of_it in {
        "x": (
            element, element_by_element, slices, augmented_rebinding, scalars_are_rebound,
            view_changes_base, base_changes_view, fancy, known_mask, recorded_mask, with_lists,
            not_conjugated, whole,
            zero_dimensional, with_out, divide_where, ufunc_at, methods, arguments_change,
            integer_arrays, truncating, self_assignment, swapped, heat, fdtd, prefix_sums,
        ),
        "m": (
            view_of_view, transposed_views, rows_by_iteration, reshaped_views, fancy_rows,
            masked_rows, rows_under_a_mask, masks_and_indices, reduced_into, functions,
            sorted_view, gauss_seidel, cholesky, lu, jacobi,
        ),
    }.items()
    for f in functions_of_it
}  # fmt: skip
each_program = pytest.mark.parametrize(
    ("f", "given"), [(f, {"x": X, "m": M}[name]) for f, name in PROGRAMS.values()], ids=PROGRAMS
)


def weights(y: Any) -> np.ndarray:
    """What results are weighed with for their derivative."""
    return np.cos(np.arange(np.size(y)) + 1.0).reshape(np.shape(y))


@each_program
def test_a_recorded_function_does_what_numpy_does(f: Callable[[Any], Any], given: Any) -> None:
    recorded = tj.function(f, exact=True)
    for scale in (1.0, 2.0, 0.5):
        mine, plain = given * scale, given * scale
        assert_same(recorded(mine), f(plain))
        assert_same(mine, plain)


@each_program
def test_an_eager_tensor_does_what_numpy_does(f: Callable[[Any], Any], given: Any) -> None:
    plain = given.copy()
    expected = f(plain)
    tensor = tj.constant(given)
    assert_same(np.asarray(f(tensor) * 1.0)[()], (expected * 1.0)[()])
    assert_same(np.asarray(tensor), plain)


@each_program
def test_the_gradient_is_that_of_what_is_computed(f: Callable[[Any], Any], given: Any) -> None:
    w = weights(f(given.copy()))
    direction = np.sin(np.arange(given.size) + 2.0).reshape(given.shape)
    slope = extrapolated(lambda step: float(np.sum(f(given + step * direction) * w)), 1e-3)
    mine = given.copy()
    value, found = tj.value_and_grad(lambda x: np.sum(f(x) * w))(mine)
    assert abs(np.sum(found * direction) - slope) <= 1e-6 * max(1.0, abs(slope))
    plain = given.copy()
    assert value == pytest.approx(np.sum(f(plain) * w), rel=1e-12)
    assert_same(mine, plain)
    with tj.GradientTape() as tape:
        x = tj.constant(given)
        tape.watch(x)
        y = np.sum(f(x * 1.0) * w)
    rounding = 8 * np.finfo(float).eps * np.max(np.abs(found))
    np.testing.assert_allclose(tape.gradient(y, x), found, rtol=0.0, atol=rounding)


@each_program
def test_forward_mode_is_the_transpose(f: Callable[[Any], Any], given: Any) -> None:
    w = weights(f(given.copy()))
    direction = np.sin(np.arange(given.size) + 2.0).reshape(given.shape)
    found = tj.grad(lambda x: np.sum(f(x) * w))(given.copy())
    x = tj.constant(given)
    with tj.ForwardAccumulator(x, direction) as forward:
        y = np.sum(f(x * 1.0) * w)
    assert float(forward.jvp(y)) == pytest.approx(np.sum(found * direction), rel=1e-9)


# Arguments


def written(a: Any, b: Any) -> Any:
    """Writes to a, reads b."""
    a[0] = 5.0
    a[1:] += b[1:]
    return np.sum(b)


def test_overlapping_arguments_are_numpys() -> None:
    recorded = tj.function(written)
    for make in (
        lambda: (np.ones(3), np.ones(3)),
        lambda: (z := np.ones(3), z),
        lambda: ((z := np.arange(6.0))[:4], z[2:]),
        lambda: ((z := np.arange(4.0)), z[::-1]),
    ):
        mine, plain = make(), make()
        assert recorded(*mine) == written(*plain)
        for one, other in zip(mine, plain, strict=True):
            assert_same(one, other)


def test_a_container_that_is_changed_is_pythons() -> None:
    def f(d: Any, xs: Any) -> Any:
        d["w"] = d["w"] * 2.0
        d["new"] = 1.0
        xs.append(3.0)
        return d["w"][0]

    def rebuilding(d: Any, **options: Any) -> Any:
        options.pop("unused")
        d = dict(d, w=d["w"] * 2.0)
        return d["w"][0]

    recorded = tj.function(f)
    for _ in range(2):
        d, xs = {"w": np.ones(2)}, [1.0]
        assert recorded(d, xs) == 2.0
        assert d["w"].tolist() == [2.0, 2.0]
        assert d["new"] == 1.0
        assert xs == [1.0, 3.0]
    with pytest.raises(InPlaceError, match="container that is changed"):
        tj.grad(f)({"w": np.ones(2)}, [1.0])
    assert tj.grad(rebuilding)({"w": np.ones(2)}, unused=1)["w"].tolist() == [2.0, 0.0]


def test_the_gradient_by_overlapping_arguments_is_refused() -> None:
    z = np.ones(3)
    with pytest.raises(InPlaceError, match="shares memory with another"):
        tj.grad(written)(z, z)
    assert_same(z, np.ones(3))


def test_an_argument_without_elements_overlaps_nothing() -> None:
    def f(a: Any) -> Any:
        a[:] = 1.0
        return np.sum(a * a)

    assert tj.grad(f)(np.zeros((0, 3))).shape == (0, 3)


def test_a_read_only_argument_is_refused_by_numpy() -> None:
    frozen = np.ones(3)
    frozen.flags.writeable = False
    recorded = tj.function(written)
    for _ in range(2):
        with pytest.raises(ValueError, match="read-only"):
            recorded(frozen, np.ones(3))


def test_what_was_written_before_an_error_stays() -> None:
    def f(a: Any) -> Any:
        a[0] = 7.0
        raise KeyError("after the write")

    a = np.ones(2)
    with pytest.raises(KeyError, match="after the write"):
        tj.function(f)(a)
    assert a.tolist() == [7.0, 1.0]


def test_arguments_that_overlap_what_is_captured_are_numpys() -> None:
    held = np.arange(4.0)
    recorded = tj.function(lambda a: (operator.setitem(a, 0, 9.0), np.sum(a) + held.sum())[1])
    assert recorded(np.arange(4.0)) == 21.0
    assert recorded(held[:2]) == 10.0 + 15.0
    assert held.tolist() == [9.0, 1.0, 2.0, 3.0]


def test_a_view_is_on_the_tape_that_saw_the_write() -> None:
    x = tj.constant(X)
    with tj.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        tail, last = y[1:], y[::-1][:1]
        y[0] = x[1]
        y *= 2.0
    assert tape.gradient(tail, x).numpy().tolist() == [0.0, *4.0 * X[1:]]
    assert tape.gradient(last, x).numpy().tolist() == [0.0] * 5 + [4.0 * X[5]]

    @tj.function
    def inside(x: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = x * x
            tail = y[1:]
            y[0] = x[1]
        return tape.gradient(tail, x)

    assert inside(X).tolist() == [0.0, *2.0 * X[1:]]


def test_results_of_a_nested_function_share_no_memory() -> None:
    same_array, part = tj.function(lambda a: a), tj.function(lambda a: (a[1:], a[1:]))

    def f(x: Any) -> Any:
        y = x * 1.0
        z = same_array(y)
        z[0] = 3.0
        one, other = part(y)
        one[0] = 4.0
        return y, z, one, other

    expected = f(X)
    for found in (tj.function(f, exact=True)(X), [np.array(v) for v in f(tj.constant(X))]):
        for mine, numpys in zip(found, expected, strict=True):
            assert_same(mine, numpys)


def test_a_nested_function_writes_into_its_callers_array() -> None:
    @tj.function
    def inner(a: Any) -> None:
        a *= 2.0

    def outer(x: Any) -> Any:
        y = x * 1.0
        inner(y[1:])
        return y

    assert_same(tj.function(outer)(X), outer(X))
    found = tj.grad(lambda x: np.sum(outer(x)))(X)
    assert found.tolist() == [1.0] + [2.0] * 5


def test_a_nested_gradient_writes_into_its_callers_array() -> None:
    def loss(a: Any) -> Any:
        a[0] *= 3.0
        return np.sum(a * a)

    def outer(x: Any) -> Any:
        y = x * 1.0
        slope = tj.grad(loss)(y)
        return y, slope

    y, slope = tj.function(outer)(X)
    assert y[0] == X[0] * 3.0
    assert slope[0] == pytest.approx(18.0 * X[0])
    assert tj.grad(lambda x: outer(x)[0][0])(X)[0] == 3.0


def test_a_tape_around_a_function_that_writes() -> None:
    recorded = tj.function(written)
    buffer = tj.constant(np.zeros(3))
    b = tj.constant([1.0, 2.0, 3.0])
    with tj.GradientTape() as tape:
        tape.watch(b)
        recorded(buffer, b)
        y = np.sum(buffer * buffer)
    assert buffer.numpy().tolist() == [5.0, 2.0, 3.0]
    assert tape.gradient(y, b).numpy().tolist() == [0.0, 4.0, 6.0]


# Where a write would lose something, it is refused


def refusal(call: Callable[[], Any], match: str) -> None:
    """The call is an InPlaceError that says `match`."""
    with pytest.raises(InPlaceError, match=match):
        call()


def test_a_plain_array_cannot_hold_what_is_recorded() -> None:
    buffer = np.zeros(6)

    def into(x: Any) -> Any:
        nonlocal buffer
        buffer += x
        return np.sum(buffer)

    refusal(lambda: tj.function(into)(X), "plain array")
    refusal(lambda: tj.function(lambda x: np.copyto(buffer, x))(X), "plain array")
    refusal(lambda: tj.function(lambda x: operator.setitem(buffer, 0, x[0]))(X), "plain array")
    assert not buffer.any()


@pytest.mark.parametrize("mode", [tj.function, tj.grad, lambda f: f])
@pytest.mark.parametrize("marker", ["custom_gradient", "grad_pass_through", "recompute_grad"])
def test_a_marked_function_cannot_write_into_what_it_is_given(marker: str, mode: Any) -> None:
    def inside(y: Any) -> Any:
        y += 1.0
        return (y, lambda g: g) if marker == "custom_gradient" else y

    def f(x: Any) -> Any:
        return np.sum(getattr(tj, marker)(inside)(x * 2.0))

    refusal(lambda: mode(f)(tj.constant(X) if mode(f) is f else X), "write into a copy")


@pytest.mark.parametrize("marker", ["custom_gradient", "grad_pass_through", "recompute_grad"])
def test_a_marked_function_can_write_into_what_it_makes(marker: str) -> None:
    def inside(y: Any) -> Any:
        z = y.copy()
        z[1:] *= 3.0

        def rule(g: Any) -> Any:
            out = np.zeros_like(g)
            out[0] = g[0]
            return out

        return (z, rule) if marker == "custom_gradient" else z

    found = tj.grad(lambda x: np.sum(getattr(tj, marker)(inside)(x)))(X)
    inner = {"custom_gradient": 0.0, "grad_pass_through": 1.0, "recompute_grad": 3.0}[marker]
    assert found.tolist() == [1.0] + [inner] * 5


def test_what_a_tape_watches_cannot_be_written_to() -> None:
    x = tj.constant(X)
    with tj.GradientTape() as tape:
        tape.watch(x)
        refusal(lambda: operator.setitem(x, 0, 1.0), "an array that a tape watches")
        y = x.copy()
        y[0] = 1.0
        z = np.sum(y)
    assert tape.gradient(z, x).numpy().tolist() == [0.0] + [1.0] * 5


def test_a_tensor_that_a_recorded_function_has_read_stays_as_it_is() -> None:
    scale, rows = tj.constant(X), tj.constant([0, 2])
    f = tj.function(lambda x: np.sum(x * scale) + np.sum(x[rows]))
    first = f(X)
    refusal(lambda: operator.setitem(scale, 0, 1.0), "recorded function has read")
    refusal(lambda: operator.setitem(rows, 0, 1), "recorded function has read")
    assert f(X) == first
    refusal(lambda: tj.function(lambda x: operator.setitem(scale[1:], 0, x[0]))(X), "outside")


def test_a_view_or_a_copy_is_not_guessed() -> None:
    def through(x: Any) -> Any:
        flat = x.T.reshape(-1)
        flat[0] = 1.0
        return x

    def after(x: Any) -> Any:
        y = x.copy().T
        flat = y.reshape(-1)
        y[0] = 1.0
        return flat

    refusal(lambda: tj.function(through)(M), "a view or a copy")
    refusal(lambda: tj.function(after)(M), "reading flat, after what it is a view of")


def whole_then_flat(x):
    x[...] = tnp.ones(x.shape)
    flat = x.reshape(-1)
    flat[0] = 5.0
    return x


def like_then_flat(x):
    y = np.zeros_like(x)
    y[...] = 1.0
    y.ravel()[0] = 5.0
    return y


def computed_then_flat(x):
    y = tnp.zeros_like(x)
    y[0] = x[0, 1]
    z = (y * 2.0).reshape(-1)
    z[1] = x[0, 0]
    return z


def copied_then_flat(x):
    y = tnp.array(F)
    y[0] *= x[0, 0]
    y.ravel()[1] = 5.0
    return y


F = np.asfortranarray(M)
IN_ORDER = np.ascontiguousarray(M)


@pytest.mark.parametrize(
    "f", [whole_then_flat, like_then_flat, computed_then_flat, copied_then_flat]
)
def test_the_order_of_memory_is_that_of_numpys_array(f: Callable[[Any], Any]) -> None:
    recorded = tj.function(f, exact=True)
    for given in (IN_ORDER, F, IN_ORDER):
        plain = given.copy(order="K")
        expected = f(plain)
        for call in (recorded, lambda x: np.array(f(tj.constant(x)) * 1.0)):
            mine = given.copy(order="K")
            try:
                found = call(mine)
            except InPlaceError as error:
                assert "a view or a copy" in str(error)
                assert given is F or f is copied_then_flat
                continue
            assert_same(found, expected)


def test_written_arrays_stay_in_order() -> None:
    def f(x: Any) -> Any:
        y = tnp.zeros((4, 5))
        y[:] = x
        y.ravel()[3] = 1.0
        y.T[1] = 2.0
        np.multiply(x, 2.0, out=y)
        y.reshape(2, 10)[:, 3] = x[:2, 0]
        return y

    assert_same(tj.function(f)(F), f(F))


def test_an_eager_view_of_a_part_is_no_contiguous_array() -> None:
    def f(x: Any) -> Any:
        y = x.copy()
        part = y[:, ::2]
        part[0] = 1.0
        part.reshape(-1)[0] = 9.0
        return y

    refusal(lambda: f(tj.constant(M)), "a view or a copy")
    refusal(lambda: tj.function(f)(M), "a view or a copy")


def test_what_is_always_a_view_shows_what_is_written_whatever_the_layout() -> None:
    def f(x: Any) -> Any:
        y = np.copy(x.T)
        spread, diagonal = np.broadcast_to(y, (2, *y.shape)), np.diagonal(y)
        y[0] = 7.0
        return spread * 2.0, diagonal * 2.0

    for one, other in zip(tj.function(f)(M), f(M), strict=True):
        assert_same(one, other)


NEW: dict[str, Callable[[Any], Any]] = {
    "kron": lambda x: np.kron(np.eye(2), np.outer(x[0], x[0])),
    "kron of a transposed": lambda x: np.kron(x.T, x),
    "chebvander": lambda x: tnp.polynomial.chebyshev.chebvander(x.T, 2),
    "legvander": lambda x: tnp.polynomial.legendre.legvander(x.T, 2),
    "polyvander": lambda x: tnp.polynomial.polynomial.polyvander(x.T, 2),
    "khatri_rao": lambda x: tracejit.scipy.linalg.khatri_rao(x.T, x.T),
    "multi_dot": lambda x: np.linalg.multi_dot([x[0], x.T, x.T[0]])[None],
    "outer of views": lambda x: np.outer(x.T, x[:, 0]),
    "average": lambda x: np.average(x, axis=0, weights=[1.0, 2.0], returned=True)[1],
    "where": lambda x: np.where(x > 1.0, 2, 3),
    "select": lambda x: np.select([x > 1.0], [2], 3),
    "axes for a number": lambda x: np.sum(x)[None],
    "shape of a number": lambda x: np.reshape(np.sum(x), (1, 1)),
    "vector of a number": lambda x: np.ravel(np.sum(x)),
    "dimensions of a number": lambda x: np.atleast_2d(np.sum(x)),
    "norm": lambda x: np.linalg.norm(x.T, 0, axis=0, keepdims=True),
    "matrix norm": lambda x: np.linalg.norm(x.T, keepdims=True),
}


@pytest.mark.parametrize("mode", ["recorded", "eager"])
@pytest.mark.parametrize("name", NEW)
def test_a_new_array_can_be_written_to_and_nothing_else_changes(name: str, mode: str) -> None:
    def written(x: Any) -> Any:
        made = NEW[name](x)
        made[...] = 5.0
        return made, x

    for order in ("C", "F"):
        x = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, 1.5]], order=order)
        found = tj.function(written)(x) if mode == "recorded" else written(tj.constant(x))
        for mine, numpys in zip(found, written(x.copy()), strict=True):
            np.testing.assert_array_equal(np.asarray(mine), numpys)


def test_the_result_of_a_function_of_the_users_may_be_a_view_of_what_it_knows() -> None:
    def written(x: Any) -> Any:
        known = np.outer(x, x)
        made = np.apply_over_axes(lambda array, axis: known.T[0].reshape(3), x, [0])
        made[...] = 5.0
        return made, known

    x = np.array([1.0, 2.0, 3.0])
    for mine, numpys in zip(tj.function(written)(x), written(x), strict=True):
        np.testing.assert_array_equal(mine, numpys)


def test_read_only_views_are_numpys() -> None:
    for make in (lambda x: np.broadcast_to(x, (2, 6)), lambda x: np.diagonal(x * np.eye(6))):
        with pytest.raises(ValueError, match="read-only"):
            operator.setitem(make(X), 0, 1.0)
        with pytest.raises(ValueError, match="read-only"):
            tj.function(lambda x, make=make: operator.setitem(make(x), 0, 1.0))(X)


def test_what_does_not_fit_is_refused() -> None:
    for write in (
        lambda x: operator.setitem(x, slice(3), np.ones(2)),
        lambda x: operator.setitem(x, slice(None), np.ones((2, 6))),
        lambda x: operator.setitem(x, [0, 1], np.ones(3)),
        lambda x: operator.setitem(x, 9, 1.0),
        lambda x: operator.iadd(x, np.ones((2, 6))),
        lambda x: np.sin(np.ones((2, 6)), out=x),
        lambda x: np.sum(np.ones((2, 6)) * x, out=x),
    ):
        with pytest.raises((ValueError, IndexError)):
            write(X.copy())
        with pytest.raises((ValueError, IndexError)):
            tj.function(lambda x, write=write: write(x * 1.0))(X)


def test_complex_numbers_do_not_fit_into_real_arrays() -> None:
    for kind in (tj.function, lambda f: lambda x: f(tj.constant(x))):
        with pytest.raises(TypeError, match=r"^assigning to elements .* complex values"):
            kind(lambda x: operator.setitem(x, 0, 1j))(X.copy())


def test_numbers_cannot_be_written_to() -> None:
    with pytest.raises((TypeError, TracejitError)):
        tj.function(lambda x: operator.setitem(np.sum(x), (), 1.0))(X)


# Generated code


def test_updates_are_in_place_in_generated_code() -> None:
    for f in (lu, cholesky, jacobi):
        text = tj.value_and_grad(lambda m, f=f: np.sum(f(m) ** 2)).kernel(M).source
        assert "np.array" not in text
        assert text.count("zeros(") <= 6, f.__name__
    text = tj.function(slices).kernel(X).source
    assert "y[1:-1] = " in text
    assert "y[::2] = y[::2] * x[0]" in text


def test_what_is_read_before_an_update_keeps_no_copy_of_the_array() -> None:
    x = np.ones(300)
    text = tj.value_and_grad(lambda x: np.sum(heat(x) ** 2)).kernel(x).source
    copies = re.findall(r"array\((?!out)\w+\)", text.partition("def value_and_grad")[2])
    assert copies == ["array(x)"]  # which is the user's


def test_adding_to_a_part_is_written_so() -> None:
    def f(x: Any) -> Any:
        y = x.copy()
        y[1:] += x[:-1]
        y[0] -= x[3]
        y[[2, 4]] += x[:2]
        return y

    text = tj.function(f).kernel(X).source
    for line in ("y[1:] += x[:-1]", "y[0] -= x[3]", "] += x[:2]"):
        assert line in text


# Views of views


def shorter(view: Any) -> Any:
    return view[1:]


def split(view: Any) -> Any:
    return view.reshape((-1, 2) if view.ndim == 1 or len(view) == 2 else (2, -1))


@pytest.mark.parametrize("again", [shorter, split, np.transpose], ids=["part", "split", "turned"])
def test_long_chains_of_views(again: Callable[[Any], Any]) -> None:
    def f(x: Any) -> Any:
        base = np.sin(x)
        view = base
        for _ in range(by_day(60, 700)):
            view = again(view)
        view[0] *= 3.0
        base[-1] = x[0]
        return np.sum(base * base) + np.sum(view)

    x = np.linspace(0.1, 1.0, 704)
    value, gradient = tj.value_and_grad(tj.function(f))(x)
    np.testing.assert_allclose(value, f(x.copy()))
    step = np.where(np.arange(len(x)) % 3, 0.0, 1e-6)
    difference = (f(x + step) - f(x - step)) / 2
    np.testing.assert_allclose(gradient @ step, difference, rtol=1e-6)


@pytest.mark.usefixtures("as_written")
def test_an_assignment_to_a_plain_array_is_named_as_one() -> None:
    def columns(x: Any) -> Any:
        plain = np.zeros((3, 2))
        for k in range(2):
            plain[:, k] = x
        return plain

    def part(x: Any) -> Any:
        plain = np.zeros(3)
        plain[0:1] = x[0]
        return plain

    def added(x: Any) -> Any:
        plain = np.zeros(3)
        plain[0] += x[0]
        return plain

    def error_of(call: Callable[[], Any]) -> str:
        with pytest.raises((InPlaceError, ValueError)) as caught:
            call()
        error = caught.value  # NumPy names another in its place where it asks for float(t)
        return str(error if isinstance(error, InPlaceError) else error.__cause__)

    def under_a_tape(f: Any) -> None:
        with tj.GradientTape() as tape:
            t = tj.constant(x)
            tape.watch(t)
            f(t * 2.0)

    names = {columns: "plain[:, k]", part: "plain[0:1]", added: "plain[0]"}
    x = np.arange(3.0)
    for f, name in names.items():
        told = name if sys.version_info >= (3, 11) else "a[...]"
        for call in (lambda f=f: tj.function(f)(x), functools.partial(under_a_tape, f)):
            text = error_of(call)
            assert text.startswith(f"{told} = ... writes in place into a plain array")


@pytest.mark.usefixtures("as_written")
def test_an_index_that_needs_a_value_is_no_write_into_a_plain_array() -> None:
    def f(x: Any) -> Any:
        made = tnp.zeros(3)
        made[np.asarray(x)] = 1.0
        return made

    with pytest.raises(tj.TracejitError, match="needs a value"):
        tj.function(f)(np.arange(3.0))


def by_tape(f: Any) -> Any:
    """The gradient of a function on a tape inside."""

    def taped(t: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(t)
            y = f(t)
        return tape.gradient(y, t)

    return taped


def test_converted_an_array_that_the_function_makes_is_filled() -> None:
    def fills(t: Any) -> Any:
        h = np.zeros(2)
        h[0], h[1] = t[0], t[0] * t[1]
        h[1:] += t[:1]
        return np.sum(h**2)

    taped = by_tape(fills)
    t = np.array([1.0, 2.0])
    assert tj.function(fills)(t) == fills(t) == 10.0
    for gradient in (tj.grad(fills), tj.function(taped)):
        np.testing.assert_array_equal(gradient(t), [20.0, 6.0])


@pytest.mark.parametrize("mode", ["recorded", "taped", "tape in a function"])
@pytest.mark.usefixtures("as_written")
def test_a_write_into_a_plain_array_names_the_cure(mode: str) -> None:
    def fills(t: Any) -> Any:
        h = np.zeros(2)
        h[0], h[1] = t[0], t[0] * t[1]
        return np.sum(h**2)

    taped = by_tape(fills)
    calls = {"recorded": tj.grad(fills), "tape in a function": tj.function(taped)}
    with pytest.raises(InPlaceError, match=r"import tracejit\.numpy as np"):
        calls.get(mode, lambda x: taped(tj.constant(x)))(np.array([1.0, 2.0]))


def test_what_was_written_through_a_view_lies_as_the_view_where_code_is_exact() -> None:
    def f(a: Any, w: Any) -> Any:
        b = w.copy()
        z = b[::-1]
        for _ in range(2):
            z[:2] = (a @ z)[2:]
        return a @ z

    exact = tj.function(f, exact=True)
    rng = np.random.default_rng(0)
    for _ in range(50):
        a, w = rng.normal(size=(4, 4)), rng.normal(size=4)
        assert exact(a, w).tobytes() == f(a, w).tobytes()


def parts_replaced(x):
    z = x + 1j * x**2
    z.real = 3 * x
    z.imag[1:3] = x[:2]
    w = z.T[::-1]
    w.imag += x
    np.multiply(x, x[0], out=w.real)
    return np.abs(z) ** 2 + w.real * z.imag


def parts_seen_before(x):
    z = np.zeros(len(x), dtype=complex)
    real, imag = z.real, z.imag
    z[...] = x * (2 + 1j)
    real[real > 0.1] = x[1]
    np.add.at(imag, [0, 0], x[:2])
    z *= 1j * x[0]
    return real * imag + np.abs(z)


def parts_of_real_numbers(x):
    y = x * 1.0
    y.real = y[::-1]
    y.real[0] *= x[1]
    return y


@pytest.mark.parametrize("program", [parts_replaced, parts_seen_before, parts_of_real_numbers])
def test_parts_of_complex_numbers_are_written_in_place(program):
    assert_same(tj.function(program)(X), program(X))
    rows = np.stack([X, 2 * X])
    np.testing.assert_allclose(tj.vmap(program)(rows), [program(row) for row in rows], rtol=1e-12)
    for mode in ("fwd", "rev"):
        jacobian = tj.jacobian(program, mode=mode)(X)
        steps = 1e-6 * np.eye(X.size)
        wanted = np.stack([(program(X + h) - program(X - h)) / 2e-6 for h in steps], -1)
        np.testing.assert_allclose(jacobian, wanted, atol=1e-6)


@np.errstate(invalid="ignore")
def test_parts_that_are_not_finite_leave_the_other_alone():
    def replaced(x):
        z = x * (1 + 1j * np.inf)
        z.real = x
        w = x + 0j
        w.imag = np.array([np.inf, np.nan, -0.0, 0.0, 1.0, 2.0])
        return z, w

    for found, wanted in zip(tj.function(replaced)(X), replaced(X), strict=True):
        assert_same(found, wanted)


def test_what_has_no_part_to_write_refuses_as_numpy_does():
    def imaginary(x):
        y = x * 1.0
        y.imag = 2.0
        return y

    def of_a_number(x):
        z = x[0] + 1j
        z.real = 1.0
        return z

    for program, error in ((imaginary, TypeError), (of_a_number, AttributeError)):
        with pytest.raises(error) as plain:
            program(X)
        with pytest.raises(error, match=re.escape(str(plain.value))):
            tj.function(program)(X)


def test_a_shape_or_dtype_is_not_changed_in_place():
    def shaped(x):
        y = x.copy()
        y.shape = 2, 3
        return y

    def typed(x):
        y = x.copy()
        y.dtype = complex
        return y

    for program, cure in ((shaped, r"x = x\.reshape"), (typed, r"x = x\.astype")):
        with pytest.raises(InPlaceError, match=cure):
            tj.function(program)(X)


def test_windows_are_seen_and_not_written_to():
    def seen(x):
        y = x * 1.0
        rows = np.lib.stride_tricks.sliding_window_view(y, 3, writeable=True)
        y[0] = 2.0
        return rows.sum(axis=1)

    def written(x):
        rows = np.lib.stride_tricks.sliding_window_view(x * 1.0, 3, writeable=True)
        rows[:, 0] *= 2.0
        return rows

    assert_same(tj.function(seen)(X), seen(X))
    with pytest.raises(InPlaceError, match="windows, which overlap"):
        tj.function(written)(X)


@pytest.mark.parametrize("write", ["y.imag[0] = 5.0", "z = y.imag; z += 1.0", "y.imag[:] = x"])
def test_the_imaginary_part_of_real_numbers_is_not_written_to(write: str) -> None:
    f = define(f"def f(x):\n    y = x * 2.0\n    {write}\n    return y")["f"]
    with pytest.raises(ValueError, match="read-only"):
        f(np.ones(2))
    with pytest.raises(InPlaceError, match="imaginary part of real numbers"):
        tj.function(f)(np.ones(2))
