"""Kernel: one generated module, and the graph it came from."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from tracejit.cache.key import key_of
from tracejit.cache.settings import default_path
from tracejit.cache.standalone import load_file, load_sealed, save
from tracejit.cache.store import Store
from tracejit.codegen.header import ungrouped
from tracejit.compiler import pipeline
from tracejit.ir.graph import Graph
from tracejit.runtime.allocator import keep_freed_memory
from tracejit.runtime.blas import on_one_blas_thread
from tracejit.runtime.buffer_pool import recycled_empty
from tracejit.runtime.tile_threads import share_tiles
from tracejit.support.cost_model import costs
from tracejit.support.errors import TracejitError, TracejitWarning, without_frames
from tracejit.support.garbage import collection_paused
from tracejit.support.options import Options
from tracejit.support.progress import stage
from tracejit.trace import places
from tracejit.trace.places import PACKAGE

ENTRIES = ("forward", "backward", "value_and_grad")


class Kernel:
    """A generated module: its text, its functions, its file.

    `forward`, `backward` and `value_and_grad` are the module's functions: they take the arrays of
    the signature in order, check nothing and copy no residual.
    """

    def __init__(
        self,
        module: ModuleType,
        graph: Graph | None = None,
        threads: int | None = None,
        recycle: bool = False,
        place: str = "",
    ) -> None:
        """The kernel in `module`, which no other kernel has; `graph` is what it was generated from,
        where that is known, and `place` where the user's function stands in this process. Its
        tiles, where it has any, run on up to so many `threads`, and the large arrays that they fill
        are handed out again where it may `recycle` them."""
        self.module = module
        self.threads = threads
        self.recycle = recycle
        self.place = place
        self.is_cached = False  # True if its text was read from the cache
        self._graph = graph
        self._functions = equipped(module, threads, recycle)

    @property
    def name(self) -> str:
        """The name it is imported by: from tracejit.kernels import NAME."""
        return self.module.__name__.rpartition(".")[2]

    @property
    def graph(self) -> Graph:
        """The graph after differentiation and before any pass; prints as text."""
        if self._graph is None:
            raise AttributeError(f"{self.name} was loaded as text, which holds no graph")
        return self._graph

    @property
    def source(self) -> str:
        """The text of the module."""
        text: str = self.module.__source__
        return text

    @property
    def path(self) -> Path | None:
        """The file of the module; None while it is in memory only."""
        path = Path(self.module.__file__ or "")
        return path if path.is_file() else None

    @property
    def key(self) -> str:
        """The SHA-256 over everything the text depends on, as 64 hex digits."""
        return key_of(self.source) or ""

    @property
    def signature(self) -> Mapping[str, Any]:
        """Inputs, outputs, gradient and residuals with their types: the module's SIGNATURE."""
        signature: Mapping[str, Any] = self.module.SIGNATURE
        return signature

    def residuals(self) -> dict[str, str]:
        """The residuals that forward hands to backward: their types, by name."""
        return ungrouped(self._gradient_part("residuals"))

    @property
    def forward(self) -> Callable[..., Any]:
        """forward(*arrays): the result; with residuals where the kernel has a backward."""
        return self._functions["forward"]

    @property
    def backward(self) -> Callable[..., Any]:
        """backward(residuals, out_bar=1.0): the gradients."""
        self._gradient_part("gradient")
        return self._functions["backward"]

    @property
    def value_and_grad(self) -> Callable[..., Any]:
        """value_and_grad(*arrays): the result and the gradients."""
        self._gradient_part("gradient")
        return self._functions["value_and_grad"]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a stand-alone module to `path`: it imports numpy alone. Large constants go beside
        it (.npz).

        Its last line is a hash that finds later changes, and proves nothing about who made them.
        """
        save(self.source, self.module.__npz__, path)

    def _gradient_part(self, part: str) -> Any:
        if part not in self.signature:
            raise AttributeError(
                f"{self.name} computes the value alone; tj.value_and_grad(f).kernel(...) has "
                f"backward, value_and_grad and residuals()"
            )
        return self.signature[part]

    def __reduce__(self) -> tuple[Any, ...]:
        return unpickled, (self.name, self.source, self.module.__npz__, self.threads, self.recycle)

    def __repr__(self) -> str:
        return f"<kernel {self.name}>"


def equipped(
    module: ModuleType, threads: int | None, recycle: bool
) -> dict[str, Callable[..., Any]]:
    """The functions of `module` by name, which run with what a module of plain functions leaves to
    the process: memory, threads for its tiles, and the number of threads of the BLAS."""
    keep_freed_memory()
    on_one_thread = getattr(module, "BLAS_THREADS", None) == 1
    if on_one_thread and hasattr(module, "in_turn"):
        share_tiles(module, threads)
    if recycle and getattr(module, "empty", None) is np.empty:
        module.__dict__.update(empty=recycled_empty())
    functions = {name: getattr(module, name) for name in ENTRIES if hasattr(module, name)}
    if on_one_thread:
        return {name: on_one_blas_thread(made) for name, made in functions.items()}
    return functions


def make_kernel(recorded: pipeline.Recorded, options: Options = Options()) -> Kernel:  # noqa: B008
    """The kernel of a recorded function: from disk if its key is there, else generated.

    Where that needs the number of a free dimension, no dimension is free.
    """
    with collection_paused(), stage("compiling", recorded.graph.name):
        return _kernel_of_sizes(recorded, options)


def _kernel_of_sizes(recorded: pipeline.Recorded, options: Options) -> Kernel:
    sizes = recorded.graph.sizes
    if sizes is None:
        return _kernel_of(recorded, options)
    recorded.graph.retype()
    sizes.is_over = False
    try:
        return _kernel_of(recorded, options)
    except Exception as error:
        sizes.pin_all(error)
        recorded.graph.retype()
        return _kernel_of(recorded, options)
    finally:
        sizes.end()


def _kernel_of(recorded: pipeline.Recorded, options: Options) -> Kernel:
    exact, memory_budget = options.exact, options.memory_budget
    written = f"exact={exact}"
    if memory_budget is not None and recorded.seed is not None:
        written += f" memory_budget={memory_budget}"
    key = pipeline.key_of(recorded, written)
    name = pipeline.name_of(recorded, key)
    store = Store(default_path() if options.cache else None)
    module = store.get(name, key)
    is_cached = module is not None
    if module is None:
        text, constants, notice = pipeline.generate(recorded, key, exact, memory_budget)
        if notice:
            warnings.warn(notice, TracejitWarning, stacklevel=places.user_depth())
        module = store.put(name, text, constants)
    share_constants(module, recorded.graph)
    place = recorded.origin.place
    cite(module, recorded.origin.file, place)
    kernel = Kernel(module, recorded.graph, options.threads, options.recycle, place)
    kernel.is_cached = is_cached
    return kernel


def cite(module: ModuleType, file: str, place: str) -> None:
    """Say in the docstring of `module` on which line of its file the user's function stands now:
    the text on disk does not tell, so that it is the same wherever the function is moved to."""
    entry = f"file         {file}"
    if place and module.__doc__:
        module.__doc__ = module.__doc__.replace(f"{entry}\n", f"{entry} ({place})\n", 1)


def share_constants(module: ModuleType, graph: Graph) -> None:
    """Let the large arrays at the head of `module` be those of its `graph` where these are the same
    to the bit: they are held once."""
    known: dict[Any, list[np.ndarray]] = {}
    for constant in graph.constants():
        if is_shared(constant.data):
            known.setdefault((constant.data.dtype, constant.data.shape), []).append(constant.data)
    for name, array in list(vars(module).items()) if known else ():
        if is_shared(array):
            for data in known.get((array.dtype, array.shape), ()):
                if data.ravel().view("u1").data == array.ravel().view("u1").data:
                    setattr(module, name, data)


def is_shared(data: Any) -> bool:
    """Return whether it is a large array of numbers in C order."""
    if not isinstance(data, np.ndarray) or data.nbytes < costs().shared_bytes:
        return False
    return bool(data.flags.c_contiguous and data.dtype.kind in "biufc")


def unpickled(
    name: str, text: str, npz: bytes | None, threads: int | None = None, recycle: bool = False
) -> Kernel:
    """The kernel of this text, with its constants, in memory. Raises KernelError where either was
    edited."""
    return Kernel(load_sealed(name, text, npz), None, threads, recycle)


def load(path: str | os.PathLike[str], trust: bool = False) -> Kernel:
    """The kernel in the file at `path`, as `Kernel.save` wrote it. Loading it runs it.

    The hash at the end of the file finds what was damaged or edited by mistake. Anybody can compute
    it, so it does not say who wrote the file: load what you would import. A file that others can
    write to, or that belongs to another user than this one or root, is therefore refused unless you
    `trust` it (docs/security.md).

    Raises KernelError (an ImportError) where the file is missing, is no kernel, was edited, or is
    not trusted.
    """
    try:
        return Kernel(load_file(path, trust))
    except TracejitError as error:
        raise without_frames(error, PACKAGE) from error.__cause__
