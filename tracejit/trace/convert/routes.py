"""Calls under their own names: what the user's code calls, and what records it instead.

A function of another library is converted only in calls that give it something recorded, because
most of what a library does is not about the user's arrays.

NumPy hands most of its functions to a Tensor. It has no protocol for those that make arrays, nor
for lists of arrays; SciPy and `math` have none at all. Where the user's function is converted, each
call asks here what to call: NumPy's functions as `tracejit.numpy` has them, SciPy's that have a
rule, ufuncs for `math`, and the user's own functions, converted in turn.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, Protocol

import numpy as np

from tracejit.convert.converter import Converter
from tracejit.convert.exclusions import CONVERTED, Reason, is_never_converted
from tracejit.convert.operators import LASTING, Operators
from tracejit.ops.areas import handler_of
from tracejit.support.imports import import_module
from tracejit.trace.convert import numbers as numbers  # whose rules are entered
from tracejit.trace.convert.arrays import item, method_of_array, method_of_number, of_ufunc
from tracejit.trace.convert.classes import lend_methods
from tracejit.trace.convert.libraries import (
    is_foreign,
    of_class,
    of_function,
    of_method,
    of_object,
    refuse_closed,
    refusing,
)
from tracejit.trace.convert.names import seen_by
from tracejit.trace.convert.rules import HANDED, LATE, RULES, handed, where_recorded
from tracejit.trace.convert.standard import by_type
from tracejit.trace.guards.reads import is_installed_class, module_name
from tracejit.trace.recording.active import active
from tracejit.trace.recording.mutable_attributes import dict_of
from tracejit.trace.source.files import is_installed_file
from tracejit.trace.tensor.namespaces import NUMPY, recorded_argument

LASTING.update((np.ufunc, type(np.sum)))
MOST_LINES = 3_000
"""Lines with instructions of libraries that one call of theirs may have converted: 0.3 s."""

TOO_LONG = Reason(
    f"the call of a library around it runs more than {MOST_LINES:,} lines",
    "Call less of the library, or write the computation in a function",
)
LRU_CACHE = type(functools.lru_cache(abs))
_OWNERS = frozenset((np.ndarray, np.ufunc))
_DESCRIPTORS = frozenset((MethodDescriptorType, WrapperDescriptorType))
_FUNCTIONS = _DESCRIPTORS | {FunctionType, BuiltinFunctionType, np.ufunc, type(np.sum)}
_TYPED = frozenset((FunctionType, BuiltinFunctionType))
_CHECKS = "numpy.testing."
"""The module of functions that only look at what they are given."""
_CONTROL_FLOW = ("tracejit.api.control_flow", "tracejit.api.loops")
_BACKENDS = "uarray"
"""The module of the class of functions of scipy.fft."""


class Observer(Protocol):
    """Whoever follows what the functions of a recording read, and calls what is called. It is given
    the `routes` of the recording."""

    routes: Routes

    def operators(self) -> Operators:
        """The operators that converted functions have."""

    def call(self, called: Any, /) -> Any:
        """The callable in place of `called`, in the user's frame."""

    def function(self, f: FunctionType) -> Any:
        """A function as it runs converted, whatever it is."""

    def as_written(self, f: FunctionType) -> Any:
        """A function as it runs as the user wrote it."""

    def begin(self, python: Callable[..., Any], arguments: Collection[Any]) -> Any:
        """The function in place of one that is about to be recorded with these arguments."""


class Following(threading.local):
    """The observer of the recording that runs on this thread, and what makes one."""

    def __init__(self) -> None:
        """Begin with no recording."""
        self.observe: Callable[[], Observer] | None = None
        self.observer: Observer | None = None


FOLLOWING = Following()


@contextmanager
def observed(observe: Callable[[], Observer]) -> Iterator[None]:
    """Have each recording that this thread begins in the block followed by an observer."""
    before, FOLLOWING.observe = FOLLOWING.observe, observe
    try:
        yield
    finally:
        FOLLOWING.observe = before


def observer() -> Observer | None:
    """The observer of the recording that runs on this thread."""
    return FOLLOWING.observer


@contextmanager
def unobserved() -> Iterator[None]:
    """Let what runs on this thread in the block be followed by nobody."""
    before, FOLLOWING.observer = FOLLOWING.observer, None
    try:
        yield
    finally:
        FOLLOWING.observer = before


def observing(observer: Observer) -> None:
    """Have another observer follow the recording of this thread from here on."""
    FOLLOWING.observer = observer
    observer.routes.observer = observer
    observer.routes.call = observer.call


@contextmanager
def routed(
    python: Any, arguments: Collection[Any] = (), refused: dict[str, None] | None = None
) -> Iterator[Callable[..., Any]]:
    """A function to be recorded with these arguments, with its calls routed; sentences on the
    functions that run as they are written are added to `refused`. A function that is recorded as a
    part of another has the observer of that."""
    before = FOLLOWING.observer
    if before is not None:
        yield before.begin(python, arguments)
        return
    new = None if FOLLOWING.observe is None else FOLLOWING.observe()
    operators = Operators(item=item) if new is None else new.operators()
    with Converter(operators, calls=new is None) as converter:
        routes = Routes(converter, new)
        converter.see = seen_by(converter.convert if new is None else routes.shown)
        outer, active.route = active.route, routes.call
        FOLLOWING.observer = new
        try:
            if new is None:
                converter.route = routes.route
                routes.lend_methods_around(python)
                is_function = type(python) is FunctionType
                yield (converter.function if is_function else converter.convert)(python)
            else:
                new.routes = routes
                yield new.begin(python, arguments)
        finally:
            active.route, FOLLOWING.observer = outer, before
            if refused is not None:
                refused |= dict.fromkeys(map(str, converter.refusals.values()))


class Routes:
    """The routes of one recording: what it calls in place of what the user's code calls.

    Functions of libraries are converted in calls that give them something recorded, with those that
    they call in turn. Each call from the user's code may have up to `MOST_LINES` converted. A line
    counts in each call anew, although it is rewritten once, so that the same call is always
    converted alike. An observer that follows the recording is asked what is called, and lends the
    methods of the user's classes itself.
    """

    def __init__(self, converter: Converter, observer: Observer | None = None) -> None:
        """Begin outside of a library."""
        self.converter = converter
        self.observer = observer
        self.call = converter.convert if observer is None else observer.call
        self.depth = self.lines = 0
        self.counted: dict[int, CodeType] = {}
        self.lent: dict[int, Any] = {}

    def route(self, called: Any) -> Any:
        """The callable in place of `called`; None if that is the callable itself, converted."""
        kind = type(called)
        if kind is MethodType or (kind is BuiltinFunctionType and type(called.__self__) in _OWNERS):
            found = _method(called)
            if found is None and kind is MethodType:
                found = by_type(called, kind)
            is_users = found is None and kind is MethodType and not _is_of_library(called)
            if is_users and self.observer is None:
                self.lend_methods_of(called.__self__)
            return found
        found = _route(called, kind, self.call)
        if found is None and (kind in _TYPED or isinstance(called, type)):
            found = by_type(called, kind)
        if found is None and isinstance(called, type):
            return self.instantiating(called)
        if found is None and kind not in _FUNCTIONS:
            found = self._instance(called, kind)
        if found is None and kind is FunctionType and _is_of_library(called):
            return None if is_never_converted(called) else self.if_recorded(called)
        if found is None and self.observer is None:
            self.lend_methods_around(called)
        return found

    def shown(self, called: Any) -> Any:
        """The callable in place of one whose name is read by code that runs as it is written."""
        found = self.route(called)
        is_users = type(called) is FunctionType and not is_never_converted(called)
        return self.call(called) if found is None and is_users else found or called

    def of_table(self, called: FunctionType) -> Any:
        """The callable that records a function of a library, or None."""
        return _route(called, FunctionType, self.call)

    def instantiating(self, cls: type) -> Any:
        """The class, whose methods run converted from here: of a library's if it is given something
        recorded."""
        if not is_installed_class(cls):
            self.lend_methods_of(cls)
            return cls
        if (recorded := of_class(cls)) is not None:
            return recorded

        def make(*args: Any, **kwargs: Any) -> Any:
            refuse_closed(cls, args, kwargs)
            if self.depth or recorded_argument(*args, *kwargs.values()) is not None:
                self.lend_methods_of(cls)
            return cls(*args, **kwargs)

        return make

    def lend_methods_of(self, thing: Any) -> None:
        """Let the methods of a class, or of an object's, run converted where C code calls them."""
        cls = thing if isinstance(thing, type) else type(thing)
        if id(cls) not in self.lent:
            lend_methods(cls, self.converter, self.lent)
        for held in _held_by(thing):
            if id(type(held)) not in self.lent and not is_installed_class(type(held)):
                lend_methods(type(held), self.converter, self.lent)

    def lend_methods_around(self, python: Any) -> None:
        """Lend the methods of the objects that a function encloses, has as defaults or finds as
        globals; once for all functions of its code."""
        function = getattr(python, "__func__", python)
        if type(function) is not FunctionType or id(function.__code__) in self.lent:
            return
        self.lent[id(function.__code__)] = function.__code__
        for one in _objects_of(function):
            if not isinstance(one, type) and not is_installed_class(type(one)):
                self.lend_methods_of(one)

    def _instance(self, called: Any, kind: type) -> Any:
        """The callable that records the call of an object, or None."""
        if kind is LRU_CACHE:
            return where_recorded(called, self.call(called.__wrapped__))
        if kind is np.vectorize:
            return self._vectorized(called)
        found = of_object(called)
        return refusing(called) if found is None and is_foreign(called, kind) else found

    def _vectorized(self, made: np.vectorize) -> Any:
        """An object that `np.vectorize` has made, as it makes it while a function is recorded."""
        options = {name: getattr(made, name) for name in ("otypes", "excluded", "cache")}
        options["signature"] = made.signature
        chosen = {name: option for name, option in options.items() if option}
        recorded = _route(np.vectorize, type, self.call)
        return where_recorded(made, recorded(made.pyfunc, **chosen))

    def if_recorded(
        self,
        called: FunctionType,
        otherwise: Callable[..., Any] | None = None,
        wants: Callable[[Any], bool] | None = None,
    ) -> Callable[..., Any]:
        """A function, converted for each call that gives it something recorded, if only as an
        attribute of the object whose method it is, or something that one `wants` to follow;
        `otherwise` is what other calls get. What pandas computes from tables alone runs as it
        is."""
        plain = called if otherwise is None else otherwise
        is_of_tables = module_name(called).partition(".")[0] == "pandas"

        @functools.wraps(called)
        def call(*args: Any, **kwargs: Any) -> Any:
            refuse_closed(called, args, kwargs)
            own = dict_of(args[0]) if args else None
            held = () if own is None else own.values()
            is_given = recorded_argument(*args, *kwargs.values(), *held) is not None
            if not is_given and is_of_tables:
                return plain(*args, **kwargs)
            if not (self.depth or is_given):
                is_wanted = wants is not None and any(map(wants, (*args, *kwargs.values())))
                followed = self._function(called) if is_wanted else plain
                return followed(*args, **kwargs)
            if own is not None:
                self.lend_methods_of(args[0])
            if not self.depth:
                self.lines = 0
                self.counted.clear()
            self.depth += 1
            try:
                return self._converted(called)(*args, **kwargs)
            finally:
                self.depth -= 1

        return call

    def _converted(self, called: FunctionType) -> Any:
        code = called.__code__
        if id(code) not in self.counted:
            lines = len({code.co_firstlineno, *(line for _, _, line in code.co_lines())})
            if self.lines + lines > MOST_LINES:
                plain = self.converter.refuse(called, TOO_LONG)
                return plain if self.observer is None else self.observer.as_written(called)
            self.lines += lines
            self.counted[id(code)] = code
        return self._function(called)

    def _function(self, called: FunctionType) -> Any:
        of = self.converter if self.observer is None else self.observer
        return of.function(called)


def hands_over(called: Any) -> bool:
    """Return whether functions that `called` is given are routed when it calls them."""
    return called in HANDED or getattr(called, "__module__", "") in _CONTROL_FLOW


def _held_by(thing: Any) -> Iterator[Any]:
    """The objects in the attributes of an object, and in lists, tuples and dicts there."""
    for value in ({} if isinstance(thing, type) else dict_of(thing) or {}).values():
        kind = type(value)
        yield from value if kind in (list, tuple) else value.values() if kind is dict else (value,)


def _objects_of(function: FunctionType) -> Iterator[Any]:
    """The objects that a function encloses, has as defaults or finds as globals, but for modules of
    libraries: they hold thousands, none of the user's."""
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # an empty one
            yield cell.cell_contents
    yield from function.__defaults__ or ()
    names = function.__globals__
    for name in function.__code__.co_names:
        if name in names and not _is_library(names[name]):
            yield names[name]


def _is_library(value: Any) -> bool:
    """Return whether a value is a module that was installed, or is a part of Python."""
    if type(value) is not ModuleType:
        return False
    filename = getattr(value, "__file__", None)
    is_of_python = value.__name__.partition(".")[0] in sys.stdlib_module_names
    return filename is None or is_of_python or is_installed_file(filename)


def _is_of_library(called: Any) -> bool:
    """Return whether a function or method was installed, rather than written by the user."""
    code = getattr(called, "__code__", None)
    return code is not None and is_installed_file(code.co_filename)


def _method(called: Any) -> Any:
    """The method that records in place of a Tensor's, a plain array's, a ufunc's or a
    distribution's; or None."""
    if type(called) is not MethodType:
        owner = called.__self__
        return method_of_array(called) if type(owner) is np.ndarray else of_ufunc(called)
    function = called.__func__
    module = getattr(function, "__module__", None) or ""
    _load_rules(module)
    is_known = type(function) is FunctionType or module.startswith("numpy.random")
    found = RULES.get(function) if is_known else None
    if found is not None:
        return MethodType(found, called.__self__)
    return of_method(called)


def _load_rules(module: str) -> None:
    """Enter the rules of a module's functions, where they are entered late."""
    late = LATE.get(".".join(module.split(".", 2)[:2]))
    if late is not None:
        import_module(late)


def _route(called: Any, kind: type, route: Callable[[Any], Any]) -> Any:
    """The callable that records a function or class of NumPy, SciPy or Python, or None."""
    is_class = isinstance(called, type)
    if not is_class and kind not in _FUNCTIONS and kind.__module__ != _BACKENDS:
        return None
    shown = getattr(called, "__module__", None)
    shown = shown if isinstance(shown, str) else ""
    if shown in _CONTROL_FLOW:
        return handed(called, route)
    _load_rules(shown)
    found = RULES.get(called)
    if found is not None:
        return handed(found, route) if called in HANDED else found
    if kind in _DESCRIPTORS:
        return method_of_number(called)
    if kind is BuiltinFunctionType and type(called.__self__).__name__ == "SuperLU":
        return import_module("tracejit.trace.convert.sparse").of_factors(called)
    if kind is BuiltinFunctionType and is_foreign(called, kind):
        return refusing(called)
    module = _module_of(called)
    if module.startswith(_CHECKS):
        return refusing(called)
    if module.startswith(CONVERTED) and handler_of(called) is None:
        return None
    if kind is np.ufunc or module.startswith("numpy."):
        found = next((found for find in NUMPY if (found := find(called)) is not None), None)
    elif module.startswith("scipy.") and not is_class:
        found = of_function(called)
    if found is None and module.endswith("array_api_compat.numpy.linalg."):
        found = getattr(np.linalg, called.__name__, None)
    return handed(found or called, route) if called in HANDED else found


def _module_of(called: Any) -> str:
    """The module that defines a function, whatever it wraps; a dot follows it."""
    names = getattr(called, "__globals__", None)
    if type(names) is not dict:
        return f"{getattr(called, '__module__', None)}."
    module = names.get("__name__")
    return f"{module}."
