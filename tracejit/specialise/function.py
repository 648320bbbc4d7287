"""Function: a Python function that records itself once per signature and runs generated kernels
from then on."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any, Generic, ParamSpec, TypeVar, overload

from tracejit.autodiff.request import Request, rebuild, run
from tracejit.compiler.kernel import Kernel, make_kernel
from tracejit.runtime.dispatch import MISS, Entry, Space, make_entry
from tracejit.runtime.processors import is_number_of_threads
from tracejit.specialise.arguments import check_unread, recording_among, without_tensors, write_back
from tracejit.specialise.eager_mode import OPEN, is_disabled, is_open, way_out
from tracejit.specialise.explain import Explained, History, explained
from tracejit.specialise.fallback import Recovering, shown
from tracejit.specialise.kernel_table import KernelTable, Made
from tracejit.specialise.pickling import Travelling
from tracejit.specialise.results import apart
from tracejit.specialise.specialiser import Asked, Run
from tracejit.specialise.strict_mode import is_mistake, is_strict
from tracejit.specialise.trace_tree import TraceTree, answered
from tracejit.support.errors import TracejitError, fail
from tracejit.support.options import Options, did_you_mean
from tracejit.support.words import identifier
from tracejit.trace import places
from tracejit.trace.decisions import Failed
from tracejit.trace.eager import EAGER, nobody_watches
from tracejit.trace.floating import QUIET, STATE
from tracejit.trace.free_dimensions import RanOnce, SeenShapes
from tracejit.trace.labelled import unlabelled
from tracejit.trace.mutable_attributes import Attributes, others_lend
from tracejit.trace.record import Recording, current_recording
from tracejit.trace.signature import (
    NUMBERS,
    Call,
    bind_arguments,
    inside_method,
    is_no_spec,
    signature_of,
    static_names,
    take_apart,
)

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
R = TypeVar("R")

VALUE = Request()


class Function(Recovering, Explained, Travelling, Generic[P, R_co]):
    """A function compiled to generated NumPy, called like the one it wraps.

    Each call that no kernel fits records the function once more: another dtype, shape, structure
    of a container or static value. A Python number is static on its first value and dynamic from
    its second on.

    What happens outside, assignments to Variables and callbacks, happens when the kernel has
    succeeded. Where recording or the kernel raises, a function that has such effects is called
    once more as plain Python: what comes before the error takes place, and `except` is Python's.
    """

    def __init__(
        self,
        python: Callable[P, Any],
        request: Request = VALUE,
        options: Options = Options(),  # noqa: B008
    ) -> None:
        """Wrap `python`; nothing is recorded before the first call."""
        functools.update_wrapper(self, python, updated=())
        self.python = python
        self.request = request
        self.signature = signature_of(python)
        known = options.name or getattr(python, "__name__", None) or type(python).__name__
        self.name = identifier(known)
        self._history = History(self.name)
        self.options = options
        self.is_derived = bool(request.transform)  # its Python is for recordings alone
        self.has_eager_form = False
        self._static = static_names(self.signature, options.static_argnums, options.static_argnames)
        self._shelf = KernelTable()
        self._effects: set[str] = set()
        self._keeps_apart = False
        self._takes_gradients: bool | None = None
        self._first_numbers: dict[str, str] = {}
        self._dynamic: set[str] = set()
        self._attributes = Attributes()
        self._shapes = SeenShapes(self.name, options.dynamic_shapes is not False)
        if options.input_signature is not None:
            specs = bind_arguments(self.signature, self.name, tuple(options.input_signature), {})
            self._shapes.promise(take_apart(specs, self.name, str))

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R_co:
        result: R_co
        try:
            if (OPEN or STATE() is not QUIET.state) and self._is_switched_off():
                if not is_open() and not is_disabled():
                    self._history.uncompiled.note("floating", way_out())
                result = self._eagerly(args, kwargs)
                return result
            calls = self._shelf.calls
            for entry in calls:
                result = entry(*args, **kwargs) if kwargs else entry(*args)
                if result is not MISS:
                    return result
            result, problem = self._first_call(args, kwargs, calls), None
        except (Exception, Failed) as error:
            result, problem = self._after(error, args, kwargs)
        if problem is not None:
            raise problem
        if result is MISS:
            result = self._by_python(args, kwargs)
        return result

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind to an instance, as a Python function does."""
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<tracejit function {self.name}, {len(self.kernels)} kernels>"

    @property
    def kernels(self) -> list[Kernel]:
        """Every kernel made so far, the newest last."""
        return self._shelf.kernels

    @property
    def tracing_count(self) -> int:
        """How often the function was recorded."""
        return self._shelf.recordings

    @property
    def source(self) -> str:
        """The text of the newest kernel."""
        if not self.kernels:
            raise AttributeError(f"{self.name} has no kernel yet: call it, or use .kernel(*specs)")
        return self.kernels[-1].source

    def kernel(self, /, *args: Any, **kwargs: Any) -> Kernel:
        """The kernel for a call with these arrays, or TensorSpecs in their place; nothing is run.

        >>> import numpy as np
        >>> import tracejit as tj
        >>> @tj.function
        ... def double(x):
        ...     return x + x
        >>> double.kernel(tj.TensorSpec((3,))).forward(np.ones(3))
        array([2., 2., 2.])
        """
        try:
            arguments = bind_arguments(self.signature, self.name, args, kwargs)
            space = Space(self.signature.parameters)
            call = self._take_apart(arguments, space)
            return (self._shelf.made_for(call) or self._generalise(call, space)).kernel
        except TracejitError as error:
            raise shown(error) from None
        except Failed:
            raise shown(fail("not-compiled", places.here(), function=self.name)) from None

    def cache_clear(self) -> None:
        """Forget every kernel of this function; files stay."""
        self._shelf.clear()
        self._history.clear()

    # Calls that no kernel fits

    def _first_call(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], tried: Sequence[Any]
    ) -> Any:
        """A call that none of the entries `tried` fits. MISS where another thread records it."""
        self.signature = signature_of(self.python)  # whose defaults may be others by now
        arguments = bind_arguments(self.signature, self.name, args, kwargs)
        recording = recording_among(arguments) or current_recording()
        if recording is not None:
            return self._inline(arguments, recording)
        if is_disabled() and self._is_switched_off():
            return self._eagerly(args, kwargs)
        space = Space(self.signature.parameters)
        call, tensors = without_tensors(self._take_apart(self._read_sources(arguments), space))
        seen = () if tensors or EAGER.is_watched else tried
        found = self._specialise_in_turn(call, space, seen, exact=bool(tensors) or EAGER.is_watched)
        if found is None:
            return MISS
        if tensors or (EAGER.is_watched and found.entry.unwatched is not None):
            leaves = [tensors.get(leaf.name, leaf.value) for leaf in call.leaves]
            return self._by_path(found, leaves, call, space)
        result = found.call(*args, **kwargs)
        if result is MISS and self._must_record:
            # Another thread has changed what was read while recording, or even the arguments.
            result = self._record(call, space, keep=False).call(*args, **kwargs)
            if result is MISS:
                return self._first_call(args, kwargs, self._shelf.calls)
        return result

    def _by_path(self, found: Made, leaves: Sequence[Any], call: Call, space: Space) -> Any:
        """The call on eager Tensors; recorded once more where it takes a way of its own. MISS where
        another thread is recording it.

        Raises Failed where there are too many.
        """
        for _ in range(self.options.max_paths):
            check_unread(call, leaves, found.entry.fixed)
            seen = self._shelf.calls
            answer, outcomes = found.entry.ways.tried(leaves)
            if outcomes is None:
                return answer
            if found.entry.ways.is_full(self.options.max_paths):
                break
            following = self._specialise_in_turn(
                call, space, seen, found.entry, outcomes, exact=True
            )
            if following is None:
                return MISS
            found = following
        raise found.entry.ways.failed()

    def _other_way(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that takes a way through the function which its kernel has not recorded. MISS
        where another thread is recording it.

        Raises Failed where there are too many.
        """
        arguments = self._read_sources(bind_arguments(self.signature, self.name, args, kwargs))
        space = Space(self.signature.parameters)
        call = self._take_apart(arguments, space)
        seen = self._shelf.calls
        tried = [one for one in reversed(self._shelf.made) if one.entry.fits(call)]
        for _ in range(self.options.max_paths):
            onto: Entry | None = None
            outcomes: list[Any] = []
            for one in tried:
                result, parting = answered(one.entry, one.call, args, kwargs)
                if parting is None and result is not MISS:
                    return result
                if parting is not None and onto is None:
                    onto, outcomes = one.entry, parting
            if onto is not None and onto.ways.is_full(self.options.max_paths):
                raise onto.ways.failed()
            found = self._specialise_in_turn(call, space, seen, onto, outcomes)
            if found is None:
                return MISS
            seen, tried = self._shelf.calls, [found]
        raise Failed("ways", str(self.options.max_paths))

    def _inline(self, arguments: dict[str, Any], recording: Recording) -> Any:
        """The call as part of the recording that runs already."""
        if self.request.transform:
            space = Space(self.signature.parameters)
            call = take_apart(self._read_sources(arguments), self.name, space.bind)
            differentiated = self._roles(call)[1]
            values = [
                recording.source(leaf.value, leaf.name)
                if leaf.name in differentiated
                else leaf.value
                for leaf in call.leaves
            ]
            arguments = call.rebuild(values)
        arguments = {name: unlabelled(value) for name, value in arguments.items()}
        answer = run(self.python, self.signature, self.request, arguments, recording, top=False)
        if self.request.transform:
            write_back(call, values)
        return rebuild(answer._replace(value=[*map(apart, answer.value)]), self.request)

    def _specialise_in_turn(
        self,
        call: Call,
        space: Space,
        seen: Sequence[Any],
        onto: Entry | None = None,
        forced: Sequence[Any] = (),
        exact: bool = False,
    ) -> Made | None:
        """What has been made for `call` since its calls were `seen`, or what `_specialise` makes.
        Where another thread is recording it, or has attributes of these classes lent: None, or, if
        there must be, what serves it alone. No dimension is free where it must be `exact`."""
        with self._shelf.turns.at(call, self._roles(call)[0]) as is_first:
            if not is_first or others_lend():
                return self._record(call, space, keep=False) if self._must_record else None
            if self._shelf.calls is not seen:
                found = self._shelf.made_for(call, exact)
                if found is not None:
                    return found
            if onto is not None and not self._shelf.holds(onto):
                onto, forced = None, ()
            make = self._specialise if exact else self._generalise
            return make(call, space, onto, forced)

    def _generalise(
        self, call: Call, space: Space, onto: Entry | None = None, forced: Sequence[Any] = ()
    ) -> Made:
        """As _specialise, with the dimensions free that change; as they are, where that fails."""
        if self._shapes.freed(call)[1] is None:
            return self._specialise(call, space, onto, forced)
        try:
            return self._specialise(call, space, onto, forced, True)
        except RanOnce as error:
            assert error.__cause__ is not None
            raise error.__cause__ from None
        except Exception as error:
            problem = error
            if is_strict() and is_mistake(error):
                raise
        for leaf in call.leaves:
            self._shapes.check_spec(leaf, None)
        made = self._specialise(call, space, onto, forced)
        self._shapes.give_up(call, problem)
        return made

    @explained
    def _specialise(
        self,
        call: Call,
        space: Space,
        onto: Entry | None = None,
        forced: Sequence[Any] = (),
        free: bool = False,
    ) -> Made:
        """What is made for `call`, and entered in front of the others, as `_record` says."""
        return self._record(call, space, onto, forced, free=free)

    def _record(
        self,
        call: Call,
        space: Space,
        onto: Entry | None = None,
        forced: Sequence[Any] = (),
        keep: bool = True,
        free: bool = False,
    ) -> Made:
        """Record for `call`, make its kernel, and, to keep it, enter it in front of the others.

        The first decisions have the outcomes `forced`; the kernel of `onto` is joined, if it is for
        the same calls, and no more.
        """
        sizes = None
        if free:
            call, sizes = self._shapes.freed(call)
        fixed, differentiated = self._roles(call)
        if onto is not None:
            numbers = [leaf for leaf in call.leaves if leaf.role in NUMBERS]
            fixed = {leaf.name: leaf.value for leaf in numbers if leaf.name in onto.baked}
        runner = Run(self.python, self.signature, self.request, self.name)
        runner.keeps_apart, runner.freezes = self._keeps_apart, self.options.freeze
        runner.attributes = self._attributes
        try:
            exact = self.options.exact
            one = runner.record(Asked(call, fixed, differentiated, exact, forced, sizes))
        finally:
            self._effects |= runner.effects
        self._keeps_apart |= runner.keeps_apart
        if runner.wants_numbers:
            self._static |= self.signature.parameters.keys()
        known = self._takes_gradients
        self._takes_gradients = bool(known) or one.captures.does("take gradients")
        self._shelf.count()
        make = functools.partial(make_kernel, options=self.options)
        target = "value_and_grad" if self.request.transform else "forward"
        alone = TraceTree.of(one, make, target)
        with (alone if onto is None else onto.ways).mutex.here():
            ways = alone if onto is None else alone.joined_to(onto.ways)
            for way in ways.ways:
                one.captures.agree(way.one.captures)
            guard = one.captures.guard()
            # A function that changes what it reads (a counter, a list that it appends to) has a
            # kernel for this one call.
            lasting = keep and (guard is None or guard())
            kernel = make(ways.recorded())
            if sizes is not None:
                call = self._shapes.settled(call, one.recording.graph)
            answers, which = ways.answers()
            made = Entry(
                signature=self.signature,
                call=call,
                target=getattr(kernel, target),
                fixed=one.fixed,
                baked=one.baked,
                differentiated=differentiated,
                hidden=[(each.holder, each.path) for each in ways.hidden],
                captured=[array for _, array in one.captures.arrays.values()],
                guard=guard if lasting else None,
                in_order=ways.in_order,
                identity=one.identity,
                answers=answers,
                which=which,
                ways=ways,
                decisions=ways.tree.decisions,
                sizes=one.sizes,
                unwatched=nobody_watches if ways.read_variables() else None,
            )
            found = Made(made, kernel, make_entry(made, space, self.name))
            if lasting:
                return self._shelf.enter(found, None if ways is alone else onto)
        if keep:
            self._shelf.add(kernel)
        return found


@overload
def function(python: Callable[P, R], **options: Any) -> Function[P, R]: ...
@overload
def function(python: None = None, **options: Any) -> Callable[[Callable[P, R]], Function[P, R]]: ...
def function(python: Any = None, **options: Any) -> Any:
    """Compile a NumPy function: `@tj.function` or `@tj.function(option=...)`, see `Options`.

    The result is called as the function is, with arrays, NumPy scalars, Python numbers and
    containers of them; other hashable arguments select a kernel. Results have NumPy's values,
    dtypes, shapes and types, and are new arrays.

    Raises ArgumentError for what is no array, UnsupportedError for a NumPy function that is not
    recorded, and ValueNeededError where Python asks for the value of recorded data; all name the
    user's line.

    >>> import numpy as np
    >>> import tracejit as tj
    >>> @tj.function
    ... def norm(x):
    ...     return np.sqrt(np.sum(x * x))
    >>> norm(np.array([3.0, 4.0]))
    np.float64(5.0)
    """
    if unknown := sorted(options.keys() - set(Options._fields)):
        raise fail("option", places.here(), option=unknown[0], fix=did_you_mean(unknown[0]))
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
    if threads is not None and not is_number_of_threads(threads):
        raise fail("threads", places.here(), given=f"threads={threads!r}")
    budget = options.get("memory_budget")
    if budget is not None and (type(budget) is not int or budget < 0):
        raise fail("memory-budget", places.here(), budget=budget)
    for given in options.get("input_signature") or ():
        if is_no_spec(given):
            name = getattr(python, "__name__", "the function")
            raise fail("not-a-spec", places.here(), function=name, given=given)
    return Function(python, VALUE, Options(**options))
