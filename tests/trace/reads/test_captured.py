"""Recordings without a walk before them: what reads find of what is captured, lent and changed."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import by_day
from tests.convert.running import define
from tests.programs import assert_same
from tests.rows import each_row
from tests.sharding.driver import Rows, SplitProgram
from tests.test_captured import X
from tests.trace.reads.random_reads import compare_compiled
from tracejit.trace.capture.captures import Captures


@pytest.fixture
def walks(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The walks that are made from now on."""
    found: list[Any] = []
    begin = Captures.begin

    def counted(self: Captures) -> None:
        found.append(self)
        begin(self)

    monkeypatch.setattr(Captures, "begin", counted)
    return found


HEAD = """
import numpy as np
class Model:
    k = 3.0
    def __init__(self):
        self.n, self.rate, self.w = 0, 0.5, np.ones(3)
        self.table = {"a": 2.0, "b": np.arange(3.0)}
    @property
    def double(self): return self.rate * 2
m = Model()
log = []
"""


@each_row(
    "text",
    [
        "def f(x): return x * m.k + m.w",
        "def f(x): return x * m.double + m.table['b']",
        "def f(x): return sum(v for v in m.table.values()) * x",
        "def f(x): m.n += 1; return x * m.n",
        "def f(x): m.w = m.w - 0.1 * x; return m.w * 2",
        "def f(x): m.last = 1.0; return x",
        "def f(x): return np.mean([x[0], m.rate])",
    ],
)
def test_nothing_is_walked(text: str, walks: list[Any]) -> None:
    mine, twin = define(HEAD + text), define(HEAD + text)
    compiled = tj.function(mine["f"])
    for _ in range(4):
        np.testing.assert_allclose(compiled(X), twin["f"](X), rtol=1e-14)
    assert vars(mine["m"]).keys() == vars(twin["m"]).keys()
    assert not walks


@each_row(
    "name, text, most",
    [
        ("counter", "def f(x): m.n += 1; return x * m.n", 1),
        ("rebound", "def f(x): m.w = m.w - 0.1 * x; return m.w * 2", 1),
        ("two", "def f(x): m.n += 1; m.rate *= 0.9; return x * m.n * m.rate", 1),
        ("read", "def f(x): return x * m.rate", 2),
    ],
)
def test_attributes_that_change_are_read_at_each_call(name: str, text: str, most: int) -> None:
    mine, twin = define(HEAD + text), define(HEAD + text)
    compiled = tj.function(mine["f"])
    for k in range(6):
        if name == "read":
            mine["m"].rate = twin["m"].rate = 0.1 * k
        np.testing.assert_allclose(compiled(X), twin["f"](X), rtol=1e-14)
        for word in ("n", "rate", "w"):
            found, wanted = getattr(mine["m"], word), getattr(twin["m"], word)
            assert type(found) is type(wanted)
            np.testing.assert_allclose(found, wanted, rtol=1e-14)
    assert len(compiled.kernels) == most


def test_arrays_that_the_function_makes_are_told_apart_at_once(walks: list[Any]) -> None:
    """Nothing runs again, which an iterator that has moved on would not allow."""
    text = "rows = iter([1.0, 2.0])\ndef f(x): y = x * next(rows); return y if y is not x else x"
    module = define(text)
    np.testing.assert_array_equal(tj.function(module["f"])(X), X)
    assert not walks


def test_iterators_that_a_function_makes_may_move_on_before_it_raises() -> None:
    text = """
        def f(x):
            rows, more = iter([1.0, 2.0]), (k for k in (3.0, 4.0))
            for row in rows: x = x * row
            for row in more: x = x * row
            raise KeyError("no")
    """
    compiled = tj.function(define(text)["f"])
    for _ in range(2):
        with pytest.raises(KeyError, match="no"):
            compiled(X)


def test_the_rule_of_a_primitive_is_read() -> None:
    """It runs after the recording, where a tape differentiates the call."""
    module = define(
        """
        import numpy as np
        import tracejit as tj
        k = 3.0
        @tj.primitive
        def twice(x): return 2.0 * x
        @tj.register_gradient(twice)
        def rule(op, u): return k * u
        def f(x): return np.sum(twice(x))
        """
    )
    compiled = tj.function(module["f"])
    for k in (3.0, 5.0):
        module["k"] = k
        x = tj.constant(X)
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = compiled(x)
        np.testing.assert_array_equal(tape.gradient(y, x), np.full_like(X, k))


def test_a_kernel_keeps_no_object_alive_that_a_weak_reference_led_to() -> None:
    module = define(HEAD + "import weakref\nr = weakref.ref(m)\ndef f(x): return x * r().rate\n")
    compiled = tj.function(module["f"])
    for rate in (0.5, 0.25):
        module["m"].rate = rate
        np.testing.assert_array_equal(compiled(X), X * rate)
    module["m"] = None
    assert module["r"]() is None
    with pytest.raises(AttributeError):
        compiled(X)


@each_row(
    "text",
    [
        "def f(x): log.append(1); return x * eval('2.0')",
        "def f(x): m.n = m.n + 1; m.table['a'] = 5.0; del m.table['b']; return x * eval('m.n')",
        "def f(x): m.w[1] = 7.0; m.table.pop('a'); return x * eval('m.w')",
        "import heapq\ndef f(x): heapq.heappush(log, 1); return x * eval('2.0')",
        "n = 0\ndef f(x):\n    global n\n    n = n + 1\n    return x * eval('n')",
    ],
)
def test_what_needs_a_walk_begins_again(text: str, walks: list[Any]) -> None:
    mine, twin = define(HEAD + text), define(HEAD + text)
    np.testing.assert_allclose(tj.function(mine["f"])(X), twin["f"](X), rtol=1e-14)
    assert walks
    assert mine["log"] == twin["log"]
    assert mine.get("n") == twin.get("n")
    assert list(mine["m"].table) == list(twin["m"].table)
    assert mine["m"].w.tolist() == twin["m"].w.tolist()
    assert mine["m"].n == twin["m"].n


def test_an_array_is_named_by_where_it_was_found() -> None:
    module = define(HEAD + "def f(x): return x * m.w + m.table['b']")
    compiled = tj.function(module["f"])
    compiled(X)
    assert ".f(x, w, b)" in compiled.kernels[0].source


def test_an_array_that_numpy_has_just_made_is_a_constant() -> None:
    module = define(HEAD + "def f(x): return x[np.arange(6) % x.shape[0], ] * (np.arange(6) + 1)")
    compiled = tj.function(module["f"])
    assert compiled(X).tolist() == module["f"](X).tolist()
    assert ".f(x)" in compiled.kernels[0].source


def test_what_goes_by_frames_sees_the_users(caplog: pytest.LogCaptureFixture) -> None:
    text = """
    import collections, logging, sys, warnings
    def helper(x):
        warnings.warn("old", stacklevel=2)
        return x * 2
    def f(x):
        logging.getLogger("seen").warning("here")
        names.append(sys._getframe().f_code.co_name)
        names.append(collections.namedtuple("P", "a").__module__)
        return helper(x)
    """
    names: list[str] = []
    module = define(text, names=names)
    with warnings.catch_warnings(record=True) as caught, caplog.at_level(logging.WARNING, "seen"):
        warnings.simplefilter("always")
        tj.function(module["f"])(X)
    first = module["f"].__code__.co_firstlineno
    assert names == ["f", module["__name__"]]
    assert [(one.filename, one.lineno) for one in caught] == [
        (module["f"].__code__.co_filename, first + 4)
    ]
    assert [(one.funcName, one.lineno) for one in caplog.records] == [("f", first + 1)]


def test_objects_made_of_arguments_are_the_calls_own() -> None:
    text = """
    import dataclasses
    @dataclasses.dataclass
    class Layer:
        w: object
        k = 2.0
        def __call__(self, x): return x * self.w * self.k
    def f(x, layer): return layer(x)
    """
    module = define(text)
    compiled = tj.function(module["f"])
    for k in (1.0, 2.0, 3.0):
        assert compiled(X, module["Layer"](X * k)).tolist() == (X * X * k * 2.0).tolist()
    assert compiled.tracing_count == 1


@each_row(
    "test",
    ["a is b", "a is not b", "operator.is_(a, b)", "operator.is_not(a, b)", "id(a) == id(b)"],
)
def test_whether_two_arguments_are_one_is_asked_anew(test: str) -> None:
    module = define(f"import operator\ndef f(a, b): return a * 2.0 if {test} else a + b * 10.0")
    compiled = tj.function(module["f"])
    for pair in ((X, X), (X, X.copy()), (X, X), (X, X.copy())):
        assert compiled(*pair).tolist() == module["f"](*pair).tolist()


def test_a_sharded_program_holds_while_what_was_read_is_unchanged() -> None:
    scale = {"by": 2.0}
    recording = SplitProgram(lambda rows: rows.sum() * scale["by"], (Rows(X),)).recording
    assert recording.is_unchanged()
    scale["by"] = 3.0
    assert not recording.is_unchanged()


@each_row(
    "text",
    [
        "def f(x): return x * len(str(x))",
        "def f(x): return x * len(repr(x))",
        "def f(x): return x * len(f'{x}')",
        "def f(x): return x * len('{}'.format(x))",
        "def f(x): return x * len('%s' % x)",
        "def f(x): return x * len(format(x))",
    ],
)
def test_text_of_an_array_is_no_data(text: str) -> None:
    with pytest.raises(tj.TracejitError, match="needs a value"):
        tj.function(define(text)["f"])(X)


def test_a_number_has_the_attributes_of_pythons() -> None:
    def f(value: Any, x: Any) -> Any:
        return x * (2.0 if hasattr(value, "shape") else 3.0) * getattr(value, "ndim", -1)

    compiled = tj.function(f)
    for value in (1.0, 2.0, 3.0, 4, 5, 6):
        assert compiled(value, X).tolist() == (X * -3.0).tolist()
    assert compiled(X, X).tolist() == (X * 2.0).tolist()


def test_what_threads_wait_by_is_no_value() -> None:
    module = define(
        "import threading\nevent = threading.Event()\ndef f(x): event.set(); return x * 2.0"
    )
    compiled = tj.function(module["f"])
    for _ in range(2):
        compiled(X)
    assert compiled.tracing_count == 1


def test_a_plain_function_of_many_operands_is_walked_for_nothing(walks: list[Any]) -> None:
    module = define(
        "import functools\n@functools.lru_cache\ndef g(k): return k + 1.0\n"
        "import numpy as np\ndef f(x): return x * g(2.0) + np.zeros(3, np.dtype('f8'))"
    )
    assert tj.function(module["f"])(X).tolist() == (X * 3.0).tolist()
    assert not walks


def test_what_c_code_keeps_are_numbers() -> None:
    module = define("import heapq\nlog = []\ndef f(x): heapq.heappush(log, x[0] * 2); return x")
    tj.function(module["f"])(X)
    assert module["log"] == [X[0] * 2.0]
    assert type(module["log"][0]) is np.float64


def test_a_tensor_that_a_closure_keeps_becomes_its_number() -> None:
    kept: Any = None

    def f(x: Any) -> Any:
        nonlocal kept
        kept = x * 2.0
        return kept + x

    tj.function(f)(X)
    assert type(kept) is np.ndarray
    assert kept.tolist() == (X * 2.0).tolist()


def test_what_was_not_read_makes_no_kernel() -> None:
    text = "k, j, is_first = 2.0, 3.0, True\ndef f(x): return x * k if is_first else x * j"
    module = define(text)
    compiled = tj.function(module["f"])
    compiled(X)
    module["j"] = 4.0
    assert compiled(X).tolist() == (2 * X).tolist()
    assert compiled.tracing_count == 1
    module["k"] = 5.0
    assert compiled(X).tolist() == (5 * X).tolist()
    assert "the global k was 2.0 and became 5.0" in compiled.explain()


def test_traces_that_are_joined_are_guarded_together() -> None:
    module = define("k, j = 2.0, 3.0\ndef f(x): return x * k if x[0] > 0 else x * j")
    compiled = tj.function(module["f"])
    assert (compiled(X) / X).tolist() == [2.0, 2.0, 2.0]
    assert (compiled(-X) / -X).tolist() == [3.0, 3.0, 3.0]
    for name in ("k", "j"):
        module[name] = 7.0
    assert (compiled(X) / X).tolist() == [7.0, 7.0, 7.0]
    assert (compiled(-X) / -X).tolist() == [7.0, 7.0, 7.0]


@pytest.mark.parametrize("first", range(0, by_day(20, 500), 10))
def test_random_functions_compiled(first: int) -> None:
    for seed in range(first, first + 10):
        assert not compare_compiled(seed, writes=seed % 2 == 1)


def test_what_is_kept_is_kept_at_each_call() -> None:
    module = define(
        """
        class A: pass
        kept, a = {}, A()
        def f(x, n):
            kept["a"] = x * 2
            kept[n] = [x]
            a.last = x + 1
            return x * 3
        """
    )
    compiled = tj.function(module["f"])
    for k in (1, 2, 2, 3):
        assert compiled(X * k, k).tolist() == (X * k * 3).tolist()
        kept, last = module["kept"], module["a"].last
        for found, wanted in ((kept["a"], 2), (kept[k][0], 1)):
            assert_same(found, X * k * wanted)
        assert_same(last, X * k + 1)


def test_sparse_matrices_that_are_dicts() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.dok_array(np.diag(X))
    module = define("def f(x): return m @ x", m=matrix)
    compiled = tj.function(module["f"])
    for k in range(3):
        assert compiled(X).tolist() == (matrix @ X).tolist()
        matrix[0, k] = 5.0


PLACES = """
import types
class K: rate = NUMBER
class S: __slots__ = ("rate",)
s = S(); s.rate = NUMBER
ns = types.SimpleNamespace(rate=NUMBER)
mod = types.ModuleType("made"); mod.rate = NUMBER
g, table, rows = NUMBER, {"r": NUMBER}, [NUMBER, 2.0]
k = K()
o = types.SimpleNamespace(d={"r": NUMBER})
def holding(c): return lambda: c
held = holding(NUMBER)
def made(c):
    def put(new):
        nonlocal c
        c = new
    return (lambda: c), put
get, put = made(NUMBER)
def put_global(new):
    global g
    g = new
"""
CHANGES = {
    "g": "g = NUMBER",
    "get()": "put(NUMBER)",
    "table['r']": "table['r'] = NUMBER",
    "rows[0]": "rows[0] = NUMBER",
    "ns.rate": "ns.rate = NUMBER",
    "mod.rate": "mod.rate = NUMBER",
    "K.rate": "K.rate = NUMBER",
    "k.rate": "K.rate = NUMBER",
    "s.rate": "s.rate = NUMBER",
    "o.d['r']": "o.d = {'r': NUMBER}",
    "held()": "held = holding(NUMBER)",
}
"""The places at which numbers are found, and how another one gets there."""


def number_at(place: str, text: str, numbers: list[Any]) -> Any:
    """Call a function of the number at a place with each number there, compiled and as Python;
    answer what was compiled."""
    text = (PLACES + text).replace("PLACE", place).replace("NUMBER", repr(numbers[0]))
    mine, twin = define(text), define(text)
    compiled = tj.function(mine["f"], cache=False)
    for number in numbers:
        for module in (mine, twin):
            exec(CHANGES[place].replace("NUMBER", repr(number)), module)
        assert_same(compiled(X), twin["f"](X))
        for name in ("g", "table", "rows"):
            assert mine[name] == twin[name]
        assert (mine["ns"], vars(mine["k"])) == (twin["ns"], vars(twin["k"]))
    return compiled


@pytest.mark.parametrize("place", CHANGES)
def test_numbers_that_change_are_read_at_each_call(place: str, walks: list[Any]) -> None:
    compiled = number_at(place, "def f(x): return x * PLACE + PLACE", [0.5, 1.5, 2.5, 3.5, 0.5])
    assert len(compiled.kernels) == 2
    assert not walks
    integers = number_at(place, "def f(x): return x ** PLACE", [2, 3, 4])
    assert len(integers.kernels) == 2


@each_row(
    "text, most",
    [
        ("def f(x): return x * 2 if PLACE > 2 else x", 3),
        ("def f(x): return x[:PLACE]", 4),
        ("def f(x): return x * isinstance(PLACE, int) + [1.0, 2.0, 3.0, 4.0, 5.0][PLACE]", 4),
        ("def f(x): return x, PLACE", 2),
        ("one = 3\ndef f(x): return x * (PLACE is one)", 4),
    ],
)
def test_numbers_that_python_uses(text: str, most: int) -> None:
    for place in ("g", "rows[0]", "o.d['r']"):
        assert len(number_at(place, text, [1, 2, 3, 4, 2]).kernels) <= most


@each_row(
    "place, writes",
    [
        ("g", "put_global(5.0)"),
        ("g", "globals()['g'] = 5.0"),
        ("get()", "put(get() + x[0])"),
        ("table['r']", "table['r'] += 1.0"),
        ("table['r']", "table.update(r=5.0)"),
        ("rows[0]", "rows.insert(0, 5.0)"),
        ("ns.rate", "vars(ns)['rate'] = 5.0"),
        ("ns.rate", "ns.rate = 5.0"),
        ("mod.rate", "vars(mod)['rate'] = 5.0"),
        ("k.rate", "K.rate = 5.0"),
        ("k.rate", "k.rate = 5.0"),
    ],
)
def test_numbers_that_the_function_writes_itself(place: str, writes: str) -> None:
    """By whatever way: a kernel would read what was there before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for before in ("", "y = y * PLACE"):
            text = f"""
def f(x):
    y = x
    {before}
    {writes}
    return y + PLACE
"""
            number_at(place, text, [1.0, 2.0, 3.0, 2.0])


def test_a_number_that_is_refused_stays_a_constant() -> None:
    """C code takes no recorded number, so each number has a kernel, and no more is tried."""
    module = define("import json\nn = 1\ndef f(x): return x * len(json.dumps([n]))")
    compiled = tj.function(module["f"])
    for number in (1, 10, 100, 1000):
        module["n"] = number
        np.testing.assert_array_equal(compiled(X), module["f"](X))
    assert len(compiled.kernels) == 4
    assert compiled.cache_info().recordings == 4


SPACE = """
import types
ns = types.SimpleNamespace(n=0, t=0.5, u=1.0)
ms = types.SimpleNamespace(n=0)
ls = types.SimpleNamespace(n=0)
held = vars(ls)
"""


@pytest.mark.parametrize(
    "body, most",
    [
        ("ns.n += 1; return x * ns.n", 1),
        ("ns.t = 3.0; return x * ns.t", 1),
        ("ns.t = x[0] * 2; return x + ns.t", 1),
        ("ns.t *= 0.5; ns.u = ns.t + ns.u; return x * ns.u", 1),
        ("ns.n += 1; ms.n += ns.n; return x * ms.n", 1),
        ("a = ns.n; setattr(ns, 'n', a + 1); return x * ns.n", 2),
        ("ns.n += 1; return x * len(repr(ns))", 9),
        ("ns.n += 1; return x * vars(ns)['n']", 9),
        ("ns.n += 1; return x * (ns == ms) + ns.n", 9),
        ("ns.n += 1; del ns.n; ns.n = 2; return x * ns.n", 9),
        ("vars(ns)['n'] = 7; ns.n += 1; return x * ns.n", 9),
        ("ns.t = 1.0; ns.t = [2.0]; return x * ns.t[0]", 9),
        ("ls.n += 1; return x * held['n']", 9),
        ("held['n'] = 7; ls.n += 1; return x * ls.n", 9),
    ],
)
def test_numbers_of_namespaces_that_the_function_writes(body: str, most: int) -> None:
    """They are read and written at each call, unless anybody else than the function looks."""
    text = f"{SPACE}def f(x):\n    " + body.replace("; ", "\n    ")
    mine, twin = define(text), define(text)
    compiled = tj.function(mine["f"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for change in ("", "ns.n = 0", "ns.t = 9.0", "ns.n = 5", ""):
            for module in (mine, twin):
                exec(change, module)
            assert_same(compiled(X), twin["f"](X))
            assert (mine["ns"], mine["ms"]) == (twin["ns"], twin["ms"])
    assert len(compiled.kernels) <= most
