"""Statements that may run for both outcomes: they do what Python does where the operators are its
own, and where both sides run, one after the other."""

from __future__ import annotations

import ast
import sys
from typing import Any

import pytest

from tests.convert.running import converted, define, lines_of, outcome, without_columns
from tracejit.convert.branches import with_branches
from tracejit.convert.converter import Converter
from tracejit.convert.glue import UNBOUND
from tracejit.convert.operators import PLAIN, Operators

# Each `f` gets a number from 0 to 8, and computes.
FORMS = {
    "list of choices": (
        "def f(n):\n k = 7\n x = [k + 1 if k > n else n for k in range(k)]\n return x, k"
    ),
    "sum of choices": (
        "def f(n):\n return 1 + sum(-j if k > n else j for j, k in enumerate(range(n)))"
    ),
    "most of choices": (
        "def f(n):\n return max([n, 3 if n else 4][k] if k < n else k for k in (0, 1))"
    ),
    "own sum of choices": (
        "def f(n):\n def sum(x): return next(x)\n"
        " return sum(k if n > 3 else 9 for k in (n,))"
    ),
    "choices among choices": (
        "def f(n):\n return [[j if j > k else n for j in range(2)] if k else 1 for k in (0, 1)]"
    ),
    "asserted": (
        "def f(n):\n assert n > 2 and 0 < n < 7, n\n assert not (n == 4 or n == 5)\n return n"
    ),
    "raised": (
        "def f(n):\n if n < 3: raise KeyError(n)\n elif n > 6: pass\n else: raise ValueError\n"
        " return n"
    ),
    "if": "def f(n):\n x = 1\n if n > 3:\n  x = n\n return x",
    "else": "def f(n):\n if n > 3:\n  x = n\n else:\n  x = -n\n return x",
    "elif": (
        "def f(n):\n x = 0\n if n > 6: x = 1\n elif n > 3: x = 2\n elif n > 1: x = 3\n"
        " return x"
    ),
    "nested": "def f(n):\n x = y = 0\n if n > 2:\n  y = 1\n  if n > 4:\n   x = y + n\n return x, y",
    "own name": "def f(n):\n x = 0\n if n > 3:\n  t = n * 2\n  x = t\n return x",
    "conditional": "def f(n):\n x = 2 * (n if n > 3 else -n) + 1\n return x",
    "conditionals": "def f(n): return (1 if n > 5 else 2 if n > 2 else 3), [4 if n else 5]",
    "order": "def f(n): return [n.bit_length(), 1 if n > 3 else 2, n.bit_length()]",
    "return": "def f(n):\n if n > 3: return 'large'\n if n < 2: return 'small'\n return n",
    "return else": "def f(n):\n if n > 3: return 1\n else: return 2",
    "no return": "def f(n):\n if n > 3:\n  return 1",
    "and": "def f(n):\n x = 0\n if n > 2 and n < 6: x = 1\n return x",
    "or": "def f(n):\n x = 0\n if n < 2 or 9 // n < 2: x = 1\n return x",
    "not": "def f(n):\n x = 0\n if not n > 4: x = 1\n return x",
    "chain": "def f(n):\n x = 0\n if 2 < n < 6: x = 1\n return x",
    "parts": "def f(n):\n x = 0\n if (n > 6 or n < 2) and not n == 1: x = 1\n return x",
    "while": "def f(n):\n s = 0\n while n > 2:\n  s += n\n  n -= 1\n return s, n",
    "while and": "def f(n):\n s = 0\n while n > 0 and s < 9:\n  s += n\n  n -= 1\n return s, n",
    "while true": "def f(n):\n while True:\n  n += 3\n  if n > 9: break\n return n",
    "break": "def f(n):\n while n > 0:\n  n -= 2\n  if n == 3: break\n  n += 1\n return n",
    "while else": "def f(n):\n while n > 3:\n  n -= 1\n else:\n  n = 100 + n\n return n",
    "continue": (
        "def f(n):\n s = 0\n while n > 0:\n  n -= 1\n  if n % 2: continue\n  s += n\n"
        " return s"
    ),
    "for": "def f(n):\n s = 0\n for k in range(n):\n  if k == 4: break\n  s += k\n return s",
    "for continue": (
        "def f(n):\n s = 0\n for k in range(n):\n  if k % 3: continue\n  s += k\n"
        " return s"
    ),
    "for else": (
        "def f(n):\n for k in range(5):\n  if k == n: break\n else:\n  return -1\n"
        " return k"
    ),
    "for else return": (
        "def f(n):\n for k in range(5):\n  if k == n: return 'found'\n  if k > 3: break\n"
        " else: k = -1\n return k"
    ),
    "else after return": (
        "def f(n):\n for k in range(5):\n  if k == n: return 1\n else: n = -n\n return n"
    ),
    "while else break": (
        "def f(n):\n while n > 0:\n  n -= 2\n  if n == 3: break\n else: n = 100 + n\n return n"
    ),
    "else raises": (
        "def f(n):\n for k in range(5):\n  if k == n: break\n else: raise ValueError(n)\n return k"
    ),
    "for return": "def f(n):\n for k in range(5):\n  if k == n: return k * 10\n return -1",
    "while return": "def f(n):\n while n < 9:\n  if n == 5: return 'five'\n  n += 2\n return n",
    "nested loops": (
        "def f(n):\n s = 0\n for i in range(3):\n  for j in range(n):\n"
        "   if j > i: break\n   s += j\n return s"
    ),
    "target": "def f(n):\n for k, m in enumerate([3, 1, 2]):\n  if m < n: break\n return k, m",
    "iterator": (
        "def f(n):\n numbers = iter(range(9))\n for k in numbers:\n  if k >= n: break\n"
        " return list(numbers)"
    ),
    "comprehension": (
        "def f(n):\n k = 7\n while n > 2:\n  n -= sum([k for k in (1, 1)])\n return n, k"
    ),
    "same name of a global": (
        "k = 5\ndef f(n):\n while n > 2:\n  n -= sum([k for k in (1, 1)])\n return n, k"
    ),
    "global": "g = 0\ndef f(n):\n global g\n while n > 2:\n  n -= 1\n  g = n\n return g",
    "nonlocal": (
        "def f(n):\n g = 0\n def h():\n  nonlocal g\n  while g < n:\n   g = g + 3\n h()\n"
        " return g"
    ),
    "walrus": "def f(n):\n if (m := n - 3) > 0:\n  n = m\n return n, m",
    "augmented": "def f(n):\n x = [1, 2]\n if n > 3:\n  x[0] += n\n return x",
    "items": "def f(n):\n x = [1, 2]\n if n > 3: x[0] = n\n else: x[1] = n\n return x",
    "generator": "def g(n):\n while n > 3:\n  yield n\n  n -= 1\ndef f(n): return list(g(n))",
    "try": (
        "def f(n):\n try:\n  if n > 3: n = 1 // (n - 5)\n except ZeroDivisionError:\n"
        "  n = 'zero'\n return n"
    ),
    "finally": "def f(n):\n try:\n  if n > 3: return 1\n finally:\n  n = 2\n return n",
    "with": (
        "from contextlib import nullcontext\ndef f(n):\n with nullcontext(n) as m:\n"
        "  if m > 3: m = 0\n return m"
    ),
    "raise": "def f(n):\n if n > 3: raise ValueError(n)\n return n",
    "assert": "def f(n):\n if n > 3:\n  assert n < 6, n\n return n",
    "match": (
        "def f(n):\n match n:\n  case 1 | 2:\n   if n > 1: n = 20\n  case _:\n   n = -n\n"
        " return n"
    ),
    "lambda": "f = lambda n: 1 if n > 3 else 2",
    "recursion": "def f(n): return 1 if n < 2 else n * f(n - 1)",
    "is": "def f(n):\n m = n\n if m is n: m = 1\n return m",
    "locals": "def f(n):\n if n > 3: x = 1\n return sorted(locals())",
}  # fmt: skip

# They end with a name that is not bound, on some ways.
UNBOUND_NAMES = {
    "side": "def f(n):\n if n > 3:\n  x = 1\n return x",
    "loop": "def f(n):\n while n > 3:\n  x = n\n  n -= 1\n return x",
    "loop that is left": "def f(n):\n for k in range(n):\n  x = k\n  if k > 2: break\n return x",
    "target": "def f(n):\n for k in range(n):\n  if k > 2: break\n return k",
    "deleted": "def f(n):\n x = 1\n if n > 3:\n  del x\n return x",
    "global of that name": "x = 9\ndef f(n):\n while n > 3:\n  x = n\n  n -= 1\n return x",
}


def plain() -> Converter:
    return Converter(PLAIN)


class Both:
    """The fork of a condition on plain values, of which both sides run."""

    errors = (ArithmeticError,)
    count = 0

    def __init__(self, test: bool, carried: tuple[Any, ...]) -> None:
        self.test = test
        self.carried = carried

    def other(self, *values: Any) -> tuple[Any, ...]:
        self.first = values
        return (*self.carried, *values[len(self.carried) :])

    def merged(self, *values: Any) -> tuple[Any, ...]:
        Both.count += 1
        return self.first if self.test else values

    def again(self) -> tuple[Any, ...]:
        return self.carried

    def outcome(self) -> bool:
        return self.test


def both() -> Converter:
    def branch(test: Any, where: int, number: int, /, *carried: Any) -> Any:
        return Both(bool(test), carried)

    given = PLAIN.given() | {"branch": branch}
    return Converter(Operators(**given))


@pytest.mark.parametrize("name", FORMS | UNBOUND_NAMES)
def test_each_form_does_what_it_does(name: str) -> None:
    text = (FORMS | UNBOUND_NAMES)[name]
    for n in range(9):
        own, other = define(text)["f"], define(text)["f"]
        found = outcome(converted(own, plain()), n)
        assert without_columns(found) == without_columns(outcome(other, n)), n


@pytest.mark.parametrize("name", sorted(FORMS.keys() - {"items", "augmented", "assert"}))
def test_both_sides_run_from_what_was_before(name: str) -> None:
    """A side that raises where it is not taken gives up; one that writes to elements is told of by
    who follows the writes."""
    function = define(FORMS[name])["f"]
    new = converted(define(FORMS[name])["f"], both())
    for n in range(9):
        assert outcome(new, n)[:2] == outcome(function, n)[:2], n


FORKED = (
    "if", "else", "elif", "nested", "own name", "conditional", "return", "return else", "no return",
    "and", "or", "not", "chain", "parts", "break", "continue", "for", "for continue", "for return",
    "while return", "while true", "for else", "for else return", "while else break",
)  # fmt: skip


@pytest.mark.parametrize("name", FORKED)
def test_these_may_fork(name: str) -> None:
    new, before = converted(define(FORMS[name])["f"], both()), Both.count
    new(5)
    assert Both.count > before


STAY = {
    "raise": FORMS["raise"],
    "is between names": FORMS["is"],
    "locals": FORMS["locals"],
    "with on a side": "def f(n):\n x = 0\n if n > 3:\n  with open: pass\n  x = 1\n return x",
    "import on a side": "def f(n):\n x = 0\n if n < 3:\n  import math\n  x = 1\n return x",
    "name of one side": UNBOUND_NAMES["side"],
    "global": "g = 0\ndef f(n):\n global g\n if n > 3: g = n\n return g",
    "suspends": "def f(n):\n if n > 3: n = yield n\n return n",
    "none": "def f(n):\n x = 0\n if n is None: x = 1\n return x",
    "isinstance": "def f(n):\n x = 0\n if isinstance(n, int): x = 1\n return x",
    "text": "def f(n):\n x = 0\n if n == 'a': x = 1\n return x",
}


@pytest.mark.parametrize("name", STAY)
def test_these_stay_as_they_are_written(name: str) -> None:
    new, before = converted(define(STAY[name])["f"], both()), Both.count
    outcome(new, 2)
    assert Both.count == before


def test_a_name_that_one_side_reads_alone_is_nothing_on_the_other() -> None:
    given: list[Any] = []

    class Noting(Both):
        def merged(self, *values: Any) -> tuple[Any, ...]:
            given.append((self.first, values))
            return super().merged(*values)

    def branch(test: Any, where: int, number: int, /, *carried: Any) -> Any:
        return Noting(bool(test), carried)

    text = "def f(n):\n for k in range(3):\n  if k == n: return k * 10\n return -1"
    new = converted(define(text)["f"], Converter(Operators(**PLAIN.given() | {"branch": branch})))
    assert new(1) == 10
    assert any(UNBOUND in values for pair in given for values in pair)


def test_a_side_that_fails_is_taken_back() -> None:
    text = (
        "def f(n):\n x = y = 0\n if n > 3:\n  x = 1\n  y = 6 // (n - 3)\n else: x = 2\n return x, y"
    )
    new = converted(define(text)["f"], both())
    before = Both.count
    assert new(3) == (2, 0)
    assert Both.count == before
    assert new(5) == (1, 3)


ON_LINES = {
    "if": FORMS["if"],
    "else": FORMS["else"],
    "nested": FORMS["nested"],
    "elif": "def f(n):\n if n > 6:\n  x = 1\n elif n > 3:\n  x = 2\n else:\n  x = 3\n return x",
    "while": FORMS["while"],
    "continue": "def f(n):\n for k in range(n):\n  if k % 2:\n   continue\n  n += k\n return n",
}


@pytest.mark.parametrize("name", ON_LINES)
def test_debuggers_see_the_lines_of_the_user(name: str) -> None:
    function = define(ON_LINES[name])["f"]
    filename = function.__code__.co_filename
    new = converted(function, plain())
    for n in range(9):
        assert lines_of(new, n, filename) == lines_of(function, n, filename)


@pytest.mark.parametrize("name", FORMS)
def test_no_line_runs_that_python_does_not_run(name: str) -> None:
    """Debuggers may stop at one of them again, and at the line of the `def`."""
    function = define(FORMS[name])["f"]
    filename = function.__code__.co_filename
    new = converted(function, plain())
    for n in range(9):
        found, wanted = ({*lines_of(one, n, filename)} for one in (new, function))
        assert found - {function.__code__.co_firstlineno} <= wanted <= found


def steps_of_rewriting(text: str) -> int:
    """The number of calls, of functions of Python and of C, by which a function is rewritten."""
    function = ast.parse(text).body[0]
    count = 0

    def counted(_frame: Any, event: str, _: Any) -> None:
        nonlocal count
        count += event.endswith("call")

    sys.setprofile(counted)
    try:
        with_branches(function, 1)
    finally:
        sys.setprofile(None)
    return count


def in_one_another(header: str, depth: int, inside: str) -> str:
    """Statements inside as many of a kind."""
    headers = [" " * level + header.format(k=level) for level in range(1, depth + 1)]
    return "".join(headers) + "".join(" " * depth + line for line in inside.splitlines(True))


COUNTED = {
    "ifs": " if n > {k}: x = {k}\n",
    "new names": " x{k} = n\n if n > {k}:\n  y{k} = x{k}\n  x{k} = y{k}\n",
    "returns": " if n > {k}: return x\n",
    "choices": " x = {k} if n > {k} else x\n",
    "parts": " if n > {k} and n < x or n == 0: x = {k}\n",
    "while": " while n > {k}: n -= 1\n",
    "for": " for i in range(n):\n  if i > {k}: break\n",
    "while, left": " while n > {k}:\n  x{k} = n\n  n -= 1\n  if n == x{k}: break\n",
    "in a loop": "  if n > {k}: x = {k}\n",
    "loops in a loop": "  while n > {k}:\n   y{k} = n\n   n -= 1\n",
    "stores": " if n > {k}: x[{k}] = n\n",
}
DEEP = {
    "ifs": "if n > {k}:\n",
    "loops": "while n > {k}:\n",
    "loops over elements": "for i{k} in x:\n",
}


@pytest.mark.parametrize("name", COUNTED)
def test_the_time_is_that_of_the_text(name: str) -> None:
    start = "def f(n):\n x = 0\n" + " while n < 9:\n" * name.startswith(("in a", "loops in"))
    few, many = (
        steps_of_rewriting(start + "".join(COUNTED[name].format(k=k) for k in range(count)))
        for count in (40, 160)
    )
    assert many < 4.2 * few


@pytest.mark.parametrize("name", DEEP)
def test_the_time_does_not_grow_with_the_depth(name: str) -> None:
    """A statement inside many others is looked at no more often."""
    inside = "".join(f" if n > {k}: x = {k}\n" for k in range(40))
    flat, deep = (
        steps_of_rewriting("def f(n):\n x = 0\n" + in_one_another(DEEP[name], depth, inside))
        for depth in (1, 9)
    )
    assert deep < 1.5 * flat


def test_a_deep_function_is_converted() -> None:
    text = "def f(n):\n x = 0\n"
    for depth in range(1, 19):
        text += " " * depth + f"if n > {depth - 9}:\n"
    text += " " * 19 + "x = n\n return x"
    function = define(text)["f"]
    new = converted(function, both())
    assert [new(n) for n in range(12)] == [function(n) for n in range(12)]
