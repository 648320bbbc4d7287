"""Objects that stand for an array as arguments, of pandas, xarray or in a file: the function gets
arrays, results are NumPy's."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import dask.array
import numpy as np
import pytest

import tracejit as tj
from tests.programs import assert_same
from tracejit.trace.wrapped import has_wrapped_inside, is_of_dask, is_wrapped, unwrapped

pandas = pytest.importorskip("pandas")
xarray = pytest.importorskip("xarray")
pytestmark = [
    pytest.mark.usefixtures("no_files"),
    pytest.mark.filterwarnings("ignore::tracejit.TracejitWarning"),
]

SERIES = pandas.Series([1.0, 2.0, 3.0], index=["a", "b", "c"], name="s")
FRAME = pandas.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}, index=[7, 3])
CUBE = xarray.DataArray(np.ones((2, 3, 1)), dims=("x", "y", "z"), attrs={"unit": "m"})
OBJECTS: dict[str, Any] = {
    "series": SERIES,
    "integers": pandas.Series([1, 2]),
    "a row": FRAME.iloc[0],
    "frame": FRAME,
    "index": SERIES.reset_index(drop=True).index,
    "data array": CUBE,
    "variable": CUBE.variable,
    "no dimension": CUBE[0, 0, 0],
    "by a class of the user's": type("Mine", (pandas.Series,), {})([1.0, 2.0]),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_the_answer_is_that_of_the_array(name: str) -> None:
    thing = OBJECTS[name]
    f = tj.function(lambda x: {"x": np.sin(x) * 2.0, "size": np.size(x)})
    for _ in range(2):
        assert_same(f(thing), f.python(np.asarray(thing)))
        assert_same(f(np.asarray(thing)), f.python(np.asarray(thing)))
    assert f.tracing_count == 2
    with_values = tj.function(lambda d: d["x"] * 2)
    assert_same(with_values({"x": thing}), np.asarray(thing) * 2)


MODES: dict[str, Callable[[], Any]] = {
    "grad": lambda: tj.grad(lambda x: np.sum(x**2))(SERIES),
    "inside": lambda: tj.grad(lambda d: np.sum(d["x"] ** 2))({"x": SERIES})["x"],
    "jacobian": lambda: np.diag(tj.jacobian(lambda x: x**2)(SERIES)),
    "vmap": lambda: tj.vmap(lambda x: 2 * x)(SERIES),
    "passed on": lambda: tj.function(lambda y: tj.function(np.multiply)(SERIES, y))(2.0),
}


@pytest.mark.parametrize("name", MODES)
def test_every_mode_takes_them(name: str) -> None:
    assert_same(np.asarray(MODES[name]()), 2 * SERIES.to_numpy())


def test_plain_python_gets_arrays_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def caught(x: Any) -> Any:
        try:
            return 1 // int(x[0] > 5.0)
        except ZeroDivisionError:
            return x * 2.0

    assert_same(tj.function(caught)(SERIES), 2 * SERIES.to_numpy())
    monkeypatch.setenv("TRACEJIT_DISABLE", "1")
    double = tj.function(lambda d, x: (d["x"] + x, d))
    found, same = double({"x": SERIES}, x=FRAME["a"].iloc[0])
    assert type(found) is np.ndarray
    assert type(same["x"]) is np.ndarray


def test_other_classes_and_shapes_have_other_kernels() -> None:
    f = tj.function(lambda x: x * 2.0)
    for thing in (SERIES, SERIES.to_numpy(), CUBE, FRAME, FRAME.T, SERIES, FRAME):
        assert_same(f(thing), 2.0 * np.asarray(thing))
    assert "x was a DataArray" in f.explain()


def test_a_write_is_one_into_the_array() -> None:
    def written(x: Any) -> Any:
        x[0] = 5.0
        return x * 2.0

    thing = xarray.DataArray([1.0, 2.0])
    assert_same(tj.function(written)(thing), np.array([10.0, 4.0]))
    assert thing.values.tolist() == [5.0, 2.0]
    frozen = SERIES.copy()
    same = np.asarray(frozen)
    same.flags.writeable = False
    if not np.asarray(frozen).flags.writeable:  # pandas from 3 on
        with pytest.raises(ValueError, match="read-only"):
            tj.function(written)(frozen)


def test_what_is_no_array_of_numbers_is_refused() -> None:
    f = tj.function(lambda x: x * 2.0)
    with pytest.raises(tj.TracejitError, match="dtype object"):
        f(FRAME.assign(c=["x", "y"]))
    with pytest.raises(tj.TracejitError, match="is a Dataset, not an array"):
        f(CUBE.to_dataset(name="a"))


def test_a_container_that_holds_one_and_is_changed_is_refused() -> None:
    def changed(d: Any) -> Any:
        d["new"] = d["x"] * 2.0
        return d["new"]

    given = {"x": SERIES}
    with pytest.raises(tj.TracejitError, match="a container that is changed"):
        tj.function(changed)(given)
    assert [*given] == ["x"]


def test_a_class_is_wrapped_by_where_it_comes_from() -> None:
    assert is_wrapped(pandas.Series)
    assert not is_wrapped(pandas.Timestamp)
    assert is_wrapped(np.memmap)
    assert not is_wrapped(np.ndarray)
    assert not is_wrapped(np.matrix)
    assert has_wrapped_inside([1, {"a": SERIES}])
    assert not has_wrapped_inside(SERIES)
    plain = [1, {"a": np.ones(2)}]
    assert unwrapped(plain) is plain
    assert type(unwrapped([SERIES])[0]) is np.ndarray


def test_neither_package_is_imported() -> None:
    script = (
        "import sys, numpy as np, tracejit as tj\n"
        "tj.function(lambda x: x * 2.0)(np.ones(3))\n"
        "assert not {'pandas', 'xarray'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


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


DASK = dask.array.ones((4, 2), chunks=(2, 2))
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
