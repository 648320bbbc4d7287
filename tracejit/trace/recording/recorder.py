"""Recorder: the base of everything that takes operations on Tensors.

There are two: a Recording writes a graph and computes nothing, the eager one computes at once and
keeps what an open tape sees. What they share is here: the windows that are open, where the user's
program is, and the errors that say so.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

import numpy as np

from tracejit.ir.dims import Dim
from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.ir.location import NOWHERE, Location
from tracejit.ir.printer import constant_text
from tracejit.ir.sizes import Sizes
from tracejit.ir.types import dtype_letters, is_number, type_of
from tracejit.ops.base.forms import as_scalar
from tracejit.ops.base.op import Op
from tracejit.ops.control.marker_ops import IDENTITY
from tracejit.ops.elementwise.python_numbers import CONVERSIONS
from tracejit.ops.elementwise.weak import SIZE
from tracejit.support.errors import TracejitError, Where, fail, shape_row
from tracejit.trace.recording.made_arrays import MadeArrays
from tracejit.trace.recording.probes import Probe
from tracejit.trace.recording.reruns import MustKeepApart
from tracejit.trace.recording.tape_window import Window
from tracejit.trace.source import places
from tracejit.trace.source.printing import destination_of_text
from tracejit.trace.structure.wrapped import array_of, dtype_refused, is_labelled, noun_of
from tracejit.trace.tensor.call_errors import fix_of_shapes
from tracejit.trace.tensor.memory import lay_like
from tracejit.trace.tensor.tensor import TENSORS, Tensor


class Moment(NamedTuple):
    """A moment of a program: so many writes have taken place. What was made in `scope` and later
    was made since."""

    write: int
    scope: int


class Recorder:
    """The state of a program whose operations are recorded.

    `windows` are the open tapes. `logs` note the Variables that are read. `where` is the line that
    nodes are cited at instead of the running one, `in_rule` says that a rule of the user's runs:
    its own line is meant then. `originals` maps what a recompute region has computed again to what
    it computed first.
    """

    is_routed = False
    """True where the calls of the user's function are routed."""

    def __init__(self, graph: Graph) -> None:
        """Record into `graph`."""
        self.graph = graph
        self.windows: tuple[Window, ...] = ()
        self.logs: tuple[dict[int, tuple[Any, Value]], ...] = ()
        self.assigned_values: dict[Value, Any] = {}
        self.probes: tuple[Probe, ...] = ()
        self.region = 0
        self.regions = 0
        self.identities = 0
        self.where: Location | None = None
        self.in_rule = False
        self.substitutes: Mapping[Value, Value] = {}
        self.originals: dict[Value, Value] = {}
        self.scope = self.barrier = 0
        self.moment: Moment | None = None
        self.out_of_order: set[Value] = set()
        self.known: dict[Value, Any] = {}
        self.made_arrays = MadeArrays()
        self.shared: set[Value] = set()
        self.is_torn = False
        self.exact = False
        self.raises_text = False
        self._scopes = 0
        self._writes = 0

    def settle(self) -> None:
        """Forget what was under way: none of it comes to an end any more."""
        self.windows, self.logs, self.substitutes, self.probes = (), (), {}, ()
        self.where, self.moment = None, None
        self.in_rule, self.region, self.scope, self.barrier = False, 0, 0, 0

    # What a Tensor asks of it

    def record(self, op: Op, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        """`op` applied to Tensors, arrays and numbers: a Tensor, or a tuple of them."""
        raise NotImplementedError

    def copy(
        self, node: Node, operands: tuple[Value, ...], where: Location | None, region: int
    ) -> Node:
        """A node of a recompute region once more, on other operands."""
        raise NotImplementedError

    def lift(self, operand: Any) -> Value:
        """The value of an operand: a Tensor's own, a Variable's now, or a constant."""
        raise NotImplementedError

    def keep(self, tensor: Tensor) -> Value:
        """The value of `tensor`, which is not that of another array of the user's from now on."""
        return self.lift(tensor)

    def as_sources(self, values: Sequence[Value]) -> Sequence[Value]:
        """`values`, to differentiate by. Raises Shared if one cannot be told from something else
        that computes the same."""
        if not self.shared.isdisjoint(values):
            self.is_torn = True
            raise MustKeepApart
        return values

    def shows_text(self, *destinations: str) -> bool:
        """Return whether the text that the program makes of a value without numbers is for a person
        to look at: printed, logged, or the message of an exception; or for one of some
        `destinations`."""
        destination = destination_of_text()
        self.raises_text |= destination == "raise"
        return destination in destinations if destinations else bool(destination)

    # Free dimensions

    def use_sizes(self, sizes: Sizes | None) -> None:
        """Record for these sizes, too, some of which are free."""
        self.graph.sizes = sizes
        if sizes is not None:
            sizes.recording = self

    def tensor_of_size(self, size: Dim) -> Tensor:
        """A size as a Python int that is being recorded."""
        tensor: Tensor = self.record(SIZE, (), {"value": size})
        self.known[tensor._value] = size.number
        return tensor

    def retype(self) -> None:
        """Sizes have become known: put them in."""
        self.graph.retype()

    def check_alive(self) -> None:
        """Raise LeakedTensorError if Tensors of this recorder can be used no more."""

    def value_of(self, value: Value, call: str, fix: str, decides: bool = False) -> Any:
        """The number or array that `value` stands for, which `call` of Python's needs.

        Raises ValueNeededError if it is not known or reading it would lose a dependence; what
        only `decides` loses none.
        """
        raise NotImplementedError

    def decide(self, value: Value, convert: Callable[[Any], Any], call: str, fix: str) -> Any:
        """`convert` of what `value` is, a truth value or an integer, for Python to go by."""
        raise NotImplementedError

    def followed(self, tensor: Tensor) -> np.ndarray | None:
        """The elements of `tensor`, by which Python goes from here; None if it may not."""
        return None

    def differs_in_steps(self, value: Value) -> bool:
        """Return whether a number is another at each step of a loop that is being recorded."""
        return False

    def size_of(self, tensor: Tensor) -> Any:
        """An integer as a size, where it differs in the steps of a loop that is being recorded;
        else the Tensor."""
        return tensor

    def refuse_placeholder(self, value: Value, call: str) -> None:
        """Raise RuleTypeError if `call` of Python's asks for what is computed from the
        cotangents that a rule is probed with."""
        for probe in self.probes:
            if probe.depends(value):
                probe.was_read = True
                name = self.name_of(value)
                problem = f"{call.format(name if name != 'an array' else 't')} asks for its value"
                words = {"function": probe.function, "problem": problem}
                raise fail("rule-not-linear", self.here(), **words)

    def reduced(self, value: Value, data: Any) -> tuple[Any, ...]:
        """The recipe of pickle for what `value` stands for, which is `data`: a number as itself."""
        return type(data), (data,)

    def numpy(self, value: Value) -> np.ndarray:
        """A copy of the array that `value` stands for, a constant from there on."""
        raise NotImplementedError

    # Writes

    def stamp(self) -> int:
        """The number of the write that takes place now."""
        self._writes += 1
        return self._writes

    @property
    def writes(self) -> int:
        """The number of writes that have taken place."""
        return self._writes

    def check_writable(self, tensor: Tensor, call: str) -> None:
        """Refuse to write to a Tensor where that would lose a gradient, or could not be undone."""
        if tensor._scope < self.barrier:
            target = "an array from outside of the body of a loop, or of a transformed function"
            fix = "write into a copy, x = x.copy(), and return it."
            raise fail("write", self.here(), call=call, target=target, fix=fix)
        if any(tensor._held in window.watched for window in self.windows):
            self.as_sources([tensor._held])
            target = "an array that a tape watches"
            fix = "write into a copy: x = x.copy()."
            raise fail("write", self.here(), call=call, target=target, fix=fix)

    def check_kind(self, *operands: Any) -> None:
        """Take note that Python asks if these are its numbers or NumPy's."""

    def note_view(self, tensor: Tensor) -> None:
        """Take note that a view is about to stand for something else."""

    def laid_like(self, value: Value, tensor: Tensor) -> Value:
        """`value` as what `tensor` becomes: in memory it lies as before."""
        lay_like(value, tensor)
        return value

    def starts_in_order(self, value: Value) -> bool:
        """Return whether an argument lies in C order at each call."""
        return False

    def gives_numbers(self) -> bool:
        """Return whether results may be written into plain arrays: nothing is lost with it."""
        return False

    def note_constant(self, tensor: Tensor) -> None:
        """The numbers of `tensor` are treated as constants."""

    @contextmanager
    def inside_scope(self, may_write: bool = False) -> Iterator[None]:
        """Refuse writes meanwhile to what was made before, unless it may be written to."""
        outer = self.scope, self.barrier
        self._scopes += 1
        self.scope = self._scopes
        if not may_write:
            self.barrier = self.scope
        try:
            yield
        finally:
            self.scope, self.barrier = outer

    @contextmanager
    def reading_as_of(self, write: int) -> Iterator[None]:
        """Arrays from outside must be meanwhile what they were after that many writes."""
        outer = self.moment
        with self.inside_scope():
            self.moment = Moment(write, self.scope)
            try:
                yield
            finally:
                self.moment = outer

    # Variables

    def version(self, variable: Any) -> Value:
        """The value that a Variable has now."""
        raise NotImplementedError

    def assign(self, variable: Any, new: Any) -> None:
        """Give a Variable the value of `new`, an array or Tensor of its shape and dtype."""
        raise NotImplementedError

    def read_variable(self, variable: Any) -> Tensor:
        """The value of a Variable now, as a read of it that tapes see."""
        value = self.version(variable)
        for log in self.logs:
            log.setdefault(id(variable), (variable, value))
        for window in self.windows:
            window.note_read(variable, value)
        return Tensor(value, self)

    @contextmanager
    def logging_reads(self) -> Iterator[dict[int, tuple[Any, Value]]]:
        """The Variables that are read meanwhile, with the value first read, in that order."""
        log: dict[int, tuple[Any, Value]] = {}
        outer, self.logs = self.logs, (*self.logs, log)
        try:
            yield log
        finally:
            self.logs = outer
            if not outer:
                self.assigned_values.clear()

    def value_assigned(self, variable: Any) -> Tensor:
        """The value that was assigned just now: a read of the Variable for tapes, and for logs
        where it is used."""
        value = self.version(variable)
        if self.logs:
            self.assigned_values[value] = variable
        for window in self.windows:
            window.note_read(variable, value)
        return Tensor(value, self)

    def note_uses(self, values: Iterable[Value]) -> None:
        """Log the Variables whose newly assigned values are used."""
        for value in values:
            variable = self.assigned_values.get(value)
            if variable is not None:
                for log in self.logs:
                    log.setdefault(id(variable), (variable, value))

    # Differentiation

    def recording_from(self, sources: Sequence[Tensor]) -> AbstractContextManager[list[Node]]:
        """The nodes recorded meanwhile, those at least that depend on `sources`."""
        raise NotImplementedError

    def source(self, argument: Any, name: str) -> Any:
        """Argument `name`, to differentiate by, as a value of its own; a Python float as float64.

        What has no derivative stays as it is, for the caller to refuse.
        """
        if type(argument) not in TENSORS and type_of(argument) is None:
            if not hasattr(type(argument), "__tracejit_read__"):
                return argument
        value = self.lift(argument)
        if not value.type.is_inexact:
            return argument
        tensor: Any = Tensor(self.keep(Tensor(value, self)), self)
        is_number = value.type.form == "weak"
        if is_number:
            tensor = as_scalar(tensor, dtype=value.type.dtype)
        distinct = self.distinct(tensor)
        if distinct._value.node is not None:
            distinct._value.label = name
        return self.as_number(distinct) if is_number else distinct

    def made_of_nothing(self, tensor: Tensor) -> Any:
        """The array that a Tensor stands for where it is made of constants alone, as `np.eye(3)` is
        in converted code; else the Tensor."""
        return tensor

    def as_number(self, scalar: Any) -> Any:
        """A NumPy scalar as the Python number that it stands for."""
        if not self.is_routed:
            return scalar
        with self.at(NOWHERE):
            return CONVERSIONS[complex if scalar.dtype.kind == "c" else float](scalar)

    def strong(self, operand: Any) -> Tensor:
        """An array or number as a Tensor of NumPy's, made at the line of what it was."""
        tensor: Any = Tensor(self.lift(operand), self)
        if tensor.type.form != "weak":
            return tensor  # type: ignore[no-any-return]
        node = tensor._value.node
        with self.at(self.where if node is None else node.where):
            return as_scalar(tensor, dtype=tensor.dtype)  # type: ignore[no-any-return]

    @contextmanager
    def probing(
        self, function: str, reads: Sequence[Any], sources: Sequence[Tensor]
    ) -> Iterator[Probe]:
        """A rule of `function` runs meanwhile on `sources`, which stand for no numbers: Python
        may not ask for what is computed from them."""
        probe = Probe(function, reads, [source._value for source in sources], self.graph.nodes)
        with self.asking(probe):
            yield probe

    @contextmanager
    def asking(self, probe: Probe) -> Iterator[None]:
        """`probe` is asked meanwhile before Python reads a value."""
        outer, self.probes = self.probes, (*self.probes, probe)
        try:
            yield
        finally:
            self.probes = outer

    def distinct(self, tensor: Any) -> Tensor:
        """`tensor` as a value that no other is treated as."""
        self.identities += 1
        result: Tensor = IDENTITY(tensor, number=self.identities)
        return result

    def stand_in(self, example: Any) -> Tensor:
        """A Tensor that stands for any array or number of the type of `example`."""
        return self.distinct(Tensor(self.lift(example), self))

    @contextmanager
    def seen_by(self, windows: Sequence[Window]) -> Iterator[None]:
        """Only these windows are open meanwhile."""
        outer, self.windows = self.windows, tuple(windows)
        try:
            yield
        finally:
            self.windows = outer

    @contextmanager
    def at(self, where: Location | None) -> Iterator[None]:
        """Nodes recorded meanwhile are cited at `where`, not at the running line; NOWHERE: at
        none."""
        outer, self.where = self.where, where
        try:
            yield
        finally:
            self.where = outer

    @contextmanager
    def running_rule(self) -> Iterator[None]:
        """A rule of the user's runs meanwhile: errors name its lines."""
        outer, self.in_rule = self.in_rule, True
        try:
            yield
        finally:
            self.in_rule = outer

    @contextmanager
    def substituting(self, values: Mapping[Value, Value]) -> Iterator[None]:
        """Operands recorded meanwhile are replaced by what `values` maps them to, at that
        moment."""
        outer, self.substitutes = self.substitutes, values
        try:
            yield
        finally:
            self.substitutes = outer

    # Errors

    def here(self) -> Where | None:
        """The user's running line, or the line being differentiated, for errors."""
        if self.where is not None and not self.in_rule:
            return places.where_of(self.where, self.graph.files)
        return places.here()

    def call_text(self, otherwise: str) -> str:
        """The user's running call or operation as it is written, for errors; `otherwise` where that
        is long, a library's, not recorded, or being differentiated."""
        if self.where is not None and not self.in_rule:
            return otherwise
        where = places.here()
        if where is None or where.behind is not None or places.calls_recorded():
            return otherwise
        return places.written(ast.Call, ast.BinOp, ast.Compare, ast.Subscript) or otherwise

    def name_of(self, value: Value) -> str:
        """The user's name for a value, for errors."""
        if isinstance(value, Constant):
            return constant_text(value) if value.type.size == 1 else _name_of_array(value.data)
        return value.label or value.name or "an array"

    def plain_operand(self, operand: Any) -> Any:
        """Convert an operand as NumPy does: a number of a subclass (IntEnum) to a NumPy scalar, an
        array that maps a file to a plain array. Raises ArgumentError for what is neither."""
        if type(operand) is np.memmap:
            return operand.view(np.ndarray)
        if not is_number(operand):
            raise self.not_an_array(operand)
        scalar: Any = np.asarray(operand)[()]
        return scalar

    def not_an_array(self, operand: Any, what: str = "an operand") -> TracejitError:
        """The error for an operand that is neither array nor number."""
        path = places.operand(operand)
        row = "labelled-operand" if is_labelled(type(operand)) else "not-an-array"
        fix = f"write {array_of(operand, path or 'x')} in its place."
        if isinstance(operand, (str, bytes, type(None))):
            fix = "pass a number or an array instead, or use it only in an `if` of Python."
        words = {"what": path or what, "kind": noun_of(operand), "fix": fix}
        return fail(row, self.here(), **words)

    def dtype_refused(self, operand: Any, dtype: np.dtype[Any]) -> TracejitError:
        """The error for an operand of a dtype that is not recorded."""
        path = places.operand(operand)
        return dtype_refused(self.here(), dtype, path or "an operand", path or "x")

    def misfit(
        self, op: Op, values: Sequence[Value], params: dict[str, Any], error: Exception
    ) -> TracejitError:
        """The user's error for operands that do not fit: their spelling, every shape, NumPy's
        reason."""
        names = list(map(self.name_of, values))
        try:
            template = op.template([value.type for value in values], params).replace("np.", "")
            call = template.format(*names) or "assigning to elements"
        except (ValueError, TypeError, LookupError, AttributeError):
            call = f"{op.name}({', '.join(names)})"
        shapes = ", ".join(
            f"{self.name_of(value)} {dtype_letters(value.type.dtype)}{list(value.type.shape)}"
            for value in values
            if not isinstance(value, Constant) or value.type.shape
        )
        fix = fix_of_shapes(error, shapes)
        if isinstance(error, TypeError):
            return fail(
                "unsupported-call",
                self.here(),
                function=call,
                problem=error,
                fix=fix,
            )
        row, where = shape_row(error), self.here()
        return fail(row, where, call=self.call_text(call), problem=error, fix=fix)


def _name_of_array(array: np.ndarray) -> str:
    """The name that a local variable of the running function has for an array like this one."""
    frame = places.user_frame()
    for name, local in (frame.f_locals if frame is not None else {}).items():
        if type(local) is np.ndarray and local.shape == array.shape and local.dtype == array.dtype:
            if local.tobytes() == array.tobytes():
                return name
    return "an array"
