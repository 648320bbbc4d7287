"""Reads of containers, and writes to them.

An element is noted by its key, a container that is gone through by its keys or its length and each
element, a key that is asked for by whether it is there. The first write to a container from outside
keeps it as it was, and later reads note that: what the recording has written is its own. Other
changes (`sort`, `pop`, `+=`) note all of it first.

Containers whose class has methods of the user's are read by these, converted.
"""

from __future__ import annotations

import operator
import os
from collections import OrderedDict, deque
from collections.abc import Callable, KeysView
from types import FunctionType, MappingProxyType, MethodType
from typing import Any

import numpy as np

from tracejit.trace.convert.arrays import item as recorded_item
from tracejit.trace.convert.libraries import beside_twins
from tracejit.trace.convert.routes import unobserved
from tracejit.trace.guards.access_paths import ITEM, PathStep, key_text
from tracejit.trace.guards.contents import is_table
from tracejit.trace.guards.exactness import ATOMS
from tracejit.trace.guards.guards import Equal, HasKeys, HasTable, Length
from tracejit.trace.guards.reads import answers_once, module_name
from tracejit.trace.reads.attributes import IN_CLASS, Attributes, lookup
from tracejit.trace.reads.notes import (
    ALL,
    MISSING,
    OF_THREADS,
    PYTHONS,
    Identity,
    is_plain,
    is_users,
    key_of,
)
from tracejit.trace.recording.mutable_attributes import dict_of
from tracejit.trace.recording.recorded_matrix import recorded
from tracejit.trace.structure.sparse_products import is_matrix, is_sparse
from tracejit.trace.structure.trees import keys_of
from tracejit.trace.tensor.tensor import TENSORS, class_name

MEMBER = PathStep(
    lambda held, key: key in held,
    lambda held, key, bind: f"({key_text(key, bind)} in {held})",
    lambda held, key: f"{held}[{key!r}]",
)
KEYED = (dict, MappingProxyType)
SETS = (set, frozenset)
CONTAINERS = (list, tuple, deque, *KEYED, *SETS)
VIEWS: tuple[type, ...] = tuple(
    type(view)
    for of in (dict[Any, Any](), OrderedDict[Any, Any]())
    for view in (of.keys(), of.values(), of.items())
)
_DEEPEST = 8
_MOST = 1000
_FEW = 4

_REFLECTED = {
    "lt": "__gt__", "gt": "__lt__", "le": "__ge__", "ge": "__le__", "eq": "__eq__", "ne": "__ne__",
}  # fmt: skip
UNARY = frozenset(("neg", "pos", "invert"))


class Containers(Attributes):
    """Reads and writes of elements, and operations on objects."""

    # Whole containers

    def before(self, o: Any) -> Any:
        """A container as it was before the recording wrote to it."""
        return self.former.get(id(o), o)

    def is_own(self, o: Any) -> bool:
        """Return whether nothing in a container needs a note."""
        return self.is_made(o) or self.wrote(o, ALL)

    def whole(self, o: Any) -> None:
        """Note what elements a container has, in order."""
        if self.is_own(o):
            return
        before = self.before(o)
        if isinstance(o, tuple):
            for element in tuple.__iter__(o):
                if id(o) in self.known or not answers_once(type(element)):
                    self.learn(element)  # otherwise an iterator that the function has made
        elif isinstance(o, SETS):
            self.add(o, HasKeys(tuple(before)))
            for key in before:
                self.learn(key)
        elif isinstance(o, KEYED):
            self.add(o, HasKeys(tuple(before)))
            for key in before:
                self.learn(key)
                if not self.wrote(o, key):
                    self.note(o, ITEM, key, before[key])
        elif len(before) > _FEW and all(type(element) in ATOMS for element in before):
            self.add(o, HasKeys(tuple(before), "elements"))
        elif len(before) > _MOST:
            self.refuse("a container of more than 1000 elements")
        else:
            self.note_length(o)
            for index, element in enumerate(before):
                if not self.wrote(o, index):
                    self.note(o, ITEM, index, element)

    def note_length(self, o: Any) -> None:
        """Note how many elements a container has; of one that is written to by keys, which."""
        if self.is_own(o):
            return
        if id(o) in self.former and isinstance(o, KEYED):
            self.add(o, HasKeys(tuple(self.before(o))))
        elif type(o) is not tuple and not self.has_noted(o, Length):
            self.add(o, Length(len(self.before(o))))

    def hand(self, o: Any, mixed: bool = False, depth: int = 0) -> None:
        """Note all that code may read which is not converted; where it is `mixed` with something
        recorded, arrays are operands."""
        kind = type(o)
        if is_plain(kind):
            return
        if isinstance(o, np.ndarray):
            self._hand_array(o, mixed, depth)
        elif isinstance(o, os._Environ):
            self.note_environment()
        elif isinstance(o, CONTAINERS) and not is_sparse(kind):
            self._hand_container(o, mixed, depth)
        elif kind in VIEWS:
            for one in o if self.is_made(o) else (o.mapping,):
                self.hand(one, mixed, depth)
        elif kind is MethodType:
            self.hand(o.__self__, mixed, depth)
            self.hand(o.__func__, mixed, depth)
        elif kind is FunctionType:
            if is_users(o) or o.__closure__ or hasattr(o, "__wrapped__"):
                self.walk(o)
        elif isinstance(o, type):
            if is_users(o):
                self.walk(o)
        elif answers_once(kind) or kind.__module__ in OF_THREADS or is_tracejits(o):
            return
        elif self.copies_tables and is_table(o):
            self._hand_table(o)
        elif not self.is_made(o):
            self.walk(o)
        elif is_users(kind) and depth <= _DEEPEST:
            self.walk(kind)
            for value in (dict_of(o) or {}).values():
                self.hand(value, mixed, depth + 1)

    def _hand_table(self, o: Any) -> None:
        """Note what a table holds: by its copy, which code of pandas makes."""
        if not self.is_made(o) and not self.has_noted(o, HasTable):
            with unobserved():
                self.add(o, HasTable(o.copy()))

    def _hand_array(self, array: np.ndarray, mixed: bool, depth: int) -> None:
        self.hand_array(array, mixed)
        if type(array) is not np.ndarray:
            self.walk(array)
        if array.dtype.hasobject:
            for element in np.ndarray.view(array, np.ndarray).ravel().tolist():
                self.learn(element)
                self.hand(element, mixed, depth + 1)

    def _hand_container(self, o: Any, mixed: bool, depth: int) -> None:
        if depth > _DEEPEST:
            self.refuse("containers in containers")
            return
        self.whole(o)
        if not (self.only_reads or self.is_made(o) or isinstance(o, (tuple, frozenset))):
            self.may_change(o)
        if type(o) not in CONTAINERS and is_users(type(o)):
            self.walk(o)
        keys = list(o) if isinstance(o, (*KEYED, *SETS)) else []
        elements = [o[key] for key in keys] if isinstance(o, KEYED) else keys or list(o)
        for element in (*keys, *elements):
            if type(element) not in ATOMS:
                self.hand(element, mixed, depth + 1)

    def returned(self, o: Any, depth: int = 0) -> None:
        """Note what is in a result: a kernel makes containers anew. Arrays may be arguments of its,
        and other objects are answered as they are."""
        kind = type(o)
        if is_plain(kind) or (kind is not np.ndarray and keys_of(o) is None):
            self.compared.add(id(o))
            return
        if kind not in CONTAINERS or depth > _DEEPEST:
            self.hand(o, mixed=True)
            return
        self.whole(o)
        for element in o.values() if isinstance(o, KEYED) else o:
            self.returned(element, depth + 1)

    def note_variable(self, environment: Any, word: Any) -> None:
        """Note a variable of the environment."""
        if not isinstance(word, str):
            return  # Python raises
        data, key = vars(environment)["_data"], environment.encodekey(word)
        if key in data:
            self.note(data, ITEM, key, data[key])
        else:
            self.note(data, MEMBER, key, False)

    def note_environment(self) -> None:
        """Note the variables of the environment."""
        environment = vars(os.environ)["_data"]
        self.add(environment, Equal(dict(environment)))

    # Elements

    def item(self, o: Any, key: Any, /) -> Any:
        """Read `o[key]`."""
        kind = type(o)
        if kind in PYTHONS and type(key) in ATOMS and self.is_made(o):
            return o[key]
        if kind in TENSORS:
            self.hand(key, mixed=True)
            return recorded_item(o, key)
        if is_plain(kind):
            return o[key]
        if isinstance(o, np.ndarray):
            return self._of_array(o, key)
        if isinstance(o, type):
            return self._of_class_by_item(o, key)
        method = self.special(o, "__getitem__")
        if method is not None:
            return self.called(method)(o, key)
        if is_sparse(kind) or holds_recorded(key):
            return self._by_c(recorded_item, o, key)
        if kind is os._Environ:
            self.note_variable(o, key)
            return o[key]
        if isinstance(o, KEYED):
            return self._of_dict(o, key)
        if isinstance(o, (list, tuple, deque)):
            return self._of_sequence(o, key)
        return self._by_c(recorded_item, o, key)

    def _by_c(self, function: Any, *operands: Any) -> Any:
        """The answer of C code, which reads its operands."""
        for one in operands:
            self.hand(one)
        return function(*operands)

    def _of_array(self, array: np.ndarray, key: Any) -> Any:
        self.hand(key)
        value = recorded_item(array, key)
        if not (type(value) is np.ndarray and value.base is not None):
            self.hand(array, mixed=type(value) in TENSORS)
            return self.made_array(value) if type(value) is np.ndarray else value
        return value

    def _of_class_by_item(self, cls: type, key: Any) -> Any:
        """An element of a class, by its metaclass or its own method."""
        method = self.special(cls, "__getitem__")
        if method is not None:
            return self.called(method)(cls, key)
        found = lookup(cls, "__class_getitem__")
        if type(found) is classmethod and type(found.__func__) is FunctionType:
            if is_users(found.__func__):
                self.note(cls, IN_CLASS, "__class_getitem__", found)
                return self.called(found.__func__)(cls, key)
        return cls[key]  # type: ignore[index]

    def _of_dict(self, o: Any, key: Any) -> Any:
        self.note_key(key)
        is_own = self.is_own(o) or self.wrote(o, key)
        if key in o:
            return o[key] if is_own else self._element(o, key)
        if not is_own:
            self.note(o, MEMBER, key, False)
        missing = self.special(o, "__missing__")
        if missing is not None:
            return self.called(missing)(o, key)
        factory = getattr(o, "default_factory", None)
        if factory is None:
            return o[key]
        if not self.is_own(o):
            self.keep(o)
            self.write(o, key, ITEM)
        value = o[key] = self.made(self.called(factory)())
        return value

    def note_key(self, key: Any) -> None:
        """Note how a key is compared, where the user's code says so; others may be by identity."""
        if is_plain(type(key)):
            return
        if type(key) in (tuple, frozenset):
            for one in key:
                self.note_key(one)
            return
        self.goes_by_identity |= type(key_of(key)) is Identity and not self.is_made(key)
        if is_users(type(key)):
            for word in ("__hash__", "__eq__"):
                if self.special(key, word) is not None:
                    self.walk(key)

    def _of_sequence(self, o: Any, key: Any) -> Any:
        if self.is_own(o):
            return o[key]
        if type(o) is tuple or isinstance(o, tuple):
            self.whole(o)
            return o[key]
        if isinstance(key, slice):
            self.whole(o)
            return self.made(o[key])
        if not isinstance(key, int):
            self.whole(o)
            return o[key]
        length = len(self.before(o))
        place = key + len(o) if key < 0 else key
        is_kept = id(o) not in self.former or (key >= 0 and not self.wrote(o, key))
        if not is_kept or not 0 <= place < length:
            self.note_length(o)
            if self.wrote(o, place) or not 0 <= place < min(length, len(o)):
                return o[key]
            return self.read(o, ITEM, place, o[key])
        return self._element(o, key)

    def _element(self, o: Any, key: Any) -> Any:
        """Read an element from outside, of which nothing more is to be noted then."""
        value = o[key]
        found = self.read(o, ITEM, key, value)
        if found is value:
            self._settle_item(o, key)
        return found

    def _settle_item(self, o: Any, key: Any) -> None:
        is_pythons = type(o) in PYTHONS and type(key) in ATOMS
        if is_pythons and id(o) not in self.former and id(o) not in self.paths:
            self.settled_items.add((id(o), key))

    def contains(self, x: Any, o: Any, /) -> bool:
        """Ask `x in o`."""
        kind = type(o)
        if kind in PYTHONS and type(x) in ATOMS and (id(o), x) in self.settled_items:
            return x in o
        if is_plain(kind):
            self.hand(x, mixed=kind in TENSORS)
            return x in o
        method = self.special(o, "__contains__")
        if method is not None:
            return bool(self.called(method)(o, x))
        if kind is os._Environ:
            self.note_variable(o, x)
            return x in o
        is_keyed = isinstance(o, (*KEYED, *SETS)) and not is_sparse(kind)
        if is_keyed and not holds_recorded(x):
            self.note_key(x)
            found = x in o
            if not self.is_own(o) and not self.wrote(o, x):
                self.note(o, MEMBER, x, found)
                if not found:
                    self._settle_item(o, x)
            return found
        if kind not in CONTAINERS and self.special(o, "__iter__") is not None:
            return any(e is x or bool(self.operate("eq", e, x)) for e in self.iterate(o, 1))
        return bool(self._by_c(operator.contains, o, x))

    def iterate(self, o: Any, depth: int, /) -> Any:
        """Answer that whose elements are read, to a depth."""
        kind = type(o)
        if kind in TENSORS and o.type.form != "array":
            raise TypeError(f"{class_name(o)!r} object is not iterable")
        if is_plain(kind) or answers_once(kind):
            return o
        if isinstance(o, np.ndarray) or is_sparse(kind):
            self.hand(o)
            return o
        method = self.special(o, "__iter__")
        if method is not None:
            found = self.called(method)(o)
            return found if depth == 1 else (self.iterate(one, depth - 1) for one in found)
        if isinstance(o, CONTAINERS):
            self.whole(o)
            if depth > 1:
                for element in o:
                    if isinstance(element, CONTAINERS) or not is_plain(type(element)):
                        self.iterate(element, depth - 1)
        elif kind in VIEWS:
            if not self.is_made(o):  # the mapping was noted
                self.iterate(o.mapping, 1)
            if depth > 1 and not isinstance(o, KeysView):
                for element in o.mapping.values():
                    if isinstance(element, CONTAINERS):
                        self.iterate(element, max(1, depth - 2))
        elif self.special(o, "__getitem__") is not None:
            return ByIndex(self, o)
        elif not is_users(kind):
            self.hand(o)
        return o

    def expand(self, o: Any, /) -> Any:
        """Announce that the items of a mapping are read."""
        if type(o) in CONTAINERS:
            self.whole(o)
        else:
            self.hand(o)
        return o

    # What Python asks of an object

    def truth(self, o: Any, is_kept: bool = False, /) -> Any:
        """Announce that Python asks whether an object is true. One that it does not keep is asked
        here, by the user's method."""
        kind = type(o)
        if is_plain(kind):
            return o
        if kind in CONTAINERS:
            if id(o) not in self.former and not self.is_own(o) and kind is not tuple:
                self.note(o, _TRUTH, None, bool(o))
            else:
                self.note_length(o)
            return o
        asked = next((one for one in _ASKED if lookup(kind, one) is not MISSING), "")
        if asked and (is_kept or self.special(o, asked) is None):
            self.hand(o)
            return o
        return self.truth_by_method(o)

    def truth_by_method(self, o: Any) -> Any:
        """Ask the user's method if an object is true; answer the object itself without one."""
        for word, answering in _ASKED.items():
            method = self.special(o, word)
            if method is not None:
                answer = self.called(method)(o)
                return answer if type(answer) in TENSORS else answering(answer)
        return o

    def operand(self, o: Any, /) -> Any:
        """Announce that Python hands an object to C code."""
        self.hand(o)
        return o

    def text(self, o: Any, /) -> Any:
        """Announce that Python makes text of an object: of arrays, by NumPy's print options."""
        self.shows = self.shows or not (type(o) in ATOMS or isinstance(o, type))
        self.hand(o)
        return o

    def operate(self, name: str, /, *operands: Any) -> Any:
        """An operation: by the user's method, or by C, which reads the operands."""
        function = getattr(operator, name)
        for one in operands:
            if not is_plain(type(one)):
                break
        else:
            return function(*operands)
        found = self._by_method(name, operands)
        if found is not NotImplemented:
            return found
        first = operands[0]
        if name[0] == "i" and name not in ("invert",) and not is_plain(type(first)):
            self.change(first)
        mixed = any(type(one) in TENSORS for one in operands)
        for one in operands:
            self.hand(one, mixed)
        if mixed or any(hasattr(type(one), "__tracejit_sparse__") for one in operands):
            operands = tuple([recorded(one) if is_matrix(type(one)) else one for one in operands])
        result = function(*beside_twins(operands))
        is_array = type(result) is np.ndarray and result.base is None
        is_kept = any(result is one for one in operands)
        if is_kept or not (is_array or type(result) in CONTAINERS):
            return result
        return self.made_array(result) if is_array else self.made(result)

    def _by_method(self, name: str, operands: tuple[Any, ...]) -> Any:
        """The answer of the user's method for an operation; NotImplemented where C has it."""
        word = name.rstrip("_")
        a = operands[0]
        if name in UNARY:
            method = self.special(a, f"__{word}__")
            return NotImplemented if method is None else self.called(method)(a)
        b = operands[1]
        tries: list[tuple[Any, str, Any]] = []
        if name in _REFLECTED:
            tries = [(a, f"__{word}__", b), (b, _REFLECTED[name], a)]
        else:
            if name[0] == "i" and name != "invert":
                tries, word = [(a, f"__{word}__", b)], word[1:]
            pair = [(a, f"__{word}__", b), (b, f"__r{word}__", a)]
            is_first = type(b) is not type(a) and isinstance(b, type(a))
            tries += reversed(pair) if is_first else pair
        for holder, method_name, other in tries:
            method = self.special(holder, method_name)
            if method is not None:
                answer = self.called(method)(holder, other)
                if answer is not NotImplemented:
                    return answer
            elif name == "ne" and self.special(holder, "__eq__") is not None:
                equal = self._by_method("eq", operands)
                return equal if equal is NotImplemented else not equal
            elif not _declines(holder, method_name):
                break
        return NotImplemented

    # Writes

    def keep(self, o: Any) -> None:
        """Keep a container as it was."""
        if id(o) not in self.former and not self.is_made(o):
            self.may_change(o)
            self.former[id(o)] = dict(o) if isinstance(o, KEYED) else list(o)
            self.known.setdefault(id(o), o)

    def change(self, o: Any) -> None:
        """Note all of an object that is about to be changed in a way that nobody follows."""
        if isinstance(o, np.ndarray):
            self.keep_contents(o)
        elif isinstance(o, CONTAINERS) and not isinstance(o, (tuple, frozenset)):
            if not self.is_own(o):
                self.whole(o)
                self.may_change(o)
                self.write(o, ALL)


class _Truth:
    """An object of which `bool` answers this, if that is an answer."""

    __slots__ = ("_answer",)

    def __init__(self, answer: Any) -> None:
        """Answer `answer`."""
        self._answer = answer

    def __bool__(self) -> Any:
        return self._answer


class _Length:
    """An object of which `len` answers this."""

    __slots__ = ("_answer",)

    def __init__(self, answer: Any) -> None:
        """Answer `answer`."""
        self._answer = answer

    def __len__(self) -> Any:
        return self._answer


_ASKED: dict[str, Callable[[Any], Any]] = {"__bool__": _Truth, "__len__": _Length}
"""The methods that Python asks if an object is true, in order."""


class ByIndex:
    """The elements of an object that has no `__iter__`, by their indices."""

    __slots__ = ("_index", "_o", "_reads")

    def __init__(self, reads: Containers, o: Any) -> None:
        """Begin with the first element of `o`."""
        self._reads, self._o, self._index = reads, o, 0

    def __iter__(self) -> ByIndex:
        return self

    def __next__(self) -> Any:
        try:
            element = self._reads.item(self._o, self._index)
        except IndexError:
            raise StopIteration from None
        self._index += 1
        return element

    def __length_hint__(self) -> int:
        length = self._reads.called(len)(self._o) if hasattr(self._o, "__len__") else 0
        return max(0, length - self._index)


def holds_recorded(o: Any, depth: int = 0) -> bool:
    """Return whether something recorded is in an object or in its containers."""
    kind = type(o)
    if hasattr(kind, "__tracejit_record__"):
        return True
    if kind not in (list, tuple, dict) or depth > _DEEPEST:
        return False
    return any(holds_recorded(one, depth + 1) for one in (o.values() if kind is dict else o))


def is_hashable(key: Any) -> bool:
    """Return whether a key can stand in a dict; the user's method is not asked."""
    if type(key).__hash__ is None:
        return False
    return all(map(is_hashable, key)) if type(key) is tuple else True


def _declines(holder: Any, method: str) -> bool:
    """Return whether Python's own method of an object leaves an operation to the other one."""
    found = lookup(type(holder), method)
    if found is MISSING or type(holder) in (bool, int, float, complex, type(None)):
        return True
    return bool(found in _DEFAULTS)


_DEFAULTS = [vars(object)[f"__{word}__"] for word in ("eq", "ne", "lt", "le", "gt", "ge")]
_TRUTH = PathStep(
    lambda held, none: bool(held),
    lambda held, none, bind: f"{bind(bool)}({held})",
    lambda held, none: held,
)


def is_tracejits(o: Any) -> bool:
    """Return whether an object is tracejit's own, and stands for nothing of the user's."""
    is_own = module_name(type(o)).partition(".")[0] == "tracejit"
    return is_own and "__wrapped__" not in (dict_of(o) or {})
