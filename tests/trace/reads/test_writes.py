"""Functions of the user's that write attributes run as in Python, and are what a kernel depends
on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.convert.running import define

X = np.array([1.5, 2.5])
HEAD = """
import dataclasses
import numpy as np
k = 2.0
class P:
    def __init__(self): self._v, self.n = 1.0, 0
    @property
    def v(self): return self._v
    @v.setter
    def v(self, value): self._v = value * k
    @v.deleter
    def v(self): self._v = k + 10
class H:
    def __setattr__(self, name, value): super().__setattr__(name, value * k)
    def __delattr__(self, name): object.__delattr__(self, name); self.__dict__["gone"] = k
class D:
    def __get__(self, o, cls): return o.__dict__.get("d", 1.0) * 2
    def __set__(self, o, value): o.__dict__["d"] = value * k
class O: d = D()
class F:
    def __setattr__(self, name, value): raise AttributeError(name)
    def __init__(self, a): object.__setattr__(self, "a", a * k)
o = {kind.__name__: kind() for kind in (P, H, O)}
p, h, c = o.values()
"""


@pytest.mark.parametrize(
    "text, most",
    [
        ("def f(x): p.v = 3.0; return x * p.v", 2),
        ("def f(x): setattr(p, 'v', 3.0); return x * p.v", 2),
        ("def f(x): del p.v; return x * p.v", 2),
        ("def f(x): p.n += 1; p.v = 2.0; return x * p.v * p.n", 2),
        ("def f(x): h.t = 3.0; return x * h.t", 2),
        ("def f(x): object.__setattr__(p, 'n', p.n + 1); return x * p.n", 2),
        ("def f(x): c.d = 3.0; return x * c.d", 2),
        ("def f(x): return x * F(2.0).a", 2),
        ("def f(x): q = P(); q.v = x; q.v += 1; return q.v", 2),
        ("def f(x): q = H(); q.t = x; del q.t; return x * q.gone", 2),
    ],
)
def test_objects_are_as_after_python(text: str, most: int) -> None:
    """A kernel serves until `k` is another number."""
    mine, twin = define(HEAD + text), define(HEAD + text)
    compiled = tj.function(mine["f"])
    for number in (2.0, 2.0, 5.0, 5.0):
        mine["k"] = twin["k"] = number
        np.testing.assert_array_equal(compiled(X), twin["f"](X))
        for name, one in mine["o"].items():
            assert vars(one) == vars(twin["o"][name])
    assert len(compiled.kernels) <= most


def test_errors_of_python_stay() -> None:
    module: Any = define(
        """
        class C:
            @property
            def v(self): return 1.0
        class B:
            def __bool__(self): return 2
        c, b = C(), B()
        def store(x): c.v = x
        def drop(x): del c.none
        def ask(x): return x if b else 2 * x
        """
    )
    for name in ("store", "drop", "ask"):
        with pytest.raises((AttributeError, TypeError)) as found:
            tj.function(module[name])(X)
        with pytest.raises(found.type) as wanted:
            module[name](X)
        assert str(found.value) == str(wanted.value)
