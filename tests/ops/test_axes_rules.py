"""The letters of every op, by a probe: each axis that has a letter is cut into two blocks, and what
the op makes of them, joined or combined as the rule says, is what it makes of the whole."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from test_traits import Call, calls

from tests.ops.program import quiet
from tracejit.ir.types import HANDLE, type_of
from tracejit.ops.axes import AxisRule, axis_rule
from tracejit.ops.op import OPS


def rule_of(call: Call) -> AxisRule | None:
    """The rule for the operands of a call."""
    types = [type_of(operand) or HANDLE for operand in call.operands]
    return axis_rule(call.op, types, call.params)


def results_of(rule: AxisRule, made: Any) -> list[np.ndarray]:
    """The results of an op as arrays."""
    return [np.asarray(one) for one in (made if len(rule.results) > 1 else [made])]


def pairs(letters: Sequence[str], values: Sequence[Any]) -> Iterator[tuple[str, int]]:
    """Each letter with the size of its axis."""
    for word, value in zip(letters, values, strict=True):
        yield from zip(word, np.shape(value), strict=True)


def cut(letter: str, word: str, value: Any, part: slice, units: int) -> Any:
    """The block of an operand."""
    if letter not in word:
        return value
    axis = word.index(letter)
    step = value.shape[axis] // units
    index = slice(part.start * step, part.stop * step)
    return value[(slice(None),) * axis + (index,)]


def block_params(call: Call, rule: AxisRule, letter: str, whole: Any, share: Any) -> Any:
    """The parameters for a block: the shape of a result is that of the block's."""
    shape = call.params.get("shape")
    if shape is None or letter not in rule.results[0] or tuple(shape) != np.shape(whole):
        return call.params
    axis = rule.results[0].index(letter)
    sizes = (*shape[:axis], int(shape[axis] * share), *shape[axis + 1 :])
    return {**call.params, "shape": sizes}


def close(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two results are equal but for rounding."""
    if one.shape != other.shape:
        return False
    if one.dtype.kind not in "fc":
        return np.array_equal(one, other)
    tolerance = 1e-12 if one.dtype.char in "dD" else 1e-3 if one.dtype.char == "e" else 1e-5
    return np.allclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=True)


def wrong(call: Call, rule: AxisRule, letter: str) -> str | None:
    """What is wrong with a letter; "" where an axis is too short to say."""
    whole = results_of(rule, call.result)
    sizes = [*pairs(rule.operands, call.operands), *pairs(rule.results, whole)]
    units = math.gcd(*[size for one, size in sizes if one == letter])
    if units < 2:
        return ""
    made = []
    for part in (slice(0, 1), slice(1, units)):
        operands = [
            cut(letter, *pair, part, units)
            for pair in zip(rule.operands, call.operands, strict=True)
        ]
        share = (part.stop - part.start) / units
        params = block_params(call, rule, letter, whole[0], share)
        try:
            made.append(results_of(rule, call._replace(params=params).on(*operands)))
        except (ValueError, IndexError, TypeError, np.linalg.LinAlgError) as error:
            return str(error)
    for word, result, *parts in zip(rule.results, whole, *made, strict=True):
        if letter in word:
            joined = np.concatenate(parts, axis=word.index(letter))
        else:
            joined = getattr(np, rule.combine)(*parts)
        if not close(result, joined):
            return f"{letter} of {rule}: {joined} is not {result}"
    return None


def probed() -> Iterator[tuple[Call, AxisRule, str]]:
    """All letters of all calls of ops that have a rule."""
    for name, op in OPS.items():
        for call in calls().get(name, []):
            rule = rule_of(call._replace(op=op))
            if rule is not None:
                for letter in sorted({*"".join((*rule.operands, *rule.results))} - {"_"}):
                    yield call, rule, letter


def test_blocks_make_what_the_whole_makes() -> None:
    with quiet():
        found = {
            f"{call.op.name}: {problem}"
            for call, rule, letter in probed()
            if (problem := wrong(call, rule, letter))
        }
    assert found == set()
