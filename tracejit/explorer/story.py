"""Story: a kernel with everything that a page shows of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any, NamedTuple, Protocol

from tracejit.ir.graph import Node
from tracejit.runtime.dispatch import Entry
from tracejit.trace.arguments.signature import Leaf
from tracejit.trace.guards.descriptions import described


class ShownKernel(Protocol):
    """The part of a kernel that a page shows. It has a `graph`, too, unless it was loaded."""

    place: str

    @property
    def source(self) -> str:
        """The text of the module."""

    @property
    def name(self) -> str:
        """The name of the module."""

    @property
    def key(self) -> str:
        """The content key."""

    @property
    def path(self) -> Any:
        """The file, if there is one."""

    @property
    def signature(self) -> Mapping[str, Any]:
        """The module's SIGNATURE."""

    def marked(self) -> tuple[str, list[Node]] | None:
        """The text with marks and the nodes that they number."""


class Story(NamedTuple):
    """A kernel: the code of its function, the reason for which it was made and further notes, its
    entry with the words for arguments, and a profile, each where it is known."""

    kernel: ShownKernel
    root: CodeType | None = None
    reason: str = ""
    notes: Sequence[str] = ()
    entry: Entry | None = None
    words: Callable[[Leaf], str] = str
    profile: Any = None


def call_told(story: Story) -> str:
    """The calls that a kernel is for, in a few words: types of arrays, and what is fixed."""
    if story.entry is None:
        return ", ".join(story.kernel.signature["inputs"].values())
    fixed = story.entry.fixed
    words = []
    for leaf in story.entry.call.leaves:
        if leaf.role == "static" or leaf.name in fixed:
            words.append(described(fixed.get(leaf.name, leaf.value)))
        elif leaf.type is not None:
            words.append(repr(leaf.type))
    return ", ".join(words)
