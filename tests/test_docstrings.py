"""Every public function, class and method shows an example, which runs as a doctest."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import tracejit as tj

# Methods of arrays are NumPy's, and say so; these are shown where another is.
SHOWN_ELSEWHERE = {
    "Function.compiled_call": "Function.kernel",
    "Function.profile": "Kernel.profile",
    "Kernel.debug": "Kernel.checked",  # it waits for what is typed
    "Kernel.marked": "Kernel.to_html",
    "set_trace": "debug_nans",  # as Kernel.debug
    "GradientTape.reset": "GradientTape.stop_recording",
    "Kernel.save": "load",
    "Variable.item": "Variable.numpy",
    "Variable.tolist": "Variable.numpy",
    "Variable.commit": "Variable.assign",
    "Tensor.conjugate": "Tensor.numpy",
    "Tensor.item": "Tensor.numpy",
    "Tensor.tolist": "Tensor.numpy",
}


def public() -> Iterator[tuple[str, Any]]:
    """The public functions and classes, and the methods that classes define themselves."""
    for name in tj.__all__:
        thing = getattr(tj, name)
        if inspect.isfunction(thing):
            yield name, thing
        elif inspect.isclass(thing) and not issubclass(thing, Exception):
            yield name, thing
            for method, function in vars(thing).items():
                if inspect.isfunction(function) and method[0] != "_":
                    yield f"{name}.{method}", function


def test_every_public_name_shows_an_example() -> None:
    without = {name for name, thing in public() if ">>> " not in (inspect.getdoc(thing) or "")}
    assert {"grad", "Function.kernel"}.isdisjoint(without)
    refused = {"Variable.fill", "Variable.sort", "Variable.partition", "Variable.put"}
    assert without - refused == SHOWN_ELSEWHERE.keys(), without


def test_the_first_paragraph_says_what_it_does() -> None:
    """In a sentence, which ends."""
    for name, thing in public():
        text = inspect.getdoc(thing) or ""
        first = text.split("\n\n")[0].rstrip()
        assert first.endswith((".", "`.")), f"{name}: {first}"
