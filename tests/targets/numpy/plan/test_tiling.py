"""Tiles: what runs a few rows after the other computes what runs at once does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import tracejit as tj
from tests.by_day import by_day
from tests.programs import Program, programs
from tests.test_programs import FEW, check_all, check_float32, check_second_order
from tracejit.support.cost_model import assuming, costs

SIZE = 300_000
SOME = settings(FEW, max_examples=by_day(6, 24))
FEWER = settings(FEW, max_examples=by_day(4, 12))


@pytest.fixture(scope="class")
def tiny() -> Iterator[None]:
    """Everything is worth tiles of a few numbers."""
    with assuming(
        tiled_bytes=0,
        least_tiled_time=0,
        least_tiled_operations=1,
        tile_bytes=320,
        least_tile_bytes=0,
        halved_tile_bytes=0,
    ):
        yield


@pytest.mark.usefixtures("tiny")
class TestRandomPrograms:
    """Random programs in tiles of five numbers."""

    def test_they_have_tiles(self) -> None:
        made = tj.value_and_grad(tj.function(elementwise, cache=False), argnums=(0, 1))
        assert "in_turn(tile_" in made.kernel(*arrays(12)).source

    @SOME
    @given(programs())
    def test_values_and_gradients(self, program: Program) -> None:
        check_all(program)

    @FEWER
    @given(programs())
    def test_float32(self, program: Program) -> None:
        check_float32(program)

    @FEWER
    @given(programs())
    def test_second_order(self, program: Program) -> None:
        check_second_order(program)


PRODUCTS = {
    "vector and matrix": lambda v, a: (v * 2.0) @ (a * 3.0),
    "matrix and vector": lambda v, a: (a.T * 3.0) @ (v * 2.0),
    "column and row": lambda v, a: np.tanh((v[:, None] * 2.0) @ (a[-1:] * 1.0)),
    "row and matrix": lambda v, a: (v[:, None] * 2.0).T @ (a * 3.0),
    "dot": lambda v, a: np.dot(v * 2.0, a * 3.0),
    "short rows": lambda v, a: np.vecdot(v[:, None] * 2.0, a[-1, :1]),
}
OF_ONE_TILE = ("row and matrix", "short rows")


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("options", [{}, {"dynamic_shapes": True}], ids=["fixed", "free"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_zero_times_infinity_in_products_of_a_single_row(name: str, options: Any) -> None:
    function = tj.function(PRODUCTS[name], cache=False, **options)
    exact = tj.function(PRODUCTS[name], cache=False, exact=True)
    for rows in range(5, 12):
        for last in ((0.0, np.inf), (np.inf, 0.0)):
            v, a = np.ones(rows), np.ones((rows, 5))
            v[-1], a[-1] = last
            with np.errstate(all="ignore"):
                found, expected = function(v, a), exact(v, a)
            np.testing.assert_array_equal(found, expected)
    are_tiled = any("in_turn(tile_" in kernel.source for kernel in function.kernels)
    assert are_tiled == (name not in OF_ONE_TILE)


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("ufunc", [np.negative, np.isnan, np.isfinite, np.signbit])
def test_columns_of_one_are_as_those_of_many(ufunc: Any) -> None:
    def columns(x: Any, w: Any) -> Any:
        return ufunc(np.sin(x) / w), np.tanh(w) * np.sin(w)

    specs = [tj.TensorSpec((None, 8)), tj.TensorSpec((8,))]
    function = tj.function(columns, cache=False, input_signature=specs)
    x, w = np.linspace(-1, 1, 40 * 8).reshape(40, 8), np.arange(8) - 3.5
    x[::3] *= np.inf
    for rows in (40, 23):
        with np.errstate(all="ignore"):
            found, expected = function(x[:rows], w), columns(x[:rows], w)
        np.testing.assert_array_equal(found[0], expected[0])
    assert ":, start:stop" in function.kernels[0].source


def elementwise(w: Any, x: Any) -> Any:
    return np.mean((np.tanh(w * x) - 1 / (1 + np.exp(-x))) ** 2 * np.exp(-(x**2)))


def arrays(*shape: int, dtype: Any = float) -> list[Any]:
    rng = np.random.default_rng(3)
    return [rng.normal(size=shape).astype(dtype) for _ in range(2)]


def assert_as_exact(function: Any, *args: Any, argnums: Any = 0) -> Any:
    """The value and gradients of a kernel with tiles, against those of one without."""
    made = tj.value_and_grad(tj.function(function, cache=False), argnums=argnums)
    exact = tj.value_and_grad(tj.function(function, cache=False, exact=True), argnums=argnums)
    source = made.kernel(*args).source
    assert re.search(r"in_turn\(\s*tile_", source)
    assert "in_turn" not in exact.kernel(*args).source
    found, expected = made(*args), exact(*args)
    digits = 16 * np.finfo(expected[0].dtype).eps
    np.testing.assert_allclose(found[0], expected[0], rtol=max(1e-12, digits))
    assert type(found[0]) is type(expected[0])
    pairs = zip(found[1], expected[1], strict=True)
    for one, other in [(found[1], expected[1])] if type(argnums) is int else pairs:
        assert one.dtype == other.dtype and one.shape == other.shape
        eps = np.finfo(one.dtype).eps
        np.testing.assert_allclose(one, other, rtol=0, atol=64 * eps * np.max(np.abs(other)))
    return made


def test_forward_and_backward_are_one_sweep_where_only_sums_lie_between() -> None:
    made = assert_as_exact(elementwise, *arrays(SIZE), argnums=(0, 1))
    body = made.kernel(*arrays(SIZE)).source.split("def value_and_grad")[1]
    assert body.count("in_turn(") == 1


def test_what_needs_a_sum_waits_for_the_next_sweep() -> None:
    def normalised(x: Any) -> Any:
        y = np.exp(np.sin(x) * 0.5)
        p = y / np.sum(y)
        return np.sum(np.tanh(p * 1e5) * p * np.cos(x))

    made = assert_as_exact(normalised, arrays(SIZE)[0])
    assert made.kernel(arrays(SIZE)[0]).source.split("def value_and_grad")[1].count("in_turn(") > 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_matrices(dtype: Any) -> None:
    def softmax(z: Any, y: Any, scale: Any) -> Any:
        z = z * scale
        m = np.max(z, axis=1, keepdims=True)
        lse = m + np.log(np.sum(np.exp(z - m), axis=1, keepdims=True))
        return np.mean(np.sum(y * (lse - z), axis=1))

    z, y = arrays(4000, 120, dtype=dtype)
    assert_as_exact(softmax, z, np.abs(y), np.linspace(1, 2, 120).astype(dtype), argnums=(0, 2))


def test_sums_of_columns() -> None:
    def spread(x: Any, shift: Any) -> Any:
        y = np.tanh(x - shift) * np.exp(-x * x)
        return np.sum(np.sum(y, axis=0) ** 2)

    x, _ = arrays(5000, 70)
    assert_as_exact(spread, x, np.linspace(-1, 1, 70), argnums=(0, 1))


def test_shifted_parts() -> None:
    def rosenbrock(x: Any) -> Any:
        return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    made = assert_as_exact(rosenbrock, arrays(SIZE)[0])
    assert (
        "out_bar, x_bar[:-1])" in made.kernel(arrays(SIZE)[0]).source
    )  # computed where it belongs


@pytest.mark.parametrize("part", [slice(3, None), slice(None, -5), slice(7, -2), slice(2, 270_000)])
def test_parts_are_placed_among_zeros(part: slice) -> None:
    def inner(x: Any) -> Any:
        y = x[part]
        return np.sum(np.tanh(y) * np.exp(-y * y) + np.sin(y) * y)

    assert_as_exact(inner, arrays(SIZE)[0])
    assert_as_exact(inner, arrays(SIZE, 2)[0])


@pytest.mark.parametrize("size", [131072, 131073, 200_001])
def test_the_last_tile_may_be_small(size: int) -> None:
    assert_as_exact(elementwise, *arrays(size), argnums=(0, 1))


def rows_of_a_tile(source: str, name: str) -> int:
    """The rows that a module gives a tile at once."""
    found = re.search(rf"in_turn\(\s*{name}, \d+, (\d+),", source)
    assert found is not None, source
    return int(found[1])


def test_a_tile_has_the_rows_of_which_all_that_is_there_at_once_fits() -> None:
    def few(x: Any) -> Any:
        return np.sum(np.tanh(np.exp(x) * x) * x)

    def many(x: Any) -> Any:
        parts = [np.tanh(number * x) for number in range(1, 13)]
        return np.sum(sum(part * other for part, other in zip(parts, parts[::-1], strict=True)))

    x = np.linspace(0.0, 1.0, 3_000_000)
    rows = []
    for function in (few, many):
        source = tj.function(function, cache=False).kernel(x).source
        rows.append(rows_of_a_tile(source, "tile_1"))
    assert rows[1] < rows[0] < 1_000_000
    assert rows[1] * 8 * 13 <= costs().tile_bytes

    def most(x: Any) -> Any:
        parts = [np.tanh(number * x) for number in range(1, 60)]
        return np.sum(sum(part * other for part, other in zip(parts, parts[::-1], strict=True)))

    source = tj.function(most, cache=False).kernel(x).source
    assert costs().least_tile_bytes // 8 <= rows_of_a_tile(source, "tile_1") < rows[1]


def test_sums_of_products_are_taken_in_rows_that_tiles_have_a_whole_number_of() -> None:
    args = arrays(1_000_000)
    source = assert_as_exact(elementwise, *args, argnums=(0, 1)).kernel(*args).source
    assert re.search(
        r"add.reduce\(\s*vecdot\(\w+.reshape\(-1, 8000\), \w+.reshape\(-1, 8000\)\)", source
    )
    assert rows_of_a_tile(source, "tile_3") % 8000 == 0


def test_a_number_of_rows_without_such_divisors_is_summed_as_it_is() -> None:
    args = arrays(1_000_003)
    source = assert_as_exact(elementwise, *args, argnums=(0, 1)).kernel(*args).source
    assert "vecdot" not in source
    assert rows_of_a_tile(source, "tile_3") < 200_000


def test_free_sizes_down_to_none() -> None:
    function = tj.value_and_grad(tj.function(elementwise, cache=False), argnums=(0, 1))
    with np.errstate(all="ignore"):
        for size in (SIZE, SIZE + 1, 7, 40_000, 2):
            found = function(*arrays(size))
            expected = tj.value_and_grad(tj.function(elementwise, cache=False, exact=True))
            np.testing.assert_allclose(found[0], expected(*arrays(size))[0], rtol=1e-12)
    assert ["in_turn(tile_" in one.source for one in function.kernels] == [True, True, False]


@pytest.mark.parametrize("seen", ["views", "Fortran", "the same twice", "reversed"])
def test_arguments_of_any_layout(seen: str) -> None:
    x, y = arrays(600, 600)
    given = {
        "views": (x[:, 1:], y[:, :-1]),
        "Fortran": (np.asfortranarray(x), y),
        "the same twice": (x, x),
        "reversed": (x[::-1], y[:, ::-1]),
    }[seen]
    before = [value.copy() for value in given]
    assert_as_exact(elementwise, *given, argnums=(0, 1))
    for old, value in zip(before, given, strict=True):
        np.testing.assert_array_equal(old, value)


def test_results_of_many_calls_are_kept_apart() -> None:
    function = tj.value_and_grad(tj.function(elementwise, cache=False), argnums=(0, 1))
    w, x = arrays(SIZE)
    first = function(w, x)
    kept = [function(w * k, x) for k in range(1, 5)]
    np.testing.assert_array_equal(kept[0][1][0], first[1][0])
    w *= 0.0
    kept[1][1][0][:] = 0.0
    again = function(arrays(SIZE)[0], x)
    np.testing.assert_array_equal(again[1][0], first[1][0])
    assert not any(np.may_share_memory(one[1][0], two[1][0]) for one in kept for two in [first])


def test_eight_threads_get_the_same_bits() -> None:
    function = tj.value_and_grad(tj.function(elementwise, cache=False), argnums=(0, 1))
    w, x = arrays(SIZE)
    expected = function(w, x)
    with ThreadPoolExecutor(8) as pool:
        for value, (w_bar, x_bar) in pool.map(lambda _: function(w, x), range(24)):
            assert value == expected[0]
            np.testing.assert_array_equal(w_bar, expected[1][0])
            np.testing.assert_array_equal(x_bar, expected[1][1])


def test_small_and_short_programs_have_none() -> None:
    small = tj.function(elementwise, cache=False)
    assert "tile_1" not in small.kernel(*arrays(10_000)).source


def test_short_chains_have_none() -> None:
    short = tj.function(lambda x: np.sum(x * 2.0), cache=False)
    assert "tile_1" not in short.kernel(arrays(SIZE)[0]).source


@pytest.mark.parametrize(("tile_bytes", "has_tiles"), [(6 << 20, True), (1 << 24, False)])
def test_what_fits_one_tile_has_none(tile_bytes: int, has_tiles: bool) -> None:
    with assuming(tile_bytes=tile_bytes):
        source = tj.function(elementwise, cache=False).kernel(*arrays(110_000)).source
    assert ("tile_1" in source) == has_tiles


def test_a_tile_takes_only_what_it_reads() -> None:
    """The weights have an axis as long as the rows; their parts are read outside of the tiles."""

    def layers(x: Any, w: Any) -> Any:
        for k in range(3):
            x = np.tanh(np.exp(-(x * x)) @ w[k])
        return np.sum(x)

    x, w = np.ones((512, 512)), np.ones((3, 512, 512)) / 512
    heads = re.findall(
        r"^def tile_\d+\(([^)]*)\)(.*?)(?=^def)",
        tj.value_and_grad(tj.function(layers, cache=False)).kernel(x, w).source,
        re.DOTALL | re.MULTILINE,
    )
    assert heads
    for parameters, body in heads:
        for name in parameters.replace(",", " ").split():
            sliced = re.search(rf"^    {name} = {name}\[.*\n", body, re.MULTILINE)
            assert re.search(rf"\b{name}\b", body.replace(sliced[0], "") if sliced else body), name


@pytest.mark.usefixtures("tiny")
def test_effects_keep_their_order() -> None:
    generator = np.random.default_rng(1)

    def noisy(x: Any, rng: Any) -> Any:
        a = x + rng.normal(size=x.shape)
        b = np.sum(a * a)
        return np.sum(np.tanh(a / b)) + rng.normal()

    x = np.linspace(0, 1, 50)
    found = tj.function(noisy, cache=False)(x, generator)
    np.testing.assert_allclose(found, noisy(x, np.random.default_rng(1)), rtol=1e-13)


def test_products_of_matrices_keep_the_threads_of_the_blas() -> None:
    def layer(x: Any, w: Any) -> Any:
        y = x @ w @ w @ w
        return np.sum(np.tanh(y) ** 2 * np.exp(-(y**2)))

    x, w = np.ones((512, 512)), np.ones((512, 512))
    source = tj.function(layer, cache=False).kernel(x, w).source
    assert "in_turn(tile_" in source and "BLAS_THREADS" not in source
    alone = tj.function(elementwise, cache=False).kernel(*arrays(SIZE)).source
    assert "BLAS_THREADS = 1" in alone


def test_what_is_stored_is_computed_in_its_place() -> None:
    """Also where it is written over something that cannot be made there."""

    def loss(p: Any, i: Any, j: Any) -> Any:
        d = p[i] - p[j]
        return np.sum(np.sqrt(1.0 + np.sum(d * d, axis=1)))

    rng = np.random.default_rng(0)
    args = rng.normal(size=(10_000, 3)), *rng.integers(0, 10_000, (2, 100_000))
    with assuming(long_axis=1 << 40):  # rows stay rows
        both = assert_as_exact(loss, *args)
        source = both.kernel(*args).source
    assert "def tile_" in source and "[:] = " not in source.partition("tile_2")[2]
    assert ".dot(ones_3)" in source and "vecdot(d" not in source


def test_signs_are_not_written_over_what_they_are_of() -> None:
    def f(x: Any) -> Any:
        return np.sign(np.sin(x) * 2.0)

    source = tj.function(f, cache=False).kernel(np.linspace(-1.0, 1.0, 5_000)).source
    assert "= sign(" in source


@pytest.mark.usefixtures("tiny")
def test_free_sizes_stay_free_where_a_column_is_taken_away() -> None:
    def rows(x: Any) -> Any:
        step = x[:, 1:] - x[:, :-1]
        return np.sum(np.tanh(step * np.exp(-step * step)), axis=0)

    spec = tj.TensorSpec((None, None))
    function = tj.function(rows, cache=False, input_signature=[spec])
    x = arrays(3000, 400)[0]
    np.testing.assert_allclose(function(x), rows(x), rtol=1e-10, atol=1e-10)
    (kernel,) = function.kernels
    assert kernel.signature["inputs"]["x"] == "f8[n,m]"
