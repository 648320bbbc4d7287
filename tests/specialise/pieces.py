"""The collaborators of a Function, put together without one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tracejit.autodiff.request import Request
from tracejit.runtime.single_flight import SingleFlight
from tracejit.specialise.binding import Binding
from tracejit.specialise.callee import Callee, Form
from tracejit.specialise.explain import History
from tracejit.specialise.fallback import Fallback
from tracejit.specialise.kernel_table import KernelTable
from tracejit.specialise.slow_path import SlowPath
from tracejit.specialise.specialiser import SpecialisationRequest, Specialiser
from tracejit.specialise.tracer import Findings, Tracer
from tracejit.support.options import Options


class Pieces(NamedTuple):
    """What serves one function."""

    callee: Callee
    binding: Binding
    table: KernelTable
    history: History
    findings: Findings
    specialiser: Specialiser
    fallback: Fallback
    slow_path: SlowPath

    def request(self, *args: Any) -> SpecialisationRequest:
        """What to specialise for, of a call that is taken note of."""
        return self.binding.request(self.callee.bind(args, {}))


def pieces(
    python: Callable[..., Any],
    request: Request = Request(),  # noqa: B008
    options: Options = Options(cache=False),  # noqa: B008
    form: Form | None = None,
) -> Pieces:
    """The collaborators for a Python function."""
    callee = Callee(python, request, form=form)
    binding, table, findings = Binding(callee, options), KernelTable(), Findings()
    history = History(callee.name, table)
    specialiser = Specialiser(callee, binding, options, table, history, findings, SingleFlight())
    fallback = Fallback(callee, binding, table, findings, history.uncompiled)
    slow_path = SlowPath(callee, binding, table, specialiser, fallback, options.max_paths)
    return Pieces(callee, binding, table, history, findings, specialiser, fallback, slow_path)


def trace_request(callee: Callee, *args: Any, **rest: Any) -> SpecialisationRequest:
    """What to record of a call: no number is static, unless `rest` says so."""
    request = Binding(callee).request(callee.bind(args, {}))
    return request._replace(**{"fixed": {}} | rest)


def tracer(callee: Callee, findings: Findings | None = None) -> Tracer:
    """A run of `callee`, with the usual options."""
    return Tracer(callee, findings or Findings(), Options(cache=False))
