"""Programs of which effects, lifetimes and exits matter: `f(3)` tells what they did."""

from __future__ import annotations

PROGRAMS = {
    "a method after a store": """
        math = __import__("math")
        def f(x):
            g = x.bit_length
            y = 1; n = x.bit_length()
            return math.floor(n), g(), y
        """,
    "an asserted method": """
        def f(x):
            for o in ([x], [x], []): assert o.count(x), x
        """,
    "return skips else": """
        def f(x):
            try: return x * 2
            except ValueError: pass
            else: return -1
        """,
    "continue skips else": """
        def f(x):
            n = 0
            for y in [2, 3, 0]:
                try:
                    if abs(y) > 1: continue
                    break
                except ValueError: pass
                else: n += 100
            return n
        """,
    "finally ends an exception": """
        def f(x):
            for y in [x]:
                try: raise KeyError(str(y))
                finally: continue
            try: raise KeyError(str(x))
            finally: return abs(x)
        """,
    "finally overrides a return": """
        def f(x):
            log = []
            def g():
                try: return log.append("r") or 1
                finally: log.append("f")
            def h():
                try: return 1
                finally: return abs(2)
            return g(), h(), log
        """,
    "finally in loops": """
        def f(x):
            log = []
            for i in range(3):
                try:
                    if i == 1: continue
                    if i == 2: break
                finally: log.append(i)
            return log
        """,
    "causes and contexts": """
        def f(x):
            log = []
            try:
                try: 1 / 0
                except ZeroDivisionError as e:
                    log.append(type(e).__name__)
                    if x: raise KeyError(x) from e
                finally: log.append("f")
            except KeyError as e: log += [repr(e.__cause__), repr(e.__context__)]
            try:
                try: raise ValueError("v")
                except ValueError: raise
            except ValueError as e: return log, str(e), e.__context__
        """,
    "a name of an error is deleted": """
        def f(x):
            e = 1
            try: raise ValueError(str(x))
            except ValueError as e: pass
            return e
        """,
    "a context suppresses": """
        import contextlib
        def f(x):
            with contextlib.suppress(KeyError):
                if x: raise KeyError(str(x))
                return 1
            return 2
        """,
    "a return in a context that suppresses": """
        class S:
            def __init__(self, log): self.log = log
            def __enter__(self): return self
            def __exit__(self, t, v, b): self.log.append(t and t.__name__); return True
        def f(x):
            log = []
            for i in range(3):
                with S(log):
                    if i == 1: break
                    raise KeyError(str(i))
            with S(log):
                if x: return log, i
        """,
    "contexts in order": """
        import contextlib
        def f(x):
            log = []
            @contextlib.contextmanager
            def cm(n):
                log.append(n)
                yield n
                log.append(-n)
            with cm(1) as a, cm(2) as b: log.append(a + b)
            return log
        """,
    "a global declared in a branch": """
        G = 0
        def f(x):
            if abs(x) > 1:
                global G
                G = x
            G = G + 1
            return G
        """,
    "nonlocal": """
        def f(x):
            n = 0
            def inc(d=len("a")):
                nonlocal n
                n += abs(d)
                return n
            for _ in range(3): inc()
            return inc(x), n
        """,
    "deleted variables": """
        def f(x):
            a = abs(x)
            if x: del a
            try: return a
            except UnboundLocalError: return "gone"
        """,
    "lifetimes": """
        import weakref
        class P: pass
        def f(x):
            o = P()
            r = weakref.ref(o)
            o = None
            for p in [P(), P()]: pass
            s = weakref.ref(p)
            del p
            return r() is None, s() is None
        """,
    "loop variables are shared": """
        def f(x):
            fs = []
            for i in range(3): fs.append(lambda: abs(i))
            return [g() for g in fs], i
        """,
    "a loop over an iterator": """
        def f(x):
            it, r = iter(range(10)), []
            for a in it:
                if a == 3: break
                r.append(a)
            return r, next(it)
        """,
    "a list that grows in its loop": """
        def f(x):
            l = [1, 2, 3]
            for v in l:
                if v < 3 and len(l) < 6: l.append(v * 10)
            return l
        """,
    "else of loops": """
        def f(x):
            for i in range(x):
                for j in range(3):
                    if j == 1: continue
                    if i == 2: break
                else: continue
                break
            else: return "none", i
            while x:
                x -= 1
            else: return i, j, x
        """,
    "targets that are not names": """
        class P: pass
        def f(x):
            o, d = P(), {}
            for o.v, d["k"] in [(1, 2), (3, 4)]: pass
            with open(__file__) as o.w: pass
            d["a"], d["b"] = d["c"] = (1, 2)
            (a, *b), c = [abs(x)] * 3, 3
            return o.v, o.w.closed, d, a, b, c
        """,
    "annotations": """
        def f(x):
            y: int = abs(x)
            z: undefined
            def g(a: int, b: float = 2.0) -> str: return "s"
            return y, sorted(g.__annotations__)
        """,
    "a default is made once": """
        def f(x):
            def g(v, acc=list()):
                acc.append(v)
                return list(acc)
            return g(x), g(x + 1)
        """,
    "dispatch by type": """
        import functools
        @functools.singledispatch
        def show(v): return "other"
        @show.register
        def _(v: int): return "int"
        def f(x): return show(x), show("a")
        """,
    "dataclasses": """
        import dataclasses
        @dataclasses.dataclass
        class D:
            a: int
            b: list = dataclasses.field(default_factory=list)
            def total(self): return self.a + len(self.b)
        def f(x):
            d = D(x)
            d.b.append(1)
            return d.total(), d == D(x, [1]), dataclasses.replace(d, a=7)
        """,
    "wrappers": """
        import functools
        def plus(k):
            def decorate(g):
                @functools.wraps(g)
                def wrapper(*a, **kw): return g(*a, **kw) + k
                return wrapper
            return decorate
        @plus(1)
        @plus(10)
        def g(x): return abs(x) * 2
        def f(x):
            h = functools.partial(g, x)
            return g(x), h(), functools.reduce(lambda a, b: a * b, [1, 2, x]), g.__name__
        """,
    "caches": """
        import functools
        class C:
            @functools.cached_property
            def p(self): log.append("p"); return abs(-1)
        log = []
        @functools.lru_cache
        def g(x): log.append(x); return abs(x)
        def f(x):
            c = C()
            return g(x), g(x), c.p, c.p, g.cache_info().currsize, log.pop(), len(log)
        """,
    "super in methods": """
        class A:
            def m(self, x): return abs(x)
            @classmethod
            def c(cls, x): return cls.__name__
        class B(A):
            def m(self, x): return super().m(x), __class__.__name__, self.__private(x)
            def __private(self, x): return super(B, self).m(x)
            @classmethod
            def c(cls, x): return super().c(x)
        def f(x): return B().m(x), B.c(x)
        """,
    "generators close": """
        def f(x):
            log = []
            def g():
                try:
                    yield from (abs(v) for v in range(x))
                finally: log.append("closed")
            it = g()
            log.append(next(it))
            it.close()
            log.append(next((i for i in range(5) if i > x), None))
            return log
        """,
    "coroutines": """
        import asyncio
        def f(x):
            async def numbers():
                for i in range(x):
                    await asyncio.sleep(0)
                    yield abs(i)
            async def g(): return [v async for v in numbers() if v], [v for v in [await h()]]
            async def h(): return len("ab")
            return asyncio.run(g())
        """,
    "patterns": """
        import enum
        class E(enum.Enum):
            A = 1
        class P:
            __match_args__ = ("a",)
            def __init__(self, a): self.a = a
        def f(x):
            found = []
            for v in [E.A, P(1), {"k": 2, "l": 3}, [1, *range(x)], abs(-5), None]:
                match v:
                    case E.A: found.append("A")
                    case P(a) if abs(a): found.append(a)
                    case {"k": k, **rest}: found.append((k, rest))
                    case [one, *others]: found.append(others)
                    case int() | float() as number: found.append(number)
                    case _: found.append(None)
            return found
        """,
    "names that Python reads as one": """
        def f(x):
            \ufb01 = abs(3)
            if x: fi = 4
            return fi
        """,
    "scopes looked at": """
        import builtins
        look = locals
        def f(x):
            a = abs(1)
            ns = {}
            exec("b = a", {"a": a}, ns)
            return dir(), sorted(builtins.locals()), sorted(look()), eval("x + a"), ns
        """,
    "patched names": """
        import unittest.mock
        def g(v): return "plain"
        def f(x):
            with unittest.mock.patch.dict(globals(), g=lambda v: "patched"): return g(x)
        """,
    "classes made inside": """
        def f(x):
            class A:
                y = abs(x)
                z = [y for _ in range(1)] if False else y
                def m(self): return self.y, __class__.__name__, A.__qualname__
            return A().m()
        """,
    "nested comprehensions": """
        def f(x):
            return {k: [v for v in range(k) if v % 2 == 0 or k > 3] for k in range(x + 2)}, [
                g(x) for g in [lambda v, k=k: v * k for k in range(3)]
            ]
        """,
    "truth is asked once": """
        class B:
            def __init__(self, v, log): self.v, self.log = v, log
            def __bool__(self): self.log.append(self.v); return self.v
            def __lt__(self, other): self.log.append("<"); return self
        def f(x):
            log = []
            yes, no = B(True, log), B(False, log)
            if (yes and no) or (no or yes) and not (no and yes): log.append("if")
            while yes and (no or no): pass
            if (yes and yes or no) if yes else no: log.append("sides")
            c = ((no and yes) if yes else no) or (yes if (no or yes) else no)
            a = yes and no or yes
            b = (no or yes) and (yes if no else no)
            [1 for _ in [0] if yes and no or no]
            assert yes < no < yes and not no or yes
            return a is yes, b is no, log
        """,
}
NEWER = {
    "groups of exceptions": (
        (3, 11),
        """
        def f(x):
            log = []
            try: raise ExceptionGroup("g", [ValueError(str(x)), KeyError("k")])
            except* ValueError as e: log.append(repr(e.exceptions))
            except* KeyError as e: log.append(len(e.exceptions))
            return log
        """,
    ),
    "type parameters": (
        (3, 12),
        """
        def first[T](xs: list[T]) -> T:
            y: T = xs[abs(0)]
            return y, T.__name__
        class A[S]:
            def m[T](self, x): return S.__name__, T.__name__, abs(x)
        def f(x):
            type L[T] = list[T]
            class B[T](A[T]): pass
            def g[T](y: T = abs(x)) -> T: return y
            return first([x]), A().m(x), L.__name__, g(), B.__type_params__
        """,
    ),
}
