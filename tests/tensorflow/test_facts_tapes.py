"""What TensorFlow's tapes, tf.gradients and Variables do, fact by fact, and what tracejit does.

A name holds the number of a fact. Where tracejit's answer is another one, the name says so, and
docs/tensorflow_differences.md says why. Programs run eagerly and in a compiled function; both must
agree.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from types import NoneType
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.rows import each_row
from tests.support.compare import alike
from tracejit.support.words import a

ZERO = tj.UnconnectedGradients.ZERO
MODES: dict[str, Callable[[Any], Any]] = {"eager": lambda f: f, "compiled": tj.function}


@pytest.fixture(params=list(MODES))
def run(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Run a program eagerly, or twice as a compiled function."""
    return runner(MODES[request.param], request.param == "compiled")


def runner(wrap: Callable[[Any], Any], again: bool) -> Callable[..., Any]:
    """A call of a wrapped program; a compiled one must answer the second time what it did first."""

    def call(program: Any, *args: Any) -> Any:
        wrapped = wrap(program)
        found = wrapped(*args)
        if again:
            alike(wrapped(*args), found)
        return found

    return call


def c(value: Any) -> Any:
    """A float64 Tensor."""
    return tj.constant(value, dtype=float)


def v(value: Any, **options: Any) -> Any:
    """A float64 Variable."""
    return tj.Variable(value, dtype=float, **options)


def A(*values: Any) -> Any:
    """An expected array, to tell it from a list of gradients."""
    return np.array(values, float)


def refusal(kind: type[BaseException], f: Callable[[], Any]) -> str:
    """The text of the error that f raises."""
    with pytest.raises(kind) as caught:
        f()
    return str(caught.value)


# C. Tapes


def test_fact_60_a_watched_tensor_has_a_gradient(run: Any) -> None:
    def program() -> Any:
        x = c(3.0)
        with tj.GradientTape() as t:
            t.watch(x)
            y = x * x
        return t.gradient(y, x)

    alike(run(program), 6)


def test_fact_61_trainable_variables_are_watched(run: Any) -> None:
    a, n, m = v(3.0), v(3.0, trainable=False), v(3.0, trainable=False)

    def program() -> Any:
        with tj.GradientTape() as t:
            t.watch(m)
            y = a * a + n * n + m * m
        return t.gradient(y, [a, n, m])

    alike(run(program), [6, None, 6])


def test_fact_62_only_what_is_watched_where_reading_does_not_watch(run: Any) -> None:
    a, b = v(2.0), v(5.0)

    def program() -> Any:
        with tj.GradientTape(watch_accessed_variables=False) as t:
            t.watch(a)
            y = a * a * b
        return t.gradient(y, [a, b])

    alike(run(program), [20, None])


@pytest.mark.parametrize("call", ["gradient", "jacobian", "batch_jacobian"])
def test_fact_63_a_tape_answers_once(run: Any, call: str) -> None:
    def program() -> Any:
        x = c([[3.0]])
        with tj.GradientTape() as t:
            t.watch(x)
            y = x * x
        t.gradient(y, x)
        return getattr(t, call)(y, x)

    text = refusal(RuntimeError, lambda: run(program))
    assert "non-persistent GradientTape can only be used to compute one set of gradients" in text


def test_fact_64_answers_have_the_structure_of_the_sources(run: Any) -> None:
    def program() -> Any:
        x, y = c(2.0), c(3.0)
        with tj.GradientTape(persistent=True) as t:
            t.watch([x, y])
            z = x * x * y
        nested = {"b": x, "a": [y, (x,)]}
        return [t.gradient(z, of) for of in (nested, [x, x], [], (x, y))]

    alike(run(program), [{"b": 12, "a": [4, (12,)]}, [12, 12], [], (12, 4)])


def test_fact_65_the_targets_of_a_structure_are_summed(run: Any) -> None:
    def program() -> Any:
        x = c(2.0)
        with tj.GradientTape(persistent=True) as t:
            t.watch(x)
            a = x * x
            b = 3.0 * x
        targets: list[Any] = [[a, b], {"p": a, "q": [b]}, [a, a], []]
        return [t.gradient(target, x) for target in targets]

    alike(run(program), [7, 7, 8, None])


def test_fact_66_output_gradients_are_the_cotangents(run: Any) -> None:
    def program() -> Any:
        x = c([1.0, 2.0])
        with tj.GradientTape(persistent=True) as t:
            t.watch(x)
            a = x * x
            b = x * 3.0
        return [
            t.gradient(a, x, output_gradients=c([1.0, 10.0])),
            t.gradient([a, b], x, output_gradients=[c([1.0, 0.0]), c([0.0, 1.0])]),
            t.gradient(a, x, output_gradients=[c([5.0, 7.0])]),
        ]

    alike(run(program), [A(2, 40), A(2, 3), A(10, 28)])


def test_fact_67_none_among_the_cotangents_means_ones(run: Any) -> None:
    def program() -> Any:
        x = c([1.0, 2.0])
        with tj.GradientTape() as t:
            t.watch(x)
            a = x * x
            b = x * 3.0
        return t.gradient([a, b], x, output_gradients=[None, c([0.0, 1.0])])

    alike(run(program), A(2, 7))


SEEDS: dict[str, Any] = {
    "scalar": lambda t, a, b, x: t.gradient(a, x, c(10.0)),
    "number": lambda t, a, b, x: t.gradient(a, x, 10.0),
    "wide": lambda t, a, b, x: t.gradient(a, x, np.ones((3, 2))),
    "bad": lambda t, a, b, x: t.gradient(a, x, np.ones(3)),
    "float32": lambda t, a, b, x: t.gradient(a, x, np.ones(2, np.float32)),
    "short": lambda t, a, b, x: t.gradient([a, b], x, [c([1.0, 1.0])]),
    "long": lambda t, a, b, x: t.gradient([a], x, [c([1.0, 1.0]), c([1.0, 1.0])]),
    "text": lambda t, a, b, x: t.gradient(a, x, "ones"),
}


@pytest.mark.parametrize("case", SEEDS)
def test_fact_68_cotangents_that_do_not_fit_are_refused(run: Any, case: str) -> None:
    def program() -> Any:
        x = c([1.0, 2.0])
        with tj.GradientTape() as t:
            t.watch(x)
            a = x * x
            b = x * 3.0
        return SEEDS[case](t, a, b, x)

    assert "tape.gradient" in refusal(ValueError, lambda: run(program))


@pytest.mark.parametrize("seed", [np.array([1.0, 3.0]), [1.0, 3.0]], ids=["array", "list"])
def test_fact_68_an_array_or_a_list_of_numbers_is_one_cotangent(run: Any, seed: Any) -> None:
    def program() -> Any:
        x = c([1.0, 2.0])
        with tj.GradientTape() as t:
            t.watch(x)
            a = x * x
        return t.gradient(a, x, output_gradients=seed)

    alike(run(program), A(2, 12))


def test_fact_69_unconnected_gradients_are_none_or_zeros(run: Any) -> None:
    w = v([[1.0]])

    def program() -> Any:
        x, z = c([1.0, 2.0]), c([3.0, 4.0])
        with tj.GradientTape(persistent=True) as t:
            t.watch([x, z])
            y = x * 2.0
        return [
            t.gradient(y, [x, z, w]),
            t.gradient(y, [x, z, w], unconnected_gradients=ZERO),
            t.gradient(y, z, unconnected_gradients="zero"),
            t.gradient(y, z, unconnected_gradients="none"),
        ]

    expected = [[A(2, 2), None, None], [A(2, 2), A(0, 0), A([0])], A(0, 0), None]
    alike(run(program), expected)


def test_fact_69_another_word_is_refused(run: Any) -> None:
    def program() -> Any:
        x = c(3.0)
        with tj.GradientTape() as t:
            t.watch(x)
        return t.gradient(x, x, unconnected_gradients="zeros")

    text = refusal(ValueError, lambda: run(program))
    assert "Unknown value for unconnected_gradients: 'zeros'" in text


def test_fact_70_watching_integers_warns_and_gives_none(run: Any) -> None:
    def program() -> Any:
        x = tj.constant(3)
        with tj.GradientTape() as t:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                t.watch(x)
            y = x * x
        assert len(caught) == 1
        return t.gradient(y, x)

    alike(run(program), None)


def test_fact_71_complex_gradients_are_conjugated(run: Any) -> None:
    def program() -> Any:
        z = tj.constant(1.0 + 2.0j)
        with tj.GradientTape(persistent=True) as t:
            t.watch(z)
            ys = [z * z, np.abs(z), np.real(z), np.real(z * np.conj(z))]
        return [t.gradient(y, z) for y in ys]

    root = 5.0**-0.5
    expected = [2 - 4j, root + 2j * root, 1 + 0j, 2 + 4j]
    alike(run(program), [np.complex128(one) for one in expected])


def test_fact_72_a_variable_target_is_its_value(run: Any) -> None:
    a = v(3.0)

    def program() -> Any:
        with tj.GradientTape(persistent=True) as t:
            y = a * 2.0
        return t.gradient(a, a), t.gradient([y, a], a), t.gradient(a, c(1.0))

    alike(run(program), (1, 3, None))


def test_fact_72_a_read_after_the_tape_is_the_value_that_it_watched(run: Any) -> None:
    a = v(3.0)

    def program() -> Any:
        with tj.GradientTape() as t:
            a.read_value()
        return t.gradient(a.read_value(), a)

    alike(run(program), 1)


BAD: dict[str, Any] = {
    "target None": lambda t, y, x: t.gradient(None, x),
    "target float": lambda t, y, x: t.gradient(1.0, x),
    "target array": lambda t, y, x: t.gradient(np.array(1.0), x),
    "target of [..., None]": lambda t, y, x: t.gradient([y, None], x),
    "sources None": lambda t, y, x: t.gradient(y, None),
    "sources float": lambda t, y, x: t.gradient(y, 3.0),
    "sources str": lambda t, y, x: t.gradient(y, "x"),
    "sources array": lambda t, y, x: t.gradient(y, np.array(3.0)),
}
KINDS = {"None": "NoneType", "float": "float", "array": "ndarray", "None]": "NoneType"}


@pytest.mark.parametrize("case", BAD)
def test_fact_73_what_is_no_tensor_is_a_type_error_naming_it(
    request: pytest.FixtureRequest, run: Any, case: str
) -> None:
    def program() -> Any:
        x = c(3.0)
        with tj.GradientTape() as t:
            t.watch(x)
            y = x * x
        return BAD[case](t, y, x)

    if case.endswith("array") and request.node.callspec.params["run"] == "compiled":
        assert run(program) is None  # np.array makes a Tensor while a function is recorded
        return
    text = refusal(TypeError, lambda: run(program))
    argument, *_, kind = case.split()
    assert f"tape.gradient: {argument} must hold Tensors or Variables" in text
    assert f"got {a(KINDS.get(kind, kind))}." in text


@pytest.mark.parametrize("given", [1.0, np.ones(2), None, "x"], ids=["1", "array", "None", "str"])
def test_fact_74_watching_what_is_no_tensor_is_a_value_error(run: Any, given: Any) -> None:
    def watch(of: Any) -> Any:
        with tj.GradientTape() as t:
            t.watch(of)
        return c(1.0)

    # In a container, None and names are left as they are.
    inside = [] if type(given) in (NoneType, str) else [[c(1.0), given], {"a": given}]
    for wrapped in (given, *inside):
        text = refusal(ValueError, lambda wrapped=wrapped: run(lambda: watch(wrapped)))
        assert a(type(given).__name__) in text
        assert "tj.constant" in text


def test_fact_74_structures_are_watched(run: Any) -> None:
    def program() -> Any:
        x, y, z = c(1.0), c(2.0), c(3.0)
        with tj.GradientTape() as t:
            t.watch([x, [y]])
            t.watch({"a": z})
            t.watch([])
            total = x * y * z
        return t.gradient(total, [x, y, z])

    alike(run(program), [6, 3, 2])


def test_fact_75_watching_where_nothing_is_recorded_is_refused(run: Any) -> None:
    def before() -> None:
        tj.GradientTape().watch(c(2.0))

    def after() -> None:
        with tj.GradientTape() as t:
            pass
        t.watch(c(2.0))

    for program in (before, after):
        assert "watch: the tape is not recording" in refusal(
            RuntimeError, lambda program=program: run(program)
        )


def test_fact_76_what_was_computed_before_watching_is_not_recorded(run: Any) -> None:
    def program() -> Any:
        x = c(2.0)
        with tj.GradientTape(persistent=True) as t:
            y = x * x
            t.watch(x)
            z = x**3
        return [t.gradient(y, x), t.gradient(z, x)]

    alike(run(program), [None, 12])


def test_fact_77_an_intermediate_tensor_is_a_source(run: Any) -> None:
    def program() -> Any:
        x = c(2.0)
        with tj.GradientTape(persistent=True) as t:
            t.watch(x)
            y = x * x
            z = y * y
        return [t.gradient(z, y), t.gradient(z, [x, y])]

    alike(run(program), [8, [32, 8]])


def test_fact_78_what_is_computed_while_recording_stops_is_constant(run: Any) -> None:
    def program() -> Any:
        x = c(2.0)
        with tj.GradientTape() as t:
            t.watch(x)
            y = x * x
            with t.stop_recording():
                k = x * x
            z = y * k
        return [z, t.gradient(z, x)]

    alike(run(program), [16, 16])


@pytest.mark.parametrize("call", ["stop_recording", "reset"])
def test_fact_78_and_79_only_a_recording_tape_is_stopped_or_reset(run: Any, call: str) -> None:
    def use(t: Any) -> None:
        if call == "reset":
            t.reset()
        else:
            with t.stop_recording():
                pass

    def closed() -> Any:
        with tj.GradientTape() as t:
            pass
        return t

    for make in (tj.GradientTape, closed):
        for kind in (RuntimeError, ValueError):
            text = refusal(kind, lambda make=make: run(lambda: use(make())))
            assert f"{call}: the tape is not recording" in text


def test_fact_79_reset_forgets_what_was_watched(run: Any) -> None:
    w = v(3.0)
    watched = []

    def program() -> Any:
        x = c(2.0)
        with tj.GradientTape(persistent=True) as t:
            t.watch(x)
            y = x * x * w
            t.reset()
            z = x * w
        watched.append(t.watched_variables())
        return [t.gradient(y, [x, w]), t.gradient(z, [x, w])]

    alike(run(program), [[None, None], [None, 2]])
    assert len(watched[0]) == 1
    assert watched[0][0] is w


def test_fact_80_a_tape_that_records_is_not_entered(run: Any) -> None:
    def program() -> Any:
        t = tj.GradientTape()
        with t, t:
            pass

    assert "Tape is still recording" in refusal(ValueError, lambda: run(program))


def test_fact_80_a_tape_entered_again_goes_on(run: Any) -> None:
    def program() -> Any:
        x = c(2.0)
        t = tj.GradientTape()
        with t:
            t.watch(x)
            y = x * x
        y2 = y * 5.0
        with t:
            z = y * 3.0 + y2
        return t.gradient(z, x)

    alike(run(program), 12)


def test_fact_81_watched_variables_are_in_order_of_construction(run: Any) -> None:
    a, b = v(1.0, name="a"), v(2.0, name="b")
    seen = []

    def program() -> Any:
        with tj.GradientTape() as t:
            y = b * a * b
        seen.append(t.watched_variables())
        gradient = t.gradient(y, a)
        seen.append(t.watched_variables())
        with tj.GradientTape() as u:
            pass
        seen.append(u.watched_variables())
        return gradient

    run(program)
    assert [[one.name for one in each] for each in seen[:3]] == [["a", "b"], ["a", "b"], []]
    assert all(type(each) is tuple for each in seen)


def test_fact_82_a_gradient_in_the_block_ends_the_recording(run: Any) -> None:
    def program(again: bool) -> Any:
        x = c(2.0)
        with tj.GradientTape() as t:
            t.watch(x)
            y = x**3
            g = t.gradient(y, x)
            z = g * x
        return t.gradient(z, x) if again else g

    alike(run(program, False), 12)
    assert "only be used to compute one set" in refusal(RuntimeError, lambda: run(program, True))


def test_fact_83_a_persistent_tape_records_gradients_taken_in_its_block(run: Any) -> None:
    def program() -> Any:
        x = c(2.0)
        with tj.GradientTape(persistent=True) as t:
            t.watch(x)
            y = x**3
            g = t.gradient(y, x)
        return [g, t.gradient(g, x)]

    alike(run(program), [12, 12])


@pytest.mark.parametrize("order", range(6))
def test_fact_84_tapes_nest_to_any_order(run: Any, order: int) -> None:
    def program() -> Any:
        x = c(2.0)

        def derivative(n: int) -> Any:
            if n == 0:
                return x**5
            with tj.GradientTape() as t:
                t.watch(x)
                y = derivative(n - 1)
            return t.gradient(y, x)

        return derivative(order)

    alike(run(program), [32, 80, 160, 240, 240, 120][order])


def test_fact_85_jacobians(run: Any) -> None:
    def program() -> Any:
        x, u = c([1.0, 2.0]), c([[1.0], [2.0]])
        with tj.GradientTape(persistent=True) as t:
            t.watch([x, u])
            y = np.stack([x[0] * x[1], x[0] ** 2, x[1] ** 3])
            s = np.sum(x * x)
            m = u * x
        return [
            t.jacobian(y, x),
            t.jacobian(s, x),
            t.jacobian(m, u),
            t.jacobian(y, [x, u]),
            t.jacobian(y, u, unconnected_gradients=ZERO),
        ]

    square = A([2, 1], [2, 0], [0, 12])
    expected = [
        square,
        A(2, 4),
        A([[[1], [0]], [[2], [0]]], [[[0], [1]], [[0], [2]]]),
        [square, None],
        np.zeros((3, 2, 1)),
    ]
    alike(run(program), expected)


@pytest.mark.parametrize("listed", [True, False])
def test_fact_86_the_target_of_a_jacobian_is_one_tensor(run: Any, listed: bool) -> None:
    def program() -> Any:
        x = c([1.0, 2.0])
        with tj.GradientTape() as t:
            t.watch(x)
            y = x * x
        return t.jacobian([y] if listed else None, x)

    text = refusal(TypeError, lambda: run(program))
    assert "tape.jacobian: target" in text
    assert ("got a list" if listed else "got a NoneType") in text


def test_fact_86_a_jacobian_needs_no_persistent_tape(run: Any) -> None:
    def program() -> Any:
        x = c([1.0, 2.0])
        with tj.GradientTape() as t:
            t.watch(x)
            y = x * x
        return t.jacobian(y, x)

    alike(run(program), A([2, 0], [0, 4]))


def test_fact_87_batch_jacobians(run: Any) -> None:
    def program() -> Any:
        x = c([[1.0, 2.0], [3.0, 4.0]])
        with tj.GradientTape(persistent=True) as t:
            t.watch(x)
            y = x * x
            z = np.stack([x[:, 0] * x[:, 1], x[:, 0], x[:, 1]], 1)
            k = np.ones_like(x)
        return [
            t.batch_jacobian(y, x),
            t.batch_jacobian(z, x),
            t.batch_jacobian(k, x),
            t.batch_jacobian(k, x, unconnected_gradients="zero"),
        ]

    expected = [
        A([[2, 0], [0, 4]], [[6, 0], [0, 8]]),
        A([[2, 1], [1, 0], [0, 1]], [[4, 3], [1, 0], [0, 1]]),
        None,  # unconnected, as everywhere
        np.zeros((2, 2, 2)),
    ]
    alike(run(program), expected)


@pytest.mark.parametrize("part", ["rank", "rows"])
def test_fact_87_rows_that_do_not_match_are_refused(run: Any, part: str) -> None:
    def program() -> Any:
        x = c([[1.0, 2.0], [3.0, 4.0]])
        with tj.GradientTape() as t:
            t.watch(x)
            y = np.sum(x, 1) if part == "rank" else (x * x)[:1]
        return t.batch_jacobian(y, x)

    text = refusal(ValueError, lambda: run(program))
    assert ("(2,)" if part == "rank" else "(1, 2)") in text
    assert "source (2, 2)" in text


def test_fact_88_the_gradient_of_a_gather_is_dense(run: Any) -> None:
    w = v([1.0, 2.0, 3.0])

    def program() -> Any:
        with tj.GradientTape() as t:
            y = w[[2, 0, 2]] * c([1.0, 10.0, 100.0])
        return t.gradient(y, w)

    alike(run(program), A(10, 0, 101))


def test_fact_89_gathers_and_dense_uses_add(run: Any) -> None:
    w = v([1.0, 2.0, 3.0])

    def program() -> Any:
        with tj.GradientTape(persistent=True) as t:
            a = np.sum(np.take(w, [0])) + 2.0 * np.sum(np.take(w, [0, 1]))
            b = np.sum(np.take(w, [0])) + np.sum(w * w)
        return [t.gradient(a, w), t.gradient(b, w)]

    alike(run(program), [A(3, 2, 0), A(3, 4, 6)])


GATHERS: dict[str, tuple[Any, Any]] = {
    "axis1": (lambda w: np.take(w, [1], axis=1), A([0, 1], [0, 1])),
    "nd": (lambda w: w[[0], [1]], A([0, 1], [0, 0])),
    "index": (lambda w: w[0], A([1, 1], [0, 0])),
    "slice": (lambda w: w[1:], A([0, 0], [1, 1])),
    "mask": (lambda w: w[np.array([True, False])], A([1, 1], [0, 0])),
    "rows": (lambda w: w[[1]], A([0, 0], [1, 1])),
}


@pytest.mark.parametrize("case", GATHERS)
def test_fact_90_every_indexing_has_a_dense_gradient(run: Any, case: str) -> None:
    call, expected = GATHERS[case]
    w = v([[1.0, 2.0], [3.0, 4.0]])

    def program() -> Any:
        with tj.GradientTape() as t:
            y = call(w)
        return t.gradient(y, w)

    alike(run(program), expected)


def test_fact_91_assign_cuts(run: Any) -> None:
    w = v(1.0)

    def program() -> Any:
        x = c(3.0)
        with tj.GradientTape(persistent=True) as t:
            t.watch(x)
            r = w.assign(x * x)
            y = r * 2.0
            z = w * 5.0
        return [y, z, t.gradient(y, x), t.gradient(z, x), t.gradient(z, w), t.gradient(y, w)]

    alike(run(program), [18, 45, None, None, 5, 2])


@pytest.mark.parametrize("mode", MODES)
def test_fact_92_reads_before_and_after_assign_count(mode: str) -> None:
    w = v(2.0)

    def program() -> Any:
        with tj.GradientTape() as t:
            a = w * w
            w.assign(10.0)
            b = w * w
            y = a + b
        return [y, t.gradient(y, w)]

    wrapped = MODES[mode](program)
    alike(wrapped(), [104, 24])
    alike(wrapped(), [200, 40])


@pytest.mark.parametrize("mode", MODES)
def test_fact_93_gradients_use_the_values_of_the_forward_run(mode: str) -> None:
    w = v(2.0)

    def program() -> Any:
        with tj.GradientTape() as t:
            y = w * w
        w.assign(100.0)
        return t.gradient(y, w)

    alike(MODES[mode](program)(), 4)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("call", [np.packbits, lambda x: x.view("i8")], ids=["packbits", "view"])
def test_fact_94_what_is_not_recorded_is_refused_at_the_call(mode: str, call: Any) -> None:
    """TensorFlow has operations without a gradient; NumPy's that are recorded all have one."""

    def program(x: Any) -> Any:
        return call(x) * 1.0

    text = refusal(TypeError, lambda: MODES[mode](program)(c([1.0, 2.0])))
    assert "not recorded by tracejit" in text or "cannot be recorded" in text


def test_fact_95_a_source_that_was_not_asked_for_costs_nothing(run: Any) -> None:
    """The rule of a path that no requested source is on does not run, though its input is
    watched."""
    calls = []

    @tj.custom_gradient
    def costly(x: Any) -> Any:
        def grad(g: Any) -> Any:
            calls.append(g)
            raise LookupError("no rule")

        return x * 1.0, grad

    def program(of: str) -> Any:
        x, w = c([1.0, 2.0]), c(3.0)
        with tj.GradientTape() as t:
            t.watch([x, w])
            y = np.sum(costly(x)) * w
        return t.gradient(y, {"x": x, "w": w}[of])

    alike(run(program, "w"), 3)
    assert calls == []
    assert refusal(LookupError, lambda: run(program, "x")) == "no rule"


@pytest.mark.parametrize("mode", MODES)
def test_fact_96_shuffling_a_tensor_would_leave_the_tape_and_is_refused(mode: str) -> None:
    rng = np.random.default_rng(1)

    def program(x: Any) -> Any:
        with tj.GradientTape() as t:
            t.watch(x)
            y = rng.permutation(x)
        return t.gradient(y, x)

    words = "np.asarray(x)" if mode == "eager" else "drew random numbers from rng"
    assert words in refusal(TypeError, lambda: MODES[mode](program)(c([1.0, 2.0])))


def test_fact_96_a_permutation_by_index_has_a_gradient(run: Any) -> None:
    order = np.random.default_rng(1).permutation(3)

    def program() -> Any:
        x = c([1.0, 2.0, 4.0])
        with tj.GradientTape() as t:
            t.watch(x)
            y = x[order] * c([1.0, 10.0, 100.0])
        return t.gradient(y, x)

    expected = np.zeros(3)
    expected[order] = [1.0, 10.0, 100.0]
    alike(run(program), expected)


STEPS: dict[str, Any] = {
    "argmax": np.argmax,
    "sign": np.sign,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.round,
    "rint": np.rint,
    "trunc": np.trunc,
    "ones_like": np.ones_like,
    "zeros_like": np.zeros_like,
    "stop_gradient": tj.stop_gradient,
    "greater": lambda a: (a > 0.0).astype(float),
    "astype": lambda a: a.astype(int),
    "shape": lambda a: tj.constant(np.shape(a)),
}


@each_row("name", STEPS)
def test_fact_97_piecewise_constant_operations_disconnect(run: Any, name: str) -> None:
    def program() -> Any:
        x = c([1.4, -2.6])
        with tj.GradientTape() as t:
            t.watch(x)
            y = STEPS[name](x)
        return t.gradient(y, x)

    alike(run(program), None)


INF, NAN = np.inf, np.nan
KINKS: dict[str, tuple[Any, float, float]] = {
    "abs": (np.abs, 0, 0),
    "sqrt": (np.sqrt, 0, INF),
    "rsqrt": (lambda a: 1.0 / np.sqrt(a), INF, -INF),
    "log": (np.log, -INF, INF),
    "pow2": (lambda a: a**2.0, 0, 0),
    "pow_half": (lambda a: a**0.5, 0, INF),
    "reciprocal": (lambda a: 1.0 / a, INF, -INF),
    "softplus": (lambda a: np.logaddexp(a, 0.0), np.log(2.0), 0.5),
    "clip": (lambda a: np.clip(a, 0.0, 1.0), 0, 1),
    "x_over_x": (lambda a: a / a, NAN, NAN),
    "square": (np.square, 0, 0),
    "arcsin": (lambda a: np.arcsin(a + 1.0), np.pi / 2, INF),
    "arccosh": (lambda a: np.arccosh(a + 1.0), 0, INF),
    # TensorFlow answers otherwise:
    "pow0": (lambda a: a**0.0, 1, 0),
    "norm": (lambda a: np.linalg.norm(np.reshape(a, 1)), 0, 0),
    "maximum": (lambda a: np.maximum(a, 0.0), 0, 0.5),
    "maximum_right": (lambda a: np.maximum(c(0.0), a), 0, 0.5),
    "minimum": (lambda a: np.minimum(a, 0.0), 0, 0.5),
}


@each_row("name", KINKS)
def test_fact_98_gradients_at_kinks(run: Any, name: str) -> None:
    call, value, slope = KINKS[name]

    def program() -> Any:
        z = c(0.0)
        with tj.GradientTape() as t:
            t.watch(z)
            y = call(z)
        return [y, t.gradient(y, z)]

    with np.errstate(all="ignore"):
        alike(run(program), [np.float64(value), np.float64(slope)])


def test_fact_99_ties_are_shared(run: Any) -> None:
    """As TensorFlow shares those of reduce_max; its maximum and minimum take the first operand."""

    def program() -> Any:
        a, b, x = c(1.0), c(1.0), c([3.0, 3.0, 1.0])
        with tj.GradientTape(persistent=True) as t:
            t.watch([a, b, x])
            m, n = np.maximum(a, b), np.minimum(a, b)
            others = [np.max(x), np.min(x[2] * c([1.0, 1.0, 1.0])), np.clip(x, 1.0, 3.0)]
            others += [np.sort(x)[::-1][:2], np.sort(x)]
        return [t.gradient(m, [a, b]), t.gradient(n, [a, b]), *[t.gradient(y, x) for y in others]]

    half = [np.float64(0.5)] * 2
    expected = [half, half, A(0.5, 0.5, 0), A(0, 0, 1), A(1, 1, 1), A(1, 1, 0), A(1, 1, 1)]
    alike(run(program), expected)


POWERS: dict[tuple[float, float], tuple[float, float, float]] = {
    (2.0, 3.0): (8, 12, 8 * np.log(2.0)),
    (0.0, 1.0): (0, 1, 0),
    (0.0, 2.0): (0, 0, 0),
    (-2.0, 0.5): (NAN, NAN, NAN),
    (0.0, -1.0): (INF, -INF, NAN),
    # TensorFlow says nan and 0, and 12 and -0:
    (0.0, 0.0): (1, 0, 0),
    (-2.0, 3.0): (-8, 12, NAN),
}


@pytest.mark.parametrize(("base", "exponent"), POWERS)
def test_fact_100_powers_at_the_edge(run: Any, base: float, exponent: float) -> None:
    def program() -> Any:
        x, y = c(base), c(exponent)
        with tj.GradientTape() as t:
            t.watch([x, y])
            z = x**y
        return [z, *t.gradient(z, [x, y])]

    with np.errstate(all="ignore"):
        alike(run(program), [np.float64(one) for one in POWERS[base, exponent]])


TRAPS: dict[str, tuple[Any, float, float]] = {
    "norm": (lambda a: np.linalg.norm(np.reshape(a, (2, 1)), axis=1), 0, 1),
    "sqrt": (np.sqrt, 0, 0.25),
    "rsqrt": (lambda a: 1.0 / np.sqrt(a), 0, -0.0625),
    "reciprocal": (np.reciprocal, 0, -0.0625),
    # TensorFlow answers nan for these:
    "log": (np.log, 0, 0.25),
    "pow_half": (lambda a: a**0.5, 0, 0.25),
    "division": (lambda a: 1.0 / a, 0, -0.0625),
    "arccosh": (lambda a: np.arccosh(a + 1.0), 0, 24**-0.5),
    "x_over_x": (lambda a: a / a, 0, 0),
    "log1p": (lambda a: np.log1p(a - 1.0), 0, 0.25),
    "arctan2": (lambda a: np.arctan2(a, a), 0, 0),
    # Beyond a reduction, as the chain rule gives:
    "cumsum": (lambda a: np.cumsum(np.log(a)) - np.log(a), np.inf, 0),
}


@each_row("name", TRAPS)
def test_fact_101_the_branch_not_taken_has_zeros(run: Any, name: str) -> None:
    call, *slopes = TRAPS[name]

    def program() -> Any:
        x = c([0.0, 4.0])
        with tj.GradientTape() as t:
            t.watch(x)
            y = np.where(x > 0.0, call(x), 0.0)
        return t.gradient(y, x)

    with np.errstate(all="ignore"):
        alike(run(program), A(*slopes))


def test_fact_101_choosing_the_operand_first_has_no_nan(run: Any) -> None:
    def program() -> Any:
        x = c([0.0, 4.0])
        with tj.GradientTape() as t:
            t.watch(x)
            safe = np.where(x > 0.0, x, 1.0)
            y = np.where(x > 0.0, np.log(safe), 0.0)
        return t.gradient(y, x)

    alike(run(program), A(0, 0.25))


E, ROOT = np.exp(1.0), 1.247219128924647
REDUCTIONS: dict[str, tuple[Any, Any, Any, Any]] = {
    "prod1zero": ([0, 2, 3], np.prod, 0, A(6, 0, 0)),
    "prod2zero": ([0, 0, 3], np.prod, 0, A(0, 0, 0)),
    "cumsum": ([1, 2, 3], lambda a: np.cumsum(a) ** 2, A(1, 9, 36), A(20, 18, 12)),
    "cumprod": ([1, 2, 3], np.cumprod, A(1, 2, 6), A(9, 4, 2)),
    "mean": ([1, 2], lambda a: np.mean(a**2), np.float64(2.5), A(1, 2)),
    "std": ([1, 2, 4], np.std, np.float64(ROOT), A(-4, -1, 5) / (9 * ROOT)),
    "logsumexp": (
        [1000, 1001],
        lambda a: np.max(a) + np.log(np.sum(np.exp(a - np.max(a)))),
        1001 + np.log(1 + 1 / E),
        A(1, E) / (1 + E),
    ),
    "softmax": (
        [1, 2],
        lambda a: np.exp(a)[0] / np.sum(np.exp(a)),
        1 / (1 + E),
        A(1, -1) * E / (1 + E) ** 2,
    ),
    "var": ([1, 2, 4], np.var, np.float64(14 / 9), A(-8, -2, 10) / 9),
    "norm": ([3, 4], np.linalg.norm, 5, A(0.6, 0.8)),
    # TensorFlow says nan: the root of a constant's variance has no slope.
    "std_const": ([2, 2], np.std, 0, A(0, 0)),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_fact_102_reductions(run: Any, name: str) -> None:
    start, call, value, slope = REDUCTIONS[name]

    def program() -> Any:
        x = c(start)
        with tj.GradientTape() as t:
            t.watch(x)
            y = call(x)
        return [y, t.gradient(y, x)]

    alike(run(program), [value, slope])


def test_fact_103_only_the_side_taken_counts() -> None:
    def f(positive: bool, x: Any, w: Any) -> Any:
        if positive:
            return x * 2.0
        return w * 3.0

    def around(f: Any, positive: bool) -> Any:
        x, w = c(1.0), c(5.0)
        with tj.GradientTape() as t:
            t.watch([x, w])
            y = f(positive, x, w)
        return t.gradient(y, [x, w])

    @tj.function
    def inside(positive: bool, x: Any, w: Any) -> Any:
        return tj.gradients(f(positive, x, w), [x, w])

    for positive, expected in ((True, [2, None]), (False, [None, 3])):
        alike(around(f, positive), expected)
        alike(around(tj.function(f), positive), expected)
        alike(inside(positive, c(1.0), c(5.0)), expected)


def test_fact_103_a_comparison_of_a_tensor_decides_eagerly() -> None:
    x, w = c(1.0), c(5.0)
    with tj.GradientTape() as t:
        t.watch([x, w])
        y = x * 2.0 if x > 0 else w * 3.0
    alike(t.gradient(y, [x, w]), [2, None])


def test_fact_104_an_argument_that_is_not_used_is_unconnected(run: Any) -> None:
    @tj.function
    def f(x: Any, w: Any) -> Any:
        return x * 2.0

    def program() -> Any:
        x, w = c(1.0), c(5.0)
        with tj.GradientTape() as t:
            t.watch([x, w])
            y = f(x, w)
        return t.gradient(y, [x, w])

    alike(run(program), [2, None])


def test_fact_105_a_gradient_is_never_the_seed_itself() -> None:
    x = c([1.0, 2.0])
    s = np.array([5.0, 6.0])
    for seed in (s, c(s)):
        with tj.GradientTape(persistent=True) as t:
            t.watch(x)
            y = np.reshape(x, 2)
        for target in (x, y):
            g = t.gradient(target, x, output_gradients=seed)
            alike(g, A(5, 6))
            assert g is not seed
            array = np.asarray(g)
            assert not np.shares_memory(array, s)
            if isinstance(seed, tj.Tensor):
                assert not np.shares_memory(array, np.asarray(seed))


# D. tj.gradients


def compiled(f: Any, *args: Any) -> Any:
    """What a compiled function answers, twice."""
    return runner(tj.function, True)(f, *args)


def test_fact_106_gradients_outside_a_function_is_an_error() -> None:
    text = refusal(RuntimeError, lambda: tj.gradients(c(1.0), c(1.0)))
    assert "tj.GradientTape" in text


def test_fact_107_gradients_answers_a_flat_list() -> None:
    def f(x: Any) -> Any:
        y = x * x
        return [tj.gradients(y, of) for of in (x, [x, x], (x,), {"b": x, "a": [x]}, [])]

    alike(compiled(f, c(3.0)), [[6], [6, 6], [6], [6, 6], []])


def test_fact_107_a_dict_of_sources_is_answered_by_sorted_key() -> None:
    def f(x: Any, y: Any) -> Any:
        return tj.gradients(x * y, {"b": x, "a": y})

    alike(compiled(f, c(3.0), c(5.0)), [3, 5])


def test_fact_108_grad_ys_are_the_cotangents() -> None:
    def f(x: Any) -> Any:
        a, b = x * x, 3.0 * x
        return (
            tj.gradients(a, x, grad_ys=c([1.0, 10.0])),
            tj.gradients([a, b], x, grad_ys=[None, c([0.0, 1.0])]),
        )

    alike(compiled(f, c([1.0, 2.0])), ([A(2, 40)], [A(2, 7)]))


GRAD_YS: dict[str, Any] = {
    "too many": lambda x: tj.gradients([x * x], x, [c([1.0, 1.0]), c([1.0, 1.0])]),
    "too few": lambda x: tj.gradients([x * x, x], x, [c([1.0, 1.0])]),
    "dtype": lambda x: tj.gradients(x * x, x, np.ones(2, np.float32)),
    "scalar": lambda x: tj.gradients(x * x, x, c(10.0)),
    "shape (3,)": lambda x: tj.gradients(x * x, x, np.ones(3)),
    "shape (3, 2)": lambda x: tj.gradients(x * x, x, np.ones((3, 2))),
}


@pytest.mark.parametrize("case", GRAD_YS)
def test_fact_109_grad_ys_that_do_not_fit_are_refused(case: str) -> None:
    text = refusal(ValueError, lambda: tj.function(GRAD_YS[case])(c([1.0, 2.0])))
    assert "tj.gradients: " in text


def test_fact_110_stop_gradients_gives_partial_derivatives() -> None:
    def f() -> Any:
        a = c(0.0)
        b = 2.0 * a
        return tj.gradients(a + b, [a, b], stop_gradients=[a, b]), tj.gradients(a + b, [a, b])

    alike(compiled(f), ([1, 1], [3, 1]))


def test_fact_111_nothing_needs_watching() -> None:
    def f() -> Any:
        k = c(3.0)
        m = k * 2.0
        return tj.gradients(m * m * k, [k, m])

    alike(compiled(f), [108, 36])


def test_fact_112_a_captured_tensor_is_a_source() -> None:
    k = c(3.0)

    def direct() -> Any:
        return tj.gradients(k * k, k)

    def copied() -> Any:
        kk = np.copy(k)
        return tj.gradients(kk * kk, kk)

    def tape() -> Any:
        with tj.GradientTape() as t:
            t.watch(k)
            y = k * k
        return t.gradient(y, k)

    alike(compiled(direct), [6])
    alike(compiled(copied), [6])
    alike(compiled(tape), 6)


def test_fact_113_a_non_trainable_variable_is_a_constant_for_gradients_too() -> None:
    """TensorFlow's gradients differentiates by it, a tape in the same function does not: here it is
    a constant in every mode (S14), unless a tape watches it."""
    w = v(2.0, trainable=False)

    def f(x: Any) -> Any:
        with tj.GradientTape() as t:
            y = w * w * x
        with tj.GradientTape() as u:
            u.watch(w)
            z = w * w * x
        return tj.gradients(y, w), t.gradient(y, w), u.gradient(z, w)

    alike(compiled(f, c(5.0)), ([None], None, 20))


def test_fact_114_integers_have_no_gradient() -> None:
    i = tj.constant([1, 2])
    alike(compiled(lambda i: tj.gradients(i * 2, i), i), [None])
    alike(compiled(lambda i: tj.gradients(i.astype(float) * 2.0, i), i), [None])
    alike(compiled(lambda x: tj.gradients(x.astype(int), x), c(1.5)), [None])


def test_fact_115_gradients_nests() -> None:
    def f(x: Any) -> Any:
        found = [x**4]
        for _ in range(3):
            found += tj.gradients(found[-1], x)
        return found

    alike(compiled(f, c(2.0)), [16, 32, 48, 48])


def test_fact_116_a_tape_outside_differentiates_gradients() -> None:
    @tj.function
    def f(x: Any) -> Any:
        return tj.gradients(x**3, x)[0]

    x = c(2.0)
    with tj.GradientTape() as t:
        t.watch(x)
        g = f(x)
    alike([g, t.gradient(g, x)], [12, 12])


GIVEN: dict[str, tuple[Any, str]] = {
    "ys None": (lambda x: tj.gradients(None, x), "ys must hold Tensors or Variables, got a NoneT"),
    "ys 1.0": (lambda x: tj.gradients(1.0, x), "ys must hold Tensors or Variables, got a float"),
    "xs 1.0": (
        lambda x: tj.gradients(x * x, 1.0),
        "xs must hold Tensors or Variables, got a float",
    ),
    "xs None": (
        lambda x: tj.gradients(x * x, None),
        "xs must hold Tensors or Variables, got a Non",
    ),
}


@pytest.mark.parametrize("case", GIVEN)
def test_fact_117_what_is_no_tensor_is_a_type_error_naming_it(case: str) -> None:
    f, expected = GIVEN[case]
    assert f"tj.gradients: {expected}" in refusal(TypeError, lambda: tj.function(f)(c(1.0)))


def test_fact_118_a_rule_of_the_wrong_shape_is_refused_everywhere(run: Any) -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x * 1.0, lambda g: np.ones(3)

    def tape() -> Any:
        x = c([1.0, 2.0])
        with tj.GradientTape() as t:
            t.watch(x)
            y = f(x)
        return t.gradient(y, x)

    texts = [
        refusal(ValueError, lambda: tj.function(lambda x: tj.gradients(f(x), x))(c([1.0, 2.0]))),
        refusal(ValueError, lambda: run(tape)),
    ]
    assert all("rule of f returned shape (3,) for x, which has shape (2,)" in t for t in texts)


# N. Variables


def test_fact_275_dtypes_are_numpys_and_names_are_optional() -> None:
    a, b = tj.Variable(1.0), tj.Variable(1.0, name="w")
    assert (a.dtype, tj.Variable(1).dtype) == (np.dtype("f8"), np.dtype("i8"))
    assert tj.Variable(np.ones(2, "f4")).dtype == np.dtype("f4")
    assert tj.Variable(1.0, dtype="f4").dtype == np.dtype("f4")
    assert (a.name, b.name, tj.Variable(1.0, name="w").name) == ("", "w", "w")
    assert tj.Variable(1.0, name="a b").name == "a b"
    assert (a.trainable, a.shape) == (True, ())


def test_fact_276_trainable_is_read_only_and_integers_have_no_gradient(run: Any) -> None:
    a, i = v(1.0), tj.Variable(3)
    with pytest.raises(AttributeError):
        a.trainable = False
    watched = []

    def program() -> Any:
        with tj.GradientTape() as t:
            y = i.astype(float) * 2.0
        watched.append(t.watched_variables())
        return t.gradient(y, i)

    alike(run(program), None)
    assert i.trainable
    assert [one is i for one in watched[0]] == [True]


@pytest.mark.parametrize("mode", MODES)
def test_fact_277_assign_answers_the_new_value(mode: str) -> None:
    w = v(1.0)

    def f() -> Any:
        return w.assign_add(1.0) * 2.0, w.assign_sub(0.5), w.assign(w * 2.0)

    alike(MODES[mode](f)(), (4, np.float64(1.5), 3))
    alike(w, 3)


def test_fact_277_the_answer_is_a_tensor_and_no_second_variable() -> None:
    w = v(1.0)
    answer = w.assign(5.0)
    assert isinstance(answer, tj.Tensor)
    with pytest.raises(AttributeError):
        answer.assign_add(2.0)


MISFITS: dict[str, Any] = {
    "shape": lambda: [1.0, 2.0, 3.0],
    "scalar": lambda: 1.0,
    "float32": lambda: np.array([1.0, 2.0], np.float32),
    "float32 Tensor": lambda: tj.constant([1.0, 2.0], dtype="f4"),
    "complex": lambda: [1j, 2.0],
}


@pytest.mark.parametrize("name", MISFITS)
def test_fact_278_another_shape_or_dtype_is_refused(run: Any, name: str) -> None:
    w = v([1.0, 2.0], name="w")
    for call in (w.assign, w.assign_add, w.assign_sub):
        text = refusal(ValueError, lambda call=call: run(lambda: call(MISFITS[name]())))
        assert "w holds f8[2], and was assigned" in text
    alike(w, A(1, 2))


def test_fact_278_lists_and_integers_are_converted(run: Any) -> None:
    w, i = v([1.0, 2.0]), tj.Variable([1, 2], name="i")
    alike(run(lambda: w.assign([7.0, 8.0])), A(7, 8))
    alike(run(lambda: w.assign([1, 2])), A(1, 2))
    alike(run(lambda: w.assign(np.array([3, 4]))), A(3, 4))
    text = refusal(ValueError, lambda: run(lambda: i.assign([1.5, 2.0])))
    assert "i holds i8[2], and was assigned dtype float64" in text


def test_fact_279_in_place_addition_is_refused(run: Any) -> None:
    w = v(1.0)

    def program() -> Any:
        x = w
        x += 1.0
        return x

    assert "v.assign_add(delta)" in refusal(TypeError, lambda: run(program))
    alike(w, 1)


def test_fact_280_equality_is_elementwise_and_references_hash() -> None:
    a, b = v(1.0), v(1.0)
    assert (a == b).numpy()
    assert (a == b).dtype == np.dtype(bool)
    assert a.ref() == a.ref()
    assert a.ref() != b.ref()
    assert b in [a]
    assert {a.ref(): 1}[a.ref()] == 1
    for use in (hash, lambda one: {one: 1}):
        assert "unhashable" in refusal(TypeError, lambda use=use: use(a))


def test_fact_281_python_reads_a_variable_as_an_array() -> None:
    a, s = v([1.0, 2.0]), v(3.0)
    assert bool(s) is True
    assert "ambiguous" in refusal(ValueError, lambda: bool(a))
    assert (float(s), int(s)) == (3.0, 3)
    alike(list(a), [1, 2])
    alike(a[1], 2)
    alike(np.asarray(a), A(1, 2))
    # As an ndarray; a Variable of TensorFlow's has no length.
    assert len(a) == 2
    assert "unsized" in refusal(TypeError, lambda: len(s))


def test_fact_282_initial_value_and_numpy_are_copies() -> None:
    start = np.array([1.0, 2.0])
    w = v(start)
    start[0] = 99.0
    first = w.numpy()
    w.assign([5.0, 6.0])
    second = w.numpy()
    second[0] = -1.0
    alike([w, first], [A(5, 6), A(1, 2)])


@pytest.mark.parametrize("mode", MODES)
def test_fact_283_reads_and_writes_follow_the_program(mode: str) -> None:
    w = v(1.0)

    def f() -> Any:
        a = w.read_value()
        w.assign_add(10.0)
        b = w.read_value()
        w.assign(a * 100.0)
        return a, b, w.read_value()

    wrapped = MODES[mode](f)
    alike(wrapped(), (1, 11, 100))
    alike(wrapped(), (100, 110, 10000))
    alike(w, 10000)


@pytest.mark.parametrize("mode", MODES)
def test_fact_284_the_answer_of_assign_is_the_value_of_that_assignment(mode: str) -> None:
    w = v(1.0)

    def f() -> Any:
        r = w.assign_add(1.0)
        w.assign_add(10.0)
        return r * 1.0

    alike(MODES[mode](f)(), 2)
    alike(w, 12)


@pytest.mark.parametrize("mode", MODES)
def test_fact_285_gradient_descent(mode: str) -> None:
    w = v([1.0, -1.0])
    x, y = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array([1.0, 2.0, 3.0])

    def step() -> Any:
        with tj.GradientTape() as t:
            loss = np.mean((x @ w - y) ** 2)
        w.assign_sub(0.01 * t.gradient(loss, w))
        return loss

    wrapped = MODES[mode](step)
    losses = [float(wrapped()) for _ in range(5)]
    # TensorFlow's numbers, to the ten digits known.
    expected = [9.666666667, 1.726740741, 0.4865398591, 0.292178159, 0.2610761164]
    np.testing.assert_allclose(losses, expected, rtol=1e-9)
    np.testing.assert_allclose(w.numpy(), [1.330425924, -0.5571364623], rtol=1e-9)


def test_fact_286_a_function_keeps_its_variables_alive() -> None:
    def make() -> Any:
        w = v(5.0)

        @tj.function
        def f() -> Any:
            return w * 2.0

        f()
        return f

    f = make()
    gc.collect()
    alike(f(), 10)


def test_fact_286_a_replaced_attribute_is_seen() -> None:
    """TensorFlow goes on with the Variable of the first call."""

    class Holder:
        v: Any = v(5.0)

    holder = Holder()

    @tj.function
    def f() -> Any:
        return holder.v * 2.0

    alike(f(), 10)
    holder.v = v(7.0)
    gc.collect()
    alike(f(), 14)


def test_fact_287_the_gradient_of_a_gather_is_an_array_like_any(run: Any) -> None:
    w = v([1.0, 2.0, 3.0])

    def program() -> Any:
        with tj.GradientTape() as t:
            y = w[[0, 0]]
        g = t.gradient(y, w)
        return [w.assign([1.0, 2.0, 3.0] - g), g * 2.0, -g, w.assign([1.0, 2.0, 3.0])]

    alike(run(program), [A(-1, 2, 3), A(4, 0, 0), A(-2, 0, 0), A(1, 2, 3)])
