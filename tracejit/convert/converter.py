"""Converted functions: what is called in place of what the user's code calls.

A `Converter` answers, for anything callable, what does the same through its operators: a function
over the same globals, defaults and cells, a bound method of it, a partial of it. It answers the
very callable where there is nothing to convert: C code, classes, libraries, what was excluded.

What is called is converted, never what it wraps: a decorator's function runs, and the function
inside is converted when that calls it. Functions that converted code makes are the user's own, and
are converted when they are called.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    MethodType,
    ModuleType,
)
from typing import Any

from tracejit.convert.exclusions import LIBRARY, exclusion
from tracejit.convert.mapping import See, real_globals, seen_through
from tracejit.convert.operators import Operators
from tracejit.convert.rewrite import bind, rewrite
from tracejit.convert.source import TOO_DEEP, Reason, Refusal, find
from tracejit.support.garbage import collection_paused
from tracejit.support.memo import ByIdentity

_COPIED = (
    "__kwdefaults__",
    "__qualname__",
    "__module__",
    "__doc__",
    "__dict__",
    "__annotate__" if sys.version_info >= (3, 14) else "__annotations__",
    *(["__type_params__"] if sys.version_info >= (3, 12) else []),
)
_rewritten: ByIdentity[CodeType, dict[frozenset[str], CodeType | Refusal]] = ByIdentity()
"""The codes that `rewrite` has made of a code object, by the kinds of their operators."""

_converted: ByIdentity[CodeType, bool] = ByIdentity()
"""The code of converted functions, which are not converted again by any converter."""


class Converter:
    """The functions that are converted for one set of operators, during one recording.

    Functions of modules and classes are kept until it ends, and taken for unchanged; functions that
    functions make are not. `refusals` has the functions that run as written, by their code, but for
    those of libraries. `see`, if given, is for those without usable source: see `mapping`.

    Converted code holds the operators, and Python collects no garbage through code, so a converter
    that its operators lead to must be left: it is a context, or is told to `forget`.
    """

    def __init__(self, operators: Operators, see: See | None = None) -> None:
        """Begin with no functions."""
        self.operators = operators.given()
        self.see = see
        self.refusals: ByIdentity[CodeType, Refusal] = ByIdentity()
        self._known: dict[Callable[..., Any], Any] = {}
        self._codes: ByIdentity[CodeType, CodeType | None] = ByIdentity()

    def __enter__(self) -> Converter:
        return self

    def __exit__(self, *_: object) -> None:
        self.forget()

    def forget(self) -> None:
        """Forget all functions, with the code that holds the operators."""
        self._known.clear()
        self._codes.clear()

    def convert(self, called: Any, /) -> Any:
        """Answer what does the same as `called` through the operators, or `called` itself.

        What is known is answered at once, in this one frame, and at the end of the stack functions
        run as written: recursion goes as deep as without conversion. No method of the user's runs.
        """
        kind = type(called)
        try:
            if kind is FunctionType or kind is BuiltinFunctionType:
                return self._known[called]
            if kind is MethodType and type(called.__func__) is FunctionType:
                return MethodType(self._known[called.__func__], called.__self__)
        except KeyError:
            pass
        try:
            return _RULES.get(kind, Converter.instance)(self, called)
        except RecursionError:
            return called

    def function(self, function: FunctionType) -> FunctionType:
        """A function over the same globals, defaults and cells, with what users can see of it."""
        converted = self._function(function)
        if "<locals>" not in function.__qualname__:
            self._known[function] = converted
        return converted

    def _function(self, function: FunctionType) -> FunctionType:
        code = function.__code__
        if code in _converted:
            return function
        reason = exclusion(function)
        if reason is not None:
            return function if reason is LIBRARY else self._refuse(function, reason)
        with_operators = self._code(function)
        if with_operators is None:
            return self._without_source(function)
        converted = FunctionType(
            with_operators,
            real_globals(function),
            function.__name__,
            function.__defaults__,
            function.__closure__,
        )
        return _dressed(converted, function)

    def _code(self, function: FunctionType) -> CodeType | None:
        """The code of a function with the operators in it, or None if it has no usable source."""
        code = function.__code__
        if code in self._codes:
            return self._codes[code]
        template = _template(function, frozenset(self.operators))
        if isinstance(template, Refusal):
            self.refusals[code] = template
            self._codes[code] = None
            return None
        bound = self._codes[code] = bind(template, self.operators)
        _converted[bound] = True
        return bound

    def _without_source(self, function: FunctionType) -> FunctionType:
        if self.see is None:
            return function
        seen = seen_through(function, self.see)
        if isinstance(seen, Reason):
            return self._refuse(function, seen)
        return _dressed(seen, function)

    def _refuse(self, function: FunctionType, reason: Reason) -> FunctionType:
        code = function.__code__
        refusal = Refusal(function.__qualname__, code.co_filename, code.co_firstlineno, reason)
        self.refusals[code] = refusal
        return function

    def method(self, bound: MethodType) -> Any:
        """A method bound to the same object."""
        converted = self.convert(bound.__func__)
        return bound if converted is bound.__func__ else MethodType(converted, bound.__self__)

    def partial(self, called: functools.partial[Any]) -> Any:
        """A partial with the same arguments."""
        converted = self.convert(called.func)
        if converted is called.func:
            return called
        return functools.partial(converted, *called.args, **called.keywords)

    def static(self, called: Any) -> Any:
        """The function that a `staticmethod` holds, which calls it and nothing more."""
        return self.convert(called.__func__)

    def builtin(self, called: BuiltinFunctionType) -> BuiltinFunctionType:
        """A function of C as it is; those of modules are known."""
        if isinstance(called.__self__, ModuleType):
            self._known[called] = called
        return called

    def instance(self, called: Any) -> Any:
        """The method `__call__` of an instance whose class has one in Python."""
        method = getattr(type(called), _CALL, None)
        if type(method) is not FunctionType:
            return called
        converted = self.convert(method)
        return called if converted is method else MethodType(converted, called)


_CALL = "__call__"
_RULES: dict[type, Callable[[Converter, Any], Any]] = {
    FunctionType: Converter.function,
    BuiltinFunctionType: Converter.builtin,
    MethodType: Converter.method,
    functools.partial: Converter.partial,
    staticmethod: Converter.static,
}
"""How what is called is converted, by its very type. An `lru_cache` keeps what it has computed, so
it runs as it is; so does every class, and whatever else is C."""


def _dressed(converted: FunctionType, function: FunctionType) -> FunctionType:
    """`converted` with the attributes of `function`."""
    for name in _COPIED:
        setattr(converted, name, getattr(function, name))
    return converted


def _template(function: FunctionType, kinds: frozenset[str]) -> CodeType | Refusal:
    """The code that `rewrite` makes of a function's, the same for all operators of these kinds."""
    code = function.__code__
    templates = _rewritten.setdefault(code, {})
    if kinds not in templates:
        with collection_paused():
            templates[kinds] = _rewrite(function, kinds)
    return templates[kinds]


def _rewrite(function: FunctionType, kinds: frozenset[str]) -> CodeType | Refusal:
    code = function.__code__
    try:
        source = find(code, function.__qualname__, real_globals(function))
        return source if isinstance(source, Refusal) else rewrite(source, kinds)
    except RecursionError:
        if _depth_of_the_stack() > sys.getrecursionlimit() // 2:
            raise
        return Refusal(function.__qualname__, code.co_filename, code.co_firstlineno, TOO_DEEP)


def _depth_of_the_stack() -> int:
    frame: FrameType | None = sys._getframe()
    depth = 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    return depth
