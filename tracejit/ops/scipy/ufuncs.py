"""`special`: the factory of records for the ufuncs of scipy.special."""

from __future__ import annotations

from functools import partial

from tracejit.ops.ufuncs import elementwise

special = partial(elementwise, module="scipy.special")
