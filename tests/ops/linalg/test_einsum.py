"""The explicit form of einsum, how its gradients are computed, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.interpret import record
from tests.ops.linalg.test_products import gradient_of, spelled
from tests.rows import each_row
from tracejit.ops.linalg.einsum import explicit_subscripts
from tracejit.support.errors import ShapeError, UnsupportedError

MATRIX = np.ones((2, 3))
STACK = np.ones((5, 2, 3))


@pytest.mark.parametrize(
    ("subscripts", "axes", "explicit"),
    [
        ("ij,jk", (2, 2), "ij,jk->ik"),
        ("ba", (2,), "ba->ab"),
        ("ii", (2,), "ii->"),
        (" i j -> j ", (2,), "ij->j"),
        ("...", (2,), "ab->ab"),
        ("...i,i", (3, 1), "abi,i->ab"),
        ("...i,...i->...", (3, 2), "abi,bi->ab"),
        ("a...->...a", (3,), "abc->bca"),
        (",i", (0, 1), ",i->i"),
        ("Zz,zA", (2, 2), "Zz,zA->AZ"),
    ],
)
def test_explicit_form(subscripts: str, axes: tuple[int, ...], explicit: str) -> None:
    labels, output = explicit_subscripts(subscripts, axes)
    assert f"{','.join(labels)}->{output}" == explicit


@pytest.mark.parametrize(
    ("subscripts", "args", "spelling"),
    [
        ("ij,jk", (MATRIX, MATRIX.T), ["np.einsum('ij,jk->ik', {0}, {1})"]),
        ("ij->ji", (MATRIX,), ["{0}.T"]),
        ("ii->i", (np.eye(3),), ["{0}.diagonal()"]),
        ("ii", (np.eye(3),), ["{0}.diagonal()", "np.einsum('i->', {0})"]),
    ],
)
def test_spelling(subscripts: str, args: tuple[Any, ...], spelling: list[str]) -> None:
    assert spelled(record(lambda *xs: np.einsum(subscripts, *xs), *args)[0]) == spelling


@pytest.mark.parametrize(
    ("subscripts", "args", "spelling"),
    [
        ("ij,jk->ik", (MATRIX, MATRIX.T), ["{0}.T", "{0} @ {1}"]),
        ("ij,kj->ik", (MATRIX, MATRIX), ["{0} @ {1}"]),
        ("bij,bjk->bik", (STACK, STACK.mT), ["{0}.mT", "{0} @ {1}"]),
        ("i,i->", (MATRIX[0], MATRIX[0]), ["{0} * {1}"]),
        ("i,j->ij", (MATRIX[0], MATRIX[0]), ["{0} @ {1}"]),
        ("ij,j->ij", (MATRIX, MATRIX[0]), ["{0} * {1}"]),
        ("ij->j", (MATRIX,), ["{0}[None]", "np.broadcast_to({0}, {shape})"]),
        (
            "i,ij,j->",
            (np.ones(2), MATRIX, np.ones(3)),
            ["{0} @ {1}", "{0} * {1}"],
        ),
        (
            "i,ij,j->i",
            (np.ones(2), MATRIX, np.ones(3)),
            ["{0} @ {1}", "{0} * {1}"],
        ),
    ],
)
def test_gradient_is_a_product(subscripts: str, args: tuple[Any, ...], spelling: list[str]) -> None:
    found = gradient_of(lambda *xs: np.einsum(subscripts, *xs), *args)
    # a reshape to the shape an operand has already is dropped by the passes
    found = [text for text in found if ".reshape(" not in text]
    expected = [text.replace("{shape}", "(2, 3)") for text in spelling]
    assert found == expected


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda a: np.einsum("ij,jk", a, a), ShapeError, "'j' is both 3 and 2"),
        (lambda a: np.einsum("ij,jk", a), ShapeError, "for 2 operands, 1 given"),
        (lambda a: np.einsum("i", a), ShapeError, "not for an operand of 2 dimensions"),
        (lambda a: np.einsum("ijk", a), ShapeError, "not for an operand of 2 dimensions"),
        (lambda a: np.einsum("ij->k", a), ShapeError, "'k' twice or from nowhere"),
        (lambda a: np.einsum("ij->ii", a), ShapeError, "'i' twice or from nowhere"),
        (lambda a: np.einsum("i1->i", a), ShapeError, "not letters"),
        (lambda a: np.einsum("......", a), ShapeError, "at most one '...'"),
        (lambda a: np.einsum("...j->j", a), ShapeError, "no '...'"),
        (lambda a: np.einsum("ii->i", a), ShapeError, "'i' in 'ii' are not equal"),
        (lambda a: np.einsum(a, a), UnsupportedError, "must be a string"),
        (lambda a: np.einsum(a, [0, 1, 2]), ShapeError, "not for an operand of 2 dimensions"),
        (lambda a: np.einsum("ij->i", a, optimize="best"), UnsupportedError, "'best'"),
        (lambda a: np.einsum("ij->i", a, dtype="f4"), UnsupportedError, "keyword dtype"),
        (
            lambda a: np.einsum("ii,ij,jk", a[:, :2], a, a.T, optimize=True),
            UnsupportedError,
            "letter twice",
        ),
    ],
)
def test_refused(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        record(call, MATRIX)
    assert text in str(caught.value)


@each_row("optimize", [True, "greedy", "optimal", ["einsum_path", (0, 1)]])
@each_row(
    "subscripts",
    ["ii->i", "ii", "iij->ij", "...ii->...i", "ii,ij->j", "iij,jk->ik", "ii,jj->ij", "ij,ii"],
)
def test_a_letter_twice_with_optimize_is_to_the_bit(subscripts: str, optimize: Any) -> None:
    sizes = {"i": 30, "j": 20, "k": 40}
    rng = np.random.default_rng(3)
    inputs = subscripts.split("->")[0].replace("...", "").split(",")
    arrays = [rng.normal(size=[sizes[letter] for letter in letters]) for letters in inputs]
    if type(optimize) is list and len(arrays) == 1:
        optimize = ["einsum_path", (0,)]

    def product(*operands: Any) -> Any:
        return np.einsum(subscripts, *operands, optimize=optimize)

    found, expected = tj.function(product, exact=True)(*arrays), product(*arrays)
    np.testing.assert_array_equal(found, expected)
    grad = tj.grad(lambda x: np.sum(product(x, *arrays[1:])))(arrays[0])
    rest = arrays[1:]
    plain = tj.grad(lambda x: np.sum(np.einsum(subscripts, x, *rest)))(arrays[0])
    np.testing.assert_allclose(grad, plain, rtol=1e-12)
