"""ArrayBox: autograd's name for the values that it follows. `isinstance(x, ArrayBox)` is true of a
Tensor."""

from tracejit.autograd.boxes import Box as ArrayBox

__all__ = ["ArrayBox"]
