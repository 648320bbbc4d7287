"""Runs in a Python that has TensorFlow: what TensorFlow answers to programs of gradient markers.

Standard input holds the texts of tests/marker_programs.py as JSON; standard output gets, for each,
the answers of the modes E, FO and FI, as `run` there gives them: numbers in lists, or null for an
error.
"""

from __future__ import annotations

import json
import os
import sys
import textwrap
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import tensorflow as tf


def function(f: Any) -> Any:
    """A compiled function; the text is taken as it is."""
    return tf.function(f, autograph=False)


def same(f: Any) -> Any:
    """The function itself."""
    return f


def or_zeros(gradient: Any, like: Any) -> Any:
    """A gradient, or zeros where it is None."""
    return tf.zeros_like(like) if gradient is None else gradient


def total_of(found: Any, like: Any) -> Any:
    """The sum of the gradients that are not None, no two of one weight."""
    total = tf.zeros_like(like)
    for number, gradient in enumerate(found):
        if gradient is not None:
            total = total + gradient * (1.0 + 0.25 * number)
    return total


NAMES: dict[str, Any] = {
    "V": lambda value, **words: tf.Variable(value, dtype=tf.float64, **words),
    "c": lambda value: tf.constant(value, tf.float64),
    "clip": tf.clip_by_value,
    "custom_gradient": tf.custom_gradient,
    "exp": tf.exp,
    "gradients": tf.gradients,
    "or_zeros": or_zeros,
    "pass_through": tf.grad_pass_through,
    "recompute": tf.recompute_grad,
    "sin": tf.sin,
    "square": tf.square,
    "stop": tf.stop_gradient,
    "tape": tf.GradientTape,
    "total": tf.reduce_sum,
    "total_of": total_of,
}

# What becomes of the function that the drive calls, and of the drive.
MODES = {"E": (same, same), "FO": (function, same), "FI": (same, function)}


def plain(result: Any) -> Any:
    """A result as numbers in lists."""
    return None if result is None else tf.convert_to_tensor(result).numpy().tolist()


def answer(text: str, outer: Any, whole: Any) -> Any:
    """What a program answers, twice; None where it raises."""
    source = "def program():\n" + textwrap.indent(text, "    ")
    space = {**NAMES, "inner": same, "outer": outer}
    try:
        exec(compile(source, "<marker program>", "exec"), space)
        program: Any = space["program"]
        drive, _, args = program()
        run = whole(drive)
        return [
            [
                None if one is None else tf.convert_to_tensor(one).numpy().tolist()
                for one in run(*args)
            ]
            for _ in range(2)
        ]
    except Exception:
        return None


def main() -> None:
    """Answer all programs."""
    texts = json.load(sys.stdin)
    found = [[answer(text, *mode) for mode in MODES.values()] for text in texts]
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
