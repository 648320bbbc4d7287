"""Programs in which exceptions are control flow, and programs that end in one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

import tracejit as tj
from tests.semantics.scenes import Stage, scene, smooth

X = np.array([0.7, -1.2, 0.4])
UP = np.array([1.5, 0.5, 2.0])
GOOD = np.array([[2.0, 0.5], [0.5, 1.0]])
BAD = np.array([[1.0, 2.0], [2.0, 1.0]])
SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])


class Diverged(Exception):
    """The step at which, and how far."""

    def __init__(self, step: int, size: Any = None) -> None:
        super().__init__(f"diverged at step {step}")
        self.step = step
        self.size = size


class Stop(Diverged):
    pass


@scene
def a_matrix_that_is_not_positive(stage: Stage) -> None:
    @stage
    def factor(m: Any) -> Any:
        try:
            return np.linalg.cholesky(m)
        except np.linalg.LinAlgError:
            return np.diag(m) * 2.0

    for m in (GOOD, BAD, GOOD, SINGULAR - 0.5, BAD, 2 * GOOD):
        factor(m)


@smooth
def jitter_until_it_works(stage: Stage) -> None:
    @stage
    def logdet(m: Any) -> Any:
        jitter = 0.0
        while True:
            try:
                factor = np.linalg.cholesky(m + jitter * np.eye(2))
                break
            except np.linalg.LinAlgError:
                jitter = 10.0 * jitter if jitter else 0.2
        return np.sum(np.log(np.diag(factor))) + jitter

    for m in (GOOD, BAD, 3 * GOOD, 0.5 * BAD, GOOD):
        logdet(m)


@smooth
def a_singular_system(stage: Stage) -> None:
    @stage(wrt=1)
    def solve(m: Any, b: Any) -> Any:
        try:
            x = np.linalg.solve(m, b)
        except np.linalg.LinAlgError as error:
            assert "ingular" in str(error)
            x = b * 0.5
        return x @ b

    for m in (GOOD, SINGULAR, BAD, SINGULAR, GOOD):
        solve(m, X[:2])


@scene
def an_error_of_a_kernel(stage: Stage) -> None:
    """Not caught: the caller sees NumPy's."""

    @stage
    def f(m: Any, b: Any) -> Any:
        return np.linalg.inv(m) @ np.linalg.solve(m, b)

    f(GOOD, X[:2])
    f(SINGULAR, X[:2])
    f(GOOD, X[:2])
    f(0 * GOOD, X[:2])


@scene
def an_own_class_two_levels_up(stage: Stage) -> None:
    def inner(t: Any, step: int) -> Any:
        if t > 3:
            raise Diverged(step, t)
        return t * t

    def middle(t: Any) -> Any:
        for step in range(4):
            t = inner(t, step)
        return t

    @stage
    def outer(t: Any) -> Any:
        try:
            return middle(t)
        except Diverged as error:
            return error.step, error.size, str(error)

    for t in (1.1, 0.5, 2.0, 5.0, 1.1):
        outer(np.float64(t))
        outer(t)


@smooth
def an_exception_ends_a_loop(stage: Stage) -> None:
    def step(x: Any, k: int) -> Any:
        x = x * 1.5
        if np.sum(x * x) > 20.0:
            raise Stop(k)
        return x

    @stage
    def grow(x: Any) -> Any:
        k = 0
        try:
            while k < 5:
                x = step(x, k)
                k += 1
        except Diverged as error:
            return np.sum(x) * (error.step + 1)
        return np.sum(x**2)

    for x in (X, UP, 0.1 * UP, 4 * UP, X):
        grow(x)


@scene
def uncaught(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        if x[0] < 0:
            raise ValueError(f"element {int(np.argmin(x))} of {len(x)} is negative")
        if x.sum() > 10:
            raise Diverged(3)
        return np.sqrt(x)

    for x in (UP, -UP, 10 * UP, UP, np.array([-0.5, -1.0]), UP):
        f(x)


@scene
def assertions(stage: Stage) -> None:
    @stage
    def f(x: Any, n: int) -> Any:
        assert x.ndim == 1, f"{x.ndim} axes"
        assert np.all(x > 0), "not positive"
        assert n > 0
        assert len(x) == n, (len(x), n)
        return np.log(x) / n

    f(UP, 3)
    f(X, 3)
    f(UP, 2)
    f(UP, 0)
    f(UP[None], 3)
    f(UP, 3)


@scene
def keys_that_are_missing(stage: Stage) -> None:
    table = {0: "zero", 2: "two"}

    @stage
    def f(x: Any) -> Any:
        try:
            return table[int(np.argmax(x))]
        except KeyError as error:
            return "missing", error.args[0], x * 2

    @stage
    def g(x: Any) -> Any:
        return table[int(np.argmax(x))], x + 1

    for k in (0, 1, 2, 1):
        f(np.roll(np.array([2.0, 0.5, 0.25]), k))
        g(np.roll(np.array([2.0, 0.5, 0.25]), k))


@scene
def indices_out_of_range(stage: Stage) -> None:
    @stage
    def at(x: Any, k: int) -> Any:
        try:
            return x[k]
        except IndexError:
            return "outside"

    @stage
    def raw(x: Any, items: Any) -> Any:
        return items[int(x[0])], x

    for k in (0, 2, 3, -4, 1):
        at(X, k)
    for t in (0.0, 1.0, 2.0, 1.0):
        raw(np.array([t]), ("a", "b"))


@scene
def zero_division_and_overflow(stage: Stage) -> None:
    @stage
    def f(a: Any, b: Any) -> Any:
        try:
            return a / b, a // b
        except ZeroDivisionError as error:
            return str(error)

    for a, b in ((1.0, 2.0), (1.0, 0.0), (3, 0), (3, 2), (1.5, 0.5), (1.5, 0.0)):
        f(a, b)
    f(np.float64(1.0), np.float64(0.0))

    @stage
    def whole(t: Any) -> Any:
        return int(t) + 1, t * 2

    for t in (2.5, np.inf, np.nan, -3.5):
        whole(np.float64(t))


@scene
def finally_always(stage: Stage) -> Any:
    """What is assigned on the way out stands, whatever the way."""
    count = tj.Variable(0.0)
    last = tj.Variable(np.zeros(3))

    @stage
    def f(x: Any) -> Any:
        try:
            last.assign(x)
            if x[0] > 2:
                raise Diverged(1)
            if x[0] > 1:
                return x * 2
            y = x + 1
        finally:
            count.assign_add(1.0)
        return y

    for x in (UP, 0.1 * UP, 2 * UP, X, 3 * UP, UP):
        f(x)
    return count, last


@scene
def finally_that_returns(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        for t in x:
            try:
                if t > 1:
                    raise Stop(2)
                if t < -1:
                    return "low", t
            except Stop:  # noqa: PERF203
                return "stopped", t * 2
            else:
                continue
            finally:
                if x[0] == 7:
                    return "finally"  # noqa: B012
        return "through", x

    for x in (UP, X, 0.1 * X, np.array([7.0, 0.0, 0.0]), -UP):
        f(x)


@scene
def reraised_and_chained(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        try:
            if x[0] > 1:
                raise KeyError("first")
            if x[0] < -1:
                raise Diverged(0)
        except KeyError as error:
            raise RuntimeError(f"because of {error}") from error
        except Diverged:
            x = -x
            if x[1] > 0:
                raise
        return x

    for x in (UP, -UP, X, np.array([-2.0, 1.0]), UP):
        f(x)


@scene
def suppressed(stage: Stage) -> None:
    class Guard:
        def __init__(self) -> None:
            self.caught = 0

        def __enter__(self) -> Any:
            return self

        def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
            self.caught += kind is not None
            return kind is not None and issubclass(kind, Diverged)

    @stage
    def f(x: Any) -> Any:
        y = 0 * x
        with contextlib.suppress(Stop):
            y = x * 2
            if np.min(x) > 1:
                raise Stop(0)
            y = x * 3
        with Guard() as guard:
            if np.max(y) > 4:
                raise Diverged(1)
            if np.max(y) < 0:
                raise ValueError("negative")
            y = y + 1
        return y, guard.caught

    for x in (UP, X, 2 * UP + 1, -UP, X):
        f(x)


@scene
def managers_by_generators(stage: Stage) -> Any:
    depth = tj.Variable(0)

    @contextlib.contextmanager
    def deeper() -> Iterator[None]:
        depth.assign_add(1)
        try:
            yield
        finally:
            depth.assign_sub(1)

    @stage
    def f(x: Any) -> Any:
        with deeper(), deeper():
            if x[0] > 1:
                return x * depth
        return x, depth.read_value()

    for x in (X, UP, X, UP):
        f(x)
    return depth


@scene
def half_written_arguments(stage: Stage) -> None:
    """What was written before the exception is in the caller's array."""

    @stage
    def scale(a: Any, limit: float) -> Any:
        for i in range(len(a)):
            if a[i] > limit:
                raise Diverged(i)
            a[i] *= 2.0
        return a.sum()

    for limit in (5.0, 1.0, 1.7, 5.0):
        scale(UP.copy(), limit)
        scale(X.copy(), limit)


@scene
def half_assigned_variables(stage: Stage) -> Any:
    first, second = tj.Variable(1.0), tj.Variable(np.ones(2))

    @stage
    def update(g: Any) -> Any:
        first.assign_add(g[0])
        if np.linalg.norm(g) > 2:
            raise ValueError("the gradient explodes")
        second.assign_sub(0.1 * g)
        if first > 3:
            first.assign(0.0)
        return first * 2

    for g in (X[:2], UP[:2], 3 * UP[:2], X[:2], UP[:2], UP[:2]):
        update(g)
    return first, second


@scene
def recursion_that_raises(stage: Stage) -> None:
    def search(t: Any, depth: int) -> Any:
        if depth > 4:
            raise RecursionError("too deep")
        if t < 1:
            raise Stop(depth, t)
        return search(t / 2, depth + 1) + 1

    @stage
    def f(t: Any) -> Any:
        try:
            return search(t, 0)
        except Stop as found:
            return found.step, found.size

    for t in (5.0, 0.5, 100.0, 1.5, 5.0):
        f(np.float64(t))


@scene
def generators_that_end(stage: Stage) -> None:
    def pieces(x: Any) -> Iterator[Any]:
        try:
            for t in x:
                if t < 0:
                    raise LookupError("a negative piece")
                yield t
        finally:
            pass

    @stage
    def f(x: Any) -> Any:
        source = pieces(x)
        first = next(source)
        try:
            return first, next(source), next(source), next(source, "end")
        except LookupError as error:
            return first, str(error), next(source, "over")

    for x in (UP, X, UP[:2], X[::-1].copy()):
        f(x)
    f(-UP)


@scene
def unbound_names(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        if x[0] > 1:
            scale = 2.0
        return x * scale

    for x in (UP, X, UP, X):
        f(x)


@scene
def attributes_that_may_be_missing(stage: Stage) -> None:
    class Part:
        pass

    part = Part()

    @stage
    def f(x: Any) -> Any:
        if hasattr(part, "scale"):
            return x * part.scale  # type: ignore[attr-defined]
        try:
            return x + part.shift  # type: ignore[attr-defined]
        except AttributeError as error:
            return str(error), getattr(part, "name", "none")

    f(X)
    part.shift = 2.0  # type: ignore[attr-defined]
    f(X)
    part.scale = 3.0  # type: ignore[attr-defined]
    f(X)
    del part.scale, part.shift  # type: ignore[attr-defined]
    part.name = "bare"  # type: ignore[attr-defined]
    f(X)


@scene
def shapes_that_do_not_fit(stage: Stage) -> None:
    @stage
    def f(x: Any, y: Any) -> Any:
        try:
            return x + y
        except ValueError:
            return x.sum() + y.sum()

    f(UP, X)
    f(UP, X[:2])
    f(UP[:2], X[:2])
    f(UP, X[:1])


@scene
def types_that_do_not_fit(stage: Stage) -> None:
    @stage
    def f(x: Any, name: Any) -> Any:
        if isinstance(name, str):
            raise TypeError(f"{name!r} is no number")
        return x * name

    f(X, 2)
    f(X, "two")
    f(X, 3)
    f(X, "three")


@scene
def retries(stage: Stage) -> None:
    @stage
    def attempt(m: Any) -> Any:
        errors = []
        for scale in (0.0, 1.0, 4.0):
            try:
                return np.linalg.cholesky(m + scale * np.eye(2)), errors
            except np.linalg.LinAlgError as error:  # noqa: PERF203
                errors.append(type(error).__name__)
        raise Diverged(len(errors))

    for m in (GOOD, BAD, -GOOD, -10 * GOOD, BAD, GOOD):
        attempt(m)


@scene
def errors_of_draws(stage: Stage) -> None:
    """A call that raises has drawn what it drew before."""

    @stage
    def f(rng: Any, limit: float) -> Any:
        first = rng.normal()
        if first > limit:
            raise Diverged(1)
        return first + rng.normal()

    rng = np.random.default_rng(2)
    for limit in (0.0, 10.0, -10.0, 0.3, 0.3, 10.0):
        f(rng, limit)
