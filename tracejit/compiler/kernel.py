"""Kernel: one generated module, and the graph it came from."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracejit.cache.key import key_of
from tracejit.cache.settings import default_path
from tracejit.cache.standalone import load_file, load_sealed, save
from tracejit.cache.store import Store
from tracejit.compiler import pipeline
from tracejit.debug.switch import SWITCH, Mode
from tracejit.explorer.source import Source
from tracejit.ir.graph import Graph, Node
from tracejit.ir.location import Location
from tracejit.runtime.allocator import keep_freed_memory
from tracejit.runtime.blas import on_one_blas_thread
from tracejit.runtime.buffer_pool import recycled_empty
from tracejit.runtime.tile_threads import share_tiles
from tracejit.support.config import setting
from tracejit.support.cost_model import costs
from tracejit.support.errors import (
    GraphError,
    NotImportableError,
    TracejitError,
    TracejitWarning,
    fail,
    without_frames,
)
from tracejit.support.garbage import collection_paused
from tracejit.support.imports import import_module
from tracejit.support.options import Options
from tracejit.support.progress import stage
from tracejit.support.readable import FIGURES, readable_figures
from tracejit.targets.numpy.text.module import Module
from tracejit.text.header import ungrouped
from tracejit.text.marks import marking
from tracejit.trace.source import places
from tracejit.trace.source.places import PACKAGE

if TYPE_CHECKING:
    from tracejit.debug.profile import Profile

ENTRIES = ("forward", "backward", "value_and_grad")


class MadeFrom(NamedTuple):
    """All that the text of a kernel was generated from, but its key."""

    recorded: pipeline.Recorded
    exact: bool
    memory_budget: int | None
    readable: bool

    def generate(self, key: str) -> Module:
        """The module of this content key."""
        given = self.recorded, key, self.exact, self.memory_budget, self.readable
        with readable_figures() if self.readable else nullcontext():
            return pipeline.generate(*given)


class Kernel:
    """A generated module: its text, its functions and its file.

    `forward`, `backward` and `value_and_grad` are the functions of the module. They take the arrays
    of the signature in order, and check nothing.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tj
    >>> square = tj.value_and_grad(lambda x: np.sum(np.sin(x)))
    >>> kernel = square.kernel(tj.TensorSpec((2,)))
    >>> kernel.value_and_grad(np.zeros(2))
    (np.float64(0.0), array([1., 1.]))
    >>> value, residuals = kernel.forward(np.zeros(2))
    >>> kernel.backward(residuals, 10.0)
    array([10., 10.])
    """

    def __init__(
        self,
        module: ModuleType,
        graph: Graph | None = None,
        threads: int | None = None,
        recycle: bool = False,
        place: str = "",
        made_from: MadeFrom | None = None,
    ) -> None:
        """The kernel in `module`, which no other kernel has; `graph` is what it was generated from,
        where that is known, and `place` where the user's function stands in this process. Its
        tiles, where it has any, run on up to so many `threads`, and the large arrays that they fill
        are handed out again where it may `recycle` them. `made_from` can generate it again."""
        self.module = module
        self.threads = threads
        self.recycle = recycle
        self.place = place
        self.is_cached = False  # True if its text was read from the cache
        self._graph = graph
        self._made_from = made_from
        self._functions = equipped(module, threads, recycle)
        SWITCH.add(self)

    @property
    def name(self) -> str:
        """The name to import it by: `from tracejit.kernels import NAME`."""
        return self.module.__name__.rpartition(".")[2]

    @property
    def graph(self) -> Graph:
        """The recorded graph, after differentiation and before any pass. It prints as text."""
        if self._graph is None:
            raise AttributeError(f"{self.name} was loaded as text, which holds no graph")
        return self._graph

    @property
    def source(self) -> Source:
        """The text of the module. A notebook shows it highlighted."""
        return Source(self.module.__source__)

    @property
    def path(self) -> Path | None:
        """The file of the module, or None if it is only in memory."""
        path = Path(self.module.__file__ or "")
        return path if path.is_file() else None

    @property
    def key(self) -> str:
        """The SHA-256 hash of everything that the text depends on, as 64 hex digits."""
        return key_of(self.source) or ""

    @property
    def signature(self) -> Mapping[str, Any]:
        """The types of inputs, outputs, gradients and residuals."""
        signature: Mapping[str, Any] = self.module.SIGNATURE
        return signature

    def residuals(self) -> dict[str, str]:
        """Return the types of the values that `forward` keeps for `backward`.

        Returns
        -------
        dict
            The type of each residual, by name.

        Raises
        ------
        AttributeError
            If the kernel computes no gradient.

        Examples
        --------
        >>> import numpy as np
        >>> import tracejit as tj
        >>> slope = tj.grad(lambda x: np.sum(np.tanh(x)))
        >>> slope.kernel(tj.TensorSpec((3,))).residuals()
        {'out_1': 'f8[3]'}
        """
        return ungrouped(self._gradient_part("residuals"))

    @property
    def forward(self) -> Callable[..., Any]:
        """The function `forward(*arrays)`: the result, and residuals if there is a backward."""
        return self._functions["forward"]

    @property
    def backward(self) -> Callable[..., Any]:
        """The function `backward(residuals, out_bar=1.0)`. It returns the gradients."""
        self._gradient_part("gradient")
        return self._functions["backward"]

    @property
    def value_and_grad(self) -> Callable[..., Any]:
        """The function `value_and_grad(*arrays)`. It returns the result and the gradients."""
        self._gradient_part("gradient")
        return self._functions["value_and_grad"]

    @property
    def files(self) -> Mapping[Location, tuple[str, int]]:
        """The file and absolute line of each of the user's lines, where they are known."""
        return self._graph.files if self._graph is not None else {}

    def checked(self, results_only: bool = False) -> Kernel:
        """Return a copy of this kernel that stops at the first nan or infinity.

        The copy raises an error if finite numbers give a value that is not finite. Otherwise it
        returns the same bits. `tj.debug_nans` checks all kernels.

        Parameters
        ----------
        results_only : bool, default False
            If True, allow nan and infinity in values that no result depends on, such as those that
            `np.where` leaves out.

        Returns
        -------
        Kernel
            The checked kernel. It raises NonFiniteError, a FloatingPointError, with your line, the
            generated line and the ranges of the operands.

        Examples
        --------
        >>> import numpy as np
        >>> import tracejit as tj
        >>> kernel = tj.function(lambda x: np.sqrt(x)).kernel(np.ones(3))
        >>> kernel.checked().forward(np.ones(3))
        array([1., 1., 1.])
        """
        checked_module = import_module("tracejit.debug.watch").checked_module
        module = checked_module(self.module, self.files, Mode(results_only))
        return Kernel(module, self._graph, 1)

    def profile(self, *arrays: Any, repeat: int = 5, function: str | None = None) -> Profile:
        """Measure the time of each line in one call.

        Parameters
        ----------
        *arrays : arrays
            The arrays that `forward` takes.
        repeat : int, default 5
            The number of calls. The fastest one counts.
        function : str, default None
            The function to call: "forward", "backward" or "value_and_grad". None takes
            `value_and_grad` if there is one, and `forward` otherwise.

        Returns
        -------
        Profile
            A record that prints as a table. `lines` has one entry for each of your lines,
            `generated` one for each generated line.

        Raises
        ------
        AttributeError
            If `function` is a part of the gradient and the kernel computes none.

        Notes
        -----
        Tiles run in turn on one thread. A callback is called at each call
        of the kernel.

        Examples
        --------
        >>> import numpy as np
        >>> import tracejit as tj
        >>> kernel = tj.grad(lambda x: np.sum(x * x)).kernel(np.ones(3))
        >>> kernel.profile(np.ones(3)).lines[0].calls
        1
        """
        profile_of = import_module("tracejit.debug.profiler").profile_of
        given = function or self._main
        if given != "forward":
            self._gradient_part("gradient")
        found: Profile = profile_of(self.module, self.files, given, arrays, repeat, equipped)
        return found

    def debug(self, *arrays: Any, function: str | None = None) -> Any:
        """Call the kernel in pdb, which stops at its first generated line.

        `tj.set_trace` does this for a call of the compiled function itself.

        Parameters
        ----------
        *arrays : arrays
            The arrays that the function takes.
        function : str, default None
            The function to call: "forward", "backward" or "value_and_grad". None takes
            `value_and_grad` if there is one, and `forward` otherwise.

        Returns
        -------
        object
            The return value of that function.
        """
        run_in_pdb = import_module("tracejit.debug.stepping").run_in_pdb
        return run_in_pdb(getattr(self, function or self._main), arrays)

    @property
    def _main(self) -> str:
        """The function that computes all that the kernel does."""
        return "value_and_grad" if "gradient" in self.signature else "forward"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the kernel to `path`, as a module that imports only NumPy.

        Large constants are written beside it (`.npz`). `tj.load` reads it back.

        Parameters
        ----------
        path : str or path
            The file to write.

        Returns
        -------
        None
            The last line of the file is a hash. It finds later changes; it does not prove who wrote
            the file.
        """
        save(self.source, self.module.__npz__, path)

    def to_html(self, path: str | os.PathLike[str] | None = None, profile: Any = None) -> str:
        """Return a page that shows your code beside the functions of this kernel.

        Parameters
        ----------
        path : str or path, default None
            A file to write the page to as well.
        profile : Profile, default None
            A result of `kernel.profile(*args)`. The page then shows the time and the memory of each
            line.

        Returns
        -------
        str
            The page, as one HTML file that needs no network. For a kernel that was loaded as text
            it shows only the lines that the text cites.

        Examples
        --------
        >>> import numpy as np
        >>> import tracejit as tj
        >>> squares = tj.value_and_grad(lambda x: np.sum(x * x))
        >>> squares.kernel(np.ones(3)).to_html().startswith("<!doctype html>")
        True
        """
        page: str = import_module("tracejit.explorer.show").kernel_page(self, path, profile)
        return page

    def _repr_html_(self) -> str:
        """The small explorer that a notebook shows."""
        fragment: str = import_module("tracejit.explorer.show").kernel_fragment(self)
        return fragment

    def marked(self) -> tuple[str, list[Node]] | None:
        """The text as it is generated once more with marks, and the nodes that these number; None
        where the kernel was loaded as text. See `text/marks.py`."""
        made_from = self._made_from
        if made_from is None:
            return None
        sizes = made_from.recorded.graph.sizes
        with collection_paused(), marking() as nodes:
            if sizes is None:
                return made_from.generate(self.key).text, nodes
            sizes.is_over = False
            try:
                return made_from.generate(self.key).text, nodes
            finally:
                sizes.end()

    def _gradient_part(self, part: str) -> Any:
        if part not in self.signature:
            raise AttributeError(
                f"{self.name} computes only the value; tj.value_and_grad(f).kernel(...) has "
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


def make_kernel(
    recorded: pipeline.Recorded,
    options: Options = Options(),  # noqa: B008
    for_all_sizes: bool = False,
) -> Kernel:
    """The kernel of a recorded function: from disk if its key is there, else generated.

    Where that needs the number of a free dimension, no dimension is free, or the error is raised
    where the kernel must be `for_all_sizes`.
    """
    with collection_paused(), stage("compiling", recorded.graph.name):
        return _kernel_of_sizes(recorded, options, for_all_sizes)


def _kernel_of_sizes(recorded: pipeline.Recorded, options: Options, for_all_sizes: bool) -> Kernel:
    sizes = recorded.graph.sizes
    if sizes is None:
        return _kernel_of(recorded, options)
    recorded.graph.retype()
    sizes.is_over = False
    try:
        return _kernel_of(recorded, options)
    except Exception as error:
        if for_all_sizes or (isinstance(error, NotImportableError) and setting("strict")):
            raise
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
    if options.readable:
        written += f" readable={FIGURES}"
    key = pipeline.key_of(recorded, written)
    name = pipeline.name_of(recorded, key)
    store = Store(default_path() if options.cache else None)
    module = store.get(name, key)
    made_from = MadeFrom(recorded, exact, memory_budget, options.readable)
    is_cached = module is not None
    if module is None:
        try:
            text, constants, notice = made_from.generate(key)
        except GraphError as error:
            raise _unusable(name, error) from error
        if notice:
            warnings.warn(notice, TracejitWarning, stacklevel=places.user_depth())
        try:
            module = store.put(name, text, constants)
        except MemoryError:
            raise  # the process is at fault, not the text
        except Exception as error:
            raise _unusable(name, error) from error
    share_constants(module, recorded.graph)
    place = recorded.origin.place
    cite(module, recorded.origin.file, place)
    kernel = Kernel(module, recorded.graph, options.threads, options.recycle, place, made_from)
    kernel.is_cached = is_cached
    return kernel


def _unusable(name: str, error: Exception) -> Exception:
    problem = f"cannot be used: {type(error).__name__}: {error}".partition("\n")[0].rstrip(".")
    return fail("not-importable", None, name=name, problem=problem)


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
    """The kernel of this text, with its constants, in memory. Raises KernelError if either was
    edited."""
    return Kernel(load_sealed(name, text, npz), None, threads, recycle)


def load(path: str | os.PathLike[str], trust: bool = False) -> Kernel:
    """Load the kernel in the file at `path`, which `Kernel.save` or `tj.export` wrote.

    Loading a file runs it, so load only what you would import.

    Parameters
    ----------
    path : str or path
        The file.
    trust : bool, default False
        If True, load files that others can write to, or that belong to another user. They are
        refused otherwise.

    Returns
    -------
    Kernel
        The kernel.

    Raises
    ------
    KernelError
        If the file is missing, is not a kernel, was edited, or is not trusted. An ImportError.

    Notes
    -----
    The hash at the end of a file finds damage and edits. Anybody can compute it, so it does not say
    who wrote the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import tracejit as tj
    >>> double = tj.function(lambda x: x + x)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     double.kernel(tj.TensorSpec((2,))).save(Path(folder) / "double.py")
    ...     tj.load(Path(folder) / "double.py").forward(np.ones(2))
    array([2., 2.])
    """
    try:
        return Kernel(load_file(path, trust))
    except TracejitError as error:
        raise without_frames(error, PACKAGE) from error.__cause__
