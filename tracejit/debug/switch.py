"""The switch of `tj.debug_nans`: while it is on, every kernel runs as checked code.

A kernel's functions keep their identity and get other code, so whatever holds them (entries, tapes,
callers) calls the checked code, and nothing is asked while the switch is off. A kernel is
instrumented when it is called first. Which threads check is asked in the code itself.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, Token
from threading import RLock
from types import CodeType, FunctionType, ModuleType, TracebackType
from typing import Any, NamedTuple
from weakref import ref

from tracejit.debug import INSTRUMENTED
from tracejit.support.imports import import_module

STUB = "_tj_first_call"


class Mode(NamedTuple):
    """A way of checking kernels: all operations, or with `results_only` those that a result depends
    on; what is found is an error, or with `warn` a warning."""

    results_only: bool = False
    warn: bool = False


class Switch:
    """The kernels of the process, and who wants them checked: `everywhere`, or in `blocks`."""

    def __init__(self) -> None:
        """Begin switched off."""
        # By id; a dict is copied in one step, whatever other threads do meanwhile.
        self._kernels: dict[int, Callable[[], Any]] = {}
        self.everywhere: Mode | None = None
        self.blocks = 0
        self.here: ContextVar[Mode | None] = ContextVar("tracejit_debug_nans", default=None)
        # The functions that have other code now, each with its own, by the module's id.
        self._swapped: dict[int, tuple[ModuleType, dict[FunctionType, CodeType]]] = {}
        self._undo: Callable[[], None] | None = None
        self._lock = RLock()

    @property
    def is_open(self) -> bool:
        """True if any thread wants kernels checked."""
        return self.everywhere is not None or self.blocks > 0

    def mode(self) -> Mode | None:
        """The way of checking what runs now; None if it is not checked."""
        return self.here.get() or self.everywhere

    def kernels(self) -> list[Any]:
        """The kernels that somebody holds."""
        held = (here() for here in list(self._kernels.values()))
        return [kernel for kernel in held if kernel is not None]

    def add(self, kernel: Any) -> None:
        """Take note of a kernel that was made."""
        key = id(kernel)
        self._kernels[key] = ref(kernel, lambda _: self._kernels.pop(key, None))
        if self.is_open:
            with self._lock:
                self._settle()

    def check_everywhere(self, mode: Mode | None) -> None:
        """Check all calls of the process from now on in this way, or none of them."""
        with self._lock:
            self.everywhere = mode
            self._settle()

    def count_blocks(self, change: int) -> None:
        """So many blocks more are open, or fewer."""
        with self._lock:
            self.blocks += change
            self._settle()

    def _settle(self) -> None:
        """Give all kernels the code that they need now."""
        if not self.is_open:
            for _, plain in list(self._swapped.values()):
                for function, code in plain.items():
                    function.__code__ = code
            self._swapped.clear()
            if self._undo is not None:
                self._undo()
                self._undo = None
            return
        for kernel in self.kernels():
            self._swap(kernel)
        if self._undo is None:
            self._undo = import_module("tracejit.debug.eager_checks").check_eager(self.mode)

    def _swap(self, kernel: Any) -> None:
        """Let the functions of a kernel be instrumented when they are called next."""
        module = kernel.module
        found = list(vars(module).values())  # at once: a signal handler may add to them
        functions = [one for one in found if isinstance(one, FunctionType)]
        own = {one: one.__code__ for one in functions if one.__globals__ is module.__dict__}
        if id(module) in self._swapped or INSTRUMENTED in vars(module):
            return
        self._swapped[id(module)] = module, own
        files = kernel.files  # not the kernel, which nobody may hold any more

        def first_call(name: str, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
            if id(module) in self._swapped:
                watch = import_module("tracejit.debug.watch").Watch(module, files, self.mode)
                module.__dict__.update(watch.instrumented.hooks)
                for function in own:
                    function.__code__ = watch.instrumented.codes[function.__name__]
            return getattr(module, name)(*args, **words)

        module.__dict__[STUB] = first_call
        for function in own:
            text = f"lambda *args, **words: {STUB}({function.__name__!r}, args, words)"
            stub: FunctionType = eval(compile(text, __file__, "eval"))
            function.__code__ = stub.__code__


SWITCH = Switch()


class debug_nans:
    """Stop at the first nan or infinity that a kernel computes from finite numbers.

    Use `with tj.debug_nans():` for a block on this thread, and `tj.debug_nans(True)` for all calls
    of the process.

    Parameters
    ----------
    on : bool, default None
        True switches the check on for the process, and False off. None is for a `with` block.
    results_only : bool, default False
        If True, allow nan and infinity in values that no result depends on, as in `np.where(x > 0,
        np.log(x), 0.0)`.
    warn : bool, default False
        If True, warn at your line instead of raising an error. NumPy's own warnings are silent
        then.

    Returns
    -------
    context manager
        The block to check.

    Raises
    ------
    NonFiniteError
        If a value is not finite. The message has your line, the generated line, and the ranges of
        the operands. The call of the kernel raises it. A FloatingPointError.

    Notes
    -----
    An argument that is not finite is named once it has reached a result. Calls that run as plain
    Python, as in `tj.eager()`, are not checked: use `np.errstate(all="raise")` there.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tj
    >>> @tj.function
    ... def log_sum(x):
    ...     return np.log(np.sum(x))
    >>> with np.errstate(all="ignore"), tj.debug_nans():
    ...     try:
    ...         log_sum(np.zeros(3))
    ...     except FloatingPointError as error:
    ...         print(str(error).splitlines()[0])
    log(x.dot(ones_3)) is infinite, in forward of log_sum.
    """

    def __init__(
        self, on: bool | None = None, *, results_only: bool = False, warn: bool = False
    ) -> None:
        """Take effect at once where `on` is given, else in a `with` block."""
        self._mode = Mode(results_only, warn)
        self._is_switch = on is not None
        self._before = SWITCH.everywhere
        self._tokens: list[Token[Mode | None]] = []
        if on is not None:
            SWITCH.check_everywhere(self._mode if on else None)

    def __enter__(self) -> None:
        """Begin a block."""
        if not self._is_switch:
            self._tokens.append(SWITCH.here.set(self._mode))
            SWITCH.count_blocks(1)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End a block: all is as before."""
        if self._is_switch:
            SWITCH.check_everywhere(self._before)
        else:
            SWITCH.here.reset(self._tokens.pop())
            SWITCH.count_blocks(-1)
