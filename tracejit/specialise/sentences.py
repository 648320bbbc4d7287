"""The sentences in which `explain()` tells why a kernel was made.

Guards have sentences of their own (`trace/guards/guards.py`). These are for what a guard alone does
not know.
"""

from __future__ import annotations

from tracejit.trace.guards.guards import Sentence

SENTENCES = {
    one.row: one
    for one in (
        Sentence(
            "size",
            "{what} had shape {now}",
            "{was}",
            "The new kernel takes any size of {detail} of {what}, from 2 on.",
        ),
        Sentence(
            "static",
            "{what} was {now}",
            "{was}",
            "Every value of {what} has its own kernel, because it is static.",
            "leave {what} out of static_argnames and static_argnums. If it is in neither of them, "
            "the function compares its type (use isinstance instead), or passes it to C code.",
        ),
        Sentence(
            "read",
            "{what} was {now}",
            "{was}",
            "Every value of {what} has its own kernel, because Python reads it{detail}.",
            "{fix}",
        ),
        Sentence(
            "wanted",
            "{what} was {now}",
            "{was}",
            "Every value of {what} has its own kernel, because the function asks for its type, or "
            "passes it to C code that takes only numbers.",
            "use isinstance, which works while a function is recorded, and call such C code "
            "outside.",
        ),
        Sentence(
            "lent",
            "{what} was {was} and became {now}",
            then="From now on {what} is read at each call: the new kernel takes any value of its "
            "type.",
        ),
        Sentence(
            "trace",
            "this way through the function could not be added to another kernel",
            then="All traces in one kernel read the same numbers, and have the same beginning.",
        ),
        Sentence("unseen", "something that the function reads had changed and changed back"),
        Sentence(
            "changing",
            "the function itself changes {what} (it was {was} and became {now})",
            then="No other call can use its kernel.",
            fix="hold it in a tj.Variable, or change it outside of the function.",
            changed="{what} (it was {was} and became {now})",
        ),
    )
}

# Ways in which Python reads a number, by the text of the line, and what to do instead.
READS = (
    (r"\bmath\.(\w+)\(", "use np.{0}, which does not read the value."),
    (
        r"\brange\(",
        "the loop is unrolled: run a fixed number of steps with a mask, or loop outside.",
    ),
    (r"\b(float|int|complex)\(", "leave {0}(...) out: NumPy converts the number itself."),
    (r"\b(f[\"']|format\(|str\(|print\()", "print it with tj.callback."),
    (
        r"\bnp\.(full|array|zeros|ones|eye|arange|linspace)\(",
        "make it with the shape of an array, as in np.full_like.",
    ),
    (r"^(if|while|elif|assert)\b", "choose with np.where."),
    (r"", "compute it with NumPy functions."),
)
