"""What is kept for backward and what is computed again: the same gradients within any budget, and
really less memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tracejit as tj
from tests.by_day import by_day
from tests.programs import Program, programs
from tests.support.compare import assert_same
from tests.support.running import peak
from tracejit.support.errors import ArgumentError, TracejitWarning

FEW = settings(
    max_examples=by_day(10, 30),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
MANY = settings(FEW, max_examples=2_000, derandomize=False, print_blob=True)
MEGABYTE = 2**20
LAYERS, FEW_LAYERS = 32, 10
SHAPE = (256, 512)  # 1 MB of float64
NEARLY = 1e-13  # where tiles add up in another order


def layers(x: Any, w: Any, count: int = LAYERS) -> Any:
    """Layers whose values no tile can do without."""
    h = x
    for _ in range(count):
        h = np.tanh(np.cumsum(h * w, axis=0) * 0.1 + 0.1)
    return np.sum(h * h)


def few_layers(x: Any, w: Any) -> Any:
    """Layers, in the fewest that a budget tells apart."""
    return layers(x, w, FEW_LAYERS)


def wide_and_narrow(x: Any, w: Any) -> Any:
    """Layers with wide values inside and narrow ones between them, and one value that all read."""
    scale = np.exp(-w)
    h = x[:, :64]
    for k in range(12):
        wide = np.tanh(np.concatenate([h, h * 0.5, h + k, h * scale[:, :64]], axis=1))
        h = wide[:, :64] * wide[:, 64:128] + wide[:, 128:192] * wide[:, 192:]
    return np.sum(np.sin(h))


def by_way(x: Any, w: Any) -> Any:
    h = np.tanh(x * w)
    if (np.sum(h) > 0.0).__bool__():
        h = np.sin(h * w)
        h = np.tanh(h + x)
    else:
        h = np.exp(-h * h)
    return np.sum(np.cos(h) * h)


def arguments() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return rng.normal(size=SHAPE), rng.uniform(0.5, 1.5, size=SHAPE)


def compiled(f: Callable[..., Any], budget: int | None, **options: Any) -> Any:
    return tj.value_and_grad(tj.function(f, cache=False, memory_budget=budget, **options), (0, 1))


def megabytes(f: Callable[..., Any], *args: Any) -> float:
    """The most memory that a warm call takes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TracejitWarning)
        f(*args)
    return peak(lambda: f(*args)) / MEGABYTE


def by_halves(function: Any, *args: Any) -> Any:
    """Value and gradients by forward, then backward."""
    kernel = function.kernel(*args)
    value, residuals = kernel.forward(*args)
    return value, kernel.backward(residuals)


@pytest.mark.parametrize("f", [few_layers, wide_and_narrow, by_way])
@pytest.mark.parametrize(
    ("budget", "exact"),
    by_day(
        [(0, False), (4, True)],
        [(0, False), (4, False), (10_000, False), (0, True), (4, True)],
    ),
)
def test_every_budget_gives_the_same_gradients(f: Any, budget: int, exact: bool) -> None:
    x, w = arguments()
    for sign in by_day((1.0,), (1.0, -1.0)):
        expected = compiled(f, None, exact=exact)(sign * x + 0.2 * sign, w)
        bound = 0.0 if exact else NEARLY
        function = compiled(f, budget * MEGABYTE, exact=exact)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TracejitWarning)
            assert_same(function(sign * x + 0.2 * sign, w), expected, bound)
            if f is not by_way:
                assert_same(by_halves(function, sign * x + 0.2 * sign, w), expected, bound)


def test_both_ways_through_one_kernel() -> None:
    x, w = arguments()
    function, plain = compiled(by_way, 2 * MEGABYTE), compiled(by_way, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TracejitWarning)
        for sign in (1.0, -1.0, 1.0):
            args = sign * np.abs(x), w
            assert_same(function(*args), plain(*args), NEARLY)
    assert len(function.kernels) == 1
    assert "[recomputed]" in function.source


@pytest.mark.parametrize("budget", by_day([6], [6, 12, 16]))
def test_a_budget_is_kept_to(budget: int) -> None:
    x, w = arguments()
    temporaries = 4
    network, count = (few_layers, FEW_LAYERS) if budget < 7 else (layers, LAYERS)
    assert megabytes(compiled(network, None), x, w) > count > 1.5 * budget
    function = compiled(network, budget * MEGABYTE)
    assert megabytes(function, x, w) <= budget + temporaries
    kernel = function.kernel(x, w)
    assert megabytes(lambda: kernel.backward(kernel.forward(x, w)[1])) <= budget + temporaries
    kept = kernel.forward(x, w)[1]
    assert sum(a.nbytes for a in kept if a is not x and a is not w) <= budget * MEGABYTE


def test_what_lies_between_layers_is_kept_rather_than_what_is_inside() -> None:
    x, w = arguments()
    assert megabytes(compiled(wide_and_narrow, 4 * MEGABYTE), x, w) < 0.65 * megabytes(
        compiled(wide_and_narrow, None), x, w
    )


def test_a_budget_out_of_reach_warns_once_at_the_users_line() -> None:
    x, w = arguments()
    function = compiled(layers, MEGABYTE)
    with pytest.warns(TracejitWarning, match=r"memory_budget=1048576") as caught:
        function(x, w)
    assert [one.filename for one in caught] == [__file__]
    function(x, w)
    assert "which cannot be reached" in " ".join(function.source.split())


def test_the_head_says_what_is_kept_and_what_is_computed_again() -> None:
    x, w = arguments()
    function = compiled(layers, 12 * MEGABYTE)
    kernel = function.kernel(x, w)
    head = " ".join(kernel.source.split('"""')[1].split())
    kept = sum(MEGABYTE for name in kernel.residuals() if name not in "xw")
    assert f"({kept} bytes); recomputed: h" in head
    assert "the budget is 12582912" in head
    assert "memory_budget of 12582912 bytes" in function.explain()
    assert "memory" not in compiled(layers, None).kernel(x, w).source


def test_a_budget_makes_a_kernel_of_its_own() -> None:
    x, w = arguments()
    kernels = [
        compiled(layers, budget).kernel(x, w) for budget in (None, 12 * MEGABYTE, 16 * MEGABYTE)
    ]
    assert len({kernel.key for kernel in kernels}) == 3
    value = tj.function(layers, cache=False, memory_budget=12 * MEGABYTE).kernel(x, w)
    assert value.key == tj.function(layers, cache=False).kernel(x, w).key


def test_one_cheap_operation_is_computed_again_without_a_budget() -> None:
    x, w = arguments()

    def f(x: Any, w: Any) -> Any:
        h = np.sin(x * w)
        y = -h
        return np.sum(np.exp(y) * np.cos(y) * h)

    kernel = compiled(f, None, exact=True).kernel(x, w)
    assert "y" not in kernel.residuals() and "h" in kernel.residuals()
    assert "recomputed: y" in kernel.source
    assert "recomputed]" not in kernel.source.partition("def value_and_grad")[2]
    assert_same(by_halves(compiled(f, None), x, w), compiled(f, None)(x, w), NEARLY)
    small = compiled(f, None, exact=True).kernel(x[:2], w[:2])
    assert "y" in small.residuals()


def test_nothing_that_takes_place_is_repeated() -> None:
    seen: list[float] = []

    def f(x: Any, w: Any) -> Any:
        h = np.tanh(x * w)
        tj.callback(lambda total: seen.append(float(total)), np.sum(h))
        rng = tj.random.default_rng(3)
        h = np.tanh(h + rng.normal(size=h.shape))
        for _ in range(6):
            h = np.sin(h * w)
        return np.sum(h * h)

    x, w = arguments()
    expected = compiled(f, None)(x, w)
    seen.clear()
    assert_same(compiled(f, 4 * MEGABYTE)(x, w), expected, NEARLY)
    assert len(seen) == 1


def test_recompute_regions_stay_as_they_are() -> None:
    block = tj.recompute_grad(lambda h, w: np.tanh(np.sin(h * w) * 2.0))

    def f(x: Any, w: Any) -> Any:
        h = x
        for _ in range(5):
            h = block(h, w)
            h = np.cos(h) * h
        return np.sum(h)

    x, w = arguments()
    expected = compiled(f, None, exact=True)(x, w)
    for budget in (0, 3, 6):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TracejitWarning)
            assert_same(compiled(f, budget * MEGABYTE, exact=True)(x, w), expected)


def test_free_dimensions() -> None:
    function = compiled(layers, 14 * MEGABYTE)
    plain = compiled(layers, None)
    x, w = arguments()
    for rows in by_day((100, 3, 100), (256, 100, 3, 256)):
        args = x[:rows], w[:rows]
        assert_same(function(*args), plain(*args), NEARLY)
    assert len(function.kernels) == 2
    assert "[recomputed]" in function.source


@pytest.mark.parametrize("budget", ["64 MB", -1, 2.0, True])
def test_what_is_no_number_of_bytes_is_refused(budget: Any) -> None:
    with pytest.raises(ArgumentError, match="memory_budget"):
        tj.function(layers, memory_budget=budget)


BUDGETS = st.sampled_from((0, 1, 100, 1000, 20_000))


@FEW
@given(programs(), BUDGETS)
def test_random_programs_within_a_budget(program: Program, budget: int) -> None:
    check_budget(program, budget)


@pytest.mark.nightly
@MANY
@given(programs(), BUDGETS)
def test_nightly_programs_within_a_budget(program: Program, budget: int) -> None:
    check_budget(program, budget)


def check_budget(program: Program, budget: int) -> None:
    """To the bit what exact kernels without a budget give."""
    options: dict[str, Any] = {"cache": False, "exact": True}
    plain = tj.value_and_grad(tj.function(program.loss, **options), program.moving)
    tight = tj.value_and_grad(
        tj.function(program.loss, memory_budget=budget, **options), program.moving
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TracejitWarning)
        expected = plain(*program.values)
        assert_same(tight(*program.values), expected)
        if not any(type(value) in (int, float) for value in program.values):
            kernel = tight.kernel(*program.values)
            assert_same(by_halves_of(kernel, program), expected)


def by_halves_of(kernel: Any, program: Program) -> Any:
    value, residuals = kernel.forward(*program.values)
    gradients = kernel.backward(residuals)
    return value, gradients if len(program.moving) > 1 else (gradients,)
