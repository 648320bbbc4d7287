"""Bad inputs, each the way a user would meet it: what they get is kept in messages.txt."""

from __future__ import annotations

import ctypes
import json
import math
import operator
import pickle
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import dask
import dask.array
import numpy as np
import pandas as pd
import pytest
import scipy.integrate
import scipy.linalg
import scipy.optimize

import tracejit as tj
import tracejit.dask as td

X = np.array([1.0, 2.0, 3.0])
TABLE = np.arange(3.0)
A = np.eye(3)
PEOPLE = pd.DataFrame({"age": [20.0, 30.0, 40.0], "income": [1.0, 2.0, 3.0]})
DAYS = np.array(["2020-01-01", "2020-01-02", "2020-01-03"], dtype="M8[D]")
KEPT: list[Any] = []
ROWS = dask.array.ones((4, 3), chunks=(2, 3))


def compiled(f: Callable[..., Any]) -> Any:
    """A function without files."""
    return tj.function(f, cache=False)


def as_written(f: Callable[..., Any]) -> Any:
    """The answer of a function that is not converted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRACEJIT_CONVERT", "0")
        return compiled(f)(X)


def local_array(x: Any) -> Any:
    weights = np.ones((4, 2))
    return x @ weights


def checked(f: Callable[..., Any], *arrays: Any) -> Any:
    """A gradient with tj.debug_nans."""
    with np.errstate(all="ignore"), tj.debug_nans():
        return tj.value_and_grad(compiled(f))(*arrays)


def taped_and_checked(f: Callable[..., Any]) -> Any:
    with tj.debug_nans(), tj.GradientTape() as tape:
        x = tj.constant(X - 1.0)
        tape.watch(x)
        return f(x)


def solver(x: Any) -> Any:
    @tj.custom_gradient
    def root(a: Any) -> Any:
        found = scipy.optimize.leastsq(lambda t: t**3 - a, np.ones(3))[0]
        return np.asarray(found), lambda dy: dy

    return root(x)


def fill_zeros(x: Any) -> Any:
    out = np.zeros(3)
    out[0] = x[0]
    return out


def keep(x: Any) -> Any:
    KEPT.append(SimpleNamespace(x=x * 2.0))
    return x


def kept_tensor() -> Any:
    compiled(keep)(X)
    return KEPT[-1].x + 1.0


def rule(answer: Callable[..., Any]) -> Callable[..., Any]:
    """A loss whose custom gradient has the rule `answer`."""

    @tj.custom_gradient
    def double(a: Any) -> Any:
        return a * 2.0, answer

    return lambda x: np.sum(double(x))


def no_pair(x: Any) -> Any:
    @tj.custom_gradient
    def double(a: Any) -> Any:
        return a * 2.0

    return np.sum(double(x))


def rounded(x: Any) -> Any:
    return tj.grad_pass_through(lambda a: np.sum(a))(x)


def watched_array() -> Any:
    with tj.GradientTape() as tape:
        tape.watch(X)


def tape_used_twice() -> Any:
    tape, x = tj.GradientTape(), tj.constant(X)
    with tape:
        tape.watch(x)
        y = x * x
    tape.gradient(y, x)
    tape.gradient(y, x)


def tape_of_arrays() -> Any:
    with tj.GradientTape() as tape:
        y = X * X
    tape.gradient(y, X)


def variable_in_place() -> Any:
    v = tj.Variable(X)
    v += 1.0
    return v


def variable_element() -> Any:
    v = tj.Variable(X)
    v[0] = 1.0


KEPT_VARIABLE = tj.Variable(1.0)


def looped(step: Callable[..., Any]) -> Any:
    """A loop over `step`, which carries an array in a dict."""
    return compiled(lambda x: tj.scan(step, {"h": x * 2.0}, x)[0]["h"])(X)


def written_carry(c: Any, e: Any) -> Any:
    c["h"][0] = e
    return c, None


def assigned(c: Any, e: Any) -> Any:
    KEPT_VARIABLE.assign(e)
    return c, None


def written_around(x: Any) -> Any:
    y = x * 2.0

    def step(c: Any, e: Any) -> Any:
        y[0] = e
        return c + np.sum(y), None

    return tj.scan(step, 0.0, x)[0]


def kept_of_a_step(x: Any) -> Any:
    kept = []

    def step(c: Any, e: Any) -> Any:
        kept.append(c)
        return c + e, None

    last, _ = tj.scan(step, 0.0, x)
    return last + kept[0]


def increased(x: Any) -> Any:
    k = np.arange(3)
    k += x
    return k


def clamped(x: Any) -> Any:
    if x > 2.0 and x < 3.0:
        x = 2.0
    return np.sum(x)


def halved(x: Any) -> Any:
    while x > 1.0:
        x = x / 2.0
    return np.sum(x)


def positive(x: Any) -> Any:
    assert x > 0, "positive"
    return np.sum(x)


def counted(x: Any, k: Any) -> Any:
    k /= 2
    return np.sum(k * x)


def linear(w: Any, df: Any) -> Any:
    return np.sum(w[0] * df["age"])


def unset(x: Any) -> Any:
    bias = None
    return np.sum(x + bias)


BAD_INPUTS: dict[str, Callable[[], Any]] = {
    # Shapes, axes and indices
    "add shapes": lambda: compiled(lambda x: x + np.ones(4))(X),
    "matmul shapes": lambda: compiled(local_array)(X),
    "sum axis": lambda: compiled(lambda x: np.sum(x, axis=3))(X),
    "sum axis of a bool": lambda: compiled(lambda x: np.sum(x, axis=True))(X),
    "reshape": lambda: compiled(lambda x: np.reshape(x, (2, 2)))(X),
    "concatenate": lambda: compiled(lambda x: np.concatenate([x, np.ones((2, 2))]))(X),
    "stack": lambda: compiled(lambda x: np.stack([x, x[:2]]))(X),
    "einsum": lambda: compiled(lambda x: np.einsum("ij,jk->ik", x, x))(X),
    "index": lambda: compiled(lambda x: x[5])(X),
    "too many indices": lambda: compiled(lambda x: x[0, 0])(X),
    "float index": lambda: compiled(lambda x: x[1.5])(X),
    "array of floats as index": lambda: compiled(lambda x: x[x])(X),
    "solve": lambda: compiled(lambda a: np.linalg.solve(a, np.ones(4)))(A),
    "inverse of no square": lambda: compiled(np.linalg.inv)(np.ones((2, 3))),
    "interp": lambda: compiled(lambda x: np.interp(x, x, np.ones(2)))(X),
    "broadcast_to": lambda: compiled(lambda x: np.broadcast_to(x, (2, 4)))(X),
    "length of a scalar": lambda: compiled(lambda x: len(np.sum(x)))(X),
    # Python asks for values
    "truth of an array": lambda: compiled(lambda x: x if x > 0 else -x)(X),
    "and": lambda: compiled(lambda x: (x > 0) and (x < 2))(X),
    "range of an array": lambda: compiled(lambda x: [x for _ in range(x)])(X),
    "f-string": lambda: compiled(lambda x: f"{x[0]:.2f}")(X),
    "str": lambda: compiled(lambda x: {"1.0": x}.get(str(x[0])))(X),
    "json": lambda: compiled(lambda x: json.dumps({"loss": x}))(X),
    "pickle": lambda: compiled(lambda x: pickle.dumps(x))(X),
    "a solver": lambda: compiled(solver)(X),
    # Sizes that depend on data, and what is not recorded
    "packbits": lambda: compiled(lambda x: np.packbits(x > 1))(X),
    "where= without out=": lambda: compiled(lambda x: np.exp(x, where=x > 0))(X),
    "dtype of text": lambda: compiled(lambda x: x.astype("U3"))(X),
    "dtype of a sum": lambda: compiled(lambda x: np.sum(x, dtype=str))(X),
    "np.random": lambda: compiled(lambda x: x + np.random.normal(size=3))(X),  # noqa: NPY002
    "a misspelled attribute": lambda: compiled(lambda x: x.foo)(X),
    "an attribute to set": lambda: compiled(lambda x: setattr(x, "foo", 1))(X),
    # The first hour
    "ragged rows": lambda: tj.grad(lambda x: np.sum(np.array([x, x[:2]])))(X),
    "mean of an array and a number": lambda: tj.grad(lambda x: np.mean([x, 2.0]))(X),
    "if on an array": lambda: tj.grad(clamped)(X),
    "while on an array": lambda: tj.grad(halved)(X),
    "assert on an array": lambda: tj.grad(positive)(X),
    "max of an array and a number": lambda: tj.grad(lambda x: np.sum(max(x, 0.0)))(X),
    "min of two arrays": lambda: tj.grad(lambda x: np.sum(min(x, 2.0 * x)))(X),
    "not of an array": lambda: tj.grad(lambda x: 0.0 if not x else np.sum(x))(X),
    "a chain of comparisons": lambda: tj.grad(lambda x: np.sum(x * (0.0 < x < 2.0)))(X),
    "adding to an array of integers": lambda: tj.grad(increased)(X),
    "dividing an argument of integers": lambda: tj.grad(counted)(X, np.arange(3)),
    "out= of integers": lambda: tj.grad(lambda x: np.add(x, 1.0, out=np.arange(3)))(X),
    "a column of a DataFrame": lambda: tj.grad(linear)(X, PEOPLE),
    "a product with a DataFrame": lambda: tj.grad(lambda w: np.sum(PEOPLE.T @ w))(X),
    "a Series made inside": lambda: tj.grad(lambda x: pd.Series(x).sum())(X),
    "a DataFrame differentiated": lambda: tj.grad(lambda df: np.sum(df["age"]))(PEOPLE),
    "an operand that is None": lambda: tj.grad(unset)(X),
    "a simulator in C": lambda: tj.grad(lambda x: ctypes.c_double(x[0]).value)(X),
    "quad_vec inside": lambda: tj.grad(
        lambda x: scipy.integrate.quad_vec(lambda t: t * x[0], 0, 1)[0]
    )(X),
    "steps of solve_ivp": lambda: tj.grad(
        lambda x: np.sum(scipy.integrate.solve_ivp(lambda t, y: x[0] * y, (0, 1), [1.0]).y)
    )(X),
    "constraints of minimize": lambda: tj.grad(
        lambda x: scipy.optimize.minimize(lambda t: t - x[0], 1.0, constraints=[{}]).x[0]
    )(X),
    "a residual of another size": lambda: tj.grad(
        lambda x: np.sum(scipy.optimize.root(lambda t: x[:2] * t[0], X).x)
    )(X),
    "a rate of another size": lambda: tj.grad(
        lambda x: scipy.integrate.solve_ivp(lambda t, y: x, (0, 1), [1.0]).y[0, -1]
    )(X),
    "a root that is not there": lambda: tj.grad(
        lambda x: scipy.optimize.root(lambda t: x[0] + np.exp(t), [0.0]).x[0]
    )(X),
    "np.frompyfunc": lambda: tj.grad(lambda x: np.sum(np.frompyfunc(abs, 1, 1)(x)))(X),
    "np.save inside": lambda: tj.grad(lambda x: np.save("x.npy", x))(X),
    "text by %": lambda: tj.grad(lambda x: print("loss %.3f" % np.sum(x)))(X),  # noqa: T201, UP031
    "a dict looked up": lambda: tj.grad(lambda x: {1.0: 5.0}[x[0]] * x[0])(X),
    "a column by name": lambda: tj.grad(lambda x: np.sum(x["age"]))(X),
    "elements of a number": lambda: tj.grad(lambda x: sum(one for one in np.sum(x)))(X),
    "a number taken apart": lambda: tj.grad(lambda x: np.sum([*np.sum(x)]))(X),
    "deleting an element": lambda: tj.grad(lambda x: operator.delitem(x, 0))(X),
    "an attribute of a number": lambda: tj.grad(lambda x: np.sum(x).detach())(X),
    "a keyword that NumPy has not": lambda: tj.grad(lambda x: np.sum(x, axes=0))(X),
    "argnums of a name": lambda: tj.grad(lambda x: np.sum(x), argnums="x"),
    "argnames of a number": lambda: tj.grad(lambda x: np.sum(x), argnames=0),
    "too many arguments": lambda: tj.grad(lambda x: np.sum(x))(X, X),
    "a value for a function": lambda: tj.grad(np.sum(X)),
    "a count as result": lambda: tj.grad(lambda x: np.sum(x > 1.0))(X),
    "an int in a list": lambda: tj.grad(lambda x: x[0] * 2.0)([1, 2]),
    "a string in the place of a list": lambda: tj.grad(lambda x: np.sum(x))("1, 2"),
    "a range to differentiate": lambda: tj.grad(lambda x: sum(x))(range(3)),
    "an object of a class": lambda: compiled(lambda p: np.sum(p.w))(SimpleNamespace(w=X)),
    "days": lambda: tj.grad(lambda x: np.sum(x * DAYS))(X),
    "words": lambda: tj.grad(lambda x: np.sum(x * np.array(["a", "b", "c"])))(X),
    "big-endian numbers": lambda: tj.grad(lambda x: np.sum(x))(X.astype(">f8")),
    # Writing
    "assigning a Variable's element": variable_element,
    "adding to a Variable": variable_in_place,
    "assigning another shape": lambda: tj.Variable(X).assign(np.ones(4)),
    "a Tensor that was kept": kept_tensor,
    # Arguments and results
    "text in arithmetic": lambda: compiled(lambda x: x + "a")(X),
    "objects": lambda: compiled(lambda x: x)(np.array([object()])),
    "an array of text": lambda: compiled(lambda x: x)(np.array(["a"])),
    "a generator": lambda: compiled(lambda x: x)(i for i in range(3)),
    "a Dask array": lambda: tj.value_and_grad(lambda w, x: np.sum(x @ w))(X, ROWS),
    "a Dask array among the globals": lambda: tj.grad(lambda w: np.sum(ROWS @ w))(X),
    "a Delayed of Dask": lambda: compiled(lambda x: x)(dask.delayed(X)),
    "no function": lambda: tj.function(3),
    "a missing argument": lambda: compiled(lambda x, y: x)(X),
    "an unknown argument": lambda: compiled(lambda x: x)(X, z=1),
    "an unknown option": lambda: tj.function(lambda x: x, exakt=True),
    "a logarithm of zero": lambda: checked(lambda x: np.sum(np.log(x)), X - 1.0),
    "an exponential that overflows": lambda: checked(lambda x: np.exp(x * 1e3).sum(), X),
    "a slope at zero": lambda: checked(lambda x: np.sum(np.sqrt(x)), X - 1.0),
    "a difference of infinities": lambda: checked(
        lambda x, y: np.sum(x - y), X * np.inf, X * np.inf
    ),
    "an argument with nan": lambda: checked(lambda x: np.sum(x), X * np.nan),
    "a tape at zero": lambda: taped_and_checked(np.log),
    "no threads": lambda: tj.function(lambda x: x, threads=0),
    "no spec": lambda: tj.function(lambda x: x, input_signature=[np.float64]),
    "a size that is needed": lambda: compiled(lambda x: x / len([0] * len(x))).kernel(
        tj.TensorSpec((None,))
    ),
    "a branch without a call": lambda: compiled(lambda x: x if x[0] > 0 else -x).kernel(
        tj.TensorSpec((3,))
    ),
    "a constant of text": lambda: tj.constant("a"),
    "a file that is not there": lambda: tj.load("no_such_kernel.py"),
    # Transforms
    "gradient of an array": lambda: tj.grad(lambda x: x * 2.0)(X),
    "gradient by integers": lambda: tj.grad(lambda x: np.sum(x * 2))(np.arange(3)),
    "gradient of a complex number": lambda: tj.grad(lambda x: np.sum(x * 1j))(X),
    "gradient by no argument": lambda: tj.grad(lambda x: np.sum(x), argnums=2)(X),
    "gradient by a wrong name": lambda: tj.grad(lambda x: np.sum(x), argnames="y")(X),
    "gradient of None": lambda: tj.grad(lambda x: None)(X),
    "gradient of a dict": lambda: tj.grad(lambda x: {"loss": np.sum(x)})(X),
    "tangent of another shape": lambda: tj.jvp(lambda x: np.sum(x), (X,), (np.ones(4),)),
    "hessian of an array": lambda: tj.hessian(lambda x: x)(X),
    "batches of two sizes": lambda: tj.vmap(lambda x, y: x + y)(np.ones(3), np.ones(4)),
    "a branch under vmap": lambda: tj.vmap(lambda x: x if x > 0 else -x)(X),
    # Loops
    "a carry that grows": lambda: looped(lambda c, e: (np.append(c["h"], e), None)),
    "a carry of another shape": lambda: looped(lambda c, e: ({"h": np.append(c["h"], e)}, None)),
    "a carry of another dtype": lambda: looped(lambda c, e: ({"h": c["h"] * 1j}, None)),
    "a carry alone": lambda: looped(lambda c, e: c),
    "rows of two lengths": lambda: compiled(
        lambda x: tj.scan(lambda c, e: (c, e), 0.0, (x, x[1:]))[1]
    )(X),
    "steps of no number": lambda: compiled(lambda x: tj.scan(lambda c, e: (c, c), x)[1])(X),
    "bounds of floats": lambda: compiled(lambda x: tj.fori_loop(0, 2.5, lambda i, c: c, x))(X),
    "a branch in a body": lambda: looped(lambda c, e: (c if e > 0 else {"h": -c["h"]}, None)),
    "a range in a body": lambda: compiled(
        lambda x: tj.fori_loop(0, 3, lambda i, c: c + sum(range(i)), x)
    )(X),
    "shapes in a body": lambda: looped(lambda c, e: ({"h": c["h"] + np.ones(4)}, None)),
    "writing into a carry": lambda: looped(written_carry),
    "writing around a loop": lambda: compiled(written_around)(X),
    "assigning in a body": lambda: looped(assigned),
    "calling back in a body": lambda: looped(lambda c, e: (c, tj.callback(KEPT.append, e))),
    "a Tensor of a step": lambda: compiled(kept_of_a_step)(X),
    # Markers, tapes and rules
    "two gradients for one": lambda: tj.grad(rule(lambda dy: (dy, dy)))(X),
    "a gradient of another shape": lambda: tj.grad(rule(lambda dy: np.ones(2)))(X),
    "a gradient of text": lambda: tj.grad(rule(lambda dy: "dy"))(X),
    "a custom gradient without a rule": lambda: tj.grad(no_pair)(X),
    "jvp of a clipping rule": lambda: tj.jvp(rule(lambda dy: np.clip(dy, -1, 1)), (X,), (X,)),
    "grad_pass_through of a sum": lambda: tj.grad(lambda x: np.sum(rounded(x)))(X),
    "a rule for a lambda": lambda: tj.register_gradient(lambda x: x),
    "a second rule": lambda: tj.register_gradient(np.sin)(lambda op, dy: dy),
    "watching an array": watched_array,
    "a tape used twice": tape_used_twice,
    "a tape asked for arrays": tape_of_arrays,
    # Dask arrays
    "rows in other blocks": lambda: td.function(np.add)(ROWS, ROWS.rechunk((1, 3))),
    "two axes in blocks": lambda: td.function(np.sum)(ROWS.rechunk((2, 1))),
    "a singular block": lambda: td.function(lambda x: np.sum(np.linalg.inv(x)))(
        dask.array.zeros((4, 2, 2), chunks=(2, 2, 2))
    ),
    "rows that are sorted": lambda: td.function(lambda x: np.sort(x, axis=0))(ROWS),
    "as many numbers as rows": lambda: td.function(lambda x: x + np.arange(len(x))[:, None])(ROWS),
}

AS_WRITTEN: dict[str, Callable[[], Any]] = {
    "float": lambda: as_written(lambda x: float(x[0])),
    "complex": lambda: as_written(lambda x: complex(x[0])),
    "item": lambda: as_written(lambda x: x[0].item()),
    "tolist": lambda: as_written(lambda x: x.tolist()),
    "asarray": lambda: as_written(lambda x: np.asarray(x) * 1.0),
    "array of a list": lambda: as_written(lambda x: np.array([x[0], x[1]])),
    "index of a plain array": lambda: as_written(lambda x: TABLE[np.argsort(x)]),
    "math.sin": lambda: as_written(lambda x: math.sin(x[0])),
    "math.fsum": lambda: as_written(lambda x: math.fsum(x)),
    "type": lambda: as_written(lambda x: x if type(x) is np.ndarray else -x),
    "np.vectorize": lambda: as_written(lambda x: np.vectorize(lambda t: abs(t))(x)),
    "np.fromiter": lambda: as_written(lambda x: np.fromiter((t for t in x), float)),
    "expm": lambda: as_written(lambda x: scipy.linalg.expm(x * A)),
    "where with one argument": lambda: as_written(lambda x: np.where(x > 1)),
    "nonzero": lambda: as_written(np.nonzero),
    "unique": lambda: as_written(np.unique),
    "a mask as result": lambda: as_written(lambda x: x[x > 1]),
    "writing into zeros": lambda: as_written(fill_zeros),
    "out= of a plain array": lambda: as_written(lambda x: np.exp(x, out=np.zeros(3))),
}
"""Inputs that are bad for functions as written alone: converted they are recorded."""
