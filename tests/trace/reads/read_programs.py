"""Programs in which something changes between calls that was read, or never was.

Each is a module with a function `f`. Its later calls come after the changes behind `-->`; where an
exclamation mark stands before a change, nothing that was read changes.
"""

from __future__ import annotations

from typing import NamedTuple

HEAD = """
import collections, dataclasses, enum, functools, math, os, sys, types, weakref
import numpy as np
"""


class ReadProgram(NamedTuple):
    """The text of a module, and what is done to it between calls."""

    text: str
    changes: list[str]


def programs_in(text: str) -> dict[str, ReadProgram]:
    """The programs of a text, by their names."""
    found = {}
    for part in text.split("\n== ")[1:]:
        name, _, rest = part.partition("\n")
        module, *changes = rest.split("\n--> ")
        found[name] = ReadProgram(HEAD + module, [change.strip("\n") for change in changes])
    return found


CONTAINERS = """
== global_int
n = 2
def f(x): return x * n
--> n = 3
--> !unused = 1
--> n = 2
== global_float
n = 2.0
def f(x): return x * n
--> n = 3.0
--> n = 4.0
--> n = 5.0
== global_type
n = 2
def f(x): return x // n
--> n = 2.0
--> n = True
== global_zero_sign
z = 0.0
def f(x): return np.copysign(x, z)
--> z = -0.0
--> z = 0.0
== global_nan
z = float('nan')
def f(x): return x + z
--> !z = float('nan')
--> z = 1.0
== global_str
mode = 'a'
def f(x): return x * 2 if mode == 'a' else x + 7
--> mode = 'b'
--> mode = 'a'
== global_none
b = None
def f(x): return x if b is None else x + b
--> b = 3.0
--> b = None
== list_item
L = [1.0, 2.0, 3.0]
def f(x): return x * L[1]
--> L[1] = 5.0
--> !L[2] = 9.0
--> !L.append(1.0)
== list_neg
L = [1.0, 2.0]
def f(x): return x * L[-1]
--> L.append(7.0)
--> L.pop()
--> !L[0] = 5.0
== list_iter
L = [1.0, 2.0]
def f(x):
    for v in L: x = x * v + 1
    return x
--> L.append(3.0)
--> L[0] = 4.0
--> del L[1]
== list_len
L = [1.0, 2.0]
def f(x): return x * len(L)
--> L.append(3.0)
--> !L[0] = 8.0
== list_sum
L = [1.0, 2.0]
def f(x): return x * sum(L)
--> L[0] = 5.0
--> L.append(2.0)
== list_truth
L = []
def f(x): return x * 2 if L else x
--> L.append(0)
--> !L.append(1)
--> L.clear()
== list_nested
L = [[1.0, 2.0], [3.0]]
def f(x): return x * L[0][1]
--> L[0][1] = 6.0
--> !L[1][0] = 6.0
--> L[0] = [1.0, 9.0]
== list_slice
L = [1.0, 2.0, 3.0]
def f(x): return x * sum(L[:2])
--> L[0] = 6.0
--> L.insert(0, 2.0)
== list_of_arrays_c
L = [np.ones(2), np.ones(2)]
def f(x): return x * np.sum(L)
--> L[0][0] = 4.0
--> L.append(np.ones(2))
== list_of_arrays
L = [np.ones(2), np.ones(2)]
def f(x):
    for w in L: x = np.tanh(x * w)
    return x
--> L[0][0] = 4.0
--> L[1] = np.full(2, 3.0)
--> L.append(np.ones(2) * .5)
== comprehension
L = [1.0, 2.0]
def f(x): return sum([x * v for v in L])
--> L[1] = 4.0
--> L.append(2.0)
== generator_expr
L = [1.0, 2.0]
def f(x): return sum(x * v for v in L)
--> L[1] = 4.0
--> L.append(2.0)
== tuple_global
T = (1.0, [2.0])
def f(x): return x * T[0] + T[1][0]
--> T[1][0] = 5.0
--> T = (3.0, [5.0])
== unpack
T = [1.0, 2.0]
def f(x):
    a, b = T
    return a * x + b
--> T[1] = 5.0
--> T = [3.0, 5.0]
== star_args
T = [1.0, 2.0]
def h(x, a, b): return a * x + b
def f(x): return h(x, *T)
--> T[1] = 5.0
--> T = [3.0, 5.0]
== dict_item
d = {'a': 1.0, 'b': 2.0}
def f(x): return x * d['a']
--> d['a'] = 4.0
--> !d['b'] = 4.0
--> !d['c'] = 3.0
== dict_get_absent
d = {}
def f(x): return x * d.get('k', 2.0)
--> !d['z'] = 1
--> d['k'] = 5.0
--> del d['k']
== dict_in
d = {}
def f(x): return x * 2 if 'k' in d else x
--> !d['z'] = 1
--> d['k'] = 1
--> !d['k'] = 2
== dict_items
d = {'a': 1.0, 'b': 2.0}
def f(x):
    for k, v in d.items(): x = x * v + len(k)
    return x
--> d['a'] = 3.0
--> d['ccc'] = 2.0
--> d.pop('a')
== dict_order
d = {'a': 1.0, 'b': 2.0}
def f(x):
    for k in d: x = x * 2 + d[k]
    return x
--> d = {'b': 2.0, 'a': 1.0}
--> d['b'] = 5.0
== dict_len
d = {'a': 1.0}
def f(x): return x * len(d)
--> d['b'] = 1.0
--> !d['b'] = 2.0
== dict_values
d = {'a': 1.0}
def f(x): return x * sum(d.values())
--> d['b'] = 1.0
--> d['b'] = 2.0
== dict_kwargs
d = {'a': 1.0}
def h(x, a=0., b=0.): return x * a + b
def f(x): return h(x, **d)
--> d['b'] = 1.0
--> d['a'] = 2.0
== set_in
s = {1, 2}
def f(x): return x * 2 if 3 in s else x
--> !s.add(5)
--> s.add(3)
--> s.remove(3)
== dict_int_bool_key
d = {1: 2.0}
def f(x):
    for k in d: x = x * d[k] + isinstance(k, bool)
    return x
--> d = {True: 2.0}
== attr
class A: pass
a = A(); a.k = 2.0; a.z = 1
def f(x): return x * a.k
--> a.k = 3.0
--> !a.z = 3
--> !a.new = 1
--> a.k = 4
== attr_attr
class A: pass
a = A(); a.b = A(); a.b.k = 2.0
def f(x): return x * a.b.k
--> a.b.k = 3.0
--> a.b = A(); a.b.k = 7.0
--> !a.b.z = 7.0
== attr_new_object_same
class A: pass
def mk(k):
    o = A(); o.k = k; return o
a = mk(2)
def f(x): return x * a.k
--> !a = mk(2)
--> a = mk(3)
--> !a = mk(3)
== attr_deleted
class A: k = 1.0
a = A(); a.k = 2.0
def f(x): return x * a.k
--> del a.k
--> A.k = 5.0
--> a.k = 6.0
== class_attr
class A: k = 2.0
a = A()
def f(x): return x * a.k
--> A.k = 3.0
--> a.k = 4.0
--> !A.k = 5.0
--> !A.z = 5.0
== class_attr_base
class B: k = 2.0
class A(B): pass
a = A()
def f(x): return x * a.k
--> B.k = 3.0
--> A.k = 4.0
--> !B.k = 9.0
"""

OBJECTS = """
== class_direct
class A: k = 2
def f(x): return x * A.k
--> A.k = 3
--> !A.j = 3
== method_patched
class A:
    def m(self, x): return x * 2
a = A()
def f(x): return a.m(x)
--> A.m = lambda s, x: x * 3
--> a.m = lambda x: x * 4
--> !A.m = lambda s, x: x * 5
== method_of_base
class B:
    def m(self, x): return x * 2
class A(B): pass
a = A()
def f(x): return a.m(x)
--> A.m = lambda s, x: x * 3
--> !B.m = None
== class_assigned
class A:
    def m(self, x): return x * 2
class B:
    def m(self, x): return x * 3
a = A()
def f(x): return a.m(x)
--> a.__class__ = B
--> a = A()
== subclass_isinstance
class A: pass
class B(A): pass
a = A()
def f(x): return x * 2 if isinstance(a, B) else x
--> a = B()
--> !a = B()
--> a = A()
--> a.__class__ = B
== property
class A:
    k = 2.0
    @property
    def p(self): return self.k * 2
a = A()
def f(x): return x * a.p
--> a.k = 3.0
--> A.p = property(lambda s: 5.0)
--> !a.z = 1
== property_inner
class A:
    def __init__(s): s.d = {'v': 2.0}
    @property
    def p(self): return self.d['v']
a = A()
def f(x): return x * a.p
--> a.d['v'] = 5.0
--> !a.d['w'] = 5.0
== cached_property
class A:
    def __init__(s): s.k = 2.0
    @functools.cached_property
    def p(self): return self.k * 2
a = A()
def f(x): return x * a.p
--> !pass
--> !a.k = 7.0
--> del a.__dict__['p']
--> a.p = 1.0
== lazy_attr
class A:
    def __init__(s): s.k = 2.0; s._c = None
    def c(self):
        if self._c is None: self._c = self.k * 3
        return self._c
a = A()
def f(x): return x * a.c()
--> pass
--> !a.k = 9.0
--> a._c = None
--> pass
== getattr_fallback
class A:
    def __init__(s): s.d = {'q': 2.0}
    def __getattr__(self, n):
        if n in self.d: return self.d[n]
        raise AttributeError(n)
a = A()
def f(x): return x * a.q
--> a.d['q'] = 4.0
--> a.q = 9.0
--> !a.d['q'] = 7.0
== getattr_default
class A: pass
a = A()
def f(x): return x * getattr(a, 'k', 2.0)
--> !a.z = 1
--> a.k = 5.0
--> del a.k
--> A.k = 3.0
== hasattr
class A: pass
a = A()
def f(x): return x * 2 if hasattr(a, 'k') else x
--> !a.z = 1
--> a.k = None
--> !a.k = 3
== slots
class A: __slots__ = ('k', 'z')
a = A(); a.k = 2.0
def f(x): return x * a.k
--> a.k = 3.0
--> !a.z = 1
== dataclass
@dataclasses.dataclass
class C:
    k: float = 1.0
    z: int = 0
c = C()
def f(x): return x * c.k
--> c.k = 3.0
--> !c.z = 3
--> !c = C(3.0, 9)
--> c = C(4.0)
== frozen_dataclass
@dataclasses.dataclass(frozen=True)
class C:
    k: float = 1.0
    z: int = 0
c = C()
def f(x): return x * c.k
--> c = C(2.0)
--> !c = C(2.0, 5)
== enum_value
class E(enum.Enum):
    A = 1.0
    B = 2.0
e = E.A
def f(x): return x * e.value if e is E.A else x + e.value
--> e = E.B
--> e = E.A
--> !e = E.A
== descriptor
class D:
    def __init__(s): s.v = 2.0
    def __get__(s, o, t): return s.v
class A: q = D()
a = A()
def f(x): return x * a.q
--> A.__dict__['q'].v = 4.0
--> A.q = 9.0
== user_getitem
class A:
    def __init__(s): s.d = [1.0, 2.0]
    def __getitem__(s, k): return s.d[k]
a = A()
def f(x): return x * a[1]
--> a.d[1] = 4.0
--> !a.d[0] = 4.0
--> A.__getitem__ = lambda s, k: 3.0
== user_len_iter
class A:
    def __init__(s): s.d = [1.0, 2.0]
    def __len__(s): return len(s.d)
    def __iter__(s): return iter(s.d)
a = A()
def f(x):
    for v in a: x = x + v
    return x * len(a)
--> a.d[1] = 4.0
--> a.d.append(1.0)
== user_call
class A:
    def __init__(s): s.k = 2.0
    def __call__(s, x): return x * s.k
a = A()
def f(x): return a(x)
--> a.k = 4.0
--> A.__call__ = lambda s, x: x
== user_add
class A:
    def __init__(s, k): s.k = k
    def __add__(s, o): return A(s.k + o.k)
a = A(1.0); b = A(2.0)
def f(x): return x * (a + b).k
--> a.k = 4.0
--> b = A(7.0)
== user_eq_bool
class A:
    def __init__(s, k): s.k = k
    def __bool__(s): return s.k > 0
    def __eq__(s, o): return s.k == o.k
a = A(1.0); b = A(2.0)
def f(x): return (x * 2 if a else x) + (1 if a == b else 0)
--> a.k = -1.0
--> b.k = -1.0
== bound_stored
class A:
    def __init__(s): s.k = 2.0
    def m(s, x): return x * s.k
a = A(); bm = a.m
def f(x): return bm(x)
--> a.k = 3.0
--> bm = A().m
--> !A.m = None
== classmethod
class A:
    k = 2.0
    @classmethod
    def m(c, x): return x * c.k
a = A()
def f(x): return a.m(x)
--> A.k = 3.0
--> A.m = classmethod(lambda c, x: x)
== staticmethod
class A:
    @staticmethod
    def m(x): return x * 2
a = A()
def f(x): return a.m(x)
--> A.m = staticmethod(lambda x: x)
== super_method
class B:
    def m(s, x): return x * 2
class A(B):
    def m(s, x): return super().m(x) + 1
a = A()
def f(x): return a.m(x)
--> B.m = lambda s, x: x * 5
--> !B.q = 1
== super_of_a_class_property
class B:
    @property
    def k(s): return s._k
class A(B):
    def m(s, x): return super(A, s.__class__).k.fget(s) * x
a = A()
a._k = 3.0
def f(x): return a.m(x)
--> a._k = 4.0
--> B.k = property(lambda s: 7.0)
== private_name
class A:
    def __init__(s): s.__k = 2.0
    def m(s, x): return x * s.__k
a = A()
def f(x): return a.m(x)
--> a._A__k = 3.0
--> !a.__k = 9.0
== array_in_attr_rebound
class A: pass
a = A(); a.w = np.ones(2)
def f(x): return np.sum(x * a.w)
--> !a.w = a.w + 1
--> !a.w = a.w * 2
--> !a.w = a.w - 0.5
== vars_call
class A: pass
a = A(); a.k = 2.0
def f(x): return x * vars(a)['k']
--> a.k = 4.0
--> !a.z = 1
== vars_iter
class A: pass
a = A(); a.k = 2.0
def f(x): return x * sum(vars(a).values())
--> a.k = 4.0
--> a.z = 1.0
== counter_attr
class A: n = 0
a = A()
def f(x):
    a.n += 1
    return x * a.n
--> pass
--> pass
== write_before_read
class A: pass
a = A(); a.k = 0.0
def f(x):
    a.k = 5.0
    return x * a.k
--> a.k = 7.0
--> a.k = 9.0
== created_inside
class A:
    def __init__(s, k): s.k = k; s.L = [k]
k = 2.0
def f(x):
    a = A(k)
    a.k += 1; a.L.append(3.0)
    return x * a.k + sum(a.L)
--> k = 3.0
--> !pass
--> A.__init__ = lambda s, k: (setattr(s, 'k', 1.0), setattr(s, 'L', []))[0]
== identity_of_objects
class A: pass
a = A(); b = a
def f(x): return x * 2 if a is b else x
--> b = A()
--> b = a
== type_name
class A: pass
class B: pass
a = A()
def f(x): return x * 2 if type(a).__name__ == 'A' else x
--> a = B()
--> !a = B()
--> B.__name__ = 'A'
== layer_objects
class Lin:
    def __init__(s, k): s.w = np.full(2, k); s.act = 'tanh'
    def __call__(s, x): return np.tanh(x * s.w) if s.act == 'tanh' else x * s.w
class Net:
    def __init__(s): s.layers = [Lin(1.0), Lin(2.0)]
    def __call__(s, x):
        for l in s.layers: x = l(x)
        return x
net = Net()
def f(x): return net(x)
--> net.layers[1].act = 'id'
--> net.layers.append(Lin(.5))
--> !net.layers[0].w = np.ones(2)
--> !net.layers[0].w[:] = 3
== reassigned_arg_object
class A: pass
a = A(); a.k = 2.0
def h(o, x): return x * o.k
def f(x): return h(a, x)
--> a.k = 3.0
--> b = a; b.k = 9.0
== returned
l = [[1.0, 2.0]]; d = {'k': (l, 3.0)}
def f(x): return x * 2, d
--> d['k'][0][0][1] = 5.0
--> l.append(4.0)
--> d['n'] = 1.0
--> !unused = 2
== returned_dataclass
@dataclasses.dataclass
class D: k: float
d = D([1.0])
def f(x): return x * 2, [d], d.k
--> d.k.append(2.0)
== returned_array
l = [np.ones(2), 'a']
def f(x): return x * 2, l
--> l[0][1] = 5.0
--> l[1] = 'b'
== weakref
import weakref
class A: k = 2.0
a = A(); r = weakref.ref(a)
def f(x): return x * r().k
--> a.k = 5.0
--> !a.z = 5.0
"""

REBUILT = """
== two_places
class A:
    def __init__(self, k): self.k = k
a = A(2.0); l = [a]
def f(x): return x * a.k + l[0].k
--> a = A(2.0)
--> l[0].k = 5.0
--> a.k = 7.0
== element_of_a_tuple
class A:
    def __init__(self, k): self.k = k
a = A(2.0); t = (a, 1.0)
def f(x): return x * a.k + t[0].k
--> a = A(2.0)
--> t[0].k = 5.0
--> t = (A(2.0), 1.0)
--> t[0].k = 6.0
--> a.k = 7.0
== by_a_method
class A:
    def __init__(self, k): self.k = k
    def m(self, x): return x * self.k
a = A(2.0); call = a.m
def f(x): return call(x) + a.k
--> a = A(2.0)
--> call.__self__.k = 3.0
--> a.k = 4.0
== key
class A: pass
a = A(); d = {a: 2.0}
def f(x): return x * d[a]
--> a = A()
--> d = {a: 3.0}
== key_made
class A: pass
a, b = A(), A()
def f(x): return x * {a: 2.0}.get(b, 5.0)
--> b = a
--> b = A()
== key_of_a_function
def made(): return lambda: 2.0
h, g = made(), made()
def f(x): return x * {h: 2.0}.get(g, 5.0)
--> g = h
--> g = made()
== key_in_a_tuple
class A: pass
a = A(); d = {(a, 1): 2.0}
def f(x): return x * d[a, 1]
--> a = A()
--> d = {(a, 1): 3.0}
== element_of_a_set
class A: pass
a = A(); a.k = 2.0; s = {a}
def f(x): return x * sum(v.k for v in s) + a.k
--> a = A(); a.k = 2.0
--> [*s][0].k = 5.0
--> a.k = 7.0
== in_a_set
class A: pass
a = A(); s = {a}
def f(x): return x * (2.0 if a in s else 3.0)
--> a = A()
--> s.add(a)
== identity
class A: pass
a, b = A(), A()
def f(x): return x * (2.0 if a is b else 3.0)
--> b = a
--> a = A()
== not_none
class A: k = 2.0
a = A()
def f(x): return x if a is None else x * a.k
--> !a = A()
--> a.k = 3.0
--> a = None
== shared_cell
def made(k):
    def get(): return k
    def put(v):
        nonlocal k
        k = v
    return get, put
get, put = made(2.0)
def f(x): return x * get()
--> put(3.0)
--> !get = made(3.0)[0]
--> !put(5.0)
--> put = made(5.0)[1]; get = made(4.0)[0]
== two_functions_of_a_cell
def made(k):
    def get(): return k
    def double(): return 2 * k
    def put(v):
        nonlocal k
        k = v
    return get, double, put
get, double, put = made(2.0)
def f(x): return x * get() + double()
--> get = made(2.0)[0]
--> put(7.0)
== function_with_a_default
def made(k):
    def h(x, y=k): return x * y
    return h
h = made([2.0])
def f(x): return h(x, [1.0])[0] if False else h(x, 3.0) + h(x, h.__defaults__[0][0])
--> !h = made([2.0])
--> h = made([4.0])
== aliased_afterwards
l, m = [1.0], [1.0]
def f(x):
    l.append(2.0)
    return x * len(m)
--> m = l
--> m = [1.0]
== list_with_an_item_of_its_own
class L(list):
    def __getitem__(self, n): return super().__getitem__(n) * 2.0
l = L([1.0, 2.0])
def f(x): return x * l[1]
--> l[1] = 3.0
--> l = L([1.0, 4.0])
--> l.append(5.0)
== rebuilt_then_changed
class L:
    def __init__(self, w): self.w = w
net = types.SimpleNamespace(layers=[L([1.0, 2.0]), L([3.0, 4.0])])
def f(x): return x * sum(l.w[1] for l in net.layers)
--> !net.layers[0] = L([9.0, 2.0])
--> net.layers[0].w[1] = 8.0
--> !net = types.SimpleNamespace(layers=[L([0.0, 8.0]), L([0.0, 4.0])])
--> net.layers.append(L([0.0, 1.0]))
--> net.layers[2].w = [5.0, 6.0]
== another_class
class A: k = 2.0
class B(A): pass
a = A()
def f(x): return x * a.k
--> a = B()
--> B.k = 3.0
--> a = A()
--> del A.k; B.k = 2.0
== enum_member
class Mode(enum.Enum):
    A = 2.0
    B = 3.0
m = Mode.A
def f(x): return x * m.value
--> m = Mode.B
--> m = Mode.A
== error
e = ValueError(2.0)
def f(x): return x * e.args[0]
--> e = ValueError(3.0)
== fraction
import fractions
q = fractions.Fraction(1, 2)
def f(x): return x * q.numerator
--> q = fractions.Fraction(3, 2)
== dict_of_lists
d = {'a': [1.0, 2.0], 'b': {'c': 3.0}}
def f(x): return x * d['a'][0] + d['b']['c']
--> !d = {'a': [1.0], 'b': {'c': 3.0, 'e': 0.0}}
--> d['b'] = {}
--> d = {'a': [2.0], 'b': {'c': 3.0}}
== array_rebuilt
w = np.array([1.0, 2.0]); o = types.SimpleNamespace(w=np.ones(2))
def f(x): return x * float(w[1]) + float(np.sum(o.w))
--> !w = np.array([1.0, 2.0])
--> w[1] = 5.0
--> !o.w = o.w.copy()
--> o.w = np.ones(3)
--> w = np.array([1, 5])
== base_of_an_array
w = np.array([1.0, 2.0])
def f(x): return x * (2.0 if w.base is None else 3.0)
--> w = np.array([0.0, 1.0, 2.0])[1:]
== address
class A: pass
a = A(); b = a
def f(x): return x * (2.0 if id(a) == id(b) else 3.0)
--> a = A()
--> b = a
== arrays_of_one_memory
w = np.array([1.0, 2.0]); v = w[1:]
def f(x): return x * float(w[1]) + float(v[0])
--> v = w[:1]
--> w[1] = 5.0
== weakly_too
class A: pass
a = A(); a.k = 2.0; r = weakref.ref(a); kept = [a]
def f(x): return x * a.k + r().k
--> a = A(); a.k = 2.0
--> kept[0].k = 5.0
--> a.k = 7.0
"""

FUNCTIONS_AND_ARRAYS = """
== namedtuple
C = collections.namedtuple('C', 'k z')
c = C(1.0, 2)
def f(x): return x * c.k
--> c = C(3.0, 2)
--> !c = C(3.0, 7)
== default
def h(x, k=2.0): return x * k
def f(x): return h(x)
--> h.__defaults__ = (5.0,)
--> h.__defaults__ = (6.0,)
== default_mutable
def h(x, k=[2.0]): return x * k[0]
def f(x): return h(x)
--> h.__defaults__[0][0] = 5.0
--> !h.__defaults__[0].append(1)
== kwdefault
def h(x, *, k=2.0): return x * k
def f(x): return h(x)
--> h.__kwdefaults__['k'] = 5.0
--> h.__kwdefaults__ = {'k': 7.0}
== default_not_used
def h(x, k=2.0): return x * k
def f(x): return h(x, 3.0)
--> !h.__defaults__ = (5.0,)
== closure
def mk():
    k = 2.0
    def f(x): return x * k
    def put(v):
        nonlocal k
        k = v
    return f, put
f, put = mk()
--> put(3.0)
--> put(4)
--> !pass
== closure_list
def mk():
    L = [2.0]
    def f(x): return x * L[0]
    return f, L
f, L = mk()
--> L[0] = 3.0
--> !L.append(1)
== closure_helper
def mk(k):
    def h(x): return x * k
    return h
h = mk(2.0)
def f(x): return h(x)
--> h = mk(3.0)
--> h = mk(3.0)
== module_attr
m = types.ModuleType('m'); m.k = 2.0
def f(x): return x * m.k
--> m.k = 3.0
--> !m.z = 1
== module_function
m = types.ModuleType('m'); m.g = lambda x: x * 2
def f(x): return m.g(x)
--> m.g = lambda x: x * 3
== module_getattr
m = types.ModuleType('m'); st = {'k': 2.0}
def ga(n): return st[n]
m.__getattr__ = ga
def f(x): return x * m.k
--> st['k'] = 3.0
--> m.k = 8.0
== function_replaced
def h(x): return x * 2
def f(x): return h(x)
--> def h(x): return x * 3
--> h = np.sin
== function_code
def h(x): return x * 2
def h2(x): return x * 5
def f(x): return h(x)
--> h.__code__ = h2.__code__
== function_attr
def h(x): return x * h.k
h.k = 2.0
def f(x): return h(x)
--> h.k = 3.0
--> !h.z = 3.0
== builtin_shadowed
def f(x): return x * max(1.0, 2.0)
--> max = min
--> del max
== partial
def h(x, k, j=1.0): return x * k + j
g = functools.partial(h, k=2.0)
def f(x): return g(x)
--> g.keywords['k'] = 5.0
--> g = functools.partial(h, k=6.0)
--> def h(x, k, j=1.0): return x
== array_operand_in_place
W = np.array([2., 3.])
def f(x): return x * W
--> !W[0] = 9.0
--> !W = np.array([5., 6.])
--> W = np.array([5, 6])
== array_constant_in_place
W = np.array([2., 3.])
def f(x): return x * np.sum(W)
--> W[0] = 9.0
--> W = np.array([5., 6.])
== array_item
W = np.array([2., 3.])
def f(x): return x * float(W[0])
--> W[0] = 9.0
--> W[0] = 7.0
== array_shape
W = np.ones((2, 3))
def f(x): return x * W.shape[1]
--> W = np.ones((2, 5))
== array_truth
W = np.array(1.0)
def f(x): return x * 2 if W > 0 else x
--> W[()] = -1.0
== array_index
I = np.array([1, 0])
def f(x): return x[I] * 2
--> I[0] = 0
== array_view
W = np.arange(4.0)
V = W[1:3]
def f(x): return x * V
--> !W[1] = 7.0
--> W = np.zeros(4)
== array_in_dict
d = {'w': np.ones(2), 'b': np.zeros(2)}
def f(x): return x * d['w'] + d['b']
--> !d['w'][0] = 2.0
--> !d['b'] = np.ones(2)
--> !d = {'w': np.ones(2) * 3, 'b': np.ones(2)}
== environ
def f(x): return x * float(os.environ.get('READS_K', '2'))
--> os.environ['READS_K'] = '5'
--> !os.environ['READS_Z'] = '5'
--> os.environ.pop('READS_K', None)
== getenv
def f(x): return x * (3 if os.getenv('READS_OTHER') else 2)
--> !os.environ['READS_Z'] = '6'
--> os.environ['READS_OTHER'] = '5'
--> os.environ.pop('READS_OTHER', None)
== environment_asked
def f(x): return x * (3 if 'READS_OTHER' in os.environ else 2)
--> !os.environ['READS_Z'] = '7'
--> os.environ['READS_OTHER'] = '5'
--> os.environ.pop('READS_OTHER', None)
== asked_if_it_is_a_class
import inspect
class A: pass
a = A(); a.z = 1.0
def f(x): return x if inspect.isclass(a) else x * 2
--> !a.z = 2.0
--> a = A
== text_of_a_name
n = 'ab'
def f(x): return x * len(f"{n}!")
--> !np.set_printoptions(precision=5)
--> np.set_printoptions(precision=8); n = 'abc'
== text_of_an_array
w = np.array([1.0, 0.123456789])
def f(x): return x * len(f"{w}")
--> np.set_printoptions(precision=3)
--> np.set_printoptions(precision=8)
== globals_call
k = 2.0
def f(x): return x * globals()['k']
--> k = 4.0
--> !z = 4.0
== lru_cache
@functools.lru_cache
def h(n): return n * k
k = 2.0
def f(x): return x * h(3)
--> !pass
--> !k = 5.0
--> h.cache_clear()
--> !h(7)
== memo_dict
memo = {}
def h(n):
    if n not in memo: memo[n] = n * 2.0
    return memo[n]
def f(x): return x * h(3)
--> pass
--> !pass
--> memo[3] = 1.0
--> !memo[9] = 1.0
== counter
c = [0]
def f(x):
    c[0] += 1
    return x * c[0]
--> pass
--> pass
--> c[0] = 10
== counter_global
n = 0
def f(x):
    global n
    n = n + 1
    return x * n
--> pass
--> pass
== recursion
base = 1.0
def h(x, n): return x * base if n == 0 else h(x, n - 1) * 2
def f(x): return h(x, 3)
--> base = 5.0
--> def h(x, n): return x
== branch_not_taken
mode = 'a'; k = 2.0; j = 3.0
def f(x): return x * k if mode == 'a' else x + j
--> !j = 7.0
--> mode = 'b'
--> j = 1.0
--> !k = 9.0
== sorted_key
L = [[2, 1.0], [1, 5.0]]
def f(x): return x * sorted(L, key=lambda v: v[0])[0][1]
--> L[0][0] = 0
--> L[0][1] = 9.0
== map_lambda
k = 2.0; L = [1.0, 2.0]
def f(x): return x * sum(map(lambda v: v * k, L))
--> k = 3.0
--> L[0] = 7.0
== map_global_function
k = 2.0; L = [1.0, 2.0]
def h(v): return v * k
def f(x): return x * sum(map(h, L))
--> k = 3.0
--> def h(v): return v
== reduce
k = 2.0; L = [1.0, 2.0]
def f(x): return x * functools.reduce(lambda a, b: a * b + k, L)
--> k = 3.0
--> L.append(2.0)
== min_max
L = [3.0, 1.0]
def f(x): return x * min(L) + max(L)
--> L[1] = 0.5
--> L.append(9.0)
== str_format
k = 2
d = {'v2': 1.0, 'v3': 5.0}
def f(x): return x * d[f'v{k}']
--> k = 3
--> !d['v2'] = 8.0
== augmented_local_alias
L = [1.0]
def f(x):
    M = list(L)
    M.append(2.0)
    return x * sum(M)
--> L[0] = 4.0
--> L.append(1.0)
== generator_function
L = [1.0, 2.0]
def gen():
    for v in L: yield v * 2
def f(x):
    for v in gen(): x = x + v
    return x
--> L[0] = 5.0
--> L.append(1.0)
== decorated
def dec(h):
    @functools.wraps(h)
    def w(*a): return h(*a) * k
    return w
k = 2.0
@dec
def h(x): return x + 1
def f(x): return h(x)
--> k = 3.0
--> !z = 1
== nested_function_free
k = 2.0
def f(x):
    j = k + 1
    def h(y): return y * j * k
    return h(x)
--> k = 3.0
--> k = 4.0
== import_inside
def f(x):
    import math
    from math import pi
    return x * pi
--> !pass
== np_list_array
L = [1.0, 2.0]
def f(x): return x * np.array(L)
--> L[0] = 5.0
--> L = [4.0, 4.0]
== defaultdict
d = collections.defaultdict(float); d['a'] = 2.0
def f(x): return x * d['a']
--> d['a'] = 3.0
--> !d['b'] = 1.0
== chainmap
d = {'a': 2.0}; c = collections.ChainMap(d, {'b': 1.0})
def f(x): return x * c['a']
--> d['a'] = 3.0
--> del d['a']; c.maps.append({'a': 7.0})
== deque
d = collections.deque([1.0, 2.0], maxlen=2)
def f(x): return x * d[0] + d[-1]
--> d.append(3.0)
--> d.append(4.0)
== mapping_proxy
d = {'a': 2.0}; q = types.MappingProxyType(d)
def f(x): return x * q['a']
--> d['a'] = 3.0
--> !d['b'] = 3.0
== str_method
s = 'a,b'
def f(x): return x * len(s.split(','))
--> s = 'a,b,c'
== bool_of_int_flag
flag = 1
def f(x): return x * 2 if flag else x
--> flag = 0
--> flag = True
== np_patched
def f(x): return my.sin(x)
my = types.SimpleNamespace(sin=np.sin)
--> my.sin = np.cos
--> !my.z = 1
"""

TRAPS = """
== number_identity
a = 1234.5
b = a
def f(x): return x * 2 if a is b else x
--> b = float("1234.5")
--> b = a
== two_places_of_one_object
class A: pass
a = A(); a.k = 1.0
d = {"a": a}
def f(x): return x * a.k + d["a"].k
--> d["a"].k = 4.0
--> d["a"] = A(); d["a"].k = 2.0
--> a.k = 3.0
== alias_is_written
class A: pass
a = A(); a.k = 1.0
b = a
def f(x):
    b.k = 5.0
    return x * a.k
--> a.k = 7.0
--> b = A()
--> a.k = 2.0
== list_grows
log = []
def f(x):
    log.append(1.0)
    return x * 2
--> pass
--> pass
== list_grows_and_is_read
log = [1.0]
def f(x):
    log.append(2.0)
    return x * log[0] + log[-1] + len(log)
--> pass
--> log.insert(0, 7.0)
== slot_that_is_empty
class A: __slots__ = ("k", "z")
a = A()
def f(x):
    try: return x * a.k
    except AttributeError: return x
--> a.z = 2.0
--> a.k = 3.0
--> del a.k
== nested_unpacking
T = [[1.0, 2.0], 3.0]
def f(x):
    (a, b), c = T
    return x * a + b * c
--> T[0][1] = 5.0
--> T[0] = [7.0, 8.0]
== unpacking_into_stars
T = [1.0, 2.0, 3.0]
def f(x):
    a, *b = T
    return x * a + len(b)
--> T.append(4.0)
--> T[0] = 6.0
== entered_object_made_inside
state = [2.0]
class Entered:
    def __enter__(self): return state[0]
    def __exit__(self, *error): return False
def f(x):
    with Entered() as k: return x * k
--> state[0] = 3.0
== partial_made_inside
k = [2.0]
def h(x, j): return x * j + k[0]
def f(x): return functools.partial(h, j=3.0)(x)
--> k[0] = 4.0
--> !z = 1
== unbound_cell
def make():
    def f(x):
        try: return x * k
        except NameError: return x
    def put(v):
        nonlocal k
        k = v
    if False: k = 1.0
    return f, put
f, put = make()
--> put(3.0)
== absent_global
def f(x):
    try: return x * later
    except NameError: return x
--> later = 2.0
--> del later
== setter_that_reads
scale = [2.0]
class A:
    @property
    def w(self): return self.v
    @w.setter
    def w(self, new): self.v = new * scale[0]
a = A()
def f(x):
    a.w = 3.0
    return x * a.w
--> scale[0] = 5.0
== key_with_its_own_hash
class K:
    def __init__(self, k): self.k = k
    def __hash__(self): return hash(self.k)
    def __eq__(self, other): return self.k == other.k
one, two = K(1), K(1)
d = {one: 2.0}
def f(x): return x * d.get(two, 7.0)
--> two.k = 3
--> d[K(3)] = 9.0
== delegated_generator
L = [1.0]
def g():
    yield from L
    yield 2.0
def f(x): return x * sum(g())
--> L.append(3.0)
== formatted_object
class A:
    def __init__(self): self.k = "a"
    def __str__(self): return self.k
a = A()
d = {"a": 1.0, "b": 2.0}
def f(x): return x * d[f"{a}"]
--> a.k = "b"
== chain_of_comparisons
class A:
    def __init__(self, k): self.k = k
    def __lt__(self, other): return self.k < other.k
a, b, c = A(1), A(2), A(3)
def f(x): return x * 2 if a < b < c else x
--> c.k = 0
--> c.k = 5
== array_stored_in_another
w = np.array([2.0, 3.0])
def f(x):
    out = np.zeros(2)
    out[:] = w
    return x * float(out.sum())
--> w[0] = 7.0
== array_written_after_it_was_read
w = np.array([2.0, 3.0])
def f(x):
    t = float(w.sum())
    w[0] = 9.0
    return x * t
--> pass
--> w[0] = 1.0
== lengths_after_a_write
d = {"a": 1.0}
def f(x):
    d["b"] = 2.0
    return x * len(d)
--> del d["a"]; d["c"] = 3.0
--> d.clear()
== caught_error_of_a_descriptor
class A:
    @property
    def p(self): return self.d["k"]
    def __getattr__(self, name): return 7.0
a = A(); a.d = {"k": 2.0}
def f(x): return x * a.p
--> a.d["k"] = 3.0
== closures_of_one_code
def make(k):
    def h(x): return x * k
    def put(v):
        nonlocal k
        k = v
    return h, put
(one, put_one), (two, put_two) = make(1.0), make(2.0)
def f(x): return one(x) + two(x)
--> put_one(5.0)
--> put_two(6.0)
== truth_of_an_object
class V:
    def __init__(self, k): self.k, self.u = k, 0
    def __bool__(self): return self.k > 2
a = V(2.0)
def f(x): return x * 2 if a else x
--> !a.u = 1
--> a.k = 3.0
--> V.__bool__ = lambda self: False
== length_as_truth
class V:
    def __init__(self): self.l, self.u = [1.0], 0
    def __len__(self): return len(self.l)
a = V()
def f(x): return x if not a else x * 2
--> !a.u = 1
--> a.l = []
--> V.__bool__ = lambda self: True
== object_kept_by_or
class V:
    def __init__(self): self.l, self.k = [1.0], 5.0
    def __len__(self): return len(self.l)
a, b = V(), V()
b.k = 7.0
def f(x): return x * (a or b).k
--> a.l = []
--> b.k = 8.0
== truth_that_is_none
class V:
    def __bool__(self): return n
n = True
a = V()
def f(x): return x if a else x * 2
--> n = 1
--> n = False
== attributes_that_are_missing
class C: pass
class D: pass
c = C()
def f(x):
    if hasattr(c, 'a'): return x * c.a
    if hasattr(D, 'd') or hasattr(D, 'e'): return x * 7.0
    try: return x + c.b
    except AttributeError: return x * getattr(c, 'k', 5.0)
--> !c.u = 1
--> c.k = 2.0
--> c.b = 2.0
--> c.a = 3.0
--> del c.a
--> D.e = 1
== setter_of_a_property
class P:
    def __init__(self): self._v, self.u = 1.0, 0
    @property
    def v(self): return self._v
    @v.setter
    def v(self, value): self._v = value * k
    @v.deleter
    def v(self): self._v = k + 10
p, k = P(), 2.0
def f(x):
    p.v = 3.0
    return x * p.v
--> !p.u = 1
--> k = 5.0
--> P.v = 4.0
== deleter_of_a_property
class P:
    @property
    def v(self): return self._v
    @v.deleter
    def v(self): self._v = k
p, k = P(), 2.0
def f(x):
    del p.v
    return x * p.v
--> !p.u = 1
--> k = 5.0
== updated_property
class P:
    def __init__(self): self._v, self.u = 1.0, 0
    @property
    def v(self): return 1.0
    @v.setter
    def v(self, value): self._v = value * k
p, k = P(), 2.0
def f(x):
    p.v += 3.0
    return x * p._v
--> !p.u = 1
--> k = 5.0
== hook_that_writes
class C:
    def __setattr__(self, name, value): super().__setattr__(name, value * k)
c, k = C(), 2.0
def f(x):
    c.t = 3.0
    return x * c.t
--> !c.__dict__['u'] = 1
--> k = 5.0
--> del C.__setattr__
== hook_that_deletes
class C:
    def __delattr__(self, name): self.__dict__['gone'] = k
c, k = C(), 2.0
def f(x):
    c.t = 3.0
    del c.t
    return x * c.gone
--> !unused = 1
--> k = 5.0
== written_past_the_hook
@dataclasses.dataclass(frozen=True)
class C:
    a: float
    def __post_init__(self): object.__setattr__(self, 'b', self.a * k)
k = 2.0
def f(x): return x * C(2.0).b
--> !unused = 1
--> k = 5.0
== descriptor_that_writes
class D:
    def __get__(self, o, cls): return o.__dict__['d']
    def __set__(self, o, value): o.__dict__['d'] = value * k
class C: d = D()
c, k = C(), 2.0
def f(x):
    c.d = 3.0
    return x * c.d
--> !c.u = 1
--> k = 5.0
--> D.__set__ = lambda self, o, value: o.__dict__.update(d=value + 1)
--> D.__get__ = lambda self, o, cls: 8.0
== class_that_gains_a_hook
class C: pass
c = C()
def f(x):
    c.t = 3.0
    return x * c.t
--> !c.u = 1
--> C.__setattr__ = lambda self, name, value: self.__dict__.update({name: value * 9})
== class_that_gains_a_property
class C: pass
c = C()
def f(x):
    c.t = 3.0
    return x * c.t
--> !c.u = 1
--> C.t = property(lambda self: 7.0, lambda self, value: None)
== class_of_a_made_object_gains_a_hook
class A: pass
class C(A):
    def __init__(self): self.t = 3.0
def f(x): return x * C().t
--> !unused = 1
--> A.__setattr__ = lambda self, name, value: self.__dict__.update({name: value * 9})
== class_of_a_made_object_gains_a_property
class C:
    def __init__(self): self.t = 3.0
def f(x): return x * C().t
--> !unused = 1
--> C.t = property(lambda self: 7.0, lambda self, value: None)
== default_of_a_class_becomes_a_property
class C: t = 1.0
c = C()
def f(x):
    c.t = 3.0
    return x * c.t
--> !C.t = 2.0
--> C.t = property(lambda self: 7.0, lambda self, value: None)
== singledispatch
@functools.singledispatch
def g(v, k=1.0): return k
@g.register
def _(v: str): return 2.0
o = types.SimpleNamespace(v='s')
def f(x): return x * g(o.v)
--> !g.register(list, lambda v: 3.0)
--> g.register(str, lambda v: 4.0)
--> o.v = 1.0
--> g.register(object, lambda v: 5.0)
== attributes_whose_key_is_a_number
class A: pass
a = A(); vars(a)[0] = 2.0; a.k = 3.0; import copy
def f(x): return x * len(vars(copy.copy(a))) * a.k
--> a.k = 4.0
--> vars(a)[1] = 5.0
== called_name_is_rebound
def g(x): return x
def h(x): return x * 2
first = g
def f(x):
    for k in range(3):
        x = g(x)
        globals()['g'] = h
    globals()['g'] = first
    return x
--> h = lambda x: x * 3
== called_methods_of_two_classes
class A:
    def m(self, x): return x + 1
class B:
    def m(self, x): return x * 2
l = [A(), B(), A()]
def f(x):
    for o in l: x = o.m(x)
    return x
--> B.m = lambda self, x: x * 3
--> l[2].m = lambda x: x * 5
== one_code_in_two_modules
def h(x): return x + 1
def g(x): return h(x) * len([1, 2])
other = {'h': lambda x: x * 7, '__builtins__': {'len': lambda o: 3}}
twin = types.FunctionType(g.__code__, other)
def f(x):
    for one in (g, twin, g, twin): x = one(x)
    return x
--> other['h'] = lambda x: x * 8
--> h = lambda x: x + 2
--> other['len'] = lambda o: 4
== callables_of_one_place
def f(x):
    for one in (abs, float, np.sin, h): x = x + one(0.5)
    return x
def h(x): return x * 2
--> h = lambda x: x * 3
== objects_of_a_generator_added_up
k, unread = 1.0, 0
class Number:
    def __init__(self, x): self.x = x
    def __add__(self, other): return Number(self.x + k * other.x)
def f(x): return sum((Number(x + n) for n in range(3)), Number(x)).x
--> k = 2.0
--> !unread = 1
--> Number.__add__ = lambda self, other: Number(self.x - other.x)
== objects_of_a_generator_asked
k, unread = 1.0, 0
class Flag:
    def __init__(self, n): self.n = n
    def __bool__(self): return self.n > k
def f(x): return x * 2 if any(Flag(n) for n in range(3)) else x
--> k = 2.0
--> !unread = 1
--> k = 0.0
== objects_of_a_generator_filtered
k, unread = 1.0, 0
class Flag:
    def __init__(self, n): self.n = n
    def __bool__(self): return self.n > k
def f(x): return x * len(list(filter(None, map(Flag, range(3)))))
--> k = 0.0
--> !unread = 1
== objects_of_a_generator_sorted
k, unread = 1, 0
class Place:
    def __init__(self, n): self.n = n
    def __lt__(self, other): return k * self.n < k * other.n
def f(x): return x * sorted(Place(n) for n in range(3))[0].n + min(map(Place, (5, 6))).n
--> k = -1
--> !unread = 1
== keys_of_objects
k, unread = 1, 0
class Place:
    def __init__(self, n): self.n = n
    def __lt__(self, other): return k * self.n < k * other.n
def f(x): return x * max([3, 4], key=Place)
--> k = -1
--> !unread = 1
== objects_of_a_set
k, unread = 1, 0
class Place:
    def __init__(self, n): self.n = n
    def __hash__(self): return self.n % k
    def __eq__(self, other): return self.n % k == other.n % k
def f(x): return x * len(set(Place(n) for n in range(6))) + len({(Place(2), 1), (Place(2), 1)})
--> k = 3
--> unread = 1
== cache_made_inside
k, unread = 1.0, 0
def f(x):
    @functools.lru_cache(maxsize=None)
    def power(n): return k if n == 0 else x * power(n - 1)
    @functools.cache
    def twice(n): return n + k
    return power(3) + twice(2) * twice(2)
--> k = 2.0
--> !unread = 1
== named_tuple_made_inside
Pair = collections.namedtuple('Pair', 'a b', defaults=(2.0,))
unread = 1
def f(x): return Pair(x).b * x + Pair(x, x)._replace(a=1.0).a
--> Pair.__new__.__defaults__ = (3.0,)
--> !unread = 2
--> Pair.__new__ = staticmethod(lambda cls, a, b=5.0: tuple.__new__(cls, (a, b)))
== factory_of_a_field
k, unread = 1.0, 0
@dataclasses.dataclass
class Rate:
    x: float
    seen: list = dataclasses.field(default_factory=lambda: [k])
    by_name: dict = dataclasses.field(default_factory=dict)
def f(x):
    rate = Rate(x)
    rate.seen.append(x)
    rate.by_name['x'] = x * 2
    return rate.seen[0] * rate.by_name['x'] + Rate(x, [3.0]).seen[0]
--> k = 2.0
--> !unread = 1
"""

PROGRAMS = programs_in(CONTAINERS + OBJECTS + REBUILT + FUNCTIONS_AND_ARRAYS + TRAPS)
