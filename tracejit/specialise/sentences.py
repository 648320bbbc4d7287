"""The sentences in which `explain()` describes a difference between a call and a kernel. Every
cause of a new kernel has a row here."""

from __future__ import annotations

from typing import NamedTuple


class Sentence(NamedTuple):
    """The words for one kind of difference. `because` says what the call had, and `has` what the
    other kernel has; where `has` is empty, `because` says both. `then` says what follows, `fix` how
    to avoid it, and `changed` what the function itself has changed."""

    because: str
    has: str = ""
    then: str = ""
    fix: str = ""
    changed: str = ""


SENTENCES = {
    "dtype": Sentence(
        "{what} had dtype {now}",
        "{was}",
        fix="convert it before the call, {what}.astype(np.{was}).",
    ),
    "shape": Sentence(
        "{what} had shape {now}",
        "{was}",
        "{detail}.",
        "{fix}",
    ),
    "sizes": Sentence(
        "Python decides by sizes",
        "what holds where {was}",
        "What it decides otherwise has a kernel of its own.",
    ),
    "size": Sentence(
        "{what} had shape {now}",
        "{was}",
        "From the next size on, {detail} of {what} is free: any size from 2 on serves.",
    ),
    "rank": Sentence(
        "{what} had shape {now}",
        "{was}",
        "Every number of dimensions has a kernel of its own.",
        "add or drop axes before the call: {what}[None], {what}[0].",
    ),
    "kind": Sentence("{what} was {now}", "{was}", fix="pass {was} at each call."),
    "structure": Sentence(
        "{what} was {now}",
        "{was}",
        "The keys and lengths of containers belong to a kernel.",
        "keep them the same, and put what varies in number into one array.",
    ),
    "value": Sentence(
        "{what} was {now}",
        "{was}",
        "Every value of {what} has a kernel of its own, as it is no array and no number.",
        "pass what is computed with as a number or an array; a few values need no change.",
    ),
    "variable": Sentence(
        "{what} was another Variable",
        then="A kernel reads and assigns the Variables that it was made with.",
        fix="keep one Variable and assign to it.",
    ),
    "identity": Sentence(
        "the function asks which arguments are one object: {now}",
        "a call where {was}",
        "Such calls have a kernel of their own.",
    ),
    "order": Sentence(
        "{what} did not lie in C order in memory",
        "an array that does",
        "The function reshapes or writes to {what}, which depends on the order.",
        "pass np.ascontiguousarray({what}).",
    ),
    "dynamic": Sentence(
        "{what} was {now}", "{was}", "From its second value on {what} is dynamic: any serves."
    ),
    "static": Sentence(
        "{what} was {now}",
        "{was}",
        "Every value of {what} has a kernel of its own, as it is static.",
        "leave {what} out of static_argnames and static_argnums; if it is in neither, the code "
        "asks for a type, where isinstance would do, or hands a number to C code that takes no "
        "other.",
    ),
    "read": Sentence(
        "{what} was {now}",
        "{was}",
        "Every value of {what} has a kernel of its own, as Python reads it{detail}.",
        "{fix}",
    ),
    "wanted": Sentence(
        "{what} was {now}",
        "{was}",
        "Every value of {what} has a kernel of its own, as the function asks what type numbers "
        "have, or gives them to C code that takes nothing else.",
        "isinstance holds of what is recorded; call such C code outside.",
    ),
    "captured": Sentence(
        "{what} was {was} and became {now}",
        fix="pass it as an argument, or hold it in a tj.Variable.",
    ),
    "lent": Sentence(
        "{what} was {was} and became {now}",
        then="From its second value on {what} is read at each call: any of its type serves.",
    ),
    "contents": Sentence(
        "the contents of {what} had changed",
        then="What the function computes from it outside of recorded operations is a constant.",
        fix="pass it as an argument, or hold it in a tj.Variable.",
    ),
    "trace": Sentence(
        "a trace of the function could not be joined to the others",
        then="The traces in one kernel read the same numbers, and begin alike.",
    ),
    "unseen": Sentence("something that the function reads had changed and changed back"),
    "changing": Sentence(
        "the function itself changes {what} (it was {was} and became {now})",
        then="Its kernel serves no other call.",
        fix="hold it in a tj.Variable, or change it outside of the function.",
        changed="{what} (it was {was} and became {now})",
    ),
    "iterator": Sentence(
        "the function draws from an iterator",
        then="Its kernel serves no other call.",
        fix="draw outside of the function, and pass the element as an argument.",
    ),
}

# What Python reads a number for, by the text that does, and what to do instead.
READS = (
    (r"\bmath\.(\w+)\(", "compute with np.{0}, which does not read it."),
    (r"\brange\(", "a loop is unrolled: mask a fixed number of steps, or loop outside."),
    (r"\b(float|int|complex)\(", "leave {0}(...) out: what computes with it converts it."),
    (r"\b(f[\"']|format\(|str\(|print\()", "print it with tj.callback."),
    (r"\bnp\.(full|array|zeros|ones|eye|arange|linspace)\(", "import tracejit.numpy as np."),
    (r"^(if|while|elif|assert)\b", "choose with np.where."),
    (r"", "compute with NumPy functions of it."),
)
