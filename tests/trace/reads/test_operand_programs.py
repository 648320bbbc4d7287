"""Random programs that read large arrays besides their argument: whether these are compared or not,
no answer is stale."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import by_day

SIZE = 10_000
X = np.linspace(0.1, 0.2, SIZE)
# What only combines: `t` is made from the argument, `b` is anything.
COMBINING = [
    "{t} + {b}", "{b} - {t}", "{t} * {b}", "{b} / ({t} * 0.1 + 2.0)", "np.maximum({t}, {b})",
    "np.tanh({t}) + {b}", "-{t} * {b}", "({t} > {b}) * {t}", "{t}.sum() * {t} + {b}",
    "np.sum(x) * {t}", "{t} * len({b}) + {b}", "{t} * {b}.shape[0]", "{t} @ {b} * x",
    "np.dot({t}, {b}) + x", "{b}.T * {t}", "{t}.dot({b}) * {t}", "{t} * 2 + {b} * {t}",
]  # fmt: skip
# What may do more: `a` and `b` are anything, `c` is an array that is captured.
READING = [
    "{a} + {b}", "{a} * {b}", "np.where({a} > {b}, {a}, {b})", "np.sum({a}) * {b}",
    "{a}[0] * {b}", "({a} if np.ndim({b}) == 1 else x) * {b}", "helper({a}) * helper({b})",
    "(lambda v: v * {a})({b})", "np.stack([{a}, {b}])[0]", "{a} * float({c}[3])",
    "{a} * {c}.mean()", "np.concatenate([{a}, {b}])[:10000] * x", "{a} ** 2 + {b}",
]  # fmt: skip
FORMS = [
    "{v} = {e}", "{v} = {e}", "{v} = {e}",
    "if np.sum(x) > {s}:\n        {v} = {e}\n    else:\n        {v} = x * 2.0",
    "for _ in range(2):\n        {v} = {e}",
    "try:\n        {v} = {e}\n    except ValueError:\n        {v} = x",
]  # fmt: skip


def program(seed: int) -> str:
    """The text of a function f of x, which reads W and V."""
    pick = random.Random(seed)
    names = ["x", "W", "V"]

    def expression() -> str:
        made = [name for name in names if name not in "WV"]
        if pick.random() < 0.9:
            return pick.choice(COMBINING).format(t=pick.choice(made), b=pick.choice(names))
        a, b, c = pick.choice(names), pick.choice(names), pick.choice("WV")
        return pick.choice(READING).format(a=a, b=b, c=c)

    lines = []
    for k in range(pick.randint(1, 5)):
        value, name = expression(), pick.choice([f"y{k}", "x", "z"])
        sign = pick.choice([-1e9, 1e9, 0])
        lines.append(pick.choice(FORMS).format(v=name, e=value, s=sign))
        names.append(name)
    lines.append(f"return {expression()}")
    return "def helper(v):\n    return v * W\n\ndef f(x):\n    " + "\n    ".join(lines) + "\n"


def check(seed: int) -> bool:
    """Compare a program with Python while what it reads changes; whether nothing is compared at a
    call."""
    pick = random.Random(seed)
    space: dict[str, Any] = {"np": np, "W": np.linspace(1, 2, SIZE), "V": np.linspace(2, 1, SIZE)}
    exec(compile(program(seed), f"<program {seed}>", "exec"), space)
    python = space["f"]
    f = tj.function(python, cache=False)
    try:
        f(X.copy())
    except tj.TracejitError:
        return False
    for place in (0, 7, SIZE - 1):
        for name in "WV":
            space[name][place] += pick.choice([1.0, -5.0, 100.0])
            np.testing.assert_allclose(
                f(X.copy()), python(X.copy()), rtol=1e-8, err_msg=program(seed)
            )
    return "compared" not in f.explain()


def test_no_answer_of_a_random_program_is_stale() -> None:
    count = by_day(20, 60)
    assert count // 6 < sum(map(check, range(count))) < count


@pytest.mark.nightly
def test_no_answer_of_many_random_programs_is_stale() -> None:
    assert 300 < sum(map(check, range(100, 1600))) < 1500
