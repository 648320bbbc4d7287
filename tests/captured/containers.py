"""Containers of every kind, and what is inside of them."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import types
import weakref
from typing import Any

import numpy as np

from tests.captured.table import module, program


@program
def cached_property_set() -> Any:

    class M:
        def __init__(self):
            self._k = 2.0

        @functools.cached_property
        def k(self):
            return self._k

    m = M()

    def change():
        m.k = 3.0

    return (lambda x: x * m.k, change)


@program
def getattr_dunder_dict() -> Any:

    class M:
        def __init__(self):
            self.data = {"k": 2.0}

        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return self.data[name]

    m = M()
    return (lambda x: x * m.k, lambda: m.data.update(k=3.0))


@program
def descriptor_set_name_store() -> Any:

    class D:
        def __set_name__(self, owner, name):
            self.name = "_" + name

        def __get__(self, obj, owner=None):
            return getattr(obj, self.name)

        def __set__(self, obj, v):
            setattr(obj, self.name, v)

    class M:
        k = D()

        def __init__(self):
            self.k = 2.0

    m = M()
    return (lambda x: x * m.k, lambda: setattr(m, "k", 3.0))


@program
def descriptor_weakkey_store() -> Any:

    class D:
        def __init__(self):
            self.data = {}

        def __get__(self, obj, owner=None):
            return self.data[id(obj)]

        def __set__(self, obj, v):
            self.data[id(obj)] = v

    class M:
        k = D()

        def __init__(self):
            self.k = 2.0

    m = M()
    return (lambda x: x * m.k, lambda: setattr(m, "k", 3.0))


@program
def enum_capture_rebound() -> Any:

    class E(enum.Enum):
        A = 2.0
        B = 3.0

    cell = E.A

    def change():
        nonlocal cell
        cell = E.B

    return (lambda x: x * cell.value, change)


@program
def weakref_() -> Any:

    class M:
        pass

    m = M()
    m.k = 2.0
    r = weakref.ref(m)
    return (lambda x: x * r().k, lambda: setattr(m, "k", 3.0))


@program
def weakref_dead() -> Any:

    class M:
        pass

    m = [M()]
    r = weakref.ref(m[0])

    def change():
        m.clear()

    return (lambda x: x * (2.0 if r() is not None else 3.0), change)


@program
def weakref_proxy() -> Any:

    class M:
        pass

    m = M()
    m.k = 2.0
    r = weakref.proxy(m)
    return (lambda x: x * r.k, lambda: setattr(m, "k", 3.0))


@program
def dict_order() -> Any:
    d = {"a": 2.0, "b": 3.0}

    def change():
        v = d.pop("a")
        d["a"] = v

    return (lambda x: x * next(iter(d.values())), change)


@program
def set_order_unhashable() -> Any:
    s = {(1, 2), (3, 4)}
    return (lambda x: x * sum((a for a, _ in s)), lambda: s.add((5, 6)))


@program
def set_of_objects_attr() -> Any:

    class M:
        pass

    m = M()
    m.k = 2.0
    s = {m}
    return (lambda x: x * sum(a.k for a in s), lambda: setattr(m, "k", 3.0))


@program
def set_true_for_one() -> Any:
    s = {1}

    def change():
        s.clear()
        s.add(True)

    return (lambda x: x * (3.0 if True is next(iter(s)) else 2.0), change)


@program
def frozenset_of_objects_attr() -> Any:

    class M:
        pass

    m = M()
    m.k = 2.0
    s = frozenset([m])
    return (lambda x: x * sum(a.k for a in s), lambda: setattr(m, "k", 3.0))


@program
def dict_keys_are_objects_with_attrs() -> Any:

    class M:
        pass

    m = M()
    m.k = 2.0
    s = {m: 1.0}
    return (lambda x: x * sum(a.k for a in s), lambda: setattr(m, "k", 3.0))


@program
def dict_key_one_true() -> Any:
    s = {1: 2.0}

    def change():
        s.clear()
        s[True] = 2.0

    return (lambda x: x * (3.0 if next(iter(s)) is True else 2.0), change)


@program
def deque_maxlen() -> Any:
    s = collections.deque([1.0, 2.0], maxlen=2)
    return (lambda x: x * s[0], lambda: s.append(5.0))


@program
def dataclass_astuple() -> Any:

    @dataclasses.dataclass
    class C:
        lr: float = 2.0
        wd: float = 1.0

    c = C()
    return (lambda x: x * sum(dataclasses.astuple(c)), lambda: setattr(c, "wd", 3.0))


@program
def dict_of_object() -> Any:

    class C:
        def __init__(self):
            self.a, self.b = (2.0, 1.0)

    c = C()
    return (lambda x: x * sum(c.__dict__.values()), lambda: setattr(c, "b", 3.0))


@program
def layers_append() -> Any:

    class Layer:
        def __init__(self, w):
            self.w = w

        def __call__(self, x):
            return x * self.w

    class Net:
        def __init__(self):
            self.layers = [Layer(np.full(3, 2.0))]

        def __call__(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    net = Net()
    return (lambda x: net(x), lambda: net.layers.append(Layer(np.full(3, 3.0))))


@program
def layers_replace() -> Any:

    class Layer:
        def __init__(self, w):
            self.w = w

        def __call__(self, x):
            return x * self.w

    class Net:
        def __init__(self):
            self.layers = [Layer(np.full(3, 2.0))]

        def __call__(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    net = Net()
    return (lambda x: net(x), lambda: net.layers.__setitem__(0, Layer(np.full(3, 3.0))))


@program
def layer_w_rebound() -> Any:

    class Layer:
        def __init__(self, w):
            self.w = w

        def __call__(self, x):
            return x * self.w

    class Net:
        def __init__(self):
            self.layers = [Layer(np.full(3, 2.0))]

        def __call__(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    net = Net()
    return (lambda x: net(x), lambda: setattr(net.layers[0], "w", np.full(3, 3.0)))


@program
def layer_w_inplace() -> Any:

    class Layer:
        def __init__(self, w):
            self.w = w

        def __call__(self, x):
            return x * self.w

    class Net:
        def __init__(self):
            self.layers = [Layer(np.full(3, 2.0))]

        def __call__(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    net = Net()

    def change():
        net.layers[0].w += 1

    return (lambda x: net(x), change)


@program
def namedtuple_holding_list() -> Any:
    P = collections.namedtuple("P", "a")
    p = P([2.0])
    return (lambda x: x * p.a[0], lambda: p.a.__setitem__(0, 3.0))


@program
def simple_namespace() -> Any:
    c = types.SimpleNamespace(k=2.0)
    return (lambda x: x * c.k, lambda: setattr(c, "k", 3.0))


@program
def float_subclass() -> Any:

    class F(float):
        pass

    a = F(2.0)
    a.extra = 2.0
    return (lambda x: x * a.extra, lambda: setattr(a, "extra", 3.0))


@program
def str_subclass_key() -> Any:

    class S(str):
        pass

    a = S("ab")
    a.extra = 2.0
    return (lambda x: x * a.extra, lambda: setattr(a, "extra", 3.0))


@program
def int_subclass_rebound() -> Any:

    class Kind(int):
        pass

    cell = Kind(2)

    def change():
        nonlocal cell
        cell = Kind(3)

    return (lambda x: x * cell, change)


@program
def intenum_rebound() -> Any:

    class Kind(enum.IntEnum):
        A = 2
        B = 3

    cell = Kind.A

    def change():
        nonlocal cell
        cell = Kind.B

    return (lambda x: x * int(cell), change)


@program
def range_rebound() -> Any:
    cell = range(2)

    def change():
        nonlocal cell
        cell = range(3)

    return (lambda x: x * len(cell), change)


@program
def fraction_decimal() -> Any:
    import fractions

    cell = [fractions.Fraction(1, 2)]
    return (lambda x: x * float(cell[0]), lambda: cell.__setitem__(0, fractions.Fraction(1, 3)))


@program
def dict_items_captured() -> Any:
    d = {"a": 2.0}
    v = d.items()
    return (lambda x: x * sum((b for _, b in v)), lambda: d.update(a=3.0))


@program
def userlist_userdict_subclass() -> Any:

    class U(collections.UserDict):
        pass

    d = U(a=2.0)
    return (lambda x: x * d["a"], lambda: d.update(a=3.0))


@program
def mutablemapping_subclass() -> Any:
    from collections.abc import MutableMapping

    class U(MutableMapping):
        def __init__(self):
            self.store = {"a": 2.0}

        def __getitem__(self, k):
            return self.store[k]

        def __setitem__(self, k, v):
            self.store[k] = v

        def __delitem__(self, k):
            del self.store[k]

        def __iter__(self):
            return iter(self.store)

        def __len__(self):
            return len(self.store)

    d = U()
    return (lambda x: x * sum(d.values()), lambda: d.update(a=3.0))


@program
def mutablemapping_get() -> Any:
    from collections.abc import MutableMapping

    class U(MutableMapping):
        def __init__(self):
            self.store = {"a": 2.0}

        def __getitem__(self, k):
            return self.store[k]

        def __setitem__(self, k, v):
            self.store[k] = v

        def __delitem__(self, k):
            del self.store[k]

        def __iter__(self):
            return iter(self.store)

        def __len__(self):
            return len(self.store)

    d = U()
    return (lambda x: x * d.get("a"), lambda: d.update(a=3.0))


@program
def dict_subclass_missing() -> Any:

    class U(dict):
        def __missing__(self, k):
            return self.fallback

    d = U()
    d.fallback = 2.0
    return (lambda x: x * d["zz"], lambda: setattr(d, "fallback", 3.0))


@program
def list_subclass_attr() -> Any:

    class U(list):
        pass

    d = U([1.0])
    d.scale = 2.0
    return (lambda x: x * d[0] * d.scale, lambda: setattr(d, "scale", 3.0))


@program
def tuple_identity_rebuilt() -> Any:

    class M:
        pass

    m = M()
    m.t = (1.0, 2.0)
    return (lambda x: x * m.t[0], lambda: setattr(m, "t", (3.0, 2.0)))


@program
def linked_objects() -> Any:

    class N:
        def __init__(self, v, nxt=None):
            self.v, self.nxt = (v, nxt)

    a = N(1.0, N(2.0, N(3.0)))

    def f(x):
        n = a
        while n is not None:
            x = x * n.v
            n = n.nxt
        return x

    return (f, lambda: setattr(a.nxt.nxt, "v", 5.0))


@program
def property_setter_pair() -> Any:

    class T:
        def __init__(self):
            self._f = 2.0

        @property
        def f(self):
            return self._f

        @f.setter
        def f(self, v):
            self._f = v

    t = T()
    return (lambda x: x * t.f, lambda: setattr(t, "f", 3.0))


@program
def pickle_like_reduce() -> Any:
    import pickle

    d = {"k": 2.0}
    return (lambda x: x * pickle.loads(pickle.dumps(d))["k"], lambda: d.update(k=3.0))


@program
def json_of_dict() -> Any:
    import json

    d = {"k": 2.0}
    return (lambda x: x * len(json.dumps(d)), lambda: d.update(k=3.25))


@program
def match_mapping() -> Any:
    s = module("""
        p = {"a": 1.0, "b": 2.0}
        def f(x):
            match p:
                case {"a": a, "b": b}:
                    return x * a * b
        """)
    return (s["f"], lambda: s["p"].update(b=3.0))


@program
def contains_protocol() -> Any:

    class V:
        def __init__(self, v):
            self.v = v

        def __contains__(self, o):
            return o in self.v

    a = V([2.0])
    return (lambda x: x * (2.0 if 2.0 in a else 3.0), lambda: a.v.clear())


@program
def zip_strict_two_lists() -> Any:
    a, b = ([1.0, 2.0], [3.0, 4.0])
    return (
        lambda x: x * sum(p * q for p, q in zip(a, b, strict=True)),
        lambda: b.__setitem__(1, 5.0),
    )


@program
def hash_captured_key() -> Any:
    d = {}

    class K2:
        def __init__(self, v):
            self.v = v

        def __hash__(self):
            return hash(self.v)

        def __eq__(self, o):
            return self.v == o.v

    k = K2(1)
    d[K2(1)] = 2.0
    d[K2(2)] = 3.0
    return (lambda x: x * d[k], lambda: setattr(k, "v", 2))


@program
def namedtuple_argument_method() -> Any:
    s = module("""
        from typing import NamedTuple
        K = 2.0
        class L(NamedTuple):
            w: object
            def act(self, x): return x * self.w * K
        def f(x, l): return l.act(x)
        """)
    return (s["f"], lambda: s.update(K=3.0), s["L"](np.ones(3)))


@program
def dataclass_argument_property_in_list() -> Any:
    s = module("""
        import dataclasses
        K = [2.0]
        @dataclasses.dataclass
        class L:
            w: object
            @property
            def ww(self): return self.w * K[0]
        def f(x, ls): return x * ls[0]["a"].ww
        """)
    return (s["f"], lambda: s["K"].__setitem__(0, 3.0), [{"a": s["L"](np.ones(3))}])


@program
def static_in_dict_argument() -> Any:

    class M:
        pass

    m = M()
    m.k = 2.0
    return (lambda x, d: x * d["a"].k, lambda: setattr(m, "k", 3.0), {"a": m, "b": 1.0})


@program
def static_frozen_list_attr() -> Any:

    class M:
        def __init__(self):
            self.layers = [2.0]

    m = M()
    return (lambda x, a: x * sum(a.layers), lambda: m.layers.append(3.0), m)


@program
def instance_dict_replaced() -> Any:

    class M:
        pass

    m = M()
    m.k = 2.0

    def change():
        m.__dict__ = {"k": 3.0}

    return (lambda x: x * m.k, change)


@program
def instance_dict_updated() -> Any:

    class M:
        pass

    m = M()
    m.k = 2.0

    def change():
        m.__dict__.update(k=3.0)

    return (lambda x: x * m.k, change)


@program
def slot_missing_then_set() -> Any:

    class C:
        __slots__ = ("k",)

    c = C()
    return (lambda x: x * getattr(c, "k", 2.0), lambda: setattr(c, "k", 3.0))


@program
def slot_unset_try() -> Any:

    class C:
        __slots__ = ("k",)

    c = C()

    def f(x):
        try:
            return x * c.k
        except AttributeError:
            return x

    return (f, lambda: setattr(c, "k", 3.0))


@program
def ordered_dict_move() -> Any:
    d = collections.OrderedDict(a=2.0, b=3.0)
    return (lambda x: x * next(iter(d.values())), lambda: d.move_to_end("a"))


@program
def chainmap_parent() -> Any:
    base = {"k": 2.0}
    c = collections.ChainMap({}, base)
    return (lambda x: x * c["k"], lambda: base.update(k=3.0))


@program
def object_with_slots_and_dict_list() -> Any:

    class M:
        __slots__ = ("layers",)

    m = M()
    m.layers = [np.full(3, 2.0)]
    return (lambda x: x * m.layers[0], lambda: m.layers.__setitem__(0, np.full(3, 3.0)))


@program
def dict_of_objects_methods() -> Any:

    class M:
        def __init__(self, k):
            self.k = k

        def act(self, x):
            return x * self.k

    d = {"a": M(2.0), "b": M(1.0)}

    def f(x):
        for m in d.values():
            x = m.act(x)
        return x

    return (f, lambda: setattr(d["b"], "k", 3.0))


@program
def index_list_captured() -> Any:
    i = [0, 1]
    return (lambda x: x[i], lambda: i.__setitem__(1, 2))


@program
def shape_tuple_in_list() -> Any:
    i = [(3, 1)]
    return (lambda x: x.reshape(i[0]), lambda: i.__setitem__(0, (1, 3)))


@program
def kwargs_dict_unpacked() -> Any:
    kw = {"axis": 0}
    return (lambda x: np.stack([x, x * 2]).sum(**kw), lambda: kw.update(axis=1))


@program
def np_attr_via_dict() -> Any:
    acts = {"a": np.tanh}
    return (lambda x: acts["a"](x), lambda: acts.update(a=np.sin))


@program
def user_dict_keyed_by_object_eq() -> Any:

    class K:
        def __init__(self, v):
            self.v = v

        def __eq__(self, o):
            return self.v == o.v

        def __hash__(self):
            return 1

    k = K(1)
    d = {k: 2.0}
    q = K(1)
    return (lambda x: x * d.get(q, 3.0), lambda: setattr(k, "v", 9))
