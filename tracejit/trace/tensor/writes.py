"""Code that writes in place: `a[i] = v`, `a += v`, `out=`, `np.add.at`, `np.copyto` and their kin.

Each computes the array as it is afterwards, as a new value, and hands it to the Tensor that was
written to (`Tensor._write`), whose memory knows who else sees it. The target is always a Tensor: a
plain array cannot hold what is being recorded.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from tracejit.ops.base.creation import as_array, cast, followed, is_recorded, settled, type_in_call
from tracejit.ops.base.loops import masked_call
from tracejit.ops.base.op import answer
from tracejit.ops.indexing.indexing import parsed_index
from tracejit.ops.indexing.updates import replaced, with_at, with_item
from tracejit.support.errors import TracejitError, ValueNeededError, fail
from tracejit.trace.source import places
from tracejit.trace.structure.trees import flatten, map_tree
from tracejit.trace.tensor.memory import View
from tracejit.trace.tensor.selected import Selected

PLAIN = "a plain array, which cannot hold recorded values"
USE_NAMESPACE = (
    "write into a copy, y = np.array(y), or use the returned value. In code that is not converted, "
    "make the array with `import tracejit.numpy as np`."
)


def is_tensor(target: Any) -> bool:
    """Return whether `target` is a Tensor, which can be written to."""
    return hasattr(type(target), "_write")


def target_of(target: Any, call: str) -> Any:
    """`target`, if it is a Tensor."""
    if is_tensor(target):
        return target
    if is_recorded(target):
        target._refuse_write(call, target)
    _refuse(call)


def _refuse(call: str, target: Any = None, result: Any = None) -> NoReturn:
    """InPlaceError for a write into a plain array; for one that NumPy refuses too, its reason."""
    written, instead = places.updated()
    call = written or call
    if result is not None:
        _check_fits(result, target, call, places.here())
    fix = f"write {instead}. Or {USE_NAMESPACE}" if instead else USE_NAMESPACE
    raise fail("write", places.here(), call=call, target=PLAIN, fix=fix)


def _check_fits(result: Any, x: Any, call: str, where: Any, casting: str = "same_kind") -> None:
    """InPlaceError where `x` cannot hold a result of this dtype."""
    try:
        castable(result, x, casting)
    except TypeError as error:
        written, instead = places.updated()
        words = f"write {instead}" if instead else "convert the result with .astype(...)"
        fix = f"{words}, or make the array with dtype={type_in_call(result).dtype}."
        raise fail("update", where, call=written or call, problem=error, fix=fix) from None


def refusal_behind(error: BaseException | None) -> TracejitError | None:
    """The error of tracejit's for which NumPy has raised `error`: it assigns a Tensor to elements
    of a plain array, or went on after a refusal, or asks for the array itself."""
    if type(error) is TypeError and str(error).startswith("Iterator operand is"):
        words = {"function": "np.nditer", "problem": "NumPy asks for the array itself"}
        frame = places.frame_that_raised(error)
        where = None if frame is None else places.where(frame)
        fix = "loop over np.ndindex(x.shape), and read x[index]."
        return fail("unsupported-call", where, **words, fix=fix)
    cause = None if error is None else error.__cause__
    if not isinstance(cause, TracejitError):
        return None
    is_write = type(error) is ValueError and str(error).startswith("setting an array element")
    if is_write and isinstance(cause, ValueNeededError):
        return fail("write", cause.where, call="a[...] = ...", target=PLAIN, fix=USE_NAMESPACE)
    return cause if is_write or isinstance(error, SystemError) else None


def castable(v: Any, x: Any, casting: str = "same_kind") -> Any:
    """v in the dtype of x, where NumPy's rule `casting` allows it."""
    kind = type_in_call(v)
    weak = kind.form == "weak" and kind.dtype.kind != "b"
    dtype = kind.dtype if not weak else np.result_type(_python_number(kind), x.dtype)
    if not np.can_cast(dtype, x.dtype, casting):  # type: ignore[arg-type]
        text = f"cannot cast from {kind.dtype} to {x.dtype} with casting rule '{casting}'"
        raise TypeError(text)
    return v if kind.dtype == x.dtype and kind.form != "weak" else cast(v, x.dtype)


def _python_number(kind: Any) -> Any:
    return {"i": 0, "f": 0.0, "c": 0j}[kind.dtype.kind]


def _called(function: Any) -> str:
    name, method = function if isinstance(function, tuple) else (function, "")
    return f"np.{name.__name__}{'.' * bool(method)}{method}"


# Statements


def write_item(x: Any, index: Any, value: Any) -> None:
    """x[index] = value."""
    name = x._called()
    if type(value) is Selected and not value.is_of(index):
        value = value.known(f"{name}[...] = ...")
    if type(value) is Selected:
        _write_selected(x, index, value, f"{name}[...] = ...")
        return
    value = as_array(value)
    if is_tensor(value) and type(value._owner) is View and not is_recorded(index):
        if value._owner.base is x and value._owner.shows(x, *parsed_index(x, index, masks=True)):
            return  # the end of x[index] += v, which has written already
    x._write(with_item(x, index, value), f"{name}[...] = ...")


def _write_selected(x: Any, mask: Any, value: Selected, call: str) -> None:
    """x[mask] = value, which the same mask has selected."""
    if not value.is_of(mask) or value.whole.shape != x.shape:
        problem = "the value is not selected by the mask that it is written under"
        words = {"function": call, "problem": problem, "fix": "use one mask, of one shape."}
        raise fail("unsupported-call", x._recording.here(), **words)
    x._write(np.where(value.condition(), castable(value.whole, x, "unsafe"), x), call)


def write_update(x: Any, symbol: str, compute: Callable[[Any, Any], Any], other: Any) -> Any:
    """x += other; `compute` is the operator."""
    call = f"{x._called()} {symbol}= ..."
    result = compute(x, other)
    if result is NotImplemented:
        return result
    x._write(_fitting(result, x, call), call)
    return x


def _fitting(
    result: Any, x: Any, call: str, casting: str = "same_kind", broadcast: bool = True
) -> Any:
    """The result of `call` as x takes it in."""
    shape = np.shape(result)
    if shape != x.shape and not (broadcast and _spreads(shape, x.shape)):
        problem = f"a result of shape {shape} does not fit into an array of shape {x.shape}"
        fix = "write it into an array of its shape."
        raise fail("shapes", x._recording.here(), call=call, problem=problem, fix=fix)
    _check_fits(result, x, call, x._recording.here(), casting)
    return replaced(x, castable(result, x, casting))


def _spreads(given: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(given, shape) == shape
    except ValueError:
        return False


# Calls


def write_result(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """function(*args, out=...)."""
    kwargs = dict(kwargs)
    out = kwargs.pop("out")
    is_ufunc = isinstance(function, np.ufunc)
    mask = kwargs.pop("where", True) if is_ufunc else True
    casting = kwargs.pop("casting", "same_kind") if is_ufunc else "same_kind"
    call = f"{_called(function)}(..., out=...)"
    outs = out if isinstance(out, tuple) else (out,)
    args = [
        one.__tracejit_read__() if hasattr(type(one), "__tracejit_read__") else one for one in args
    ]
    carrier = next(one for one in flatten((outs, args, kwargs))[0] if is_recorded(one))
    if all(type(one) is np.ndarray for one in outs) and carrier._recording.gives_numbers():
        given = {} if mask is True else {"where": mask}
        return _computed(function, args, kwargs | given | {"out": out, "casting": casting})
    plain = next((one for one in outs if type(one) is np.ndarray), None)
    if plain is not None:
        carrier._recording.made_arrays.write(plain)
    if plain is not None and is_ufunc and mask is True and len(outs) == 1:
        _refuse(call, plain, carrier._handle(function, tuple(args), kwargs))
    targets = [None if one is None else target_of(one, call) for one in outs]
    if mask is True:
        found = carrier._handle(function, tuple(args), kwargs)
    else:
        found = masked_call(function, args, mask, **kwargs)
    results = found if isinstance(found, tuple) else (found,)
    written = []
    for target, result in zip(targets, results, strict=True):
        if target is not None:
            new = _fitting(result, target, call, casting, is_ufunc)
            target._write(new if mask is True else np.where(mask, new, target), call)
        written.append(result if target is None else target)
    return tuple(written) if isinstance(found, tuple) else written[0]


def _computed(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The call on the numbers of eager Tensors."""
    if not isinstance(function, np.ufunc):
        kwargs.pop("casting")
    call = getattr(*function) if isinstance(function, tuple) else function
    return call(*map_tree(_numbers, tuple(args)), **map_tree(_numbers, kwargs))


def _numbers(value: Any) -> Any:
    return np.asarray(value) if is_recorded(value) else value


def out_by_name(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The arguments of a call, with `out`, where it is given by position, and what follows it given
    by name."""
    names = _names_to_out(function)
    if names and len(args) > names.index("out"):
        place = names.index("out")
        kwargs = kwargs | dict(zip(names[place:], args[place:], strict=False))
        args = args[:place]
    return args, kwargs


@functools.cache
def _names_to_out(function: Any) -> tuple[str, ...]:
    """The names of the parameters that may be given by position, if `out` is one of them."""
    if function in (np.dot, np.concatenate):  # have no signature before NumPy 2.4
        return ("a", "b", "out") if function is np.dot else ("arrays", "axis", "out")
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    names = tuple([one.name for one in parameters if one.kind is not one.KEYWORD_ONLY])
    return names if "out" in names else ()


def write_at(ufunc: np.ufunc, x: Any, index: Any, *operand: Any) -> None:
    """ufunc.at(x, index, operand)."""
    call = f"np.{ufunc.__name__}.at"
    recorded = next(one for one in (x, index, *operand) if is_recorded(one))
    if type(x) is np.ndarray:
        if recorded._recording.gives_numbers():
            ufunc.at(x, *map(_numbers, (index, *operand)))
            return
        recorded._recording.made_arrays.write(x)
    x = target_of(x, call)
    x._write(with_at(ufunc, x, index, *operand), call)


def _into(function: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Answers calls of `function`, whose first argument is written to."""

    def register(write: Callable[..., None]) -> Callable[..., None]:
        first = next(iter(inspect.signature(write).parameters))

        @functools.wraps(write)
        def call(*args: Any, **kwargs: Any) -> None:
            x, *args = args or (kwargs.pop(first),)  # type: ignore[assignment]
            if type(x) is np.ndarray:
                recorded = next(one for one in flatten((args, kwargs))[0] if is_recorded(one))
                if recorded._recording.gives_numbers():
                    function(x, *map_tree(_numbers, args), **map_tree(_numbers, kwargs))
                    return
                recorded._recording.made_arrays.write(x)
            write(x, *args, **kwargs)

        answer(function, call)
        return write

    return register


@_into(np.copyto)
def _copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    x = target_of(dst, "np.copyto")
    src = castable(as_array(src), x, casting)
    new = replaced(x, src)
    x._write(new if where is True else np.where(where, new, x), "np.copyto")


def _fill(x: Any, value: Any) -> None:
    x._write(with_item(x, ..., value), f"{x._called()}.fill")


def repeated(v: Any, count: int) -> Any:
    """`count` elements of v, from the start again where there are fewer."""
    v = np.reshape(as_array(v), -1)
    if not v.size and count:
        raise ValueError("cannot insert from an empty array")
    return v if v.size == count else np.take(v, np.arange(count) % max(v.size, 1))


@_into(np.put)
def _put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    x = target_of(a, "np.put")
    places = np.reshape(as_array(ind), -1)
    if mode == "wrap":
        places = np.remainder(places, x.size)
    elif mode == "clip":
        places = np.clip(places, 0, x.size - 1)
    flat = with_item(np.reshape(x, -1), places, repeated(v, places.size))
    x._write(np.reshape(flat, x.shape), "np.put")


@_into(np.putmask)
def _putmask(a: Any, mask: Any, values: Any) -> None:
    x = target_of(a, "np.putmask")
    values = castable(np.reshape(repeated(values, x.size), x.shape), x, "unsafe")
    x._write(np.where(np.asarray(mask) if type(mask) is list else mask, values, x), "np.putmask")


@_into(np.place)
def _place(arr: Any, mask: Any, vals: Any) -> None:
    x = target_of(arr, "np.place")
    mask, vals = settled(mask), as_array(vals)
    if is_recorded(mask) and mask.dtype.kind != "b":
        mask = mask != 0
    if np.size(vals) != 1 and is_recorded(mask):
        mask = followed(mask)
    if mask is None:
        raise TypeError("which element goes where depends on the mask, which is being recorded")
    if np.size(vals) == 1:
        vals = np.reshape(vals, ())
    else:
        mask = np.asarray(mask).astype(bool)
        vals = repeated(vals, int(np.count_nonzero(mask)))
    x._write(with_item(x, np.reshape(mask, x.shape), vals), "np.place")


@_into(np.fill_diagonal)
def _fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    x = target_of(a, "np.fill_diagonal")
    if x.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if x.ndim > 2 and len(set(x.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    tall = wrap and x.ndim == 2 and x.shape[0] > x.shape[1] + 1
    step = x.shape[1] + 1 if x.ndim == 2 else sum(x.shape[0] ** k for k in range(x.ndim))
    end = x.size if x.ndim > 2 or tall else x.shape[1] * x.shape[1]
    places = np.arange(0, min(end, x.size), step)
    index = np.unravel_index(places, x.shape)
    x._write(with_item(x, index, repeated(val, places.size)), "np.fill_diagonal")


@_into(np.put_along_axis)
def _put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None = -1) -> None:
    x = target_of(arr, "np.put_along_axis")
    flat = np.reshape(x, -1) if axis is None else x
    along = 0 if axis is None else range(x.ndim)[axis]
    indices = as_array(indices)
    places = [
        np.reshape(np.arange(size), [size if k == number else 1 for k in range(flat.ndim)])
        for number, size in enumerate(flat.shape)
    ]
    index = (*places[:along], indices, *places[along + 1 :])
    x._write(np.reshape(with_item(flat, index, values), x.shape), "np.put_along_axis")


def _sort(x: Any, axis: int = -1, kind: Any = None, order: Any = None, **options: Any) -> None:
    if order is not None:
        raise TypeError("order= is for structured arrays")
    x._write(np.sort(x, axis, kind=kind, **options), f"{x._called()}.sort")


def _partition(x: Any, kth: Any, axis: int = -1, **options: Any) -> None:
    x._write(np.partition(x, kth, axis, **options), f"{x._called()}.partition")


def targets_of(function: Any, method: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The target that a call would write into."""
    out = kwargs.get("out")
    if function in WRITERS or method == "at":
        return args[:1]
    return out if isinstance(out, tuple) else (out,)


WRITERS = frozenset((np.copyto, np.put, np.putmask, np.place, np.fill_diagonal, np.put_along_axis))
answer(operator.setitem, write_item)
answer(np.ndarray.fill, _fill)
answer(np.ndarray.sort, _sort)
answer(np.ndarray.partition, _partition)
answer(np.ndarray.put, _put)
