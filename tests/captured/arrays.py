"""Arrays, their views and kin, and other buffers."""

from __future__ import annotations

import array
import dataclasses
import tempfile
import weakref
from typing import Any

import numpy as np

from tests.captured.table import module, program


@program
def array_in_dict_in_object() -> Any:

    class M:
        pass

    m = M()
    m.p = {"w": np.full(3, 2.0)}
    return (lambda x: x * m.p["w"], lambda: m.p["w"].fill(3.0))


@program
def array_in_dict_in_object_exp() -> Any:

    class M:
        pass

    m = M()
    m.p = {"w": np.full(3, 2.0)}
    return (lambda x: x * np.exp(m.p["w"]), lambda: m.p["w"].fill(3.0))


@program
def view_of_captured() -> Any:
    w = np.full(6, 2.0)
    v = w[::2]
    return (lambda x: x * v, lambda: w.fill(3.0))


@program
def view_made_in_function() -> Any:
    w = np.full(6, 2.0)
    return (lambda x: x * w[::2], lambda: w.fill(3.0))


@program
def view_reshape_in_function() -> Any:
    w = np.full((3, 2), 2.0)
    return (lambda x: x * w.T[0], lambda: w.fill(3.0))


@program
def subclass_array() -> Any:

    class S(np.ndarray):
        pass

    w = np.full(3, 2.0).view(S)
    return (lambda x: x * np.asarray(w), lambda: w.fill(3.0))


@program
def memmap_array() -> Any:
    f = tempfile.NamedTemporaryFile(delete=False)
    w = np.memmap(f.name, dtype=float, shape=(3,), mode="w+")
    w[:] = 2.0
    return (lambda x: x * np.asarray(w), lambda: w.fill(3.0))


@program
def memmap_readonly_file_changed() -> Any:
    f = tempfile.NamedTemporaryFile(delete=False)
    w = np.memmap(f.name, dtype=float, shape=(3,), mode="w+")
    w[:] = 2.0
    r = np.memmap(f.name, dtype=float, shape=(3,), mode="r")
    return (lambda x: x * np.asarray(r), lambda: w.fill(3.0))


@program
def frombuffer_bytearray() -> Any:
    b = bytearray(np.full(3, 2.0).tobytes())
    w = np.frombuffer(b)

    def change():
        b[:] = np.full(3, 3.0).tobytes()

    return (lambda x: x * w, change)


@program
def bytearray_captured() -> Any:
    b = bytearray(b"\x02")

    def change():
        b[0] = 3

    return (lambda x: x * b[0], change)


@program
def array_array_captured() -> Any:
    b = array.array("d", [2.0])

    def change():
        b[0] = 3.0

    return (lambda x: x * b[0], change)


@program
def array_resized() -> Any:
    w = np.full(3, 2.0)
    return (lambda x: x * w.size, lambda: w.resize(6, refcheck=False))


@program
def array_shape_set() -> Any:
    w = np.full(6, 2.0)

    def change():
        w.resize((2, 3), refcheck=False)

    return (lambda x: x * w.shape[0], change)


@program
def array_flags() -> Any:
    w = np.full(3, 2.0)
    return (lambda x: x * (2.0 if w.flags.writeable else 3.0), lambda: w.setflags(write=False))


@program
def readonly_flag_flipped() -> Any:
    w = np.full(3, 2.0)
    w.setflags(write=False)

    def change():
        w.setflags(write=True)
        w.fill(3.0)

    return (lambda x: x * np.exp(w), change)


@program
def array_0d() -> Any:
    w = np.array(2.0)
    return (lambda x: x * float(w), lambda: w.fill(3.0))


@program
def frozen_dataclass_inner_array() -> Any:

    @dataclasses.dataclass(frozen=True, eq=False)
    class C:
        w: object

    c = C(np.full(3, 2.0))
    return (lambda x: x * np.exp(c.w), lambda: c.w.fill(3.0))


@program
def array_protocol_object() -> Any:

    class C:
        def __init__(self, v):
            self.v = v

        def __array__(self, dtype=None, copy=None):
            return self.v

    a = C(np.full(3, 2.0))
    return (lambda x: x * np.asarray(a), lambda: a.v.fill(3.0))


@program
def array_interface_object() -> Any:

    class C:
        def __init__(self, v):
            self.v = v

        @property
        def __array_interface__(self):
            return self.v.__array_interface__

    a = C(np.full(3, 2.0))
    return (lambda x: x * np.asarray(a), lambda: a.v.fill(3.0))


@program
def dtype_rebound() -> Any:
    cell = np.float64

    def change():
        nonlocal cell
        cell = np.float32

    return (lambda x: x.astype(cell), change)


@program
def slice_rebound() -> Any:
    cell = slice(0, 2)

    def change():
        nonlocal cell
        cell = slice(0, 1)

    return (lambda x: x[cell], change)


@program
def slice_in_list() -> Any:
    cell = [slice(0, 2)]
    return (lambda x: x[cell[0]], lambda: cell.__setitem__(0, slice(0, 1)))


@program
def complex_scalar_captured() -> Any:
    cell = [2.0 + 1j]
    return (lambda x: x * cell[0], lambda: cell.__setitem__(0, 3j))


@program
def np_scalar_captured() -> Any:
    cell = [np.float32(2.0)]
    return (lambda x: x * cell[0], lambda: cell.__setitem__(0, np.float64(2.0)))


@program
def dict_view_captured() -> Any:
    d = {"a": 2.0}
    v = d.values()
    return (lambda x: x * sum(v), lambda: d.update(a=3.0))


@program
def object_array_inner() -> Any:
    a = np.array([np.full(3, 2.0), None], dtype=object)
    return (lambda x: x * a[0], lambda: a[0].fill(3.0))


@program
def structured_array() -> Any:
    a = np.zeros(2, dtype=[("a", "f8")])
    a["a"] = 2.0
    return (lambda x: x * a["a"][0], lambda: a["a"].fill(3.0))


@program
def masked_array() -> Any:
    a = np.ma.masked_array([2.0, 2.0, 2.0], mask=[0, 0, 1])
    return (lambda x: x * a.filled(0.0), lambda: a.__setitem__(0, np.ma.masked))


@program
def datetime_array() -> Any:
    a = np.array(["2020-01-01"], dtype="M8[D]")
    return (
        lambda x: x * (2.0 if a[0] == np.datetime64("2020-01-01") else 3.0),
        lambda: a.__setitem__(0, np.datetime64("2021-01-01")),
    )


@program
def large_array_corner() -> Any:
    w = np.full(300000, 2.0)

    def change():
        w[12345:] = 3.0

    return (lambda x: x * np.sum(w), change)


@program
def poly1d_captured() -> Any:
    p = np.poly1d([1.0, 2.0])
    return (lambda x: x * p(2.0), lambda: p.coeffs.__setitem__(0, 3.0))


@program
def weakref_to_array() -> Any:
    w = np.full(3, 2.0)
    r = weakref.ref(w)
    return (lambda x: x * np.exp(r()), lambda: w.fill(3.0))


@program
def weakref_array_operand() -> Any:
    w = np.full(3, 2.0)
    r = weakref.ref(w)
    return (lambda x: x * r(), lambda: w.fill(3.0))


@program
def array_operand_via_property() -> Any:

    class M:
        def __init__(self):
            self._w = np.full(3, 2.0)

        @property
        def w(self):
            return self._w

    m = M()
    return (lambda x: x * m.w, lambda: setattr(m, "_w", np.full(3, 3.0)))


@program
def array_operand_same_value_rebound() -> Any:

    class M:
        pass

    m = M()
    m.w = np.full(3, 2.0)

    def change():
        m.w = m.w + 1.0

    return (lambda x: x @ m.w, change)


@program
def array_returned() -> Any:
    w = np.full(3, 2.0)
    return (lambda x: w, lambda: w.fill(3.0))


@program
def object_array_of_objects() -> Any:

    class M:
        pass

    m = M()
    m.k = 2.0
    a = np.array([m, m], dtype=object)
    return (lambda x: x * a[0].k, lambda: setattr(m, "k", 3.0))


@program
def array_list_element_swapped() -> Any:
    items = [np.full(3, 2.0), np.full(3, 1.0)]
    return (lambda x: x * items[0] * items[1], lambda: items.reverse())


@program
def dtype_string_global() -> Any:
    s = module("""
        D = 'f8'
        def f(x):
            return x.astype(D)
        """)
    return (s["f"], lambda: s.update(D="f4"))


@program
def index_array_captured() -> Any:
    i = np.array([0, 1])
    return (lambda x: x[i], lambda: i.__setitem__(1, 2))


@program
def slice_object_attr() -> Any:

    class M:
        s = slice(0, 2)

    return (lambda x: x[M.s], lambda: setattr(M, "s", slice(1, 3)))
