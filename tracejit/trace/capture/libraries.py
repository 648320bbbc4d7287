"""Objects of libraries that hold data: estimators of scikit-learn, frames of pandas, arrays of
xarray. Their code is not read for names; all that they keep counts, down to the arrays.

What such a library keeps for itself to be faster, a cache, changes as it is read: attributes of
these names are left out. Classes that are written in C keep what they hold in no dict; their
attributes are listed.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MemberDescriptorType
from typing import Any

from tracejit.trace.guards.access_paths import ATTRIBUTE, OWN, PathStep
from tracejit.trace.guards.reads import LIBRARIES, module_name

# Attributes of C classes, by the name of the class.
_IN_C = {
    "BlockManager": ("blocks", "axes"),
    "Block": ("values", "_mgr_locs"),
    "NumpyBlock": ("values",),
    "SharedBlock": ("_mgr_locs",),
    "NDArrayBacked": ("_ndarray", "_dtype"),
}
# What pandas and xarray keep beside the data: who else shows it, and how it was read from a file.
_BESIDE = frozenset(("_id", "_references", "_encoding", "_close", "_accessors", "__weakref__"))


def is_of_library(cls: type) -> bool:
    """Return whether objects of a class are data of a library, or of a class made from one."""
    return any(module_name(base).partition(".")[0] in LIBRARIES for base in cls.__mro__)


def kept_names(value: Any) -> list[str]:
    """The names of attributes that are not caches, in order."""
    return [word for word in getattr(value, "__dict__", {}) if _counts(word)]


KEPT_NAMES = PathStep(
    lambda held, none: kept_names(held),
    lambda held, none, bind: f"{bind(kept_names)}({held})",
    lambda held, none: held,
)
"""The step from an object to the names of what it keeps."""


def library_parts(value: Any) -> Iterator[tuple[PathStep, str, Any]]:
    """The parts that an object keeps: the step that reads each, its name and its value."""
    for word in kept_names(value):
        yield OWN, word, value.__dict__[word]
    for cls in type(value).__mro__:
        module = module_name(cls)
        if module.partition(".")[0] not in LIBRARIES:
            continue
        slots = [word for word, one in vars(cls).items() if isinstance(one, MemberDescriptorType)]
        in_c = _IN_C.get(cls.__name__, ()) if module.startswith("pandas._libs") else ()
        for word in (*filter(_counts, slots), *in_c):
            if hasattr(value, word):
                yield ATTRIBUTE, word, getattr(value, word)


def _counts(word: str) -> bool:
    return "cache" not in word and word not in _BESIDE
