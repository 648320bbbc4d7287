"""Parts of rows on flat slices: what is laid in them, to the bit but for sums, and what stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.against_exact import assert_close, assert_close_to_exact, code, with_special
from tests.by_day import some_by_day
from tests.interpret import interpret, record
from tests.rows import each_row
from tests.support.graphs import graph_of
from tracejit.ir.graph import Graph
from tracejit.ir.verify import verify
from tracejit.passes.framework.dce import drop_dead
from tracejit.passes.layout.slice_updates import update_slices
from tracejit.support.cost_model import assuming
from tracejit.targets.numpy.lower.flattening import Flattening, flatten_slices

Program = Callable[..., Any]
SHAPES = ((30, 40), (12, 5, 9), (5, 6, 3, 4))


@pytest.fixture
def every(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All that can be is laid on flat slices."""
    monkeypatch.setattr(Flattening, "gain", lambda *given: 1.0)
    with assuming(least_flat_slice=1, least_flat_share=0.0):
        yield


def sliced(f: Program, *args: Any) -> Graph:
    """The graph of a call, as it comes to the pass."""
    return update_slices(graph_of(f, *args))


def laid(graph: Graph) -> Graph:
    return verify(drop_dead(flatten_slices(graph)))


def around(u: Any) -> Any:
    return u[:-2, 1:-1] + u[2:, 1:-1] - (-u[1:-1, :-2] - u[1:-1, 2:]) - 4.0 * u[1:-1, 1:-1]


def added(u: Any, c: Any) -> Any:
    u = u.copy()
    u[1:-1, 1:-1] += c[1:-1, 1:-1] * around(u)
    u[1:-1, 1:-1] -= 0.5 * around(u)
    return u


def replaced(u: Any, c: Any) -> Any:
    v = u * c
    v[1:-1, 1:-1] = 0.25 * around(u)
    v[:-2, 1:-1] += around(v) - around(u)
    return v


def taken_out(u: Any, c: Any) -> Any:
    part = around(u) * np.sin(c)[1:-1, 1:-1]
    return part, np.exp(part) + part, np.sum(part, axis=0)


def elsewhere(u: Any, c: Any) -> Any:
    """What is computed of parts is the whole that there are parts of, and the other way around."""
    part = u[1:, 1:] - u[:-1, :-1]
    inner = part[1:-1, 1:-1] * part[2:, 2:] + c[3:, 3:]
    whole = u.copy()
    whole[1:, 1:] += part
    return inner, whole[1:-1, 1:-1] + part[1:, 1:] * c[1:-1, 1:-1]


def columns(u: Any, c: Any) -> Any:
    u = u - c
    u[..., 1:] += u[..., :-1] * c[..., 1:]
    return u[..., 2:] - u[..., :-2]


def one_after_another(u: Any, c: Any) -> Any:
    for _ in range(3):
        w = 2.0 * u - c
        w[1:-1, 1:-1] += 0.1 * around(u)
        u, c = w, u
    return u, np.sum(u * u), c[1:] + 0.0


def last_axes(u: Any, c: Any) -> Any:
    """Gaps between rows, and between planes of them where there are more axes than two."""
    u = u - c
    inner = u[..., 1:-1, 2:] * c[..., :-2, :-2] - u[..., 2:, 1:-1]
    u[..., 1:-1, 1:-1] -= inner
    u[..., 1:, 1:] = 0.5 * (u[..., :-1, :-1] + c[..., 1:, 1:])
    return u, inner, inner - np.cos(inner)


def corners(u: Any, c: Any) -> Any:
    """All axes from another place on."""
    here = tuple(slice(1, None) for _ in u.shape)
    there = tuple(slice(-1) for _ in u.shape)
    v = u * u
    v[here] += c[there] * (u[here] - u[there])
    return v, np.exp(c[here]) + v[there] * 2.0


def added_up(u: Any, c: Any) -> Any:
    """Sums of all, of products and of other things, and of what is read elsewhere too."""
    dx, dy = u[:, 1:] - u[:, :-1], c[:, 1:] - c[:, :-1]
    both, twice = dx * dy, 2.0 * dx
    u = u.copy()
    u[:, 1:] += both
    u[:, :-1] -= twice
    sums = np.sum(dx * dx), np.sum(dx * dy), np.sum(both), np.sum(-dy), np.mean(twice)
    return u, *sums, np.sum(both, axis=0)


def in_rows_of_two_lengths(u: Any, c: Any) -> Any:
    """One coefficient for parts of rows of two lengths."""
    slope = np.exp(-c[2:, 2:] * c[2:, 2:])
    wide = np.concatenate([u, c[:, 1:]], axis=1)
    return u[2:, 2:] * slope, wide[2:, 2 : u.shape[1]] * slope


def flux(u: Any, c: Any) -> Any:
    """Differences of differences, and parts of what is computed."""
    across = (u[..., 1:, 1:-1] - u[..., :-1, 1:-1]) * c[..., 1:, 1:-1]
    along = (u[..., 1:-1, 1:] - u[..., 1:-1, :-1]) * np.sin(c[..., 1:-1, 1:])
    inner = across[..., 1:, :] - across[..., :-1, :] + along[..., 1:] - along[..., :-1]
    u = u.copy()
    u[..., 1:-1, 1:-1] += 0.1 * inner
    across = across * 1.0
    across[..., 1:, :] -= inner
    across[..., :-1, 1:] = 2.0 * along[..., 1:-1]
    return u, along + 0.0, across, across[..., 1:, 1:] * along[..., 2:]


PROGRAMS = {
    f.__name__: f
    for f in (
        added, replaced, taken_out, elsewhere, columns, one_after_another, last_axes, corners,
        added_up, flux, in_rows_of_two_lengths,
    )
}  # fmt: skip


@pytest.mark.usefixtures("every")
@each_row("shape", SHAPES)
@each_row("dtype", ["f8", "f4"])
@each_row("f", PROGRAMS.values())
def test_to_the_bit(f: Program, dtype: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(shape))
    u, c = rng.normal(size=shape).astype(dtype), rng.normal(size=shape).astype(dtype)
    graph = sliced(f, u, c)
    before = {node.op.name for node in graph.nodes}
    new = laid(graph)
    assert "ravel" not in before
    assert "ravel" in {node.op.name for node in new.nodes}
    for count in (0, 1, 5, 40):
        with np.errstate(all="ignore"):
            u, c = (with_special(rng, x, count).astype(dtype) for x in (u, c))
            u.reshape(-1)[::3] *= -0.0
            expected, found = interpret(graph, u, c), interpret(new, u, c)
        for one, other in zip(found, expected, strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            if not one.shape:
                if not count:
                    assert_close(one, other)
                for test in (np.isnan, np.isposinf, np.isneginf):
                    assert test(one) == test(other)
                continue
            np.testing.assert_array_equal(one, other)
            there = ~np.isnan(other)
            np.testing.assert_array_equal(np.signbit(one)[there], np.signbit(other)[there])


@pytest.mark.usefixtures("every")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [0, 3])
@pytest.mark.parametrize("name", some_by_day(PROGRAMS, 3))
def test_gradients(name: str, count: int, shape: tuple[int, ...]) -> None:
    f = PROGRAMS[name]
    rng = np.random.default_rng(count)

    def loss(u: Any, c: Any) -> Any:
        results = f(u, c)
        results = results if isinstance(results, tuple) else (results,)
        return sum(np.sum(np.sin(result) + result * result) for result in results)

    u, c = (with_special(rng, rng.normal(size=shape), count) for _ in range(2))
    u, c = np.clip(u, -1e9, 1e9), np.clip(c, -1e9, 1e9)
    assert_close_to_exact(loss, [u, c], 2)


OTHERS: dict[str, Program] = {
    "rows": lambda u, c: u[1:-1] * c[1:-1],
    "every other column": lambda u, c: u[:, ::2] + c[:, ::2],
    "something spread": lambda u, c: u[1:, 1:] * c[0, 1:],
    "rows of two lengths": lambda u, c: u[:, 1:30] - np.tile(c, 2)[:, 1:30],
    "whole numbers": lambda u, c: np.floor(u).astype(int)[1:, 1:] * 3,
    "no arithmetic": lambda u, c: np.maximum(u[1:, 1:], c[1:, 1:]),
    "an empty part": lambda u, c: u[3:3, 1:] + c[3:3, 1:],
    "reversed": lambda u, c: u[1:, ::-1] + c[1:, ::-1],
    "elements": lambda u, c: u[[0, 1], 1:] + c[[0, 1], 1:],
}


@pytest.mark.usefixtures("every")
@pytest.mark.parametrize("f", OTHERS.values(), ids=OTHERS)
def test_what_stays(f: Program) -> None:
    rng = np.random.default_rng(0)
    graph = sliced(f, rng.normal(size=(30, 40)), rng.normal(size=(30, 40)))
    assert flatten_slices(graph) is graph


def step(u: Any, c: Any) -> Any:
    u = u.copy()
    for _ in range(4):
        u[1:-1, 1:-1] += c * around(u)
    return np.sum(u * u)


def one(u: Any, c: Any) -> Any:
    return np.exp(u[1:-1, 1:-1] * c)


@pytest.mark.parametrize(
    ("f", "shape", "pays"),
    [(step, (60, 60), True), (step, (8, 8), False), (one, (60, 60), False)],
)
def test_where_it_pays(f: Program, shape: tuple[int, ...], pays: bool) -> None:
    graph = sliced(f, np.ones(shape), np.ones([n - 2 for n in shape]))
    assert (flatten_slices(graph) is not graph) == pays


def test_wide_gaps_do_not_pay() -> None:
    graph = sliced(lambda u: u[1:, 1:40] * u[:-1, 1:40] - u[1:, 2:41], np.ones((50, 2000)))
    assert flatten_slices(graph) is graph


def test_free_sizes_stay() -> None:
    signature = [tj.TensorSpec((None, 60)), tj.TensorSpec((None, 58))]
    free = tj.function(step, input_signature=signature, cache=False)
    u, c = np.ones((70, 60)), np.full((68, 58), 0.1)
    free(u, c)
    assert "ravel" not in free.kernels[0].source


def test_what_is_written() -> None:
    compiled = tj.value_and_grad(tj.function(step, cache=False))
    rng = np.random.default_rng(0)
    compiled(rng.normal(size=(60, 60)), rng.uniform(size=(58, 58)))
    text = code(compiled, "forward")
    assert "u[61:3539] += " in text
    assert "3420, 58, 60, -0.0)" in text
    assert text.count(".ravel()") == 2
    assert "u_bar[61:3539] += " in code(compiled, "backward")


@pytest.mark.parametrize("order", ["C", "F"])
def test_any_layout(order: Any) -> None:
    rng = np.random.default_rng(0)
    u = np.asarray(rng.normal(size=(60, 60)), order=order)
    wide = rng.uniform(size=(58, 116))
    assert_close_to_exact(step, [u, wide[:, ::2]], 2)
    assert_close_to_exact(step, [wide[:40, 1:41], np.asfortranarray(wide[:38, :38])], 2)


def test_an_argument_is_updated() -> None:
    rng = np.random.default_rng(0)
    u, c = rng.normal(size=(60, 60)), rng.uniform(size=(58, 58))

    def update(u: Any, c: Any) -> None:
        for _ in range(4):
            u[1:-1, 1:-1] += c * around(u)

    expected, found = u.copy(), u.copy()
    update(expected, c)
    compiled = tj.function(update, cache=False)
    compiled(found, c)
    assert ".ravel()" in compiled.kernels[0].source
    np.testing.assert_array_equal(found, expected)


def laid_ops(f: Any, *shapes: tuple[int, ...]) -> list[str]:
    """The ops that are laid, in order."""
    graph = drop_dead(record(f, *[np.ones(shape) for shape in shapes])[0])
    found = Flattening(graph).laid()
    return [node.op.name for node in graph.nodes if node in found]


def test_parts_of_what_is_computed_belong_to_it() -> None:
    def f(u: Any) -> Any:
        across = u[1:, 1:-1] - u[:-1, 1:-1]
        inner = across[1:] - across[:-1] * 2.0
        v = u.copy()
        v[1:-1, 1:-1] += inner
        return v

    assert laid_ops(f, (90, 90)) == ["subtract", "multiply", "subtract", "add_item"]


def test_what_is_read_elsewhere_costs() -> None:
    def f(u: Any) -> Any:
        across = u[1:, 1:-1] - u[:-1, 1:-1]
        return np.exp(across[1:] - across[:-1])

    assert laid_ops(f, (90, 90)) == []


def test_groups_are_laid_each_by_itself() -> None:
    def f(u: Any, w: Any) -> Any:
        v = u.copy()
        v[1:, 1:] += u[1:, 1:] * u[:-1, :-1] - u[1:, :-1]
        return v, np.exp(w[1:, 1:] - w[:-1, 1:])

    assert laid_ops(f, (90, 90), (80, 80)) == ["multiply", "subtract", "add_item"]


def test_parts_stay_where_they_take_little_of_the_time() -> None:
    """The differences of a total variation beside transforms that take ten times as long."""

    def smoothed(x: Any, filtered: Any) -> Any:
        across, down = x[:, 1:] - x[:, :-1], x[1:] - x[:-1]
        total = np.sum(np.sqrt(across[:-1] ** 2 + down[:, :-1] ** 2 + 1e-6))
        if filtered is not None:
            x = np.fft.irfft2(np.fft.rfft2(x) * filtered, s=x.shape)
        return total + np.sum(x * x)

    x = np.random.default_rng(1).normal(size=(64, 64))
    for filtered, is_flat in ((np.ones((64, 33)), False), (None, True)):
        both = tj.value_and_grad(tj.function(smoothed, cache=False))
        assert ("fill_gaps" in both.kernel(x, filtered).source) == is_flat
