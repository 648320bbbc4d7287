"""Sides of conditions: code of which both sides run may only compute, by a closed list.

A side may call what NumPy, SciPy, `math` and Python's own functions compute, and the user's
functions, under the same rules. It may change what it has made itself. All else is refused before
it is done: the condition is then recorded for the side that the call takes.
"""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Mapping, Sequence
from contextlib import suppress
from operator import length_hint
from types import BuiltinFunctionType, FunctionType, MethodType, MethodWrapperType, ModuleType
from typing import Any

import numpy as np

from tracejit.convert.glue import UNSET
from tracejit.convert.operators import Operators
from tracejit.ir.dims import Dim
from tracejit.ir.subgraph import Placeholder
from tracejit.support.codes import code_of
from tracejit.support.cost_model import costs
from tracejit.trace.control_flow.elements import elements_of
from tracejit.trace.control_flow.forks import Attempt, Fork, Untold, chosen, is_unbound
from tracejit.trace.control_flow.rounds import Rounds
from tracejit.trace.control_flow.turns import Turns
from tracejit.trace.convert.routes import hands_over, observing
from tracejit.trace.guards.reads import answers_once, module_name
from tracejit.trace.reads.attributes import lookup
from tracejit.trace.reads.calls import READING, names_of
from tracejit.trace.reads.containers import CONTAINERS
from tracejit.trace.reads.frames import sees_frames
from tracejit.trace.reads.notes import is_plain, is_users
from tracejit.trace.reads.noting import Noting
from tracejit.trace.recording.numbers import origins_of
from tracejit.trace.recording.record import Recording, current_recording
from tracejit.trace.recording.reruns import (
    FOR,
    BetterApart,
    GivenUp,
    MustNotFork,
    Refused,
)
from tracejit.trace.structure.trees import is_named_tuple
from tracejit.trace.tensor.namespaces import ListUfunc
from tracejit.trace.tensor.tensor import TENSORS

_BUILTINS = frozenset(
    getattr(builtins, name)
    for name in (
        "abs all any ascii bin bool bytes callable chr complex delattr dict divmod enumerate "
        "filter float format frozenset getattr hasattr hash hex int isinstance issubclass iter len "
        "list map max min object oct ord pow range repr reversed round set setattr slice sorted "
        "str sum tuple type zip"
    ).split()
)
_TRANSFORMS = frozenset(
    f"tracejit.api.{name}" for name in ("gradients", "derivatives", "jacobian", "hessian")
)
"""The modules of functions that make functions, whose calls are recorded."""
_TRANSFORMED = "tracejit.specialise.function"
"""The module of the class of what they make."""
_ITERATORS = frozenset((zip, enumerate, map, filter, reversed, iter))
_PACKAGES = frozenset(("numpy", "scipy", "math", "cmath", "operator", "_operator"))
_NATIVE = frozenset(
    (FunctionType, BuiltinFunctionType, MethodWrapperType, np.ufunc, type(np.sum), ListUfunc)
)
_WRITING_METHODS = frozenset(
    ("sort", "fill", "put", "itemset", "partition", "resize", "setflags", "setfield", "byteswap")
)
_FIXED = frozenset(map(type, (iter([]), iter(()), iter(range(0)), iter(np.zeros(1)))))
EFFECTS = frozenset(
    (
        "assign", "at", "callback", "copyto", "fill_diagonal", "fromfile", "load", "place", "put",
        "put_along_axis", "putmask", "save", "savetxt", "savez", "savez_compressed",
        "set_printoptions", "set_trace", "seterr", "seterrcall", "setbufsize",
    )
)  # fmt: skip
"""The names of functions that do more than compute."""
_SINGLE = ("shows", "goes_by_identity")
"""What is noted in a variable of its own."""
_OF_TUPLES = frozenset(("_replace", "_make", "_asdict"))
"""The functions of named tuples that Python makes."""
_SCALARS = (np.generic, np.ndarray, BaseException)


MOST_NODES = 60_000
"""Nodes in sides of one recording; from there on each call takes one side."""
MOST_STEPS = 200
"""Steps of a loop that are all recorded, although one may leave it."""


def is_short(o: Any) -> bool:
    """Return whether a loop may go on over an object, although the user's has ended: nothing else
    sees it, and it has few elements."""
    kind = type(o)
    if kind in (zip, enumerate):
        return any(
            0 < length_hint(one) <= MOST_STEPS for one in o.__reduce__()[1][:2] if _is_fixed(one)
        )
    if kind in TENSORS or kind in (range, list, tuple, np.ndarray):
        return 0 < len(o) <= MOST_STEPS
    return False


def _is_fixed(iterator: Any) -> bool:
    return type(iterator) in _FIXED


class Forking(Noting):
    """Reads of a recording in which both sides of conditions run. `watch` sees to that."""

    watch: Watched | None = None

    def operators(self) -> Operators:
        """The operators by which reads are noted."""
        raise NotImplementedError

    @property
    def free(self) -> Mapping[int, Any]:
        """The objects, by id, that may be changed without a note."""
        return self.made_here

    def branch(self, test: Any, where: int, number: int, /, *carried: Any) -> Any:
        """Answer True or False for a condition, or its fork."""
        test, place = self.truth(test), (where, number)
        recording = current_recording()
        if recording is None or not _may_fork(recording, test, place):
            return bool(test)
        watch = self.watching(recording, place)
        _check_unknown(watch.forks, test)
        choice = test if test.dtype.kind == "b" else test != 0
        fork = Fork(recording, choice, carried, watch, place)
        watch.forks.append(fork)
        return fork

    def turns(self, answer: Any, where: int, number: int, /, *carried: Any) -> Turns | None:
        """Record one step of a loop for all; None if they are recorded one by one."""
        place, recording = (where, number), current_recording()
        if recording is None or not _may_fork(recording, answer, place):
            return None
        watch = self.watching(recording, place)
        turns = Turns(recording, carried, watch, place, answer)
        watch.forks.append(turns)
        return turns

    def rounds(
        self,
        o: Any,
        where: int,
        number: int,
        has_loop: bool,
        has_if: bool,
        flags: int,
        new: int,
        /,
        *carried: Any,
    ) -> Any:
        """Record one step of a loop over elements for all; None if Python goes over them."""
        place, recording = (where, number), current_recording()
        if recording is None or not _may_run(recording, place):
            return None
        elements = elements_of(o, self.gone_over)
        if elements is None:
            return None
        if type(elements.count) is int:
            is_large = has_loop or has_if or flags > 0
            if elements.count <= self.most_recorded(recording, where, is_large):
                return None
        elif type(elements.count) is Dim or new or any(is_unbound(x, UNSET) for x in carried):
            if not elements.count > 0:
                return None
        self.hand(o, mixed=True)
        watch = self.watching(recording, place)
        watch.check_count(elements.count)
        rounds = Rounds(recording, carried, watch, place, elements, has_loop, flags, new)
        watch.forks.append(rounds)
        return rounds

    def most_recorded(self, recording: Recording, where: int, is_large: bool) -> int:
        """The number of steps of a loop that are recorded one by one: more in a function in which
        another one is, which it may be part of; fewer where it `is_large`."""
        given_up = (recording.forks or {}).items()
        if any(one.recorded is FOR and place[0] == where for place, one in given_up):
            return costs().recorded_known_steps
        forks = [] if self.watch is None else self.watch.forks
        is_outer = is_large or any(isinstance(one, Turns) for one in forks)
        return costs().recorded_outer_steps if is_outer else costs().recorded_steps

    def watching(self, recording: Recording, place: tuple[int, int]) -> Watched:
        """Answer who sees to the sides. Raises Refused if the side at a place runs."""
        if self.watch is None:
            self.watch = Watched(self)
        self.watch.recording = recording
        if any(fork.place == place for fork in self.watch.forks):
            raise Refused("it calls itself")
        return self.watch

    def ask(self, x: Any, is_negated: bool, /) -> Any:
        """Ask whether a part of a condition is true, or is not."""
        x = self.truth(x)
        if type(x) not in TENSORS or x.shape:
            return bool(x) is not is_negated
        if x.dtype.kind != "b":
            return x == 0 if is_negated else x != 0
        return np.logical_not(x) if is_negated else x

    def check(self, test: Any, is_error: bool, /) -> Any:
        """Ask for the test of what raises if it is true, or false: the outcome where nothing is
        raised, if code that runs for more than this call is being recorded."""
        recording = current_recording()
        forks = [] if self.watch is None else [one for one in self.watch.forks if one.is_open]
        if recording is None or not forks:
            return test
        test = self.truth(test)
        if not _is_asked(recording, test):
            return test
        _check_unknown(forks, test)
        failed = test if test.dtype.kind == "b" else test != 0
        forks[-1].checks.append(failed if is_error else np.logical_not(failed))
        return not is_error

    def flag(self, o: Any, /) -> Any:
        """Begin a loop over an object that may be left."""
        reason = f"the loop around it has an iterator, or more than {MOST_STEPS} steps"
        return False if is_short(o) else Untold(reason)

    def identical(self, a: Any, b: Any, /) -> bool:
        recording = current_recording()
        if type(a) in TENSORS and type(b) in TENSORS and a is not b:
            if recording is not None and recording.side_nodes:
                raise MustNotFork  # a condition may have chosen the one or the other
        return super().identical(a, b)

    def extreme(self, is_largest: bool, elements: Sequence[Any]) -> Any:
        """The largest or smallest of numbers, some of which are recorded, as Python finds it."""
        best = elements[0]
        for one in elements[1:]:
            best = _chosen_of(self.operate("gt" if is_largest else "lt", one, best), one, best)
        return best


def _chosen_of(test: Any, first: Any, second: Any) -> Any:
    """One of two numbers, whichever a test says; by a node where both may be recorded."""
    recording = current_recording()
    if recording is not None and _may_fork(recording, test, (0, 0)):
        choice = test if test.dtype.kind == "b" else test != 0
        with suppress(Refused):
            return chosen(recording, choice, first, second)
    return first if test else second


def _check_unknown(forks: Sequence[Attempt], test: Any) -> None:
    """Raise BetterApart if Python would know the outcome of a test at each step."""
    if any(type(one) is Rounds and one.knows(test._value) for one in forks):
        raise BetterApart("its outcome is known at each step")


def _is_asked(recording: Recording, test: Any) -> bool:
    """Return whether a test is a recorded truth value or number."""
    return type(test) in TENSORS and test._recording is recording and test.shape == ()


def _may_fork(recording: Recording, test: Any, place: tuple[int, int]) -> bool:
    return _is_asked(recording, test) and _may_run(recording, place)


def _may_run(recording: Recording, place: tuple[int, int]) -> bool:
    """Return whether code at a place may run for more than this call."""
    if recording.forks is None or place in recording.forks or place in recording.raising:
        return False
    sizes = recording.graph.sizes
    is_plain = not (recording.windows or recording.probes or recording.region)
    is_plain &= recording.side_nodes < MOST_NODES
    return is_plain and not (sizes is not None and sizes.stay_free)


class Watched:
    """The sides of conditions that run now, innermost last."""

    def __init__(self, reader: Forking) -> None:
        """None runs yet."""
        self.reader = reader
        self.side = SideReader(reader, self)
        self.forks: list[Attempt] = []
        self.recording: Recording
        self.inside: list[dict[int, Any]] = []
        self.hidden: dict[int, Any] = {}

    def hide(self, lists: Mapping[int, Any]) -> None:
        """Nothing may read these lists, by their ids."""
        self.hidden.update(lists)
        for key in lists:
            self.reader.made_here.pop(key, None)

    def show(self, lists: Mapping[int, Any]) -> None:
        """Lists may be read again."""
        for key, one in lists.items():
            if self.hidden.pop(key, None) is not None:
                self.reader.made_here[key] = one

    def appending_to(self, o: Any) -> Any:
        """The function that appends to a list at each step of a loop, or None: the list was made
        before the loop, and nothing else is undone with its step."""
        rounds = self.forks[-1] if self.forks else None
        if type(rounds) is not Rounds or not rounds.is_open or id(o) in self.inside[-1]:
            return None
        if id(o) in self.hidden:
            return rounds.append_to(o) if id(o) in rounds.lists else None
        is_free = len(self.inside) == 1 or id(o) in self.inside[-2]
        return rounds.append_to(o) if is_free and self.reader.is_made(o) else None

    def last_of(self, o: Any) -> Any:
        """The last element of a list that each step of a loop appends to."""
        loops = [one for one in self.forks if type(one) is Rounds]
        return next(one.last_of(o) for one in reversed(loops) if id(o) in one.lists)

    def enter(self) -> None:
        """A side begins."""
        if not self.inside:
            self.side.begin_with(self.reader)
            observing(self.side)
            for place in self.reader.places:  # which would call, and ask nobody
                place.forget()
                place.is_new = True
            self.reader.places.clear()
        self.inside.append({})

    def leave(self) -> Mapping[int, Any]:
        """A side ends: the objects that it has made, by their ids."""
        made = self.inside.pop()
        if self.inside:
            self.inside[-1].update(made)
        else:
            for name in _SINGLE:
                setattr(self.reader, name, getattr(self.side, name))
            observing(self.reader)
        return made

    def around(self, fork: Attempt) -> Sequence[Attempt]:
        """The forks that a fork is in, innermost last."""
        return self.forks[: self.forks.index(fork)]

    def check_count(self, count: Any) -> None:
        """Raise Refused if a number of steps may be any after something has raised."""
        if type(count) in TENSORS and any(one.failing() for one in self.forks):
            steps = {one.number._value for one in self.forks if type(one) is Rounds}
            origins = origins_of(count._value)
            if origins is None or any(type(one) is Placeholder for one in origins - steps):
                raise Refused("its number of steps is unknown after an error")

    def settle(self, fork: Attempt) -> None:
        """A fork has ended."""
        del self.forks[self.forks.index(fork) :]

    def give_up(self, fork: Attempt, reason: GivenUp) -> None:
        """A fork takes one side, and will at its place from now on; in this call alone where
        something raises in it."""
        self.settle(fork)
        if self.recording.raising:
            self.recording.raising.add(fork.place)
        elif self.recording.forks is not None:
            self.recording.forks[fork.place] = reason


class SideReader(Forking):
    """The reads of a recording while a side of a condition runs."""

    def __init__(self, reader: Forking, watch: Watched) -> None:
        """Note what is read together with `reader`."""
        self.reader = reader
        self.sides = watch
        self.called_here: dict[Any, Any] = {}
        self.allowed: set[Any] = set()

    def begin_with(self, reader: Forking) -> None:
        """Take what the reader has noted; what is called is called otherwise here."""
        own = self.reader, self.sides, self.called_here, self.allowed
        vars(self).update(vars(reader))
        self.reader, self.sides, self.called_here, self.allowed = own
        self.converted = self.called_here

    def refuse(self, what: str) -> None:
        """Refuse what cannot be noted, too."""
        raise Refused(what)

    @property
    def free(self) -> Mapping[int, Any]:
        """The objects that this side has made."""
        return self.sides.inside[-1]

    def operators(self) -> Operators:
        return self.reader.operators()

    def at_place(self, called: Any, place: Any, holder: Any = None, word: str = "") -> Any:
        return self.call(called)

    def is_inside(self, o: Any) -> bool:
        """Return whether the side has made an object."""
        return id(o) in self.sides.inside[-1]

    def made(self, o: Any, /) -> Any:
        if not is_plain(type(o)):
            self.sides.inside[-1][id(o)] = o
        return super().made(o)

    def is_made(self, o: Any) -> bool:
        if id(o) in self.sides.hidden:
            self.refuse("it reads a list that it appends to")
        return super().is_made(o)

    def item(self, o: Any, key: Any, /) -> Any:
        if id(o) in self.sides.hidden and type(key) is int and key == -1:
            return self.sides.last_of(o)
        return super().item(o, key)

    def _allow_change(self, o: Any) -> None:
        if type(o) not in TENSORS and not self.is_inside(o):
            recording = current_recording()
            if recording is not None:
                recording.made_arrays.write(o)
            self.refuse("it changes an object that it did not make")

    # Calls

    def call(self, called: Any, /) -> Any:
        if type(called) is BuiltinFunctionType and called.__name__ == "append":
            append = self.sides.appending_to(called.__self__)
            if append is not None:
                return append
        if type(called) not in _NATIVE or called not in self.allowed:
            self._check(called)
        found = super().call(called)
        if called in _ITERATORS if type(called) in (type, BuiltinFunctionType) else False:
            return lambda *args, **kwargs: self.made(found(*args, **kwargs))
        return _without_out(called, found) if _is_of_numpy(called) else found

    def _check(self, called: Any) -> None:
        """Refuse a call that may do more than compute."""
        kind = type(called)
        if kind is FunctionType:
            if sees_frames(called) or not self._may_call(called):
                self.refuse(f"it calls {called.__qualname__}")
            self.allowed.add(called)
        elif kind is MethodType:
            self._check_method(called)
        elif kind in (BuiltinFunctionType, MethodWrapperType):
            self._check_native(called)
        elif isinstance(called, type):
            is_made = issubclass(called, _SCALARS) or is_named_tuple(called)
            if called not in _BUILTINS and not is_made:
                self.refuse(f"it makes a {called.__name__}")
        elif kind in (np.ufunc, type(np.sum), ListUfunc):
            if called.__name__ in EFFECTS:
                self.refuse(f"it calls {called.__name__}")
        elif type(lookup(kind, "__call__")) is not FunctionType or not is_users(kind):
            # The function of a partial, and of a transform, is checked in its turn.
            if not (hasattr(called, "func") or module_name(kind) == _TRANSFORMED):
                self.refuse(f"it calls a {kind.__name__}")

    def _may_call(self, function: FunctionType) -> bool:
        package = str(function.__module__).partition(".")[0]
        if package == "tracejit":
            if _is_of_transforms(function):
                return True
            return self.routes.of_table(function) is not None and not hands_over(function)
        return function.__name__ not in EFFECTS or package not in _PACKAGES

    def _of_library(self, f: FunctionType) -> Any:
        is_of_tuples = module_name(f) == "collections" and f.__name__ in _OF_TUPLES
        is_computing = module_name(f).partition(".")[0] in _PACKAGES or _is_of_transforms(f)
        if not (is_computing or is_of_tuples):
            self.refuse(f"it calls {f.__qualname__}")
        return super()._of_library(f)

    def _check_method(self, bound: MethodType) -> None:
        owner = bound.__self__
        if type(owner) not in TENSORS and module_name(type(owner)).partition(".")[0] == "tracejit":
            self.refuse(f"it calls {bound.__name__}")

    def _check_native(self, called: Any) -> None:
        owner = getattr(called, "__self__", None)
        if owner is None or isinstance(owner, ModuleType):
            package = str(called.__module__).partition(".")[0]
            name = called.__name__
            is_changing = package in ("operator", "_operator") and (
                name[0] == "i" or "item" in name
            )
            if called not in _BUILTINS and (
                package not in _PACKAGES or name in EFFECTS or is_changing
            ):
                self.refuse(f"it calls {name}")
        elif isinstance(owner, np.ndarray):
            if called.__name__ in _WRITING_METHODS:
                self._allow_change(owner)
        elif isinstance(owner, CONTAINERS):
            is_reading = called.__name__ in READING or called.__name__ in ("get", "__getitem__")
            if not (is_reading or isinstance(owner, (tuple, frozenset))):
                self._allow_change(owner)
        elif isinstance(owner, np.ufunc):
            if called.__name__ == "at":
                self.refuse("it calls at")
        elif not (is_plain(type(owner)) or isinstance(owner, type)):
            self.refuse(f"it calls {called.__name__}")

    def _cached_function(self, called: Any) -> Any:
        return self.refuse("it calls a function with a cache")

    def _cached(self, o: Any, word: str, found: Any) -> Any:
        return self.refuse("it computes a cached property")

    def enter(self, f: FunctionType, is_inner: bool = False) -> None:
        names = names_of(code_of(f))
        if names.assigned or names.cells or names.imports or names.defines_classes:
            self.refuse(f"{f.__name__} assigns a global or nonlocal name")
        super().enter(f, is_inner)

    def as_written(self, f: FunctionType, seen: Any = None) -> Any:
        return self.refuse(f"{f.__name__} runs without conversion")

    # Changes

    def store(self, o: Any, word: str | None, /) -> Any:
        self._allow_change(o)
        return super().store(o, word)

    def update(self, o: Any, word: str | None, /) -> Any:
        self._allow_change(o)
        return super().update(o, word)

    def change(self, o: Any) -> None:
        self._allow_change(o)
        super().change(o)

    def keep(self, o: Any) -> None:
        self._allow_change(o)
        super().keep(o)

    def keep_contents(self, array: np.ndarray) -> None:
        self._allow_change(array)
        super().keep_contents(array)

    # Other operations

    def iterate(self, o: Any, depth: int, /) -> Any:
        if answers_once(type(o)) and not self.is_inside(o):
            self.refuse("it takes from an iterator that began before it")
        return super().iterate(o, depth)

    def context(self, o: Any, /) -> Any:
        return self.refuse("it enters a `with` block")

    def text(self, o: Any, /) -> Any:
        if type(o) in TENSORS:
            self.refuse("it makes text of an array")
        return super().text(o)

    def identity(self, o: Any) -> int:
        self.refuse("it compares identities")
        return super().identity(o)

    def identical(self, a: Any, b: Any, /) -> bool:
        if type(a) in TENSORS or type(b) in TENSORS:
            self.refuse("it compares identities")
        return super().identical(a, b)

    def branch(self, test: Any, where: int, number: int, /, *carried: Any) -> Any:
        return self.reader.branch(test, where, number, *carried)

    def check(self, test: Any, is_error: bool, /) -> Any:
        return self.reader.check(test, is_error)

    def turns(self, answer: Any, where: int, number: int, /, *carried: Any) -> Any:
        return self.reader.turns(answer, where, number, *carried)

    def rounds(self, o: Any, where: int, number: int, /, *more: Any) -> Any:
        return self.reader.rounds(o, where, number, *more)


def _is_of_transforms(function: FunctionType) -> bool:
    return not _TRANSFORMS.isdisjoint((function.__module__, function.__globals__.get("__name__")))


def _is_of_numpy(called: Any) -> bool:
    if type(called) in (np.ufunc, ListUfunc):
        return True  # those of SciPy have no module
    return type(called) in _NATIVE and module_name(called).partition(".")[0] == "numpy"


def fills(known: Any, count: int) -> bool:
    """Return whether a function with so many arguments by position has one to write to."""
    if isinstance(known, np.ufunc):
        return count > known.nin
    try:
        return "out" in [*inspect.signature(known).parameters][:count]
    except ValueError:
        return count > 2 and getattr(known, "__module__", "") == "numpy"


def _without_out(called: Any, function: Any) -> Any:
    """A function in place of one of NumPy's that writes to no array that it is given."""

    def call(*args: Any, **kwargs: Any) -> Any:
        is_more = fills(called, len(args))
        if kwargs.get("out") is not None or is_more:
            raise Refused("it writes to an array")
        return function(*args, **kwargs)

    return call
