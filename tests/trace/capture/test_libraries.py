"""Estimators, data frames and labelled arrays that are captured, or are `self`: one kernel for many
calls, and another once anything in them has changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.trace.capture.captures import Captures
from tracejit.trace.capture.libraries import is_of_library, kept_names, library_parts
from tracejit.trace.guards.access_paths import OWN

X = np.array([1.0, 2.0, 3.0])
Case = tuple[Callable[[Any], Any], Callable[[], Any]]


def frames() -> dict[str, Case]:
    """What is read of something of pandas, and what changes it."""
    pd = pytest.importorskip("pandas")
    df = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]})
    mixed = pd.DataFrame({"a": [1.0, 2.0, 3.0], "n": [1, 2, 3], "s": list("xyz")})
    s = pd.Series([1.0, 2.0, 3.0])
    named = pd.Series([1.0, 2.0, 3.0], index=list("abc"))
    kinds = pd.Series(pd.Categorical(["a", "b", "a"]))
    texts = pd.Series(["a", "bb", "ccc"])
    gaps = pd.Series([1, None, 3], dtype="Int64")
    days = pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03"]))
    many = pd.DataFrame(np.zeros((2000, 3)), index=[f"row {k}" for k in range(2000)])
    levels = pd.Series([1.0, 2.0, 3.0], index=pd.MultiIndex.from_tuples([(1, 1), (1, 2), (2, 1)]))
    return {
        "values": (lambda x: x @ df.values, lambda: df.__setitem__("a", [7.0, 8.0, 9.0])),
        "to_numpy": (lambda x: x @ df.to_numpy(), lambda: df.iloc.__setitem__((1, 1), 0.0)),
        "a column": (lambda x: x * df["a"].to_numpy(), lambda: df.loc.__setitem__((0, "a"), 70.0)),
        "an attribute": (lambda x: x * df.a.values, lambda: df.iloc.__setitem__((2, 0), 71.0)),
        "a function of a column": (
            lambda x: x * np.exp(df["b"].to_numpy()),
            lambda: df.iloc.__setitem__((0, 1), 1.0),
        ),
        "a sum": (lambda x: x * df["a"].sum(), lambda: df.iloc.__setitem__((0, 0), 72.0)),
        "means": (
            lambda x: x[:2] * df.mean().to_numpy(),
            lambda: df.iloc.__setitem__((1, 1), 20.0),
        ),
        "columns": (lambda x: x * len(df.columns), lambda: df.__setitem__("c", 1.0)),
        "names": (
            lambda x: x * (2.0 if "a" in df.columns else 1.0),
            lambda: setattr(df, "columns", list("cde"[: len(df.columns)])),
        ),
        "attrs": (lambda x: x * df.attrs.get("k", 1.0), lambda: df.attrs.update(k=2.0)),
        "mixed": (
            lambda x: x * mixed["n"].to_numpy() + mixed["a"].values,
            lambda: mixed.iloc.__setitem__((0, 1), 9),
        ),
        "mixed texts": (
            lambda x: x * len(mixed["s"].iloc[0]),
            lambda: mixed.iloc.__setitem__((0, 2), "long"),
        ),
        "series": (lambda x: x * s.to_numpy(), lambda: s.__setitem__(0, 5.0)),
        "series asarray": (lambda x: x * np.asarray(s), lambda: s.iloc.__setitem__(1, 6.0)),
        "an element": (lambda x: x * s[0], lambda: s.iloc.__setitem__(0, 6.5)),
        "by label": (lambda x: x * named["b"], lambda: setattr(named, "index", list("bac"))),
        "categories": (
            lambda x: x * kinds.cat.codes.to_numpy(),
            lambda: kinds.__setitem__(0, "b"),
        ),
        "lengths": (lambda x: x * texts.str.len().to_numpy(), lambda: texts.__setitem__(0, "dddd")),
        "gaps": (
            lambda x: x * gaps.to_numpy(dtype=float, na_value=0.0),
            lambda: gaps.__setitem__(1, 5),
        ),
        "days": (
            lambda x: x * days.dt.day.to_numpy(),
            lambda: days.__setitem__(0, pd.Timestamp("2021-05-06")),
        ),
        "long index": (
            lambda x: x * len(many.index[-1]) + many.values[1999],
            lambda: many.iloc.__setitem__((1999, 0), 1.0),
        ),
        "levels": (lambda x: x * levels[2].sum(), lambda: levels.iloc.__setitem__(2, 8.0)),
    }


def labelled() -> dict[str, Case]:
    """The same of xarray."""
    xr = pytest.importorskip("xarray")
    da = xr.DataArray([1.0, 2.0, 3.0], dims="t", coords={"t": [0, 1, 2]})
    ds = xr.Dataset({"u": ("t", [1.0, 2.0, 3.0]), "v": ("t", [3.0, 4.0, 5.0])})
    return {
        "values": (lambda x: x * da.values, lambda: da.__setitem__(0, 5.0)),
        "data": (lambda x: x * da.data, lambda: da.data.__setitem__(1, 5.0)),
        "selected": (lambda x: x * float(da.sel(t=1)), lambda: da.__setitem__(1, 8.0)),
        "mean": (lambda x: x * da.mean().item(), lambda: da.__setitem__(2, 8.0)),
        "coordinates": (lambda x: x * da.t.values, lambda: da.coords.update({"t": [5, 6, 7]})),
        "attrs": (lambda x: x * da.attrs.get("k", 1.0), lambda: da.attrs.update(k=2.0)),
        "a variable": (lambda x: x * ds.u.values, lambda: ds.u.__setitem__(0, 9.0)),
        "another": (
            lambda x: x * ds["v"].values,
            lambda: ds.__setitem__("v", ("t", [0.0, 0.0, 1.0])),
        ),
    }


def estimators() -> dict[str, Case]:
    """The same of scikit-learn."""
    base = pytest.importorskip("sklearn.base")
    linear = pytest.importorskip("sklearn.linear_model")
    scaling = pytest.importorskip("sklearn.preprocessing")
    pipeline = pytest.importorskip("sklearn.pipeline")
    table = np.arange(12.0).reshape(4, 3) ** 2
    scaler = scaling.StandardScaler().fit(table)
    line = linear.Ridge().fit(table, np.arange(4.0))
    pipe = pipeline.make_pipeline(scaling.StandardScaler(), linear.Ridge()).fit(table, np.ones(4))

    class Own(base.BaseEstimator):  # type: ignore[misc, name-defined]
        """A regression of the user's."""

        def __init__(self, alpha: float = 1.0) -> None:
            self.alpha = alpha
            self.coef_ = np.ones(3)

        def predict(self, x: Any) -> Any:
            """A prediction."""
            return x * self.coef_ + self.alpha

    own, other, third = Own(), Own(), Own()
    return {
        "scaler": (
            lambda x: (x - scaler.mean_) / scaler.scale_,
            lambda: scaler.mean_.__setitem__(0, 7.0),
        ),
        "fitted again": (
            lambda x: x @ line.coef_ + line.intercept_,
            lambda: line.fit(table, np.arange(4.0) ** 2),
        ),
        "in a pipeline": (
            lambda x: x @ pipe[-1].coef_ + pipe[0].mean_[0],
            lambda: pipe.fit(table + 1.0, np.arange(4.0)),
        ),
        "a parameter": (own.predict, lambda: own.set_params(alpha=2.0)),
        "an array": (other.predict, lambda: other.coef_.__setitem__(2, 9.0)),
        "by the user's": (lambda x: third.predict(x), lambda: setattr(third, "coef_", np.zeros(3))),
    }


@pytest.mark.parametrize("cases", [frames, labelled, estimators])
def test_kernels_are_kept_and_never_stale(cases: Callable[[], dict[str, Case]]) -> None:
    for name, (read, change) in cases().items():
        f, before = tj.function(read), read(X)
        for _ in range(2):  # what reading has put into a cache is there the second time
            np.testing.assert_allclose(f(X), before, err_msg=name)
        settled = f.tracing_count
        np.testing.assert_allclose(f(X), before, err_msg=name)
        assert f.tracing_count == settled <= 2, name
        change()
        after = read(X)
        assert not np.array_equal(before, after), name
        np.testing.assert_allclose(f(X), after, err_msg=name)


def test_a_frame_gives_its_array_to_the_kernel() -> None:
    pd = pytest.importorskip("pandas")
    df = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]})
    f = tj.function(lambda x: x @ df.values)
    f(X)
    assert len(f.kernel(X).signature["inputs"]) == 2


def test_a_method_of_an_estimator_has_one_kernel() -> None:
    base = pytest.importorskip("sklearn.base")

    class Mean(base.BaseEstimator):  # type: ignore[misc, name-defined]
        """The user's, with a compiled method."""

        def __init__(self) -> None:
            self.w = np.ones(3)

        @tj.function
        def predict(self, x: Any) -> Any:
            """A prediction."""
            return x * self.w

    one = Mean()
    for _ in range(5):
        assert one.predict(X).tolist() == X.tolist()
    assert one.predict.tracing_count == 1
    one.w[1] = 5.0
    assert one.predict(X).tolist() == [1.0, 10.0, 3.0]
    assert base.clone(one).predict(X).tolist() == X.tolist()


def test_what_has_changed_is_spelled() -> None:
    base = pytest.importorskip("sklearn.base")
    model = base.BaseEstimator()
    model.w = 1.0
    guard = Captures([lambda x: x * model.w]).guard()
    assert guard is not None
    model.w = 2.0
    assert [change.what for change in guard.changes()] == ["model.w"]
    del model.w
    (change,) = guard.changes()
    assert (change.what, change.was) == ("model", "of the attributes 'w'")


class Cython:
    """A class whose module is no text, as those of Cython may have it."""

    __module__ = property(lambda self: "nowhere")  # type: ignore[assignment]
    k = 1.0


def test_a_class_that_hides_its_module_is_read() -> None:
    one = Cython()
    f = tj.function(lambda x: x * one.k)
    for _ in range(2):
        assert f(X).tolist() == X.tolist()
    assert f.tracing_count == 1


def test_parts() -> None:
    base = pytest.importorskip("sklearn.base")
    model = base.BaseEstimator()
    model.w, model._cached = 1.0, 2.0
    assert is_of_library(type(model))
    assert not is_of_library(dict)
    assert kept_names(model) == ["w", "_cached"][:1]
    assert list(library_parts(model)) == [(OWN, "w", 1.0)]
