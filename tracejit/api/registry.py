"""Rules for operations that have none: `register_gradient`, `no_gradient`; and `primitive`, a
user's function as one operation."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import numpy as np

from tracejit.api.callbacks import Callback, CheckedCall
from tracejit.autodiff.request.rules import RULES_FOR_NUMPY, Input, checked, leaf_type
from tracejit.ir.types import HANDLE, PYTHON_TYPES, ArrayType, type_of
from tracejit.ops.base.op import COMPOSITES, HANDLERS, OPS, Applied, Joint, Op, answer
from tracejit.ops.control.effects import answers, call_source
from tracejit.support.errors import TracejitError, Where, fail, placed
from tracejit.support.imports import import_module
from tracejit.support.words import a, identifier
from tracejit.trace.recording.active import called
from tracejit.trace.recording.decisions import Failed, Unknown
from tracejit.trace.recording.eager import handle_tensor
from tracejit.trace.recording.numbers import may_be_differentiated
from tracejit.trace.recording.record import Recording
from tracejit.trace.recording.variable import current_recorder, read_argument
from tracejit.trace.source import places
from tracejit.trace.structure.trees import LEAF, Structure, flatten, unflatten
from tracejit.trace.tensor.namespaces import PLAIN, RECORDABLE
from tracejit.trace.tensor.tensor import TENSORS, Tensor

LIMIT = 1000

if TYPE_CHECKING:
    from tracejit.support.typing import P, R

RuleT = TypeVar("RuleT", bound=Callable[..., Any])


class Primitive:
    """A function that is one operation: it is called with plain arrays, and never looked into."""

    def __init__(self, f: Callable[..., Any], result: Any) -> None:
        """Wrap `result` in the form that `primitive` takes."""
        functools.update_wrapper(self, f, updated=())
        self.f = f
        self.result = result
        self.by_numbers = False
        name = identifier(getattr(f, "__name__", type(f).__name__))
        if name in OPS:  # rewrites know the ops of the table by name
            name = f"primitive_{name}"
        self.op = Op(name=name, infer=answers, source=call_source)
        self._calls: dict[Any, CheckedCall] = {}

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind to an instance, as a Python function does."""
        return self if instance is None else functools.partial(self, instance)

    @places.at_the_users_line
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs and PLAIN.issuperset(map(type, args)):
            return self.f(*args)
        leaves, structure = flatten((args, kwargs))
        leaves = [settled(leaf) for leaf in leaves]
        if not any(type(leaf) in TENSORS for leaf in leaves):
            return self.f(*args, **kwargs)
        recorder = current_recorder()
        try:
            where = recorder.here() if isinstance(recorder, Recording) else None
            call = self._checked_call(leaves, structure, where)
            operands = [leaves[k] for k in call.call.places]
            if isinstance(recorder, Recording):
                call = recorder.first_call(call, operands)
                handle = Tensor(recorder.hide(self._called(call), self.op.name, HANDLE), recorder)
            else:
                handle = handle_tensor(self._called(call))
            types = tuple(map(repr, call.types))
            found = self.op(handle, *operands, results=types, call=call)
        except TracejitError as error:
            raise placed(error, recorder.here()) from None
        return unflatten(call.structure, [found] if len(types) == 1 else list(found))

    def _called(self, call: CheckedCall) -> Any:
        """The callable for a kernel: a ufunc itself, whose results need no check, else the call."""
        takes_all = call.call.flat is not None and len(call.call.places) == len(call.call.fixed)
        return self.f if isinstance(self.f, np.ufunc) and takes_all else call

    def _checked_call(
        self, leaves: Sequence[Any], structure: Structure, where: Where | None
    ) -> CheckedCall:
        """The call with these arguments at this line; one for all calls that differ in their arrays
        alone."""
        call = Callback(_Keywords(self.f), leaves, structure)
        positional, keywords = structure.children
        if not keywords.size and all(one is LEAF for one in positional.children):
            call.flat = self.f
        types = [leaf_type(leaf) if k in call.places else None for k, leaf in enumerate(leaves)]
        fixed = [_identity(leaf) for leaf in call.fixed]
        if len(self._calls) >= LIMIT:
            self._calls.clear()
        key = (structure, tuple(types), tuple(fixed))
        known = self._calls.get(key)
        if known is None:
            known = self._calls[key] = CheckedCall(call, *self._results(call, leaves))
        if where is None:
            return known
        here = (*key, where)
        placed = CheckedCall(known.call, known.types, known.structure, where)
        return self._calls.setdefault(here, placed)

    def _results(self, call: Callback, leaves: Sequence[Any]) -> tuple[list[ArrayType], Structure]:
        """The types of the results: as said, or those for ones, or for the numbers of this call."""
        if self.result is not None:
            specs, structure = flatten(self.result)
            return [spec.type for spec in specs], structure
        found, structure = flatten(self._example(call, [leaves[k] for k in call.places]))
        types = []
        for leaf in found:
            known = type_of(leaf)
            if known is None or known.dtype.kind not in "biufc":
                problem = f"{a(type(leaf).__name__)}, which is not an array of numbers"
                raise fail("callback", None, function=self.op.name, problem=problem)
            types.append(known.with_form("scalar") if known.form == "weak" else known)
        return types, structure

    def _example(self, call: Callback, given: Sequence[Any]) -> Any:
        """An answer of the call: for ones, or for its own numbers where it takes no ones, as where
        it needs a definite matrix; for these first where it is `by_numbers`."""
        first, second = (_number, _ones) if self.by_numbers else (_ones, _number)
        try:
            return call(*map(first, given))
        except Exception as error:
            try:
                others = [*map(second, given)]
            except (Unknown, Failed):
                raise error from None
            return call(*others)

    def __repr__(self) -> str:
        return f"<primitive {self.op.name}>"


def settled(leaf: Any) -> Any:
    """An argument as it is given: a Variable as its value, a recorded int or bool as its number,
    under a guard, a Python float that has a derivative as NumPy's."""
    leaf = read_argument(leaf)
    if may_be_differentiated(leaf):
        return leaf._recording.strong(leaf)
    if type(leaf) in TENSORS and leaf.type.form == "weak" and not leaf.type.is_inexact:
        return bool(leaf) if leaf.dtype.kind == "b" else operator.index(leaf)
    return leaf


def _identity(fixed: Any) -> Any:
    """The identity of a fixed argument: of plain values the value, else the object."""
    plain = (str, bytes, bool, int, float, complex, type(None))
    return (type(fixed), repr(fixed)) if type(fixed) in plain else id(fixed)


class _Keywords:
    """A function that takes its arguments as (positional, keyword)."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f = f
        self.__name__ = getattr(f, "__name__", type(f).__name__)

    def __call__(self, args: Any, kwargs: Any) -> Any:
        return self.f(*args, **kwargs)


def _ones(leaf: Any) -> Any:
    """In place of an argument that may hold no numbers yet: ones of its type. Arrays that are not
    recorded are themselves, and integers those of this call: they may decide shapes, as indices
    do."""
    if isinstance(leaf, np.ndarray) and type(leaf) not in TENSORS:
        return leaf
    known = leaf_type(leaf)
    assert known is not None
    if known.form == "weak":
        return PYTHON_TYPES[known.dtype.kind](1)
    if known.shape and not known.is_inexact:
        with suppress(Unknown, Failed):
            return _number(leaf)
    ones = np.ones(known.shape, known.dtype)
    return ones if known.form == "array" else ones[()]


def _number(leaf: Any) -> Any:
    """An argument as it is in this call. Raises Unknown or Failed where that is not known yet."""
    if type(leaf) not in TENSORS:
        return leaf
    recorder, value = leaf._recording, leaf._value
    return recorder.decisions.prefix[value] if isinstance(recorder, Recording) else value.data


@overload
def primitive(f: Callable[P, R], *, result: Any = None) -> Callable[P, R]: ...
@overload
def primitive(
    f: None = None, *, result: Any = None
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
@places.at_the_users_line
def primitive(f: Any = None, *, result: Any = None) -> Any:
    """Make a function one operation. tracejit calls it and does not look inside.

    It may be anything: compiled code, a solver, a loop over elements, a call of another library.

    Parameters
    ----------
    f : callable, default None
        The function. It is called with plain arrays and must be pure: tracejit may call it again,
        once for calls with equal arguments, or not at all if nothing needs its result.
    result : TensorSpec or container of them, default None
        The shapes and dtypes of the result. Without it, `f` is called once to find out, with
        ones for floats that are recorded, or with the numbers of the call if it raises for ones.

    Returns
    -------
    callable
        The operation. `tj.register_gradient` gives it a gradient.

    Raises
    ------
    NoGradientError
        If it is differentiated and has no gradient. The call of the gradient raises it. A
        LookupError.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tj
    >>> @tj.primitive
    ... def cube(x):
    ...     return np.array([element**3 for element in x])
    >>> @tj.register_gradient(cube)
    ... def _(op, dy):
    ...     return 3.0 * op.inputs[0] ** 2 * dy
    >>> tj.grad(lambda x: np.sum(cube(x)))(np.array([1.0, 2.0]))
    array([ 3., 12.])
    """
    if f is None:
        return functools.partial(primitive, result=result)
    if not callable(f):
        raise fail("not-callable", places.here(), decorator="tj.primitive", kind=type(f).__name__)
    return f if isinstance(f, Primitive) else Primitive(f, result)


@places.at_the_users_line
def register_gradient(function: Any) -> Callable[[RuleT], RuleT]:
    """Give a function a gradient, for the whole process.

    Parameters
    ----------
    function : callable
        A `tj.primitive`, or a function of NumPy that has no gradient. A function that tracejit does
        not record becomes a primitive.

    Returns
    -------
    callable
        A decorator for the rule. The rule is called as `rule(op, *dys)`, with one cotangent for
        each result. It returns one gradient for each array argument: of exactly its shape, or None.

    Raises
    ------
    RegisteredError
        If the function has a gradient already. A KeyError.
    NotAnOpError
        If it cannot have one. A TypeError.

    Notes
    -----
    `op.inputs` and `op.outputs` are the arrays. `op.params` are the other arguments. For a
    primitive they are {"args": ..., "kwargs": ...}, with None for each array. The rule is itself
    differentiable.

    Unlike in TensorFlow, it takes the function, not the name of an operation.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tj
    >>> @tj.primitive
    ... def softplus(x):
    ...     return np.logaddexp(x, 0.0)
    >>> @tj.register_gradient(softplus)
    ... def _(op, dy):
    ...     return dy / (1.0 + np.exp(-op.inputs[0]))
    >>> tj.grad(lambda x: softplus(x))(0.0)
    np.float64(0.5)
    """
    op = op_of(function)

    @places.at_the_users_line
    def register(rule: RuleT) -> RuleT:
        given: Any = rule
        if not callable(given):
            words = {"decorator": "tj.register_gradient(f)", "kind": type(given).__name__}
            raise fail("not-callable", places.here(), **words)
        set_rule(op, function, Joint(_checked_rule(op.name, rule)))
        if isinstance(function, Primitive):
            vars(function)["__gradient_rule__"] = rule  # for who looks for what it captures
        else:
            RULES_FOR_NUMPY.append(rule)
        return rule

    return register


@places.at_the_users_line
def no_gradient(function: Any) -> None:
    """Declare for the whole process that no gradient flows through a function.

    Parameters
    ----------
    function : callable
        A `tj.primitive`, or a function of NumPy that has no gradient.

    Returns
    -------
    None
        From now on its results are constants when differentiating.

    Raises
    ------
    RegisteredError
        If the function has a gradient already. A KeyError.
    NotAnOpError
        If it cannot have one. A TypeError.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tj
    >>> @tj.primitive
    ... def ranks(x):
    ...     return np.argsort(np.argsort(x)).astype(float)
    >>> tj.no_gradient(ranks)
    >>> tj.grad(lambda x: np.sum(x * ranks(x)))(np.array([3.0, 1.0]))
    array([1., 0.])
    """
    set_rule(op_of(function), function, ())


def set_rule(op: Op, function: Any, rule: Any, mode: Literal["vjp", "jvp"] = "vjp") -> None:
    """Give an op its rule of a mode. Raises RegisteredError if it has one."""
    if getattr(op, mode) is not None:
        raise fail("registered", places.here(), function=_name(function))
    object.__setattr__(op, mode, rule)


def library_function(function: Any) -> Any:
    """NumPy's or SciPy's function behind one of tracejit's namespaces; others as they are. What is
    recorded of SciPy is known afterwards."""
    if getattr(function, "__code__", None) is RECORDABLE:
        function = function.__wrapped__
    if library_name(function) == "scipy":
        import_module("tracejit.trace.convert.libraries").import_records(function.__module__)
    return function


def library_name(function: Any) -> str:
    """The package that a function is of."""
    return str(getattr(function, "__module__", None)).partition(".")[0]


def op_of(function: Any) -> Op:
    """The op of a primitive or of a function of NumPy's or SciPy's."""
    if isinstance(function, Primitive):
        return function.op
    function = library_function(function)
    handler = HANDLERS.get(function) if callable(function) else None
    op = getattr(handler, "__self__", None)
    if isinstance(op, Op):
        return op
    if isinstance(handler, Primitive):
        return handler.op
    if handler is not None or function in COMPOSITES.values():
        raise fail("registered", places.here(), function=_name(function))
    is_scipys = library_name(function) == "scipy"
    if not (is_scipys or isinstance(function, np.ufunc) or hasattr(function, "_implementation")):
        raise fail("not-an-op", places.here(), function=_name(function))
    made = Primitive(function, None)
    answer(function, made)
    return made.op


def _checked_rule(name: str, rule: Callable[..., Any]) -> Callable[..., list[Any]]:
    """The rule on an operation whose first input is its handle, if it is a primitive."""

    @functools.wraps(rule)
    def checked_rule(op: Applied, *cotangents: Any) -> list[Any]:
        recorder = current_recorder()
        arrays = [k for k, x in enumerate(op.inputs) if x.type.form in ("array", "scalar")]
        given = op._replace(inputs=[op.inputs[k] for k in arrays], params=_shown(op))
        with recorder.running_rule():
            answer = called(rule)(given, *cotangents)
        entries = flatten(answer)[0] if answer is not None or len(arrays) == 1 else []
        if len(entries) != len(arrays):
            raise fail(
                "rule-count",
                recorder.here(),
                function=name,
                got=len(entries),
                expected=len(arrays),
                names=", ".join(f"input {k}" for k in range(len(arrays))) or "none",
            )
        answers: list[Any] = [None] * len(op.inputs)
        for number, (k, entry) in enumerate(zip(arrays, entries, strict=True)):
            wanted = Input(f"input {number}", op.inputs[k].type)
            answers[k] = checked(entry, wanted, name, recorder)
        return answers

    return checked_rule


def _shown(op: Applied) -> Mapping[str, Any]:
    """The parameters as a rule sees them: of a primitive, its arguments that are not arrays."""
    if "call" not in op.params:
        return op.params
    call: Callback = op.params["call"].call
    leaves = list(call.fixed)
    for place, operand in zip(call.places, op.inputs[1:], strict=True):
        leaves[place] = operand if operand.type.form == "weak" else None
    args, kwargs = unflatten(call.structure, leaves)
    return {"args": args, "kwargs": kwargs}


def _name(function: Any) -> str:
    return getattr(function, "__name__", repr(function))
