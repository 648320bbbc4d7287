"""Watch: the calls in checked kernels, and the error at the first value that is not finite.

An event is an operation whose operands are finite and whose result is not, or whose operands hold
no nan and whose result does (inf - inf). What is computed from an event is none, nor is anything
computed from an argument or constant that is not finite. A result that such an argument has reached
is an error of its own, which names the argument.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from types import FrameType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from tracejit.debug.checks import Checks, Site
from tracejit.debug.instrument import Instrumented
from tracejit.debug.ranges import Range, is_event, is_finite, numbers_in, premise, range_of
from tracejit.debug.user_lines import Files, UserLine, user_lines
from tracejit.support.errors import TracejitError, fail
from tracejit.support.words import file_name
from tracejit.trace.source import places


class Event(NamedTuple):
    """An operation that made a value non-finite: where, its result, why that is an event, its
    operands, and the value of the function so far, where it is known. `is_gradients` where the
    value is finite, and a gradient is not."""

    site: Site
    result: Range
    premise: str
    operands: tuple[Range, ...]
    value: Any
    is_gradients: bool


class Run:
    """One call of an entry of a checked kernel: its arguments, the first event, and the last of
    each variable and expression. `outer` is the run that has called it."""

    def __init__(
        self, watch: Watch, entry: str, arguments: Mapping[str, Any], mode: Any, outer: Run | None
    ) -> None:
        """Begin without an event."""
        self.watch = watch
        self.mode = mode
        # NumPy would warn of what is an event here, or of what is none.
        self.quiet = np.errstate(over="ignore", invalid="ignore", divide="ignore")
        self.entry = entry
        self.arguments = arguments
        self.outer = outer
        self.first: Event | None = None
        self.latest: dict[str, Event] = {}

    def origin(self, text: str) -> Event | None:
        """The event that an expression comes from, as far as its variables tell."""
        names = (text, *_NAME.findall(text))
        return next((self.latest[name] for name in names if name in self.latest), None)

    def origin_of(self, site: Site, operands: Sequence[Any]) -> Event | None:
        """The event that the first operand of an operation comes from that is not finite."""
        pairs = zip(site.operands, operands, strict=False)
        found = (self.origin(text) for text, one in pairs if not is_finite(one))
        return next(filter(None, found), None)

    def follow(self, site: Site, event: Event | None) -> None:
        """The result of an operation, and the variable that it goes to, come from an event."""
        if event is None:
            self.forget(site)
        else:
            self.latest[site.text] = self.latest[site.target] = event

    def forget(self, site: Site) -> None:
        """The result of an operation comes from no event."""
        self.latest.pop(site.text, None)
        if site.is_outermost:
            self.latest.pop(site.target, None)


_NAME = re.compile(r"[^\W\d]\w*")
_running: ContextVar[Run | None] = ContextVar("tracejit_checked_run", default=None)


class Watch:
    """Checks the operations of one kernel. `mode` answers how the current call is to be checked, a
    `switch.Mode`; None if it is not."""

    def __init__(self, module: ModuleType, files: Files, mode: Callable[[], Any]) -> None:
        """Instrument `module`."""
        checks = Checks(module)
        self.module = module
        self.mode = mode
        self.sites = checks.sites
        self.files = files
        hooks = {
            "seen": self.seen,
            "kept": kept,
            "updated": updated,
            "enter": self.enter,
            "result": self.result,
            "leave": leave,
        }
        self.instrumented = Instrumented(module, checks.rewrite, hooks)

    def enter(self, entry: str, arguments: tuple[Any, ...]) -> Run | None:
        """Begin a call of an entry; None if it is not checked."""
        mode = self.mode()
        if mode is None:
            return None
        signature = self.module.SIGNATURE
        names = list(signature["inputs"])
        if entry == "backward":
            residuals, *arguments_left = arguments
            kept_names = list(signature["residuals"])
            values = list(residuals)[-len(kept_names) :] if kept_names else []
            names, arguments = [*kept_names, "out_bar"], (*values, *arguments_left)
        given = dict(zip(names, arguments, strict=False))
        run = Run(self, entry, given, mode, _running.get())
        _running.set(run)
        run.quiet.__enter__()
        return run

    def seen(self, number: int, operands: tuple[Any, ...], value: Any) -> Any:
        """`value`, the result of operation `number`, which is checked."""
        run = _running.get()
        if run is None or run.watch is not self:
            return value
        site = self.sites[number]
        if is_finite(value):
            if run.latest:
                run.forget(site)
            return value
        if not is_event(operands, value):
            run.follow(site, run.origin_of(site, operands))
            return value
        # In a frame that computes gradients, `out` is the value, if it was computed by now.
        known = sys._getframe(1).f_locals.get("out") if site.is_gradient else None
        event = event_of(site, operands, value, known, run.mode.results_only)
        if not run.mode.results_only:
            __tracebackhide__ = True
            self._tell(run, self.error(event))
            return value
        run.first = run.first or event
        run.follow(site, event)
        return value

    def result(self, run: Run | None, text: str, value: Any) -> Any:
        """`value`, which an entry returns; an error where it is not finite, and should be."""
        if run is None or is_finite(value):
            return value
        __tracebackhide__ = True
        shown = value
        if run.entry == "forward" and "residuals" in self.module.SIGNATURE:
            shown, text = value[0], text.strip("()").partition(",")[0]
            if is_finite(shown):
                return value
        if run.first is not None:
            self._tell(run, self.error(run.origin(text) or run.first))
            return value
        for name, argument in run.arguments.items():
            if not is_finite(argument):
                self._tell(run, self._of_argument(run, name, argument, shown))
                break
        return value

    def _tell(self, run: Run, error: TracejitError) -> None:
        """Raise the error, or warn at the user's line."""
        if not run.mode.warn:
            __tracebackhide__ = True  # notebooks and pytest show the user's frames alone
            raise error
        where = error.where or places.where(_caller())
        assert where is not None, "somebody calls a kernel"
        warnings.warn_explicit(str(error), RuntimeWarning, where.filename, where.lineno)

    def error(self, event: Event) -> TracejitError:
        """The error of an event."""
        site = event.site
        line = self._user_line(site.line)
        function = self.module.__name__.rpartition(".")[2].partition("__")[0]
        operands = "; ".join(map(str, event.operands))
        words: dict[str, Any] = {
            "expression": site.text,
            "found": event.result.found,
            "function": function,
            "premise": event.premise,
            "operands": operands,
            "generated": self._generated(site.line),
            "part": site.function,
        }
        row = "non-finite"
        if event.is_gradients:
            row = "non-finite-gradient"
            known = event.value is not None
            words["value"] = _shown(event.value) if known else "the values so far are finite"
        return fail(row, None if line is None else line.where, **words)

    def _of_argument(self, run: Run, name: str, argument: Any, result: Any) -> TracejitError:
        """The error of an argument that is not finite, and has reached a result."""
        function = self.module.__name__.rpartition(".")[2].partition("__")[0]
        found = next(one for one in numbers_in(argument) if not is_finite(one))
        made = next(one for one in numbers_in(result) if not is_finite(one))
        kind = "residual" if run.entry == "backward" and name != "out_bar" else "argument"
        words = {
            "argument": f"{kind} {name}",
            "function": function,
            "found": range_of(name, found).counts,
            "result": f"{range_of('result', made).counts} in what {run.entry} returns",
        }
        return fail("non-finite-argument", None, **words)

    def _user_line(self, line: int) -> UserLine | None:
        return user_lines(self.module.__source__, self.files).get(line)

    def _generated(self, line: int) -> str:
        text = self.module.__source__.split("\n")[line - 1].strip()
        return f"`{text}` ({file_name(str(self.module.__file__))}:{line})"


def event_of(
    site: Site, operands: tuple[Any, ...], result: Any, value: Any, results_only: bool
) -> Event:
    """The event of an operation. The `value` of the function is None if it is not known; unless
    `results_only` are checked, it is finite then, as nothing before was an event."""
    texts = zip(site.operands, operands, strict=False)
    ranges = tuple(range_of(text, one) for text, one in texts if _is_number(one))
    found = range_of(site.text, next(one for one in numbers_in(result) if not is_finite(one)))
    is_sure = value is not None or not results_only
    is_gradients = site.is_gradient and is_sure and is_finite(value)
    return Event(site, found, premise(operands), ranges, value, is_gradients)


def checked_module(module: ModuleType, files: Files, mode: Any) -> ModuleType:
    """A copy of `module` whose functions are checked in this mode."""
    return Watch(module, files, lambda: mode).instrumented.copy()


def kept(operands: tuple[Any, ...], outputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands of an operation that writes into `outputs`: copies of those that share memory
    with them."""
    arrays = [one for one in outputs if isinstance(one, np.ndarray)]

    def before(one: Any) -> Any:
        if isinstance(one, np.ndarray) and any(np.may_share_memory(one, x) for x in arrays):
            return one.copy()
        return one

    return tuple(map(before, operands))


def updated(answer: Any, array: Any) -> Any:
    """The array that a call has updated; what it answers, if it answers anything."""
    return array if answer is None else answer


def leave(run: Run | None) -> None:
    """End a call of an entry."""
    if run is not None:
        run.quiet.__exit__(None, None, None)
        _running.set(run.outer)


def _caller() -> FrameType | None:
    """The frame that has called tracejit."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("tracejit."):
        frame = frame.f_back
    return frame


def _is_number(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic, int, float, complex))


def _shown(value: Any) -> str:
    array = np.asarray(value)
    is_short = array.size == 1 and array.dtype.kind != "c"
    return f"the value is {array.item():.6g}" if is_short else "the value is finite"
