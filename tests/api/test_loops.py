"""`scan` and `fori_loop` as users meet them: recorded, and outside of recordings."""

from __future__ import annotations

import pickle
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.rows import each_row
from tests.support.processes import python
from tests.unrolled import scan as unrolled_scan
from tracejit.support.errors import ArgumentError
from tracejit.trace.structure.trees import flatten

X = np.array([0.3, -1.2, 0.7, 0.2])


def running(total: Any, x: Any) -> Any:
    total = total + x
    return total, total * 2.0


def alike(answer: Any, expected: Any) -> None:
    """Fail unless containers, types and numbers are the same."""
    (leaves, structure), (others, other) = flatten(answer), flatten(expected)
    assert structure.is_like(other)
    for one, another in zip(leaves, others, strict=True):
        assert type(one) is type(another)
        near(one, another)


def near(one: Any, other: Any) -> None:
    """Fail unless both are None, or numbers of one dtype that are nearly the same."""
    assert (one is None) is (other is None)
    if one is not None:
        assert np.asarray(one).dtype == np.asarray(other).dtype
        digits = 1e-6 if np.asarray(one).dtype.itemsize == 4 else 1e-13
        np.testing.assert_allclose(one, other, rtol=digits, atol=digits)


CALLS: dict[str, tuple[Any, Any, Any]] = {
    "a number of Python's": (running, 0.0, X),
    "an integer of Python's": (running, 0, X),
    "single precision": (running, 0.0, X.astype("f4")),
    "a scalar of NumPy's": (running, np.float64(1.0), X),
    "an array": (running, np.ones(2), np.ones((3, 2))),
    "a 0-d array": (running, np.array(1.0), X),
    "complex numbers": (running, 0j, X * 1j),
    "integers": (lambda c, e: (c + e, c), np.int64(0), np.arange(4)),
    "truth values": (lambda c, e: (np.logical_or(c, e > 0), c), np.bool_(False), X),
    "no rows": (lambda c, e: (c + e, None), 0.0, X),
    "some rows": (lambda c, e: (c + e, (None, c, {"e": e})), 0.0, X),
    "containers": (
        lambda c, e: ({"a": c["a"] + e[0], "b": [c["b"][0] * e[1]["f"]]}, (e[0], c["b"])),
        {"a": 0.0, "b": [np.ones(2)]},
        (X, {"f": X}),
    ),
    "elements of no size": (running, np.ones((0, 2)), np.ones((3, 0, 2))),
    "a carry handed on": (lambda c, e: (c, e), X, X),
}


@each_row("reverse", [False, True])
@each_row("name", CALLS)
def test_a_loop_is_what_plain_python_computes(name: str, reverse: bool) -> None:
    step, init, xs = CALLS[name]
    expected = unrolled_scan(step, init, xs, reverse=reverse)
    plain = tj.scan(step, init, xs, reverse=reverse)
    recorded = tj.function(lambda init, xs: tj.scan(step, init, xs, reverse=reverse))
    for _ in range(2):
        found = recorded(init, xs)
        for one, other in zip(flatten(found)[0], flatten(expected)[0], strict=True):
            near(one, other)
    alike(plain, expected)


def test_steps_without_elements() -> None:
    def double(x: Any) -> Any:
        return tj.scan(lambda c, e: (c * 2.0 if e is None else c, c), x, length=3)

    for call in (double, tj.function(double)):
        last, rows = call(1.5)
        assert last == 12.0
        np.testing.assert_array_equal(rows, [1.5, 3.0, 6.0])


@pytest.mark.parametrize("record", [False, True])
def test_no_steps_stack_nothing(record: bool) -> None:
    def f(x: Any) -> Any:
        return tj.scan(lambda c, e: (c + np.sum(e), (e, c)), 1.0, x)

    call = tj.function(f) if record else f
    last, (elements, carries) = call(np.ones((0, 3)))
    assert last == 1.0
    assert elements.shape == (0, 3)
    assert carries.shape == (0,)
    assert tj.fori_loop(3, 1, lambda i, c: c + 1, 5) == 5


def test_the_number_of_a_step_is_an_index_and_a_number() -> None:
    def f(x: Any) -> Any:
        return tj.fori_loop(1, 4, lambda i, c: c + x[i] * i - x[i - 1], np.float64(0.0))

    expected = sum(X[i] * i - X[i - 1] for i in range(1, 4))
    np.testing.assert_allclose([f(X), tj.function(f)(X)], [expected] * 2)
    np.testing.assert_allclose(tj.grad(f)(X), [-1.0, 0.0, 1.0, 3.0])


def test_another_shape_is_another_recording() -> None:
    @tj.function
    def total(x: Any) -> Any:
        return tj.scan(running, 0.0, x)

    for size in (4, 7, 2, 4, 0, 1):
        x = np.arange(float(size)) + 0.5
        last, rows = total(x)
        assert last == x.sum()
        np.testing.assert_allclose(rows, x.cumsum() * 2.0)


def test_arguments_and_what_a_step_reads_are_left_as_they_are() -> None:
    table = np.ones(4)

    @tj.function
    def f(init: Any, xs: Any) -> Any:
        def step(c: Any, e: Any) -> Any:
            c = c.copy()
            c[0] = e
            c += table
            return c, c

        return tj.scan(step, init, xs)

    init = np.zeros(4)
    last, rows = f(init, X)
    np.testing.assert_array_equal(init, np.zeros(4))
    np.testing.assert_array_equal(table, np.ones(4))
    np.testing.assert_array_equal(last, [1.2, 4.0, 4.0, 4.0])
    last[:] = -1.0
    assert rows[-1, 0] == 1.2
    table[:] = 2.0
    assert f(init, X)[0][1] == 8.0


def test_a_carry_that_changes_is_refused() -> None:
    @tj.function
    def grows(x: Any) -> Any:
        return tj.scan(lambda c, e: ({"h": np.append(c["h"], e)}, None), {"h": x}, x)

    with pytest.raises(ArgumentError, match=r"c\['h'\] is f8\[4\] at first and f8\[5\] after"):
        grows(X)


# What else takes part


def test_variables_are_read_anew_at_each_call() -> None:
    weight = tj.Variable(2.0)
    call = tj.function(lambda x: tj.scan(lambda c, e: (c * weight + e, None), 0.0, x)[0])
    first = call(X)
    weight.assign(3.0)
    assert first == unrolled_scan(lambda c, e: (c * 2.0 + e, None), 0.0, X)[0]
    assert call(X) == unrolled_scan(lambda c, e: (c * 3.0 + e, None), 0.0, X)[0]


def test_a_tape_inside_of_a_body() -> None:
    def f(x: Any) -> Any:
        def step(c: Any, e: Any) -> Any:
            with tj.GradientTape() as tape:
                c = tj.constant(c)
                tape.watch(c)
                y = np.sin(c * e)
            return tape.gradient(y, c), y

        return tj.scan(step, np.float64(1.0), x)

    def plain(x: Any) -> Any:
        return unrolled_scan(lambda c, e: (np.cos(c * e) * e, np.sin(c * e)), 1.0, x)

    last, rows = tj.function(f)(X)
    np.testing.assert_allclose(last, plain(X)[0])
    np.testing.assert_allclose(rows, plain(X)[1])


@pytest.mark.parametrize("record", [False, True])
def test_a_tape_around_a_loop(record: bool) -> None:
    def f(x: Any) -> Any:
        x = tj.constant(x)
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = tj.scan(lambda c, e: (np.sin(c * e), None), 1.0, x)[0]
        return tape.gradient(y, x)

    found = tj.function(f)(X) if record else f(X).numpy()
    np.testing.assert_allclose(
        found, tj.grad(lambda x: unrolled_scan(lambda c, e: (np.sin(c * e), None), 1.0, x)[0])(X)
    )


def test_a_callback_with_a_result_is_called_at_each_step() -> None:
    seen: list[float] = []

    def noted(value: Any) -> Any:
        seen.append(float(value))
        return value * 2.0

    @tj.function
    def f(x: Any) -> Any:
        def step(c: Any, e: Any) -> Any:
            return tj.callback(noted, c, result=tj.TensorSpec((), "f8")) + e, None

        return tj.scan(step, 1.0, x)[0]

    for _ in range(2):
        seen.clear()
        assert f(np.ones(3)) == 15.0
        assert seen == [1.0, 3.0, 7.0]


def test_draws_go_on_after_a_loop() -> None:
    def f(x: Any, g: Any) -> Any:
        def outer(c: Any, e: Any) -> Any:
            inner, _ = tj.scan(lambda d, _: (d + g.normal(), None), 0.0, length=2)
            g.uniform()
            return c * e + inner, None

        return tj.scan(outer, 0.0, x)[0], g.normal()

    mine, its = np.random.default_rng(3), np.random.default_rng(3)
    call = tj.function(f)
    for _ in range(2):
        np.testing.assert_allclose(call(X, mine), f(X, its), rtol=1e-13)
        assert mine.bit_generator.state == its.bit_generator.state


def test_loops_behind_decisions() -> None:
    def f(x: Any) -> Any:
        last, rows = tj.scan(running, 0.5, x)
        scale = last * 2.0 if x[0] > 0 else np.sum(rows**3)
        return tj.scan(lambda c, e: (np.tanh(c + e), c), scale, x)[0]

    both = tj.value_and_grad(f)
    for x in (X, -X, X * 2.0):
        value, gradient = both(x)
        assert value == f(x)
        steps = 1e-6 * np.eye(4)
        numeric = [(f(x + step) - f(x - step)) / 2e-6 for step in steps]
        np.testing.assert_allclose(gradient, numeric, atol=1e-7)


# Where kernels live


def test_threads_share_a_kernel() -> None:
    call = tj.value_and_grad(lambda x: tj.scan(lambda c, e: (np.sin(c + e), None), 0.0, x)[0])
    xs = [np.full(50, number / 10) for number in range(8)]
    expected = [call(x) for x in xs]
    found: dict[int, Any] = {}

    def work(number: int) -> None:
        for _ in range(20):
            found[number] = call(xs[number])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, (value, gradient) in enumerate(expected):
        assert found[number][0] == value
        np.testing.assert_array_equal(found[number][1], gradient)


def module_loss(x: Any) -> Any:
    """A loss that other processes can name."""
    last, rows = tj.scan(lambda c, e: (np.tanh(c * e + 0.5), c), np.float64(0.1), x)
    return last + np.sum(rows**2)


def test_kernels_are_pickled() -> None:
    kernel = tj.value_and_grad(module_loss).kernel(X)
    again = pickle.loads(pickle.dumps(kernel))
    for one, other in zip(again.value_and_grad(X), kernel.value_and_grad(X), strict=True):
        np.testing.assert_array_equal(one, other)


PROGRAM = """
import sys
import numpy as np
X = np.array([0.3, -1.2, 0.7, 0.2])
namespace = {}
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"), namespace)
value, gradient = namespace["value_and_grad"](X)
assert not any(name.partition(".")[0] == "tracejit" for name in sys.modules)
print(repr(float(value)), gradient.tolist())
"""


def test_saved_kernels_run_without_tracejit(tmp_path: Path) -> None:
    both = tj.value_and_grad(module_loss)
    value, gradient = both(X)
    path = tmp_path / "loss.py"
    both.kernel(X).save(path)
    np.testing.assert_array_equal(tj.load(path).value_and_grad(X)[1], gradient)
    program = PROGRAM.replace("import sys\n", _PATHS, 1)
    told = python(program, str(path), options=("-S",))
    assert told.strip() == f"{float(value)!r} {gradient.tolist()}"


_PATHS = f"import sys\nsys.path[:] = {[path for path in sys.path if path]!r}\n"


def test_a_fresh_process_finds_the_kernel_of_a_loop(tmp_path: Path) -> None:
    program = (
        "import numpy as np, tracejit as tj\n"
        "from tests.api.test_loops import module_loss\n"
        "f = tj.value_and_grad(module_loss)\n"
        "print(float(f(np.arange(5.0))[0]), f.kernel(np.arange(5.0)).key)\n"
    )
    folder = {"TRACEJIT_CACHE_DIR": str(tmp_path), "TRACEJIT_CACHE": "1"}
    assert python(program, **folder) == python(program, **folder)
    assert len({path.stem for path in tmp_path.rglob("*module_loss*.py")}) == 1
