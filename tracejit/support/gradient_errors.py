"""Rows of `errors.ERRORS` for gradients: transforms, tapes, markers and gradient rules."""

from __future__ import annotations

from tracejit.support.exceptions import (
    GradientError,
    InPlaceError,
    NoGradientError,
    NotAnOpError,
    RecomputeError,
    RegisteredError,
    Row,
    RuleError,
    RuleTypeError,
    SeedError,
    TapeArgumentError,
    TapeError,
    TapeStateError,
    ValueNeededError,
    WatchError,
)

GRADIENT_ERRORS: dict[str, Row] = {
    "taped": Row(
        ValueNeededError,
        "{call} would take {name} off the tape that records it.",
        "what is computed from the number would be a constant, and its gradient would be lost.",
        "{fix} Or say {name}.numpy() to mean a constant.",
    ),
    "written-later": Row(
        InPlaceError,
        "{name} has been written to since the gradient rule that reads it was made.",
        "the rule would compute the gradient from numbers that the forward run has not seen.",
        "let the rule read a copy: saved = x.copy().",
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
}
