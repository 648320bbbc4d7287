"""tj.random: NumPy's random generators, recordable when a function captures them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tracejit.ir.types import HANDLE
from tracejit.ops.base.creation import as_array, is_recorded
from tracejit.ops.control.effects import DEFAULT_RNG
from tracejit.trace.recording.eager import handle_tensor
from tracejit.trace.recording.generators import RecordedGenerator
from tracejit.trace.recording.record import current_recording
from tracejit.trace.structure.trees import flatten
from tracejit.trace.tensor.tensor import Tensor

if TYPE_CHECKING:
    Methods = np.random.Generator
else:
    Methods = object


class Generator(Methods):
    """NumPy's Generator, with the same methods and the same numbers.

    A function that is recorded may capture it: every draw takes place at each call, in order, as if
    the function were plain Python. (A captured NumPy generator cannot be recorded, and is refused;
    as an argument it can.)

    >>> import numpy as np
    >>> import tracejit as tj
    >>> rng = tj.random.default_rng(0)
    >>> noisy = tj.function(lambda x: x + rng.normal(size=3))
    >>> again = np.random.default_rng(0)
    >>> x = np.zeros(3)
    >>> [bool(np.all(noisy(x) == again.normal(size=3))) for _ in range(2)]
    [True, True]
    """

    __slots__ = ("_generator",)

    def __init__(self, generator: np.random.Generator) -> None:
        """Draw from `generator`."""
        self._generator = generator

    @property
    def numpy_generator(self) -> np.random.Generator:
        """The generator it draws from."""
        return self._generator

    @property
    def bit_generator(self) -> np.random.BitGenerator:
        """NumPy's bit generator, whose `state` is that of this generator."""
        return self._generator.bit_generator

    def _method(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"'Generator' object has no attribute {name!r}")
        recording = current_recording()
        if recording is not None:
            handle = recording.hide(self._generator, "rng", HANDLE)
            return getattr(RecordedGenerator(Tensor(handle, recording)), name)
        method = getattr(self._generator, name)

        def draw(*args: Any, **kwargs: Any) -> Any:
            if any(map(is_recorded, flatten((args, kwargs))[0])):
                recorded = RecordedGenerator(handle_tensor(self._generator))
                return getattr(recorded, name)(*args, **kwargs)
            return method(*args, **kwargs)

        return draw

    if not TYPE_CHECKING:  # to which it would say that a generator has any method
        __getattr__ = _method

    def __repr__(self) -> str:
        return f"tj.random.Generator({self._generator.bit_generator!r})"


def default_rng(seed: Any = None) -> Generator:
    """Return a generator like `np.random.default_rng(seed)` that recorded functions may capture.

    Parameters
    ----------
    seed : int, sequence of int, BitGenerator, or None, default None
        The seed. Inside a recorded function it may be recorded, and is None or integers.

    Returns
    -------
    Generator
        NumPy's generator, with the same methods and the same numbers. Inside a recorded function it
        is made again at each call. A generator from a BitGenerator continues.

    Raises
    ------
    TypeError
        If `seed` is not one of these, as NumPy does.

    Examples
    --------
    >>> import tracejit as tj
    >>> rng = tj.random.default_rng(0)
    >>> rng.normal(size=2)
    array([ 0.12573022, -0.13210486])
    """
    recording = current_recording()
    if recording is None or isinstance(seed, (np.random.BitGenerator, np.random.Generator)):
        return Generator(np.random.default_rng(seed))
    seeds = () if seed is None else (as_array(seed),)
    made = RecordedGenerator(recording.record(DEFAULT_RNG, seeds, {}))
    return cast(Generator, made)
