"""Conditions compiled to a function for each module."""

from __future__ import annotations

import builtins

import numpy as np
import pytest

from tests.convert.running import define
from tests.trace.reads.running import recorded
from tracejit.trace.guards.access_paths import NAME, AccessPath
from tracejit.trace.guards.check import compiled
from tracejit.trace.guards.conditions import Condition
from tracejit.trace.guards.guards import HasContents, Is


def test_no_conditions_are_no_function() -> None:
    assert compiled([]) is None


def test_globals_are_read_as_the_module_reads_them() -> None:
    space = define("k = 2.0")
    name = AccessPath(AccessPath(space), NAME, "k")
    builtin = AccessPath(AccessPath(space), NAME, "len")
    guard = compiled([Condition(name, Is(space["k"])), Condition(builtin, Is(len))])
    assert guard is not None
    assert guard()
    space["len"] = max
    assert not guard()
    del space["len"]
    assert guard()
    del space["k"]
    assert not guard()


def test_a_name_that_guards_use_themselves() -> None:
    space = define("value = [1]\ndef f(x): return x * value[0]")
    kernel = recorded(space["f"], 1.0)
    assert kernel.holds()
    space["value"][0] = 2
    assert not kernel.holds()


def test_each_module_has_a_function() -> None:
    other = define("k = 2.0\ndef g(x): return x * k")
    mine = define("k = 3.0\ndef f(x): return g(x) + k", g=other["g"])
    kernel = recorded(mine["f"], 1.0)
    for space, old in ((other, 2.0), (mine, 3.0)):
        space["k"] = 5.0
        assert not kernel.holds()
        space["k"] = old
        assert kernel.holds()


def test_contents_come_last() -> None:
    space = define("def f(x): return float((w * 2).sum()) * k", w=np.ones(3), k=2.0)
    guard = recorded(space["f"], 1.0).guard
    assert guard is not None
    assert isinstance(guard.conditions[-1].guard, HasContents)


def test_a_builtin_that_is_patched(monkeypatch: pytest.MonkeyPatch) -> None:
    space = define("def f(x): return x * abs(-2.0)")
    kernel = recorded(space["f"], 1.0)
    assert kernel.holds()
    monkeypatch.setattr(builtins, "abs", lambda v: 7.0)
    assert not kernel.holds()
