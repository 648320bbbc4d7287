"""Cached kernels as modules: `from tracejit.kernels import loss__f8_32x16__3f9a1c07`.

The kernel is read from the cache folder (`tracejit.cache.settings.default_path`) and verified
before it runs. A file that is missing, damaged or not yours raises `KernelError`, an ImportError
that names the file and the problem. `dir(tracejit.kernels)` lists all kernels.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tracejit.cache.key import KERNEL_NAME
from tracejit.cache.settings import default_path
from tracejit.cache.store import Store

if TYPE_CHECKING:

    class KernelModule(ModuleType):
        """A generated module; `backward` and `value_and_grad` are there where it has a gradient."""

        SIGNATURE: Mapping[str, Any]
        forward: Callable[..., Any]
        backward: Callable[..., Any]
        value_and_grad: Callable[..., Any]


class KernelImporter(MetaPathFinder, Loader):
    """Imports `tracejit.kernels.NAME` from the cache; asked last, after files of this package."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, name = fullname.rpartition(".")
        # An underscore begins a protocol (__main__), or a kernel of a private function.
        if package != __name__ or not (KERNEL_NAME.fullmatch(name) or name[0] != "_"):
            return None
        return ModuleSpec(fullname, self, origin="tracejit cache")

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Store(default_path()).load(spec.name.rpartition(".")[2])

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to do: the store has run exactly the bytes it had verified."""


def __getattr__(name: str) -> KernelModule:
    # Only names of kernels: pickle and others look unrelated names up in every module there is, and
    # expect an AttributeError.
    if not KERNEL_NAME.fullmatch(name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")  # type: ignore[return-value]


def __dir__() -> list[str]:
    return sorted({*globals(), *Store(default_path()).names()})


sys.meta_path.append(KernelImporter())
