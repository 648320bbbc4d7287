"""scipy.stats, recordable: distributions, frozen ones too, and a few statistics.

Recorded values come from formulas, and agree with SciPy's to 1e-12 of their size.

>>> import tracejit as tj
>>> from tracejit.scipy import stats
>>> float(tj.grad(lambda mean: stats.norm(mean, 2.0).logpdf(3.0))(1.0))
0.5
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import scipy.stats

from tracejit.ops.scipy import stats as stats  # the records
from tracejit.trace.tensor.namespaces import namespace, recordable, recorded_argument

KINDS = tuple(
    type(family).__mro__[-2]
    for family in (scipy.stats.norm, scipy.stats.poisson, scipy.stats.multivariate_normal)
)


class Distribution:
    """A distribution of SciPy's, whose methods are recordable."""

    def __init__(self, distribution: Any) -> None:
        """Stand for one distribution."""
        self.distribution = distribution
        self.__doc__ = distribution.__doc__

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """The distribution with its parameters given."""
        return FrozenDistribution(self, args, keywords)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.distribution, name)
        if name.startswith("_") or not callable(value):
            return value
        method = recordable(value)
        del method.__wrapped__  # type: ignore[attr-defined]  # SciPy's code is nothing to read
        self.__dict__[name] = method
        return method

    def __dir__(self) -> list[str]:
        return dir(self.distribution)

    def __repr__(self) -> str:
        return f"<recordable {self.distribution!r}>"


POINTWISE = frozenset(
    ("pdf", "logpdf", "pmf", "logpmf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
)


class FrozenDistribution:
    """A distribution with its parameters, recorded or not."""

    def __init__(self, family: Distribution, args: Any, keywords: Any) -> None:
        """`args` and `keywords` are the parameters."""
        self.family, self.args, self.kwds = family, args, keywords

    def __getattr__(self, name: str) -> Any:
        if name in POINTWISE:
            return self._bound(getattr(self.family, name))
        if recorded_argument(*self.args, *self.kwds.values()) is None:
            return getattr(self.family.distribution(*self.args, **self.kwds), name)
        return self._bound(getattr(self.family, name))

    def _bound(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """A method of the family with the parameters after its own arguments."""

        def call(*args: Any, **keywords: Any) -> Any:
            return method(*args, *self.args, **keywords, **self.kwds)

        return call

    def __repr__(self) -> str:
        return f"<frozen {self.family!r}>"


def _wrapped(value: Any) -> Any:
    return Distribution(value) if isinstance(value, KINDS) else None


__getattr__, __dir__ = namespace(scipy.stats, _wrapped)
