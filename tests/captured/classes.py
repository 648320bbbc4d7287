"""Objects, classes and what Python does with them."""

from __future__ import annotations

import abc
import argparse
import contextlib
import copy
import dataclasses
import enum
import functools
import types
from typing import Any, ClassVar

import numpy as np

import tracejit as tj
from tests.captured.table import module, program


@program
def class_attr_replaced_on_class() -> Any:

    class M:
        k = 2.0

        def f(self, x):
            return x * self.k

    m = M()
    return (lambda x: m.f(x), lambda: setattr(M, "k", 3.0))


@program
def class_attr_shadowed_on_instance() -> Any:

    class M:
        k = 2.0

        def f(self, x):
            return x * self.k

    m = M()
    return (lambda x: m.f(x), lambda: setattr(m, "k", 3.0))


@program
def base_class_attr_replaced() -> Any:

    class B:
        k = 2.0

    class M(B):
        def f(self, x):
            return x * self.k

    m = M()
    return (lambda x: m.f(x), lambda: setattr(B, "k", 3.0))


@program
def base_class_attr_shadowed_in_subclass() -> Any:

    class B:
        k = 2.0

    class M(B):
        def f(self, x):
            return x * self.k

    m = M()
    return (lambda x: m.f(x), lambda: setattr(M, "k", 3.0))


@program
def class_bases_changed() -> Any:

    class B:
        k = 2.0

    class C:
        k = 3.0

    class M(B):
        def f(self, x):
            return x * self.k

    m = M()

    def change():
        M.__bases__ = (C,)

    return (lambda x: m.f(x), change)


@program
def instance_class_changed() -> Any:

    class M:
        def f(self, x):
            return x * 2.0

    class N:
        def f(self, x):
            return x * 3.0

    m = M()

    def change():
        m.__class__ = N

    return (lambda x: m.f(x), change)


@program
def method_code() -> Any:

    class M:
        def f(self, x):
            return x * 2.0

        def g(self, x):
            return x * 3.0

    m = M()

    def change():
        M.f.__code__ = M.g.__code__

    return (lambda x: m.f(x), change)


@program
def method_patched_on_instance() -> Any:

    class M:
        def f(self, x):
            return x * 2.0

    m = M()
    return (lambda x: m.f(x), lambda: setattr(m, "f", lambda x: x * 3.0))


@program
def method_patched_on_class() -> Any:

    class M:
        def f(self, x):
            return x * 2.0

    m = M()
    return (lambda x: m.f(x), lambda: setattr(M, "f", lambda self, x: x * 3.0))


@program
def dunder_patched_on_class() -> Any:

    class M:
        def __call__(self, x):
            return x * 2.0

    m = M()
    return (lambda x: m(x), lambda: setattr(M, "__call__", lambda self, x: x * 3.0))


@program
def dunder_added_on_class() -> Any:

    class M:
        def __len__(self):
            return 2

    m = M()
    return (lambda x: x * (2.0 if m else 3.0), lambda: setattr(M, "__bool__", lambda self: False))


@program
def getitem_patched() -> Any:

    class M:
        def __getitem__(self, k):
            return 2.0

    m = M()
    return (lambda x: x * m[0], lambda: setattr(M, "__getitem__", lambda self, k: 3.0))


@program
def property_replaced() -> Any:

    class M:
        @property
        def k(self):
            return 2.0

    m = M()
    return (lambda x: x * m.k, lambda: setattr(M, "k", property(lambda self: 3.0)))


@program
def property_backing() -> Any:

    class M:
        def __init__(self):
            self._k = 2.0

        @property
        def k(self):
            return self._k

    m = M()
    return (lambda x: x * m.k, lambda: setattr(m, "_k", 3.0))


@program
def property_over_property() -> Any:

    class M:
        def __init__(self):
            self._k = 2.0

        @property
        def j(self):
            return self._k

        @property
        def k(self):
            return self.j + 1

    m = M()
    return (lambda x: x * m.k, lambda: setattr(m, "_k", 3.0))


@program
def cached_property_() -> Any:

    class M:
        def __init__(self):
            self._k = 2.0

        @functools.cached_property
        def k(self):
            return self._k

    m = M()

    def change():
        m._k = 3.0
        vars(m).pop("k", None)

    return (lambda x: x * m.k, change)


@program
def getattr_dunder_private() -> Any:

    class M:
        def __init__(self):
            object.__setattr__(self, "_M__store", {"k": 2.0})

        def __getattr__(self, name):
            try:
                return self.__store[name]
            except KeyError:
                raise AttributeError(name) from None

    m = M()
    return (lambda x: x * m.k, lambda: vars(m)["_M__store"].update(k=3.0))


@program
def getattribute_dunder() -> Any:

    class M:
        def __init__(self):
            self.k = 2.0

        def __getattribute__(self, name):
            d = object.__getattribute__(self, "__dict__")
            if name in d:
                return d[name] * 1.0
            return object.__getattribute__(self, name)

    m = M()
    return (lambda x: x * m.k, lambda: setattr(m, "k", 3.0))


@program
def descriptor_value() -> Any:

    class D:
        def __init__(self):
            self.value = 2.0

        def __get__(self, obj, owner=None):
            return self.value

    class M:
        k = D()

    m = M()
    return (lambda x: x * m.k, lambda: setattr(M.__dict__["k"], "value", 3.0))


@program
def descriptor_replaced() -> Any:

    class D:
        def __init__(self, v):
            self.value = v

        def __get__(self, obj, owner=None):
            return self.value

    class M:
        k = D(2.0)

    m = M()
    return (lambda x: x * m.k, lambda: setattr(M, "k", D(3.0)))


@program
def slots_inherited() -> Any:

    class B:
        __slots__ = ("k",)

    class M(B):
        __slots__ = ()

    m = M()
    m.k = 2.0
    return (lambda x: x * m.k, lambda: setattr(m, "k", 3.0))


@program
def slots_private() -> Any:

    class M:
        __slots__ = ("__k",)

        def __init__(self):
            self.__k = 2.0

        def get(self):
            return self.__k

        def set(self, v):
            self.__k = v

    m = M()
    return (lambda x: x * m.get(), lambda: m.set(3.0))


@program
def private_attr() -> Any:

    class M:
        def __init__(self):
            self.__k = 2.0

        def get(self):
            return self.__k

        def set(self, v):
            self.__k = v

    m = M()
    return (lambda x: x * m.get(), lambda: m.set(3.0))


@program
def class_registry() -> Any:

    class R:
        table: ClassVar[Any] = {}

        @classmethod
        def get(cls, name):
            return cls.table[name]

    R.table["k"] = 2.0
    return (lambda x: x * R.get("k"), lambda: R.table.update(k=3.0))


@program
def class_registry_functions() -> Any:

    class R:
        table: ClassVar[Any] = {}

    R.table["k"] = lambda x: x * 2.0
    return (lambda x: R.table["k"](x), lambda: R.table.update(k=lambda x: x * 3.0))


@program
def init_subclass_registry() -> Any:

    class R:
        table: ClassVar[Any] = {}

        def __init_subclass__(cls):
            R.table[cls.__name__] = cls

    class A(R):
        k = 2.0

    return (lambda x: x * R.table["A"].k, lambda: setattr(A, "k", 3.0))


@program
def enum_member_attr() -> Any:

    class E(enum.Enum):
        A = 2.0

        def __init__(self, v):
            self.scale = v

    return (lambda x: x * E.A.scale, lambda: setattr(E.A, "scale", 3.0))


@program
def bound_method_captured() -> Any:

    class M:
        def f(self, x):
            return x * self.k

    m = M()
    m.k = 2.0
    g = m.f
    return (lambda x: g(x), lambda: setattr(m, "k", 3.0))


@program
def bound_method_as_function() -> Any:

    class M:
        def __init__(self):
            self.k = 2.0

        def f(self, x):
            return x * self.k

    m = M()
    return (m.f, lambda: setattr(m, "k", 3.0))


@program
def staticmethod_global() -> Any:
    k = [2.0]

    class M:
        @staticmethod
        def f(x):
            return x * k[0]

    m = M()
    return (lambda x: m.f(x), lambda: k.__setitem__(0, 3.0))


@program
def staticmethod_replaced() -> Any:

    class M:
        @staticmethod
        def f(x):
            return x * 2.0

    m = M()
    return (lambda x: m.f(x), lambda: setattr(M, "f", staticmethod(lambda x: x * 3.0)))


@program
def classmethod_attr() -> Any:

    class M:
        k = 2.0

        @classmethod
        def f(cls, x):
            return x * cls.k

    return (lambda x: M.f(x), lambda: setattr(M, "k", 3.0))


@program
def classmethod_replaced() -> Any:

    class M:
        @classmethod
        def f(cls, x):
            return x * 2.0

    return (lambda x: M.f(x), lambda: setattr(M, "f", classmethod(lambda cls, x: x * 3.0)))


@program
def metaclass_attr() -> Any:

    class Meta(type):
        k = 2.0

    class M(metaclass=Meta):
        pass

    return (lambda x: x * M.k, lambda: setattr(Meta, "k", 3.0))


@program
def metaclass_property() -> Any:

    class Meta(type):
        @property
        def k(cls):
            return cls.hidden

    class M(metaclass=Meta):
        hidden = 2.0

    return (lambda x: x * M.k, lambda: setattr(M, "hidden", 3.0))


@program
def metaclass_getattr() -> Any:

    class Meta(type):
        def __getattr__(cls, name):
            return cls.data[name]

    class M(metaclass=Meta):
        data: ClassVar[Any] = {"k": 2.0}

    return (lambda x: x * M.k, lambda: M.data.update(k=3.0))


@program
def metaclass_getitem() -> Any:

    class Meta(type):
        def __getitem__(cls, name):
            return cls.data[name]

    class M(metaclass=Meta):
        data: ClassVar[Any] = {"k": 2.0}

    return (lambda x: x * M["k"], lambda: M.data.update(k=3.0))


@program
def super_method() -> Any:

    class B:
        def f(self, x):
            return x * self.k

    class M(B):
        def f(self, x):
            return super().f(x)

    m = M()
    m.k = 2.0
    return (lambda x: m.f(x), lambda: setattr(m, "k", 3.0))


@program
def super_method_patched() -> Any:

    class B:
        def f(self, x):
            return x * 2.0

    class M(B):
        def f(self, x):
            return super().f(x)

    m = M()
    return (lambda x: m.f(x), lambda: setattr(B, "f", lambda self, x: x * 3.0))


@program
def super_init_made_inside() -> Any:

    class B:
        scale = 2.0

        def __init__(self):
            self.k = self.scale

    class M(B):
        def f(self, x):
            return x * self.k

    return (lambda x: M().f(x), lambda: setattr(B, "scale", 3.0))


@program
def super_init_patched() -> Any:

    class B:
        def __init__(self):
            self.k = 2.0

    class M(B):
        def f(self, x):
            return x * self.k

    def init(self):
        self.k = 3.0

    return (lambda x: M().f(x), lambda: setattr(B, "__init__", init))


@program
def dataclass_field() -> Any:

    @dataclasses.dataclass
    class C:
        lr: float = 2.0

    c = C()
    return (lambda x: x * c.lr, lambda: setattr(c, "lr", 3.0))


@program
def dataclass_replace() -> Any:

    @dataclasses.dataclass
    class C:
        lr: float = 2.0
        wd: float = 1.0

    c = C()
    return (lambda x: x * dataclasses.replace(c, lr=1.0).wd, lambda: setattr(c, "wd", 3.0))


@program
def dataclass_eq() -> Any:

    @dataclasses.dataclass
    class C:
        lr: float = 2.0
        wd: float = 1.0

    c, d = (C(), C())
    return (lambda x: x * (2.0 if c == d else 3.0), lambda: setattr(c, "wd", 3.0))


@program
def dataclass_repr() -> Any:

    @dataclasses.dataclass
    class C:
        lr: float = 2.0
        wd: float = 1.0

    c = C()
    return (lambda x: x * len(repr(c)), lambda: setattr(c, "wd", 3.25))


@program
def user_repr() -> Any:

    class C:
        def __init__(self):
            self.hid = 2

        def __repr__(self):
            return "a" * self.hid

    c = C()
    return (lambda x: x * len(repr(c)), lambda: setattr(c, "hid", 3))


@program
def user_str_format() -> Any:

    class C:
        def __init__(self):
            self.hid = 2

        def __str__(self):
            return "a" * self.hid

    c = C()
    return (lambda x: x * len(f"{c}"), lambda: setattr(c, "hid", 3))


@program
def copy_of_object() -> Any:

    class C:
        def __init__(self):
            self.hid = 2.0

        def get(self):
            return self.hid

    c = C()
    return (lambda x: x * copy.copy(c).get(), lambda: setattr(c, "hid", 3.0))


@program
def vars_of_object() -> Any:

    class C:
        def __init__(self):
            self.a, self.b = (2.0, 1.0)

    c = C()
    return (lambda x: x * sum(vars(c).values()), lambda: setattr(c, "b", 3.0))


@program
def dir_of_object() -> Any:

    class C:
        def __init__(self):
            self.a, self.b = (2.0, 1.0)

    c = C()
    return (lambda x: x * sum(1 for n in dir(c) if n[0] != "_"), lambda: setattr(c, "c", 3.0))


@program
def object_argument() -> Any:

    class Layer:
        def __init__(self, w):
            self.w = w

        def __call__(self, x):
            return x * self.w

    layer = Layer(np.full(3, 2.0))
    return (lambda x, layer: layer(x), lambda: setattr(layer, "w", np.full(3, 3.0)), layer)


@program
def object_argument_inplace() -> Any:

    class Layer:
        def __init__(self, w):
            self.w = w

        def __call__(self, x):
            return x * np.exp(self.w)

    layer = Layer(np.full(3, 2.0))
    return (lambda x, layer: layer(x), lambda: layer.w.fill(3.0), layer)


@program
def abc_register() -> Any:

    class A(abc.ABC):  # noqa: B024
        pass

    class M:
        pass

    m = M()
    return (lambda x: x * (3.0 if isinstance(m, A) else 2.0), lambda: A.register(M))


@program
def operators_of_objects() -> Any:

    class C:
        def __init__(self, v):
            self.v = v

        def __add__(self, o):
            return self.v + o.v

    a, b = (C(2.0), C(1.0))
    return (lambda x: x * (a + b), lambda: setattr(b, "v", 3.0))


@program
def float_protocol_object() -> Any:

    class C:
        def __init__(self, v):
            self.v = v

        def __float__(self):
            return self.v

    a = C(2.0)
    return (lambda x: x * float(a), lambda: setattr(a, "v", 3.0))


@program
def getattr_string_dispatch() -> Any:

    class M:
        def act_a(self, x):
            return x * self.qq

    m = M()
    m.qq = 2.0
    return (lambda x: getattr(m, "act_" + "a")(x), lambda: setattr(m, "qq", 3.0))


@program
def getattr_string_dispatch_patched() -> Any:

    class M:
        def act_a(self, x):
            return x * 2.0

    m = M()
    return (
        lambda x: getattr(m, "act_" + "a")(x),
        lambda: setattr(M, "act_a", lambda self, x: x * 3.0),
    )


@program
def type_call() -> Any:

    class M:
        k = 2.0

    m = M()
    return (lambda x: x * type(m).k, lambda: setattr(M, "k", 3.0))


@program
def exception_class_attr() -> Any:

    class E(Exception):
        k = 2.0

    def f(x):
        try:
            raise E()
        except E as e:
            return x * e.k

    return (f, lambda: setattr(E, "k", 3.0))


@program
def object_from_function() -> Any:

    class M:
        def __init__(self):
            self.k = 2.0

    pool = [M()]

    def get():
        return pool[0]

    return (lambda x: x * get().k, lambda: setattr(pool[0], "k", 3.0))


@program
def object_behind_private_descriptor() -> Any:

    class M:
        __slots__ = ("__weakref__", "a")

    m = M()
    m.a = {"q": [2.0]}
    return (lambda x: x * m.a["q"][0], lambda: m.a["q"].__setitem__(0, 3.0))


@program
def tensor_variable_rebound() -> Any:
    v = [tj.Variable(2.0)]
    return (lambda x: x * v[0], lambda: v.__setitem__(0, tj.Variable(3.0)))


@program
def variable_assigned() -> Any:
    v = tj.Variable(2.0)
    return (lambda x: x * v, lambda: v.assign(3.0))


@program
def deepcopy_of_object() -> Any:

    class M:
        def __init__(self):
            self.k = 2.0
            self.hidden = [1.0]

    m = M()

    def f(x):
        c = copy.deepcopy(m)
        return x * sum(vars(c)["hidden"])

    return (f, lambda: m.hidden.append(3.0))


@program
def match_statement() -> Any:
    s = module("""
        class P:
            __match_args__ = ("a", "b")
            def __init__(self, a, b): self.a, self.b = a, b
        p = P(1.0, 2.0)
        def f(x):
            match p:
                case P(a, b):
                    return x * a * b
        """)
    return (s["f"], lambda: setattr(s["p"], "b", 3.0))


@program
def match_class_kw() -> Any:
    s = module("""
        class P:
            def __init__(self, a, b): self.a, self.b = a, b
        p = P(1.0, 2.0)
        def f(x):
            match p:
                case P(a=q, b=r):
                    return x * q * r
        """)
    return (s["f"], lambda: setattr(s["p"], "b", 3.0))


@program
def delattr_restores_class() -> Any:

    class M:
        k = 3.0

    m = M()
    m.k = 2.0
    return (lambda x: x * m.k, lambda: delattr(m, "k"))


@program
def class_name() -> Any:

    class M:
        pass

    m = M()

    def change():
        M.__name__ = "Other"

    return (lambda x: x * len(type(m).__name__), change)


@program
def eq_operator_captured() -> Any:

    class V:
        def __init__(self, v):
            self.v = v

        def __eq__(self, o):
            return self.v == o

        __hash__ = None

    a = V(2.0)
    return (lambda x: x * (2.0 if a == 2.0 else 3.0), lambda: setattr(a, "v", 5.0))


@program
def dataclass_argument_method_reads_global() -> Any:
    s = module("""
        import dataclasses
        K = 2.0
        @dataclasses.dataclass
        class L:
            w: object
            def __call__(self, x): return x * self.w * K
        def f(x, layer): return layer(x)
        """)
    return (s["f"], lambda: s.update(K=3.0), s["L"](np.ones(3)))


@program
def dataclass_argument_method_patched() -> Any:
    s = module("""
        import dataclasses
        @dataclasses.dataclass
        class L:
            w: object
            def act(self, x): return x * self.w
        def f(x, layer): return layer.act(x)
        """)
    return (s["f"], lambda: setattr(s["L"], "act", lambda self, x: x * 3.0), s["L"](np.ones(3)))


@program
def dataclass_argument_classvar() -> Any:
    s = module("""
        import dataclasses
        from typing import ClassVar
        @dataclasses.dataclass
        class L:
            w: object
            k: ClassVar[float] = 2.0
        def f(x, layer): return x * layer.k
        """)
    return (s["f"], lambda: setattr(s["L"], "k", 3.0), s["L"](np.ones(3)))


@program
def enum_argument_method_global() -> Any:
    K = [2.0]

    class E(enum.Enum):
        A = 1

        def scale(self):
            return K[0]

    return (lambda x, e: x * e.scale(), lambda: K.__setitem__(0, 3.0), E.A)


@program
def static_bound_method_argument() -> Any:

    class M:
        def act(self, x):
            return x * self.k

    m = M()
    m.k = 2.0
    return (lambda x, a: a(x), lambda: setattr(m, "k", 3.0), m.act)


@program
def method_added_to_subclass_later() -> Any:

    class B:
        def act(self, x):
            return x * 2.0

    class M(B):
        pass

    m = M()
    return (lambda x: m.act(x), lambda: setattr(M, "act", lambda self, x: x * 3.0))


@program
def attr_deleted_and_added() -> Any:

    class M:
        k = 2.0

    m = M()
    m.other = 1

    def change():
        del m.other
        m.k = 3.0

    return (lambda x: x * m.k, change)


@program
def hasattr_after_swap() -> Any:

    class M:
        pass

    m = M()
    m.other = 1

    def change():
        del m.other
        m.k = 3.0

    return (lambda x: x * (3.0 if hasattr(m, "k") else 2.0), change)


@program
def mixin_property() -> Any:

    class Mix:
        @property
        def scale(self):
            return self.base * 2.0

    class M(Mix):
        def __init__(self):
            self.base = 1.0

    m = M()
    return (lambda x: x * m.scale, lambda: setattr(m, "base", 3.0))


@program
def abstract_method_impl() -> Any:

    class A(abc.ABC):
        @abc.abstractmethod
        def k(self): ...

    class M(A):
        def k(self):
            return self.v

    m = M()
    m.v = 2.0
    return (lambda x: x * m.k(), lambda: setattr(m, "v", 3.0))


@program
def generic_class() -> Any:
    from typing import Generic, TypeVar

    T = TypeVar("T")

    class M(Generic[T]):
        def __init__(self):
            self.v = 2.0

    m = M()
    return (lambda x: x * m.v, lambda: setattr(m, "v", 3.0))


@program
def protocol_class() -> Any:
    from typing import Protocol

    class P(Protocol):
        def k(self): ...

    class M(P):
        def k(self):
            return self.v

    m = M()
    m.v = 2.0
    return (lambda x: x * m.k(), lambda: setattr(m, "v", 3.0))


@program
def try_except_keyerror() -> Any:
    d = {}

    def f(x):
        try:
            return x * d["k"]
        except KeyError:
            return x

    return (f, lambda: d.update(k=3.0))


@program
def try_except_attributeerror() -> Any:

    class M:
        pass

    m = M()

    def f(x):
        try:
            return x * m.k
        except AttributeError:
            return x

    return (f, lambda: setattr(m, "k", 3.0))


@program
def try_except_indexerror() -> Any:
    d = []

    def f(x):
        try:
            return x * d[0]
        except IndexError:
            return x

    return (f, lambda: d.append(3.0))


@program
def class_attr_missing_try() -> Any:

    class C:
        pass

    def f(x):
        try:
            return x * C.k
        except AttributeError:
            return x

    return (f, lambda: setattr(C, "k", 3.0))


@program
def class_attr_on_base_added_in_sub() -> Any:

    class B:
        k = 2.0

    class C(B):
        pass

    return (lambda x: x * C.k, lambda: setattr(C, "k", 3.0))


@program
def objects_of_two_classes_same_attr() -> Any:

    class A:
        k = 2.0

    class B:
        k = 1.0

    layer = [A(), B()]
    return (lambda x: x * sum(o.k for o in layer), lambda: setattr(B, "k", 3.0))


@program
def type_of_captured_exact() -> Any:

    class A:
        k = 2.0

    class B(A):
        k = 3.0

    m = [A()]
    return (lambda x: x * m[0].k, lambda: m.__setitem__(0, B()))


@program
def operator_overload_radd() -> Any:

    class A:
        def __init__(self, v):
            self.v = v

        def __mul__(self, o):
            return o * self.v

        __rmul__ = __mul__
        __array_ufunc__ = None

    a = A(2.0)
    return (lambda x: x * a, lambda: setattr(a, "v", 3.0))


@program
def property_via_inherit_override() -> Any:

    class A:
        @property
        def k(self):
            return 2.0

    class B(A):
        pass

    b = B()
    return (lambda x: x * b.k, lambda: setattr(B, "k", property(lambda self: 3.0)))


@program
def dataclass_argument_with_an_attribute_beside() -> Any:
    @dataclasses.dataclass
    class Layer:
        w: Any
        k: ClassVar[float] = 2.0

    layer = Layer(np.ones(3))
    return (lambda x, one: x * one.k * one.w, lambda: setattr(layer, "k", 3.0), layer)


@program
def dataclass_argument_with_another_attribute_than_post_init_made() -> Any:
    @dataclasses.dataclass
    class Layer:
        w: Any

        def __post_init__(self):
            self.n = 2

    layer = Layer(np.ones(3))
    return (lambda x, one: x * one.n * one.w, lambda: setattr(layer, "n", 3), layer)


@program
def dataclass_argument_with_an_attribute_that_was_missing() -> Any:
    @dataclasses.dataclass
    class Layer:
        w: Any

    layer = Layer(np.ones(3))
    return (lambda x, one: x * getattr(one, "n", 2.0), lambda: setattr(layer, "n", 3.0), layer)


@program
def method_via_map() -> Any:

    class M:
        def k(self):
            return self.hh

    ms = [M(), M()]
    for m in ms:
        m.hh = 1.0
    return (lambda x: x * sum(map(M.k, ms)), lambda: setattr(ms[1], "hh", 3.0))


@program
def method_via_class() -> Any:

    class M:
        def k(self):
            return self.hh

    m = M()
    m.hh = 2.0
    return (lambda x: x * M.k(m), lambda: setattr(m, "hh", 3.0))


@program
def sorted_by_attr() -> Any:

    class M:
        def __init__(self, v):
            self.v = v

        def __lt__(self, o):
            return self.v < o.v

    a, b = (M(1.0), M(2.0))
    return (lambda x: x * sorted([a, b])[0].v, lambda: setattr(a, "v", 3.0))


@program
def bool_of_container() -> Any:
    items = [1]
    return (lambda x: x * (2.0 if items else 3.0), lambda: items.clear())


@program
def len_of_user() -> Any:

    class M:
        def __len__(self):
            return self.q

    m = M()
    m.q = 2
    return (lambda x: x * len(m), lambda: setattr(m, "q", 3))


@program
def string_const_dispatch() -> Any:

    class M:
        mode = "a"

        def run_a(self, x):
            return x * 2.0

        def run_b(self, x):
            return x * 3.0

    m = M()
    return (lambda x: getattr(m, f"run_{m.mode}")(x), lambda: setattr(m, "mode", "b"))


@program
def nested_object_swapped() -> Any:

    class M:
        pass

    m = M()
    m.a = M()
    m.a.b = M()
    m.a.b.c = 2.0

    def change():
        n = M()
        n.c = 3.0
        m.a.b = n

    return (lambda x: x * m.a.b.c, change)


@program
def two_paths_one_object() -> Any:

    class M:
        pass

    s = M()
    s.v = 2.0
    a, b = (M(), M())
    a.s = b.s = s

    def change():
        n = M()
        n.v = 3.0
        b.s = n

    return (lambda x: x * a.s.v * b.s.v, change)


@program
def object_cycle_parent() -> Any:

    class M:
        pass

    p, c = (M(), M())
    p.child, c.parent = (c, p)
    p.v = 2.0
    return (lambda x: x * c.parent.v, lambda: setattr(p, "v", 3.0))


@program
def mask_captured() -> Any:
    i = np.array([True, False, True])
    return (lambda x: x[i], lambda: i.__setitem__(0, False))


@program
def ufunc_attr_on_self() -> Any:

    class M:
        act = staticmethod(np.tanh)

    m = M()
    return (lambda x: m.act(x), lambda: setattr(M, "act", staticmethod(np.sin)))


@program
def ufunc_attr_plain() -> Any:

    class M:
        act = np.tanh

    m = M()
    return (lambda x: m.act(x), lambda: setattr(M, "act", np.sin))


@program
def ellipsis_none_index() -> Any:
    items = [None]
    return (lambda x: x[items[0]] if items[0] is not None else x, lambda: items.__setitem__(0, 1))


@program
def inherited_classmethod_patched() -> Any:

    class B:
        @classmethod
        def k(cls):
            return 2.0

    class M(B):
        pass

    return (lambda x: x * M.k(), lambda: setattr(B, "k", classmethod(lambda cls: 3.0)))


@program
def getitem_class() -> Any:

    class M:
        def __class_getitem__(cls, k):
            return cls.t[k]

        t: ClassVar[Any] = {"a": 2.0}

    return (lambda x: x * M["a"], lambda: M.t.update(a=3.0))


@program
def init_of_made_object_patched() -> Any:

    class M:
        def __init__(self):
            self.k = 2.0

    def init(self):
        self.k = 3.0

    return (lambda x: x * M().k, lambda: setattr(M, "__init__", init))


@program
def made_by_factory_method() -> Any:

    class M:
        K: ClassVar[Any] = [2.0]

        def __init__(self, k):
            self.k = k

        @classmethod
        def make(cls):
            return cls(cls.K[0])

    return (lambda x: x * M.make().k, lambda: M.K.__setitem__(0, 3.0))


@program
def made_by_type_of_instance() -> Any:
    H = [2.0]

    class M:
        def __init__(self):
            self.k = H[0]

    m = M()
    return (lambda x: x * type(m)().k, lambda: H.__setitem__(0, 3.0))


@program
def clone_by_self_class() -> Any:
    H = [2.0]

    class M:
        def __init__(self):
            self.k = H[0]

        def clone(self):
            return self.__class__()

    m = M()
    return (lambda x: x * m.clone().k, lambda: H.__setitem__(0, 3.0))


@program
def ctx_suppress() -> Any:
    d = {}

    def f(x):
        k = 1.0
        with contextlib.suppress(KeyError):
            k = d["k"]
        return x * k

    return (f, lambda: d.update(k=3.0))


@program
def reduce_of_captured_functions() -> Any:
    fs = [lambda x: x * 2.0, lambda x: x + 1.0]
    return (lambda x: functools.reduce(lambda a, f: f(a), fs, x), lambda: fs.reverse())


@program
def total_ordering() -> Any:

    @functools.total_ordering
    class M:
        def __init__(self, v):
            self.v = v

        def __eq__(self, o):
            return self.v == o.v

        def __lt__(self, o):
            return self.v < o.v

        __hash__ = None

    a, b = (M(1.0), M(2.0))
    return (lambda x: x * (2.0 if a >= b else 3.0), lambda: setattr(a, "v", 5.0))


@program
def simple_namespace_attribute() -> Any:
    n = types.SimpleNamespace(a=2.0)
    return (lambda x: x * n.a, lambda: setattr(n, "a", 3.0))


@program
def simple_namespace_inside_another() -> Any:
    n = types.SimpleNamespace(inner=types.SimpleNamespace(w=np.full(3, 2.0)))
    return (lambda x: x * np.exp(n.inner.w), lambda: n.inner.w.fill(3.0))


@program
def simple_namespaces_compared() -> Any:
    n, m = types.SimpleNamespace(a=2.0), types.SimpleNamespace(a=2.0)
    return (lambda x: x * (1.0 if n == m else 2.0), lambda: setattr(n, "a", 3.0))


@program
def simple_namespace_shown() -> Any:
    n = types.SimpleNamespace(a=2.0)
    return (lambda x: x * len(repr(n)), lambda: setattr(n, "a", 33.0))


@program
def argparse_namespace_compared() -> Any:
    n, m = argparse.Namespace(a=2.0), argparse.Namespace(a=2.0)
    return (lambda x: x * (1.0 if n == m else 2.0), lambda: setattr(n, "a", 3.0))
