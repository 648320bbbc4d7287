"""Advice on what to write instead: of a function that is not recorded, by its name, and of a
condition on a whole array, by its text."""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence
from typing import Any

from tracejit.support.errors import TracejitError, Where, fail
from tracejit.trace.source import places

LONGEST_TEST = 40
HOW_TO = "https://tracejit.readthedocs.io/en/latest/how_to/callbacks_and_solvers/"
OPERATION = f"make it one operation by tj.primitive and tj.register_gradient: {HOW_TO}"
NUMBERS = (
    "keep computing with NumPy, or return it and convert it outside the function. If a "
    f"simulator needs the number, {OPERATION}"
)
TEXT = "tj.callback(print, t) prints its numbers at each call; print(t) prints its shape and dtype."
KEYS = (
    "look numbers up with np.take(values, index), np.interp or np.where; keys of a dict or a set "
    "have to be known before the call."
)
OUTSIDE = f"keep the call outside the function, or {OPERATION}"
DRAWING = frozenset("matplotlib mpl_toolkits seaborn plotly bokeh altair".split())
TABLES = frozenset("pandas xarray polars".split())
FRAMEWORKS = frozenset("torch tensorflow jax".split())
_SOLVERS = {
    "it is recorded in a function under @tj.function or tj.grad; on a tape, call such a function":
        "quad dblquad tplquad nquad fixed_quad odeint solve_ivp brentq brenth ridder bisect "
        "toms748 newton root root_scalar fsolve fixed_point least_squares curve_fit minimize "
        "minimize_scalar",
    "scipy.integrate.quad is recorded": "quad_vec cubature",
    "scipy.integrate.solve_ivp is recorded": "ode solve_bvp",
    "scipy.optimize.least_squares is recorded": "leastsq",
    "np.linalg.lstsq and np.linalg.solve, for linear problems, are recorded": "nnls lsq_linear",
    "scipy.optimize.minimize, from one start, is recorded":
        "basinhopping dual_annealing differential_evolution shgo direct",
    "call it outside of the function": "linprog milp",
}  # fmt: skip
SOLVERS = {name: advice for advice, names in _SOLVERS.items() for name in names.split()}
"""Functions of scipy.optimize and scipy.integrate that call functions of the user's, each with what
is recorded instead, or where."""
_FILES = frozenset("save savez savez_compressed savetxt tofile dump memmap".split())


def instead_of(function: str, called: str = "", given: str = "(...)") -> str:
    """The advice for a call of `function`, a name with its modules, which the user has `called` by
    another on what is `given`.

    >>> instead_of("np.sinc")[:43]
    'write it with functions that are recorded, '
    >>> instead_of("np.save", "np.save", "(path, x)")[41:]
    '; or at each call: tj.callback(np.save, path, x).'
    """
    called = called or function
    name = function.rpartition(".")[2]
    library = function.partition(".")[0]
    if library == "scipy" and name in SOLVERS:
        return f"{SOLVERS[name]}. Or {OPERATION}"
    if function.startswith("scipy.interpolate"):
        return f"CubicSpline, interp1d and RegularGridInterpolator are recorded. Or {OPERATION}"
    if name in _FILES:
        return _after(called, given)
    if function.startswith("np.frompyfunc(") and function.endswith(")"):
        return "make it with np.vectorize, which is recorded."
    if library in DRAWING:
        return _after(called, given)
    if library in TABLES:
        return (
            "compute with arrays, such as df.to_numpy(), and make a table from the result of "
            "the function."
        )
    if library in FRAMEWORKS:
        return f"compute it with NumPy, or {OPERATION}"
    return f"write it with functions that are recorded, or {OPERATION}"


def _after(called: str, given: str) -> str:
    """The advice for a call that is made for its effect."""
    inside = given.removeprefix("(").removesuffix(")")
    callback = ", ".join(filter(None, [called, inside]))
    later = "call it after the function, on its result"
    return f"{later}; or at each call: tj.callback({callback})."


def is_closed(library: str) -> bool:
    """Return whether a library is refused by the name of the function that the user calls."""
    return library in DRAWING or library in TABLES or library in FRAMEWORKS


def not_recorded(where: Where | None, function: str) -> TracejitError:
    """The error for a call of a function that is not recorded."""
    name, given = places.called()
    if name.rpartition(".")[2] != function.rpartition(".")[2]:
        name, given = function, "(...)"
    fix = instead_of(function, name, given)
    shown = function if function.startswith(("np.", "scipy.")) else name
    return fail("unsupported-function", where, function=shown, fix=fix)


def instead_of_test(nodes: Sequence[ast.AST]) -> tuple[str, str]:
    """The one of these expressions, innermost first, that is asked for its truth, and advice."""
    if nodes and (fix := _of_elements(nodes[0])):
        return f"a comparison in {ast.unparse(nodes[0])}", fix
    for node in nodes:
        if not isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)):
            continue
        if node.test in nodes or node is nodes[0]:
            test, sides = ast.unparse(_by_elements(node.test)), "a, b"
            test = test if len(test) <= LONGEST_TEST else "test"
            if isinstance(node, ast.IfExp):
                sides = f"{ast.unparse(node.body)}, {ast.unparse(node.orelse)}"
            chooses = f"np.where({test}, {sides}) chooses for each element; "
            fix = f"np.all({test}) or np.any({test}) is one truth value for the whole array."
            is_choice = isinstance(node, (ast.If, ast.IfExp))
            return ast.unparse(node.test), chooses + fix if is_choice else fix
    for node in reversed(nodes):
        by_elements = _by_elements(node)
        if by_elements is not node:
            return ast.unparse(node), f"write {ast.unparse(by_elements)}, for each element."
    test = next((ast.unparse(node) for node in nodes if isinstance(node, ast.expr)), "")
    return (
        test,
        "np.where(test, a, b) chooses for each element; np.all and np.any give one truth value.",
    )


def _by_elements(node: Any) -> Any:
    """A condition of Python's as NumPy computes it for each element; another node as it is."""
    parts: list[Any] = []
    if isinstance(node, ast.BoolOp):
        parts = [_by_elements(value) for value in node.values]
    elif isinstance(node, ast.Compare) and len(node.ops) > 1:
        terms = [node.left, *node.comparators]
        parts = [
            ast.Compare(a, [op], [b]) for a, op, b in zip(terms, node.ops, terms[1:], strict=False)
        ]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = _by_elements(node.operand)
        if inner is node.operand and not isinstance(inner, ast.Compare):
            return ast.Compare(inner, [ast.Eq()], [ast.Constant(0)])
        return ast.UnaryOp(ast.Invert(), inner)
    if not parts:
        return node
    both: ast.operator = ast.BitAnd()
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
        both = ast.BitOr()
    return functools.reduce(lambda a, b: ast.BinOp(a, both, b), parts)


def _of_elements(call: Any) -> str:
    """The advice for a call of a builtin that compares what it is given; empty for another node."""
    is_call = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.args
    if not is_call or call.func.id not in _COMPARING:
        return ""
    name, given = call.func.id, ", ".join(map(ast.unparse, call.args))
    if len(call.args) == 1:
        return f"write np.{name.removesuffix('ed')}({given})."
    pair = "np.maximum" if name == "max" else "np.minimum"
    if len(call.args) == 2:
        return f"write {pair}({given}), which compares the elements."
    return f"write {pair}.reduce([{given}]), which compares the elements."


_COMPARING = frozenset(one.__name__ for one in (max, min, any, all, sorted))
