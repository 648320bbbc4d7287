"""Every way tracejit gives up, in one table.

A row of `ERRORS` is one situation: the exception class, what happened (in the user's spelling),
why that cannot be right, and the fix. `fail(name, where, **words)` fills a row in and returns the
exception; the caller raises it. Nothing else in tracejit composes an error text, and a test
triggers every row.

>>> error = fail("wrong-arity", None, function="loss", problem="missing a required argument: 'w'")
>>> raise error
Traceback (most recent call last):
tracejit.exceptions.ArityError: loss() cannot be called like this: missing a required argument: 'w'.
  Why: arguments are bound by the signature of loss, as in Python.
  Fix: call it as the undecorated function is called.
"""

from __future__ import annotations

from tracejit.exceptions import (
    REFUSALS,
    ArgumentError,
    ArityError,
    AssignError,
    AxisShapeError,
    CallbackError,
    GradientError,
    GraphError,
    ImpureError,
    IndexShapeError,
    InPlaceError,
    KernelError,
    LeakedTensorError,
    MatrixShapeError,
    NoGradientError,
    NotAnOpError,
    RecomputeError,
    RegisteredError,
    Row,
    RuleError,
    RuleTypeError,
    SeedError,
    ShapeError,
    TapeArgumentError,
    TapeError,
    TapeStateError,
    TracejitError,
    TracejitWarning,
    UnsupportedError,
    ValueNeededError,
    WatchError,
    Where,
    without_frames,
)  # fmt: skip

__all__ = [
    "ERRORS", "ArgumentError", "ArityError", "AssignError", "CallbackError", "GradientError",
    "GraphError", "ImpureError", "InPlaceError", "KernelError", "LeakedTensorError",
    "NoGradientError", "NotAnOpError", "RecomputeError", "RegisteredError", "Row", "RuleError",
    "RuleTypeError", "SeedError", "ShapeError", "TapeArgumentError", "TapeError", "TapeStateError",
    "TracejitError", "TracejitWarning", "UnsupportedError", "ValueNeededError", "WatchError",
    "Where", "fail", "placed", "without_frames",
]  # fmt: skip


ERRORS: dict[str, Row] = {
    "value-needed": Row(
        ValueNeededError,
        "{call} needs a value, but {name} is being recorded ({type}).",
        "the value used now would be frozen into every later call.",
        "{fix}",
    ),
    "caught": Row(
        UnsupportedError,
        "{function} caught an error of tracejit and went on: {what}.",
        "plain NumPy raises none there, so what was recorded after it is another program.",
        "{fix} Or name what you catch: `except tj.TracejitError:` before the other clauses.",
    ),
    "taped": Row(
        ValueNeededError,
        "{call} would take {name} off the tape that records it.",
        "what is computed from the number would be a constant, and its gradient would be lost.",
        "compute with NumPy functions on {name} itself, or say {name}.numpy() to mean a constant.",
    ),
    "assign": Row(
        AssignError,
        "{name} holds {type}, and was assigned {got}.",
        "a Variable keeps its shape and dtype.",
        "reshape or .astype(...) the value, or make another Variable.",
    ),
    "unsupported-function": Row(
        UnsupportedError,
        "{function} is not recorded by tracejit.",
        "it would run on the raw values of this one call, and its gradient would be lost.",
        "write it with functions that are recorded, or keep it outside the function.",
    ),
    "unsupported-call": Row(
        UnsupportedError,
        "{function} cannot be recorded in this form: {problem}.",
        "ignoring part of the call would compute something else.",
        "{fix}",
    ),
    "unsupported-dtype": Row(
        UnsupportedError,
        "{what} has dtype {dtype}, which is not recorded.",
        "tracejit records booleans, integers, floating and complex numbers of native byte order.",
        "convert it with .astype(...) before the call.",
    ),
    "write": Row(
        InPlaceError,
        "{call} writes in place into {target}.",
        "other names may share its memory, and the recorded graph would not see the change.",
        "{fix}",
    ),
    "no-batch": Row(
        UnsupportedError,
        "{op} cannot be batched by tj.vmap.",
        "it would take place once for the whole batch, or with one element's numbers for all.",
        "move it out of the function that is mapped, or call the function in a loop.",
    ),
    "batch": Row(
        ArgumentError,
        "tj.vmap cannot tell the batch: {problem}.",
        "every mapped argument has the batch along the axis that in_axes names, of one size.",
        "pass in_axes=(...), None for arguments that are the same for all elements.",
    ),
    "update": Row(
        InPlaceError,
        "{call}: {problem}.",
        "an array keeps its dtype when it is written to, as in NumPy.",
        "convert the result with .astype(...), or bind it to a name: y = y / 2.",
    ),
    "not-apart": Row(
        InPlaceError,
        "{problem}: {function} cannot be differentiated in this call.",
        "its gradient is computed from arrays that do not change; NumPy in place would see others.",
        "pass arrays that do not overlap, or a copy.",
    ),
    "not-compiled": Row(
        UnsupportedError,
        "what Python goes by in {function} cannot be recorded: a callback's answer, a cotangent, "
        "or too many ways through it (max_paths).",
        "this transform cannot be computed by plain Python instead.",
        "choose between arrays with np.where(condition, a, b).",
    ),
    "written-later": Row(
        InPlaceError,
        "{name} has been written to since the gradient rule that reads it was made.",
        "the rule would compute the gradient from numbers that the forward run has not seen.",
        "let the rule read a copy: saved = x.copy().",
    ),
    "shapes": Row(
        ShapeError,
        "{call}: {problem}.",
        "NumPy raises the same error on arrays of these shapes.",
        "{fix}",
    ),
    "random": Row(
        UnsupportedError,
        "{function} drew random numbers from {generator} while it was recorded.",
        "the numbers drawn now would be frozen into every later call.",
        "draw from a np.random.Generator argument, or from a captured tj.random.default_rng.",
    ),
    "index": Row(
        IndexShapeError,
        "{call}: {problem}.",
        "NumPy raises the same error on arrays of these shapes.",
        "{fix}",
    ),
    "leaked": Row(
        LeakedTensorError,
        "a Tensor recorded in {function} was used after that recording had ended.",
        "it stands for a value of one recording and holds no number.",
        "return it from the function instead of keeping it (in a global, a list, an lru_cache).",
    ),
    "other-thread": Row(
        LeakedTensorError,
        "a Tensor recorded in {function} was used on another thread.",
        "a recording belongs to the thread that runs the function.",
        "compute it on one thread, or call the function from each thread.",
    ),
    "two-recordings": Row(
        LeakedTensorError,
        "Tensors of two recordings ({function} and {other}) met in one operation.",
        "each recording is a graph of its own.",
        "pass the outer one to the inner function as an argument.",
    ),
    "wrong-arity": Row(
        ArityError,
        "{function}() cannot be called like this: {problem}.",
        "arguments are bound by the signature of {function}, as in Python.",
        "call it as the undecorated function is called.",
    ),
    "input-signature": Row(
        ArgumentError,
        "argument {name} of {function} is {given}; input_signature says {wanted}.",
        "input_signature promises that every call is like it.",
        "pass such an array, or leave input_signature out.",
    ),
    "not-a-spec": Row(
        ArgumentError,
        "input_signature of {function} has {given!r}, which is no TensorSpec.",
        "it describes the arrays of every call.",
        "write tj.TensorSpec((None, 3), np.float64), None for a size that may change.",
    ),
    "size-needed": Row(
        ValueNeededError,
        "dimension {axis} of {name} is None in its TensorSpec, but {function} needs the number.",
        "without a call there is none; len(x), range(n) and np.arange(n) ask for it.",
        "give the size in the TensorSpec, or write x.shape[{axis}], -1, reductions and *_like.",
    ),
    "not-an-array": Row(
        ArgumentError,
        "{what} is {article} {kind}, not an array.",
        "tracejit records arrays, numbers and containers of them (dicts, list, tuple, NamedTuple, "
        "dataclass, slice); strings, sets, None, enums and other hashables select a kernel.",
        "{fix}",
    ),
    "not-callable": Row(
        ArgumentError,
        "{decorator} needs a function, got {kind}.",
        "there is nothing to record.",
        "pass a function: {decorator}(f).",
    ),
    "memory-budget": Row(
        ArgumentError,
        "memory_budget={budget!r} is no number of bytes.",
        "it bounds what a gradient keeps of the function's intermediate arrays.",
        "pass an int that is not negative, such as memory_budget=64 * 2**20, or None.",
    ),
    "not-scalar": Row(
        GradientError,
        "{transform}({function}) needs a scalar result, but {function} returns {type}.",
        "a gradient is that of one number; the derivative of an array is a matrix.",
        "{fix}",
    ),
    "not-real": Row(
        GradientError,
        "{transform}({function}) needs a real floating result, but {function} returns {type}.",
        "only a real number has one direction of steepest ascent.",
        "return a real float: np.real(...), np.abs(...) or .astype(float).",
    ),
    "integer-input": Row(
        GradientError,
        "{transform} of {function} with respect to {name}, which is {type}.",
        "{kind} have no derivative.",
        "{fix}, or choose what to differentiate with argnums= or argnames=.",
    ),
    "threads": Row(
        ArgumentError,
        "{given} is no number of threads.",
        "the tiles of a kernel run on so many, and answer the same bits.",
        "give an int of at least 1, or nothing, to leave the choice to tracejit.",
    ),
    "transform-option": Row(
        GradientError,
        "{transform}: {problem}.",
        "argnums and argnames choose arguments, mode and chunk_size how directions are taken.",
        'pass numbers, names, mode="auto", "fwd" or "rev", and a positive chunk_size.',
    ),
    "no-such-argument": Row(
        GradientError,
        "{transform}: {function} has no argument {name}.",
        "argnums and argnames select arguments of the function.",
        "choose from: {choices}.",
    ),
    "no-rule": Row(
        NoGradientError,
        "no gradient is known for {op}, and the result depends on it.",
        "tracejit never replaces a missing rule by zero.",
        "give it a rule with tj.register_gradient, cut it with tj.stop_gradient, or wrap it in a "
        "tj.custom_gradient.",
    ),
    "tape-used": Row(
        TapeError,
        "A non-persistent GradientTape can only be used to compute one set of gradients "
        "(or jacobians).",
        "it lets go of what it recorded when it is used.",
        "GradientTape(persistent=True), or ask for all gradients in one call.",
    ),
    "tape-active": Row(
        TapeStateError,
        "Tape is still recording: it cannot be entered again.",
        "a tape records once what happens while it is open.",
        "use another GradientTape inside.",
    ),
    "tape-idle": Row(
        TapeStateError,
        "{call}: the tape is not recording.",
        "what is computed outside its with-block is never on the tape.",
        "call it inside the with-block.",
    ),
    "watch": Row(
        WatchError,
        "tape.watch was given {got}, which is no Tensor and no Variable.",
        "NumPy computes with it at once, unseen by any tape.",
        "x = tj.constant(x), then watch x and compute with it.",
    ),
    "tape-argument": Row(
        TapeArgumentError,
        "{call}: {argument} must hold Tensors or Variables, got {got}.",
        "a gradient is taken of and by what was computed on the tape.",
        "{fix}",
    ),
    "seeds": Row(
        SeedError,
        "{call}: {problem}.",
        "each target has one cotangent, of its own shape; a broadcast here would hide a mistake.",
        "give one array per target, or None for ones.",
    ),
    "unconnected": Row(
        SeedError,
        "Unknown value for unconnected_gradients: {got!r}.",
        "a source that the target does not depend on has no gradient, or zeros.",
        "tj.UnconnectedGradients.NONE ('none') or ZERO ('zero').",
    ),
    "callback": Row(
        CallbackError,
        "the callback {function} returned {problem}.",
        "what follows was recorded for arrays of that shape and dtype.",
        "convert what it returns, or change `result`.",
    ),
    "primals": Row(
        SeedError,
        "{call}: {problem}.",
        "each primal moves along one tangent, of its shape and dtype.",
        "give one tangent per primal, in the same structure.",
    ),
    "no-recording": Row(
        TapeError,
        "{call} works inside a function that is recorded.",
        "outside, only a tape knows how a Tensor was computed.",
        "use tj.GradientTape, or call {call} in a @tj.function.",
    ),
    "two-runs": Row(
        RecomputeError,
        "{function} under recompute_grad does not do the same in its second run: {problem}.",
        "the gradient would be that of another computation.",
        "let it depend on its arguments, Variables and random generators alone.",
    ),
    "out-of-sight": Row(
        RecomputeError,
        "a Tensor made inside a function under recompute_grad is used outside it.",
        "the tape knows what the function returns, not what it computes on the way.",
        "return it, too.",
    ),
    "registered": Row(
        RegisteredError,
        "{function} has a gradient rule already.",
        "rules hold for the whole process; another would change code that relies on the first.",
        "wrap the call in a tj.custom_gradient to differentiate it otherwise there.",
    ),
    "not-an-op": Row(
        NotAnOpError,
        "{function} is no operation that could have a rule.",
        "a plain Python function is recorded operation by operation.",
        "@tj.primitive makes it one operation; tj.custom_gradient gives it a gradient as it is.",
    ),
    "rule-count": Row(
        RuleError,
        "the gradient rule of {function} returned {got} gradients for {expected} inputs ({names}).",
        "each array argument has one gradient, in order.",
        "return one entry per array argument; None where it has no gradient.",
    ),
    "rule-shape": Row(
        RuleError,
        "the gradient rule of {function} returned shape {got} for {name}, which has shape "
        "{expected}.",
        "a gradient has exactly the shape of its argument; a broadcast here would hide a mistake.",
        "sum over the broadcast axes in the rule.",
    ),
    "rule-type": Row(
        RuleTypeError,
        "the gradient rule of {function} returned {got} for {name}, which is {expected}.",
        "a gradient is a number, an array or None, and real for a real argument.",
        "return an array of the argument's shape.",
    ),
    "rule-not-linear": Row(
        RuleTypeError,
        "the gradient rule of {function} is not linear in its cotangent: {problem}.",
        "forward mode transposes the rule, and only a linear rule has a transpose.",
        "differentiate in reverse mode: tj.grad, tj.vjp, tj.GradientTape.",
    ),
    "rule-pair": Row(
        RuleTypeError,
        "{function} is a custom gradient and must return (value, grad_fn), got {got}.",
        "the second entry is the rule that replaces its gradient.",
        "return value, grad.",
    ),
    "rule-no-variables": Row(
        RuleTypeError,
        "{function} reads Variables ({variables}), and its gradient rule takes no `variables`.",
        "Variables that are read are inputs, too, and the rule has to answer for them.",
        "def grad(*dy, variables=None): ... return grad_xs, grad_vars; or pass them as arguments.",
    ),
    "rule-variables": Row(
        RuleTypeError,
        "the gradient rule of {function} takes variables and must return "
        "(grad_xs, grad_vars), got {got}.",
        "the variables that are read have gradients of their own.",
        "return grad_xs, grad_vars; [] where no variable is read.",
    ),
    "pass-through": Row(
        RuleError,
        "grad_pass_through({function}): {problem}.",
        "the gradient of each result is handed to the input in the same place.",
        "make f return one array per input, each with the shape of its input.",
    ),
    "impure": Row(
        ImpureError,
        "two recordings of one call of {function} differ: {problem}.",
        "TRACEJIT_CHECK=1 records each new call twice; what differs would be frozen into a kernel. "
        "It may come from {suspects}.",
        "pass it as an argument, hold it in a tj.Variable, draw from a np.random.Generator that is "
        "an argument, or read it in a tj.callback.",
    ),
    "kernel": Row(
        KernelError,
        "kernel {name} cannot be used: {problem}.",
        "a kernel runs as code, so it is only imported when it is exactly what tracejit wrote.",
        "{fix}",
    ),
    "graph": Row(
        GraphError,
        "{problem}.",
        "every graph satisfies the invariants of tracejit/ir/verify.py after every pass.",
        "report it: this is a bug in tracejit, not in your code.",
    ),
}
ERRORS["axis"] = ERRORS["index"]._replace(error=AxisShapeError)
ERRORS["matrix"] = ERRORS["shapes"]._replace(error=MatrixShapeError)


def fail(name: str, where: Where | None, /, **words: object) -> TracejitError:
    """The exception for row `name`, its sentences filled in with `words`; the caller raises it."""
    row = ERRORS[name]
    if "problem" in words:  # a sentence of NumPy's may have its period
        words["problem"] = str(words["problem"]).removesuffix(".")
    what, why, fix = [sentence.format(**words) for sentence in row[1:]]
    lines = [what, *([] if where is None else [str(where)]), f"  Why: {why}", f"  Fix: {fix}"]
    error = row.error("\n".join(lines))
    error.row, error.words, error.where = name, words, where
    if REFUSALS.raised is not None:
        REFUSALS.raised.append(error)
    return error


def placed(error: TracejitError, where: Where | None) -> TracejitError:
    """`error` with the user's line, which the layer that raised it did not know."""
    if error.where is None and error.row:
        return fail(error.row, where, **error.words).with_traceback(error.__traceback__)
    return error
