# ruff: noqa: E501, T201  a table of one-line texts, and a command
"""Random functions of data in rows: their text, and what they compute in blocks and on the whole.

python -m tests.sharding.random_programs COUNT [SEED]     compare so many, each with a new seed

A statement that is refused is left out of a program: what is not refused must be right. A program
that is wrong is printed as Python.
"""

from __future__ import annotations

import collections
import linecache
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import tracejit as tj
import tracejit.numpy as tnp
from tests.sharding.driver import Rows, SplitProgram, block_sizes, differences, whole
from tracejit.support.errors import TracejitError

ARGUMENTS = ("x", "X", "T", "Q", "k", "m", "w", "s", "W")
FLOATING = ("x", "X", "T", "Q", "w", "s", "W")
PER_PROGRAM = 7

AXES = ("0", "-1", "1", "None", "(0, 1)", "-2", "2", "(0, -1)")
REDUCTIONS = ("sum", "mean", "max", "min", "std", "var", "prod", "ptp", "median", "argmax",
    "any", "all", "count_nonzero", "linalg.norm", "nansum", "nanmax", "nanmean", "average")  # fmt: skip
ELEMENTWISE = ("sin", "tanh", "abs", "square", "negative", "floor", "sign", "isnan", "cos", "exp2",
    "arctan", "real", "conj", "ones_like", "zeros_like", "copy", "atleast_2d", "atleast_1d")  # fmt: skip
BINARY = ("add", "subtract", "multiply", "maximum", "minimum", "hypot", "arctan2", "logaddexp",
    "fmax", "greater", "equal", "matmul", "dot", "inner", "outer", "vdot", "kron", "logical_or",
    "subtract.outer", "copysign", "append", "array_equal", "cross", "allclose", "isin")  # fmt: skip
ANY = (
    *[f"np.{name}({{a}})" for name in ELEMENTWISE] * 2,
    *[f"np.{name}({{a}}, {{b}})" for name in BINARY] * 3,
    *[f"np.{name}({{a}}, axis={{axis}})" for name in REDUCTIONS] * 2,
    *[f"np.{name}({{a}})" for name in REDUCTIONS],
    *[f"np.{name}({{a}}, axis={{axis}}, keepdims=True)" for name in ("sum", "mean", "max", "std")],
    "np.sum({a}, where={b} > 0)", "np.mean({a}, axis=0, where={a} > -1)", "np.std({a}, ddof=1)",
    "np.max({a}, axis=0, initial=0.5)", "np.sum({a}, dtype=np.float32)", "np.var({a}, axis=0, ddof=1)",
    "np.max({a}, axis={axis}, initial=-9.0, where={b} > 0)", "{a}.sum({axis})", "{a}.mean()",
    "{a}.T", "{a}.ravel()", "{a}[:, None]", "{a}[None]", "{a}[..., 0]", "{a}[..., None]", "{a}[0]",
    "{a}[-1]", "{a}[1:]", "{a}[:, 1:]", "{a}[::-1]", "{a}[:, ::-1]", "{a}[..., ::2]", "{a}[:2]",
    "{a}[:, 0]", "{a}[:, -1]", "{a}[:, [0, 2]]", "{a}[[0, 1]]", "{a}[{a}.shape[0] - 1]", "{a}[:]",
    "np.flip({a}, {axis})", "{a}.reshape(-1)", "{a}.reshape({a}.shape[0], -1)", "{a}.reshape(-1, 3)",
    "{a}.reshape(3, -1)", "{a}.reshape(-1, 1)", "{a}.reshape(1, -1)", "{a}.reshape({b}.shape)",
    "{a}.reshape({a}.shape[0], 2, -1)", "{a}.reshape({a}.shape[::-1])", "{a}.reshape(-1, {a}.shape[0])",
    "np.swapaxes({a}, 0, -1)", "np.moveaxis({a}, 0, -1)", "np.expand_dims({a}, 1)", "np.squeeze({a})",
    "np.broadcast_to({a}, {b}.shape)", "np.broadcast_to({a}, (2, *{a}.shape))", "np.tile({a}, 2)",
    "np.broadcast_to({a}, ({b}.shape[0], 3))", "np.tile({a}, (2, 1))", "np.repeat({a}, 2, axis={axis})",
    "np.repeat({a}, 3)", "np.roll({a}, 1, axis={axis})", "np.cumsum({a}, axis={axis})", "np.sort({a}, axis={axis})",
    "np.diff({a}, axis={axis})", "np.pad({a}, 1)", "np.pad({a}, ((0, 0), (1, 1)))", "np.diag({a})",
    "np.diagonal({a})", "np.trace({a})", "np.triu({a})", "np.tril({a})", "np.argsort({a}, axis={axis})",
    "np.where({a} > 0, {a}, {b})", "np.where({a} > 0, 1.0, {b})", "np.clip({a}, -0.5, 0.5)", "np.clip({a}, {b}, 2.0)",
    "{a}.astype(int)", "{a}.astype(np.float32)", "{a}.astype(complex)", "({a} > 0).astype(float)",
    "{a} + 1j * {b}", "{a} / (1 + {b} ** 2)", "{a} / (1.0 + np.abs({a}))", "np.sqrt(np.abs({a}) + 0.1)", "{a} ** 2",
    "{a} + {b}", "{a} * {b}", "{a} - {b}", "{a} + {b}", "{a} * {b}", "{a} - {b}.mean(0)", "{a} @ {b}", "{a} @ {b}",
    "{a} @ {b}.T", "{a}.T @ {b}", "2.0 * {a}", "1 + {a}", "np.concatenate([{a}, {b}])", "np.concatenate([{a}, {b}], axis=-1)",
    "np.concatenate([{a}, {b}], axis=1)", "np.stack([{a}, {b}])", "np.stack([{a}, {b}], axis=-1)", "np.stack([{a}, {b}], axis=1)",
    "np.hstack([{a}, {b}])", "np.vstack([{a}, {b}])", "np.column_stack([{a}, {b}])", "np.array([{a}, {b}])",
    "np.split({a}, 3, axis={axis})[1]", "np.array_split({a}, 2, axis=-1)[0]", "np.delete({a}, 1, axis={axis})",
    "np.tensordot({a}, {b}, axes=1)", "np.tensordot({a}, {b}, axes=(0, 0))", "np.tensordot({a}, {b}, axes=([0], [1]))",
    "np.einsum('i...,i...->...', {a}, {b})", "np.einsum('i...,i...->i', {a}, {b})", "np.einsum('ij,kj->ik', {a}, {b})",
    "np.einsum('ij->ji', {a})", "np.einsum('ii->i', {a})", "np.einsum('i,j->ij', {a}, {b})", "np.einsum('...i,i->...', {a}, {b})",
    "np.einsum('nij,nj->ni', {a}, {b})", "np.einsum('ij,ij->', {a}, {b})", "np.einsum('i...->...', {a})",
    "np.take({a}, [0, 1], axis={axis})", "np.take({a}, np.abs(k) % 2)", "np.take({a}, np.abs(k) % 2, axis=0)", "w[np.abs(k) % 3]", "W[np.abs(k) % 3]",
    "W[np.abs(k) % 3, 1]", "W[:, np.abs(k) % 3]", "{a}[:, np.abs(k) % 3]", "{a}[np.abs(k) % 2]", "X[tnp.arange(X.shape[0]), np.abs(k) % 3]",
    "np.take_along_axis({a}, np.abs(k)[:, None] % 2, axis=1)", "np.take_along_axis({a}, np.argmax({a}, axis=-1)[..., None], axis=-1)",
    "np.searchsorted(np.array([-1.0, 0.0, 1.0]), {a})", "np.searchsorted({a}, 0.3)", "np.interp({a}, [-1.0, 0.0, 2.0], w)", "np.interp(w, {a}, {b})",
    "np.digitize({a}, [-0.5, 0.5])", "np.histogram({a}, bins=[-2.0, 0.0, 1.0, 2.0])[0]", "np.cov({a})", "np.cov({a}, rowvar=False)",
    "np.corrcoef({a})", "np.average({a}, axis=0, weights=np.abs({b}))", "np.average({a}, weights=np.abs({b}))",
    "np.linalg.norm({a}, axis={axis}, ord=1)", "np.linalg.norm({a}, ord=np.inf)", "np.linalg.det({a})", "np.linalg.inv({a} + 9 * np.eye(2))",
    "np.linalg.solve({a} + 9 * np.eye(3), {b})", "np.linalg.solve({a} + 9 * np.eye(2), {b})", "np.fft.fft({a}, axis={axis})", "np.fft.rfft({a})",
    "np.polyval(w, {a})", "np.convolve({a}, w)", "np.convolve({a}, {b}, mode='same')", "np.gradient({a}, axis={axis})", "np.trapezoid({a}, axis={axis})",
    "np.quantile({a}, 0.3, axis={axis})", "np.unique({a})", "np.nonzero({a})[0]", "np.cumprod({a}, axis={axis})", "np.interp({a}, {b}, {b})",
    "np.maximum.reduce({a})", "np.add.reduce({a}, axis={axis})", "np.add.accumulate({a})", "np.add.outer({a}, w)", "np.logical_and.reduce({a} > -1.0, axis={axis})",
    "{a}.shape[0] * 0.5", "{a}.size / 7.0", "1.0 / {a}.shape[0]", "np.sqrt({a}.shape[0])", "{a}.shape[0] // 2", "{a}.shape[-1] - 1", "{a}.shape[0] % 2",
    "{a} / {b}.shape[0]", "{a} * {b}.shape[0] ** 2", "{a}.sum(0) / ({a}.shape[0] - 0.5)", "{a} - {b}.size", "max({a}.shape[0], 4) * {b}", "min({a}.shape) * {b}",
    "tnp.arange({a}.shape[0])", "tnp.arange({a}.shape[0]) * {b}", "tnp.arange(1, {a}.shape[0] + 1)", "tnp.arange({a}.shape[0], dtype=float)", "tnp.arange(0, 2 * {a}.shape[0], 2)",
    "tnp.linspace(0.0, 1.0, {a}.shape[0])", "tnp.ones({a}.shape[0])", "tnp.zeros({a}.shape)", "tnp.ones(({a}.shape[0], 3))", "tnp.full({a}.shape[0], 2.0)",
    "tnp.arange({a}.shape[0])[:, None] + tnp.arange({a}.shape[0])", "tnp.eye({a}.shape[0])", "tnp.arange({a}.size).reshape({a}.shape)", "tnp.arange(3) + {a}", "tnp.identity({a}.shape[0]) @ {a}",
    "np.full_like({a}, 2.0)", "np.ones_like({a}) * {b}", "np.ones_like({a}, shape=(3,))", "np.indices((3, 2))[0] @ {a}[:2]", "np.meshgrid({a}, w)[0]", "np.ix_([0, 1])[0] + {a}",
    "update({a}, lambda v: v.__setitem__(0, 0.5))", "update({a}, lambda v: v.__setitem__((slice(None), 0), 0.5))", "update({a}, lambda v: v.__setitem__({a} > 0, 0.5))",
    "update({a}, lambda v: v.__setitem__((slice(None), 0), {b}))", "update({a}, lambda v: v.__setitem__(m, 0.5))", "update({a}, lambda v: v.__setitem__(m, {b}))", "update({a}, lambda v: v.__setitem__((m, 0), 0.5))",
    "update({a}, lambda v: v.__setitem__(slice(None), {b}))", "update({a}, lambda v: v.__setitem__(np.abs(k) % 2, {b}))", "update({a}, lambda v: v.__iadd__({b}))", "update({a}, lambda v: np.add.at(v, np.abs(k) % 2, {b}))",
    "update(tnp.zeros(4), lambda v: np.add.at(v, np.abs(k) % 4, {a}))", "update(tnp.zeros((4, 3)), lambda v: np.add.at(v, np.abs(k) % 4, {a}))", "update(tnp.zeros({a}.shape), lambda v: v.__setitem__((tnp.arange({a}.shape[0]), np.abs(k) % 2), {b}))",
    "np.select([{a} > 1, {a} > 0], [{a}, {b}], 0.25)", "np.choose(np.abs(k) % 2, [{a}, {b}])", "np.piecewise({a}, [{a} > 0], [0.5, -0.5])", "np.apply_along_axis(np.sum, 1, {a})", "np.put_along_axis({a}.copy(), np.abs(k)[:, None] % 2, 0.5, axis=1)",
    "tj.stop_gradient({a}) * {b}", "tj.grad(lambda u: np.sum(np.sin(u * {b})))({a})", "tj.vmap(lambda u: np.sin(u).sum())({a})", "tj.vmap(lambda u: u * w)({a})", "tj.jacobian(lambda u: np.sum(np.sin({a} * u), axis=0))(s)",
    "np.lib.stride_tricks.sliding_window_view({a}, 2, axis=-1)", "np.nan_to_num({a} / 0.0)", "np.rot90({a})", "np.fliplr({a})", "np.block([{a}, {b}])", "np.bincount(np.abs(k) % 3, minlength=3)", "np.vander({a}, 3)", "np.linalg.multi_dot([{a}.T, {a}, W])",
    "np.linalg.eigvalsh({a}.T @ {a})", "np.linalg.svd({a}, compute_uv=False)", "np.linalg.qr({a})[1]", "np.linalg.pinv({a})", "np.linalg.lstsq({a}, {b})[0]", "np.linalg.slogdet({a})[1]", "np.linalg.matrix_power({a}, 2)", "np.trapz({a})" if hasattr(np, "trapz") else "{a}",
)  # fmt: skip


class Wrong(NamedTuple):
    """A program that blocks compute otherwise."""

    text: str
    rows: int
    blocks: list[int]
    problems: list[str]

    def __str__(self) -> str:
        return f"{self.text}# {self.rows} rows in blocks of {self.blocks}\n" + "\n".join(
            self.problems
        )


def update(a: Any, write: Callable[[Any], Any]) -> Any:
    """A copy of an array, written to."""
    v = np.copy(a)
    write(v)
    return v


def arguments_of(rows: int, pick: random.Random) -> tuple[Any, ...]:
    """Arguments by the names of ARGUMENTS."""
    draw = np.random.default_rng(pick.randrange(1 << 30))
    return (
        Rows(draw.normal(size=rows)),
        Rows(draw.normal(size=(rows, 3))),
        Rows(draw.normal(size=(3, rows)), 1),
        Rows(draw.normal(size=(rows, 2, 2))),
        Rows(draw.integers(-3, 4, size=rows)),
        Rows(draw.random(rows) < 0.5),
        draw.normal(size=3),
        float(draw.normal()),
        draw.normal(size=(3, 3)),
    )


def copies(arguments: tuple[Any, ...]) -> list[Any]:
    """Whole arguments of a call that may write to them."""
    return [v if type(v) is float else np.copy(v) for v in whole(arguments)]


def function_of(statements: list[str], returned: str) -> Any:
    """The function with these statements, and its text."""
    lines = [f"def f({', '.join(ARGUMENTS)}):", *statements, f"return {returned}"]
    text = "\n    ".join(lines) + "\n"
    file = f"<program {hash(text)}>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    names = {"np": np, "tnp": tnp, "tj": tj, "update": update}
    exec(compile(text, file, "exec"), names)
    return names["f"], text


def statement_of(pick: random.Random, known: list[str]) -> str:
    """The right side of an assignment."""
    recent = known[-3:] if pick.random() < 0.5 else known
    split = ("x", "X", "T", "Q", "X", "x")
    return pick.choice(ANY).format(
        a=pick.choice(recent if pick.random() < 0.6 else split),
        b=pick.choice(known if pick.random() < 0.6 else split),
        axis=pick.choice(AXES),
    )


def program_of(
    pick: random.Random, arguments: tuple[Any, ...], refusals: collections.Counter[str]
) -> list[str]:
    """Statements that NumPy computes and nothing refuses."""
    statements: list[str] = []
    known = list(ARGUMENTS)
    for _ in range(PER_PROGRAM * 4):
        name = f"v{len(statements)}"
        right = statement_of(pick, known)
        tried = [*statements, f"{name} = {right}"]
        f, _ = function_of(tried, name)
        try:
            value = f(*copies(arguments))
            if not 0 < np.size(value) < 2000 or not np.all(np.abs(value) < 1e6):
                continue
        except Exception:
            continue
        try:
            SplitProgram(f, arguments)
        except TracejitError as error:
            refusals[f"{right}: {str(error).splitlines()[0]}"] += 1
            continue
        except Exception as error:
            refusals[f"CRASH {right}: {error!r}"] += 1
            continue
        statements, known = tried, [*known, name]
        if len(statements) == PER_PROGRAM:
            break
    return statements


def wrongs(seed: int, refusals: collections.Counter[str] | None = None) -> Iterator[Wrong]:
    """How a program is wrong."""
    pick = random.Random(seed)
    rows = pick.choice((1, 2, 3, 4, 5, 6, 9, 12, 17))
    arguments = arguments_of(rows, pick)
    counter = collections.Counter[str]() if refusals is None else refusals
    with np.errstate(all="ignore"):
        statements = program_of(pick, arguments, counter)
        names = [line.partition(" ")[0] for line in statements]
        if not names:
            return
        values = function_of(statements, f"[{', '.join(names)}]")[0](*copies(arguments))
        short = any(np.asarray(v).dtype.char in "efF" for v in values)
        bound = 1e-3 if short else 1e-10
        results = f"({', '.join([*names, 'x', 's'])})"
        yield from compared(statements, results, arguments, bound, ())
        terms = " + ".join(f"np.sum(np.sin(np.real({name}).astype(float)))" for name in names)
        for number, name in enumerate(ARGUMENTS):
            if name in FLOATING and pick.random() < 0.5:
                yield from compared(statements, terms, arguments, bound, (number,))


def compared(
    statements: list[str], returned: str, arguments: Any, bound: float, argnums: tuple[int, ...]
) -> Iterator[Wrong]:
    """Whether blocks compute what NumPy does; derivatives are compared with those of the whole."""
    f, text = function_of(statements, returned)
    given = copies(arguments)
    rows = len(given[0])
    function = tj.value_and_grad(f, argnums) if argnums else f
    try:
        expected = function(*given)
    except Exception:
        return
    try:
        program = SplitProgram(function, arguments)
    except TracejitError:
        return
    except Exception as error:
        yield Wrong(text, rows, [], [f"CRASH {error!r}"])
        return
    for count in sorted({1, 2, 3, rows}):
        if count <= rows:
            sizes = block_sizes(rows, count)
            try:
                problems = list(differences(program.run(sizes), expected, bound))
            except Exception as error:
                problems = [repr(error)[:600]]
            if problems:
                what = f"# differentiated by {[ARGUMENTS[k] for k in argnums]}\n"
                yield Wrong(what + text, rows, sizes, problems)
                return


if __name__ == "__main__":
    first = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(10**9)
    all_refusals = collections.Counter[str]()
    for seed in range(first, first + int(sys.argv[1])):
        for wrong in wrongs(seed, all_refusals):
            print(f"== seed {seed}\n{wrong}\n", flush=True)
    print(sum(all_refusals.values()), "statements refused")
