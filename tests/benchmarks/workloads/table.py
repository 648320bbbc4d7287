"""What a workload is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np


class Workload(NamedTuple):
    """A function, its arguments, and what is asked of it.

    `make(xp)` gives the function of NumPy arrays, written with the names of the namespace `xp`;
    `inputs(rng, **size)` its arguments. `kind` says what is computed:

    - "value_and_grad": the value, a number, and its gradients by the arguments numbered `argnums`;
    - "hvp": the product of the Hessian by the first argument with the last, which is a vector for
      it and no argument of the function;
    - "vmap_grad": gradients by the arguments `argnums` for each row of the other arguments.
    """

    name: str
    make: Callable[[Any], Callable[..., Any]]
    inputs: Callable[..., tuple[Any, ...]]
    argnums: tuple[int, ...]
    size: Mapping[str, Any]
    small: Mapping[str, Any]
    kind: str = "value_and_grad"
    published: bool = False

    def arguments(self, small: bool = False) -> tuple[Any, ...]:
        """The arguments, always the same; with `small`, those of the tests."""
        return self.inputs(np.random.default_rng(7), **(self.small if small else self.size))
