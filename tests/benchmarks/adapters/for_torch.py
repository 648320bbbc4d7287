"""Workloads by torch, eagerly, with NumPy's names for its functions."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from tests.benchmarks.workloads import Workload

torch.set_default_dtype(torch.float64)


def tensor(value: Any) -> Any:
    """A number or array as a tensor that shares its memory."""
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else torch.tensor(value)


def maximum(x: Any, y: Any) -> Any:
    """NumPy's maximum, of a tensor and a number too."""
    return torch.clamp_min(x, y) if isinstance(y, float) else torch.maximum(x, y)


def reduced(plain: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction with NumPy's keywords."""

    def reduce(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return plain(x) if axis is None else plain(x, dim=axis, keepdim=keepdims)

    return reduce


NAMESPACE = SimpleNamespace(
    **{
        name: getattr(torch, name)
        for name in (
            "abs", "diag", "exp", "eye", "linalg", "log", "log1p", "sin", "sqrt", "swapaxes",
            "tanh", "tril", "zeros_like",
        )
    },
    concatenate=lambda parts, axis=0: torch.cat(parts, dim=axis),
    stack=lambda parts, axis=0: torch.stack(list(parts), dim=axis),
    max=reduced(torch.amax),
    mean=reduced(torch.mean),
    sum=reduced(torch.sum),
    maximum=maximum,
)  # fmt: skip
# Its solve takes a vector for a stack of numbers unless it is a column.
NAMESPACE.linalg = SimpleNamespace(
    cholesky=torch.linalg.cholesky, slogdet=torch.linalg.slogdet, solve=torch.linalg.solve
)


def compiled(workload: Workload, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """The function of the arguments that computes what the workload asks for."""
    loss, argnums = workload.make(NAMESPACE), workload.argnums
    if workload.kind == "hvp":

        def product(w: Any, x: Any, y: Any, direction: Any) -> Any:
            rest = tensor(x), tensor(y)
            both = torch.autograd.functional.hvp(
                lambda point: loss(point, *rest), tensor(w), tensor(direction)
            )
            return None, both[1].numpy()

        return product
    if workload.kind == "vmap_grad":
        axes = tuple(None if number in argnums else 0 for number in range(len(arguments)))
        each = torch.func.vmap(torch.func.grad(loss, argnums=argnums), in_dims=axes)
        return lambda *given: (None, [slope.numpy() for slope in each(*map(tensor, given))])

    def call(*given: Any) -> Any:
        tensors = [tensor(value) for value in given]
        moving = [tensors[number].requires_grad_() for number in argnums]
        value = loss(*tensors)
        value.backward()
        return value.detach().numpy(), [one.grad.numpy() for one in moving]

    return call
