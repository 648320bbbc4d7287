"""The four gradient markers: each is an `override` with a rule, or a recompute region.

They work on the Tensors of a function that is being recorded and on eager Tensors alike; called
with plain arrays alone they are their function, because nothing is differentiated then.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tracejit.autodiff.request.rules import Rule, has_cotangent, is_array, leaf_type
from tracejit.eager.recompute import kept, recompute_eagerly
from tracejit.ops.control.marker_ops import OVERRIDE, Marker, pass_through, stop
from tracejit.specialise.function import Function
from tracejit.support.errors import TracejitError, fail, placed
from tracejit.support.words import a
from tracejit.trace.arguments.signature import (
    bind_arguments,
    call_arguments,
    inside_method,
    signature_of,
)
from tracejit.trace.recording.active import called
from tracejit.trace.recording.eager import EAGER
from tracejit.trace.recording.numbers import may_be_differentiated
from tracejit.trace.recording.record import Recording
from tracejit.trace.recording.recorder import Recorder
from tracejit.trace.recording.variable import current_recorder, read_argument
from tracejit.trace.source import places
from tracejit.trace.structure.trees import flatten, map_tree, unflatten
from tracejit.trace.tensor.selected import Selected
from tracejit.trace.tensor.tensor import TENSORS, Tensor


def stop_gradient(x: Any) -> Any:
    """Return `x`, and treat it as a constant when differentiating.

    Parameters
    ----------
    x : array, number, Variable, or container of them
        The values.

    Returns
    -------
    array or container of arrays
        The same values. No gradient flows through them.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tj
    >>> float(tj.grad(lambda x: x * tj.stop_gradient(x))(3.0))
    3.0
    """
    return map_tree(_stopped, x)


def _stopped(leaf: Any) -> Any:
    if type(leaf) is Selected:
        return Selected(_stopped(leaf.whole), leaf.mask)
    leaf = read_argument(leaf)
    if not may_be_differentiated(leaf):
        return leaf
    return _override([leaf], [], Marker("stop_gradient", "stopped", stop))[0]


def _as_one_array(leaf: Any) -> Any:
    """An argument of an operation with a rule of its own: what a mask selects as an array."""
    return read_argument(leaf) if type(leaf) is Selected else leaf


def _override(values: Sequence[Tensor], inputs: Sequence[Tensor], marker: Marker) -> list[Tensor]:
    results = OVERRIDE(*values, *inputs, outputs=len(values), grad=marker)
    return [results] if len(values) == 1 else list(results)


def _wrapped(f: Any, marked: Any) -> Any:
    """`marked` with the name, docstring and signature of `f`, binding to instances as a function
    does."""
    return functools.update_wrapper(marked, f, updated=())


def _recorder_among(leaves: Sequence[Any]) -> Recorder | None:
    """The recorder of these Tensors and Variables now; None if there are none."""
    found = None
    for leaf in leaves:
        if type(leaf) in TENSORS and leaf._recording is not EAGER:
            recorder: Recorder = leaf._recording
            return recorder
        if hasattr(type(leaf), "__tracejit_record__"):
            found = current_recorder()
    return found


def _check_callable(f: Any, decorator: str) -> None:
    if not callable(f):
        line = places.here()
        raise fail("not-callable", line, decorator=decorator, kind=type(f).__name__)


def _name(f: Callable[..., Any]) -> str:
    return getattr(f, "__name__", type(f).__name__)


def custom_gradient(f: Any = None) -> Any:
    """Give a function a gradient of your own: it returns its result and a gradient function.

    Parameters
    ----------
    f : callable, default None
        A function `f(*xs)` that returns `(y, grad_fn)`. `grad_fn(*dys)` takes one cotangent for
        each array in `y`. It returns one gradient for each array in `xs`, or None for no gradient.

    Returns
    -------
    callable
        A function that returns `y`.

    Raises
    ------
    RuleError
        If `grad_fn` returns the wrong number of gradients, or a wrong shape. A ValueError.
    RuleTypeError
        If `grad_fn` or `f` returns the wrong kind of thing. A TypeError.

    Notes
    -----
    The inside of `f` is never differentiated. `grad_fn` is, for gradients of higher order.

    A gradient has exactly the shape of its argument. A Python number is broadcast to it. Arrays,
    Tensors and Variables among the arguments have gradients, by position or keyword. Python numbers
    do not.

    If `f` reads trainable Variables that are not arguments, `grad_fn` takes them as the keyword
    `variables`, in the order of their first read. It then returns a pair `(grad_xs, grad_vars)`.

    Unlike in TensorFlow, the rule is used in every mode, and also if only Variables are watched.

    Examples
    --------
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
    if isinstance(f, Function):
        return Function(custom_gradient(f.python), f.request, f.options)
    _check_callable(f, "tj.custom_gradient")
    signature = signature_of(f)
    name = _name(f)

    @places.at_the_users_line
    def marked(*args: Any, **kwargs: Any) -> Any:
        try:
            arguments = bind_arguments(signature, name, args, kwargs)
        except TracejitError as error:
            raise placed(error, current_recorder().here()) from None
        arguments = {key: map_tree(_as_one_array, value) for key, value in arguments.items()}
        leaves = flatten(tuple(arguments.values()))[0]
        recorder = _recorder_among(leaves) or current_recorder()
        if recorder is EAGER and EAGER.windows:  # the rule may read them later
            arguments = {key: map_tree(kept, value) for key, value in arguments.items()}
            leaves = flatten(tuple(arguments.values()))[0]
        positional, keywords = call_arguments(signature, arguments)
        with recorder.logging_reads() as log, recorder.inside_scope():
            answer = called(f)(*positional, **keywords)
            if not (type(answer) is tuple and len(answer) == 2 and callable(answer[1])):
                kind = type(answer).__name__
                raise fail("rule-pair", recorder.here(), function=name, got=a(kind))
            value, rule = answer
            value = map_tree(read_argument, value)
            tensors = [leaf for leaf in flatten(value)[0] if type(leaf) in TENSORS]
            recorder.note_uses(leaf._value for leaf in tensors)
        passed = {id(leaf) for leaf in leaves}
        reads = [pair for pair in log.values() if pair[0].trainable and id(pair[0]) not in passed]
        checked = Rule(name, rule, arguments, value, [variable for variable, _ in reads], recorder)
        if _recorder_among([*leaves, *flatten(value)[0]]) is None:
            return value
        inputs = [*checked.arrays, *[Tensor(read, recorder) for _, read in reads]]
        marker = Marker(name, "custom gradient", checked, reads=(rule, arguments))
        return _with_gradient(value, inputs, marker, recorder)

    return _wrapped(f, marked)


def grad_pass_through(f: Any) -> Any:
    """Return a function with the values of `f` and the gradient of the identity.

    This is the straight-through estimator, for rounding and other steps.

    Parameters
    ----------
    f : callable
        A function whose results match its array arguments one to one, in number and shape. It may
        be a method with an effect, such as the `assign` of a Variable.

    Returns
    -------
    callable
        A function with the values of `f`. The cotangent of each result becomes the gradient of the
        argument in the same place. Variables that `f` reads get no gradient.

    Raises
    ------
    RuleError
        If results and arguments do not match. The call raises it. A ValueError.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tj
    >>> tj.grad(lambda x: np.sum(tj.grad_pass_through(np.round)(x) ** 2))(np.array([0.6, 2.2]))
    array([2., 4.])
    """
    if (method := inside_method(grad_pass_through, f)) is not None:
        return method
    _check_callable(f, "tj.grad_pass_through")
    name = _name(f)

    @places.at_the_users_line
    def marked(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = map_tree(_as_one_array, (args, kwargs))
        leaves = flatten((args, kwargs))[0]
        with (_recorder_among(leaves) or current_recorder()).inside_scope():
            value = map_tree(read_argument, called(f)(*args, **kwargs))
        results = flatten(value)[0]
        recorder = _recorder_among([*leaves, *results])
        if recorder is None:
            return value
        inputs = [leaf for leaf in leaves if is_array(leaf)]
        outputs = [leaf for leaf in results if is_array(leaf)]
        _check_pass_through(name, inputs, outputs, recorder)
        marker = Marker(name, "straight-through", pass_through)
        return _with_gradient(value, inputs, marker, recorder, is_array)

    return _wrapped(f, marked)


def recompute_grad(f: Any) -> Any:
    """Return `f` with less memory in its gradient: values inside are computed again, not kept.

    The results are the same to the last bit. The price is one more run of `f`. `tj.checkpoint` is
    another name for it.

    Parameters
    ----------
    f : callable
        A function of arrays. It may read Variables and take keyword arguments.

    Returns
    -------
    callable
        A function with the values and the gradients of `f`.

    Raises
    ------
    RecomputeError
        If the second run of `f` differs from the first. Only eager tapes run `f` again;
        recorded functions run its statements. A RuntimeError.

    Notes
    -----
    Arguments, Variables and everything that `f` closes over have gradients. The second run sees the
    Variables and the random numbers of the first, and makes no assignment twice.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tj
    >>> block = tj.recompute_grad(lambda x: np.tanh(np.sin(x)))
    >>> float(tj.grad(lambda x: block(x))(0.0))
    1.0
    """
    if (method := inside_method(recompute_grad, f)) is not None:
        return method
    _check_callable(f, "tj.recompute_grad")
    name = _name(f)

    @places.at_the_users_line
    def marked(*args: Any, **kwargs: Any) -> Any:
        recorder = _recorder_among(flatten((args, kwargs))[0]) or current_recorder()
        if not isinstance(recorder, Recording):
            return recompute_eagerly(f, name, args, kwargs)
        with recorder.inside_region(), recorder.inside_scope():
            return called(f)(*args, **kwargs)

    return _wrapped(f, marked)


def _with_gradient(
    value: Any,
    inputs: Sequence[Any],
    marker: Marker,
    recorder: Recorder,
    becomes_output: Callable[[Any], bool] = has_cotangent,
) -> Any:
    """`value` with every array and float in it made a result of one override."""
    leaves, structure = flatten(value)
    numbers = [k for k, leaf in enumerate(leaves) if becomes_output(leaf)]
    if not numbers:
        return value
    outputs = [recorder.strong(leaves[k]) for k in numbers]
    tensors = [Tensor(recorder.lift(leaf), recorder) for leaf in inputs]
    for k, result in zip(numbers, _override(outputs, tensors, marker), strict=True):
        leaves[k] = result
    return unflatten(structure, leaves)


def _check_pass_through(
    name: str, inputs: Sequence[Any], outputs: Sequence[Any], recorder: Recorder
) -> None:
    if len(inputs) != len(outputs):
        problem = f"{len(outputs)} results for {len(inputs)} array arguments"
        raise fail("pass-through", recorder.here(), function=name, problem=problem)
    for number, (x, y) in enumerate(
        zip(map(leaf_type, inputs), map(leaf_type, outputs), strict=True)
    ):
        assert x is not None and y is not None
        if x.shape != y.shape:
            problem = f"result {number} has shape {y.shape}, its argument {x.shape}"
            raise fail("pass-through", recorder.here(), function=name, problem=problem)
