"""Converted functions, which are called in place of the user's functions.

For any callable, a `Converter` returns one that does the same through its operators: a function
over the same globals, defaults and cells, a bound method of it, a partial of it. It returns the
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
)
from typing import Any

from tracejit.convert.exclusions import LIBRARY, Reason, exclusion
from tracejit.convert.mapping import See, real_globals, seen_through
from tracejit.convert.operators import LASTING, TYPES_OF_C, Operators, Place, is_lasting
from tracejit.convert.rewrite import bind, converted_text, has_operators, rewrite
from tracejit.convert.source import TOO_DEEP, Refusal, Source, find
from tracejit.support.codes import LENT, WRITTEN
from tracejit.support.config import dump
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


class Converter:
    """The functions that are converted for one set of operators, during one recording.

    Where it `calls`, converted code converts what it calls. Functions are known until it ends, and
    taken for unchanged; those that functions make die as they do in Python. `refusals` has the
    functions that run as written, by their code, but for those of libraries. `see`, if given, is
    for those without usable source: see `mapping`. `route`, if given, is asked first: it answers
    what takes the place of a callable, or None, and for one of a module or of a class this must
    hold until the end.

    Converted code holds the operators, and Python collects no garbage through code, so a converter
    that its operators lead to must be left: it is a context, or is told to `forget`.
    """

    def __init__(
        self,
        operators: Operators,
        see: See | None = None,
        *,
        calls: bool = False,
        route: Callable[[Any], Any] | None = None,
    ) -> None:
        """Begin with no functions."""
        self.operators = operators.given()
        if calls:
            self.operators |= {"call": self.convert, "site": self.convert}
        self.see = see
        self.route = route
        self.refusals: ByIdentity[CodeType, Refusal] = ByIdentity()
        self.is_over = False
        self._known: dict[Callable[..., Any], Any] = {}
        self._called: dict[type, Any] = {}
        self._made: ByIdentity[FunctionType, Any] = ByIdentity()
        self._as_is: dict[int, CodeType] = {}
        self._codes: ByIdentity[CodeType, CodeType | None] = ByIdentity()
        self._places: dict[int, list[Place]] = {}
        self._lent: list[tuple[FunctionType, CodeType]] = []

    def __enter__(self) -> Converter:
        return self

    def __exit__(self, *_: object) -> None:
        self.forget()

    def forget(self) -> None:
        """Forget all functions, with the code that holds the operators, and convert no more."""
        self.is_over = True
        while self._lent:
            function, code = self._lent.pop()
            function.__code__ = code
            del LENT[function]
        self._known.clear()
        self._called.clear()
        self._made.clear()
        self._as_is.clear()
        self._codes.clear()
        for place in [one for places in self._places.values() for one in places]:
            place.forget()
        self._places.clear()

    def convert(self, called: Any, place: Place | None = None, holder: Any = None, /) -> Any:
        """Answer what does the same as `called` through the operators, or `called` itself, and tell
        the place that asks.

        What is known is answered at once, in this one frame, and at the end of the stack functions
        run as written: recursion goes as deep as without conversion. No method of the user's runs.
        """
        kind = type(called)
        instead = None
        if kind is FunctionType:
            instead = self._known.get(called)
            if instead is None:
                is_as_is = id(called.__code__) in self._as_is
                instead = called if is_as_is else self._made.get(called)
        elif kind is MethodType:
            function = called.__func__
            known = self._known.get(function) if type(function) is FunctionType else None
            if known is function:
                instead = called
            elif known is not None:
                return MethodType(known, called.__self__)
        elif kind is BuiltinFunctionType and type(called.__self__) in TYPES_OF_C:
            instead = called
        elif kind in LASTING:
            instead = self._known.get(called)
        elif type(kind) is type:
            known = self._called.get(kind)
            if known is not None:
                return called if known is kind else MethodType(known, called)
        if instead is None:
            try:
                instead = self._first(called)
            except RecursionError:
                return called
        if place is not None and place.is_new:
            place.keep(called, instead, holder)
        return instead

    def _first(self, called: Any) -> Any:
        """Answer for what is not known, and know it from then on."""
        if self.is_over:
            return called
        instead = None if self.route is None else self.route(called)
        if instead is None:
            instead = _RULES.get(type(called), Converter.instance)(self, called)
        if is_lasting(called):
            self._known[called] = instead
        elif type(called) is FunctionType:
            if instead is called:
                self._as_is[id(called.__code__)] = called.__code__
            else:
                self._made[called] = instead
        return instead

    def lend(self, function: FunctionType) -> None:
        """Let a function run its converted code until all is forgotten, whoever calls it.

        Python's C code calls the special methods of a class itself. On other threads the converted
        code does the same as the user's.
        """
        code = function.__code__
        if code in WRITTEN or exclusion(function) is not None:
            return
        converted = self._code(function)
        if converted is not None and converted is not code:
            for place in self._places.get(id(converted), ()):
                place.forget()  # other threads run this code, too
            function.__code__ = converted
            self._lent.append((function, code))
            LENT[function] = code

    def function(self, function: FunctionType) -> FunctionType:
        """A function over the same globals, defaults and cells, with what users can see of it."""
        code = function.__code__
        if code in WRITTEN:
            return function
        reason = exclusion(function)
        if reason is not None:
            return function if reason is LIBRARY else self.refuse(function, reason)
        with_operators = self._code(function)
        if with_operators is None:
            return self._without_source(function)
        if with_operators is code:
            return function
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
            self._codes[code] = None
            return None
        if not has_operators(template):
            self._codes[code] = code
            return code
        dump("converted", lambda: _text(function, frozenset(self.operators)))
        bound, places = bind(template, self.operators)
        self._codes[code] = bound
        self._places[id(bound)] = places
        WRITTEN[bound] = code
        return bound

    def stays(self, function: FunctionType) -> bool:
        """Return whether a function that was converted has nothing to convert, or runs its
        converted code."""
        code = function.__code__
        return code in WRITTEN or (code in self._codes and self._codes[code] is code)

    def lent(self, where: int) -> FunctionType | None:
        """The function that runs its converted code, by the id of the code that the user wrote."""
        return next((function for function, code in self._lent if id(code) == where), None)

    def _without_source(self, function: FunctionType) -> FunctionType:
        template = _template(function, frozenset(self.operators))
        assert isinstance(template, Refusal)
        self.refusals[function.__code__] = template
        if self.see is None:
            return function
        seen = seen_through(function, self.see)
        if isinstance(seen, Reason):
            return self.refuse(function, seen)
        return _dressed(seen, function)

    def refuse(self, function: FunctionType, reason: Reason) -> FunctionType:
        """Answer a function as it is, and note the reason."""
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

    def instance(self, called: Any) -> Any:
        """The method `__call__` of an instance whose class has one in Python."""
        kind = type(called)
        method = getattr(kind, _CALL, None)
        if type(method) is not FunctionType:
            return called
        converted = self.convert(method)
        if is_lasting(kind):
            self._called[kind] = kind if converted is method else converted
        return called if converted is method else MethodType(converted, called)


_CALL = "__call__"
_RULES: dict[type, Callable[[Converter, Any], Any]] = {
    FunctionType: Converter.function,
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


def _text(function: FunctionType, kinds: frozenset[str]) -> str:
    """A converted function as text, under its name and place."""
    code = function.__code__
    source = find(code, function.__qualname__, real_globals(function))
    text = converted_text(source, kinds) if isinstance(source, Source) else "its file was edited"
    return f"# {function.__qualname__} ({code.co_filename}:{code.co_firstlineno})\n{text}"


def _depth_of_the_stack() -> int:
    frame: FrameType | None = sys._getframe()
    depth = 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    return depth
