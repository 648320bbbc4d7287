"""The sentences in which `explain()` tells why a kernel was made, where the guard that failed does
not know all: guards have sentences of their own (`trace/guards/guards.py`)."""

from __future__ import annotations

from tracejit.trace.guards.guards import Sentence

SENTENCES = {
    one.row: one
    for one in (
        Sentence(
            "size",
            "{what} had shape {now}",
            "{was}",
            "From the next size on, {detail} of {what} is free: any size from 2 on serves.",
        ),
        Sentence(
            "static",
            "{what} was {now}",
            "{was}",
            "Every value of {what} has a kernel of its own, as it is static.",
            "leave {what} out of static_argnames and static_argnums; if it is in neither, the code "
            "asks for a type, where isinstance would do, or hands a number to C code that takes no "
            "other.",
        ),
        Sentence(
            "read",
            "{what} was {now}",
            "{was}",
            "Every value of {what} has a kernel of its own, as Python reads it{detail}.",
            "{fix}",
        ),
        Sentence(
            "wanted",
            "{what} was {now}",
            "{was}",
            "Every value of {what} has a kernel of its own, as the function asks what type numbers "
            "have, or gives them to C code that takes nothing else.",
            "isinstance holds of what is recorded; call such C code outside.",
        ),
        Sentence(
            "lent",
            "{what} was {was} and became {now}",
            then="From its second value on {what} is read at each call: any of its type serves.",
        ),
        Sentence(
            "trace",
            "a trace of the function could not be joined to the others",
            then="The traces in one kernel read the same numbers, and begin alike.",
        ),
        Sentence("unseen", "something that the function reads had changed and changed back"),
        Sentence(
            "changing",
            "the function itself changes {what} (it was {was} and became {now})",
            then="Its kernel serves no other call.",
            fix="hold it in a tj.Variable, or change it outside of the function.",
            changed="{what} (it was {was} and became {now})",
        ),
    )
}

# What Python reads a number for, by the text that does, and what to do instead.
READS = (
    (r"\bmath\.(\w+)\(", "compute with np.{0}, which does not read it."),
    (r"\brange\(", "a loop is unrolled: mask a fixed number of steps, or loop outside."),
    (r"\b(float|int|complex)\(", "leave {0}(...) out: what computes with it converts it."),
    (r"\b(f[\"']|format\(|str\(|print\()", "print it with tj.callback."),
    (
        r"\bnp\.(full|array|zeros|ones|eye|arange|linspace)\(",
        "make it like an array, as np.full_like does.",
    ),
    (r"^(if|while|elif|assert)\b", "choose with np.where."),
    (r"", "compute with NumPy functions of it."),
)
