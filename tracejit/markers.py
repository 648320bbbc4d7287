"""The four gradient markers: each is an `override` with a rule, or a recompute region.

They work on the Tensors of a function that is being recorded; called with plain arrays alone they
are their function, because nothing is differentiated then.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.errors import fail
from tracejit.ir.types import type_of
from tracejit.ops.forms import as_scalar
from tracejit.ops.markers import OVERRIDE, Marker
from tracejit.trace import places
from tracejit.trace.record import Recording, current_recording
from tracejit.trace.signature import (
    bind_arguments,
    call_arguments,
    inside_method,
    signature_of,
)
from tracejit.trace.tensor import Tensor
from tracejit.trace.trees import flatten, map_tree, unflatten


def stop_gradient(x: Any) -> Any:
    """`x` itself, through which no gradient flows; `x` is an array or a container of arrays.

    >>> import numpy as np
    >>> import tracejit as tj
    >>> float(tj.grad(lambda x: x * tj.stop_gradient(x))(3.0))
    3.0
    """
    return map_tree(_stopped, x)


def _stopped(leaf: Any) -> Any:
    if type(leaf) is not Tensor or not leaf.type.is_inexact or leaf.type.form == "weak":
        return leaf
    return _override([leaf], [], Marker("stop_gradient", "stopped", lambda *gs: ()))[0]


def _override(values: Sequence[Tensor], inputs: Sequence[Tensor], marker: Marker) -> list[Tensor]:
    results = OVERRIDE(*values, *inputs, outputs=len(values), grad=marker)
    return [results] if len(values) == 1 else list(results)


def _wrapped(f: Callable[..., Any], marked: Callable[..., Any]) -> Any:
    """`marked` with the name, docstring and signature of `f`, binding to instances as a function
    does."""
    return functools.update_wrapper(marked, f, updated=())


def _recording_of(tensors: Sequence[Any]) -> Recording | None:
    for leaf in tensors:
        if type(leaf) is Tensor:
            recording: Recording = leaf._recording
            return recording
    return None


def _check_callable(f: Any, decorator: str) -> None:
    if not callable(f):
        line = places.where(places.user_frame())
        raise fail("not-callable", line, decorator=decorator, kind=type(f).__name__)


def _name(f: Callable[..., Any]) -> str:
    return getattr(f, "__name__", type(f).__name__)


def custom_gradient(f: Any = None) -> Any:
    """A function whose gradient is the rule it returns: `f(*x) -> (y, grad_fn)`.

    `grad_fn(*dy)` takes one cotangent per array in `y` and returns one gradient per array in `x`
    (None where there is none): a sequence, or a container like the arguments. A gradient has its
    argument's shape exactly; a Python number is broadcast to it. The body of `f` is never
    differentiated, the rule can be, again and again.

    Raises RuleError or RuleTypeError, naming `f` and the argument, where the rule's answer does
    not fit.

    >>> import numpy as np
    >>> import tracejit as tj
    >>> @tj.custom_gradient
    ... def log1pexp(x):
    ...     e = np.exp(x)
    ...     def grad(upstream):
    ...         return upstream * (1 - 1 / (1 + e))
    ...     return np.log(1 + e), grad
    >>> with np.errstate(over="ignore"):
    ...     tj.grad(lambda x: log1pexp(x))(1000.0)
    np.float64(1.0)
    """
    if f is None:
        return custom_gradient
    if (method := inside_method(custom_gradient, f)) is not None:
        return method
    _check_callable(f, "tj.custom_gradient")
    signature = signature_of(f)
    name = _name(f)

    def marked(*args: Any, **kwargs: Any) -> Any:
        arguments = bind_arguments(signature, name, args, kwargs)
        leaves = flatten(tuple(arguments.values()))[0]
        positional, keywords = call_arguments(signature, arguments)
        answer = f(*positional, **keywords)
        if not (type(answer) is tuple and len(answer) == 2 and callable(answer[1])):
            kind = type(answer).__name__
            raise fail("rule-pair", _here(leaves), function=name, got=f"a {kind}")
        value, rule = answer
        recording = _recording_of([*leaves, *flatten(value)[0]])
        if recording is None:
            return value
        checked = _Rule(name, rule, arguments, value, recording)
        marker = Marker(name, "custom gradient", checked)
        return _with_gradient(value, checked.inputs, marker, recording)

    return _wrapped(f, marked)


def grad_pass_through(f: Any) -> Any:
    """`f` in the forward direction, the identity backward: the straight-through estimator.

    The results of `f` match its array arguments one to one, in count and shape; each result's
    cotangent goes to the argument in the same place. Raises RuleError at the call where they do
    not match.

    >>> import numpy as np
    >>> import tracejit as tj
    >>> tj.grad(lambda x: np.sum(tj.grad_pass_through(np.round)(x) ** 2))(np.array([0.6, 2.2]))
    array([2., 4.])
    """
    if (method := inside_method(grad_pass_through, f)) is not None:
        return method
    _check_callable(f, "tj.grad_pass_through")
    name = _name(f)

    def marked(*args: Any, **kwargs: Any) -> Any:
        value = f(*args, **kwargs)
        leaves, results = flatten((args, kwargs))[0], flatten(value)[0]
        recording = _recording_of([*leaves, *results])
        if recording is None:
            return value
        inputs = [leaf for leaf in leaves if _is_array(leaf)]
        outputs = [leaf for leaf in results if _is_array(leaf)]
        _check_pass_through(name, inputs, outputs, recording)
        marker = Marker(name, "straight-through", lambda *gs: gs)
        return _with_gradient(value, inputs, marker, recording, _is_array)

    return _wrapped(f, marked)


def recompute_grad(f: Any) -> Any:
    """`f`, whose intermediate values are not kept for the gradient but computed again there.

    The same numbers to the last bit, for less memory and one more run of `f`'s statements in the
    backward code.

    >>> import numpy as np
    >>> import tracejit as tj
    >>> block = tj.recompute_grad(lambda x: np.tanh(np.sin(x)))
    >>> float(tj.grad(lambda x: block(x))(0.0))
    1.0
    """
    if (method := inside_method(recompute_grad, f)) is not None:
        return method
    _check_callable(f, "tj.recompute_grad")

    def marked(*args: Any, **kwargs: Any) -> Any:
        recording = _recording_of(flatten((args, kwargs))[0]) or current_recording()
        if recording is None:
            return f(*args, **kwargs)
        with recording.inside_region():
            return f(*args, **kwargs)

    return _wrapped(f, marked)


def _is_array(leaf: Any) -> bool:
    """Whether a leaf is an input or output of a custom op: an array, not a Python number."""
    if type(leaf) is Tensor:
        return leaf.type.form != "weak"
    known = type_of(leaf)
    return known is not None and known.form != "weak"


def _is_number(leaf: Any) -> bool:
    return type(leaf) is Tensor or type_of(leaf) is not None


def _has_cotangent(leaf: Any) -> bool:
    """Whether an output of a custom op becomes a Tensor: an array or a float; a Python int or bool
    stays what it is."""
    kind = leaf.type if type(leaf) is Tensor else type_of(leaf)
    return kind is not None and (kind.form != "weak" or kind.is_inexact)


def _strong(leaf: Any, recording: Recording) -> Any:
    """An output as a Tensor; a Python float as a float64 scalar."""
    value = recording.lift(leaf)
    tensor: Any = Tensor(value, recording)
    if value.type.form == "weak":
        tensor = as_scalar(tensor, dtype=value.type.dtype)
    return tensor


def _with_gradient(
    value: Any,
    inputs: Sequence[Any],
    marker: Marker,
    recording: Recording,
    has_cotangent: Callable[[Any], bool] = _has_cotangent,
) -> Any:
    """`value` with every array and float in it made a result of one override."""
    leaves, structure = flatten(value)
    numbers = [k for k, leaf in enumerate(leaves) if has_cotangent(leaf)]
    if not numbers:
        return value
    outputs = [_strong(leaves[k], recording) for k in numbers]
    tensors = [Tensor(recording.lift(leaf), recording) for leaf in inputs]
    for k, result in zip(numbers, _override(outputs, tensors, marker), strict=True):
        leaves[k] = result
    return unflatten(structure, leaves)


def _here(leaves: Sequence[Any]) -> Any:
    recording = _recording_of(leaves)
    return places.where(places.user_frame()) if recording is None else recording.here()


def _check_pass_through(
    name: str, inputs: Sequence[Any], outputs: Sequence[Any], recording: Recording
) -> None:
    if len(inputs) != len(outputs):
        problem = f"{len(outputs)} results for {len(inputs)} array arguments"
        raise fail("pass-through", recording.here(), function=name, problem=problem)
    for number, (x, y) in enumerate(zip(inputs, outputs, strict=True)):
        if np.shape(x) != np.shape(y):
            problem = f"result {number} has shape {np.shape(y)}, its argument {np.shape(x)}"
            raise fail("pass-through", recording.here(), function=name, problem=problem)


class _Rule:
    """A user's rule, its answer checked against the inputs before it enters the reverse pass.

    The inputs are the arrays among the leaves of the arguments, which come in the order of the
    parameters; `names` are the parameters that they belong to. `outputs` says of each number in the
    value whether the reverse pass has a cotangent for it.
    """

    def __init__(
        self,
        name: str,
        rule: Callable[..., Any],
        arguments: dict[str, Any],
        value: Any,
        recording: Recording,
    ) -> None:
        self.name = name
        self.rule = rule
        self.recording = recording
        self.arguments = arguments
        self.leaves = [
            (parameter, leaf)
            for parameter, argument in arguments.items()
            for leaf in flatten(argument)[0]
        ]
        self.inputs = [leaf for _, leaf in self.leaves if _is_array(leaf)]
        self.names = [parameter for parameter, leaf in self.leaves if _is_array(leaf)]
        self.outputs = [_has_cotangent(leaf) for leaf in flatten(value)[0] if _is_number(leaf)]

    def __call__(self, *cotangents: Any) -> list[Tensor | None]:
        """One checked gradient per input."""
        parameters = signature_of(self.rule).parameters
        extra: dict[str, Any] = {}
        variables = parameters.get("variables")
        if variables is not None and variables.default is inspect.Parameter.empty:
            extra = {"variables": []}
        remaining = iter(cotangents)
        given = [next(remaining) if there else None for there in self.outputs]
        outer, self.recording.in_rule = self.recording.in_rule, True
        try:
            answer = self.rule(*given, **extra)
        finally:
            self.recording.in_rule = outer
        if extra:
            answer = self._first_of_pair(answer)
        entries = self._entries(answer)
        return [
            self._checked(entry, x, name)
            for entry, x, name in zip(entries, self.inputs, self.names, strict=True)
        ]

    def _first_of_pair(self, answer: Any) -> Any:
        """The gradients of the inputs in the answer of a rule that takes variables."""
        if not (isinstance(answer, (tuple, list)) and len(answer) == 2):
            got = f"a {type(answer).__name__}"
            raise fail("rule-variables", self.recording.here(), function=self.name, got=got)
        return answer[0]

    def _in_order(self, answer: Any) -> Any:
        """A dict of gradients by parameter as a list in the order of the parameters."""
        if type(answer) is not dict or not answer.keys() <= self.arguments.keys():
            return answer
        given = self.arguments.values()
        if any(type(value) is dict and value.keys() == answer.keys() for value in given):
            return answer  # like the argument
        return [answer[name] for name in self.arguments if name in answer]

    def _entries(self, answer: Any) -> list[Any]:
        """The answer as a flat list, one entry per input."""
        answer = self._in_order(answer)
        entries = flatten(answer)[0] if answer is not None or len(self.inputs) == 1 else []
        # One for each argument, or each that is a number: those of what is no array are dropped.
        for leaves in (self.leaves, [leaf for leaf in self.leaves if _is_number(leaf[1])]):
            if len(entries) == len(leaves) > len(self.inputs):
                pairs = zip(entries, leaves, strict=True)
                entries = [entry for entry, (_, leaf) in pairs if _is_array(leaf)]
        if len(entries) != len(self.inputs):
            raise fail(
                "rule-count",
                self.recording.here(),
                function=self.name,
                got=len(entries),
                expected=len(self.inputs),
                names=", ".join(self.names) or "none",
            )
        return entries

    def _checked(self, entry: Any, x: Any, name: str) -> Tensor | None:
        shape, dtype = np.shape(x), x.dtype
        if entry is None or dtype.kind not in "fc":
            return None
        words = {"function": self.name, "name": name}
        known = entry.type if type(entry) is Tensor else type_of(entry)
        if known is None or (known.dtype.kind == "c" and dtype.kind != "c"):
            got = f"a {type(entry).__name__}" if known is None else f"a complex gradient {known!r}"
            raise fail("rule-type", self.recording.here(), got=got, expected=f"{dtype}", **words)
        tensor = Tensor(self.recording.lift(entry), self.recording)
        if known.form == "weak":
            return tensor
        if known.shape != shape:
            raise fail(
                "rule-shape", self.recording.here(), got=known.shape, expected=shape, **words
            )
        return tensor
