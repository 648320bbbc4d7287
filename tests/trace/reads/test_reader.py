"""Guards of what was read: no kernel is stale, and few are recorded without need."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import by_day
from tests.convert.running import define
from tests.rows import each_row
from tests.trace.reads.random_reads import compare
from tests.trace.reads.read_programs import PROGRAMS
from tests.trace.reads.running import recorded, steps
from tracejit.trace.convert.routes import observed, routed
from tracejit.trace.reads.reader import Reader

# So far arrays are compared by contents, and the defaults of a function and the fields of a tuple
# all count.
RECORDED_AGAIN = frozenset(
    """
    array_in_attr_rebound array_in_dict array_operand_in_place array_view default_not_used
    layer_objects namedtuple
    """.split()
)


@each_row("name", sorted(PROGRAMS))
def test_no_kernel_is_stale(name: str) -> None:
    for step in steps(*PROGRAMS[name]):
        assert step.python == step.found, (name, step.change, step.is_recorded)


@each_row("name", sorted(PROGRAMS.keys() - RECORDED_AGAIN))
def test_what_was_not_read_is_not_recorded_again(name: str) -> None:
    for step in steps(*PROGRAMS[name]):
        assert not (step.change.startswith("!") and step.is_recorded), (name, step.change)


@pytest.mark.parametrize("first", range(0, by_day(40, 0), 20))
def test_random_functions(first: int) -> None:
    for seed in range(first, first + 20):
        assert not compare(seed, calls=8, writes=seed % 2 == 1).wrong


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(1000, 3500, 100))
def test_many_random_functions(first: int) -> None:
    for seed in range(first, first + 100):
        assert not compare(seed, calls=20, writes=seed % 2 == 1).wrong


ELEMENTS = """
table, row = {"a": 2.0, 1: 3.0, "n": None}, [1.0, 2.0, 3.0]
def f(x): return x * body()
"""


@each_row(
    "body",
    [
        "table['a'] + table['a'] + table.get('a') + ('a' in table)",
        "table.get('z', 5.0) + table.get('z', 7.0) + ('z' in table)",
        "row[0] + row[0] + row[-1] + row[-1] + len(row) + len(row)",
        "table[1] + table[True]",
        "row[True] + row[1]",
        "row[0] + (row.append(4.0) or row[-1]) + row[0] + row.pop()",
        "row[1] + (row.insert(0, 9.0) or row[1]) + row.pop(0) + row[1]",
        "row[2] + row[2] + (row.reverse() or row[2]) + (row.reverse() or row[2])",
        "table['a'] + (table.update(a=5.0) or table['a']) + table['a']",
        "table.get('z', 1.0) + (table.setdefault('z', 6.0)) + table['z'] + table.pop('z')",
        "table['a'] + (table.__setitem__('a', 8.0) or table['a']) + table.get('a')",
    ],
)
def test_elements_that_are_read_twice(body: str) -> None:
    text = f"{ELEMENTS}def body(): return {body}"
    mine, twin = define(text), define(text)
    compiled = tj.function(mine["f"])
    for change in ("", "table['a'] = 4.0", "row[0] = 7.0", "table['z'] = 2.0", "row.append(0.5)",
                   "row[1] = row[-1] = 0.25", "table[1] = 6.0", "del table['z']", ""):  # fmt: skip
        for module in (mine, twin):
            exec(f"try: {change or 'pass'}\nexcept KeyError: pass", module)
        assert repr(compiled(np.float64(2.0))) == repr(twin["f"](np.float64(2.0))), (body, change)
        assert (mine["table"], mine["row"]) == (twin["table"], twin["row"]), (body, change)


def test_an_element_that_was_noted_is_read_as_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    read = Reader.read

    def noting(self: Any, holder: Any, *place: Any) -> Any:
        asked.append(place[1])
        return read(self, holder, *place)

    monkeypatch.setattr(Reader, "read", noting)
    module = define(f"{ELEMENTS}def body(): return table['a'] + table['a'] + table.get('a')")
    assert tj.function(module["f"])(np.float64(2.0)) == 12.0
    assert asked.count("a") == 1


def test_each_value_is_noted_once() -> None:
    module = define(
        """
        k = 2.0
        def f(x): return x * k + k + sum(k for _ in range(3))
        """
    )
    guard = recorded(module["f"], 1.0).guard
    assert guard is not None
    values = [one for one in guard.conditions if one.path.argument == "k"]
    assert len(values) == 1
    module["k"] = 2.5
    assert not guard()


def test_weak_references_do_not_keep_alive() -> None:
    module = define(
        """
        import weakref
        class A: k = 2.0
        a = A()
        r = weakref.ref(a)
        def f(x): return x * r().k
        """
    )
    kernel = recorded(module["f"], 1.0)
    gone = weakref.ref(module["a"])
    assert kernel.holds()
    del module["a"]
    gc.collect()
    assert gone() is None
    assert not kernel.holds()


def test_a_recording_lets_go_of_what_it_has_made() -> None:
    module = define(
        """
        class A: pass
        made = []
        def f(x):
            a = A()
            made.append(a)
            a.k = x
            return a.k * 2
        """
    )
    kernel = recorded(module["f"], 1.0)
    gone = weakref.ref(module["made"].pop())
    gc.collect()
    assert gone() is None
    assert kernel.guard is not None


@each_row(
    "what, text",
    [
        ("eval()", "def f(x): return eval('x')"),
        ("exec()", "def f(x): exec('1'); return x"),
        ("a generator of random numbers", "def f(x): return x * g.random()"),
    ],
)
def test_what_cannot_be_told_is_refused(what: str, text: str) -> None:
    head = "import numpy as np\ng = np.random.default_rng(1)\n"
    found: Any = recorded(define(head + text)["f"], 1.0)
    assert found.refused == what
    assert not found.holds()


def test_converted_code_is_equal_for_all_recordings() -> None:
    function = define("def f(x): return x.k > 1")["f"]
    codes = []
    for _ in range(2):
        with observed(Reader), routed(function) as converted:
            codes.append(converted.__code__)
    assert codes[0] == codes[1]
