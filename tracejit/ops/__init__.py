"""Every operation, declared once: what it answers for, infer, vjp, jvp, batch, source.

Importing this package fills the tables of `tracejit.ops.op`.
"""

from tracejit.ops import arithmetic, markers, reductions, shapes, weak

__all__ = ["arithmetic", "markers", "reductions", "shapes", "weak"]
