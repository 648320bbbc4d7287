"""What answers something else each time, and what a function changes itself."""

from __future__ import annotations

import collections
import dataclasses
import itertools
from typing import Any

import numpy as np

from tests.captured.table import module, program


@program
def itertools_count() -> Any:
    c = itertools.count(1)
    return (lambda x: x * next(c), lambda: None)


@program
def generator_object() -> Any:

    def g():
        n = 0
        while True:
            n += 1
            yield n

    gen = g()
    return (lambda x: x * next(gen), lambda: None)


@program
def iterator_of_list() -> Any:
    it = iter([1.0, 2.0, 3.0, 4.0, 5.0])
    return (lambda x: x * next(it), lambda: None)


@program
def iterator_cycle() -> Any:
    it = itertools.cycle([1.0, 2.0, 3.0])
    return (lambda x: x * next(it), lambda: None)


@program
def iterator_zip_enumerate() -> Any:
    it = enumerate(zip([1.0, 2.0, 3.0, 4.0, 5.0], range(5), strict=True))
    return (lambda x: x * next(it)[1][0], lambda: None)


@program
def iterator_file() -> Any:
    import io

    it = io.StringIO("""
        1
        2
        3
        4
        5
        """)
    return (lambda x: x * float(next(it)), lambda: None)


@program
def memoryview_captured() -> Any:
    b = bytearray(b"\x02")
    m = memoryview(b)

    def change():
        b[0] = 3

    return (lambda x: x * m[0], change)


@program
def dataclass_fields_iter() -> Any:

    @dataclasses.dataclass
    class C:
        lr: float = 2.0
        wd: float = 1.0

    c = C()
    return (lambda x: x * sum(dataclasses.asdict(c).values()), lambda: setattr(c, "wd", 3.0))


@program
def iter_protocol() -> Any:

    class C:
        def __iter__(self):
            return iter(self.hid)

    c = C()
    c.hid = [2.0]
    return (lambda x: x * sum(v for v in c), lambda: c.hid.append(3.0))


@program
def mutated_captured_array_while_recording() -> Any:
    w = np.zeros(3)

    def f(x):
        w[0] += 1.0
        return x * w

    return (f, lambda: None)


@program
def mutated_captured_array_with_read() -> Any:
    w = np.zeros(3)

    def f(x):
        w[:] = w + 1.0
        return x + np.exp(w)

    return (f, lambda: None)


@program
def mutated_self_attr_in_call() -> Any:

    class Opt:
        def __init__(self):
            self.t = 0

        def step(self, x):
            self.t += 1
            return x * self.t

    o = Opt()
    return (lambda x: o.step(x), lambda: None)


@program
def momentum_state_kept_tensor() -> Any:

    class Opt:
        def __init__(self):
            self.m = np.zeros(3)

        def step(self, g):
            self.m = 0.9 * self.m + g
            return self.m * 1.0

    o = Opt()
    return (lambda x: o.step(x), lambda: None)


@program
def mutated_during_recording_then_not() -> Any:
    state = {"n": 0}

    def f(x):
        if state["n"] < 2:
            state["n"] += 1
        return x * state["n"]

    return (f, lambda: None)


@program
def lazily_built_table() -> Any:

    class M:
        t = None

        def get(self):
            if self.t is None:
                self.t = np.full(3, 2.0)
            return self.t

    m = M()
    return (lambda x: x * m.get(), lambda: m.t.fill(3.0))


@program
def user_iterator_class() -> Any:

    class It:
        def __init__(self):
            self.n = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.n += 1
            return self.n

    it = It()
    return (lambda x: x * next(it), lambda: None)


@program
def generator_send() -> Any:

    def g():
        total = 0.0
        while True:
            total += yield total

    gen = g()
    next(gen)
    return (lambda x: x * gen.send(1.0), lambda: None)


@program
def deque_rotated_inside() -> Any:
    d = collections.deque([1.0, 2.0, 3.0])

    def f(x):
        d.rotate(1)
        return x * d[0]

    return (f, lambda: None)


@program
def list_pop_inside() -> Any:
    d = [1.0, 2.0, 3.0, 4.0, 5.0]
    return (lambda x: x * d.pop(), lambda: None)


@program
def dict_popitem_inside() -> Any:
    d = {k: float(k) for k in range(6)}
    return (lambda x: x * d.popitem()[1], lambda: None)


@program
def set_pop_inside() -> Any:
    d = set(range(1, 6))
    return (lambda x: x * d.pop(), lambda: None)


@program
def queue_get_inside() -> Any:
    import queue

    q = queue.Queue()
    for k in range(1, 7):
        q.put(float(k))
    return (lambda x: x * q.get(), lambda: None)


@program
def string_io_read() -> Any:
    import io

    q = io.StringIO("123456")
    return (lambda x: x * float(q.read(1)), lambda: None)


@program
def bytes_io_getvalue() -> Any:
    import io

    q = io.BytesIO(b"2")
    return (lambda x: x * float(q.getvalue()), lambda: q.write(b"3"))


@program
def counter_total() -> Any:
    c = collections.Counter(a=2)
    return (lambda x: x * sum(c.values()), lambda: c.update(a=1))


@program
def default_mutable_accumulates() -> Any:

    def h(v, acc=[]):  # noqa: B006
        acc.append(v)
        return len(acc)

    return (lambda x: x * h(1), lambda: None)


@program
def helper_counter_attribute() -> Any:

    def h(x):
        h.calls = getattr(h, "calls", 0) + 1
        return x * h.calls

    return (lambda x: h(x), lambda: None)


@program
def nonlocal_counter() -> Any:
    n = 0

    def f(x):
        nonlocal n
        n += 1
        return x * n

    return (f, lambda: None)


@program
def own_memo_dict_of_tensors() -> Any:
    memo = {}

    def f(x):
        key = len(memo)
        memo[key] = 1
        return x * key

    return (f, lambda: None)


@program
def global_counter_statement() -> Any:
    s = module("""
        n = 0
        def f(x):
            global n
            n += 1
            return x * n
        """)
    return (s["f"], lambda: None)


@program
def global_list_mutated_by_itself() -> Any:
    log = []

    def f(x):
        log.append(1)
        return x * len(log)

    return (f, lambda: None)


@program
def array_list_equal_swapped_then_mutated() -> Any:
    items = [np.full(3, 2.0), np.full(3, 2.0)]

    def change():
        items.reverse()
        items[0].fill(3.0)

    return (lambda x: x * np.exp(items[0]), change)
