"""Samples of products of vectors, matrices and stacks, and of einsum."""

from __future__ import annotations

import numpy as np
from table import Sample, complex_normal, normal

INTEGERS = np.array([[3, -1, 4], [1, -5, 9]], np.int16)
BOOLEANS = np.array([[True, False, True], [False, False, True]])
SINGLE = normal(3, 4).astype(np.float32)
SINGLE_VECTOR = normal(4).astype(np.float32)
HALF = normal(3, 4).astype(np.float16)
FORTRAN = np.asfortranarray(normal(4, 3))
STRIDED = normal(8, 6)[::2, ::-2]
ZERO_D = np.array(1.3)
SCALAR = np.float64(-0.7)
EMPTY = np.zeros((0, 3))


def at(x, y):
    """The product by the operator."""
    return x @ y


def shaped(op, call, *shapes, **fields):
    """A sample on normal arrays of these shapes."""
    return Sample(op, call, tuple(normal(*shape) for shape in shapes), **fields)


AT = [
    shaped("matmul", at, (3, 4), (4, 2), zero_size=(EMPTY, np.zeros((3, 2)))),
    shaped("matmul", at, (3, 4), (4, 2), zero_size=(np.zeros((3, 0)), np.zeros((0, 2)))),
    shaped("matmul", at, (1, 1), (1, 1)),
    shaped(
        "matmul", at, (2, 3, 4), (2, 4, 2), zero_size=(np.zeros((0, 3, 4)), np.zeros((1, 4, 2)))
    ),
    shaped("matmul", at, (2, 3, 4), (4, 2), zero_size=(np.zeros((0, 3, 4)), np.zeros((4, 2)))),
    shaped("matmul", at, (3, 4), (2, 4, 2)),
    shaped("matmul", at, (2, 1, 3, 4), (5, 4, 2)),
    shaped("matmul", at, (1, 3, 4), (2, 4, 2)),
    shaped("matmul", lambda x: x.T @ x, (5, 3)),
    shaped("matmul", lambda x: x @ x, (3, 3)),
    shaped("matmul", lambda x, y: x.T @ y.T, (4, 3), (2, 4)),
    shaped("matmul", lambda x, y: np.linalg.matmul(x, y), (3, 4), (4, 2)),
    shaped("matmul", lambda x: x @ [[1.0, 2.0], [3.0, 4.0]], (3, 2)),
    shaped("matmul", lambda x: [[1.0, 2.0], [3.0, 4.0]] @ x, (2, 3)),
    Sample("matmul", at, (complex_normal(3, 4), complex_normal(4, 2))),
    Sample("matmul", at, (normal(3, 4), complex_normal(4, 2))),
    Sample("matmul", at, (SINGLE, normal(4, 2))),
    Sample("matmul", at, (SINGLE, SINGLE.T)),
    Sample("matmul", at, (HALF, HALF.T)),
    Sample("matmul", at, (INTEGERS, normal(3, 2))),
    Sample("matmul", at, (INTEGERS, INTEGERS.T)),
    Sample("matmul", at, (BOOLEANS, BOOLEANS.T)),
    Sample("matmul", at, (FORTRAN, STRIDED[:3])),
    shaped("matmul_vector", at, (3, 4), (4,), zero_size=(EMPTY, np.zeros(3))),
    shaped("matmul_vector", at, (2, 3, 4), (4,), zero_size=(np.zeros((2, 3, 0)), np.zeros(0))),
    Sample("matmul_vector", at, (complex_normal(3, 4), normal(4))),
    Sample("matmul_vector", at, (SINGLE, SINGLE_VECTOR)),
    Sample("matmul_vector", at, (STRIDED, normal(6)[::2])),
    shaped("matmul_vector", lambda x: x @ [1.0, 2.0], (3, 2)),
    shaped("vector_matmul", at, (4,), (4, 3), zero_size=(np.zeros(0), EMPTY)),
    shaped("vector_matmul", at, (4,), (2, 4, 3), zero_size=(np.zeros(4), np.zeros((0, 4, 3)))),
    Sample("vector_matmul", at, (complex_normal(4), complex_normal(4, 3))),
    Sample("vector_matmul", at, (normal(8)[::2], STRIDED)),
    Sample("vector_matmul", at, (np.arange(4), FORTRAN)),
    shaped("vectors_matmul", at, (4,), (4,), zero_size=(np.zeros(0), np.zeros(0))),
    shaped("vectors_matmul", lambda x: x @ x, (4,)),
    Sample("vectors_matmul", at, (complex_normal(4), complex_normal(4))),
    Sample("vectors_matmul", at, (SINGLE_VECTOR, normal(4))),
    Sample("vectors_matmul", at, (normal(8)[::2], normal(4)[::-1])),
    Sample("vectors_matmul", at, (INTEGERS[0], INTEGERS[1])),
]
DOT = [
    shaped("dot", np.dot, (4,), (4,), zero_size=(np.zeros(0), np.zeros(0))),
    shaped("dot", lambda x, y: x.dot(y), (4,), (4,)),
    shaped("dot", lambda x, y: np.dot(x, y, None), (4,), (4,)),
    shaped("dot", lambda x: x.dot([1.0, 2.0, 3.0]), (3,)),
    Sample("dot", np.dot, (complex_normal(4), normal(4))),
    Sample("dot", np.dot, (normal(8)[::2], normal(4)[::-1])),
    Sample("dot", np.dot, (SINGLE_VECTOR, SINGLE_VECTOR[::-1])),
    Sample("dot", np.dot, (INTEGERS[0], INTEGERS[1])),
    Sample("dot", np.dot, (BOOLEANS[0], BOOLEANS[1])),
    Sample("dot", np.dot, (np.array([-1.0]), np.array([0.0]))),
    shaped("dot_matrix", np.dot, (3, 4), (4, 2), zero_size=(EMPTY, np.zeros((3, 2)))),
    shaped("dot_matrix", lambda x, y: x.dot(y), (2, 3, 4), (4, 2)),
    shaped("dot_matrix", lambda x: np.dot(x.T, x), (5, 3)),
    Sample("dot_matrix", np.dot, (complex_normal(3, 4), complex_normal(4, 2))),
    Sample("dot_matrix", np.dot, (STRIDED, FORTRAN[:3])),
    Sample("dot_matrix", np.dot, (SINGLE, SINGLE.T)),
    shaped("dot_vector", np.dot, (3, 4), (4,), zero_size=(EMPTY, np.zeros(3))),
    shaped("dot_vector", np.dot, (2, 3, 4), (4,)),
    Sample("dot_vector", np.dot, (STRIDED, normal(6)[::2])),
    shaped("vector_dot", np.dot, (4,), (4, 3), zero_size=(np.zeros(3), np.zeros((3, 0)))),
    shaped("vector_dot", np.dot, (4,), (2, 4, 3)),
    shaped("dot_stacks", np.dot, (3, 4), (2, 4, 2), zero_size=(EMPTY, np.zeros((2, 3, 2)))),
    shaped("dot_stacks", np.dot, (2, 3, 4), (5, 4, 2)),
    shaped("dot_stacks", np.dot, (2, 3), (2, 2, 3, 2), order=1),
    Sample("dot_stacks", np.dot, (complex_normal(2, 3), complex_normal(2, 3, 2))),
    Sample("dot_number", np.dot, (ZERO_D, normal(3))),
    Sample("dot_number", np.dot, (normal(2, 3), SCALAR)),
    Sample("dot_number", lambda x: np.dot(2.0, x), (SINGLE,)),
    Sample("dot_number", lambda x: np.dot(x, 2), (SINGLE,)),
    Sample("dot_number", lambda x: x.dot(-1.0), (np.array([0.0, 1.0]),)),
    Sample("dot_number", np.dot, (ZERO_D, SCALAR)),
    Sample("dot_number", np.dot, (SCALAR, 3.0)),
    Sample("dot_number", np.dot, (complex_normal(3), SCALAR)),
    shaped("inner", np.inner, (4,), (4,)),
    shaped("inner", np.inner, (3, 4), (2, 4), zero_size=(EMPTY, np.zeros((2, 3)))),
    shaped("inner", np.inner, (3, 4), (4,)),
    shaped("inner", np.inner, (4,), (3, 4)),
    shaped("inner", np.inner, (2, 3, 4), (5, 2, 4)),
    Sample("inner", np.inner, (SCALAR, normal(2, 3))),
    Sample("inner", np.inner, (normal(2, 3), 2.0)),
    Sample("inner", np.inner, (complex_normal(2, 3), complex_normal(4, 3))),
    Sample("inner", np.inner, (STRIDED, STRIDED)),
    shaped("multi_dot", lambda x, y: np.linalg.multi_dot([x, y]), (3, 4), (4, 2)),
    shaped("multi_dot", lambda x, y, z: np.linalg.multi_dot([x, y, z]), (3, 4), (4, 2), (2, 5)),
    shaped("multi_dot", lambda x, y, z: np.linalg.multi_dot((x, y, z)), (4,), (4, 2), (2,)),
    shaped("multi_dot", lambda x, y, z: np.linalg.multi_dot([x, y, z]), (4,), (4, 2), (2, 3)),
    shaped(
        "multi_dot",
        lambda *chain: np.linalg.multi_dot(chain),
        (3, 4), (4, 2), (2, 5), (5,),
    ),
    shaped(
        "multi_dot",
        lambda *chain: np.linalg.multi_dot(chain),
        (3, 1), (1, 6), (6, 2), (2, 5), (5, 3),
        order=1,
    ),
]  # fmt: skip
CONJUGATED = [  # complex step would conjugate the first operand
    shaped("vdot", np.vdot, (4,), (4,), zero_size=(np.zeros(0), np.zeros(0)), holomorphic=False),
    shaped("vdot", np.vdot, (2, 3), (2, 3), holomorphic=False),
    shaped("vdot", np.vdot, (2, 3), (3, 2), holomorphic=False),
    Sample("vdot", np.vdot, (complex_normal(4), complex_normal(4)), holomorphic=False),
    Sample("vdot", np.vdot, (complex_normal(2, 3), normal(6)), holomorphic=False),
    Sample("vdot", np.vdot, (normal(3), complex_normal(3)), holomorphic=False),
    Sample("vdot", np.vdot, (STRIDED, STRIDED), holomorphic=False),
    Sample("vdot", np.vdot, (SCALAR, ZERO_D), holomorphic=False),
    Sample("vdot", np.vdot, (ZERO_D, 2.0), holomorphic=False),
    Sample("vdot", np.vdot, (INTEGERS, normal(6)), holomorphic=False),
    Sample("vdot", np.vdot, (SINGLE_VECTOR, SINGLE_VECTOR), holomorphic=False),
    shaped("vecdot", np.vecdot, (4,), (4,), holomorphic=False),
    shaped(
        "vecdot",
        np.vecdot,
        (2, 3, 4),
        (3, 4),
        zero_size=(np.zeros((2, 0, 4)), np.zeros(4)),
        holomorphic=False,
    ),
    shaped("vecdot", np.vecdot, (2, 1, 4), (3, 4), holomorphic=False),
    shaped("vecdot", lambda x, y: np.vecdot(x, y, axis=0), (4, 3), (4, 3), holomorphic=False),
    shaped("vecdot", lambda x, y: np.linalg.vecdot(x, y), (3, 4), (4,), holomorphic=False),
    shaped(
        "vecdot", lambda x, y: np.linalg.vecdot(x, y, axis=0), (4, 3), (4, 3), holomorphic=False
    ),
    Sample("vecdot", np.vecdot, (complex_normal(2, 3), complex_normal(3)), holomorphic=False),
    Sample("vecdot", np.vecdot, (normal(2, 3), complex_normal(3)), holomorphic=False),
    Sample("vecdot", np.vecdot, (SINGLE, SINGLE_VECTOR), holomorphic=False),
    Sample("vecdot", np.vecdot, (INTEGERS, INTEGERS), holomorphic=False),
]
if hasattr(np, "matvec"):
    CONJUGATED += [
        shaped("matvec", np.matvec, (3, 4), (4,)),
        shaped(
            "matvec", np.matvec, (2, 3, 4), (2, 4), zero_size=(np.zeros((0, 3, 4)), np.zeros(4))
        ),
        shaped("matvec", np.matvec, (3, 4), (2, 4)),
        Sample("matvec", np.matvec, (complex_normal(3, 4), complex_normal(4))),
        shaped("vecmat", np.vecmat, (3,), (3, 4), holomorphic=False),
        shaped(
            "vecmat",
            np.vecmat,
            (2, 3),
            (2, 3, 4),
            zero_size=(np.zeros((0, 3)), np.ones((3, 4))),
            holomorphic=False,
        ),
        shaped("vecmat", np.vecmat, (2, 3), (3, 4), holomorphic=False),
        Sample("vecmat", np.vecmat, (complex_normal(3), complex_normal(3, 4)), holomorphic=False),
    ]
OUTER = [
    shaped("outer", np.outer, (3,), (4,), zero_size=(np.zeros(0), np.zeros(2))),
    shaped("outer", np.outer, (2, 3), (2, 2)),
    shaped("outer", lambda x: np.outer(x, x, out=None), (3,)),
    shaped("outer", lambda x, y: np.linalg.outer(x, y), (3,), (4,)),
    shaped("outer", lambda x: np.outer(x, [1.0, 2.0]), (3,)),
    Sample("outer", np.outer, (2.0, SINGLE_VECTOR)),
    Sample("outer", np.outer, (SCALAR, ZERO_D)),
    Sample("outer", np.outer, (complex_normal(3), normal(2))),
    Sample("outer", np.outer, (STRIDED[0], STRIDED)),
    Sample("outer", np.outer, (INTEGERS, normal(2))),
    shaped("kron", np.kron, (2, 3), (3, 2), zero_size=(EMPTY, np.zeros((2, 2)))),
    shaped("kron", np.kron, (3,), (2,)),
    shaped("kron", np.kron, (3,), (2, 2)),
    shaped("kron", np.kron, (2, 1, 2), (2, 3)),
    Sample("kron", np.kron, (2.0, SINGLE_VECTOR)),
    Sample("kron", np.kron, (SCALAR, 3.0)),
    Sample("kron", np.kron, (ZERO_D, normal(2, 2))),
    Sample("kron", np.kron, (complex_normal(2, 2), INTEGERS)),
    shaped("kron", lambda x: np.kron(x, [[1.0, 2.0]]), (2, 2)),
    shaped("cross", np.cross, (3,), (3,)),
    shaped("cross", np.cross, (2, 3), (4, 1, 3), zero_size=(EMPTY, EMPTY)),
    shaped("cross", lambda x, y: np.cross(x, y, axis=0), (3, 2), (3, 2)),
    shaped("cross", lambda x, y: np.cross(x, y, axisa=0, axisc=0), (3, 2), (2, 3)),
    shaped("cross", lambda x, y: np.cross(x, y, 1, 0, 1), (2, 3, 4), (3, 2, 4)),
    shaped("cross", lambda x, y: np.linalg.cross(x, y), (2, 3), (3,)),
    shaped("cross", lambda x, y: np.linalg.cross(x, y, axis=0), (3, 2), (3, 2)),
    shaped("cross", lambda x: np.cross(x, [0.0, 0.0, 1.0]), (2, 3)),
    Sample("cross", np.cross, (complex_normal(3), normal(3))),
    Sample("cross", np.cross, (INTEGERS, normal(3))),
    Sample("cross", np.cross, (SINGLE[:, :3], SINGLE_VECTOR[:3])),
]


def tensordot(axes, *shapes, **fields):
    """A sample of tensordot over `axes`."""
    return shaped("tensordot", lambda x, y: np.tensordot(x, y, axes), *shapes, **fields)


TENSORDOT = [
    tensordot(1, (3, 4), (4, 2), zero_size=(EMPTY, np.zeros((3, 2)))),
    tensordot(2, (2, 3, 4), (3, 4, 5)),
    tensordot(0, (2, 3), (2,)),
    tensordot(2, (3, 4), (3, 4)),
    tensordot(1, (4,), (4,)),
    tensordot((1, 0), (3, 4), (4, 2)),
    tensordot(([0], [1]), (3, 4), (2, 3)),
    tensordot(((0, 2), (-1, 0)), (2, 3, 4), (4, 5, 2)),
    tensordot(([], []), (2,), (3,)),
    shaped(
        "tensordot",
        lambda x, y: np.linalg.tensordot(x, y, axes=((1,), (0,))),
        (3, 4), (4, 2),
    ),
    Sample("tensordot", lambda x, y: np.tensordot(x, y), (complex_normal(2, 3), normal(2, 3))),
    Sample("tensordot", lambda x, y: np.tensordot(x, y, 0), (SCALAR, normal(3))),
    Sample("tensordot", lambda x: np.tensordot(x, 2.0, 0), (SINGLE,)),
    Sample("tensordot", lambda x, y: np.tensordot(x, y, 1), (STRIDED, FORTRAN[:3])),
]  # fmt: skip


def einsum(subscripts, *shapes, **fields):
    """A sample of einsum, by NumPy's plain loop."""
    return shaped("einsum", lambda *xs: np.einsum(subscripts, *xs), *shapes, **fields)


def optimized(subscripts, *shapes, **fields):
    """A sample of einsum along the best path."""
    return shaped(
        "einsum", lambda *xs: np.einsum(subscripts, *xs, optimize=True), *shapes, **fields
    )


EINSUM = [
    einsum("ij,jk->ik", (3, 4), (4, 2), zero_size=(EMPTY, np.zeros((3, 2)))),
    einsum("ij,jk", (3, 4), (4, 2)),
    einsum("ij,kj->ki", (3, 4), (2, 4)),
    einsum("ji,jk", (4, 3), (4, 2)),
    einsum(" i j , j -> i ", (3, 4), (4,)),
    einsum("i,i->", (4,), (4,), zero_size=(np.zeros(0), np.zeros(0))),
    einsum("i,i", (4,), (4,)),
    einsum("ij,ij->", (3, 4), (3, 4)),
    einsum("i,j->ij", (3,), (4,)),
    einsum("i,j->ji", (3,), (4,)),
    einsum("i,i->i", (4,), (4,)),
    einsum("ij,j->ij", (3, 4), (4,)),
    einsum("ij,i->ij", (3, 4), (3,)),
    einsum("bij,bjk->bik", (2, 3, 4), (2, 4, 2)),
    einsum("bij,bkj->bik", (2, 3, 4), (2, 5, 4)),
    einsum("bhqd,bhkd->bhqk", (2, 2, 3, 2), (2, 2, 4, 2), order=1),
    einsum("bi,bi->b", (3, 4), (3, 4)),
    einsum("bi,bij->bj", (3, 4), (3, 4, 2)),
    einsum("ijk,kjl->il", (2, 3, 4), (4, 3, 2)),
    einsum("ijk,jil->kl", (2, 3, 4), (3, 2, 5)),
    einsum("ij,k->ki", (2, 3), (4,)),
    einsum("ij,k->", (2, 3), (4,)),
    einsum("i->", (4,), zero_size=(np.zeros(0),)),
    einsum("ij->i", (3, 4)),
    einsum("ij->j", (3, 4)),
    einsum("ijk->ki", (2, 3, 4)),
    einsum("ij", (3, 4)),
    einsum("ji", (3, 4)),
    einsum("ij->ji", (3, 4)),
    einsum("ij->ij", (3, 4)),
    einsum("ii->", (3, 3)),
    einsum("ii", (3, 3)),
    einsum("ii->i", (3, 3)),
    einsum("iij->j", (3, 3, 2)),
    einsum("iii->i", (3, 3, 3)),
    einsum("iji->j", (3, 2, 3)),
    einsum("ii,ij->j", (3, 3), (3, 2)),
    einsum("iijj->ij", (2, 2, 3, 3)),
    einsum("i,ij,j->", (3,), (3, 4), (4,)),
    einsum("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    einsum("i,i,i->i", (3,), (3,), (3,)),
    einsum("a,b,c->abc", (2,), (3,), (2,)),
    einsum("ij,k,k->", (2, 3), (4,), (4,)),
    einsum("...ij,...jk", (2, 3, 4), (2, 4, 2)),
    einsum("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2), order=1),
    einsum("...i,i->...", (2, 3, 4), (4,)),
    einsum("...i->i...", (2, 3)),
    einsum("...,...->...", (2, 3), (3,)),
    einsum("i...,i...", (3, 2), (3, 2)),
    einsum("i...->...", (3,)),
    einsum("ij,jk->ik", (3, 1), (4, 2)),
    einsum("ij,jk->ik", (3, 4), (1, 2)),
    einsum("ij,ij->ij", (3, 1), (1, 4)),
    einsum("zij,ij->z", (2, 3, 1), (3, 4)),
    einsum("zij,ij->i", (2, 3, 1), (3, 4)),
    einsum("Ab,bA", (3, 4), (4, 3)),
    einsum("Ab,bc", (3, 4), (4, 2)),
    Sample("einsum", lambda x: np.einsum("ij,kj->ik", x, x), (normal(3, 4),)),
    Sample("einsum", lambda x, y: np.einsum(",i->i", x, y), (SCALAR, normal(3))),
    Sample("einsum", lambda x: np.einsum(",->", x, 2.0), (ZERO_D,)),
    Sample("einsum", lambda x: np.einsum("->", x), (ZERO_D,)),
    Sample("einsum", lambda x: np.einsum("i,->i", x, 2.0), (SINGLE_VECTOR,)),
    Sample("einsum", lambda x: np.einsum("i,i", x, [1.0, 2.0]), (normal(2),)),
    Sample("einsum", lambda x, y: np.einsum("ij,jk", x, y), (complex_normal(2, 3), normal(3, 2))),
    Sample("einsum", lambda x, y: np.einsum("ij,jk", x, y), (INTEGERS, normal(3, 2))),
    Sample("einsum", lambda x: np.einsum("ij,kj->ik", x, x), (BOOLEANS,)),
    Sample("einsum", lambda x: np.einsum("ij,ij->i", x, x), (HALF,)),
    Sample("einsum", lambda x, y: np.einsum("ij,jk", x, y), (STRIDED, FORTRAN[:3])),
    optimized("ij,jk->ik", (3, 4), (4, 2)),
    optimized("i,ij,j", (3,), (3, 4), (4,)),
    optimized("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    optimized("i,i->", (4,), (4,)),
    optimized("i,i,->", (4,), (4,), ()),
    optimized("...ij,jk", (2, 3, 4), (4, 2)),
    optimized("ij->ji", (3, 4)),
    optimized("ij->i", (3, 4)),
]

SAMPLES = [*AT, *DOT, *CONJUGATED, *OUTER, *TENSORDOT, *EINSUM]
