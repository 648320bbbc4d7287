"""Sides of conditions may only compute: what is on the list is recorded for both outcomes, all else
is refused before it is done."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.convert.running import define

HEAD = """
import functools, math, operator, random
import numpy as np
import scipy.special
import tracejit as tj
import tracejit.numpy as tnp
COUNT, LOG, TABLE, ARRAY = 0, [], {"k": 1.0}, np.ones(3)
class Box:
    rate = 0.5
    def __init__(self, n=0.0): self.n = n
    def __enter__(self): LOG.append("in")
    def __exit__(self, *error): LOG.append("out")
    def __call__(self, v): return v * self.rate
    def scaled(self, v): return v * self.rate
    def noted(self, v):
        self.n += 1.0
        return v
    @property
    def double(self): return self.rate * 2.0
    @functools.cached_property
    def kept(self): return self.rate * 3.0
BOX = Box()
def pure(v, k=2.0):
    w = [v, k]
    w.append(v * k)
    return w[-1]
def counting(v):
    global COUNT
    COUNT += 1
    return v
def logging(v):
    LOG.append("logged")
    return v
def choosing(v): return v * 2.0 if v > 2.0 else v
@functools.lru_cache
def remembered(k): return k * 2.0
def numbered(numbers=iter(range(99))): return next(numbers)
"""

# Statements of a side in which `s` is a number, `x` an array, `y` an array that is made before.
COMPUTES = [
    "s = s * 2.0 + x[1]",
    "s = np.sum(x * 2.0, axis=0) + np.add(s, 1.0)",
    "s = tnp.sum(tnp.sin(x)) + tnp.add(s, 1.0)",
    "s = scipy.special.expit(s)",
    "s = math.sqrt(2.0) * s + operator.add(s, 1.0)",
    "s = sum([x[0], x[1]]) + max(x[0], x[1]) + abs(s) + len(x) + float(2)",
    "s = sum([a * b for a, b in zip(x, [1.0, 2.0, 3.0])])",
    "s = sorted([3.0, 1.0])[0] * s + list(map(pure, [1.0]))[0]",
    "s = pure(s) + pure(x[0], k=3.0)",
    "s = choosing(s)",
    "s = BOX.scaled(s) + BOX.rate + BOX(s)",
    "s = BOX.double * s",
    "s = TABLE['k'] * s + TABLE.get('k', 0.0)",
    "s = s * ARRAY[0] + ARRAY.sum() + x.mean() + x.reshape(3, 1)[0, 0]",
    "s = (lambda v: v * 2.0)(s)",
    "made = [1.0]; made.append(s); made[0] = s; s = made[1] + made.pop(0)",
    "made = {'a': s}; made['b'] = 1.0; s = made['a'] + made.setdefault('c', 2.0)",
    "z = x * 1.0; z[0] = s; z += 1.0; s = z.sum()",
    "z = np.zeros(3); z[1] = 2.0; s = s + z.sum()",
    "y[0] = s",
    "y += 1.0",
    "s = s + (2.0 if isinstance(s, int) else 3.0)",
    "for k in range(3): s = s * 0.5 + k",
    "for v in x:\n            if v > 1.0: s = s + v",
    "while s > 1.0: s = s * 0.5",
    "s = tj.grad(lambda v: v * v)(s)",
    "assert len(x) == 3; s = s + 1.0",
]

REFUSES = [
    "s = functools.partial(pure, k=2.0)(s)",
    "made = Box(); made.n = s; s = made.n * 2.0",
    "made = Box(); s = made.noted(s) + made.n",
    "s = tj.cond(s > 2.0, lambda: s, lambda: s * 2.0)",
    "LOG.append(1); s = s + 1.0",
    "TABLE['k'] = 2.0; s = s + 1.0",
    "TABLE.update(k=2.0); s = s + 1.0",
    "del TABLE['k']; s = s + 1.0",
    "BOX.n = 1.0; s = s + 1.0",
    "BOX.n += 1.0; s = s + 1.0",
    "setattr(BOX, 'n', 1.0); s = s + 1.0",
    "s = BOX.noted(s)",
    "s = counting(s)",
    "s = logging(s)",
    "s = s + BOX.kept",
    "s = s + remembered(3)",
    "s = s + numbered()",
    "s = s + next(ITERATOR)",
    "s = s + sum(ITERATOR)",
    "for v in ITERATOR: s = s + v",
    "ARRAY[0] = 2.0; s = s + 1.0",
    "ARRAY.fill(2.0); s = s + 1.0",
    "ARRAY.sort(); s = s + 1.0",
    "np.copyto(ARRAY, 2.0); s = s + 1.0",
    "np.add(1.0, 2.0, out=ARRAY[:1]); s = s + 1.0",
    "np.sin(ARRAY, ARRAY); s = s + 1.0",
    "tnp.sin(ARRAY, ARRAY); s = s + 1.0",
    "scipy.special.expit(ARRAY, ARRAY); s = s + 1.0",
    "np.add.at(ARRAY, 0, 1.0); s = s + 1.0",
    "s = s + random.random()",
    "print(s); s = s + 1.0",
    "s = s + len(str(s))",
    "s = s + len(f'{s}')",
    "s = s + id(x) * 0.0",
    "s = s + (1.0 if x is y else 2.0)",
    "VARIABLE.assign(s); s = s + 1.0",
    "tj.callback(LOG.append, s); s = s + 1.0",
    "exec('pass'); s = s + 1.0",
    "s = s + float(open('/dev/null').read() or 1.0)",
]


def text_of(side: str) -> str:
    lines = side if side.startswith(("for", "while")) else side.replace("; ", "\n        ")
    return f"""{HEAD}
VARIABLE, ITERATOR = tj.Variable(np.zeros(())), iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
def f(x):
    s, y = x[1], x * 1.0
    if x[0] > 0.0:
        {lines}
    return s, y
"""


UP, DOWN = np.array([1.0, 2.0, 3.0]), np.array([-1.0, 2.0, 3.0])


def state_of(module: dict[str, Any]) -> Any:
    """The state of a module that sides could have changed."""
    held = module["VARIABLE"].numpy(), module["ARRAY"], module["LOG"], module["TABLE"]
    return repr((*held, module["COUNT"], vars(module["BOX"]), module["ITERATOR"].__length_hint__()))


@pytest.mark.parametrize("side", COMPUTES)
def test_what_computes_is_recorded_for_both_outcomes(side: str) -> None:
    module, plain = define(text_of(side)), define(text_of(side))
    compiled = tj.function(module["f"])
    for x in (DOWN, UP, DOWN):
        for found, wanted in zip(compiled(x), plain["f"](x), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-14)
    assert compiled.tracing_count == 1, compiled.explain()
    assert state_of(module) == state_of(plain)


@pytest.mark.parametrize("side", REFUSES)
@pytest.mark.filterwarnings("ignore::tracejit.TracejitWarning")
def test_what_does_more_is_not_done_where_it_is_not_taken(
    side: str, capsys: pytest.CaptureFixture[str]
) -> None:
    module = define(text_of(side))
    before = state_of(module)
    compiled = tj.function(module["f"])
    try:
        compiled(DOWN)
    except tj.TracejitError as error:
        assert "Fix:" in str(error)
    assert state_of(module) == before
    assert capsys.readouterr().out == ""


ELSEWHERE = ("random", "print", "id(", "exec", "open", "del")
DONE = [one for one in REFUSES if not any(word in one for word in ELSEWHERE)]


@pytest.mark.parametrize("side", DONE)
@pytest.mark.filterwarnings("ignore::tracejit.TracejitWarning")
def test_what_does_more_is_done_once_where_it_is_taken(side: str) -> None:
    module, plain = define(text_of(side)), define(text_of(side))
    compiled = tj.function(module["f"])
    for x in (UP, DOWN, UP):
        try:
            found = compiled(x)
        except tj.TracejitError as error:
            assert "Fix:" in str(error)
            return
        for one, wanted in zip(found, plain["f"](x), strict=True):
            np.testing.assert_allclose(one, wanted, rtol=1e-14)
        assert state_of(module) == state_of(plain)
