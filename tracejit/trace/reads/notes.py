"""Notes of what is read: (object, step, key) -> value, once each, as it was before the recording.

An object is from outside unless the recording has made it. One that nothing led to, such as what C
code answers, counts as from outside, too: a note on an object that nobody else holds always holds.
What the function has written itself is not a dependency afterwards.
"""

from __future__ import annotations

import inspect
import io
import sys
from collections import Counter
from collections.abc import Callable, Collection
from enum import Enum
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    UnionType,
)
from typing import Any

import numpy as np

from tracejit.convert.operators import TYPES_OF_C, Place
from tracejit.support.codes import is_made_of_another
from tracejit.support.errors import TracejitError
from tracejit.support.words import word_of
from tracejit.trace.capture.ambient import ambient_states
from tracejit.trace.capture.captures import Captures
from tracejit.trace.capture.freezing import FrozenArrays
from tracejit.trace.guards.access_paths import (
    ATTRIBUTE,
    CELL,
    ITEM,
    STATE,
    AccessPath,
    PathStep,
)
from tracejit.trace.guards.conditions import Condition, contents_of
from tracejit.trace.guards.contents import can_change, memory_of, owner_of
from tracejit.trace.guards.exactness import ATOMS
from tracejit.trace.guards.guards import (
    Equal,
    Guard,
    HasDtype,
    HasShape,
    Is,
    Never,
    OfType,
    Static,
    Without,
    same_value,
)
from tracejit.trace.guards.reads import answers_once, is_foreign_module, module_name
from tracejit.trace.recording.before import Before, Walks
from tracejit.trace.recording.mutable_attributes import NUMBERS, Escaped, Loan, dict_of
from tracejit.trace.recording.record import current_recording
from tracejit.trace.structure.draws import is_random
from tracejit.trace.structure.wrapped import is_of_dask
from tracejit.trace.tensor.tensor import TENSORS, Tensor

MISSING = type("Missing", (), {"__repr__": lambda self: "missing"})()
_BOUND = (BuiltinFunctionType, MethodWrapperType, MethodType)
OF_THREADS = frozenset(("threading", "_thread"))
"""The modules of objects by which threads wait for one another: their state is not a value."""
ALL = object()
"""The key of a container that was noted whole before it was changed."""

PLAIN_KINDS = {
    *ATOMS, *TENSORS, np.ufunc, np.dtype, BuiltinFunctionType, MethodWrapperType, CodeType, range,
    slice, object, type(...), type(NotImplemented), UnionType, inspect.Parameter,
}  # fmt: skip
NUMBERS_AND_TEXT = frozenset(ATOMS) - {type(None)}
_PYTHONS_OWN = frozenset((*TYPES_OF_C, FunctionType, MethodType, ModuleType, type))
_CHANGING = _PYTHONS_OWN - PLAIN_KINDS
"""Classes of Python's whose objects are not plain."""
PYTHONS = frozenset((list, tuple, dict))
"""The containers whose methods are Python's own."""
_MOST_STEPS = 16
_SPACES = (type, ModuleType, dict)
"""Objects whose names are read by other ways, too."""


class LateCaptures(Captures):
    """A walk while a function is recorded: what is recorded by then, and converted functions, are
    no state from before."""

    def visit(self, value: Any, place: AccessPath, name: str) -> None:
        kind = type(value)
        is_made = kind is FunctionType and is_made_of_another(value)
        if not (is_made or kind in TENSORS or kind.__module__ in OF_THREADS):
            super().visit(value, place, name)


class WholeCaptures(LateCaptures):
    """A walk from an object that any code may read, over all its attributes."""

    def begin(self) -> None:
        super().begin()
        self.habits |= {"look up", "miss"}


class Notes:
    """The values that one recording has read.

    `made` are the objects that it has made, and those that libraries have as constants. `arrays`
    are those from outside, `mixed` those that were operands of something recorded, which may take
    them anew at each call. Of attributes and names that are `settled`, by the id of the holder or
    the code, nothing is left to note, and nothing of `settled_items`, by the id of the container
    and the key. `refused` says what was read that notes cannot tell; where no
    walk runs beside and the recording is `alone`, it ends there. `initial` learns how everything
    was that is about to be changed, `assigned` has the attributes that are assigned, with what they
    held. `moves` records a number that is another from call to call. `apart` are the attributes
    of the `loan`, by the id of their object, that nobody but operators sees changed.
    """

    def __init__(self, before: Before | None = None) -> None:
        """Begin with nothing."""
        self.alone = before is not None
        self.initial = Before() if before is None else before
        self.labels: dict[int, str] = {}
        self.habits: set[str] = set()
        self.assigned: list[tuple[Any, str, Any]] = []
        self.named: list[tuple[Any, str]] = []
        self.changed: dict[int, Any] = {}
        self.conditions: dict[Any, Condition] = {}
        self.contents: dict[int, Condition] = {}
        self.absent: dict[int, tuple[AccessPath, set[str]]] = {}
        self.paths: dict[int, AccessPath] = {}
        self.found_at: dict[int, AccessPath] = {}
        self.moves: Callable[[Any, PathStep, Any, Any], Any] | None = None
        self.moving: dict[tuple[int, PathStep, Any], Any] = {}
        self.loan: Loan | None = None
        self.apart: dict[int, set[str]] = {}
        self.known: dict[int, Any] = {}
        self.made_here: dict[int, Any] = {}
        self.gone_over: dict[int, Any] = {}
        self.written: dict[int, tuple[Any, dict[Any, tuple[PathStep | None, Any]]]] = {}
        self.written_arrays: dict[int, np.ndarray] = {}
        self.former: dict[int, Any] = {}
        self.arrays: dict[int, np.ndarray] = {}
        self.mixed: dict[int, np.ndarray] = {}
        self.walks: dict[int, tuple[Any, Captures | None]] = {}
        self.compared: set[int] = set()
        self.only_reads = False
        self.copies_tables = False
        self.goes_by_identity = False
        self.settled: set[tuple[int, str]] = set()
        self.settled_items: set[tuple[int, Any]] = set()
        self.places: list[Place] = []
        self.names: set[str] = set()
        self.modules: set[str] = set()
        self.shows = False
        self.refused = ""
        self.frozen: FrozenArrays | None = None

    def unsettle(self) -> None:
        """Let all be noted again that is met."""
        self.settled.clear()
        self.settled_items.clear()
        for place in self.places:
            place.forget()
        self.places.clear()

    def note(self, holder: Any, step: PathStep, key: Any, value: Any) -> Any:
        """Note the value that a step from `holder` leads to; answer it."""
        place = id(holder), step, key_of(key)
        if place not in self.conditions and type(value) not in TENSORS:
            path = AccessPath(self.path_of(holder), step, key)
            self.conditions[place] = Condition(path, guard_of(value))
            self.learn(value, (holder, key))
            if type(value) not in ATOMS:
                self.found_at.setdefault(id(value), path)
        return value

    def read(self, holder: Any, step: PathStep, key: Any, value: Any) -> Any:
        """Note the same; answer it, or what is recorded of a number that is another from call to
        call."""
        if self.moves is not None and (type(value) in NUMBERS or isinstance(value, np.generic)):
            place = id(holder), step, key_of(key)
            if place in self.moving:
                if value is not self.moving[place]:
                    raise Escaped  # written by code that nobody follows
                return self.moves(holder, step, key, value)
            is_lasting = type(key) in ATOMS and id(holder) not in self.paths
            if is_lasting and place not in self.conditions and not self._may_be_written(step, key):
                number = self.moves(holder, step, key, value)
                if number is not None:
                    self.moving[place] = value
                    return number
        return self.note(holder, step, key, value)

    def _may_be_written(self, step: PathStep, key: Any) -> bool:
        """Return whether what was written may stand at a place, by another way that leads there:
        the class of an object, the dict of a module."""
        if self.walks:
            return True
        if step is ITEM or step is CELL:
            return False
        return any(
            key in keys or key_of(ALL) in keys
            for holder, keys in self.written.values()
            if isinstance(holder, _SPACES)
        )

    def _is_moving(self, holder: Any, key: Any) -> bool:
        """Return whether what is about to be written was read as a number that moves, maybe by
        another way that leads there."""
        if not self.moving:
            return False
        is_space = isinstance(holder, _SPACES)
        own, all_keys = key_of(key), key is ALL
        return any(
            (one == id(holder) or (is_space and step is not ITEM and step is not CELL))
            and (word == own or all_keys)
            for one, step, word in self.moving
        )

    def origin_of(self, path: AccessPath) -> tuple[int, str]:
        """The object that a path begins at, as its holder was found, by its id, and the steps."""
        word = ""
        for _ in range(_MOST_STEPS):
            while path.step is not None:
                word, path = path.step.label("", path.argument) + word, path.held
            if id(path.held) not in self.found_at:
                break
            path = self.found_at[id(path.held)]
        return id(path.held), word

    def path_of(self, holder: Any) -> AccessPath:
        """The path at which a guard finds an object: the object itself, but where it must not keep
        that alive."""
        return self.paths.get(id(holder)) or AccessPath(holder)

    def add(self, holder: Any, guard: Guard, step: PathStep | None = None, key: Any = None) -> None:
        """Note that an object, or what a step from it leads to, passes a guard: one of a kind for
        each step and key, and without a step for each key."""
        path = self.path_of(holder)
        path = path if step is None else AccessPath(path, step, key)
        self.conditions.setdefault((id(holder), type(guard), step, key), Condition(path, guard))

    def has_noted(self, holder: Any, guard: type[Guard]) -> bool:
        """Return whether an object passes a guard of this kind."""
        return (id(holder), guard, None, None) in self.conditions

    def add_absent(self, namespace: Any, path: AccessPath, word: str) -> None:
        """Note that a dict, which stands at `path`, does not have a key."""
        self.absent.setdefault(id(namespace), (path, set()))[1].add(word)

    def learn(self, value: Any, place: tuple[Any, Any] | None = None) -> None:
        """Know an object to be from outside; it was found in a holder, under a key."""
        kind = type(value)
        if place is not None and kind not in ATOMS:
            self._name(value, *place)
        if kind in _BOUND and not isinstance(value.__self__, ModuleType | type):
            self.learn(value.__self__)
        if id(value) in self.known or is_plain(kind) or id(value) in self.made_here:
            return
        if is_of_library(value):
            self.made_here[id(value)] = value
            return
        self.known[id(value)] = value
        if issubclass(kind, np.ndarray):
            self.arrays[id(value)] = value
        elif answers_once(kind) and not (isinstance(value, io.IOBase) and not value.readable()):
            self.add(value, Never())
            self.initial.note_holder(value)
        elif kind is tuple:
            for index, element in enumerate(value):
                self.learn(element, (value, index))
        elif is_of_dask(kind):
            self.refuse("an array of Dask's")
        elif is_random(value) or hasattr(kind, "numpy_generator"):
            self.refuse("a generator of random numbers")

    def _name(self, value: Any, holder: Any, key: Any) -> None:
        """Name an object by the place where it was first found."""
        if id(value) not in self.labels:
            self.labels[id(value)] = self.name_at(holder, key)

    def name_at(self, holder: Any, key: Any) -> str:
        """The name of what was found in a holder, under a key."""
        word = word_of(key) if isinstance(key, str | int) else ""
        return word if word.isidentifier() else f"{self.labels.get(id(holder), 'captured')}_{word}"

    def made(self, o: Any, /) -> Any:
        """Know an object to be made by the recording, unless it is known to be from outside."""
        if id(o) not in self.known and not is_plain(type(o)):
            self.made_here[id(o)] = o
        return o

    def made_array(self, array: np.ndarray, /) -> Any:
        """Know an array to be made by the recording; answer it, or what is recorded of it."""
        recording = current_recording()
        if recording is not None and recording.made_arrays.is_recorded(array):
            return np.copy(Tensor(recording.lift(array), recording))
        return self.made(array)

    def let_go(self) -> None:
        """Forget what the recording has made and nobody else holds any more."""
        held = self.made_here
        while gone := [key for key in held if _references(held, key) <= _BY_ONE]:
            self.unsettle()
            for key in gone:
                del held[key]

    def is_made(self, o: Any) -> bool:
        """Return whether the recording has made an object, or a library has it as a constant."""
        return id(o) in self.made_here

    def refuse(self, what: str) -> None:
        """Say that something was read which notes cannot tell."""
        self.refused = self.refused or what
        if self.alone:
            raise Walks(what)

    def note_type(self, o: Any) -> None:
        """Note the class of an object."""
        if not self.is_made(o) and not is_plain(type(o)):
            self.add(o, OfType(type(o)))

    # What was written

    def write(self, holder: Any, key: Any, step: PathStep | None = None) -> None:
        """Know that the recording writes an attribute, an item, or, under ALL, everything. `step`
        leads there."""
        if self._is_moving(holder, key):
            raise Escaped  # its number is an argument, which nobody writes
        if step is not None:
            self._change(holder, key, step)
        if isinstance(holder, type) or (type(key) is str and key == "__class__"):
            self.unsettle()
        self.written.setdefault(id(holder), (holder, {}))[1][key_of(key)] = step, key

    def may_change(self, o: Any) -> None:
        """Let it be known how a container is that something may be put into."""
        self.initial.note_holder(o)
        self.changed[id(o)] = o

    def _change(self, holder: Any, key: Any, step: PathStep) -> None:
        """Let it be known how a name or container was that is about to be changed."""
        if step is ITEM:
            self.may_change(holder)
            return
        name = "cell_contents" if step is CELL else key
        is_attribute = step is ATTRIBUTE and not isinstance(holder, ModuleType)
        own = dict_of(holder) if is_attribute else None
        self.initial.note_name(holder, name, own)
        self.named.append((holder, name))
        if own is not None and key in own and not self.wrote(holder, key):
            self.assigned.append((holder, key, own[key]))

    def wrote(self, holder: Any, key: Any) -> bool:
        """Return whether a value that is read now does not depend on what was before."""
        found = self.written.get(id(holder))
        return found is not None and (key_of(key) in found[1] or key_of(ALL) in found[1])

    # Arrays

    def hand_array(self, array: np.ndarray, mixed: bool = False) -> None:
        """Note the contents of an array that something else than a recorded operation gets."""
        for one in self._sources(array):
            if mixed:
                self.mixed[id(one)] = one
            elif id(one) not in self.contents:
                self.contents[id(one)] = Condition(self.path_of(one), contents_of(one))
                self.initial.note_array(one, self.contents[id(one)])

    def keep_contents(self, array: np.ndarray) -> None:
        """Note the contents of an array that is written to, where they were read before."""
        for one in self._sources(array):
            if id(one) not in self.written_arrays:
                self.initial.note_array(one, Condition(AccessPath(one), contents_of(one)))
            self.written_arrays[id(one)] = one
            if id(one) in self.mixed:
                self.hand_array(one)

    def _sources(self, array: np.ndarray) -> list[np.ndarray]:
        """The arrays from outside that an array may be a view of."""
        if id(array) in self.arrays:
            return [array]
        memory = memory_of(array)
        return [one for one in self.arrays.values() if memory_of(one) is memory]

    # Code that is not converted

    def walk(self, o: Any) -> None:
        """Guard all that code which is not converted may read of an object, now."""
        if id(o) in self.walks:
            return
        if self.apart:
            raise Escaped
        self.walks[id(o)] = o, None
        kind = LateCaptures if type(o) is FunctionType else WholeCaptures
        try:
            captures = kind([o])
        except (TracejitError, RuntimeError, LookupError, AttributeError) as error:
            self.refuse(str(error))
            return
        if captures.generators:
            self.refuse("a generator of random numbers")
        if captures.does("ask type") or captures.does("ask identity"):
            self.refuse("the type or the identity of an array")
        self.initial.note_walk(captures)
        self.walks[id(o)] = o, captures

    # The whole

    def settle(self, kept: Collection[tuple[int, str]]) -> None:
        """At the end of the function, note what it wrote as it is now: a kernel serves only where
        to write that once more would change nothing. It writes itself the attributes that are
        `kept`, by the id of the object and the name."""
        self.alone = False
        for holder, keys in list(self.written.values()):
            for step, key in keys.values():
                if step is not None and (id(holder), key_of(key)) not in kept:
                    self.settle_one(holder, step, key)
        for array in self.written_arrays.values():
            self.hand_array(array)

    def settle_one(self, holder: Any, step: PathStep, key: Any) -> None:
        """Note what a step leads to now that was written."""
        raise NotImplementedError

    def fixed(self) -> frozenset[int] | None:
        """The objects, by id, that count as they are; None if all do."""
        if self.refused or self.goes_by_identity or self.written.keys() - self.made_here.keys():
            return None
        fixed = {*self.compared, *self.walks, *self.changed, *self.former, *self.paths}
        shared = Counter(id(memory_of(array)) for array in self.arrays.values())
        for key, array in self.arrays.items():
            is_whole = can_change(array) and array.flags.forc
            if not is_whole or shared[id(memory_of(array))] > 1:
                fixed.add(key)
        return frozenset(fixed)

    def all(self, hidden: Callable[[np.ndarray], bool] = lambda array: False) -> list[Condition]:
        """Every condition, in the order of reads, contents last. `hidden` says which arrays the
        kernel takes anew at each call; what NumPy indexes by is a constant even so."""
        if self.refused:
            return [Condition(AccessPath(self), Never())]
        for array in self.mixed.values():
            if array.dtype.kind not in "fc" or not hidden(array):
                self.hand_array(array)
        found = [*map(self._by_identity, self.conditions.values())]
        found += [Condition(path, Without(frozenset(x))) for path, x in self.absent.values()]
        for key, array in self.arrays.items():
            if self.frozen is not None and key not in self.written_arrays:
                self.frozen.freeze(array)
            found += self._beside_contents(array)
        for state in ambient_states(self.names, self.modules, self.shows):
            found.append(Condition(AccessPath(state).then(STATE, state.label), Equal(state.read())))
        for _, captures in self.walks.values():
            found += captures.conditions.all() if captures is not None else []
        return [*found, *sorted(self.contents.values(), key=lambda one: one.guard.bytes)]

    def _by_identity(self, one: Condition) -> Condition:
        """The condition of a value; of one that `is` was asked of, by identity."""
        is_asked = type(one.guard) is Static and id(one.guard.wanted) in self.compared
        return Condition(one.path, Is(one.guard.wanted)) if is_asked else one

    def _beside_contents(self, array: np.ndarray) -> list[Condition]:
        """The conditions of an array beside its contents, which need no comparison where nobody can
        write to it."""
        path = self.path_of(array)
        if can_change(array):
            dtype, shape = HasDtype(array.dtype), HasShape(array.shape)
            return [Condition(path, dtype), Condition(path, shape)]
        self.contents.pop(id(array), None)
        writeable = AccessPath(owner_of(array)).attribute("flags").attribute("writeable")
        return [Condition(writeable, Is(False))]


def _references(held: dict[int, Any], key: int) -> int:
    return sys.getrefcount(held[key])


_BY_ONE = _references({0: object()}, 0)


def is_plain(kind: type) -> bool:
    """Return whether objects of a class have nothing in them that changes."""
    if kind in PLAIN_KINDS:
        return True
    if kind in _CHANGING:
        return False
    is_recorded = hasattr(kind, "__tracejit_record__") or hasattr(kind, "__tracejit_sparse__")
    is_foreign_enum = issubclass(kind, Enum) and is_foreign_module(module_name(kind))
    if issubclass(kind, np.generic | np.dtype) or is_recorded or is_foreign_enum:
        PLAIN_KINDS.add(kind)
        return True
    return False


def guard_of(value: Any) -> Guard:
    """The guard of a value that is read: numbers and text by value, all else by identity."""
    kind = type(value)
    if kind not in ATOMS and not issubclass(kind, np.generic):
        return Is(value)
    is_single = value is None or kind is bool
    return same_value(value) if is_single or value != value else Static(value)


def key_of(key: Any) -> Any:
    """A key that tells keys apart without a question to their classes."""
    kind = type(key)
    if kind in ATOMS:
        return key
    if kind is tuple and all(type(one) in ATOMS for one in key):
        return key
    return Identity(key)


class Identity:
    """An object as a key, by its identity."""

    __slots__ = ("o",)

    def __init__(self, o: Any) -> None:
        """Hold `o`."""
        self.o = o

    def __eq__(self, other: object) -> bool:
        return type(other) is Identity and other.o is self.o

    def __hash__(self) -> int:
        return id(self.o)


def is_users(thing: Any) -> bool:
    """Return whether a class or function was written by the user, or in a library whose code is
    read."""
    if type(thing) is type and thing in _PYTHONS_OWN:
        return False
    return not is_foreign_module(module_name(thing))


def is_of_library(value: Any) -> bool:
    """Return whether an instance of a library's class is one that its module has by a name."""
    kind = type(value)
    if kind.__module__ in _OF_PYTHON or not is_foreign_module(module_name(kind)):
        return False
    module = sys.modules.get(module_name(kind))
    return module is not None and any(one is value for one in list(vars(module).values()))


_OF_PYTHON = frozenset(("builtins", "types", "functools", "numpy", "collections", "operator"))
