"""Names: globals, builtins, modules, imports, variables of contexts."""

from __future__ import annotations

import os
import sys
import types
from typing import Any

import numpy as np

from tests.captured.table import module, program


@program
def module_attribute() -> Any:
    config = types.ModuleType("config")
    config.scale = 2.0
    return (lambda x: x * config.scale, lambda: setattr(config, "scale", 3.0))


@program
def module_attribute_missing() -> Any:
    config = types.ModuleType("config")
    config.scale = 2.0
    return (lambda x: x * getattr(config, "other", 2.0), lambda: setattr(config, "other", 3.0))


@program
def module_attr_missing_hasattr() -> Any:
    config = types.ModuleType("config")
    config.scale = 2.0
    return (
        lambda x: x * (config.other if hasattr(config, "other") else 1.0),
        lambda: setattr(config, "other", 3.0),
    )


@program
def module_getattr() -> Any:
    config = types.ModuleType("config")
    config._d = {"scale": 2.0}
    config.__getattr__ = lambda name: config._d[name]
    return (lambda x: x * config.scale, lambda: config._d.update(scale=3.0))


@program
def module_in_module() -> Any:
    outer = types.ModuleType("outer")
    outer.config = types.ModuleType("config")
    outer.config.scale = 2.0
    return (lambda x: x * outer.config.scale, lambda: setattr(outer.config, "scale", 3.0))


@program
def module_function_global() -> Any:
    s = module(
        """
        k = 2.0
        def h(x):
            return x * k
        """,
        "users_module",
    )
    m = types.ModuleType("users_module")
    vars(m).update(s)
    h = s["h"]
    return (lambda x: h(x), lambda: s.update(k=3.0))


@program
def module_function_replaced() -> Any:
    m = types.ModuleType("users_module")
    m.h = lambda x: x * 2.0
    return (lambda x: m.h(x), lambda: setattr(m, "h", lambda x: x * 3.0))


@program
def import_in_function() -> Any:
    m = types.ModuleType("users_module_xyz")
    m.k = 2.0
    sys.modules["users_module_xyz"] = m

    def f(x):
        import users_module_xyz

        return x * users_module_xyz.k

    return (f, lambda: setattr(sys.modules["users_module_xyz"], "k", 3.0))


@program
def from_import_in_function() -> Any:
    m = types.ModuleType("users_module_xyz2")
    m.k = 2.0
    sys.modules["users_module_xyz2"] = m

    def f(x):
        from users_module_xyz2 import k

        return x * k

    return (f, lambda: setattr(sys.modules["users_module_xyz2"], "k", 3.0))


@program
def import_dotted_in_function() -> Any:
    p = types.ModuleType("users_pkg_xyz")
    p.__path__ = []
    m = types.ModuleType("users_pkg_xyz.sub")
    m.k = 2.0
    p.sub = m
    sys.modules["users_pkg_xyz"] = p
    sys.modules["users_pkg_xyz.sub"] = m

    def f(x):
        import users_pkg_xyz.sub as s

        return x * s.k

    return (f, lambda: setattr(sys.modules["users_pkg_xyz.sub"], "k", 3.0))


@program
def globals_lookup() -> Any:
    s = module("""
        k = 2.0
        def f(x):
            return x * globals()['k']
        """)
    return (s["f"], lambda: s.update(k=3.0))


@program
def eval_lookup() -> Any:
    s = module("""
        k = 2.0
        def f(x):
            return x * eval('k')
        """)
    return (s["f"], lambda: s.update(k=3.0))


@program
def global_number() -> Any:
    s = module("""
        k = 2.0
        def f(x):
            return x * k
        """)
    return (s["f"], lambda: s.update(k=3.0))


@program
def global_missing_then_there() -> Any:
    s = module("""
        def f(x):
            try:
                return x * k
            except NameError:
                return x
        """)
    return (s["f"], lambda: s.update(k=3.0))


@program
def global_builtin_shadowed() -> Any:
    s = module("""
        def f(x):
            return x * abs(-2.0)
        """)
    return (s["f"], lambda: s.update(abs=lambda v: 3.0))


@program
def builtins_patched() -> Any:
    s = module("""
        def f(x):
            return x * mybuiltin
        """)
    import builtins

    builtins.mybuiltin = 2.0
    return (s["f"], lambda: setattr(builtins, "mybuiltin", 3.0))


@program
def contextvar() -> Any:
    import contextvars

    v = contextvars.ContextVar("v", default=2.0)
    return (lambda x: x * v.get(), lambda: v.set(3.0))


@program
def threading_local() -> Any:
    import threading

    v = threading.local()
    v.k = 2.0
    return (lambda x: x * v.k, lambda: setattr(v, "k", 3.0))


@program
def object_created_inside() -> Any:

    class M:
        def __init__(self):
            self.k = K[0]

    K = [2.0]
    return (lambda x: x * M().k, lambda: K.__setitem__(0, 3.0))


@program
def new_created_inside() -> Any:

    class M:
        def __new__(cls):
            o = object.__new__(cls)
            o.k = K[0]
            return o

    K = [2.0]
    return (lambda x: x * M().k, lambda: K.__setitem__(0, 3.0))


@program
def inner_class_body() -> Any:
    K = [2.0]

    def f(x):

        class C:
            k = K[0]

        return x * C.k

    return (f, lambda: K.__setitem__(0, 3.0))


@program
def os_environ() -> Any:
    os.environ["TJ_TEST_SCALE"] = "2.0"
    return (
        lambda x: x * float(os.environ["TJ_TEST_SCALE"]),
        lambda: os.environ.__setitem__("TJ_TEST_SCALE", "3.0"),
    )


@program
def os_getenv() -> Any:
    os.environ["TJ_TEST_SCALE"] = "2.0"
    return (
        lambda x: x * float(os.getenv("TJ_TEST_SCALE")),
        lambda: os.environ.__setitem__("TJ_TEST_SCALE", "3.0"),
    )


@program
def module_numpy_like_patched() -> Any:
    s = module("""
        def f(x):
            return np.tanh(x)
        """)
    fake = types.ModuleType("fakenp")
    fake.tanh = lambda x: x * 3.0
    return (s["f"], lambda: s.update(np=fake))


@program
def logging_level() -> Any:
    import logging

    log = logging.getLogger("tjx")
    log.setLevel(10)
    return (lambda x: x * log.level, lambda: log.setLevel(20))


@program
def init_attr_of_created() -> Any:

    class Cfg:
        k = 2.0

    class M:
        def __init__(self):
            self.q = Cfg.k

    def f(x):
        return x * M().q

    return (f, lambda: setattr(Cfg, "k", 3.0))


@program
def global_deleted() -> Any:
    s = module("""
        k = 2.0
        def f(x):
            try:
                return x * k
            except NameError:
                return x
        """)
    return (s["f"], lambda: s.pop("k"))


@program
def lazily_built_global() -> Any:
    s = module("""
        T = None
        def get():
            global T
            if T is None: T = np.full(3, 2.0)
            return T
        def f(x): return x * np.exp(get())
        """)
    return (s["f"], lambda: s["T"].fill(3.0))


@program
def memo_keyed_by_shape() -> Any:
    memo = {}

    def table(n):
        if n not in memo:
            memo[n] = np.arange(float(n))
        return memo[n]

    return (lambda x: x * np.exp(table(x.shape[0])), lambda: memo[3].fill(3.0))


@program
def relative_import_inside() -> Any:
    p = types.ModuleType("users_pkg_q")
    p.__path__ = []
    m = types.ModuleType("users_pkg_q.sub")
    m.k = 2.0
    p.sub = m
    sys.modules["users_pkg_q"] = p
    sys.modules["users_pkg_q.sub"] = m
    space = module(
        """
        __package__ = "users_pkg_q"
        def f(x):
            from .sub import k
            return x * k
        """,
        "users_pkg_q.main",
    )
    return (space["f"], lambda: setattr(m, "k", 3.0))


@program
def int_global_used_as_axis() -> Any:
    s = module("""
        AX = 0
        def f(x):
            return np.stack([x, x * 2]).sum(axis=AX)
        """)
    return (s["f"], lambda: s.update(AX=1))
