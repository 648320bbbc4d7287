"""Rules of builtins: those that read what they are given in a way of their own, and those that call
the user's code."""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import itertools
import operator
import os
import sys
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

import numpy as np

from tracejit.ir.types import PYTHON_TYPES
from tracejit.trace.control_flow.elements import ITERATORS, WHOLE, Made, recorded_range
from tracejit.trace.convert.numbers import added_up, is_pythons, python_number
from tracejit.trace.convert.rules import RULES as RECORDED
from tracejit.trace.guards.access_paths import ATTRIBUTE, PathStep
from tracejit.trace.guards.exactness import ATOMS
from tracejit.trace.reads.attributes import IN_CLASS, lookup
from tracejit.trace.reads.calls import Calls
from tracejit.trace.reads.containers import CONTAINERS, holds_recorded
from tracejit.trace.reads.notes import MISSING, PYTHONS, is_plain, is_users
from tracejit.trace.recording.mutable_attributes import dict_of
from tracejit.trace.tensor.tensor import TENSORS, class_name

_NEW = frozenset((list, dict, set, sorted))
_OF_TYPES = (
    callable, inspect.isclass, inspect.isfunction, inspect.ismethod, inspect.isbuiltin,
    inspect.ismodule, inspect.isgenerator,
)  # fmt: skip
_ANSWER = PathStep(
    lambda held, asked: asked[0](held, asked[1]),
    lambda held, asked, bind: f"{bind(asked[0])}({held}, {bind(asked[1])})",
    lambda held, asked: f"{asked[0].__name__}({held}, ...)",
)
_HAS = PathStep(
    hasattr,
    lambda held, word, bind: f"{bind(hasattr)}({held}, {word!r})",
    lambda held, word: f"{held}.{word}",
)


def _recorded(builtin: Any) -> Any:
    """The callable that records a builtin, or that itself."""
    return RECORDED.get(builtin, builtin)


def _getattr(reads: Calls, o: Any, word: str, /, *default: Any) -> Any:
    if default and _is_no_attribute(o, word):
        return default[0]
    try:
        return reads.attribute(o, word)
    except AttributeError:
        if default:
            return default[0]
        raise


def _is_no_attribute(o: Any, word: str) -> bool:
    """Return whether a recorded number stands for one of Python's that has no such attribute."""
    is_number = type(o) in TENSORS and o.type.form == "weak"
    return is_number and not hasattr(PYTHON_TYPES[o.dtype.kind], word)


def _hasattr(reads: Calls, o: Any, word: str, /) -> bool:
    if _is_no_attribute(o, word):
        return False
    own = None if isinstance(o, type) or is_plain(type(o)) else dict_of(o)
    if own is not None and word in own and lookup(type(o), word) is MISSING:
        return bool(reads.is_made(o) or reads.wrote(o, word) or reads.note(o, _HAS, word, True))
    try:
        reads.attribute(o, word)
    except AttributeError:
        return False
    return True


def _setattr(reads: Calls, o: Any, word: str, value: Any, /) -> None:
    setattr(reads.store(o, word), word, value)


def _delattr(reads: Calls, o: Any, word: str, /) -> None:
    delattr(reads.update(o, word), word)


def _len(reads: Calls, o: Any, /) -> int:
    if type(o) in PYTHONS:
        if not reads.is_made(o):
            reads.note_length(o)
        return len(o)
    method = reads.special(o, "__len__")
    if method is not None:
        return int(reads.called(method)(o))
    if type(o) is np.ndarray:
        return len(o)
    if type(o) in TENSORS and o.shape:
        return o.shape[0]  # type: ignore[no-any-return]  # recorded, where sizes are free
    if isinstance(o, CONTAINERS):
        reads.note_length(o)
    else:
        reads.hand(o)
    if type(o) in TENSORS and o.type.form != "array":
        raise TypeError(f"object of type {class_name(o)!r} has no len()")
    return len(o)


def _isinstance(reads: Calls, o: Any, classes: Any, /) -> bool:
    if type(o) in ATOMS and type(classes) is type:
        return isinstance(o, classes)
    reads.note_type(o)
    return _asked(reads, isinstance, "__instancecheck__", o, classes)


def _issubclass(reads: Calls, cls: Any, classes: Any, /) -> bool:
    if isinstance(cls, type) and is_users(cls):
        reads.note(cls, ATTRIBUTE, "__mro__", cls.__mro__)
    return _asked(reads, issubclass, "__subclasscheck__", cls, classes)


def _asked(reads: Calls, ask: Any, word: str, o: Any, classes: Any) -> bool:
    """Ask about a class, the user's own metaclass by its converted method, and ABCs again in each
    guard."""
    answer = False
    for cls in classes if isinstance(classes, tuple) else (classes,):
        method = lookup(type(cls), word)
        if type(method) is FunctionType and is_users(method):
            reads.note(type(cls), IN_CLASS, word, method)
            answer = bool(reads.called(method)(cls, o))
        else:
            answer = ask(o, cls)
            is_asked_again = type(cls) is not type and not is_plain(type(o))
            if is_asked_again and not reads.is_made(o):
                reads.note(o, _ANSWER, (ask, cls), answer)
        if answer:
            break
    return answer


def _type(reads: Calls, o: Any, /, *more: Any, **kwargs: Any) -> Any:
    reads.note_type(o)
    return type(o, *more, **kwargs) if more else _recorded(type)(o)


def _by_type(question: Callable[[Any], bool]) -> Any:
    """The rule of a question about an object that its class alone answers."""
    return lambda reads, o, /: question(reads.note_type(o) or o)


def _partial(reads: Calls, /, *args: Any, **kwargs: Any) -> Any:
    make: Callable[..., Any] = functools.partial
    return reads.made(make(*args, **kwargs))


def _bool(reads: Calls, /, *o: Any) -> bool:
    return _recorded(bool)(*map(reads.truth, o))  # type: ignore[no-any-return]


def _lru_cache(make: Callable[..., Any]) -> Any:
    """The rule of what makes a function keep its results: the function runs converted."""

    def rule(reads: Calls, /, *args: Any, **kwargs: Any) -> Any:
        if args and callable(args[0]):
            return _keeping(reads, make, *args, **kwargs)
        made = reads.handing(make)(*args, **kwargs)
        if type(made) is FunctionType:  # with which a function is decorated
            reads.converted[made] = functools.partial(_keeping, reads, made)
        return made

    return rule


def _keeping(reads: Calls, make: Callable[..., Any], function: Any, /, *more: Any) -> Any:
    made = reads.made(make(reads.called(function), *more))
    made.__wrapped__ = function
    return made


def _vars(reads: Calls, /, *o: Any) -> Any:
    if not o:
        return sys._getframe(1).f_locals
    has = hasattr(o[0], "__dict__")
    return reads.attribute(o[0], "__dict__") if has else vars(*o)


def _dir(reads: Calls, /, *o: Any) -> Any:
    if not o:
        return sorted(sys._getframe(1).f_locals)
    reads.walk(o[0])
    return dir(*o)


def _copied(copied: Callable[..., Any]) -> Any:
    def rule(reads: Calls, o: Any, /, *more: Any) -> Any:
        reads.hand(o)
        result = copied(o, *more)
        return result if result is o else _made_within(reads, result)

    return rule


def _made_within(reads: Calls, o: Any, depth: int = 0) -> Any:
    """Know a copy, and the copies in it, to be made."""
    if is_plain(type(o)) or id(o) in reads.known or depth > 8 or isinstance(o, type):
        return o
    reads.made(o)
    inside = [*o.values()] if isinstance(o, dict) else [*o] if isinstance(o, CONTAINERS) else []
    for one in (*inside, *(dict_of(o) or {}).values()):
        _made_within(reads, one, depth + 1)
    return o


def _by_method(builtin: Callable[..., Any], *words: str) -> Any:
    """The rule of a builtin that leaves all to a special method."""
    recorded = _recorded(builtin)

    def rule(reads: Calls, /, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and type(args[0]) in ATOMS and not kwargs:
            return builtin(args[0])
        for word in words if args else ():
            method = reads.special(args[0], word)
            if method is not None:
                return reads.called(method)(*args, **kwargs)
        for one in args:
            reads.text(one) if builtin in (str, repr, format) else reads.hand(one)
        return recorded(*args, **kwargs)

    return rule


def _over(builtin: Callable[..., Any], note: Callable[[Calls, Any], Any] | None = None) -> Any:
    """The rule of a builtin that goes through what it is given, calls a `key`, and leads each
    element through `note`, because it calls the user's methods of it."""

    def rule(reads: Calls, /, *args: Any, **kwargs: Any) -> Any:
        is_choice = builtin in (min, max) and len(args) > 1
        through = None if note is None else functools.partial(note, reads)
        if kwargs.get("key") is not None:
            key = reads.called(kwargs["key"])
            kwargs["key"] = key if note is None else lambda one: note(reads, key(one))
            through = None
        for one in args if note is _handed else ():
            if isinstance(one, CONTAINERS) or (is_choice and through is not None):
                reads.hand(one, holds_recorded(args))
        is_called = builtin is iter and len(args) > 1
        several = 0 if is_choice or is_called else 1 if builtin is enumerate else len(args)
        given = [reads.iterate(one, 1) for one in args[:several]] + [*args[several:]]
        if through is not None:
            given[:several] = [_led(one, through) for one in given[:several]]
        for one in args if builtin in (list, tuple) else ():
            if reads.special(one, "__len__") is not None:  # Python asks for a hint
                with contextlib.suppress(TypeError):
                    _len(reads, one)
        result = builtin(*given, **kwargs)
        if builtin in ITERATORS and all(type(one) in WHOLE for one in args):
            reads.gone_over[id(result)] = Made(result, builtin, args, kwargs)
        return reads.made(result) if builtin in _NEW else result

    return rule


def _led(elements: Any, through: Callable[[Any], Any]) -> Any:
    """Elements that are led through a function, but where all are plain."""
    if is_plain(type(elements)) or (isinstance(elements, CONTAINERS) and _are_plain(elements)):
        return elements
    return map(through, elements)


def _are_plain(elements: Iterable[Any]) -> bool:
    return all(is_plain(type(one)) for one in elements)


def _handed(reads: Calls, one: Any) -> Any:
    reads.hand(one)
    return one


def _as_key(reads: Calls, one: Any) -> Any:
    reads.note_key(one)
    return one


def _truth(reads: Calls, one: Any) -> Any:
    return reads.truth(one)


def _sum(reads: Calls, /, *args: Any, **kwargs: Any) -> Any:
    """Add up elements, the user's objects by their own method."""
    given = reads.iterate(args[0], 1) if args else ()
    if not args or is_plain(type(given)):
        return sum(*args, **kwargs)
    total = sum((), *args[1:], **kwargs)
    left, numbers = iter(given), list[Any]()
    if is_plain(type(total)) or is_pythons(total):
        for one in left:
            if not is_plain(type(one)) and not is_pythons(one):
                left = itertools.chain((one,), left)
                break
            numbers.append(one)
    total = added_up(numbers, total)
    return functools.reduce(functools.partial(reads.operate, "add"), left, total)


def _extreme(builtin: Callable[..., Any]) -> Any:
    """The rule of `max` and `min`: of recorded numbers, by conditions."""
    general = _over(builtin, _handed)

    def rule(reads: Calls, /, *args: Any, **kwargs: Any) -> Any:
        elements: Any = args if len(args) > 1 else args[0] if args else ()
        if type(elements) in TENSORS and elements.ndim == 1:
            elements = [*elements]
        if not kwargs and type(elements) in (tuple, list):
            if elements and all(map(_is_scalar, elements)) and holds_recorded(args):
                reads.hand(args, mixed=True)
                return reads.extreme(builtin is max, elements)
        return general(reads, *args, **kwargs)

    return rule


def _truth_of_all(builtin: Callable[..., Any]) -> Any:
    """The rule of `any` and `all`: of recorded numbers, one truth value."""
    general = _over(builtin, _truth)
    join = np.logical_or if builtin is any else np.logical_and

    def rule(reads: Calls, /, *args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or kwargs or not _holds_scalars(args[0]):
            return general(reads, *args, **kwargs)
        (elements,) = args
        if type(elements) in TENSORS:
            found = (np.any if builtin is any else np.all)(elements)
            return python_number(found, bool)
        reads.hand(elements, mixed=True)
        known = [bool(one) for one in elements if type(one) not in TENSORS]
        if known and builtin(known) is not builtin([]):
            return builtin(known)
        truths = [reads.ask(one, False) for one in elements if type(one) in TENSORS]
        return python_number(functools.reduce(join, truths), bool)

    return rule


def _sorted(reads: Calls, /, *args: Any, **kwargs: Any) -> Any:
    """The rule of `sorted`: of recorded numbers of one type by an array, unless one is not a
    number: the order of the others depends on how Python compares."""
    key, is_reverse = kwargs.get("key"), kwargs.get("reverse", False)
    is_known = kwargs.keys() <= {"key", "reverse"} and type(is_reverse) in (bool, int)
    if len(args) != 1 or not is_known or not _holds_scalars(args[0]):
        return _over(sorted, _handed)(reads, *args, **kwargs)
    (elements,) = args
    reads.hand(elements, mixed=True)
    called = None if key is None else reads.called(key)
    keys = elements if called is None else [called(one) for one in elements]
    columns = [_as_column(one) for one in (elements, keys)]
    column, by = columns
    is_odd = column is None or by is None or len(column) < 2
    if is_odd or (by.dtype.kind == "f" and reads.check(np.any(np.isnan(by)), True)):
        return reads.made(sorted(elements, key=called, reverse=bool(is_reverse)))
    order = np.argsort(-by if is_reverse else by, kind="stable")
    found = column[order]
    return reads.made([found[k] for k in range(len(found))])


def _as_column(elements: Any) -> Any:
    """Recorded numbers of NumPy's of one type as an array; None if they are not all that."""
    if type(elements) in TENSORS:
        return elements if elements.dtype.kind in "if" and type(elements.shape[0]) is int else None
    types = {one.type if type(one) in TENSORS else None for one in elements}
    is_one = len(types) == 1 and None not in types
    if not is_one or elements[0].type.form != "scalar" or elements[0].dtype.kind not in "if":
        return None
    if any(one._value in getattr(one._recording, "mixed", ()) for one in elements):
        return None  # which is Python's on one side of a condition
    return np.stack([*elements])


def _holds_scalars(elements: Any) -> bool:
    """Return whether an array has one axis, or a list or tuple recorded numbers."""
    if type(elements) in TENSORS:
        return elements.ndim == 1 and elements.type.form == "array" and elements.dtype.kind in "bif"
    if type(elements) not in (tuple, list) or not holds_recorded(elements):
        return False
    return all(type(one) is bool or _is_scalar(one) for one in elements)


def _is_scalar(one: Any) -> bool:
    return type(one) in (int, float) or (type(one) in TENSORS and one.shape == ())


def _calling(builtin: Callable[..., Any]) -> Any:
    """The rule of a builtin whose first argument is called for elements of the others."""

    def rule(reads: Calls, function: Any, /, *args: Any) -> Any:
        for one in args:
            if isinstance(one, CONTAINERS):
                for element in one:
                    reads.iterate(element, 1) if type(element) in (list, dict) else None
        given = [reads.iterate(one, 1) for one in args]
        if function is None:
            return builtin(functools.partial(_truth, reads) if builtin is filter else None, *given)
        return builtin(reads.called(function), *given)

    return rule


def _dict(reads: Calls, /, *args: Any, **kwargs: Any) -> Any:
    for one in args:
        reads.expand(one) if isinstance(one, CONTAINERS) else reads.hand(one)
        if isinstance(one, (list, tuple)):
            reads.iterate(one, 2)
    return reads.made(dict(*args, **kwargs))


def _operation(function: Callable[..., Any]) -> Any:
    name = function.__name__
    return lambda reads, /, *operands: reads.operate(name, *operands)


RULES: dict[Any, Callable[..., Any]] = {
    getattr: _getattr,
    hasattr: _hasattr,
    setattr: _setattr,
    delattr: _delattr,
    len: _len,
    isinstance: _isinstance,
    issubclass: _issubclass,
    type: _type,
    bool: _bool,
    vars: _vars,
    dir: _dir,
    dict: _dict,
    range: lambda reads, /, *bounds: recorded_range(*map(reads.operand, bounds)),
    id: lambda reads, o, /: reads.identity(o),
    **{one: _by_type(one) for one in _OF_TYPES},
    functools.partial: _partial,
    **{one: _lru_cache(one) for one in (functools.lru_cache, functools.cache)},
    os.getenv: lambda reads, /, *args, **named: reads.variable(os.getenv, *args, **named),
    copy.copy: _copied(copy.copy),
    copy.deepcopy: _copied(copy.deepcopy),
    operator.getitem: lambda reads, o, key, /: reads.item(o, key),
    operator.is_: lambda reads, a, b, /: reads.identical(a, b),
    operator.is_not: lambda reads, a, b, /: not reads.identical(a, b),
    operator.contains: lambda reads, o, x, /: reads.contains(x, o),
    **{one: _over(one) for one in (list, tuple, enumerate, zip, reversed, iter)},
    **{one: _over(one, _as_key) for one in (set, frozenset)},
    **{one: _truth_of_all(one) for one in (any, all)},
    sorted: _sorted,
    sum: _sum,
    **{one: _extreme(one) for one in (min, max)},
    **{one: _calling(one) for one in (map, filter, functools.reduce)},
    **{
        getattr(operator, name): _operation(getattr(operator, name))
        for name in "add sub mul truediv floordiv mod pow matmul neg pos eq ne lt le gt ge".split()
    },
    str: _by_method(str, "__str__", "__repr__"),
    repr: _by_method(repr, "__repr__"),
    format: _by_method(format, "__format__", "__str__", "__repr__"),
    float: _by_method(float, "__float__", "__index__"),
    int: _by_method(int, "__int__", "__index__"),
    complex: _by_method(complex, "__complex__", "__float__", "__index__"),
    abs: _by_method(abs, "__abs__"),
    round: _by_method(round, "__round__"),
    hash: _by_method(hash, "__hash__"),
    next: _by_method(next, "__next__"),
}
"""The rules of builtins, by the very function or class."""
