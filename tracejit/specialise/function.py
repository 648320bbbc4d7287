"""Function: a Python function that records itself once per signature and runs generated kernels
from then on."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from types import MethodType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeVar, overload

from tracejit.autodiff.request.request import Request
from tracejit.compiler.kernel import Kernel
from tracejit.debug.stepping import on_one_line
from tracejit.explorer.source import Source
from tracejit.runtime.dispatch import MISS
from tracejit.runtime.single_flight import SingleFlight
from tracejit.specialise.arguments import without_tensors
from tracejit.specialise.callee import Callee, Form
from tracejit.specialise.eager_mode import OPEN, is_disabled, is_open, way_out
from tracejit.specialise.explain import CacheInfo, History
from tracejit.specialise.fallback import Fallback, shown
from tracejit.specialise.kernel_table import CompiledCall, KernelTable
from tracejit.specialise.pickling import Recipe, deeply_copied, parts_of, reduced
from tracejit.specialise.slow_path import SlowPath
from tracejit.specialise.specialiser import Specialiser
from tracejit.specialise.uncompiled import cause_of
from tracejit.support.errors import TracejitError, fail
from tracejit.support.imports import import_module
from tracejit.support.options import Options, is_count, misfit, nearest
from tracejit.trace.arguments.signature import Call, inside_method, is_no_spec
from tracejit.trace.recording.decisions import Failed
from tracejit.trace.recording.floating import QUIET, STATE
from tracejit.trace.recording.record import current_recording
from tracejit.trace.source import places
from tracejit.trace.source.files import code_of

if TYPE_CHECKING:
    from tracejit.debug.profile import Profile

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)

if TYPE_CHECKING:
    from typing import Concatenate

    import numpy as np

    from tracejit.support.typing import FunctionOptions, MethodT, Q, R, Self, Unpack, X

VALUE = Request()


class Function(Generic[P, R_co]):
    """A compiled function, which is called like the function it wraps.

    `tj.function`, `tj.grad` and the other transforms return one. It keeps one kernel for each kind
    of call. A new dtype, shape, container structure or static value is recorded once more. A Python
    number is static at its first value, and an input of the kernel from its second value on.

    `python` is the function that it wraps, and `options` are its options. It can be copied. It can
    be pickled if the wrapped function can.

    Notes
    -----
    Assignments to Variables and callbacks take effect after the kernel has succeeded.
    If a function with such effects raises, it runs once more as plain Python. The effects before
    the error then take place, and `except` works as in Python.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tj
    >>> @tj.function
    ... def energy(x):
    ...     return np.sum(x * x)
    >>> energy(np.ones(3)), energy.python(np.ones(3))
    (np.float64(3.0), np.float64(3.0))
    >>> energy
    <tracejit function energy, 1 kernel>
    """

    __tracejit_parts__ = ("python", "request", "options")

    def __init__(
        self,
        python: Callable[P, Any],
        request: Request = VALUE,
        options: Options = Options(),  # noqa: B008
        form: Form | None = None,
        is_held: bool = True,
    ) -> None:
        """Wrap `python`; nothing is recorded before the first call. The user asks a function that
        `is_held` how its calls go."""
        functools.update_wrapper(self, python, updated=())
        self.python = python
        self.request = request
        self.options = options
        self.recipe: Recipe | None = None
        self._callee = callee = Callee(python, request, options, form)
        self.name = callee.name
        self.form = callee.form
        self.is_derived = callee.form is not Form.PLAIN
        self._table = table = KernelTable()
        history = History(callee.name, table, is_held, callee.findings)
        self._history = history
        self._specialiser = specialiser = Specialiser(
            callee, options, table, history, SingleFlight()
        )
        self._fallback = Fallback(callee, table, history.uncompiled)
        self._slow_path = SlowPath(callee, table, specialiser, self._fallback, options.max_paths)

    @on_one_line
    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R_co:
        result: R_co
        try:
            if (OPEN or STATE() is not QUIET.state) and self._fallback.is_switched_off():
                if not is_open() and not is_disabled():
                    self._history.uncompiled.note("floating", way_out())
                result = self._fallback.call(args, kwargs)
                return result
            calls = self._table.calls
            for entry in calls:
                result = entry(*args, **kwargs) if kwargs else entry(*args)
                if result is not MISS:
                    return result
            result, problem = self._slow_path.outcome(args, kwargs, calls)
        except (Exception, Failed) as error:
            result, problem = self._slow_path.after(error, args, kwargs)
        if problem is not None:
            __tracebackhide__ = True  # notebooks and pytest show the user's frames alone
            raise problem
        if result is MISS:
            result = self._slow_path.by_python(args, kwargs)
        return result

    @overload  # the function of a classmethod
    def __get__(  # type: ignore[misc]  # of other functions the overloads below
        self: Callable[Concatenate[type[X], Q], R], instance: X | None, owner: type | None = None
    ) -> Function[Q, R]: ...
    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(
        self: Callable[Concatenate[X, Q], R], instance: X, owner: type | None = None
    ) -> Function[Q, R]: ...
    @overload  # the function of a staticmethod
    def __get__(self, instance: object, owner: type | None = None) -> Self: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind to an instance, as a Python function does."""
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        count = len(self.kernels)
        return f"<tracejit function {self.name}, {count} kernel{'s' * (count != 1)}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return reduced(self, protocol)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return deeply_copied(self, memo)

    @property
    def _parts(self) -> Callable[[], tuple[Any, ...]]:
        return parts_of(self)

    @property
    def kernels(self) -> list[Kernel]:
        """All kernels made so far, the newest last.

        Examples
        --------
        >>> import numpy as np
        >>> import tracejit as tj
        >>> double = tj.function(lambda x: x + x, name="double")
        >>> result = double(np.ones(3)), double(np.ones(3, np.float32))
        >>> [kernel.signature["inputs"] for kernel in double.kernels]
        [{'x': 'f8[3]'}, {'x': 'f4[3]'}]
        """
        return self._table.kernels

    @property
    def tracing_count(self) -> int:
        """The number of times that the function was recorded.

        Kernels that were read from the disk do not count.
        """
        return self._table.recordings

    @property
    def source(self) -> Source:
        """The generated code of the newest kernel, as a string. A notebook shows it highlighted.

        Raises
        ------
        AttributeError
            If there is no kernel yet.

        Examples
        --------
        >>> import numpy as np
        >>> import tracejit as tj
        >>> double = tj.function(lambda x: x + x)
        >>> result = double(np.ones(3))
        >>> "def forward(x):" in double.source
        True
        """
        return self._kernels_made()[-1].source

    def _kernels_made(self) -> list[Kernel]:
        """The kernels, of which there is one at least."""
        if not self.kernels:
            raise AttributeError(f"{self.name} has no kernel yet: call it, or use .kernel(*specs)")
        return self.kernels

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return a page that shows your code beside all kernels made so far.

        Each kernel has a tab with its functions, the reason why it was made, its checks, and its
        graph.

        Parameters
        ----------
        path : str or path, default None
            A file to write the page to as well.

        Returns
        -------
        str
            The page, as one HTML file that needs no network.

        Raises
        ------
        AttributeError
            If there is no kernel yet.

        Examples
        --------
        >>> import numpy as np
        >>> import tracejit as tj
        >>> squares = tj.function(lambda x: x * x)
        >>> y = squares(np.ones(3))
        >>> squares.to_html().startswith("<!doctype html>")
        True
        """
        stories = self._history.stories(code_of(self.python))
        shown: Any = import_module("tracejit.explorer.show")
        place = self._kernels_made()[-1].place
        page: str = shown.function_page(self.name, place, stories, path)
        return page

    def _repr_html_(self) -> str:
        """The small explorer that a notebook shows: the newest kernel, and why there are so
        many."""
        stories = self._history.stories(code_of(self.python))
        shown: Any = import_module("tracejit.explorer.show")
        fragment: str = shown.function_fragment(self.name, stories, self.explain())
        return fragment

    def kernel(self, /, *args: Any, **kwargs: Any) -> Kernel:
        """Return the kernel for a call with these arguments, without running it.

        Parameters
        ----------
        *args : arrays or TensorSpecs
            The arguments, or descriptions of them.
        **kwargs : arrays or TensorSpecs
            Keyword arguments.

        Returns
        -------
        Kernel
            The kernel, which is made if there is none yet.

        Raises
        ------
        ValueNeededError
            If an argument is a TensorSpec, and Python needs the value of an array. A TypeError.
        UnsupportedError
            If the function cannot be recorded, as in a call. A TypeError.

        Examples
        --------
        >>> import numpy as np
        >>> import tracejit as tj
        >>> @tj.function
        ... def double(x):
        ...     return x + x
        >>> double.kernel(tj.TensorSpec((3,))).forward(np.ones(3))
        array([2., 2., 2.])
        """
        try:
            request = self._callee.note(self._callee.bind(args, kwargs))
            found = self._table.find(request.call) or self._specialiser.generalise(request)
            return found.kernel
        except TracejitError as error:
            raise shown(error) from None
        except Failed:
            raise shown(fail("not-compiled", places.here(), function=self.name)) from None

    def compiled_call(self, call: Call) -> CompiledCall | None:
        """The kernel made so far that takes a call like this one, with its entry."""
        return self._table.find(call)

    def profile(self, /, *args: Any, **kwargs: Any) -> Profile:
        """Measure the time of each line, in a call with these arguments.

        Assignments to Variables and writes into arguments do not take place.

        Parameters
        ----------
        *args : arrays
            The arguments.
        **kwargs : arrays
            Keyword arguments.

        Returns
        -------
        Profile
            The time, the bytes and the calls of each line, as `Kernel.profile` returns them.

        Raises
        ------
        UnsupportedError
            If the function cannot be recorded, as in a call. A TypeError.
        """
        try:
            request = self._callee.note(self._callee.bind(args, kwargs))
            found = self._table.find(request.call) or self._specialiser.generalise(request)
        except TracejitError as error:
            raise shown(error) from None
        except Failed:
            raise shown(fail("not-compiled", places.here(), function=self.name)) from None
        return found.kernel.profile(*found.arrays(args, kwargs))

    def explain(self, /, *args: Any, **kwargs: Any) -> str:
        """Explain why each kernel was made, and how to have fewer.

        With arguments, explain which kernel takes such a call, or why it would be recorded. Nothing
        is run.

        Parameters
        ----------
        *args : arrays
            The arguments of a call to explain.
        **kwargs : arrays
            Its keyword arguments.

        Returns
        -------
        str
            The explanation, in sentences.

        Raises
        ------
        ArityError
            If the arguments do not fit the signature of the function. A TypeError.

        Examples
        --------
        >>> import numpy as np
        >>> import tracejit as tj
        >>> @tj.function
        ... def scaled(x):
        ...     return x * 2.0
        >>> y = scaled(np.ones(3))
        >>> print(scaled.explain())
        scaled has 1 kernel.
        Kernel 1 was made for the first call: x f8[3].
        >>> print(scaled.explain(np.ones(3, np.float32)))
        No kernel takes this call, because x had dtype float32; kernel 1 has float64. To avoid it: convert it before the call, x.astype(np.float64).
        """  # noqa: E501
        if not args and not kwargs:
            told = self._history.tell()
            budget = self.options.memory_budget
            if budget is not None:
                told += f"\nGradients of {self.name} have a memory_budget of {budget} bytes; "
                told += "the head of each module says what it needs."
            return told
        try:
            return self._foreseen(args, kwargs)
        except TracejitError as error:
            raise shown(error) from None

    def cache_info(self) -> CacheInfo:
        """Return the number of kernels, of recordings, and of kernels that are files.

        Returns
        -------
        CacheInfo
            A named tuple (kernels, recordings, files).

        Examples
        --------
        >>> import tracejit as tj
        >>> tj.function(lambda x: x).cache_info()
        CacheInfo(kernels=0, recordings=0, files=0)
        """
        files = sum(kernel.path is not None for kernel in self.kernels)
        return CacheInfo(len(self.kernels), self.tracing_count, files)

    def cache_clear(self) -> None:
        """Forget all kernels of this function.

        Files on the disk stay, and are found again.

        Returns
        -------
        None
            `kernels` is empty afterwards.

        Examples
        --------
        >>> import numpy as np
        >>> import tracejit as tj
        >>> double = tj.function(lambda x: x + x)
        >>> result = double(np.ones(3))
        >>> double.cache_clear()
        >>> double.kernels
        []
        """
        self._table.clear()
        self._history.clear()

    def _foreseen(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """Foresee a call with these arguments, which is not taken note of."""
        callee = self._callee
        arguments = callee.bind(args, kwargs)
        running = current_recording()
        if running is not None:
            return f"This call would be recorded as part of {running.graph.name}."
        if self._fallback.is_switched_off():
            return f"This call would run as plain Python, because {way_out()}."
        call, _ = callee.take_apart(arguments)
        if problem := callee.refusal(call):
            return f"This call would run as plain Python, because {cause_of(problem)[1]}."
        return self._history.foresee(without_tensors(call)[0], self._callee.static_rows())


if TYPE_CHECKING:

    class FunctionDecorator(Protocol):
        """`tj.function` with options."""

        @overload
        def __call__(  # type: ignore[overload-overlap]  # a staticmethod is callable, too
            self, python: MethodT, /
        ) -> MethodT: ...
        @overload
        def __call__(self, python: Callable[P, R], /) -> Function[P, R]: ...


@overload
def function(python: np.ufunc, **options: Unpack[FunctionOptions]) -> Function[..., Any]: ...
@overload
def function(  # type: ignore[overload-overlap]  # a staticmethod is callable, too
    python: MethodT, **options: Unpack[FunctionOptions]
) -> MethodT: ...
@overload
def function(python: Callable[P, R], **options: Unpack[FunctionOptions]) -> Function[P, R]: ...
@overload
def function(python: None = None, **options: Unpack[FunctionOptions]) -> FunctionDecorator: ...
def function(python: Any = None, **options: Any) -> Any:
    """Compile a NumPy function: use it as `@tj.function` or `@tj.function(option=...)`.

    Parameters
    ----------
    python : callable, default None
        The function to compile.
    **options : Options
        Options, such as `static_argnames="order"` and `exact=True`.

    Returns
    -------
    Function
        A compiled function. It takes the same arguments and returns the same values, dtypes, shapes
        and types as NumPy, in new arrays.

    Raises
    ------
    ArgumentError
        If an argument or a result is not an array, a number or a container of them. The call raises
        it, and the errors below. A TypeError.
    UnsupportedError
        If the function calls something that tracejit does not record. A TypeError.
    ValueNeededError
        If Python needs the value of recorded data. A TypeError.

    Notes
    -----
    Arguments are arrays, NumPy scalars, Python numbers, and containers of them. Other hashable
    arguments, such as strings, select a kernel. `if`, `while` and `break` on data are recorded
    once, with both sides, if the sides only compute. Otherwise they are recorded once for each way
    that calls take. Errors show the line in your code.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tj
    >>> @tj.function
    ... def norm(x):
    ...     return np.sqrt(np.sum(x * x))
    >>> norm(np.array([3.0, 4.0]))
    np.float64(5.0)
    """
    if unknown := sorted(options.keys() - set(Options._fields)):
        fix = nearest(unknown[0], Options._fields)
        words = {"function": "tj.function", "option": unknown[0]}
        raise fail("option", places.here(), **words, fix=fix)
    if (found := misfit(options)) is not None:
        name, allowed = found
        words = {"option": name, "given": options[name], "words": allowed}
        raise fail("option-value", places.here(), **words)
    if python is None:
        return functools.partial(function, **options)
    if isinstance(python, Function):
        return python
    if (method := inside_method(functools.partial(function, **options), python)) is not None:
        return method
    if not callable(python):
        line = places.here()
        raise fail("not-callable", line, decorator="tj.function", kind=type(python).__name__)
    threads = options.get("threads")
    if threads is not None and not is_count(threads):
        raise fail("threads", places.here(), given=f"threads={threads!r}")
    budget = options.get("memory_budget")
    if budget is not None and (type(budget) is not int or budget < 0):
        raise fail("memory-budget", places.here(), budget=budget)
    for given in options.get("input_signature") or ():
        if is_no_spec(given):
            name = getattr(python, "__name__", "the function")
            raise fail("not-a-spec", places.here(), function=name, given=given)
    try:
        return Function(python, VALUE, Options(**options))
    except TracejitError as error:
        raise shown(error) from None
