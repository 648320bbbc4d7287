"""Contractions: how two factors are laid out for a product of matrices, and when they are not."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.by_day import by_day
from tests.support.arrays import normals
from tracejit.ops.base.op import OPS
from tracejit.ops.linalg.contractions import Factor, contracted, steps_along


def of_arrays(subscripts: str, *arrays: np.ndarray) -> tuple[Any, list[str]]:
    """The product of two arrays, None where it is einsum's, and the names of the ops."""
    inputs, _, target = subscripts.partition("->")
    used: list[str] = []

    def do(name: str, *operands: Any, **params: Any) -> Any:
        used.append(name)
        return OPS[name](*operands, **params)

    x, y = (
        Factor(array, letters, array.shape, array.dtype)
        for array, letters in zip(arrays, inputs.split(","), strict=True)
    )
    return contracted(do, x, y, target), used


LAID_OUT = {
    "ij,jk->ik": (((3, 4), (4, 5)), ["matmul"]),
    "ij,kj->ik": (((3, 4), (5, 4)), ["transpose", "matmul"]),
    "ij,kj->ki": (((3, 4), (5, 4)), ["transpose", "matmul"]),
    "ij,j->i": (((3, 4), (4,)), ["matmul_vector"]),
    "i,ij->j": (((3,), (3, 4)), ["vector_matmul"]),
    "bij,bjk->bik": (((2, 3, 4), (2, 4, 5)), ["matmul"]),
    "bhqd,bhkd->bhqk": (((2, 3, 4, 5), (2, 3, 6, 5)), ["transpose", "matmul"]),
    "bqhd,bkhd->bhqk": (((2, 4, 3, 5), (2, 6, 3, 5)), ["transpose", "transpose", "matmul"]),
    "sd,hdk->hsk": (((8, 6), (2, 6, 3)), ["matmul"]),
    "abi,abj->ij": (((3, 4, 5), (3, 4, 6)), ["reshape", "transpose", "reshape", "matmul"]),
    "bij,jk->bik": (((50, 3, 4), (4, 5)), ["reshape", "matmul", "reshape"]),
    "bi,bij->bj": (((3, 40), (3, 40, 5)), ["expand_dims", "matmul", "reshape"]),
    "abc,b->ac": (((3, 40, 50), (40,)), ["vector_matmul"]),
    "i,i->": (((5,), (5,)), ["multiply", "sum"]),
    "ij,ji->": (((3, 4), (4, 3)), ["transpose", "multiply", "sum"]),
    "ij,ij->i": (((3, 40), (3, 40)), ["vecdot"]),
    "ijk,ijk->i": (((3, 4, 5), (3, 4, 5)), ["reshape", "reshape", "vecdot"]),
    "ij,j->ij": (((3, 4), (4,)), ["multiply"]),
    "j,ij->ji": (((4,), (3, 4)), ["expand_dims", "transpose", "multiply"]),
    ",i->i": (((), (4,)), ["multiply"]),
}  # fmt: skip


@pytest.mark.parametrize("subscripts", LAID_OUT)
def test_layout(subscripts: str) -> None:
    shapes, ops = LAID_OUT[subscripts]
    arrays = normals(*shapes)
    found, used = of_arrays(subscripts, *arrays)
    assert used == ops
    np.testing.assert_allclose(found, np.einsum(subscripts, *arrays), rtol=1e-12, atol=1e-14)


STAYS = {
    "letters of one factor alone": ("ij,k->", (3, 4), (5,)),
    "rows of one alone": ("zij,ij->i", (2, 3, 4), (3, 4)),
    "a sum over what is not last": ("ij,ij->j", (3, 4), (3, 4)),
    "broadcast letters": ("ij,jk->ik", (3, 1), (4, 5)),
    "a product of all with all": ("i,j->ij", (3,), (4,)),
    "many short rows": ("ij,ij->i", (100, 3), (100, 3)),
    "long rows": ("ij,ij->i", (2, 10_000), (2, 10_000)),
    "many small matrices and vectors": ("nij,nj->ni", (100, 3, 3), (100, 3)),
}  # fmt: skip


@pytest.mark.parametrize(("subscripts", "first", "second"), STAYS.values(), ids=STAYS)
def test_what_stays(subscripts: str, first: Any, second: Any) -> None:
    assert of_arrays(subscripts, *normals(first, second)) == (None, [])


def test_rows_of_complex_numbers_stay() -> None:
    """vecdot would take the conjugate."""
    x = np.ones((3, 40), complex)
    assert of_arrays("ij,ij->i", x, x) == (None, [])


@settings(max_examples=by_day(60, 300), deadline=None)
@given(st.data())
def test_any_two_factors(data: st.DataObject) -> None:
    """What is laid out is what einsum computes, whatever the letters, their order and sizes."""
    sizes = {letter: data.draw(st.integers(1, 4), letter) for letter in "abcde"}
    letters = [
        "".join(data.draw(st.permutations(letters)))
        for letters in data.draw(st.tuples(*[st.lists(st.sampled_from("abcde"), unique=True)] * 2))
    ]
    both = sorted(set("".join(letters)))
    output = "".join(data.draw(st.lists(st.sampled_from(both), unique=True))) if both else ""
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=[sizes[letter] for letter in one]) for one in letters]
    subscripts = f"{','.join(letters)}->{output}"
    found, used = of_arrays(subscripts, *arrays)
    expected = np.einsum(subscripts, *arrays)
    if found is None:
        assert not used
        return
    assert (np.shape(found), found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


def test_nothing_is_copied_that_need_not_be() -> None:
    """Matrices in any order of three letters: the BLAS reads what it is given, or a view."""
    (x, y) = normals((6, 7, 8), (6, 8, 9))
    for order, other in ((p, q) for p in permutations("bij") for q in permutations("bjk")):
        if order[2] == "b" or other[2] == "b":
            continue  # rows of no unit stride
        arrays = [
            np.ascontiguousarray(x.transpose(["bij".index(k) for k in order])),
            np.ascontiguousarray(y.transpose(["bjk".index(k) for k in other])),
        ]
        _, used = of_arrays(f"{''.join(order)},{''.join(other)}->bik", *arrays)
        assert "reshape" not in used and used[-1] == "matmul"


@pytest.mark.parametrize("optimize", [True, "greedy", "optimal", ("greedy", 10), ("optimal", 1e9)])
def test_steps_are_all_of_the_product(optimize: Any) -> None:
    """What the steps multiply, one after the other, is the whole product."""
    labels, output = ("ij", "jkl", "lm", "km"), "i"
    arrays = normals((2, 9), (9, 3, 5), (5, 4), (3, 4))
    left = list(zip(labels, arrays, strict=True))
    for places, letters in steps_along(labels, output, tuple(x.shape for x in arrays), optimize):
        taken = [left[place] for place in places]
        left = [one for place, one in enumerate(left) if place not in places]
        inputs = ",".join(one for one, _ in taken)
        left.append((letters, np.einsum(f"{inputs}->{letters}", *[x for _, x in taken])))
    expected = np.einsum("ij,jkl,lm,km->i", *arrays)
    assert [one for one, _ in left] == [output]
    np.testing.assert_allclose(left[0][1], expected, rtol=1e-12)


def test_pairs_are_all_that_steps_are_of() -> None:
    """Two factors are taken at once where that is the cheapest order."""
    labels = ("ab", "bc", "cd", "de")
    shapes = ((9, 8), (8, 9), (9, 8), (8, 9))
    steps = steps_along(labels, "ae", shapes, "optimal")
    pairs = list(combinations(range(4), 2))
    assert len(steps) == 3 and all(step.places in pairs for step in steps)
