"""tracejit.scipy.integrate: what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.scipy import integrate


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: tj.grad(lambda p: integrate.simpson(x, p))(x), "no gradient is known"),
        (lambda x: integrate.simpson(x[None], x[None]), "only a vector"),
        (lambda x: integrate.cumulative_trapezoid(x, initial=1.0), "initial"),
        (lambda x: integrate.romb(x), "romb is not recorded"),
    ],
)
def test_refused_by_name(call, words) -> None:
    with pytest.raises(tj.TracejitError, match=words):
        tj.function(call)(np.arange(5.0))
