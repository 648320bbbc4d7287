"""Variable: an array with a name of its own, which keeps its shape and dtype while its value
changes."""

from __future__ import annotations

import operator
import sys
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

from tracejit.ir.dims import Dim
from tracejit.ir.graph import Held, Value
from tracejit.ir.types import ArrayType, canonical, type_of
from tracejit.ops.base.creation import cast
from tracejit.ops.base.forms import as_array, as_element, as_scalar
from tracejit.support.errors import fail, placed
from tracejit.support.words import a
from tracejit.trace.recording.eager import EAGER
from tracejit.trace.recording.record import current_recording
from tracejit.trace.recording.recorder import Recorder
from tracejit.trace.source import places
from tracejit.trace.structure.sparse_products import hands_over, no_array
from tracejit.trace.structure.trees import map_tree
from tracejit.trace.structure.wrapped import not_an_array
from tracejit.trace.tensor.arraylike import ArrayContainer
from tracejit.trace.tensor.operators import refused, refused_update
from tracejit.trace.tensor.tensor import TENSORS, Tensor
from tracejit.trace.tensor.writes import targets_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike, NDArray

_serials = count()


def current_recorder() -> Recorder:
    """The recorder of this thread: the function being recorded, or the eager one."""
    return current_recording() or EAGER


def strong_array(value: Any, dtype: Any = None) -> Any:
    """A copy of an array or number, in form and dtype as NumPy keeps it; a Python number as a NumPy
    scalar, for it never changes. Raises ArgumentError for a masked array."""
    if isinstance(value, np.ma.MaskedArray):
        raise placed(not_an_array(value, "the value", "x"), places.here())
    array = np.array(value)
    if dtype is not None and array.dtype != object:
        array = np.array(value, dtype)
    array = canonical(array)
    given = type_of(value)
    if given is not None and given.form != "array":
        return array[()]
    return array


class Ref:
    """A Variable as a key of dicts and sets, where the Variable itself has no hash."""

    __slots__ = ("_variable",)

    def __init__(self, variable: Variable) -> None:
        """Refer to `variable`."""
        self._variable = variable

    def deref(self) -> Variable:
        """The Variable."""
        return self._variable

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ref) and self._variable is other._variable

    def __hash__(self) -> int:
        return id(self._variable)

    def __repr__(self) -> str:
        return f"<Ref {self._variable!r}>"


class Variable(ArrayContainer):
    """An array whose value can be replaced, such as a parameter of a model.

    A NumPy expression uses its value at that moment, and the result is a Tensor.

    Parameters
    ----------
    value : array, number, or nested lists of numbers
        The first value, which is copied. It sets the shape and the dtype for good.
    trainable : bool, default True
        If True, tapes watch the Variable when it is read. If False, it is a constant unless
        watched.
    name : str, default None
        A name.
    dtype : dtype, default None
        The dtype. None is the dtype that NumPy gives: float64 for Python floats.

    Raises
    ------
    ArgumentError
        If `value` is not an array of numbers. A TypeError.

    Notes
    -----
    A `tj.function` reads a Variable at every call, and makes assignments in order.

    Unlike in TensorFlow, dtypes follow NumPy, a name is optional, and `assign` returns the value of
    that assignment.

    Examples
    --------
    >>> import tracejit as tj
    >>> v = tj.Variable([1.0, 2.0], name="v")
    >>> v.assign_add([1.0, 1.0]).numpy()
    array([2., 3.])
    >>> with tj.GradientTape() as tape:
    ...     y = v * v
    >>> tape.gradient(y, v).numpy()
    array([4., 6.])
    """

    __slots__ = ("__weakref__", "_name", "_serial", "_trainable", "_type", "_value")
    __array_priority__ = 1000

    @places.at_the_users_line
    def __init__(
        self,
        value: ArrayLike,
        trainable: bool = True,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        """Copy `value`: an array, a number, nested lists, a Tensor or another Variable."""
        if hasattr(type(value), "__tracejit_record__"):
            given: Any = value
            value = given.numpy() if given.shape or given.type.form == "array" else given.item()
        data = strong_array(value, dtype)
        known = type_of(data)
        if known is None or known.dtype.kind not in "biufc":
            raise fail(
                "not-an-array",
                places.here(),
                what="the value of a Variable",
                kind=a(type(value).__name__),
                fix="give it an array or a number.",
            )
        self._type = known
        self._trainable = bool(trainable)
        self._name = name
        self._serial = next(_serials)
        self.commit(data)
        EAGER.created(self)

    @property
    def type(self) -> ArrayType:
        """Shape, dtype and form: the same for ever."""
        return self._type

    @property
    def trainable(self) -> bool:
        """True if tapes watch it when it is read."""
        return self._trainable

    @property
    def name(self) -> str:
        """The name it was given, or ""."""
        return self._name or ""

    @property
    def serial(self) -> int:
        """Its number in the order in which Variables were made."""
        return self._serial

    @property
    def held(self) -> Value:
        """The value that it holds outside any recording; another one after each assignment."""
        return self._value

    @property
    def data(self) -> NDArray[Any]:
        """The array that it holds outside any recording, read-only."""
        return self._value.data  # type: ignore[no-any-return]

    def commit(self, data: Any) -> None:
        """Hold `data`, which has its type and which nobody else writes to."""
        if self._type.form == "array":
            data.flags.writeable = False
        self._value: Value = Held(self._type, data)

    def read_value(self) -> Tensor:
        """Return the value now, as a Tensor that later assignments do not change.

        Tapes that watch the Variable record the read.

        Returns
        -------
        Tensor
            The value.

        Examples
        --------
        >>> import tracejit as tj
        >>> v = tj.Variable([1.0, 2.0])
        >>> before = v.read_value()
        >>> after = v.assign([5.0, 6.0])
        >>> before, after
        (<Tensor f8[2] [1. 2.]>, <Tensor f8[2] [5. 6.]>)
        """
        return current_recorder().read_variable(self)

    value = read_value

    def numpy(self) -> NDArray[Any]:
        """Return a copy of the value as a plain array.

        Returns
        -------
        ndarray or NumPy scalar
            The numbers. A Variable made from a number returns a scalar.

        Raises
        ------
        ValueNeededError
            If a function is being recorded. A TypeError.

        Examples
        --------
        >>> import tracejit as tj
        >>> tj.Variable([1.0, 2.0]).numpy(), tj.Variable(3.0).numpy()
        (array([1., 2.]), np.float64(3.0))
        """
        return self.read_value().numpy()

    def ref(self) -> Ref:
        """Return a hashable reference, for a dict or a set.

        Returns
        -------
        Ref
            A reference. It equals every other reference of this Variable, and `deref()` returns the
            Variable.

        Examples
        --------
        >>> import tracejit as tj
        >>> v = tj.Variable(3.0, name="v")
        >>> moments = {v.ref(): 0.0}
        >>> v.ref() in moments, v.ref().deref()
        (True, <Variable v f8 3.0>)
        """
        return Ref(self)

    # Assignment

    @places.at_the_users_line
    def assign(self, value: ArrayLike) -> Tensor:
        """Replace the value.

        Parameters
        ----------
        value : array, number, or nested lists of numbers
            The next value, of the same shape and dtype. An integer becomes a float where needed.

        Returns
        -------
        Tensor
            The value that was assigned.

        Raises
        ------
        AssignError
            If the shape or the dtype does not fit. A ValueError.

        Notes
        -----
        No gradient flows from `value`. In a recorded function assignments take place in order. If
        the function raises, the assignments before the error remain.

        Examples
        --------
        >>> import tracejit as tj
        >>> v = tj.Variable([1.0, 2.0])
        >>> v.assign([3, 4])
        <Tensor f8[2] [3. 4.]>
        """
        recorder = current_recorder()
        recorder.assign(self, self._fitting(value))
        return recorder.value_assigned(self)

    @places.at_the_users_line
    def assign_add(self, delta: ArrayLike) -> Tensor:
        """Add `delta` to the value, as assign(value + delta) does.

        Parameters
        ----------
        delta : array, number, or nested lists of numbers
            The change, of the shape of the Variable.

        Returns
        -------
        Tensor
            The value that was assigned.

        Raises
        ------
        AssignError
            If the shape or the dtype does not fit. A ValueError.

        Examples
        --------
        >>> import tracejit as tj
        >>> tj.Variable([1.0, 2.0]).assign_add([0.5, 0.5])
        <Tensor f8[2] [1.5 2.5]>
        """
        return self.assign(self._now() + self._fitting(delta))

    @places.at_the_users_line
    def assign_sub(self, delta: ArrayLike) -> Tensor:
        """Subtract `delta` from the value, as assign(value - delta) does.

        Parameters
        ----------
        delta : array, number, or nested lists of numbers
            The change, of the shape of the Variable.

        Returns
        -------
        Tensor
            The value that was assigned.

        Raises
        ------
        AssignError
            If the shape or the dtype does not fit. A ValueError.

        Examples
        --------
        >>> import tracejit as tj
        >>> tj.Variable([1.0, 2.0]).assign_sub([0.5, 0.5])
        <Tensor f8[2] [0.5 1.5]>
        """
        return self.assign(self._now() - self._fitting(delta))

    def _now(self) -> Tensor:
        """The value, without its being read in the sense of tapes."""
        recorder = current_recorder()
        return Tensor(recorder.version(self), recorder)

    def _fitting(self, value: Any) -> Any:
        """`value` with this Variable's shape, dtype and form."""
        if type(value) is Variable:
            value = value._now()
        given = value.type if type(value) in TENSORS else type_of(value)
        casting: Literal["same_kind", "safe"] = (
            "same_kind" if given is None or given.form == "weak" else "safe"
        )
        if type(value) not in TENSORS:
            value = self._as_data(value)
            given = type_of(value)
        if given is None or given.shape != self.shape:
            self._refuse_value(type(value).__name__ if given is None else f"shape {given.shape}")
        if given.dtype != self.dtype:
            if not np.can_cast(given.dtype, self.dtype, casting) or (
                casting == "safe" and given.is_inexact
            ):
                self._refuse_value(f"dtype {given.dtype}")
            value = cast(value, self.dtype)
        return self._formed(value)

    def _as_data(self, value: Any) -> Any:
        """Numbers, arrays and lists of them as an array or NumPy scalar."""
        try:
            data = strong_array(value)
        except ValueError:  # lists of different lengths
            self._refuse_value("lists of different lengths")
        known = type_of(data)
        if known is None or known.dtype.kind not in "biufc":
            self._refuse_value(a(type(value).__name__))
        return data

    def _refuse_value(self, got: str) -> NoReturn:
        raise fail("assign", places.here(), name=self.name or "a Variable", type=self.type, got=got)

    def _formed(self, value: Any) -> Any:
        """`value` as an array or a NumPy scalar, whichever this Variable holds."""
        known = value.type if type(value) in TENSORS else type_of(value)
        if known is self.type or known is None:
            return value
        if self.type.form == "array":
            return as_array(value)
        return as_scalar(value, dtype=self.dtype) if known.form == "weak" else as_element(value)

    # As an array

    def __tracejit_read__(self) -> Any:
        """The value now; called where an operation meets a Variable."""
        return self.read_value()

    def __tracejit_record__(self, op: Any, operands: Any, params: Any) -> Any:
        """Record `op`; called by the op when it meets a Variable."""
        return current_recorder().record(op, operands, params)

    def __tracejit_data__(self) -> Any:
        """The numbers, where nothing is recorded and nothing differentiable; else a Tensor."""
        return self.read_value().__tracejit_data__()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        _check_targets(ufunc, method, inputs, kwargs)
        return self._now().__array_ufunc__(ufunc, method, *_read(inputs), **_read(kwargs))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        _check_targets(function, "", args, kwargs)
        return self._now().__array_function__(function, types, _read(args), _read(kwargs))

    def _handle(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self._now()._handle(function, _read(args), _read(kwargs))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if hands_over(sys._getframe(1)):
            return no_array()
        return self.read_value().__array__(dtype, copy)

    def __bool__(self) -> bool:
        return bool(self.read_value())

    def __float__(self) -> float:
        return float(self.read_value())

    def __int__(self) -> int:
        return int(self.read_value())

    def __complex__(self) -> complex:
        return complex(self.read_value())

    def __index__(self) -> int:
        return operator.index(self.read_value())

    def __round__(self, ndigits: int | None = None) -> Any:
        return round(self.read_value(), ndigits)

    def __format__(self, spec: str) -> str:
        return format(self.read_value(), spec) if spec else repr(self)

    def item(self, *args: Any) -> Any:
        """One element as a Python number."""
        return self.read_value().item(*args)

    def tolist(self) -> Any:
        """All elements as nested lists of Python numbers."""
        return self.read_value().tolist()

    __hash__ = None  # type: ignore[assignment]

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        self._refuse_write(f"{self._called()}[...] = ...", self)

    def __copy__(self) -> Variable:
        return Variable(self.data, self.trainable, self._name)

    def __deepcopy__(self, memo: Any) -> Variable:
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        return Variable, (self.data, self.trainable, self._name)

    fill = refused("fill")
    sort = refused("sort")
    partition = refused("partition")
    put = refused("put")
    __iadd__ = refused_update("+")
    __isub__ = refused_update("-")
    __imul__ = refused_update("*")
    __itruediv__ = refused_update("/")
    __ifloordiv__ = refused_update("//")
    __imod__ = refused_update("%")
    __ipow__ = refused_update("**")
    __imatmul__ = refused_update("@")
    __iand__ = refused_update("&")
    __ior__ = refused_update("|")
    __ixor__ = refused_update("^")
    __ilshift__ = refused_update("<<")
    __irshift__ = refused_update(">>")

    def _called(self) -> str:
        return self.name or "v"

    def _refuse_write(self, call: str, target: Any, fix: str = "") -> NoReturn:
        fix = "use v.assign(value), v.assign_add(delta) or v.assign_sub(delta)."
        raise fail("write", places.here(), call=call, target="a Variable", fix=fix)

    def __repr__(self) -> str:
        if current_recording() is not None:
            return repr(self.read_value())
        shown = " ".join(str(self.data).split("\n"))
        return f"<Variable {self._called()} {self.type!r} {shown}>"


def _check_targets(function: Any, method: str, args: Any, kwargs: dict[str, Any]) -> None:
    """Refuse a call that would write into a Variable."""
    for target in targets_of(function, method, args, kwargs):
        if type(target) is Variable:
            target._refuse_write(f"np.{function.__name__}{'.' * bool(method)}{method}", target)


def read_leaf(leaf: Any) -> Any:
    """A Variable's value, a free dimension as a number; anything else as it is."""
    if type(leaf) is Dim:
        return leaf.__tracejit_read__()
    return leaf.read_value() if type(leaf) is Variable else leaf


def read_argument(leaf: Any) -> Any:
    """The same of an argument of a transform, and what a mask selects as an array."""
    return leaf.__tracejit_read__() if hasattr(type(leaf), "__tracejit_read__") else leaf


def _read(values: Any) -> Any:
    """`values` with every Variable in it read."""
    return map_tree(read_leaf, values)
