"""Why no kernel takes a call: what differs from the nearest, what follows, and the fix."""

from __future__ import annotations

import collections
import dataclasses
import enum
import json
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tests.support.compare import assert_same
from tracejit.ir.sizes import Sizes
from tracejit.ir.types import ArrayType
from tracejit.specialise.reasons import READS, SENTENCES, differences, reason_for, settled
from tracejit.trace.arguments.signature import Call, take_apart


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass
class Layer:
    w: Any
    b: Any


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Held:
    """An object that selects a kernel."""


X = np.ones((32, 784))
SMALL = X[:2, :3].copy()


def total(x: Any) -> Any:
    return np.sum(x) if isinstance(x, np.ndarray) else 0.0


def dotted(p: Any) -> Any:
    return p.x * 2.0 if hasattr(p, "x") else p.w * 2.0


def reshaped(x: Any) -> Any:
    x = x.reshape(-1)
    x[0] = 1.0
    return x


# The function, a first call, another, and what is said of the other.
CALLS: dict[str, tuple[Callable[..., Any], Any, Any, str]] = {
    "dtype": (
        total,
        X,
        X.astype(np.float32),
        ("x had dtype float32; kernel 1 has float64. To avoid it: convert it before the call, "
        "x.astype(np.float64)."),
    ),
    "shape": (
        total,
        X,
        np.ones((64, 784)),
        "x had shape (64, 784); kernel 1 has (32, 784). ",
    ),
    "rank": (total, X, X[0].copy(), "x had shape (784,); kernel 1 has (32, 784). Every number of"),
    "list": (
        lambda x: x[0] * 2.0,
        [SMALL],
        [SMALL, SMALL],
        "x was a list of 2; kernel 1 has a list of 1. The keys and lengths of containers belong",
    ),
    "dict": (
        lambda x: x["w"] * 2.0,
        {"w": SMALL},
        {"w": SMALL, "b": 1.0},
        "x was a dict of the keys 'w', 'b'; kernel 1 has a dict of the keys 'w'.",
    ),
    "order of a dict": (
        lambda x: x["w"] * 2.0,
        {"w": SMALL, "b": 1.0},
        {"b": 1.0, "w": SMALL},
        "x was a dict of the keys 'b', 'w'; kernel 1 has a dict of the keys 'w', 'b'.",
    ),
    "inside": (
        lambda x: x["a"][0] * 2.0,
        {"a": [SMALL], "n": 1},
        {"a": [SMALL, 2.0], "n": 1},
        "x['a'] was a list of 2; kernel 1 has a list of 1.",
    ),
    "class": (
        dotted,
        Point(SMALL, 1.0),
        Layer(SMALL, 1.0),
        "p was a Layer; kernel 1 has a Point.",
    ),
    "field": (
        dotted,
        Layer(SMALL, 1.0),
        Layer(SMALL.astype(np.float32), 1.0),
        "p.w had dtype float32; kernel 1 has float64.",
    ),
    "container for an array": (
        lambda x: x[0] * 2.0,
        SMALL,
        [SMALL],
        "x was a list of 1; kernel 1 has one array or number.",
    ),
    "int for float": (
        lambda x: x * 2,
        1.5,
        1,
        "x was an int; kernel 1 has a float. To avoid it: pass a float at each call.",
    ),
    "scalar for an array": (
        lambda x: x * 2,
        SMALL,
        np.float64(1),
        "x was a np.float64; kernel 1 has an array f8[2,3].",
    ),
    "scalar for a number": (
        lambda x: x * 2,
        1.0,
        np.float64(1),
        "x was a np.float64; kernel 1 has a float.",
    ),
    "text": (lambda x: 1.0, "a", "b", "x was 'b'; kernel 1 has 'a'. Every value of x has"),
    "flag": (lambda x: 1.0, True, False, "x was False; kernel 1 has True."),
    "object": (lambda x: 1.0, Held(), Held(), "x was another Held; kernel 1 has a Held."),
    "Variable": (
        lambda x: x * 2.0,
        tj.Variable(1.0),
        tj.Variable(1.0),
        "x was another Variable. A kernel reads and assigns only the Variables",
    ),
    "generator": (
        lambda x: x.normal(),
        np.random.default_rng(1),
        tj.random.default_rng(1),
        "x was another Generator; kernel 1 has a Generator.",
    ),
    "enum": (
        lambda x: 1.0,
        Colour.RED,
        Colour.BLUE,
        "x was Colour.BLUE; kernel 1 has Colour.RED.",
    ),
    "number": (
        lambda x: x * 2.0,
        0.1,
        0.2,
        "x was 0.2; kernel 1 has 0.1. The new kernel takes any value of x.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_what_differs_is_told_before_and_after(name: str) -> None:
    function, first, second, words = CALLS[name]
    compiled = tj.function(function)
    compiled(first)
    foreseen = compiled.explain(second)
    assert foreseen.startswith(f"No kernel takes this call, because {words}")
    assert len(compiled.kernels) == 1
    compiled(second)
    assert f"\nKernel 2 was made because {words}" in compiled.explain()
    assert compiled.explain(second) == "Kernel 2 takes this call."


def test_free_dimensions_are_told() -> None:
    f = tj.function(lambda x, y: x.sum() + y.sum())
    f(X, SMALL)
    (made, _, _), static = f._table.compiled[0], dict[str, str]()
    leaf, other = made.call.leaves
    free = ArrayType((Sizes().symbol(32), 784), X.dtype)
    call = Call([leaf._replace(type=free), other], made.call.structures)
    entry = dataclasses.replace(made, call=call)

    def given(x: Any, y: Any) -> Call:
        return take_apart({"x": x, "y": y}, "f", str)

    assert differences(entry, given(X[:5], SMALL), static) == []
    (small,) = differences(entry, given(X[:5], SMALL[:1]), static)
    assert small.what == "y"
    (one,) = differences(entry, given(X[:1], SMALL), static)
    assert one.tell("because") == "x had shape (1, 784)"
    assert one.tell("has") == "(any, 784)"
    reason = reason_for(given(X[:5], SMALL), [(made, f.kernels[0], f)], static, None)
    told = settled(reason, entry, True)
    assert told.because(lambda kernel: "kernel 1") == (
        "x had shape (5, 784); kernel 1 has (32, 784)"
    )
    assert told.advice() == ("The new kernel takes any size of dimension 0 of x, from 2 on.")


def test_the_order_in_memory_is_told() -> None:
    f = tj.function(reshaped)
    f(SMALL.copy())
    assert f.explain(np.asfortranarray(SMALL)).startswith(
        "No kernel takes this call, because x was not in C order in memory; kernel 1 has an "
        "array in C order. The function reshapes or writes to x, which depends on the order. To "
        "avoid it: pass np.ascontiguousarray(x)."
    )


def test_the_nearest_kernel_is_compared() -> None:
    f = tj.function(lambda x, y: x.sum() + y.sum())
    f(SMALL, SMALL)
    f(SMALL.astype("f4"), SMALL.astype("f4"))
    told = f.explain(SMALL, SMALL[0])
    assert "y had shape (3,); kernel 1 has (2, 3)" in told
    assert "x had" not in told


def test_two_differences_are_one_sentence() -> None:
    f = tj.function(lambda x, y: x.sum() + y.sum())
    f(SMALL, SMALL)
    assert f.explain(SMALL[:1], SMALL.astype("f4")).startswith(
        "No kernel takes this call, because x had shape (1, 3) and y had dtype float32; "
        "kernel 1 has (2, 3) and float64."
    )


def test_many_differences_are_counted() -> None:
    f = tj.function(lambda *xs: xs[0] * 2.0)
    f(*[SMALL] * 6)
    assert "(and 3 more); kernel 1 has" in f.explain(*[SMALL[:1]] * 6)


Reading = tuple[Callable[..., Any], tuple[Any, ...], str]
READ: dict[str, Reading] = {
    "range": (lambda x, n: sum(x for _ in range(n)), (1, 2, 3), "a fixed number of steps"),
    "format": (lambda x, n: (x, f"{n:.2f}"), (1.0, 2.0, 3.0), "tj.callback"),
    "index": (lambda x, n: x[..., n:], (0, 1, 2), "compute with NumPy functions"),
}
READ_AS_WRITTEN: dict[str, Reading] = {
    "math": (lambda x, n: x * math.sqrt(n), (4.0, 9.0, 16.0), "np.sqrt"),
    "float": (lambda x, n: x * float(n), (1.0, 2.0, 3.0), "leave float(...) out"),
    "full": (
        lambda x, n: x + np.full(3, n),
        (1.0, 2.0, 3.0),
        "make it with the shape of an array, as in np.full_like",
    ),
}


@pytest.mark.parametrize("name", READ_AS_WRITTEN)
def test_a_number_that_calls_record_has_one_kernel(name: str) -> None:
    function, numbers, _ = READ_AS_WRITTEN[name]
    f = tj.function(function)
    for number in numbers:
        assert_same(f(SMALL, number), function(SMALL, number))
    assert f.tracing_count == 2  # the first number is a part of the kernel


@pytest.mark.usefixtures("as_written")
@pytest.mark.parametrize("name", READ_AS_WRITTEN)
def test_a_number_that_code_as_written_reads_is_told_with_its_line(name: str) -> None:
    is_told_with_its_line(*READ_AS_WRITTEN[name])


@pytest.mark.parametrize("name", READ)
def test_a_number_that_python_reads_is_told_with_its_line(name: str) -> None:
    is_told_with_its_line(*READ[name])


def is_told_with_its_line(function: Callable[..., Any], numbers: Sequence[Any], fix: str) -> None:
    f = tj.function(function)
    for number in numbers[:2]:
        f(SMALL, number)
    told = f.explain(SMALL, numbers[2])
    assert f"n was {numbers[2]!r}; kernel 2 has {numbers[1]!r}. Every value of n has" in told
    assert "because Python reads it (test_reasons.py:" in told
    assert fix in told
    f(SMALL, numbers[2])
    assert f"Kernel 3 was made because n was {numbers[2]!r}" in f.explain()
    assert f.explain().count("To avoid it: ") == 2


@pytest.mark.usefixtures("as_written")
def test_numbers_that_c_code_wants_are_told() -> None:
    f = tj.function(lambda x, n: (x * n, json.dumps(n)))
    for number in (1, 2, 3):
        f(SMALL, number)
    words = "because n was 3; kernel 2 has 2. Every value of n has its own kernel, because the"
    assert words in f.explain()


def test_a_static_number_is_told() -> None:
    f = tj.function(lambda x, n: x * n, static_argnames="n")
    f(SMALL, 1)
    assert "because it is static. To avoid it: leave n out of static_argnames" in f.explain(
        SMALL, 2
    )


def test_what_is_read_besides_is_told_by_name() -> None:
    layer = Layer(1.0, 2.0)
    weights = np.ones(3)
    f = tj.function(lambda x: x * layer.b + weights.sum())
    f(SMALL)
    layer.b = 5.0
    words = "because layer.b was 2.0 and became 5.0. To avoid it: pass it as an argument"
    assert words in f.explain(SMALL)
    f(SMALL)
    words = "because layer.b was 2.0 and became 5.0. From now on layer.b is read at"
    assert words in f.explain()
    weights[0] = 2.0
    assert "because the contents of weights had changed. Values that plain" in f.explain(SMALL)


def test_an_attribute_of_an_argument_is_told_by_its_path() -> None:
    class Model:
        k = 1.0

        @tj.function
        def scaled(self, x: Any) -> Any:
            return x * self.k

    model = Model()
    model.k = 2.0
    model.scaled(SMALL)
    model.k = 3.0
    assert "because self.k was 2.0 and became 3.0." in Model.scaled.explain(model, SMALL)


def test_what_the_function_itself_changes_is_told() -> None:
    state = collections.Counter[str]()

    @tj.function
    def f(x: Any) -> Any:
        state["n"] += 1
        return x * state["n"]

    f(SMALL)
    f(SMALL)
    told = f.explain()
    assert "The function itself changes state" in told.splitlines()[1]
    assert told.splitlines()[-1].startswith("f has recorded 2 calls without keeping a kernel")
    assert told.splitlines()[2].startswith("Kernel 2 was made because the function itself changes")


def test_every_sentence_is_whole() -> None:
    words = {"what": "x", "was": "a", "now": "b", "detail": "", "fix": "c"}
    for name, sentence in SENTENCES.items():
        assert sentence.because, name
        for text in sentence.then, sentence.fix:
            assert not text or text == "{fix}" or text.endswith("."), name
        for text in sentence:
            text.format(**words)
    assert READS[-1][0] == ""


def test_the_line_that_needs_a_size_is_told() -> None:
    @tj.function(cache=False)
    def total(x: Any) -> Any:
        return sum(x[k] for k in range(len(x)))

    for size in (3, 4):
        total(np.ones(size))
    assert "return sum(x[k] for k in range(len(x)))" in total.explain()
