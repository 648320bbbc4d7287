"""Small programs, run as Python runs them and converted: the same in all that can be seen."""

from __future__ import annotations

import linecache
import sys
import textwrap
import traceback
import warnings
from collections.abc import Callable
from itertools import count
from typing import Any

from tracejit.convert import operators
from tracejit.convert.converter import Converter
from tracejit.convert.operators import PLAIN, Operators

_numbers = count()


def define(text: str, **names: Any) -> dict[str, Any]:
    """Run a module of `text`, which Python finds as the source of what it defines."""
    namespace: dict[str, Any] = {"__name__": "program", **names}
    run(text, namespace)
    return namespace


def run(text: str, namespace: dict[str, Any]) -> None:
    """Run a text in a module, with a file that Python finds."""
    text = textwrap.dedent(text)
    filename = f"/programs/program_{next(_numbers)}.py"
    lines = text.splitlines(keepends=True)
    linecache.cache[filename] = (len(text), None, lines, filename)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        exec(compile(text, filename, "exec", dont_inherit=True), namespace)


def calls() -> Converter:
    """A converter of calls alone; what is called is converted in turn."""
    return Converter(Operators(), calls=True)


def calls_and_reads() -> Converter:
    """A converter of calls and of all reads."""
    return Converter(PLAIN, calls=True)


CONVERTERS = {"calls": calls, "calls and reads": calls_and_reads}


def converted(function: Callable[..., Any], converter: Converter) -> Callable[..., Any]:
    """`function`, converted; itself if it has nothing to convert, but not if it is refused."""
    found: Callable[..., Any] = converter.convert(function)
    assert not converter.refusals.values(), [str(one) for one in converter.refusals.values()]
    return found


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a call gives: its value, or its error with the places in the traceback."""
    try:
        return repr(function(*arguments))
    except Exception as error:
        return type(error).__name__, str(error), places(error)


def places(error: BaseException) -> list[Any]:
    """The functions and lines of a traceback, with columns, but for the frames of operators."""
    ours = {operators.__file__, __file__}
    return [
        (frame.name, frame.lineno, getattr(frame, "colno", None), getattr(frame, "end_colno", None))
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename not in ours
    ]


def without_columns(found: Any) -> Any:
    """An outcome by lines alone: in some tests Python 3.11 reports the columns of a comparison as
    those of its statement, where it is an operator's."""
    return found if isinstance(found, str) else (*found[:2], [place[:2] for place in found[2]])


def lines_of(function: Callable[..., Any], argument: Any, filename: str) -> list[int]:
    """The lines of a file that a call comes to, as a debugger sees them."""
    lines: list[int] = []

    def trace(frame: Any, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != filename:
            return None
        if event == "line":
            lines.append(frame.f_lineno)
        return trace

    old = sys.gettrace()
    sys.settrace(trace)
    try:
        outcome(function, argument)
    finally:
        sys.settrace(old)
    return lines
