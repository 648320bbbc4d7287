"""Source: the text of a module, which a notebook shows highlighted."""

from __future__ import annotations

from typing import Any

from tracejit.support.imports import import_module


class Source(str):
    """Text of Python that shows itself well, and is a str in everything else.

    >>> text = Source("def forward(x):\\n    return x")
    >>> text == "def forward(x):\\n    return x", type(text.upper())
    (True, <class 'str'>)
    >>> "<pre" in text._repr_html_()
    True
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        """The text for a notebook, highlighted."""
        fragment: str = import_module("tracejit.explorer.notebook").source_fragment(str(self))
        return fragment

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """The text itself where IPython would show its repr: lines as lines."""
        printer.text(str(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str.__str__(self),)
