"""Contract: what einsum becomes, what stays, and that it is the same as NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.against_exact import assert_close, assert_close_to_exact, code
from tests.interpret import interpret, record
from tests.rows import each_row
from tests.support.arrays import normals
from tests.support.graphs import ops_of
from tracejit.ir.verify import verify
from tracejit.passes.algebra.contract import contract
from tracejit.passes.framework.dce import drop_dead

SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e60, 1e-300)


def product(subscripts: str, count: int = 2, **options: Any) -> Any:
    """einsum of so many operands, as a function of them."""
    if count == 1:
        return lambda a: np.einsum(subscripts, a, **options)
    if count == 2:
        return lambda a, b: np.einsum(subscripts, a, b, **options)
    return lambda a, b, c: np.einsum(subscripts, a, b, c, **options)


def statements(kernel: Any) -> str:
    """The functions of a kernel without comments."""
    text = kernel.source.partition("\ndef ")[2]
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))


WRITTEN = {
    "matrices along the last axis": (
        "ijn,jkn->ikn",
        ((30, 40, 20), (40, 9, 20)),
        "(a.transpose((2, 0, 1)) @ b.transpose((2, 0, 1))).transpose((1, 2, 0))",
    ),
    "matrices": ("ij,jk->ik", ((30, 40), (40, 50)), "a.dot(b)"),
    "without an output": ("ij,jk", ((30, 40), (40, 50)), "a.dot(b)"),
    "transposed": ("ij,kj->ik", ((30, 40), (50, 40)), "a.dot(b.T)"),
    "result transposed": ("ij,jk->ki", ((30, 40), (40, 50)), "b.T.dot(a.T)"),
    "a vector": ("ij,j->i", ((30, 40), (40,)), "a.dot(b)"),
    "stacks": ("bij,bkj->bik", ((5, 8, 9), (5, 7, 9)), "a @ b.mT"),
    "an ellipsis": ("...ij,...jk->...ik", ((2, 3, 8, 9), (2, 3, 9, 7)), "a @ b"),
    "heads of attention": ("bhqd,bhkd->bhqk", ((2, 4, 16, 8), (2, 4, 12, 8)), "a @ b.mT"),
    "heads behind": (
        "bqhd,bkhd->bhqk",
        ((2, 16, 4, 8), (2, 12, 4, 8)),
        "a.transpose((0, 2, 1, 3)) @ b.transpose((0, 2, 3, 1))",
    ),
    "rows of stacks": (
        "bij,jk->bik",
        ((50, 3, 4), (4, 3)),
        "a.reshape((150, 4)).dot(b).reshape((50, 3, 3))",
    ),
    "heads of a product": ("sd,hdk->hsk", ((64, 128), (4, 128, 32)), "a @ b"),
    "sums over two": (
        "abi,abj->ij",
        ((30, 20, 16), (30, 20, 12)),
        "a.reshape((600, 16)).T.dot(b.reshape((600, 12)))",
    ),
    "everything": ("ij,ij->", ((30, 40), (30, 40)), "vdot(a, b)"),
    "rows": ("ij,ij->i", ((30, 40), (30, 40)), "vecdot(a, b)"),
    "multiples": ("ij,i->ij", ((30, 40), (30,)), "a * b[:, None]"),
    "a sum": ("ij->j", ((30, 40),), "ones_30.dot(a)"),
    "a trace": ("ii", ((30, 30),), "a.diagonal().dot(ones_30)"),
    "a diagonal and a matrix": ("ii,ij->j", ((30, 30), (30, 40)), "a.diagonal().dot(b)"),
}  # fmt: skip


@each_row("dtype", ["f8", "f4"])
@each_row(("subscripts", "shapes", "text"), WRITTEN.values())
def test_what_is_written(subscripts: str, shapes: Any, text: str, dtype: str) -> None:
    arrays = normals(*shapes, dtype=dtype)
    f = product(subscripts, len(arrays))
    compiled = tj.function(f, cache=False)
    found, expected = compiled(*arrays), f(*arrays)
    assert type(found) is type(expected)
    assert_close(np.asarray(found), np.asarray(expected))
    assert f"out = {text}" in code(compiled, "forward")


def test_many_factors_go_as_numpy_takes_them() -> None:
    arrays = normals((20, 30), (30, 25), (25, 20))
    for optimize, text in (
        (True, "a.dot(b).dot(c)"),
        (["einsum_path", (0, 1), (0, 1)], "a.dot(b).dot(c)"),
        (["einsum_path", (1, 2), (0, 1)], "a.dot(b.dot(c))"),
    ):
        f = product("ij,jk,kl->il", 3, optimize=optimize)
        compiled = tj.function(f, cache=False)
        assert_close(compiled(*arrays), f(*arrays))
        assert text in code(compiled, "forward")


@pytest.mark.parametrize("optimize", [True, "optimal", (1, 2)])
def test_a_number_has_the_form_that_numpy_gives_it(optimize: Any) -> None:
    arrays = normals((20,), (20, 30), (30,))
    how = ["einsum_path", (1, 2), (0, 1)] if optimize == (1, 2) else optimize
    f = product("i,ij,j->", 3, optimize=how)
    compiled = tj.function(f, cache=False)
    found, expected = compiled(*arrays), f(*arrays)
    assert type(found) is type(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert "einsum" not in code(compiled, "forward")


STAYS = {
    "whole numbers": ("ij,jk->ik", [np.ones((3, 4), int), np.ones((4, 5), int)]),
    "truth values": ("ij,jk->ik", [np.ones((3, 4), bool), np.ones((4, 5), bool)]),
    "complex numbers": ("ij,jk->ik", [np.ones((3, 4), complex), np.ones((4, 5), complex)]),
    "half precision": ("ij,jk->ik", normals((3, 4), (4, 5), dtype="f2")),
    "long doubles": ("ij,jk->ik", normals((3, 4), (4, 5), dtype="g")),
    "two dtypes": ("ij,jk->ik", [np.ones((3, 4)), np.ones((4, 5), "f4")]),
    "nothing to sum": ("ij,jk->ik", [np.ones((3, 0)), np.ones((0, 5))]),
    "broadcast": ("ij,jk->ik", normals((3, 1), (4, 5))),
    "letters of one alone": ("ij,k->", normals((3, 4), (5,))),
    "an outer product": ("i,j->ij", normals((3,), (4,))),
    "small matrices along a long axis": ("ijn,jkn->ikn", normals((3, 4, 50), (4, 2, 50))),
    "a sum over the first axis": ("ij,ij->j", normals((3, 4), (3, 4))),
    "a sum of whole numbers": ("ij->i", [np.ones((3, 4), "i4")]),
    "few products of three factors": ("ij,jk,kl->il", normals((3, 4), (4, 5), (5, 6))),
}  # fmt: skip


@pytest.mark.parametrize(("subscripts", "arrays"), STAYS.values(), ids=STAYS)
def test_what_stays(subscripts: str, arrays: list[np.ndarray]) -> None:
    f = product(subscripts, len(arrays))
    graph, _ = record(f, *arrays)
    assert ops_of(drop_dead(contract(graph))) == ["einsum"]
    np.testing.assert_array_equal(tj.function(f, cache=False)(*arrays), f(*arrays))


def test_steps_that_are_no_products_stay() -> None:
    """Of the steps of many factors, those stay that NumPy alone can do."""
    arrays = normals((20, 30), (30, 2), (40, 2))
    f = product("ij,jk,lk->i", 3, optimize=["einsum_path", (1, 2), (0, 1)])
    graph, _ = record(f, *arrays)
    better = verify(drop_dead(contract(graph)))
    assert ops_of(better) == ["einsum", "matmul_vector"]
    np.testing.assert_allclose(interpret(better, *arrays)[0], f(*arrays), rtol=1e-11)


def test_exact_kernels_do_without() -> None:
    arrays = normals((30, 40), (50, 40))
    f = product("ij,kj->ik")
    exact = tj.function(f, cache=False, exact=True)
    np.testing.assert_array_equal(exact(*arrays), f(*arrays))
    assert "einsum" in code(exact, "forward")


def test_what_only_a_decision_reads_stays() -> None:
    """A decision falls as it does in Python."""

    def f(a: Any, b: Any) -> Any:
        return a * 2.0 if (np.einsum("ij,ij->", a, b) > 0.0).__bool__() else a * 3.0

    arrays = normals((30, 40), (30, 40))
    compiled = tj.function(f, cache=False)
    np.testing.assert_array_equal(compiled(*arrays), f(*arrays))
    assert "einsum" in code(compiled, "forward")


def test_ways_are_contracted() -> None:
    def f(a: Any, b: Any) -> Any:
        c = np.einsum("ij,kj->ik", a, b)
        return np.einsum("ij,jk->ik", c, c) if c[0, 0] > 0.0 else np.einsum("ij,ik->jk", c, c)

    compiled = tj.function(f, cache=False)
    for sign in (1.0, -1.0):
        a, b = np.full((3, 4), sign), np.ones((3, 4))
        np.testing.assert_allclose(compiled(a, b), f(a, b), rtol=1e-13)
    assert "einsum(" not in statements(compiled.kernels[-1])


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("bij,jk->bik", lambda n: ((n, 3, 4), (4, 5))),
        ("bqhd,bkhd->bhqk", lambda n: ((n, 3, 4, 5), (n, 3, 4, 5))),
        ("bi,bj->ij", lambda n: ((n, 3), (n, 4))),
        ("bi,bi->b", lambda n: ((n, 30), (n, 30))),
        ("bi,bij->bj", lambda n: ((n, 30), (n, 30, 4))),
    ],
)
def test_free_sizes(subscripts: str, shapes: Any) -> None:
    """One kernel for every batch, without einsum."""
    f = product(subscripts)
    compiled = tj.function(f, cache=False)
    for n in (8, 9, 12, 1):
        arrays = normals(*shapes(n))
        np.testing.assert_allclose(compiled(*arrays), f(*arrays), rtol=1e-11, atol=1e-13)
    assert len(compiled.kernels) <= 3
    assert "einsum(" not in statements(compiled.kernels[1])


@pytest.mark.parametrize(("subscripts", "shapes", "text"), WRITTEN.values(), ids=WRITTEN)
def test_views(subscripts: str, shapes: Any, text: str) -> None:
    """Operands that do not lie in order, in the kernel made for those that do."""
    f = product(subscripts, len(shapes))
    compiled = tj.function(f, cache=False)
    for seed in range(4):
        arrays = normals(*shapes, seed=seed)
        if seed % 2:
            arrays = [np.asfortranarray(x) for x in arrays]
        if seed > 1:
            arrays = [np.concatenate([x, x], axis=-1)[..., : x.shape[-1]][::-1] for x in arrays]
        assert_close(np.asarray(compiled(*arrays)), np.asarray(f(*arrays)))
    assert len(compiled.kernels) == 1


GRADIENTS = [*WRITTEN.values(), *(
    (subscripts, shapes, "")
    for subscripts, shapes in (
        ("ij,jk,kl->il", ((5, 6), (6, 7), (7, 8))),
        ("ij,jk,ik->i", ((9, 6), (6, 6), (9, 6))),
        ("i,ij,j->", ((5,), (5, 6), (6,))),
        ("ij,k,k->", ((5, 6), (4,), (4,))),
        (",,->", ((), (), ())),
        (",i,->i", ((), (5,), ())),
        ("ij,jk,kl->l", ((5, 1), (4, 3), (3, 6))),
        ("bi,ij,bj->b", ((5, 6), (6, 6), (5, 6))),
    )
)]  # fmt: skip


@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize(("subscripts", "shapes", "_text"), GRADIENTS)
def test_gradients(subscripts: str, shapes: Any, _text: str, optimize: bool) -> None:
    """Those of exact kernels, and those of plain loops."""
    if optimize and subscripts.startswith("ii") and len(shapes) > 2:
        pytest.skip("optimize with a letter twice in one of three operands is refused")
    arrays = normals(*shapes)
    f = product(subscripts, len(arrays), optimize=optimize)
    assert_close_to_exact(lambda *xs: np.sum(np.sin(f(*xs))), arrays, grad=len(arrays))
    rng = np.random.default_rng(1)
    direction = [rng.normal(size=x.shape) for x in arrays]
    loss = tj.function(lambda *xs: np.sum(np.sin(f(*xs))), cache=False)
    found = tj.grad(loss, tuple(range(len(arrays))))(*arrays)
    found = found if isinstance(found, tuple) else (found,)
    slope = sum(float(np.sum(g * d)) for g, d in zip(found, direction, strict=True))

    def along(step: float) -> float:
        moved = [x + step * d for x, d in zip(arrays, direction, strict=True)]
        return float(np.sum(np.sin(f(*moved))))

    numeric = (8 * (along(1e-4) - along(-1e-4)) - (along(2e-4) - along(-2e-4))) / 12e-4
    np.testing.assert_allclose(slope, numeric, rtol=1e-5, atol=1e-5)


@each_row("dtype", ["f8", "f4"])
@each_row(("subscripts", "shapes", "text"), WRITTEN.values())
def test_special_values(subscripts: str, shapes: Any, text: str, dtype: str) -> None:
    """The same infinities and nan."""
    f = product(subscripts, len(shapes))
    compiled = tj.function(f, cache=False)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        arrays = normals(*shapes, dtype=dtype, seed=seed)
        with np.errstate(all="ignore"):
            for x in arrays:
                for _ in range(rng.integers(0, 4)):
                    x[tuple(rng.integers(0, x.shape))] = rng.choice(SPECIAL)
            found, expected = np.asarray(compiled(*arrays)), np.asarray(f(*arrays))
        for test in (np.isnan, np.isposinf, np.isneginf):
            np.testing.assert_array_equal(test(found), test(expected))


CHAINS = {
    "a chain": ("ij,jk,kl->il", ((9, 10), (10, 11), (11, 12))),
    "a number": ("i,ij,j->", ((40,), (40, 50), (50,))),
    "distances": ("ij,jk,ik->i", ((60, 6), (6, 6), (60, 6))),
    "transposed": ("ij,jk,kl->li", ((9, 10), (10, 11), (11, 12))),
    "letters of one alone": ("ij,jk,kl->i", ((9, 10), (10, 11), (11, 12))),
    "stacks": ("bij,bjk,bk->bi", ((8, 5, 6), (8, 6, 7), (8, 7))),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize(("subscripts", "shapes"), CHAINS.values(), ids=CHAINS)
def test_three_factors_at_once(subscripts: str, shapes: Any, dtype: str) -> None:
    """Made in steps, and as NumPy makes them where that is not finite."""
    f = product(subscripts, 3)
    compiled = tj.function(f, cache=False)
    both, exact = (
        tj.value_and_grad(
            tj.function(lambda *xs: np.sum(np.sin(0.01 * f(*xs))), cache=False, exact=is_exact),
            argnums=(0, 1, 2),
        )
        for is_exact in (False, True)
    )
    for seed in range(20):
        rng = np.random.default_rng(seed)
        arrays = normals(*shapes, dtype=dtype, seed=seed)
        for x in arrays[: seed % 4]:
            x[tuple(rng.integers(0, x.shape))] = rng.choice((np.inf, -np.inf, np.nan, 0.0))
        with np.errstate(all="ignore"):
            found, expected = compiled(*arrays), f(*arrays)
            assert type(found) is type(expected)
            assert_close(np.asarray(found), np.asarray(expected))
            found, expected = both(*arrays), exact(*arrays)
        for one, other in zip(found[1], expected[1], strict=True):
            assert_close(one, other)
    text = code(compiled, "forward")
    assert "if not isfinite(out).all():" in text and f'einsum("{subscripts}", a, b, c)' in text


def test_infinities_of_three_factors_are_where_numpy_has_them() -> None:
    """To sum before the last factor is multiplied would give infinity for nan."""
    a, b, c = np.ones((9, 10)), np.ones((10, 11)), np.ones((11, 12))
    a[:, 0], c[3, 3] = -2.0, np.inf
    f = product("ij,jk,kl->il", 3)
    assert np.isinf(a @ b @ c).sum() == 9
    with np.errstate(invalid="ignore"):
        expected = f(a, b, c)
        assert np.isnan(expected).sum() == 9
        np.testing.assert_array_equal(tj.function(f, cache=False)(a, b, c), expected)


@pytest.mark.parametrize("first", [0, 1])
def test_what_numpy_sums_before_a_step_is_summed_before(first: int) -> None:
    """Infinity times the sum of numbers of both signs, where the sum of products would be nan."""
    f = product(",i,k->", 3, optimize=True)
    vectors = [np.array([np.inf, 1.0, 2.0]), np.array([1.0, -2.0, 3.0])]
    arrays = [np.array(2.0), vectors[first], vectors[1 - first]]
    with np.errstate(invalid="ignore"):
        assert_close(tj.function(f, cache=False)(*arrays), f(*arrays))


def test_a_product_that_is_read_elsewhere_is_not_written_to() -> None:
    def f(a: Any, b: Any, c: Any) -> Any:
        return np.einsum("ij,jk,kl->il", a, b, c), a @ b @ c, np.dot(np.dot(a, b), c)

    a, b, c = normals((9, 10), (10, 11), (11, 12))
    a[:, 0], c[3, 3] = -2.0, np.inf
    b[:] = 1.0
    with np.errstate(invalid="ignore"):
        for found, expected in zip(tj.function(f, cache=False)(a, b, c), f(a, b, c), strict=True):
            assert_close(found, expected)


def test_one_step_of_numpy_is_made_in_more() -> None:
    """Where NumPy holds that what steps need in between is too large."""
    f = product("bi,oij,bj->bo", 3, optimize=True)
    arrays = normals((64, 16), (8, 16, 12), (64, 12))
    compiled = tj.function(f, cache=False)
    for number in (1.0, np.inf):
        arrays[1][0, 0, 0] = number
        assert_close(compiled(*arrays), f(*arrays))
    text = code(compiled, "forward")
    assert "if not isfinite(out).all():" in text and "c, optimize=True)" in text


@pytest.mark.parametrize("optimize", [False, True])
def test_three_factors_of_a_free_size(optimize: bool) -> None:
    f = product("bi,ij,bj->b", 3, optimize=optimize)
    compiled = tj.function(f, cache=False)
    for n in (40, 50, 60):
        arrays = normals((n, 9), (9, 9), (n, 9))
        assert_close(compiled(*arrays), f(*arrays))
    assert len(compiled.kernels) == 2
    assert "vecdot" in code(compiled, "forward")


@pytest.mark.parametrize("optimize", [False, True])
def test_products_of_the_reverse_pass_are_made_once(optimize: bool) -> None:
    """Value and gradients in all factors of a chain: three times the value's two products."""
    f = product("ij,jk,kl->il", 3, optimize=optimize)
    both = tj.value_and_grad(
        tj.function(lambda *xs: np.sum(np.sin(f(*xs))), cache=False), argnums=(0, 1, 2)
    )
    both(*normals((20, 30), (30, 25), (25, 5)))
    assert both.kernels[-1].source.partition("def value_and_grad")[2].count(".dot(") == 6 + 1
