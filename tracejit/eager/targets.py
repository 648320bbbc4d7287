"""Targets, sources and seeds as the user gives them to a tape or to `tj.gradients`, and the
gradients as they come back."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

import numpy as np

from tracejit.autodiff.request.request import like, ones_like, stays
from tracejit.ir.graph import Value
from tracejit.ir.types import type_of
from tracejit.ops.base.forms import as_array, as_element
from tracejit.support.errors import fail
from tracejit.support.words import a
from tracejit.trace.recording.numbers import is_plain_number
from tracejit.trace.recording.recorder import Recorder
from tracejit.trace.recording.variable import Variable
from tracejit.trace.source import places
from tracejit.trace.structure.trees import LEAF, Structure, flatten, keep
from tracejit.trace.tensor.tensor import TENSORS, Tensor

if TYPE_CHECKING:
    from tracejit.trace.tensor.arraylike import ArrayMethods

Reads = Callable[[Variable], Sequence[Value]]
Differentiate = Callable[
    [Sequence[Tensor], Sequence[Tensor], Sequence[Any]], Sequence[Tensor | None]
]


class UnconnectedGradients(enum.Enum):
    """The gradient of a source that the target does not depend on: None or zeros.

    The strings "none" and "zero" mean the same.

    Examples
    --------
    >>> import tracejit as tj
    >>> v = tj.Variable([1.0, 2.0])
    >>> with tj.GradientTape() as tape:
    ...     y = tj.constant(1.0) * 2.0
    >>> tape.gradient(y, v, unconnected_gradients=tj.UnconnectedGradients.ZERO)
    <Tensor f8[2] [0. 0.]>
    """

    NONE = "none"
    ZERO = "zero"


NONE: Final = UnconnectedGradients.NONE

if TYPE_CHECKING:
    Recorded: TypeAlias = ArrayMethods
    RecordedT = TypeVar("RecordedT", bound=Recorded)
    """A Tensor or a Variable: what a tape gives gradients by."""
    NumbersT = TypeVar("NumbersT", bound=np.ndarray[Any, Any] | float)
    """The same in a recorded function, where arguments are annotated as the caller's arrays."""
    Nones: TypeAlias = Literal["none", UnconnectedGradients.NONE]
    Zeros: TypeAlias = Literal["zero", UnconnectedGradients.ZERO]


def wants_zeros(unconnected_gradients: Any) -> bool:
    """Return whether zeros stand for unconnected gradients."""
    if unconnected_gradients is UnconnectedGradients.NONE:
        return False
    try:
        return UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO
    except ValueError:
        raise fail("unconnected", places.here(), got=unconnected_gradients) from None


def leaves_of(given: Any, argument: str, call: str) -> tuple[list[Any], Structure]:
    """The Tensors and Variables in a structure, in which what has no derivative besides them stays;
    TapeArgumentError for anything else."""
    leaves, structure = flatten(given)
    varies = [
        type(leaf) is Variable or (type(leaf) in TENSORS and not is_plain_number(leaf))
        for leaf in leaves
    ]
    for leaf, is_source in zip(leaves, varies, strict=True):
        if is_source or (any(varies) and argument not in ("target", "ys") and stays(leaf)):
            continue
        fix = "pass an argument, or the result of a computation on the tape."
        if type_of(leaf) is not None:
            fix = "make it a Tensor before computing with it: tj.constant(...)."
        got = a(type(leaf).__name__)
        raise fail("tape-argument", places.here(), call=call, argument=argument, got=got, fix=fix)
    return [*itertools.compress(leaves, varies)], keep(structure, leaves, varies)


def one_leaf(given: Any, argument: str, call: str) -> Any:
    """The one Tensor or Variable that is given; TapeArgumentError for a container."""
    leaves, structure = leaves_of(given, argument, call)
    if structure.cls is not None:
        got, fix = a(structure.cls.__name__), "give one Tensor at a time."
        raise fail("tape-argument", places.here(), call=call, argument=argument, got=got, fix=fix)
    return leaves[0]


def tensor_of(leaf: Any, recorder: Recorder) -> Tensor:
    """A leaf as a Tensor of this recorder; a Variable as its value now."""
    if type(leaf) is Variable:
        return Tensor(recorder.version(leaf), recorder)
    return Tensor(recorder.lift(leaf), recorder)


def seeds_of(
    given: Any, targets: Sequence[Tensor], structure: Structure, recorder: Recorder, call: str
) -> list[Any]:
    """One seed per target: a Tensor of its type, or None for ones."""
    if given is None:
        return [None] * len(targets)
    seeds, given_structure = _seed_leaves(given, len(targets))
    alone = structure is LEAF and len(seeds) == 1
    flat = given_structure.cls in (list, tuple) and len(seeds) == len(targets)
    if not (given_structure.is_like(structure) or alone or flat):
        problem = f"{len(seeds)} cotangents in another structure than {len(targets)} targets"
        raise fail("seeds", places.here(), call=call, problem=problem)
    return [
        None if seed is None else _seed(seed, target, recorder, call)
        for seed, target in zip(seeds, targets, strict=True)
    ]


def _seed_leaves(given: Any, count: int) -> tuple[list[Any], Structure]:
    """The leaves of the seeds; a list of numbers is one array where there is one target."""
    leaves, structure = flatten(given)
    weak = [kind for leaf in leaves if (kind := type_of(leaf)) is not None and kind.form == "weak"]
    if count == 1 and len(leaves) > 1 and len(weak) == len(leaves):
        return [np.array(given)], LEAF
    return leaves, structure


def _seed(seed: Any, target: Tensor, recorder: Recorder, call: str) -> Any:
    """A seed in the type of its target."""
    known = seed.type if hasattr(type(seed), "__tracejit_record__") else type_of(seed)
    if known is None:
        problem = f"a cotangent is {a(type(seed).__name__)}"
        raise fail("seeds", places.here(), call=call, problem=problem)
    if known.shape != target.shape:
        problem = f"a cotangent has shape {known.shape}, its target {target.shape}"
        raise fail("seeds", places.here(), call=call, problem=problem)
    if known.form == "weak" and (known.dtype.kind != "c" or target.dtype.kind == "c"):
        seed, known = target.dtype.type(seed), target.type.with_form("scalar")
    if known.dtype != target.dtype:
        problem = f"a cotangent has dtype {known.dtype}, its target {target.dtype}"
        raise fail("seeds", places.here(), call=call, problem=problem)
    if type(seed) is np.ndarray:
        seed = seed.copy()
    tensor: Any = Tensor(recorder.lift(seed), recorder)
    forms = known.form, target.type.form
    convert = {("scalar", "array"): as_array, ("array", "scalar"): as_element}.get(forms)
    return tensor if convert is None else convert(tensor)


def gradients_by(
    differentiate: Differentiate,
    recorder: Recorder,
    ys: Sequence[Tensor],
    sources: Sequence[Any],
    seeds: Sequence[Any],
    reads: Reads,
    zeros: bool,
) -> list[Any]:
    """One gradient per source, of its type, or None, or zeros; a Variable's is the sum over its
    reads."""
    answers = []
    totals = sums_by(differentiate, recorder, ys, sources, seeds, reads)
    for source, total in zip(sources, totals, strict=True):
        if total is None and zeros:
            total = zeros_like(tensor_of(source, recorder))
        elif total is not None and total.type is not source.type:
            total = like(total, tensor_of(source, recorder))
        answers.append(total)
    return answers


def sums_by(
    differentiate: Differentiate,
    recorder: Recorder,
    ys: Sequence[Tensor],
    sources: Sequence[Any],
    seeds: Sequence[Any],
    reads: Reads,
) -> list[Any]:
    """The answer of `differentiate` per source, that of a Variable summed over its reads; or
    None."""
    xs: list[Tensor] = []
    groups: list[range] = []
    for source in sources:
        values = reads(source) if type(source) is Variable else [recorder.lift(source)]
        values = recorder.as_sources(values)
        groups.append(range(len(xs), len(xs) + len(values)))
        xs += [Tensor(value, recorder) for value in values]
    pairs = [(y, seed) for y, seed in zip(ys, seeds, strict=True) if y.type.is_inexact]
    found = differentiate([y for y, _ in pairs], xs, [seed for _, seed in pairs])
    totals = []
    for group in groups:
        total: Any = None
        for g in [found[k] for k in group]:
            if g is not None:
                total = g if total is None else total + g
        totals.append(total)
    return totals


def zeros_like(tensor: Any) -> Any:
    """Zeros of the type of `tensor`."""
    return like(np.zeros_like(tensor), tensor)


def filled(seeds: Sequence[Any], ys: Sequence[Tensor]) -> list[Any]:
    """The seeds, with ones where they are None."""
    return [ones_like(y) if seed is None else seed for y, seed in zip(ys, seeds, strict=True)]
