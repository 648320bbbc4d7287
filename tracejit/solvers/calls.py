"""Calls of SciPy's routines, as they are recorded.

A twin records a call of one of SciPy's functions, and has its parameters. It is called where a
function of the user's is recorded. Where nothing that is recorded has a part in the call, SciPy
itself is called.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, wraps
from types import FunctionType
from typing import Any, NoReturn

import numpy as np
from scipy.optimize import OptimizeResult

from tracejit.ops.base.op import is_literal
from tracejit.ops.control.branches import ENSURE
from tracejit.solvers.functions import Plain, in_numbers
from tracejit.support.errors import TracejitError, fail
from tracejit.trace.convert.rules import HANDED, RULES
from tracejit.trace.recording.record import Recording, current_recording
from tracejit.trace.source import places
from tracejit.trace.tensor.namespaces import recorded_argument
from tracejit.trace.tensor.tensor import TENSORS

TWINS: list[Callable[..., Any]] = []
"""The functions of SciPy that are recorded here."""


class Call:
    """One call: its arguments by the names of the parameters, and the recording around it."""

    def __init__(
        self, plain: Callable[..., Any], signature: inspect.Signature, args: Any, kwargs: Any
    ) -> None:
        """The call plain(*args, **kwargs)."""
        recording = current_recording()
        assert recording is not None
        self.recording: Recording = recording
        self.name = f"{plain.__module__.rpartition('._')[0] or plain.__module__}.{plain.__name__}"
        bound = signature.bind(*args, **kwargs)
        self.given = dict(bound.arguments)
        bound.apply_defaults()
        self.arguments = bound.arguments
        self.defaults = {name: one.default for name, one in signature.parameters.items()}

    def __getitem__(self, name: str) -> Any:
        return self.arguments[name]

    @property
    def further(self) -> tuple[Any, ...]:
        """The further arguments of the user's function."""
        args = self.arguments.get("args")
        if args is None:
            return ()
        return args if isinstance(args, tuple) else (args,)

    def options(self, *names: str) -> dict[str, Any]:
        """The options of these names as literals: None if they are as by default."""
        found = {}
        for name in names:
            value = self.arguments[name]
            is_default = value is self.defaults[name] or name not in self.given
            found[name] = None if is_default else self.literal(name, value)
        return found

    def known(self, *names: str) -> None:
        """Refuse every other argument that was given, and what it is not by default."""
        for name, value in self.given.items():
            if (
                name not in names
                and value is not self.defaults[name]
                and not _is(value, self.defaults[name])
            ):
                self.refuse(f"{name}= is not recorded")

    def refuse(self, problem: str, fix: str = "") -> NoReturn:
        """Raise the error for a call that is not recorded."""
        words = {"function": self.name, "problem": problem}
        words["fix"] = fix or "leave it out, or make the call one operation with tj.primitive."
        raise fail("unsupported-call", places.here(), **words)

    def literal(self, name: str, value: Any) -> Any:
        """An option as a literal; it is refused where it is none."""
        if isinstance(value, dict):
            return tuple((str(key), self.literal(name, one)) for key, one in value.items())
        if isinstance(value, (list, tuple)):
            return tuple(self.literal(name, one) for one in value)
        if type(value) in TENSORS:
            self.refuse(f"{name}= has to be known beforehand", "give it as a plain number.")
        if isinstance(value, (np.generic, np.ndarray)) and value.ndim == 0:
            value = value.item()
        if isinstance(value, np.ndarray) and value.dtype.kind in "bif":
            value = tuple(value.tolist())
        if not is_literal(value):
            self.refuse(f"{name}= is {type(value).__name__}, and must be a number or a string")
        return value


class Result(OptimizeResult):  # type: ignore[misc]
    """The result of a call: attributes that are known, and those that are recorded when read.

    A solver that finds nothing raises. So that it does, its solution is computed where nothing
    reads but that it is one.
    """

    def __init__(self, call: Call, made: Mapping[str, Callable[[], Any]], **known: Any) -> None:
        """`made` makes an attribute each; the first of the `known`, or else of these, is the
        solution."""
        super().__init__(known)
        find = next(iter(made.values()), lambda: next(iter(known.values())))

        def is_found() -> bool:
            ENSURE(find())
            return True

        whole = {"success": is_found, "converged": is_found, **made}
        object.__setattr__(self, "call", call)
        # What reads a result must not change it: a kernel is for one that stays as it is.
        object.__setattr__(self, "made", {name: cache(make) for name, make in whole.items()})

    def __missing__(self, name: str) -> Any:
        if name in self.made:
            return self.made[name]()
        if name in UNKNOWN:
            self.call.refuse(f"{name} of its result is not recorded", "do without it.")
        raise KeyError(name)


UNKNOWN = frozenset(
    "status message nfev njev nhev nit nlu hess hess_inv maxcv optimality "
    "active_mask multipliers iterations function_calls flag method jac grad qtf r fjac".split()
)
"""Attributes of SciPy's results that are not recorded."""


def _is(value: Any, default: Any) -> bool:
    """Return whether an option has its default value."""
    return type(value) is type(default) and bool(np.all(value == default))


def twin(*plain: Callable[..., Any]) -> Callable[[Callable[[Call], Any]], Callable[[Call], Any]]:
    """Let a function of a Call record the calls of SciPy's functions `plain`."""

    def enter(record: Callable[[Call], Any]) -> Callable[[Call], Any]:
        for one in plain:
            RULES[one] = _recorded(one, record)
            HANDED.add(one)
            TWINS.append(one)
        return record

    return enter


def _recorded(plain: Callable[..., Any], record: Callable[[Call], Any]) -> Callable[..., Any]:
    signature = inspect.signature(plain)

    @wraps(plain)
    def call(*args: Any, **kwargs: Any) -> Any:
        if current_recording() is None:
            return plain(*args, **kwargs)
        args = tuple(map(in_numbers, args))
        kwargs = {name: in_numbers(one) for name, one in kwargs.items()}
        try:
            made = Call(plain, signature, args, kwargs)
        except TypeError:
            return plain(*args, **kwargs)  # says what does not fit
        try:
            return record(made)
        except Plain:
            return plain(*args, **kwargs)
        except TracejitError:
            if _sees_recorded([*args, *kwargs.values()]):
                raise
            return plain(*args, **kwargs)

    return call


def _sees_recorded(given: Sequence[Any]) -> bool:
    """Return whether something recorded is among arguments, or enclosed by functions among them."""
    enclosed = []
    for one in given:
        function = inspect.unwrap(one) if callable(one) else one
        for cell in (function.__closure__ or ()) if type(function) is FunctionType else ():
            with suppress(ValueError):  # an empty one
                enclosed.append(cell.cell_contents)
    return recorded_argument(*given, *enclosed) is not None
