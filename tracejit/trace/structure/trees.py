"""Containers as arguments and results: dict, OrderedDict, defaultdict, list, tuple, NamedTuple,
dataclass, set and slice, nested at will; and sparse matrices of recorded parts.

`flatten` takes a container apart into leaves and a Structure that says how it was built; the
Structure writes the Python that checks another container for the same shape, reaches a leaf, and
builds a result. Leaves come in TensorFlow's order: sequences in order, NamedTuples and
dataclasses by field, dicts by sorted key. A set has no leaves: what is in it is hashable, and part
of the structure.
"""

from __future__ import annotations

import dataclasses
import enum
import operator
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.ir.dims import FreeShape
from tracejit.support.errors import fail
from tracejit.support.words import a, is_name, quoted, word_of
from tracejit.trace.guards.access_paths import ATTRIBUTE, ITEM, Bind, PathStep, key_text
from tracejit.trace.guards.exactness import ATOMS, Itself, exact, exact_key, is_plain
from tracejit.trace.guards.guards import Difference, Guard, HasKeys, Is, Length, OfType, Sentence
from tracejit.trace.source import places
from tracejit.trace.structure.sparse_products import is_sparse, matrix_of, matrix_text

MAPPINGS = (dict, OrderedDict, defaultdict)
SEQUENCES = (list, tuple)
INDEXED = (*MAPPINGS, *SEQUENCES)
BUILTIN = (None, *INDEXED, set, slice)
DEEPEST = 150  # a result is built by one expression, and Python takes 200 brackets in another
_LEAVES = (np.ndarray, float, int, bool, type(None), str, complex)
_SLICE = ("start", "stop", "step")
_CONSTANTS = (*ATOMS, enum.Enum, np.generic, type)


class Structure(NamedTuple):
    """A container's class, its keys (dict keys, field names or positions) and the structures
    inside; a leaf has no class. `order` is how a dict lists its keys: whoever walks through the
    dict can see it; of a set it is what is in it. `kinds` tell them from keys that are equal, as 1
    and True are: their classes, or their exact keys where these do not tell, and nothing where all
    are str.

    An object of a dataclass may have attributes that are not fields: their names are in `order`,
    and the plain ones among them are in `beside`, each as (name, exact key, value). So are the
    factory of a defaultdict, and the shape of a sparse matrix."""

    cls: type | None
    keys: tuple[Any, ...] = ()
    children: tuple[Structure, ...] = ()
    order: tuple[Any, ...] = ()
    kinds: tuple[Any, ...] = ()
    beside: tuple[tuple[str, Any, Any], ...] = ()

    @property
    def size(self) -> int:
        """The number of leaves."""
        return 1 if self.cls is None else sum(child.size for child in self.children)

    def has(self, cls: type) -> bool:
        """Return whether a container of this class is in it, or is it."""
        return self.cls is cls or any(child.has(cls) for child in self.children)

    def classes(self) -> list[type]:
        """The classes of the containers that are the user's own, and what makes the missing values
        of a defaultdict."""
        inside: list[Any] = [cls for child in self.children for cls in child.classes()]
        if self.cls is defaultdict:
            return [*[factory for *_, factory in self.beside], *inside]
        if self.cls is None or self.cls in BUILTIN or is_sparse(self.cls):
            return inside
        return [self.cls, *inside]

    def parts(self) -> Iterator[Structure]:
        """This container and those inside, without leaves."""
        if self.cls is not None:
            yield self
            for child in self.children:
                yield from child.parts()

    def is_like(self, other: Structure) -> bool:
        """Return whether `other` is the same, in whatever order its dicts list their keys."""
        if self.cls is not other.cls or self.keys != other.keys:
            return False
        pairs = zip(self.children, other.children, strict=True)
        return all(mine.is_like(its) for mine, its in pairs)


class Kept:
    """The class of a place in a structure where an object is that is not a leaf: it stays."""


LEAF = Structure(None)


def keys_of(value: Any) -> tuple[Any, ...] | None:
    """The keys of a container; None of a leaf."""
    kind = type(value)
    if kind in MAPPINGS:
        try:
            return tuple(sorted(value))
        except TypeError:
            return tuple(value)
    if kind in SEQUENCES:
        return tuple(range(len(value)))
    if kind is slice:
        return _SLICE
    if kind is set:
        return () if all(map(is_constant, value)) else None
    if hasattr(kind, "__tracejit_record__"):
        return None
    if hasattr(kind, "__tracejit_sparse__"):
        parts: tuple[str, ...] | None = value.part_names
        return parts
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return tuple(kind._fields)
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    return None


def is_named_tuple(cls: type) -> bool:
    """Return whether Python alone makes the instances of a class: `namedtuple` or `NamedTuple`.

    >>> is_named_tuple(Structure), is_named_tuple(tuple)
    (True, False)
    """
    made = getattr(cls.__new__, "__globals__", {}).get("__name__")
    is_generated = type(made) is str and made.startswith("namedtuple_")
    return is_generated and cls.__init__ is object.__init__  # type: ignore[misc]  # of the class


def is_constant(value: Any) -> bool:
    """Return whether nothing about an object can change, nor be differentiated: an element of a
    set."""
    if type(value) in (tuple, frozenset):
        return all(map(is_constant, value))
    return isinstance(value, _CONSTANTS) and not hasattr(type(value), "__tracejit_record__")


def elements_of(value: Iterable[Any]) -> tuple[Any, ...]:
    """The elements of a set, sorted by type and text: its own order depends on its history."""
    return tuple(sorted(value, key=lambda element: (type(element).__name__, repr(element))))


def _child(value: Any, key: Any) -> Any:
    if hasattr(type(value), "__tracejit_sparse__"):
        return value.parts().operands[value.part_names.index(key)]
    return value[key] if type(value) in INDEXED else getattr(value, key)


def flatten(value: Any, depth: int = 0, opens: bool = True) -> tuple[list[Any], Structure]:
    """The leaves of `value` in order, and its structure; a sparse matrix that is SciPy's own object
    is a leaf unless it `opens` these. Raises ArgumentError for a container that holds itself, or is
    nested deeper than Python's own text of it could be."""
    if depth > DEEPEST:
        raise fail("too-deep", places.here(), deepest=DEEPEST)
    if type(value) in _LEAVES:
        return [value], LEAF
    value = tuple(value) if type(value) is FreeShape else value
    if type(value) in MAPPINGS and any(hasattr(type(k), "__tracejit_record__") for k in value):
        value = _with_plain_keys(value)
    keys = keys_of(value)
    is_matrix = hasattr(type(value), "__tracejit_sparse__")
    if keys is None or (is_matrix and not opens and value.form.startswith("handle")):
        return [value], LEAF
    leaves: list[Any] = []
    children = []
    for key in keys:
        inner, structure = flatten(_child(value, key), depth + 1, opens)
        leaves += inner
        children.append(structure)
    if hasattr(type(value), "__tracejit_sparse__"):
        beside = (("shape", value.shape, value.shape),)
        return leaves, Structure(value.kind, keys, tuple(children), beside=beside)
    made = Structure(type(value), keys, tuple(children))
    if type(value) is set:
        order = elements_of(value)
        return leaves, made._replace(order=order, kinds=tuple(exact(order)))
    if type(value) in MAPPINGS:
        made = made._replace(order=tuple(value), kinds=_kinds(value))
        if type(value) is defaultdict:
            factory = value.default_factory
            made = made._replace(beside=(("default_factory", Itself(factory), factory),))
        return leaves, made
    if dataclasses.is_dataclass(type(value)):
        held = {name: x for name, x in getattr(value, "__dict__", {}).items() if name not in keys}
        plain = [(name, exact_key(x), x) for name, x in held.items() if type(x) in ATOMS]
        return leaves, made._replace(order=tuple(held), beside=tuple(plain))
    return leaves, made


def _with_plain_keys(table: Any) -> Any:
    """A dict in which recorded integers and truth values, by which Python has gone to find their
    places, are those numbers."""
    made = table.copy()
    made.clear()
    for key, value in table.items():
        is_recorded = hasattr(type(key), "__tracejit_record__")
        number = bool if is_recorded and key.dtype.kind == "b" else operator.index
        made[number(key) if is_recorded else key] = value
    return made


def _kinds(table: dict[Any, Any]) -> tuple[Any, ...]:
    """The types or exact keys of the keys of a dict. They tell keys apart that are equal, as 1 and
    True. Empty where all keys are strings."""
    if all(type(key) is str for key in table):
        return ()
    return tuple(map(type, table)) if all(map(is_plain, table)) else tuple(exact(table))


def unflatten(structure: Structure, leaves: Sequence[Any]) -> Any:
    """The container with this structure and these leaves."""
    if structure.cls is None:
        return leaves[0]
    remaining = iter(leaves)

    def build(part: Structure) -> Any:
        if part.cls is None:
            return next(remaining)
        return _assemble(part, [build(child) for child in part.children])

    return build(structure)


def tuple_of(structures: Sequence[Structure]) -> Structure:
    """The structure of a tuple of containers."""
    return Structure(tuple, tuple(range(len(structures))), tuple(structures))


def keep(structure: Structure, leaves: Sequence[Any], varies: Sequence[bool]) -> Structure:
    """The structure whose only leaves are those that vary; the others are kept in their place.

    >>> leaves, structure = flatten({"w": 1.0, "act": "tanh"})
    >>> unflatten(keep(structure, leaves, [False, True]), [2.0])
    {'w': 2.0, 'act': 'tanh'}
    """
    remaining = zip(leaves, varies, strict=True)

    def walk(part: Structure) -> Structure:
        if part.cls is not None:
            return part._replace(children=tuple(map(walk, part.children)))
        leaf, is_leaf = next(remaining)
        return part if is_leaf else Structure(Kept, order=(Itself(leaf),))

    return walk(structure)


def leaves_like(structure: Structure, value: Any) -> list[Any] | None:
    """The leaves of a container that is like `structure`, in whatever order its dicts list their
    keys, without those in the place of what is kept; None if it differs."""
    leaves, given = flatten(value)
    remaining = iter(leaves)
    found: list[Any] = []

    def fits(mine: Structure, its: Structure) -> bool:
        if mine.cls is Kept and its.cls is None:
            return not _is_floating(next(remaining))
        if mine.cls is not its.cls or mine.keys != its.keys:
            return False
        if mine.cls is None:
            found.append(next(remaining))
        return all(map(fits, mine.children, its.children))

    return found if fits(structure, given) else None


def _is_floating(leaf: Any) -> bool:
    kind = getattr(getattr(leaf, "dtype", None), "kind", "")
    return isinstance(leaf, (float, complex)) or kind in ("f", "c")


def _assemble(part: Structure, values: list[Any]) -> Any:
    if part.cls is Kept:
        return part.order[0].value
    if part.cls in SEQUENCES:
        return part.cls(values)
    if part.cls is slice:
        return slice(*values)
    if part.cls is set:
        return set(part.order)
    by_key = dict(zip(part.keys, values, strict=True))
    if part.cls in MAPPINGS:
        ordered = {key: by_key[key] for key in part.order}
        if part.cls is defaultdict:
            return defaultdict(part.beside[0][2], ordered)
        return ordered if part.cls is dict else OrderedDict(ordered)
    assert part.cls is not None
    if is_sparse(part.cls):
        return matrix_of(part.cls, part.keys, values, part.beside[0][2])
    return _restored(part.cls, part.beside, **by_key)


def _restored(cls: type, beside: Iterable[tuple[str, Any, Any]], /, **fields: Any) -> Any:
    """The NamedTuple or dataclass with these fields, and attributes `beside` them; what its
    __init__ does not take is set."""
    known = getattr(cls, "__dataclass_fields__", {})
    late = {name: fields.pop(name) for name in [*fields] if name in known and not known[name].init}
    late |= {name: value for name, _, value in beside}
    if known or all(map(is_name, fields)):
        made = cls(**fields)
    else:
        made = cls(*fields.values())
    for name, value in late.items():
        object.__setattr__(made, name, value)
    return made


def spread(prefix: Any, structure: Structure) -> list[Any]:
    """For every leaf of a structure what `prefix` has in its place: a container of the same keys,
    in which a leaf may stand for a whole container. LookupError where the keys differ.

    >>> spread({"a": 0, "b": None}, flatten({"b": 1.0, "a": (2.0, 3.0)})[1])
    [0, 0, None]
    """
    keys = keys_of(prefix)
    if keys is None:
        return [prefix] * structure.size
    if keys != structure.keys:
        wanted = "one leaf" if structure.cls is None else f"the keys {list(structure.keys)}"
        raise LookupError(f"{prefix!r} stands for {wanted}")
    pairs = zip(keys, structure.children, strict=True)
    return [leaf for key, child in pairs for leaf in spread(_child(prefix, key), child)]


def map_tree(function: Callable[[Any], Any], value: Any) -> Any:
    """`value` with every leaf replaced by function(leaf)."""
    leaves, structure = flatten(value)
    return unflatten(structure, [function(leaf) for leaf in leaves])


def paths(structure: Structure, root: str, bind: Bind) -> Iterator[str]:
    """For every leaf, the Python expression that reaches it from `root`; `bind` names an object."""
    if structure.cls is None:
        yield root
    for key, child in zip(structure.keys, structure.children, strict=True):
        yield from paths(child, _step(structure).spell(root, key, bind), bind)


def labels(structure: Structure, root: str) -> Iterator[tuple[str, ...]]:
    """For every leaf, the keys that lead to it, as words: ("params", "layer", "w")."""

    def walk(part: Structure, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        if part.cls is None:
            yield words
        for key, child in zip(part.keys, part.children, strict=True):
            yield from walk(child, (*words, word_of(key)))

    return walk(structure, (root,))


def _step(structure: Structure) -> PathStep:
    """The step from a container to a child."""
    return ITEM if structure.cls in INDEXED else ATTRIBUTE


class HasStructure(Guard):
    """A container of a structure, whatever its leaves are. The spelling takes any object for a
    leaf: that it is no container, the guards of the leaf say."""

    sentence = Sentence(
        "structure",
        "{what} was {now}",
        "{was}",
        "The keys and lengths of containers belong to a kernel.",
        "keep them the same; if the number of items varies, put them into one array.",
    )

    def check(self, value: Any) -> bool:
        return bool(self.wanted == _structure_of(value))

    def spelling(self, value: str, bind: Bind, again: str = "") -> str:
        return " and ".join(_tests(self.wanted, value, bind)) or "True"

    def explain(self, what: str, value: Any) -> Difference:
        what, mine, other = _parting(what, self.wanted, _structure_of(value))
        return Difference(self.sentence, what, _noun(mine), _noun(other))


def _structure_of(value: Any) -> Structure:
    return value if type(value) is Structure else flatten(value)[1]


def _tests(structure: Structure, root: str, bind: Bind) -> Iterator[str]:
    """The tests, in order, under which `root` has a structure."""
    if structure.cls is None:
        return
    yield OfType(structure.cls).spelling(root, bind)
    if structure.cls is set:
        yield f"{bind(exact)}({bind(elements_of)}({root})) == {bind([*structure.kinds])}"
    elif structure.cls in MAPPINGS:
        yield HasKeys(structure.order).spelling(root, bind)
        if structure.cls is defaultdict:
            yield Is(structure.beside[0][2]).spelling(f"{root}.default_factory", bind)
    elif is_sparse(structure.cls):
        yield f"{root}.shape == {structure.beside[0][2]}"
    elif structure.cls in SEQUENCES:
        yield Length(len(structure.keys)).spelling(root, bind)
    elif structure.cls.__dictoffset__ and dataclasses.is_dataclass(structure.cls):
        names = {*structure.keys, *structure.order}
        yield f"{root}.__dict__.keys() <= {bind(names)}"
        for name, key, _ in structure.beside:
            found = f"{bind(getattr)}({root}, {quoted(name)}, {bind(LEAF)})"
            yield f"{bind(exact_key)}({found}) == {bind(key)}"
    for key, child in zip(structure.keys, structure.children, strict=True):
        yield from _tests(child, _step(structure).spell(root, key, bind), bind)


def _parting(what: str, mine: Structure, other: Structure) -> tuple[str, Structure, Structure]:
    """The place where two containers begin to differ: the expression, and the structures there."""
    if mine.cls is other.cls and mine.keys == other.keys and mine.order == other.order:
        for key, one, two in zip(mine.keys, mine.children, other.children, strict=True):
            if one != two:
                return _parting(_step(mine).label(what, key), one, two)
    return what, mine, other


def _noun(structure: Structure) -> str:
    """The user's words for a container."""
    if structure is LEAF or structure.cls is None:
        return "one array or number"
    noun = a(structure.cls.__name__)
    if structure.cls in MAPPINGS or structure.cls is set:
        what = " the keys" if structure.cls is not set else ""
        return f"{noun} of{what} {', '.join(map(repr, structure.order)) or 'none'}"
    return f"{noun} of {len(structure.keys)}" if structure.cls in SEQUENCES else noun


def construction(structure: Structure, leaves: Iterator[str], bind: Bind) -> str:
    """The Python expression that builds the container from leaf expressions."""
    if structure.cls is None:
        return next(leaves)
    parts = [construction(child, leaves, bind) for child in structure.children]
    if structure.cls in MAPPINGS:
        by_key = dict(zip(structure.keys, parts, strict=True))
        pairs = [f"{key_text(key, bind)}: {by_key[key]}" for key in structure.order]
        text = "{" + ", ".join(pairs) + "}"
        if structure.cls is dict:
            return text
        factory = [f"{bind(value)}, " for *_, value in structure.beside]
        return f"{bind(structure.cls)}({''.join(factory)}{text})"
    if structure.cls is slice:
        return f"{bind(slice)}({', '.join(parts)})"
    if structure.cls is set:
        return f"{bind(set)}({bind(structure.order)})"
    if structure.cls is list:
        return f"[{', '.join(parts)}]"
    if structure.cls is tuple:
        return f"({', '.join(parts)}{',' * (len(parts) == 1)})"
    if is_sparse(structure.cls):
        return matrix_text(bind(structure.cls), structure.keys, parts, structure.beside[0][2])
    fields = ", ".join(map("{}={}".format, structure.keys, parts))
    if dataclasses.is_dataclass(structure.cls):
        return f"{bind(_restored)}({bind(structure.cls)}, {bind(structure.beside)}, {fields})"
    if not all(map(is_name, structure.keys)):  # a NamedTuple takes them as Python reads them
        fields = ", ".join(parts)
    return f"{bind(structure.cls)}({fields})"
