"""Operations with effects: draws from a random generator, and calls of the user's functions.

Their first operand is a handle, an argument of the kernel that is not an array but an object: it is
called where the node stands, once, in program order, also when nothing reads the result.

draw(generator, *operands, call="gamma({1}, size=(3,))") is a method of the generator; {1}, {2}, ...
in `call` are the operands, which are parameters of the distribution alone: what else decides a draw
(`SETTINGS`, and a population that is a number) is written out. It has no gradient.

normal(generator, loc, scale, size=(3,)) and uniform(generator, low, high, size=(3,)) have one: the
draw itself is what it is computed from, out = loc + scale * z and out = low + (high - low) * u.

default_rng(seed), the one without a handle, makes a generator: its result is a handle.

Of a batch, every element has draws of its own. Where one call can make them, its size has the batch
in front. Where not, as of permutations, they are made in turn; so are the draws of a
generator that is made for each element.

callback(function, *operands, results=("f8[3]",)) is what the function answers, without a gradient.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tracejit.ir.types import HANDLE, PYTHON_TYPES, ArrayType, Shape, parse_type, type_of
from tracejit.ops.base.batching import Moved, spread
from tracejit.ops.base.op import OPS, Op, Rule, defop
from tracejit.support.parsing import parse

# The arguments of a Generator's methods that are no parameters of a distribution.
SETTINGS = frozenset("size axis replace shuffle method endpoint dtype out check_valid tol".split())
# What is drawn from: an array, or a number n for the numbers below n.
POPULATIONS = {("choice", "a"), ("permutation", "x"), ("permuted", "x")}

# What these draw is no array of numbers that each come from parameters of their own.
JOINT = frozenset(
    "choice dirichlet multinomial multivariate_hypergeometric multivariate_normal".split()
)

# Parameters are taken for ones where only the type of a draw is asked for, and for these numbers
# where ones are outside the domain of a method;
DOMAINS = {
    ("logseries", "p"): 0,
    ("multinomial", "pvals"): 0,
    ("multivariate_hypergeometric", "nsample"): 0,
    ("multivariate_normal", "cov"): 0,
    ("triangular", "left"): 0,
    ("zipf", "a"): 2,
}
# and these settings for those given, as they make more of the domain and decide no type.
WIDER: dict[str, dict[str, Any]] = {
    "choice": {"p": None},
    "integers": {"endpoint": True},
    "multivariate_normal": {"method": "eigh"},
}


@lru_cache
def signature_of_draw(method: str) -> inspect.Signature:
    """The parameters of a method of Generator's, without self."""
    signature = inspect.signature(getattr(np.random.Generator, method))
    return signature.replace(parameters=list(signature.parameters.values())[1:])


@lru_cache(1024)
def draw_type(*types: ArrayType, call: str) -> ArrayType:
    """The type of a draw: that of one from another generator, with parameters in their domain.

    Raises what NumPy raises for shapes and settings that do not fit. Whether the values do is seen
    when the kernel runs.
    """
    method, _, rest = call.partition("(")
    operands = {f"_{number}": type for number, type in enumerate(types)}
    bind = signature_of_draw(method).bind
    bound = eval(f"bind({rest.format(*operands)}", {"np": np, "bind": bind, **operands})
    for name, value in bound.arguments.items():
        kind = value if isinstance(value, ArrayType) else type_of(value)
        if kind is value or (name not in SETTINGS and (method, name) not in POPULATIONS):
            fill = DOMAINS.get((method, name), 1)
            bound.arguments[name] = value if kind is None else _full(kind, fill)
    bound.arguments.update(WIDER.get(method, {}))
    found = type_of(getattr(np.random.default_rng(0), method)(*bound.args, **bound.kwargs))
    if found is None:
        raise TypeError("what it draws is neither an array nor a number")
    return found


def _full(type: ArrayType, fill: int) -> Any:
    """One number wherever a value of `type` has one."""
    if type.form == "weak":
        return PYTHON_TYPES[type.dtype.kind](fill)
    full = np.full(type.shape, fill, type.dtype)
    return full if type.form == "array" else full[()]


def _lined(operands: Sequence[Any], moved: Moved, rank: int) -> list[Any]:
    """Parameters of draws of `rank` axes each, with the batch in front."""
    return [spread(x, there, rank) for x, there in zip(operands, moved, strict=True)]


def _batched_draw(
    moved: Moved, rng: Any, *operands: Any, elements: int, shape: Shape, call: str
) -> Any:
    """One draw for all elements, if there is one that says the same."""
    tree: Any = parse(call, mode="eval").body
    method = tree.func.id
    signature = signature_of_draw(method)
    words = {word.arg: word.value for word in tree.keywords}
    given = signature.bind(*tree.args, **words)
    if moved[0] or "size" not in signature.parameters or (method in JOINT and any(moved)):
        return NotImplemented
    if method == "choice":
        replaces = ast.unparse(given.arguments.get("replace", ast.Constant(True))) == "True"
        population = ast.unparse(given.arguments["a"])
        flat = not population.startswith("{") or operands[int(population[1:-1]) - 1].ndim == 1
        if not (replaces and flat):
            return NotImplemented
    elif method in JOINT:
        shape = shape[:-1]
    given.arguments["size"] = parse(repr((elements, *shape)), mode="eval").body
    texts = [*map(ast.unparse, given.args)]
    texts += [f"{key}={ast.unparse(value)}" for key, value in given.kwargs.items()]
    lined = _lined(operands, moved[1:], len(shape))
    return DRAW(rng, *lined, call=f"{method}({', '.join(texts)})")


def _each_its_own(moved: Moved, *operands: Any, **params: Any) -> Any:
    """The rule of what is done one element after the other."""
    return NotImplemented


def _between(name: str, first: Rule, second: Rule) -> Op:
    """The draw from a distribution with two parameters, by which it has these derivatives: each a
    rule for cotangents and tangents alike."""

    def call(size: Any) -> str:
        return f"{name}({{1}}, {{2}}{'' if size is None else f', {size!r}'})"

    def batch(
        moved: Moved, rng: Any, *operands: Any, elements: int, shape: Shape, size: Any
    ) -> Any:
        if moved[0]:
            return NotImplemented
        lined = _lined(operands, moved[1:], len(shape))
        return OPS[name](rng, *lined, size=(elements, *shape))

    return defop(
        name=name,
        infer=lambda *types, size: draw_type(*types, call=call(size)),
        vjp=(None, first, second),
        jvp=(None, first, second),
        batch=batch,
        source=lambda types, size: "{0}." + call(size),
        effect=True,
    )


def deviation(out: Any, loc: Any, scale: Any) -> Any:
    """The standard normal number behind a draw from N(loc, scale**2); its mean, 0, where `scale` is
    0 and does not show it."""
    return (out - loc) / np.where(scale == 0, 1.0, scale)


def fraction(out: Any, low: Any, high: Any) -> Any:
    """The number of [0, 1) behind a draw from [low, high); 0 where these are one and do not show
    it."""
    above, below = out - low, high - out  # in float64, as `high - low` need not be
    return above / np.where(above + below == 0, 1.0, above + below)


def answers(*types: ArrayType, results: tuple[str, ...], call: Any = None) -> tuple[ArrayType, ...]:
    """The infer of a call whose results have these types, as printed."""
    return tuple(parse_type(text) for text in results)


def call_source(types: Sequence[ArrayType], **params: Any) -> str:
    """The spelling of a call of operand 0 with the others."""
    places = ", ".join(f"{{{number}}}" for number in range(1, len(types)))
    return f"{{0}}({places})"


DRAW: Op = defop(
    name="draw",
    infer=draw_type,
    batch=_batched_draw,
    source=lambda types, call: "{0}." + call,
    effect=True,
)
NORMAL = _between(
    "normal",
    lambda g, out, rng, loc, scale, size: g,
    lambda g, out, rng, loc, scale, size: g * deviation(out, loc, scale),
)
UNIFORM = _between(
    "uniform",
    lambda g, out, rng, low, high, size: g * (1.0 - fraction(out, low, high)),
    lambda g, out, rng, low, high, size: g * fraction(out, low, high),
)
CALLBACK = defop(name="callback", infer=answers, source=call_source, effect=True)
DEFAULT_RNG = defop(
    name="default_rng",
    infer=lambda *seed: HANDLE,
    batch=_each_its_own,
    source="np.random.default_rng({operands})",
    effect=True,
)
