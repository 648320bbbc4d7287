"""f.explain() as a whole, the warning of many kernels, and cache_info."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.convert.running import define
from tracejit.specialise.explain import TOO_MANY
from tracejit.support.errors import ArityError, TracejitError, TracejitWarning

X = np.ones((2, 3))


def test_without_a_kernel_it_says_so() -> None:
    f = tj.function(lambda x: x, name="nothing")
    assert f.explain() == "nothing has no kernel yet: the first call makes one."
    told = f.explain(
        X,
    )
    assert told.startswith("No kernel takes this call, because there was no kernel: x f8[2,3].")


def test_each_kernel_has_a_line() -> None:
    @tj.function
    def loss(x: Any, lr: Any, mode: str = "a") -> Any:
        return np.sum(x) * lr

    loss(X, 0.1)
    loss(X, 0.2)
    loss(X[:1], 0.2)
    loss(X[:1], 0.3, mode="b")
    assert loss.explain().splitlines() == [
        "loss has 4 kernels.",
        "Kernel 1 was made for the first call: x f8[2,3], lr 0.1, mode 'a'.",
        (
            "Kernel 2 was made because lr was 0.2; kernel 1 has 0.1. The new kernel takes any "
            "value of lr."
        ),
        (
            "Kernel 3 was made because x had shape (1, 3); kernel 2 has (2, 3). Sizes "
            "0 and 1 have their own kernels, because they broadcast and reduce differently."
        ),
        (
            "Kernel 4 was made because mode was 'b'; kernel 3 has 'a'. Every value of mode has "
            "its own kernel, because it is neither an array nor a number. To avoid it: pass values "
            "to compute with as numbers or arrays. A few values need no change."
        ),
    ]


def test_gradients_and_transforms_explain_themselves() -> None:
    for transform in (tj.grad, tj.value_and_grad, tj.vmap, tj.jacobian, tj.deriv):
        f: Any = (
            transform(lambda x: np.sum(x * 2.0), argnums=0)
            if transform is not tj.vmap
            else (tj.vmap(lambda x: np.sum(x * 2.0)))
        )
        f(X)
        f(X.astype(np.float32))
        assert "Kernel 2 was made because x had dtype float32" in f.explain(), transform
        assert f.explain(X) == "Kernel 1 takes this call."
    f = tj.grad(lambda v: np.sum(v * 2.0))
    f(tj.Variable(X))
    assert f.explain(tj.Variable(X)) == "Kernel 1 takes this call."
    assert f.explain(tj.constant(X)) == "Kernel 1 takes this call."


def test_asking_changes_nothing() -> None:
    f = tj.function(lambda x, k: x * k)
    f(X, 1.0)
    f.explain(X, 2.0)
    f.explain(X, 3.0)
    f(X, 1.0)
    assert f.cache_info()[:2] == (1, 1)
    f(X, 2.0)
    f(X, 3.0)
    assert f.cache_info()[:2] == (2, 2)


def test_a_call_that_python_refuses_is_refused() -> None:
    f = tj.function(lambda x: x, name="f")
    with pytest.raises(ArityError, match="cannot be called like this"):
        f.explain(X, X)
    with pytest.raises(TracejitError, match="not an array"):
        f.explain(np.ma.masked_array(X))


def test_within_a_recording_it_says_so() -> None:
    inner = tj.function(lambda x: x)
    told: list[str] = []

    @tj.function
    def outer(x: Any) -> Any:
        told.append(inner.explain(x))
        return inner(x)

    outer(X)
    assert told == ["This call would be recorded as part of outer."]


def test_a_recording_to_no_effect_is_told() -> None:
    box = ["a"]
    f = tj.function(lambda x: (box[0] > "", x * 2.0)[1], name="f")
    f(X)
    for value in ("b", "c"):
        box[0] = value
        f(X)
    assert f.cache_info()[:2] == (1, 3)
    assert f.explain().splitlines()[1:-1] == [
        (
            "Kernel 1 was made for the first call: x f8[2,3]. It was recorded 2 times more than "
            "needed, because box[0] was 'b' and became 'c'. To avoid it: pass it as an argument, "
            "or hold it in a tj.Variable."
        )
    ]


def test_arrays_compared_by_content_are_told_with_the_fix() -> None:
    weights = np.ones(200_000)
    f = tj.function(lambda x: x * weights.sum())
    f(X)
    f(X.astype("f4"))
    (line,) = [line for line in f.explain().splitlines() if "compared" in line]
    assert line == (
        "At each call the contents of weights (1.5 MB) are compared with a copy, about 0.2 ms. To "
        "avoid this: use tj.function(freeze=True), make it read-only with .setflags(write=False), "
        "pass it as an argument, or hold it in a tj.Variable."
    )
    weights.flags.writeable = False
    f.cache_clear()
    f(X)
    assert "compared" not in f.explain()


@pytest.mark.usefixtures("as_written")
def test_recorded_traces_are_told() -> None:
    @tj.function
    def f(x: Any) -> Any:
        if (x.sum() > 0).__bool__():
            return x * 2.0
        return -x

    f(X)
    words = "with decisions at `if (x.sum() > 0).__bool__():` (f:1)."
    assert f"Kernel 1 has 1 recorded trace, {words}" in f.explain()
    f(-X)
    assert f"Kernel 1 has 2 recorded traces, {words}" in f.explain()
    assert f.explain().startswith("f has 1 kernel.\nKernel 1 was made for the first call: x f8")
    assert f.cache_info()[:2] == (1, 2)
    assert f.explain(X) == (
        "Kernel 1 takes this call if it follows one of 2 recorded traces; another is recorded "
        "as well."
    )


def test_clearing_forgets_why() -> None:
    f = tj.function(lambda x: x, name="f")
    f(X)
    f.cache_clear()
    assert f.explain() == "f has no kernel yet: the first call makes one."
    f(X)
    assert "Kernel 1 was made for the first call" in f.explain()


# The warning


def test_the_fifth_kernel_warns_once_at_the_users_line() -> None:
    f = tj.function(lambda x, k: x * k / len([0] * len(x)), name="f")
    with warnings.catch_warnings():
        warnings.simplefilter("error", TracejitWarning)
        for size in range(1, TOO_MANY):
            f(np.ones(size), 1.0)
    with pytest.warns(TracejitWarning) as caught:
        f(np.ones(TOO_MANY), 1.0)
    assert [Path(one.filename).name for one in caught] == ["test_explain.py"]
    text = str(caught[0].message)
    assert text.startswith("f has made 5 kernels, 4 of them because x differed. Every size of x")
    assert "To avoid it: write -1 instead of n in a reshape" in text
    assert text.endswith("f.explain() says why each was made.")
    with warnings.catch_warnings():
        warnings.simplefilter("error", TracejitWarning)
        f(np.ones(9), 1.0)


def test_a_warning_that_is_an_error_leaves_the_kernel() -> None:
    f = tj.function(lambda x: x * 2.0, dynamic_shapes=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", TracejitWarning)
        with pytest.raises(TracejitWarning):
            for size in range(9):
                f(np.ones(size))
    assert len(f.kernels) == TOO_MANY
    np.testing.assert_array_equal(f(np.ones(8)), np.full(8, 2.0))


def test_what_tracejit_holds_itself_does_not_warn() -> None:
    def own(x: Any) -> Any:
        return x * 2.0

    with warnings.catch_warnings():
        warnings.simplefilter("error", TracejitWarning)
        for size in range(1, 9):
            tj.jvp(own, (np.ones(size),), (np.ones(size),))


def test_files_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("TRACEJIT_CACHE")
    f = tj.function(lambda x: x * 2.0)
    f(X)
    assert f.cache_info() == (1, 1, 1)


def test_what_was_read_is_told_with_what_it_costs() -> None:
    module = define(
        """
        class Model: pass
        model, gains, other = Model(), [1.0, 2.0], 5.0
        model.rate, model.name = 2.0, "a"
        def f(x): return x * model.rate * gains[0] if model.name == "a" else x * other
        """
    )
    compiled = tj.function(module["f"])
    compiled(np.ones(3))
    told = compiled.explain()
    pattern = r"kernel 1 checks the values that it reads, in \d+\.\d\d us: (.*)\."
    found = re.search(pattern, told)
    assert found is not None
    assert found[1].split(", ") == ["model.name", "model.rate", "gains[0]"]


def test_what_a_compiled_function_of_numpy_is_made_of_is_not_told() -> None:
    def shuffled(x: Any) -> Any:
        rng = np.random.default_rng(0)
        return x[rng.permutation(3)] * rng.random()

    compiled = tj.function(shuffled)
    assert compiled(np.ones(3)).tolist() == shuffled(np.ones(3)).tolist()
    assert "cython" not in compiled.explain()


def test_many_values_that_were_read_are_counted() -> None:
    table = {f"rate_{k}": float(k) for k in range(20)}
    compiled = tj.function(lambda x: x * sum(table.values()))
    compiled(np.ones(3))
    assert "table['rate_7'] and 12 more." in compiled.explain()


def test_a_condition_in_a_loop_is_told() -> None:
    def filtered(x: Any) -> Any:
        level = 0.0
        for k in range(100):
            level = 0.5 * level + x[k]
            if level > 1.0:
                level = np.sin(level)
        return level

    compiled = tj.function(filtered)
    compiled(np.linspace(0.0, 1.0, 100))
    assert "for t in range(100):" in compiled.source
    assert "has both sides of `if level > 1.0:` (filtered:4)." in compiled.explain()
