"""The collaborators of a Function, put together without one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tracejit.autodiff.request.request import Request
from tracejit.runtime.single_flight import SingleFlight
from tracejit.specialise.callee import Callee, Form, SpecialisationRequest
from tracejit.specialise.explain import History
from tracejit.specialise.fallback import Fallback
from tracejit.specialise.kernel_table import KernelTable
from tracejit.specialise.slow_path import SlowPath
from tracejit.specialise.specialiser import Specialiser
from tracejit.specialise.tracer import Tracer
from tracejit.support.options import Options


class Pieces(NamedTuple):
    """The collaborators of one function."""

    callee: Callee
    table: KernelTable
    history: History
    specialiser: Specialiser
    fallback: Fallback
    slow_path: SlowPath

    def request(self, *args: Any) -> SpecialisationRequest:
        """The request of a call, which is taken note of."""
        return self.callee.note(self.callee.bind(args, {}))


def pieces(
    python: Callable[..., Any],
    request: Request = Request(),  # noqa: B008
    options: Options = Options(cache=False),  # noqa: B008
    form: Form | None = None,
) -> Pieces:
    """The collaborators for a Python function."""
    callee = Callee(python, request, options, form)
    table = KernelTable()
    history = History(callee.name, table)
    specialiser = Specialiser(callee, options, table, history, SingleFlight())
    fallback = Fallback(callee, table, history.uncompiled)
    slow_path = SlowPath(callee, table, specialiser, fallback, options.max_paths)
    return Pieces(callee, table, history, specialiser, fallback, slow_path)


def trace_request(callee: Callee, *args: Any, **rest: Any) -> SpecialisationRequest:
    """A request for a call: no number is static, unless `rest` says so."""
    request = callee.note(callee.bind(args, {}))
    return request._replace(**{"fixed": {}} | rest)


def tracer(callee: Callee) -> Tracer:
    """A run of `callee`, with the usual options."""
    return Tracer(callee, Options(cache=False))
