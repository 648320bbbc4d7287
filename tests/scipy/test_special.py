"""tracejit.scipy.special is scipy.special, recordable."""

from __future__ import annotations

import numpy as np
import scipy.special

import tracejit as tj
from tracejit.scipy import special


def test_ufuncs_are_scipys_own() -> None:
    assert special.gammaln is scipy.special.gammaln


def test_a_kernel_imports_what_it_calls() -> None:
    f = tj.value_and_grad(lambda x: np.sum(special.erf(x)))
    value, slope = f(np.zeros(2))
    assert value == 0.0
    assert np.allclose(slope, 2 / np.sqrt(np.pi))
    assert "\nfrom scipy.special import erf\n" in f.source
    assert "scipy" in f.source.split('"""')[1]
