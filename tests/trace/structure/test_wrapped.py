"""Arguments that hold an array and are no plain one: of pandas, xarray and polars, masked, or in a
file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.support.compare import assert_same
from tests.support.processes import python
from tracejit.trace.structure.wrapped import has_wrapped_inside, is_labelled, is_of_dask, unwrapped

dask = pytest.importorskip("dask", reason="the extra dask is not installed")
da = pytest.importorskip("dask.array")
pandas = pytest.importorskip("pandas")
xarray = pytest.importorskip("xarray")
quietly = pytest.mark.filterwarnings("ignore::tracejit.TracejitWarning")

X = np.array([1.0, 2.0, 3.0])
SERIES = pandas.Series([3.0, 1.0, 2.0], index=["a", "b", "c"], name="s")
OTHER = pandas.Series([10.0, 20.0, 30.0], index=["c", "b", "a"])
GAPS = pandas.Series([3.0, np.nan, 2.0])
FRAME = pandas.DataFrame({"u": [1.0, 2.0, 3.0], "v": [3.0, 4.0, 5.0]}, index=[7, 3, 1])
CUBE = xarray.DataArray(np.arange(6.0).reshape(2, 3), dims=("x", "y"), attrs={"unit": "m"})
MASKED = np.ma.array([1.0, 2.0, 4.0], mask=[False, True, False])
MINE = type("Mine", (pandas.Series,), {})

CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "another order of labels": (lambda s, w: (s * w).sum(), (SERIES, OTHER)),
    "n - 1": (lambda s: s.std(), (SERIES,)),
    "gaps": (lambda s: s.mean(), (GAPS,)),
    "NumPy's functions": (lambda s: np.std(s), (GAPS,)),
    "columns": (lambda d: [name for name in d], (FRAME,)),
    "a frame and an array": (lambda d, x: (d["u"] * x).sum(), (FRAME, X)),
    "a row": (lambda r: r["v"], (FRAME.iloc[0],)),
    "integers with gaps": (lambda s: s.sum(), (pandas.Series([1, None, 3], dtype="Int64"),)),
    "categories": (lambda c: c.codes, (pandas.Categorical(["b", "a"]),)),
    "an index": (lambda index: index.get_loc("b"), (SERIES.index,)),
    "inside": (lambda p: (p["s"] * p["x"]).sum(), ({"s": SERIES, "x": X},)),
    "a list": (lambda parts: sum(part.std() for part in parts), ([SERIES, GAPS],)),
    "by a class of the user's": (lambda s: s.std(), (MINE([1.0, 2.0]),)),
    "dimensions": (lambda a: float(a.mean("x").std()), (CUBE,)),
    "a variable": (lambda a: float(a.sum("y")[1]), (CUBE.variable,)),
    "a dataset": (lambda d: float(d.a.sum()), (CUBE.to_dataset(name="a"),)),
    "a write": (lambda d, x: [d.__setitem__("w", x), d["w"].std()][1], (FRAME.copy(), X)),
}


@quietly
@pytest.mark.parametrize("name", CALLS)
def test_the_function_sees_the_object_itself(name: str) -> None:
    python, args = CALLS[name]
    f = tj.function(python)
    for _ in range(2):
        assert_same(f(*args), python(*args))
    assert f.tracing_count == 0
    parameters = python.__code__.co_varnames
    assert_same(f(**dict(zip(parameters, args, strict=False))), python(*args))


def test_polars_is_known_by_its_name() -> None:
    polars = type("Series", (), {"__array__": lambda self: X, "std": lambda self: 1.5})
    polars.__module__ = "polars.series.series"
    assert tj.function(lambda s: s.std())(polars()) == 1.5
    with pytest.raises(tj.errors.ArgumentError, match=r"a Series of polars, not an array"):
        tj.grad(squared)(polars())


@quietly
def test_results_and_changes_are_pandas() -> None:
    double = tj.function(lambda s: s * 2.0)
    pandas.testing.assert_series_equal(double(SERIES), SERIES * 2.0)
    series = SERIES.copy()
    mean = tj.function(lambda s: s.mean())
    assert mean(series) == 2.0
    series.iloc[0] = 30.0
    assert mean(series) == 11.0


def fitted(w: Any, d: Any) -> Any:
    """A loss by arrays of a frame."""
    return np.sum((d["u"].to_numpy() * w) ** 2)


SLOPE = 2.0 * X * FRAME["u"].to_numpy() ** 2
DERIVATIVES: dict[str, tuple[Callable[[], Any], Any]] = {
    "grad": (lambda: tj.grad(fitted)(X, FRAME), SLOPE),
    "value_and_grad": (lambda: tj.value_and_grad(fitted)(X, FRAME)[1], SLOPE),
    "by keyword": (lambda: tj.grad(fitted)(X, d=FRAME), SLOPE),
    "jvp": (lambda: tj.jvp(lambda w: fitted(w, FRAME), (X,), (np.ones(3),))[1], SLOPE.sum()),
    "jacobian": (lambda: tj.jacobian(fitted)(X, FRAME), SLOPE),
    "hessian": (lambda: np.diag(tj.hessian(fitted)(X, FRAME)), 2.0 * FRAME["u"].to_numpy() ** 2),
    "nested": (lambda: tj.function(lambda w: tj.grad(fitted)(w, FRAME))(X), SLOPE),
}


@quietly
@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_by_arrays_beside_them(name: str) -> None:
    call, wanted = DERIVATIVES[name]
    np.testing.assert_allclose(call(), wanted)


def test_a_tape_around_such_a_call() -> None:
    with tj.GradientTape() as tape:
        w = tj.constant(X)
        tape.watch(w)
        loss = tj.function(fitted)(w, FRAME)
    np.testing.assert_allclose(tape.gradient(loss, w).numpy(), SLOPE)


def squared(s: Any) -> Any:
    return np.sum(s**2)


REFUSED: dict[str, Callable[[], Any]] = {
    "grad": lambda: tj.grad(squared)(SERIES),
    "grad of a frame": lambda: tj.grad(fitted, argnums=1)(X, FRAME),
    "a tree": lambda: tj.grad(lambda p: np.sum(p["x"]))({"s": SERIES, "x": X}),
    "jvp": lambda: tj.jvp(squared, (SERIES,), (SERIES,)),
    "vjp": lambda: tj.vjp(squared, SERIES),
    "linearize": lambda: tj.linearize(squared, SERIES),
    "hvp": lambda: tj.hvp(squared, SERIES, SERIES),
    "jacobian": lambda: tj.jacobian(lambda s: s**2)(SERIES),
    "hessian": lambda: tj.hessian(squared)(SERIES),
    "vmap": lambda: tj.vmap(lambda s: 2.0 * s)(SERIES),
    "kernel": lambda: tj.function(squared).kernel(SERIES),
    "an operand": lambda: tj.function(lambda x: x * SERIES)(X),
    "of a product": lambda: tj.function(lambda x: x @ FRAME)(X),
    "of an eager product": lambda: tj.constant(X) @ SERIES,
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_kernel_would_need_is_refused_with_the_fix(name: str) -> None:
    with pytest.raises(tj.errors.ArgumentError, match=r"(?s)of pandas, not.*\.to_numpy\(\)"):
        REFUSED[name]()


def test_a_dataset_has_a_fix_of_its_own() -> None:
    with pytest.raises(tj.errors.ArgumentError, match=r"s\.to_dataarray\(\)\.to_numpy\(\)"):
        tj.grad(squared)(CUBE.to_dataset(name="a"))


def test_it_warns_with_the_cure_and_can_be_foreseen() -> None:
    f = tj.function(lambda s: s.std(), name="spread")
    told = f.explain(SERIES)
    assert told.startswith("This call would run as plain Python, because argument s of spread is a")
    f(SERIES)
    with pytest.warns(tj.TracejitWarning, match=r"a Series of pandas.*pass s\.to_numpy\(\)\."):
        f(SERIES)
    assert "run 2 calls as plain Python" in f.explain()
    assert f(X) == X.std()
    assert f.tracing_count == 1


MASKS: dict[str, Callable[[], Any]] = {
    "argument": lambda: tj.function(lambda s: s.mean())(MASKED),
    "grad": lambda: tj.grad(squared)(MASKED),
    "inside": lambda: tj.function(lambda p: p["x"] * 2.0)({"x": MASKED}),
    "by keyword": lambda: tj.vmap(lambda x: x * 2.0)(x=MASKED),
    "the element": lambda: tj.function(lambda x: x * 2.0)(np.ma.masked),
    "operand": lambda: tj.function(lambda x: x * MASKED)(X),
    "constant": lambda: tj.constant(MASKED),
    "variable": lambda: tj.Variable(MASKED),
}


@pytest.mark.parametrize("name", MASKS)
def test_a_masked_array_is_named(name: str) -> None:
    with pytest.raises(tj.errors.ArgumentError, match=r"(?s)a masked array.*\.filled\("):
        MASKS[name]()


def test_a_class_is_labelled_by_where_it_comes_from() -> None:
    assert is_labelled(pandas.Series)
    assert not is_labelled(pandas.Timestamp)
    assert not is_labelled(np.memmap)
    assert not is_labelled(np.ndarray)


def test_neither_package_is_imported() -> None:
    script = (
        "import sys, numpy as np, tracejit as tj\n"
        "tj.function(lambda x: x * 2.0)(np.ones(3))\n"
        "assert not {'pandas', 'xarray', 'polars'} & set(sys.modules)"
    )
    python(script)


@pytest.fixture
def in_file(tmp_path: Path) -> np.memmap:
    """An array that maps a file."""
    mapped = np.memmap(tmp_path / "x", dtype=float, shape=(4,), mode="w+")
    mapped[:] = [1.0, 2.0, 3.0, 4.0]
    return mapped


def test_an_array_that_maps_a_file_is_the_array(in_file: np.memmap) -> None:
    f = tj.value_and_grad(lambda x: np.sum(x**2))
    value, gradient = f(in_file)
    assert value == 30.0
    assert type(gradient) is np.ndarray
    np.testing.assert_array_equal(gradient, 2.0 * np.asarray(in_file))
    in_file[0] = 5.0
    assert f(in_file[:4])[0] == 54.0  # another view, read anew, by the same kernel
    assert f.tracing_count == 1
    assert_same(tj.function(lambda d: d["x"] + 1.0)({"x": in_file[1:]}), np.array([3.0, 4.0, 5.0]))


def test_a_write_to_an_argument_goes_into_the_file(in_file: np.memmap) -> None:
    @tj.function
    def double(x: Any) -> None:
        x *= 2.0

    double(in_file)
    np.testing.assert_array_equal(in_file, [2.0, 4.0, 6.0, 8.0])
    read_only = np.memmap(in_file.filename, dtype=float, shape=(4,), mode="r")
    with pytest.raises(ValueError, match="read-only"):
        double(read_only)


def test_plain_python_gets_the_array_of_a_file(
    in_file: np.memmap, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEJIT_DISABLE", "1")
    same = tj.function(lambda d: d)({"x": in_file})
    assert type(same["x"]) is np.ndarray
    plain = [1, {"a": np.ones(2)}]
    assert unwrapped(plain) is plain
    assert has_wrapped_inside([1, {"a": in_file}])
    assert not has_wrapped_inside(in_file)


def test_a_container_that_holds_one_and_is_changed_is_refused(in_file: np.memmap) -> None:
    def changed(d: Any) -> Any:
        d["new"] = d["x"] * 2.0
        return d["new"]

    given = {"x": in_file}
    with pytest.raises(tj.TracejitError, match="a container that is changed"):
        tj.function(changed)(given)
    assert [*given] == ["x"]


DASK = da.ones((4, 2), chunks=(2, 2))
TABLE = type("DataFrame", (), {"__dask_graph__": None, "to_dask_array": None})


def test_what_is_of_dask_is_told_by_its_class() -> None:
    assert is_of_dask(type(DASK)) and is_of_dask(type(dask.delayed(1)))
    assert not any(map(is_of_dask, (xarray.DataArray, pandas.Series, np.ndarray, float, TABLE)))


@pytest.mark.parametrize(
    ("value", "fix"),
    [
        (DASK, r"pass x to td\."),
        (dask.delayed(1.0), r"pass x\.compute\(\)\."),
        (TABLE(), r"pass x\.to_dask_array\(lengths=True\) to td\."),
    ],
)
def test_an_object_of_dask_is_refused(
    value: Any, fix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TABLE, "__module__", "dask.dataframe.core")
    for call in (tj.function(lambda x: x), tj.grad(lambda x: np.sum(x))):
        with pytest.raises(tj.errors.ArgumentError, match=fix):
            call(value)
