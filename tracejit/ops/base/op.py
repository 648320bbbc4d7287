"""The record of an operation, and the two tables every other layer reads.

`OPS` holds the ops by name. `HANDLERS` holds, for every NumPy callable that is recorded, the
function that takes the user's call: an op's `record_call`, or a composite (a plain NumPy formula,
see `composite`); `DIRECT` the ops of ufuncs whose call is exactly their operands. To add an op,
declare one record with `defop` or `elementwise`; nothing else needs to know of it.

Rules are ordinary NumPy. They run on Tensors while a graph is differentiated and on arrays in the
tests:

    vjp   per operand (g, out, *operands, **params) -> cotangent of that operand, of any shape
          that un-broadcasts to the operand's: the reverse pass sums and casts once, for all ops.
          A tuple of rules, one per operand, None if an operand has no derivative; one rule
          alone for a unary op; `Each(rule)` for any number of operands, the rule then taking the
          operand's number first.
    jvp   "linear" (jointly, in all inexact operands), "bilinear" (in each operand by itself), or
          rules like vjp's, (v, out, *operands, **params) -> tangent of the result, summed over
          the operands. None: the rules of vjp, where an elementwise op has one result, for they
          are then g times the derivative; of all others the transpose of vjp, which forward mode
          records. A rule is for a shorter formula.

vjp = () declares an op piecewise constant: it disconnects. vjp = None means no rule is known, and
differentiating through it is an error. A vjp is linear in g, and reads of it no more than whether
it is None. For an op with several results g, out are tuples.

`source` spells the op: "np.tanh({0})", "{0} @ {1}", "np.concatenate(({operands},), axis={axis})";
or a function (types, **params) that returns such a template. `statements` spells an op that no
single expression can: a function (types, **params) that returns lines which write the result to
{out}. `inplace` spells it writing to {out}, an operand or a new buffer; with `statements`, as a
statement that updates the buffer of operand 0. What stands there is called by the name of its
library in `LIBRARIES`: `np`, and `scipy` once an op of its has been declared (`library`). `since`
is the first version of it that has what is called, where not all that tracejit runs with have it.

Traits say what an op is, and passes ask for them, never for names: an op that declares what it is
is treated right by every pass. None claims anything by default, and `tests/ops/test_traits.py`
checks each against NumPy.

    raises       Python, whose operation it is, raises an error for some numbers: "by divisor" only
                 for some that the last operand may be
    elementwise  an element of the result depends on the elements at its place, operands being
                 broadcast: what `batch` of that name says
    linear_in    "jointly" in all operands that have a derivative: f(ax + by) is af(x) + bf(y)
                 where all of them move; "each": in each of these by itself; or the numbers of
                 operands, in each of which by itself, of several results the first. A `jvp`
                 that is a word says it, too; where a tuple has no rule, it is the jvp. Of real
                 numbers, inf and nan make the same elements of the result not finite
    commutative  the two operands can be exchanged; no bit but those inside nan depends on it
    sign         "nonnegative": no element is below zero, nor -0.0; "kept": none is where none is
                 in any operand. It may be nan
    bound        no element is larger, whatever its sign, but by rounding
    elements     the elements of the result are elements of operand 0, at most cast: the "same" in
                 the same places; "reshaped", in the same order; "permuted"; "spread", some more
                 than once; or those "taken"
    moves        the elements of the result are elements of operands, or constants: params and
                 operands of integers alone say which
    reads        a function (k, types, integers, **params) of the operands' types and of those of
                 integers: the elements of the result, and the element of operand k that each is
                 computed from, where other traits do not say it
    view_of      the operand whose memory the result may share
    view         what is known of that: the result is a view whatever the layout of memory
                 ("always", or "read-only"), or shows "parts" of numbers
    order        "C" or "F": how the result lies in memory; "kept": in C order if operand 0 does
    uniform      all operands are computed with in one dtype: an array of one element gives what
                 the Python number in it gives, to the bit
    test         how Python's `and`, `or`, `not` spell it where Python asks if it is true
    arithmetic   the operator that spells it gives the same bits on Python floats, or raises
    reduces      the ufunc that takes elements along `axis` together, and what it makes of parts
    product      what is multiplied along the last axis of the first and the last but one of the
                 second operand: "matrices", "matrix_vector", "vector_matrix"; "vectors"; "outer"
    update       operands are written at places in operand 0, or in zeros: "put", "add", "subtract"
    factorization  "blocked" where LAPACK hands blocks of columns to the BLAS, or "svd"
    axes         a letter for each axis of operands and results, as "ab,bc->ac": what can be made of
                 blocks, and how (see `axes`). Where other traits do not say it
    formula      a function (*operands, **params) that makes the result of simpler ops, for an axis
                 that the op mixes but these do not; or NotImplemented. The last bits may differ

`assumes_shape` says that the shape of the result depends on data. The op is for the usual shape;
its code raises ValueError for data that give another, and the call is left to Python.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from tracejit.ir.dims import Dim, FreeShape, spelled
from tracejit.ir.types import ArrayType, type_of
from tracejit.ops.base.helpers import HELPERS
from tracejit.support.errors import fail

Rule = Callable[..., Any]
F = TypeVar("F", bound=Callable[..., Any])

OPS: dict[str, Op] = {}
HANDLERS: dict[Any, Callable[..., Any]] = {}
DIRECT: dict[Any, Op] = {}
COMPOSITES: dict[str, Callable[..., Any]] = {}
LIBRARIES: dict[str, Any] = {"np": np, "helpers": HELPERS, "math": math, "hashlib": hashlib}


class Each:
    """One rule for ops of any number of operands: rule(k, g, out, *operands, **params)."""

    __slots__ = ("first", "rule")

    def __init__(self, rule: Rule, first: int = 0) -> None:
        """`rule` takes the operand's number first; operands before `first` have no derivative."""
        self.rule = rule
        self.first = first


class Joint:
    """One rule for all operands at once: rule(applied, *cotangents) -> a cotangent or None per
    operand, with zeros for the cotangents of unused results."""

    __slots__ = ("rule",)

    def __init__(self, rule: Rule) -> None:
        """`rule` takes an Applied first."""
        self.rule = rule


class Applied(NamedTuple):
    """An operation as a rule sees it: its name, Tensors, and parameters."""

    type: str
    inputs: Sequence[Any]
    outputs: Sequence[Any]
    params: Mapping[str, Any]


WITH_MATRICES = ("matrices", "matrix_vector", "vector_matrix")
"""The kinds of products that read a matrix."""
Rules = tuple[Rule | None, ...] | Rule | Each | Joint | None


def as_is(*operands: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The call as the user wrote it: operands only."""
    return operands, {}


def size(*types: ArrayType, **params: Any) -> int:
    """The default cost: one operation per element of the largest operand."""
    return max((type.estimated_size for type in types), default=1)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Op:
    """All that any stage knows of an operation. Rules are plain NumPy: they run on Tensors and on
    arrays alike."""

    name: str
    numpy: tuple[Any, ...] = ()
    canonical: Callable[..., tuple[tuple[Any, ...], dict[str, Any]]] = as_is
    infer: Callable[..., ArrayType | tuple[ArrayType, ...]]
    vjp: Rules = None
    jvp: Literal["linear", "bilinear"] | Rules = None
    batch: Literal["elementwise", "leading"] | Callable[..., Any] | None = None
    source: str | Callable[..., str] = ""
    inplace: str | Callable[..., str] = ""
    statements: Callable[..., tuple[str, ...]] | None = None
    cost: Callable[..., int] = size
    effect: bool = False
    raises: Literal["by divisor", "always"] | None = None
    assumes_shape: bool = False
    library: str = "np"
    since: str = ""
    elementwise: bool = field(init=False)
    linear_in: Literal["jointly", "each"] | tuple[int, ...] = ()
    commutative: bool = False
    sign: Literal["nonnegative", "kept"] | None = None
    bound: float | None = None
    elements: Literal["same", "reshaped", "permuted", "spread", "taken"] | None = None
    moves: bool = False
    reads: Callable[..., Any] | None = None
    view_of: int | None = None
    view: Literal["always", "read-only", "parts"] | None = None
    order: Literal["C", "F", "kept"] | None = None
    uniform: bool = False
    test: str = ""
    arithmetic: bool = False
    reduces: str | None = None
    product: Literal["matrices", "matrix_vector", "vector_matrix", "vectors", "outer"] | None = None
    update: Literal["put", "add", "subtract"] | None = None
    factorization: Literal["blocked", "svd"] | None = None
    axes: str | Callable[..., str | None] | None = None
    formula: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "elementwise", self.batch == "elementwise")
        if isinstance(self.jvp, str):
            linear_in = "jointly" if self.jvp == "linear" else "each"
            object.__setattr__(self, "linear_in", linear_in)

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __call__(self, *operands: Any, **params: Any) -> Any:
        """Record the op when an operand is a Tensor; else compute it with NumPy."""
        for operand in operands:
            record = getattr(type(operand), "__tracejit_record__", None)
            if record is not None:
                return record(operand, self, operands, params)
        return self.evaluate(*operands, **params)

    def record_call(self, *args: Any, **kwargs: Any) -> Any:
        """The op applied to a call as the user wrote it."""
        operands, params = self.canonical(*args, **kwargs)
        return self(*operands, **params)

    def result_types(
        self, operands: Sequence[ArrayType], params: Mapping[str, Any]
    ) -> tuple[ArrayType, ...]:
        """The types of the results; raises what NumPy raises for operands that do not fit."""
        types = self.infer(*operands, **params)
        return types if isinstance(types, tuple) else (types,)

    def template(self, operands: Sequence[ArrayType], params: Mapping[str, Any]) -> str:
        """The spelling of the op: an expression over {0}, {1}, ... with parameters filled in."""
        text = self.source if isinstance(self.source, str) else self.source(operands, **params)
        return fill_template(text, len(operands), params)

    def inplace_template(self, operands: Sequence[ArrayType], params: Mapping[str, Any]) -> str:
        """The spelling of the op when it writes to {out}."""
        text = self.inplace if isinstance(self.inplace, str) else self.inplace(operands, **params)
        return fill_template(text, len(operands), params)

    def statement_lines(
        self, operands: Sequence[ArrayType], params: Mapping[str, Any]
    ) -> list[str]:
        """The spelling of an op without a single expression: lines over {0}, {1}, ... and {out}."""
        assert self.statements is not None
        lines = self.statements(operands, **params)
        return [fill_template(line, len(operands), params) for line in lines]

    def evaluate(self, *operands: Any, **params: Any) -> Any:
        """The op computed by NumPy on arrays: what the generated line computes."""
        types = [type_of(operand) or ArrayType((), np.dtype(object)) for operand in operands]
        return self.computation(types, params)(*operands)

    def computation(
        self, operands: Sequence[ArrayType], params: Mapping[str, Any]
    ) -> Callable[..., Any]:
        """The function that computes the op on arrays of these types, by its generated line."""
        places = [f"_{number}" for number in range(len(operands))]
        if self.statements is not None:
            lines = [
                line.format(*places, out="_out") for line in self.statement_lines(operands, params)
            ]
        else:
            lines = ["_out = " + self.template(operands, params).format(*places)]
        return _compiled(", ".join(places), "\n".join(lines))

    def __reduce__(self) -> tuple[Any, ...]:
        """By name where it is in the table: there is one of it in a process."""
        if OPS.get(self.name) is self:
            return _named, (self.name,)
        return _unpickled, (
            {one.name: getattr(self, one.name) for one in fields(self) if one.init},
        )

    def is_linear_in(self, operand: int) -> bool:
        """Return whether the op declares that it is linear in operand number `operand` by
        itself."""
        linear_in = self.linear_in
        return linear_in == "each" or (type(linear_in) is tuple and operand in linear_in)

    def vjp_rule(self, operand: int) -> Rule | None:
        """The rule for operand number `operand`; None if it has no derivative."""
        return _rule(self.vjp, operand)

    def jvp_rule(self, operand: int) -> Rule | None:
        """The rule for the tangent of operand number `operand`, unless `jvp` is a word."""
        rules = self.vjp if self.jvp is None and self.elementwise else self.jvp
        rule = None if isinstance(rules, str) else _rule(rules, operand)
        if rule is None and isinstance(rules, tuple) and self.is_linear_in(operand):
            return lambda v, y, *xs, **params: self(*xs[:operand], v, *xs[operand + 1 :], **params)
        return rule

    def is_transposed(self, results: int) -> bool:
        """Return whether tangents take the transpose of vjp, the op having so many results."""
        return self.jvp is None and not (self.elementwise and results == 1)


def _named(name: str) -> Op:
    return OPS[name]


def _unpickled(values: dict[str, Any]) -> Op:
    return Op(**values)


def _rule(rules: Rules, operand: int) -> Rule | None:
    if isinstance(rules, Joint):
        return None
    if isinstance(rules, Each):
        if operand < rules.first:
            return None
        each = rules.rule
        return lambda *args, **params: each(operand, *args, **params)
    if isinstance(rules, tuple):
        return rules[operand] if operand < len(rules) else None
    return rules if operand == 0 else None


_LITERALS = frozenset((int, float, complex, bool, str, bytes, type(None), type(...), slice, Dim))


@lru_cache(4096)
def _compiled(parameters: str, body: str) -> Callable[..., Any]:
    """The function of these parameters that runs `body` and returns _out."""
    lines = [f"def compute({parameters}):", *body.splitlines(), "return _out"]
    space: dict[str, Any] = dict(LIBRARIES)
    exec(compile("\n    ".join(lines), "<op>", "exec"), space)
    made: Callable[..., Any] = space["compute"]
    return made


def fill_template(text: str, count: int, params: Mapping[str, Any]) -> str:
    """A template with its parameters written out and {operands} expanded, {0}, {1}, ... and {out}
    left."""
    named = {key: value for key, value in params.items() if f"{{{key}" in text}
    if not named:
        return _expanded(text, count)
    filled = {key: literal(value) for key, value in named.items() if is_literal(value)}
    try:
        return _expanded(text, count, **filled)
    except KeyError as error:
        key = error.args[0]
        raise fail("graph", None, problem=f"{key}={params.get(key)!r} is no literal") from None


@lru_cache(4096)
def _expanded(text: str, count: int, /, **filled: str) -> str:
    places, operands = _places(count)
    return text.format(*places, operands=operands, out="{out}", **filled)


@lru_cache
def _places(count: int) -> tuple[list[str], str]:
    """The places of so many operands, one by one and listed."""
    places = [f"{{{number}}}" for number in range(count)]
    return places, ", ".join(places)


def literal(value: Any) -> str:
    """A parameter as Python source: a literal, or np.NAME for a dtype. No brace stands in it, not
    in a string either: it may be part of a template."""
    if isinstance(value, np.dtype):
        return "np.bool_" if value.kind == "b" else f"np.{value.name}"
    if not is_literal(value):
        raise fail("graph", None, problem=f"{value!r} is no literal")
    return spelled(value).replace("{", r"\x7b").replace("}", r"\x7d")


def is_literal(value: Any) -> bool:
    """Return whether Python reads the text of `value` as `value`: the repr of an object of the
    user's never becomes code."""
    kind = type(value)
    if kind in (tuple, list, FreeShape):
        return all(map(is_literal, value))
    return kind in _LITERALS or isinstance(value, np.dtype) or kind.__module__ == "numpy"


def defop(*numpy: Any, name: str = "", **fields: Any) -> Op:
    """Declare an op that answers for the callables `numpy` and enter it in the tables.

    Its name is that of the first callable unless given.
    """
    op = Op(name=name or numpy[0].__name__, numpy=numpy, **fields)
    assert op.name not in OPS, op.name
    OPS[op.name] = op
    for function in numpy:
        answer(function, op.record_call)
    return op


def answer(function: Any, handler: Callable[..., Any]) -> None:
    """Let `handler` take the user's calls of `function`."""
    assert function not in HANDLERS, function
    HANDLERS[function] = handler


def composite(*numpy: Any) -> Callable[[F], F]:
    """Declare a formula: a function with NumPy's own parameters, written in NumPy, without any
    rule.

    A keyword that it does not take is refused by name, never ignored.
    """

    def declare(formula: F) -> F:
        for function in numpy:
            answer(function, formula)
        COMPOSITES[numpy[0].__name__] = formula
        return formula

    return declare
