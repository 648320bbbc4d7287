"""Instances that converted code makes."""

from __future__ import annotations

import abc
import importlib
from typing import Any

import numpy as np
import pytest

import tracejit as tj

X = np.array([1.5, 0.4])


class Layer:
    """Takes whatever can be an array."""

    def __init__(self, weights: Any, *, scale: float = 1.0) -> None:
        self.weights = np.asarray(weights) * scale


class Scaled(Layer):
    """Calls the class it derives from."""

    def __init__(self, weights: Any) -> None:
        super().__init__([weights[0], weights[1]], scale=3.0)


class Abstract(abc.ABC):
    """No instance can be made of it."""

    def __init__(self, weights: Any) -> None:
        self.weights = weights

    @abc.abstractmethod
    def loss(self) -> Any:
        """Missing."""


def test_an_instance_is_made_by_its_own_methods() -> None:
    def loss(x: Any) -> Any:
        made = Scaled(x)
        return (type(made) is Scaled) * np.sum(made.weights * Layer(list(x)).weights)

    value, slope = tj.value_and_grad(loss)(X)
    assert value == pytest.approx(loss(X))
    np.testing.assert_allclose(slope, 6.0 * X)


def test_an_abstract_class_raises_as_in_python() -> None:
    with pytest.raises(TypeError, match="abstract"):
        tj.function(lambda x: Abstract(x).weights)(X)  # type: ignore[abstract]


def test_a_missing_argument_raises_as_in_python() -> None:
    with pytest.raises(TypeError, match="weights"):
        tj.function(lambda x: Layer().weights * x)(X)  # type: ignore[call-arg]


class Point:
    """Operators, a property and a comparison that Python's C code calls."""

    def __init__(self, place: Any) -> None:
        self.place = np.asarray(place)

    def __add__(self, other: Any) -> Any:
        return Point(self.place + np.array([float(v) for v in other.place]))

    @property
    def length(self) -> Any:
        """The length."""
        return float(np.sqrt(np.sum(np.asarray(self.place) ** 2)))


HERE = Point([1.0, 2.0])


def test_special_methods_and_properties_are_converted_and_given_back() -> None:
    def loss(x: Any) -> Any:
        return (Point(x) + HERE).length

    methods = Point.__add__.__code__, Point.length.fget.__code__  # type: ignore[attr-defined]
    compiled = tj.function(loss)
    assert compiled(X) == pytest.approx(loss(X))
    np.testing.assert_allclose(tj.grad(loss)(X), (X + HERE.place) / loss(X))
    assert compiled.explain().count("Kernel ") == 1
    found = Point.__add__.__code__, Point.length.fget.__code__  # type: ignore[attr-defined]
    assert found[0] is methods[0]
    assert found[1] is methods[1]


def test_methods_are_given_back_after_an_error() -> None:
    code = Point.__add__.__code__

    def broken(x: Any) -> Any:
        raise KeyError((Point(x) + HERE).place.shape)

    with pytest.raises(KeyError):
        tj.function(broken)(X)
    assert Point.__add__.__code__ is code


class Odd:
    """An object whose class names no module, as those of Cython's functions do."""

    def twice(self, x: Any) -> Any:
        self.x = x
        return x * 2.0


Odd.__module__ = property(id)  # type: ignore[assignment]
ODD = Odd()


def test_a_class_need_not_name_its_module() -> None:
    assert importlib.import_module("scipy.stats")  # whose objects are told by that

    def f(x: Any) -> Any:
        made = Odd()
        return made.twice(x) + made.x + ODD.twice(x)

    compiled = tj.function(f)
    assert compiled(X).tolist() == f(X).tolist()
