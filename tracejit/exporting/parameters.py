"""The parameters of a checked call: the parameters of the user's function, without the ones that
are part of the module and cannot be compared with an argument."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from tracejit.exporting.spelling import Names, has_text, is_atom
from tracejit.runtime.dispatch import Entry
from tracejit.trace.arguments.signature import Leaf
from tracejit.trace.structure.trees import LEAF, paths

PARAMETER = inspect.Parameter
STARS = (PARAMETER.VAR_POSITIONAL, PARAMETER.VAR_KEYWORD, PARAMETER.VAR_KEYWORD)
"""The kinds of parameters with stars, each as often as it has them."""


class Parameters:
    """The parameters that the `call` of a kernel has, as {name: leaves}, and those `left_out`.

    `given` are those that the user has described, the others have their defaults. `texts` are the
    expressions for the leaves, by name.
    """

    def __init__(self, entry: Entry, given: Sequence[str], names: Names) -> None:
        """Decide which they are: those with arrays or numbers, or with a value that can be compared
        with the one that they have had."""
        self.entry = entry
        self.given = given
        self.names = names
        self.leaves: dict[str, list[Leaf]] = {}
        self.left_out: list[str] = []
        self.texts: dict[str, str] = {}
        for parameter, structure in entry.call.structures.items():
            leaves = [leaf for leaf in entry.call.leaves if leaf.argument == parameter]
            if not self._is_passed(parameter, leaves):
                self.left_out.append(parameter)
                continue
            self.leaves[parameter] = leaves
            found = paths(structure, parameter, names.key)
            self.texts |= {leaf.name: text for leaf, text in zip(leaves, found, strict=True)}
        self.leaves = dict(sorted(self.leaves.items(), key=self._rank))

    def _rank(self, passed: tuple[str, Any]) -> int:
        """The place of a parameter among the others: what is passed by name stands behind stars."""
        parameter = self.entry.signature.parameters[passed[0]]
        return PARAMETER.KEYWORD_ONLY if self._is_keyword(parameter) else parameter.kind

    def _is_passed(self, parameter: str, leaves: Sequence[Leaf]) -> bool:
        structure = self.entry.call.structures[parameter]
        if parameter in self.given:
            return structure is not LEAF or has_text(leaves[0])
        if structure is not LEAF:
            return False
        return leaves[0].role == "number" or (
            leaves[0].role == "static" and is_atom(leaves[0].value)
        )

    def words(self) -> list[str]:
        """The parameters of `call`, with those defaults that have a text."""
        words: list[str] = []
        found = self.entry.signature.parameters
        kept = [found[name] for name in self.leaves]
        required = [p.kind is p.VAR_POSITIONAL or not self._keeps_default(p) for p in kept]
        star = False
        for number, parameter in enumerate(kept):
            is_keyword = self._is_keyword(parameter)
            text = "*" * STARS.count(parameter.kind) + parameter.name
            if self._keeps_default(parameter):
                later = [
                    required[k]
                    for k in range(number + 1, len(kept))
                    if not self._is_keyword(kept[k]) and kept[k].kind is not PARAMETER.VAR_KEYWORD
                ]
                if is_keyword or not any(later):
                    text += f"={self.names.spelled(parameter.default)}"
            if is_keyword and not star:
                words.append("*")
            star = star or is_keyword or parameter.kind is PARAMETER.VAR_POSITIONAL
            words.append(text)
            following = kept[number + 1].kind if number + 1 < len(kept) else None
            if parameter.kind is PARAMETER.POSITIONAL_ONLY is not following:
                words.append("/")
        return words

    def passed(self) -> str:
        """The arguments that hand the parameters of `call` to `misfit`."""
        words = []
        for name in self.leaves:
            parameter = self.entry.signature.parameters[name]
            if self._is_keyword(parameter):
                words.append(f"{name}={name}")
            else:
                words.append("*" * STARS.count(parameter.kind) + name)
        return ", ".join(words)

    def _is_keyword(self, parameter: inspect.Parameter) -> bool:
        """Return whether a parameter is passed by name alone: one that stands behind another that
        `call` has not would be treated as it."""
        if parameter.kind is PARAMETER.KEYWORD_ONLY:
            return True
        if parameter.kind is not PARAMETER.POSITIONAL_OR_KEYWORD:
            return False
        names = list(self.entry.signature.parameters)
        return any(names.index(name) < names.index(parameter.name) for name in self.left_out)

    def _keeps_default(self, parameter: inspect.Parameter) -> bool:
        return parameter.default is not PARAMETER.empty and is_atom(parameter.default)
