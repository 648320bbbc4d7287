"""Access paths: an object, and the attributes, items and calls that lead from it to a value.

A guard tests a value that is read again at each call. The path reads it (`value`), is written into
generated Python (`spelling`), and is what the user calls the value (`Labels`).

>>> table = {"w": 2.0}
>>> path = AccessPath(table).item("w")
>>> path.value(), path.spelling(lambda thing: "_5"), Labels({id(table): "table"}).of(path)
(2.0, "_5['w']", "table['w']")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from tracejit.support.words import a, attribute, quoted
from tracejit.trace.guards.descriptions import described

Bind = Callable[[Any], str]
"""Give an object a name that generated Python knows it by."""


class PathStep(NamedTuple):
    """One kind of step. `read` returns what stands there, given the object that was reached and an
    argument such as the word of the attribute; `spell` is the Python that does the same, `label`
    how the user writes it."""

    read: Callable[[Any, Any], Any]
    spell: Callable[[str, Any, Bind], str]
    label: Callable[[str, Any], str]


def _dotted(held: str, word: str) -> str:
    return held if word == "__dict__" else f"{held}.{word}"


def key_text(key: Any, bind: Bind) -> str:
    """A key of a container as it is written, which binds what has no literal."""
    return repr(key) if type(key) in (str, int) else bind(key)


def name_in(space: dict[str, Any], word: str) -> Any:
    """The value of a global or builtin."""
    if word in space:
        return space[word]
    builtins = space["__builtins__"]
    return (vars(builtins) if isinstance(builtins, ModuleType) else builtins)[word]


ATTRIBUTE = PathStep(getattr, attribute, _dotted)
ATTRIBUTE_IF_ANY = PathStep(
    lambda held, word: getattr(held, word, None),
    lambda held, word, bind: f"{bind(getattr)}({held}, {word!r}, None)",
    _dotted,
)
OWN = PathStep(
    lambda held, word: held.__dict__[word],
    lambda held, word, bind: f"{held}.__dict__[{quoted(word)}]",
    _dotted,
)
ITEM = PathStep(
    lambda held, key: held[key],
    lambda held, key, bind: f"{held}[{key_text(key, bind)}]",
    lambda held, key: f"{held}[{key_text(key, described)}]",
)
GLOBAL = PathStep(
    lambda held, word: held[word],
    lambda held, word, bind: f"{held}[{quoted(word)}]",
    lambda held, word: f"the global {word}",
)
NAME = PathStep(
    name_in,
    lambda held, word, bind: word if word != "value" else f"{bind(name_in)}({held}, 'value')",
    lambda held, word: f"the global {word}",
)
"""The step from the globals of a module to what a name is there, also a builtin. Its spelling is
the name alone, as a function of that module reads it."""
CELL = PathStep(
    lambda held, word: held.cell_contents,
    lambda held, word, bind: f"{held}.cell_contents",
    lambda held, word: str(word),
)
CALL = PathStep(
    lambda held, none: held(), lambda held, none, bind: f"{held}()", lambda held, none: f"{held}()"
)
CONTEXT_VALUE = PathStep(
    lambda held, default: held.get(*default),
    lambda held, default, bind: f"{held}.get({', '.join(map(repr, default))})",
    lambda held, default: f"{held}.get()",
)
MODULE = PathStep(
    lambda held, name: held.get(name),
    lambda held, name, bind: f"{held}.get({name!r})",
    lambda held, name: f"the module {name}",
)
STATE = PathStep(
    lambda held, label: held.read(),
    lambda held, label, bind: f"{held}.read()",
    lambda held, label: str(label),
)


class AccessPath(NamedTuple):
    """A step, with its argument, from what stands at the path `held`; without a step the path to
    the object `held` itself."""

    held: Any
    step: PathStep | None = None
    argument: Any = None

    def then(self, step: PathStep, argument: Any = None) -> AccessPath:
        """The path that goes one step further."""
        return AccessPath(self, step, argument)

    def attribute(self, word: str) -> AccessPath:
        """The path to an attribute."""
        return AccessPath(self, ATTRIBUTE, word)

    def own(self, word: str) -> AccessPath:
        """The path to an attribute in the `__dict__` of an object, past its class."""
        return AccessPath(self, OWN, word)

    def item(self, key: Any) -> AccessPath:
        """The path to an element of a container."""
        return AccessPath(self, ITEM, key)

    @property
    def root(self) -> Any:
        """The object that the path begins at."""
        return self.held if self.step is None else self.held.root

    def value(self) -> Any:
        """The value that stands there now. Raises what reading it raises."""
        return self.held if self.step is None else self.step.read(self.held.value(), self.argument)

    def key(self) -> str:
        """A text that other paths of the same steps from the same object have."""
        return self.spelling(lambda thing: str(id(thing)))

    def place_key(self) -> tuple[int, str] | None:
        """The id of the object whose part is read, and the name of the part."""
        if self.step is None:
            return None
        is_attribute = self.step is OWN or self.step is ATTRIBUTE
        word = self.argument if is_attribute else self.step.label("", self.argument)
        return id(self.held.value()), word

    def moved(self, places: Mapping[int, AccessPath]) -> AccessPath:
        """The path from the place of an object instead of from that, by its id."""
        if self.step is None:
            return places.get(id(self.held), self)
        return self._replace(held=self.held.moved(places))

    def spelling(self, bind: Bind) -> str:
        """The Python expression that reads the value."""
        if self.step is None:
            return bind(self.held)
        return self.step.spell(self.held.spelling(bind), self.argument, bind)


class Place:
    """A place at the end of a path, which a kernel reads at each call."""

    __slots__ = ("name", "path")

    def __init__(self, path: AccessPath, name: str = "") -> None:
        """The place at the end of `path`, and the name of what stands there."""
        self.path = path
        self.name = name

    @property
    def value(self) -> Any:
        """The value that stands there now."""
        return self.path.value()


class Labels:
    """The user's words for access paths: `names` are those of known objects, by id, `places` the
    paths under which others were found."""

    def __init__(
        self, names: Mapping[int, str], places: Mapping[int, AccessPath] | None = None
    ) -> None:
        """Begin with no word; each is made when it is asked for."""
        self._names = names
        self._places = dict(places or {})

    def of(self, path: AccessPath) -> str:
        """The words for the value at a path."""
        if path.step is None:
            return self.of_object(path.held)
        return path.step.label(self.of(path.held), path.argument)

    def of_object(self, held: Any) -> str:
        """The words for an object."""
        if id(held) in self._names:
            return self._names[id(held)]
        if isinstance(held, (type, ModuleType)):
            return held.__name__
        if type(held) is dict and "__name__" in held and "__builtins__" in held:
            return f"the module {held['__name__']}"
        place = self._places.pop(id(held), None)  # a path cannot lead through itself
        if place is not None:
            spelled = self.of(place)
            self._places[id(held)] = place
            return spelled
        return held.__name__ if isinstance(held, FunctionType) else a(type(held).__name__)
