"""Names of the values of a graph: each is a Python identifier and is given once."""

from __future__ import annotations

from typing import Any

from tracejit.support.words import identifier


class ValueNames:
    """The names given so far, and the last number of each base."""

    def __init__(self, taken: set[str]) -> None:
        """Begin with the names `taken` in use."""
        self.taken = taken
        self.counters: dict[str, int] = {}

    def give(self, value: Any, base: str, numbered: bool = False) -> None:
        """Name `value` after `base`, which may be any word, with a number where that is taken, or
        in any case."""
        base = identifier(base)
        value.base = value.name = base
        while numbered or value.name in self.taken:
            self.counters[base] = self.counters.get(base, 0) + 1
            value.name = f"{base}_{self.counters[base]}"
            numbered = False
        self.taken.add(value.name)

    def give_word(self, value: Any) -> None:
        """Name `value` after what it is a view of, or after its op with a number."""
        word = word_for(value.node)
        self.give(value, word, numbered=word == value.node.op.name)


def word_for(node: Any) -> str:
    """The word for a value that has no name: of a view of an array with a name after that, `w_T`
    for `w.T` and `p_0` for `p[0]`, else the op."""
    op = node.op
    word: str = op.name
    shown = node.operands[op.view_of] if op.view_of is not None else node.results[0]
    base = "" if shown.node is not None and shown.base == shown.node.op.name else shown.base
    if op.name == "transpose" and base:
        word = f"{base}_T"
    elif op.name == "getitem" and base and len(node.operands) == 1:
        index = node.params["index"]
        if len(index) == 1 and type(index[0]) is int and index[0] >= 0:
            word = f"{base}_{index[0]}"
    return word


def own_base(value: Any, is_output: bool) -> str:
    """The base a value has by itself: the user's name, a derived name, or `out`."""
    label: str = value.label
    if label:
        return label
    if value.derived is not None:
        primal, suffix = value.derived
        name: str = primal.label or primal.base or primal.name
        if name:
            return f"{name}{suffix}"
    return "out" if is_output else ""
