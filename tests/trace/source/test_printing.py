"""Text of what is recorded: print and logs show it, exceptions carry it, nothing computes with
it."""

from __future__ import annotations

import dataclasses
import logging
import pprint
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.convert.running import define
from tracejit.support.errors import ValueNeededError

X = np.array([1.0, 2.0])
V = tj.Variable([1.0, 2.0], name="v")
LOG = logging.getLogger("tracejit.tests")


class Point:
    """An object of the user's, with a text of its own."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __repr__(self) -> str:
        return f"Point({self.x})"


@dataclasses.dataclass
class Pair:
    """An object whose text Python makes."""

    x: Any


def compared(x: Any) -> Any:
    return x if str(x[0]) == "1.0" else -x


def a_key(x: Any) -> Any:
    return x * {"1.0": 2.0}.get(repr(x[0]), 5.0)


def formatted(x: Any) -> Any:
    return x * len(f"{x}")


def by_percent(x: Any) -> Any:
    return x * len("%s" % x)  # noqa: UP031


def by_format(x: Any) -> Any:
    return x * len("{}".format(x))  # noqa: UP032


def joined(x: Any) -> Any:
    return x * len(" ".join(map(str, x)))


def of_an_object(x: Any) -> Any:
    return x * len(repr(Point(x)))


def of_a_dataclass(x: Any) -> Any:
    return x * len(repr(Pair(x)))


def printed_later(x: Any) -> Any:
    text = str(x)
    print(text)
    return x


def on_the_line_of_a_print(x: Any) -> Any:
    text = str(x); print(text)  # noqa: E702  # fmt: skip
    return x * len(text)


def logged_after_formatting(x: Any) -> Any:
    text = f"{x[0]:.3f}"
    LOG.info(text)
    return x


def of_a_variable(x: Any) -> Any:
    return x * len(f"{V}")


REFUSED = [
    compared, a_key, formatted, by_percent, by_format, joined, of_an_object, printed_later,
    on_the_line_of_a_print, logged_after_formatting, of_a_variable,
]  # fmt: skip


@pytest.mark.parametrize("function", REFUSED)
def test_text_as_data_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(ValueNeededError, match=r"test_printing\.py:\d+"):
        tj.function(function, cache=False)(X)
    with pytest.raises(ValueNeededError):
        tj.grad(lambda x: np.sum(function(x)))(X)


def test_text_that_python_makes_of_an_object_is_refused() -> None:
    with pytest.raises(ValueNeededError, match="the text of x needs a value"):
        tj.function(of_a_dataclass, cache=False)(X)


def printed(x: Any) -> Any:
    print(x, f"{x[0]:.3f}", [x], {"x": x})
    return x + 1.0


def pretty(x: Any) -> Any:
    pprint.pprint({"x": x})
    return x + 1.0


def in_an_object(x: Any) -> Any:
    print(Point(x), Pair(x))
    return x + 1.0


def a_variable(x: Any) -> Any:
    print(V)
    return x + 1.0


@pytest.mark.parametrize("function", [printed, pretty, in_an_object, a_variable])
def test_print_shows_what_is_recorded(
    function: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    compiled = tj.function(function, cache=False)
    np.testing.assert_array_equal(compiled(X), X + 1.0)
    assert "<Tensor" in capsys.readouterr().out
    compiled(X)
    assert not capsys.readouterr().out


def test_a_notebook_displays_what_is_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    """The function of IPython's reads state of its shell, which nobody guards."""
    text = """
    SHELL = dict.fromkeys(range(2000), [])
    def display(*objects):
        for one in objects: print(repr(one), len(SHELL))
    """
    display = define(text, __name__="IPython.core.display_functions")["display"]
    names = {"np": np, "display": display}
    shown = define("def shown(x):\n    h = np.sin(x)\n    display(h)\n    return h\n", **names)
    compiled = tj.function(shown["shown"])
    for _ in range(2):
        assert compiled(X).tolist() == np.sin(X).tolist()
    assert capsys.readouterr().out == "<Tensor h f8[2]> 2000\n"
    assert compiled.tracing_count == 1


def test_a_log_shows_what_is_recorded(caplog: pytest.LogCaptureFixture) -> None:
    @tj.function(cache=False)
    def f(x: Any) -> Any:
        LOG.warning("x is %s", x)
        LOG.warning(f"x is {x}")
        return x + 1.0

    f(X)
    assert [one.getMessage() for one in caplog.records] == ["x is <Tensor x f8[2]>"] * 2


def raised(x: Any) -> Any:
    if x[0] > 0:
        raise ValueError(f"bad {x[0]:.3f} in {x}")
    return x


def asserted(x: Any) -> Any:
    assert x[0] < 0, f"bad {x}"
    return x


@pytest.mark.parametrize("function", [raised, asserted])
def test_the_message_of_an_exception_is_pythons(function: Callable[..., Any]) -> None:
    with pytest.raises((ValueError, AssertionError)) as expected:
        function(X)
    for _ in range(2):
        with pytest.raises(expected.type) as found:
            tj.function(function, cache=False)(X)
        assert str(found.value) == str(expected.value)
    np.testing.assert_array_equal(tj.function(function, cache=False)(-X), -X)


def test_a_message_that_is_caught_and_read_is_pythons() -> None:
    def f(x: Any) -> Any:
        try:
            raise KeyError(str(x[0]))
        except KeyError as error:
            return x * {"1.0": 2.0}.get(error.args[0], 5.0)

    np.testing.assert_array_equal(tj.function(f, cache=False)(X), f(X))


def test_the_text_of_constants_is_their_own() -> None:
    def f(x: Any) -> Any:
        half = np.ones_like(x[:1]) * 0.5
        return x * len(str(half))

    np.testing.assert_array_equal(tj.function(f, cache=False)(X), f(X))


def test_a_number_is_read() -> None:
    f = tj.function(lambda n, x: x * len(str(n)), cache=False)
    assert [f(n, X)[0] for n in (1, 22, 333)] == [1.0, 2.0, 3.0]


def test_without_source_text_is_refused() -> None:
    space: dict[str, Any] = {}
    exec("def f(x):\n    print(x)\n    return x\n", space)
    with pytest.raises(ValueNeededError):
        tj.function(space["f"], cache=False)(X)


def test_str_of_an_eager_tensor_is_numpys() -> None:
    t = tj.constant(X)
    assert (str(t), f"{t}", f"{t[0]:.2f}") == (str(X), f"{X}", "1.00")
    assert repr(t) == "<Tensor f8[2] [1. 2.]>"
