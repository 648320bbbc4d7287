"""Binding: which numbers and sizes among the arguments of a function are part of a kernel.

A Python number is static on its first value and dynamic from its second on, unless the user has
chosen its argument, or the function wants the numbers themselves. `SeenShapes` does the like for
sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tracejit.ir.sizes import Sizes
from tracejit.runtime.dispatch import Entry, Space
from tracejit.specialise.callee import Callee
from tracejit.support.options import Options
from tracejit.trace.free_dimensions import SeenShapes
from tracejit.trace.signature import Call, static_names


class SpecialisationRequest(NamedTuple):
    """A call to make a kernel for, of which the numbers that are `fixed`, by leaf name, stay
    numbers, and the leaves in `differentiated` are differentiated by.

    `space` holds the names of the entry that checks it. `onto` is the entry that the call fits, but
    for the branch that it takes: its kernel is joined. `forced` are the outcomes of the first
    decisions on that branch. `sizes` know the dimensions that are free.
    """

    call: Call
    space: Space
    fixed: dict[str, Any]
    differentiated: frozenset[str]
    onto: Entry | None = None
    forced: Sequence[Any] = ()
    sizes: Sizes | None = None


class Binding:
    """What the calls of one function have shown of its arguments.

    `static` are the parameters whose numbers are never dynamic.
    """

    def __init__(self, callee: Callee, options: Options = Options()) -> None:  # noqa: B008
        """No call seen yet. Raises ArityError for specs in `options` that fit no parameters."""
        self.callee = callee
        numbers, names = options.static_argnums, options.static_argnames
        self.chosen = self.static = static_names(callee.signature, numbers, names)
        self.shapes = SeenShapes(callee.name, options.dynamic_shapes is not False)
        self._first_numbers: dict[str, str] = {}
        self._dynamic: set[str] = set()
        if options.input_signature is not None:
            specs = callee.bind(tuple(options.input_signature), {})
            self.shapes.promise(callee.take_apart(specs)[0])

    def request(self, arguments: dict[str, Any]) -> SpecialisationRequest:
        """The call with these arguments, Variables read where a gradient is taken by them. Its
        numbers and sizes are taken note of."""
        call, space = self.callee.take_apart(arguments)
        for leaf in call.leaves:
            if leaf.role == "number":
                spelled = repr(leaf.value)
                if self._first_numbers.setdefault(leaf.path, spelled) != spelled:
                    self._dynamic.add(leaf.path)
        self.shapes.note(call)
        differentiated = self.callee.differentiated(call)
        fixed = {
            leaf.name: leaf.value
            for leaf in call.leaves
            if leaf.role == "number"
            and leaf.name not in differentiated
            and (leaf.path not in self._dynamic or leaf.argument in self.static)
        }
        return SpecialisationRequest(call, space, fixed, differentiated)

    def want_numbers(self) -> None:
        """Let all numbers be static from now on: the function wants them themselves."""
        self.static |= self.callee.signature.parameters.keys()

    def static_rows(self) -> dict[str, str]:
        """The row of `SENTENCES` for each argument whose numbers are static."""
        return {name: "static" if name in self.chosen else "wanted" for name in self.static}
