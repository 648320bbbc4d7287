"""Runs in a Python that has JAX: for calls of NumPy's functions, JAX's values and gradients.

Standard input holds a pickled list of requests, dicts of what `answer` takes; standard output gets
the list of answers, pickled. Gradients are in tracejit's convention: the conjugate of JAX's.
"""

from __future__ import annotations

import os
import pickle
import sys
from typing import Any

# Thousands of small functions run once each: compiling is what takes time.
os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0 --xla_cpu_max_isa=SSE4_2"

import jax
import jax.numpy as jnp
import jax.scipy
import numpy as np

jax.config.update("jax_enable_x64", True)


def found(path: str) -> Any:
    """What JAX has for "numpy.linalg.norm" or "scipy.special.erf"."""
    library, *names = path.split(".")
    place: Any = {"numpy": jnp, "scipy": jax.scipy}[library]
    for name in names:
        place = getattr(place, name)
    return place


def filled(template: Any, inputs: list[Any]) -> Any:
    """A template of arguments with the inputs at their places."""
    if isinstance(template, dict) and template.keys() == {"input"}:
        return inputs[template["input"]]
    if isinstance(template, dict):
        return {key: filled(value, inputs) for key, value in template.items()}
    if type(template) is list and all(type(value) in (bool, int, float) for value in template):
        return np.asarray(template)  # JAX takes no lists of numbers
    if type(template) in (list, tuple):
        return type(template)(filled(value, inputs) for value in template)
    return template


def answer(
    path: str, args: Any, kwargs: Any, inputs: list[Any], moving: list[int], seeds: list[Any]
) -> dict[str, Any]:
    """The leaves of the result, and the gradients of Re(sum(conj(seed) * leaf)) by the moving
    inputs."""
    function = found(path)

    def loss(moved: list[Any]) -> Any:
        given = list(inputs)
        for number, value in zip(moving, moved, strict=True):
            given[number] = value
        leaves = jax.tree.leaves(function(*filled(args, given), **filled(kwargs, given)))
        inexact = [y for y in leaves if jnp.issubdtype(jnp.result_type(y), jnp.inexact)]
        terms = [
            jnp.sum(jnp.real(np.conj(seed) * y))
            for seed, y in zip(seeds, inexact, strict=bool(seeds))
        ]
        return sum(terms, jnp.zeros(())), leaves

    moved = [jnp.asarray(inputs[number]) for number in moving]
    if moving and seeds:
        (_, values), slopes = jax.jit(jax.value_and_grad(loss, has_aux=True))(moved)
    else:
        (_, values), slopes = loss(moved), []
    return {
        "values": list(map(np.asarray, values)),
        "gradients": [np.conj(np.asarray(slope)) for slope in slopes],
    }


def attempt(request: dict[str, Any]) -> dict[str, Any]:
    """The answer; the error's text for what JAX cannot do."""
    try:
        return answer(**request)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    pickle.dump(list(map(attempt, pickle.load(sys.stdin.buffer))), sys.stdout.buffer)
