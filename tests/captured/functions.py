"""What functions are made of, and what they hold: code, defaults, closures, partials, decorators,
memories."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import operator
import tempfile
import types
import weakref
from pathlib import Path
from typing import Any

import numpy as np

import tracejit as tj
from tests.captured.table import module, program


@program
def helper_defaults() -> Any:

    def h(x, k=2.0):
        return x * k

    def change():
        h.__defaults__ = (3.0,)

    return (lambda x: h(x), change)


@program
def helper_defaults_none() -> Any:

    def h(x, k=None):
        return x * (k or 1.0)

    def change():
        h.__defaults__ = (3.0,)

    return (lambda x: h(x), change)


@program
def own_kwdefaults() -> Any:

    def f(x, *, k=2.0):
        return x * k

    def change():
        f.__kwdefaults__ = {"k": 3.0}

    return (f, change)


@program
def own_kwdefaults_that_are_arrays() -> Any:

    ones = np.ones(3)

    def f(x, *, k=ones):
        return x * k

    def change():
        f.__kwdefaults__["k"] = 3.0

    return (f, change)


@program
def helper_kwdefaults() -> Any:

    def h(x, *, k=2.0):
        return x * k

    def change():
        h.__kwdefaults__ = {"k": 3.0}

    return (lambda x: h(x), change)


@program
def helper_kwdefaults_inplace() -> Any:

    def h(x, *, k=2.0):
        return x * k

    def change():
        h.__kwdefaults__["k"] = 3.0

    return (lambda x: h(x), change)


@program
def helper_code() -> Any:

    def h(x):
        return x * 2.0

    def g(x):
        return x * 3.0

    def change():
        h.__code__ = g.__code__

    return (lambda x: h(x), change)


@program
def own_code() -> Any:

    def h(x):
        return x * 2.0

    def g(x):
        return x * 3.0

    def change():
        h.__code__ = g.__code__

    return (h, change)


@program
def own_defaults() -> Any:

    def h(x, k=2.0):
        return x * k

    def change():
        h.__defaults__ = (3.0,)

    return (h, change)


@program
def method_defaults() -> Any:

    class M:
        def f(self, x, k=2.0):
            return x * k

    m = M()

    def change():
        M.f.__defaults__ = (3.0,)

    return (lambda x: m.f(x), change)


@program
def lru_cache_constant_helper() -> Any:
    k = [2.0]

    @functools.lru_cache
    def h(n):
        return k[0] * n

    def change():
        k[0] = 3.0
        h.cache_clear()

    return (lambda x: x * h(2), change)


@program
def lru_cache_not_cleared() -> Any:
    k = [2.0]

    @functools.lru_cache
    def h(n):
        return k[0] * n

    def change():
        k[0] = 3.0

    return (lambda x: x * h(2), change)


@program
def lru_cache_array_table() -> Any:
    k = [2.0]

    @functools.lru_cache
    def h(n):
        return np.full(3, k[0])

    def change():
        k[0] = 3.0
        h.cache_clear()

    return (lambda x: x * h(2), change)


@program
def lru_cache_result_mutated() -> Any:

    @functools.lru_cache
    def h(n):
        return np.full(3, 2.0)

    def change():
        h(2)[:] = 3.0

    return (lambda x: x * h(2), change)


@program
def lru_cache_result_list_mutated() -> Any:

    @functools.lru_cache
    def h(n):
        return [2.0]

    def change():
        h(2)[0] = 3.0

    return (lambda x: x * h(2)[0], change)


@program
def function_result_object_mutated() -> Any:
    box = {}

    def h():
        if "a" not in box:
            box["a"] = [2.0]
        return box["a"]

    def change():
        h()[0] = 3.0

    return (lambda x: x * h()[0], change)


@program
def weak_value_dict() -> Any:

    class M:
        pass

    m = M()
    m.k = 2.0
    d = weakref.WeakValueDictionary(a=m)
    return (lambda x: x * d["a"].k, lambda: setattr(m, "k", 3.0))


@program
def weak_key_dict() -> Any:

    class M:
        pass

    m = M()
    d = weakref.WeakKeyDictionary()
    d[m] = 2.0
    return (lambda x: x * d[m], lambda: d.__setitem__(m, 3.0))


@program
def weak_set() -> Any:

    class M:
        pass

    m, n = (M(), M())
    d = weakref.WeakSet([m])
    return (lambda x: x * len(d), lambda: d.update([m, n]))


@program
def loop_closures_late() -> Any:
    fs = []
    for i in range(3):
        fs.append(lambda x: x * i)  # noqa: B023

    def change():
        nonlocal i
        i = 7

    return (lambda x: fs[0](x), change)


@program
def callables_in_list() -> Any:
    fs = [lambda x: x * 2.0]
    return (lambda x: fs[0](x), lambda: fs.__setitem__(0, lambda x: x * 3.0))


@program
def callables_in_dict_closure() -> Any:
    k = 2.0
    fs = {"a": lambda x: x * k}

    def change():
        nonlocal k
        k = 3.0

    return (lambda x: fs["a"](x), change)


@program
def partial_args_array() -> Any:
    w = np.full(3, 2.0)
    p = functools.partial(np.multiply, w)
    return (lambda x: p(x), lambda: w.fill(3.0))


@program
def partial_attr() -> Any:
    p = functools.partial(lambda k, x: x * k, 2.0)

    def change():
        p.__setstate__((p.func, (3.0,), {}, {}))

    return (lambda x: p(x), change)


@program
def partial_keywords_inplace() -> Any:
    p = functools.partial(lambda x, k: x * k, k=2.0)

    def change():
        p.keywords["k"] = 3.0

    return (lambda x: p(x), change)


@program
def partialmethod_() -> Any:

    class M:
        def f(self, k, x):
            return x * k

        g = functools.partialmethod(f, 2.0)

    m = M()
    return (lambda x: m.g(x), lambda: setattr(M, "g", functools.partialmethod(M.f, 3.0)))


@program
def partialmethod_reads_self() -> Any:

    class M:
        def f(self, k, x):
            return x * k * self.hidden

        g = functools.partialmethod(f, 2.0)

    m = M()
    m.hidden = 1.0
    return (lambda x: m.g(x), lambda: setattr(m, "hidden", 3.0))


@program
def bound_method_of_list() -> Any:
    layer = [2.0]
    g = layer.__getitem__
    return (lambda x: x * g(0), lambda: layer.__setitem__(0, 3.0))


@program
def bound_method_of_dict() -> Any:
    layer = {"a": 2.0}
    g = layer.get
    return (lambda x: x * g("a"), lambda: layer.update(a=3.0))


@program
def bound_method_of_array() -> Any:
    layer = np.full(3, 2.0)
    g = layer.sum
    return (lambda x: x * g(), lambda: layer.fill(3.0))


@program
def itemgetter_attrgetter() -> Any:

    class M:
        pass

    m = M()
    m.k = 2.0
    g = operator.attrgetter("k")
    return (lambda x: x * g(m), lambda: setattr(m, "k", 3.0))


@program
def methodcaller() -> Any:

    class M:
        def hid(self):
            return self.q

    m = M()
    m.q = 2.0
    g = operator.methodcaller("hid")
    return (lambda x: x * g(m), lambda: setattr(m, "q", 3.0))


@program
def callable_instance() -> Any:

    class M:
        def __init__(self):
            self.k = 2.0

        def __call__(self, x):
            return x * self.k

    m = M()
    return (lambda x: m(x), lambda: setattr(m, "k", 3.0))


@program
def callable_instance_as_function() -> Any:

    class M:
        def __init__(self):
            self.k = 2.0

        def __call__(self, x):
            return x * self.k

    m = M()
    return (m, lambda: setattr(m, "k", 3.0))


@program
def dataclass_field_default_changed() -> Any:

    @dataclasses.dataclass
    class C:
        lr: float = 2.0

    return (lambda x: x * C().lr, lambda: C.__init__.__setattr__("__defaults__", (3.0,)))


@program
def counter_and_defaultdict() -> Any:
    c = collections.Counter("aab")
    return (lambda x: x * c["a"], lambda: c.update("aa"))


@program
def defaultdict_factory_touched() -> Any:
    c = collections.defaultdict(lambda: 2.0)
    return (lambda x: x * c["zz"], lambda: c.__setitem__("zz", 3.0))


@program
def singledispatch_() -> Any:

    @functools.singledispatch
    def h(a):
        return 2.0

    return (lambda x: x * h("s"), lambda: h.register(str, lambda a: 3.0))


@program
def singledispatch_inner() -> Any:
    k = [2.0]

    @functools.singledispatch
    def h(a):
        return 1.0

    @h.register(str)
    def _(a):
        return k[0]

    return (lambda x: x * h("s"), lambda: k.__setitem__(0, 3.0))


@program
def singledispatchmethod_inner() -> Any:
    k = [2.0]

    class M:
        @functools.singledispatchmethod
        def h(self, a):
            return 1.0

        @h.register
        def _(self, a: str):
            return k[0]

    m = M()
    return (lambda x: x * m.h("s"), lambda: k.__setitem__(0, 3.0))


@program
def wraps_decorator() -> Any:
    k = [2.0]

    def deco(fn):

        @functools.wraps(fn)
        def inner(x):
            return fn(x) * k[0]

        return inner

    h = deco(lambda x: x)
    return (lambda x: h(x), lambda: k.__setitem__(0, 3.0))


@program
def contextmanager_() -> Any:
    k = [2.0]

    @contextlib.contextmanager
    def cm():
        yield k[0]

    def f(x):
        with cm() as s:
            return x * s

    return (f, lambda: k.__setitem__(0, 3.0))


@program
def context_object() -> Any:

    class C:
        def __enter__(self):
            return self.s

        def __exit__(self, *a):
            pass

    c = C()
    c.s = 2.0

    def f(x):
        with c as s:
            return x * s

    return (f, lambda: setattr(c, "s", 3.0))


@program
def function_in_attribute() -> Any:

    class M:
        pass

    m = M()
    m.act = lambda x: x * 2.0
    return (lambda x: m.act(x), lambda: setattr(m, "act", lambda x: x * 3.0))


@program
def nested_function_default() -> Any:
    K = [2.0]

    def f(x):

        def inner(v, k=K[0]):
            return v * k

        return inner(x)

    return (f, lambda: K.__setitem__(0, 3.0))


@program
def comprehension_reads() -> Any:
    K = [2.0]
    return (lambda x: sum([x * k for k in K]), lambda: K.append(3.0))


@program
def lambda_in_kwarg() -> Any:
    K = [2.0]
    return (
        lambda x: x * sorted([1.0, 2.0], key=lambda v: v * K[0])[0],
        lambda: K.__setitem__(0, -3.0),
    )


@program
def callback_through_c() -> Any:
    K = [2.0]

    def h(v):
        return v * K[0]

    return (
        lambda x: x * functools.reduce(lambda a, b: a + h(b), [1.0, 1.0]),
        lambda: K.__setitem__(0, 3.0),
    )


@program
def object_from_closure_of_foreign() -> Any:

    class M:
        def __init__(self):
            self.k = 2.0

    @functools.lru_cache
    def get():
        return M()

    return (lambda x: x * get().k, lambda: setattr(get(), "k", 3.0))


@program
def recursion_data_structure() -> Any:
    node = {"v": 2.0, "children": [{"v": 1.0, "children": []}]}

    def total(n):
        return n["v"] + sum(total(c) for c in n["children"])

    return (lambda x: x * total(node), lambda: node["children"][0].update(v=3.0))


@program
def generator_function_captured() -> Any:
    K = [2.0]

    def g():
        yield from K

    return (lambda x: x * sum(g()), lambda: K.append(3.0))


@program
def lru_cache_returns_tensor_by_n() -> Any:
    box = []

    @functools.lru_cache
    def h(n):
        return box[-1] * n

    def f(x):
        box.append(x)
        return h(2)

    return (f, lambda: None)


@program
def star_unpack_dict_call() -> Any:
    d = {"k": 2.0}

    def h(x, k):
        return x * k

    return (lambda x: h(x, **d), lambda: d.update(k=3.0))


@program
def annotations_read() -> Any:

    def h(a: 2.0):
        pass

    return (
        lambda x: (
            x
            * (
                h.__annotations__["a"]
                if not isinstance(h.__annotations__["a"], str)
                else float(h.__annotations__["a"])
            )
        ),
        lambda: h.__annotations__.update(a=3.0),
    )


@program
def doc_and_name() -> Any:

    def h():
        """ab"""

    def change():
        h.__doc__ = "abc"

    return (lambda x: x * len(h.__doc__), change)


@program
def tj_function_inside_captured() -> Any:
    K = [2.0]
    g = tj.function(lambda x: x * K[0])
    return (lambda x: g(x), lambda: K.__setitem__(0, 3.0))


@program
def tj_grad_inside_captured() -> Any:
    K = [2.0]
    g = tj.grad(lambda x: np.sum(x * x * K[0]))
    return (lambda x: g(x), lambda: K.__setitem__(0, 3.0))


@program
def vectorize_captured() -> Any:
    K = [2.0]
    g = np.vectorize(lambda v: v * K[0])
    return (lambda x: x * g(np.array([1.0, 1.0, 1.0])), lambda: K.__setitem__(0, 3.0))


@program
def default_factory_dataclass() -> Any:
    K = [2.0]

    @dataclasses.dataclass
    class C:
        numbers: list = dataclasses.field(default_factory=lambda: [K[0]])

    return (lambda x: x * C().numbers[0], lambda: K.__setitem__(0, 3.0))


@program
def static_callable_defaults() -> Any:

    def act(x, k=2.0):
        return x * k

    def change():
        act.__defaults__ = (3.0,)

    return (lambda x, a: a(x), change, act)


@program
def static_callable_default_array() -> Any:

    def act(x, k=np.full(3, 2.0)):  # noqa: B008
        return x * np.exp(k)

    def change():
        act.__defaults__[0].fill(3.0)

    return (lambda x, a: a(x), change, act)


@program
def static_callable_closure() -> Any:
    k = 2.0

    def act(x):
        return x * k

    def change():
        nonlocal k
        k = 3.0

    return (lambda x, a: a(x), change, act)


@program
def static_partial_argument() -> Any:
    w = np.full(3, 2.0)
    p = functools.partial(np.multiply, w)
    return (lambda x, a: a(x), lambda: w.fill(3.0), p)


@program
def context_global_in_generator() -> Any:
    s = module("""
        K = [2.0]
        def gen():
            yield from K
        def f(x):
            return x * sum(k for k in gen())
        """)
    return (s["f"], lambda: s["K"].append(3.0))


@program
def walrus_and_conditional() -> Any:
    s = module("""
        K = {"k": 2.0}
        def f(x):
            if (k := K.get("k")) is not None:
                return x * k
            return x
        """)
    return (s["f"], lambda: s["K"].clear())


@program
def function_attr_missing_try() -> Any:

    def h():
        pass

    def f(x):
        try:
            return x * h.k
        except AttributeError:
            return x

    return (f, lambda: setattr(h, "k", 3.0))


@program
def constant_returned() -> Any:
    k = [2.0]
    return (lambda x: k[0], lambda: k.__setitem__(0, 3.0))


@program
def closure_cell_late_bound() -> Any:

    def make():

        def f(x):
            try:
                return x * k
            except NameError:
                return x

        def change():
            nonlocal k
            k = 3.0

        if False:
            k = 1
        return (f, change)

    return make()


@program
def closure_cell_deleted() -> Any:
    k = 2.0

    def f(x):
        try:
            return x * k
        except NameError:
            return x

    def change():
        nonlocal k
        del k

    return (f, change)


@program
def dict_setdefault_memo() -> Any:
    memo = {}

    def f(x):
        return x * np.exp(memo.setdefault("k", np.full(3, 2.0)))

    return (f, lambda: memo["k"].fill(3.0))


@program
def np_vectorized_object_attr() -> Any:

    class M:
        pass

    m = M()
    m.v = np.vectorize(lambda a: a * m.k)
    m.k = 2.0
    return (lambda x: x * m.v(np.ones(3)), lambda: setattr(m, "k", 3.0))


@program
def closure_shared_between() -> Any:

    def make():
        n = [2.0]

        def get():
            return n[0]

        def put(v):
            n[0] = v

        return (get, put)

    get, put = make()
    return (lambda x: x * get(), lambda: put(3.0))


@program
def partial_of_method() -> Any:

    class M:
        def f(self, k, x):
            return x * k * self.hid

    m = M()
    m.hid = 2.0
    p = functools.partial(m.f, 1.0)
    return (lambda x: p(x), lambda: setattr(m, "hid", 3.0))


@program
def typing_namedtuple_default() -> Any:
    P = collections.namedtuple("P", "a b", defaults=[2.0])
    return (lambda x: x * P(1.0).b, lambda: setattr(P.__new__, "__defaults__", (3.0,)))


@program
def lru_cache_cleared_and_refilled() -> Any:
    source = tempfile.NamedTemporaryFile(delete=False).name
    Path(source).write_text("2")

    @functools.lru_cache
    def h(n):
        return n * float(Path(source).read_text())

    def change():
        Path(source).write_text("3")
        h.cache_clear()
        h(1.0)

    h(1.0)
    return (lambda x: x * h(1.0), change)


@program
def lru_cache_of_two_cleared_and_refilled() -> Any:
    source = tempfile.NamedTemporaryFile(delete=False).name
    Path(source).write_text("2 3")

    @functools.lru_cache(2)
    def h(n):
        return int(Path(source).read_text().split()[n])

    def change():
        Path(source).write_text("3 2")
        h.cache_clear()
        h(0), h(1)

    h(0), h(1)
    return (lambda x: x * h(0), change)


@program
def lru_cache_answers_a_namespace() -> Any:
    @functools.lru_cache
    def h(n):
        return types.SimpleNamespace(a=2.0)

    h(1)
    return (lambda x: x * h(1).a, lambda: setattr(h(1), "a", 3.0))
