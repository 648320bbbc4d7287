"""Control flow that is rewritten does what it did, on values that Python knows."""

from __future__ import annotations

from typing import Any

import pytest

from tests.by_day import by_day
from tests.convert.branch_programs import branch_program
from tests.convert.running import converted, define, outcome, without_columns
from tracejit.convert.converter import Converter
from tracejit.convert.operators import PLAIN, Operators

CONTROL_FLOW = Operators(
    branch=PLAIN.branch,
    ask=PLAIN.ask,
    check=PLAIN.check,
    flag=PLAIN.flag,
    turns=PLAIN.turns,
    rounds=PLAIN.rounds,
)


def check(text: str) -> None:
    log: list[Any] = []
    plain = define(text, log=log)["f"]
    expected, effects = without_columns(outcome(plain, 2)), list(log)
    for operators in (CONTROL_FLOW, PLAIN):
        log.clear()
        function = define(text, log=log)["f"]
        with Converter(operators, calls=operators is PLAIN) as converter:
            found = without_columns(outcome(converted(function, converter), 2))
        assert "generator" in found if "generator" in expected else found == expected, text
        assert log == effects, text


@pytest.mark.parametrize("seed", range(by_day(20, 400)))
def test_random_programs(seed: int) -> None:
    check(branch_program(seed))


PROGRAMS = {
    "a negated test asks each part once": """
        class Truth:
            def __bool__(self): log.append('asked'); return True
        def f(x):
            while not (Truth() and Truth()):
                pass
            return x if not (Truth() or x) else 5
    """,
    "names that are bound in statements that never run are of the function": """
        d = 3
        def f(x):
            for k in range(3):
                if k > 0:
                    break
                    d = 1
            return d
    """,
    "a yield that never runs makes a generator": """
        def f(x):
            for k in range(3):
                if k > x:
                    break
                    yield
    """,
    "a class in a loop": """
        def f(x):
            while x < 5:
                class C:
                    y = x
                x += 1
            return x
    """,
    "the iterable of a loop is gone where it is left": """
        def each():
            try:
                yield 1
                yield 2
            finally: log.append('closed')
        def f(x):
            for k in each():
                if k < x:
                    break
            log.append('after')
    """,
    "what was chosen is gone where Python lets it go": """
        class Box:
            def __del__(self): log.append('gone')
        def f(x):
            box = Box() if x > 1 else None
            box = None
            log.append('after')
            for box in (Box() for _ in range(2)):
                box = None
                log.append('step')
                if x > 5: break
    """,
    "an annotation alone binds nothing": """
        def f(x):
            y: float
            if x > 1:
                y = x * 2
            else:
                y = x
            z: int
            for k in range(2):
                z = k
            return y, z
    """,
    "a name that is read before any step has bound it": """
        def f(x):
            for k in range(2):
                if x > 2:
                    break
                log.append(d)
                d = 1
            return d
    """,
    "a name that no step has bound where one raises": """
        def f(x):
            try:
                while x > 0:
                    if x > 5: break
                    x = x // 0
                    d = x
            except ZeroDivisionError:
                return d
    """,
    "a variable of a comprehension with the name of another": """
        def f(x):
            y = [1, 2]
            for k in range(2):
                if k > 0:
                    y = [y for y in y]
                else:
                    y = [y + k for y in y if y > 1]
            return y
    """,
    "a name that a step has unbound": """
        def f(x):
            d = 1
            for k in range(2):
                if k < x:
                    del d
                    break
            if x > 1:
                d, a = 2, 1
            return d
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    check(PROGRAMS[name])
