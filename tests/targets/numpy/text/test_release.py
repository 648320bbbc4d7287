"""`del` statements: where names would hold dead arrays, and nowhere else.

The functions are compiled with `exact=True`, so that their arrays are not cut into tiles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit as tj
from tests.support.running import peak

MEGABYTE = 1 << 20
LARGE = np.linspace(-1.0, 1.0, MEGABYTE // 8)


def chain(x: Any) -> Any:
    """Layers that bind one name again and again."""
    h = x
    for _ in range(12):
        h = np.tanh(h * x + 0.5)
    return np.sum(h)


def stages(count: int) -> Callable[[Any], Any]:
    """A function of `count` stages that share no name, each reduced to a number."""
    lines = ["def f(x):", "    total = 0.0"]
    for k in range(count):
        lines += [f"    a{k} = np.sin(x * total + {k})", f"    b{k} = a{k} * np.cos(a{k} + x)"]
        lines += [f"    total = np.mean(b{k} * a{k})"]
    space: dict[str, Any] = {"np": np}
    exec("\n".join([*lines, "    return total"]), space)
    made: Callable[[Any], Any] = space["f"]
    return made


def test_names_that_are_dead_let_go() -> None:
    f = tj.function(stages(12), exact=True)
    value = f(LARGE)
    assert value == f.python(LARGE)
    assert "    del " in f.source
    assert peak(lambda: f(LARGE)) < 6 * MEGABYTE


def test_small_arrays_are_not_worth_a_line() -> None:
    f = tj.function(stages(12), exact=True)
    f(LARGE[:100])
    assert "del " not in f.source


def test_a_large_part_of_a_small_peak_is_worth_a_line() -> None:
    f = tj.function(stages(12), exact=True)
    x = LARGE[:2000]
    assert f(x) == f.python(x)
    assert "    del " in f.source
    assert peak(lambda: f(x)) < 20 * x.nbytes


def test_a_line_in_each_round_is_too_many() -> None:
    """One array more than two is held in each round of ten, or each would say so."""

    def f(x: Any) -> Any:
        total = 0.0
        for k in range(10):
            a = np.sin(x * total + k)
            total = np.mean(np.cos(a + x) * a)
        return total

    compiled = tj.function(f)
    np.testing.assert_allclose(compiled(LARGE[:4000]), f(LARGE[:4000]), rtol=1e-13)
    assert "    del " not in compiled.source


def test_a_name_goes_only_where_its_array_does() -> None:
    """`b` is written into the array of `a`: to let `a` go would free nothing."""

    def f(x: Any) -> Any:
        a = np.sin(x)
        b = np.exp(a)
        total = np.sum(b)
        for _ in range(4):
            total = np.sum(np.sin(x * total) * np.cos(x + total))
        return total, b

    compiled = tj.function(f)
    compiled(LARGE[:4096])
    assert "b = exp(a, a)" in compiled.source
    deleted = [line for line in compiled.source.splitlines() if line.strip().startswith("del ")]
    assert deleted
    assert not any("a" in line.split("del ")[1].split(", ") for line in deleted)


def test_what_nobody_reads_has_no_name_to_delete() -> None:
    def f(x: Any) -> Any:
        tj.callback(lambda x: np.sin(x), x, result=tj.TensorSpec(x.shape))
        return stages(12)(x)

    compiled = tj.function(f, exact=True)
    assert compiled(LARGE) == f(LARGE)
    assert "    del " in compiled.source


def test_few_lines_among_many_names() -> None:
    """Each line frees a tenth of what is needed, so a long program has no line for each name."""
    lines = ["def f(x):", "    kept = []"]
    lines += [f"    a{k} = np.sin(x + {k})\n    kept.append(a{k})" for k in range(40)]
    lines += ["    total = x", "    for k in range(40):", "        total = total * kept[39 - k]"]
    space: dict[str, Any] = {"np": np}
    exec("\n".join([*lines, "    return np.sum(total)"]), space)
    f = tj.value_and_grad(tj.function(space["f"], exact=True))
    f(LARGE[:4096])
    text = f.source.partition("def value_and_grad")[2]
    assert sum(line.strip().startswith("del ") for line in text.splitlines()) <= 12


def test_a_body_within_its_needs_has_no_del() -> None:
    f = tj.function(chain, exact=True)
    assert f(LARGE) == chain(LARGE)
    assert "del " not in f.source


def test_no_argument_is_deleted() -> None:
    """The caller holds it: nothing would be freed."""
    f = tj.function(stages(12), exact=True)
    f(LARGE)
    deleted = [line for line in f.source.splitlines() if line.strip().startswith("del ")]
    assert deleted and not any("x" in line.split("del ")[1].split(", ") for line in deleted)


def test_gradients_with_deletions_are_the_same_numbers() -> None:
    f = stages(6)
    compiled = tj.value_and_grad(tj.function(f, exact=True))
    value, slope = compiled(LARGE)
    assert "    del " in compiled.source
    assert value == f(LARGE)
    x = tj.constant(LARGE)
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    np.testing.assert_allclose(slope, tape.gradient(y, x).numpy(), rtol=1e-12, atol=1e-18)
