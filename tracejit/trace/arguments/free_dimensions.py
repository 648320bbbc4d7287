"""Free dimensions of the arguments of a function: which sizes a kernel leaves open.

Sizes are part of a kernel until one changes: the dimension of an argument that has another size
than before is free from then on, unless that has failed once, or the size is 0 or 1, which
broadcasting and NumPy treat in their own way. A kernel for large arrays is written otherwise than
one for small ones: a dimension of MANY or more is free from there on, unless it was asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tracejit.ir.dims import Dim, number_of, symbol_of
from tracejit.ir.graph import Graph
from tracejit.ir.sizes import SMALLEST, Sizes
from tracejit.ir.types import ArrayType
from tracejit.support.errors import Where, fail
from tracejit.trace.arguments.signature import Call, Leaf, TensorSpec
from tracejit.trace.guards.guards import Difference, Sentence

MANY = 1 << 18
SIZES = Sentence(
    "sizes",
    "a condition on sizes does not hold",
    "the conditions {was}",
    "Sizes that do not meet the conditions have their own kernel.",
)


class RanOnce(Exception):
    """A function that was recorded with free dimensions has changed what it reads, and then raised
    (the cause): it cannot be recorded once more as if nothing had happened."""


class Axis(NamedTuple):
    """A dimension of an argument, which has `ndim` of them."""

    path: str
    ndim: int
    axis: int


class FreeSizes(NamedTuple):
    """The guard of the free dimensions of a call: those of one name have one size, and what Python
    has decided by sizes holds of it."""

    call: Call
    sizes: Sizes

    def _free(self) -> Iterator[tuple[int, int, Any]]:
        """Every free dimension: the number of the leaf, the axis, and the symbol."""
        for number, leaf in enumerate(self.call.leaves):
            for axis, size in enumerate(leaf.type.shape if leaf.type is not None else ()):
                if symbol_of(size) is not None:
                    yield number, axis, symbol_of(size)

    def check(self, call: Call) -> bool:
        """Return whether it holds of a call, whose leaves pass their own guards."""
        numbers: dict[str, int] = {}
        for leaf, axis, symbol in self._free():
            kind = call.leaves[leaf].type
            size = 0 if kind is None else number_of(kind.shape[axis])
            if numbers.setdefault(symbol.name, size) != size:
                return False
        return not numbers or self.sizes.hold(numbers)

    def spelling(self, leaves: Mapping[str, str], prefix: str) -> Iterator[str]:
        """The tests in Python, where these expressions are the leaves by name. They give the names
        of the dimensions, each with a prefix, to their sizes."""
        known: set[str] = set()
        for leaf, axis, symbol in self._free():
            size = f"{leaves[self.call.leaves[leaf].name]}.shape[{axis}]"
            name = prefix + symbol.name
            first = f"({name} := {size}) > {symbol.least - 1}"
            yield f"{size} == {name}" if name in known else first
            known.add(name)
        yield from self.sizes.conditions(prefix)

    def explain(self) -> Difference:
        """The sentence for a call that fails it."""
        conditions = dict.fromkeys([*self.sizes.ranges(), *self.sizes.conditions()])
        return Difference(SIZES, "sizes", ", ".join(conditions))


class SeenShapes:
    """The sizes that the arguments of one function have had.

    `fixed` are the dimensions that change and cannot be free, with the place in the user's program
    that needs the number, or the error that was met.
    """

    def __init__(self, function: str, dynamic: bool) -> None:
        """Nothing seen yet; without `dynamic` only what is asked for is free."""
        self.function = function
        self.dynamic = dynamic
        self.specs: dict[str, TensorSpec] = {}
        self.fixed: dict[Axis, Any] = {}
        self._first: dict[tuple[str, int], tuple[int, ...]] = {}
        self._free: set[Axis] = set()
        self._asked: set[Axis] = set()

    def note(self, call: Call) -> None:
        """Take note of the sizes in a call that no kernel fits."""
        for leaf in call.leaves:
            if leaf.role != "array" or leaf.type is None:
                continue
            self._check(leaf)
            key = leaf.path, leaf.type.ndim
            if type(leaf.value) is TensorSpec:
                self.ask(leaf.path, leaf.value)
            elif self.dynamic:
                first = self._first.setdefault(key, leaf.type.shape)
                pairs = enumerate(zip(first, leaf.type.shape, strict=True))
                self._free.update(Axis(*key, axis) for axis, (old, new) in pairs if old != new)

    def promise(self, call: Call) -> None:
        """Let every call be like this one, whose leaves are TensorSpecs."""
        for leaf in call.leaves:
            if type(leaf.value) is TensorSpec:
                self.specs[leaf.path] = leaf.value
                self.ask(leaf.path, leaf.value)

    def _check(self, leaf: Leaf) -> None:
        """Refuse an array that is not what was promised."""
        spec = self.specs.get(leaf.path)
        if spec is None or leaf.type is None:
            return
        sizes = leaf.type.shape
        fits = len(sizes) == len(spec.shape) and leaf.type.dtype == spec.dtype
        if not fits or any(b not in (None, a) for a, b in zip(sizes, spec.shape, strict=True)):
            words = {"name": leaf.path, "given": repr(leaf.type), "wanted": repr(spec)}
            raise fail("input-signature", None, function=self.function, **words)

    def ask(self, path: str, spec: TensorSpec) -> None:
        """Let the dimensions of an argument be free that are None in `spec`."""
        ndim = len(spec.shape)
        for axis, size in enumerate(spec.shape):
            if size is None:
                self._asked.add(Axis(path, ndim, axis))
        self._free |= self._asked

    def freed(self, call: Call) -> tuple[Call, Sizes | None]:
        """The call with free dimensions in the types of its leaves, and what knows these; None
        where there are none."""
        sizes = Sizes()
        leaves = [
            leaf if leaf.role != "array" else leaf._replace(type=self._type(leaf, sizes))
            for leaf in call.leaves
        ]
        return (call._replace(leaves=leaves), sizes) if sizes.symbols else (call, None)

    def _type(self, leaf: Leaf, sizes: Sizes) -> ArrayType | None:
        assert leaf.type is not None
        found: list[Any] = []
        for axis, size in enumerate(leaf.type.shape):
            place = Axis(leaf.path, leaf.type.ndim, axis)
            is_free = place in self._free and place not in self.fixed and size >= SMALLEST
            is_large = size >= MANY and place not in self._asked
            least = MANY if is_large else SMALLEST
            found.append(sizes.symbol(size, least=least) if is_free else size)
        return ArrayType(tuple(found), leaf.type.dtype, leaf.type.form)

    def settled(self, call: Call, graph: Graph) -> Call:
        """The call after it was recorded in `graph`: what had to be known is known in the types of
        its leaves, and is not free any more."""
        types = {value.name: value.type for value in graph.inputs}
        leaves = []
        for leaf in call.leaves:
            if leaf.type is not None and leaf.type.sizes is not None:
                now = types[leaf.name]
                settled = ArrayType(now.shape, now.dtype, now.form)
                self._note_known(leaf, settled)
                self.check_spec(leaf, settled)
                leaf = leaf._replace(type=settled)
            leaves.append(leaf)
        return call._replace(leaves=leaves)

    def _note_known(self, leaf: Leaf, settled: ArrayType) -> None:
        """Take note of the dimensions that are free in `leaf` and not in `settled`."""
        assert leaf.type is not None
        before: Any
        now: Any
        for axis, (before, now) in enumerate(zip(leaf.type.shape, settled.shape, strict=True)):
            if type(before) is Dim and type(now) is not Dim:
                reason = before.sizes.reason(before)
                if reason is not None:
                    self.fixed[Axis(leaf.path, settled.ndim, axis)] = reason

    def check_spec(self, leaf: Leaf, settled: ArrayType | None, where: Any = None) -> None:
        """Refuse what needs the size of an array that is only described."""
        if type(leaf.value) is TensorSpec and None in leaf.value.shape:
            for axis, size in enumerate(leaf.value.shape):
                now: Any = settled.shape[axis] if settled is not None else 0
                if size is None and type(now) is not Dim:
                    words = {"axis": axis, "name": leaf.path, "function": self.function}
                    place = self.fixed.get(Axis(leaf.path, len(leaf.value.shape), axis), where)
                    raise fail("size-needed", place if type(place) is Where else None, **words)

    def give_up(self, call: Call, reason: Any) -> None:
        """No dimension that was free in this call is any more."""
        for leaf in call.leaves:
            if leaf.type is not None:
                places = (Axis(leaf.path, leaf.type.ndim, k) for k in range(leaf.type.ndim))
                self.fixed.update((place, reason) for place in places if place in self._free)
