"""Custom gradient rules: their arguments, and checks of the gradients that they return."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tracejit.ir.types import ArrayType, type_of
from tracejit.support.errors import fail
from tracejit.support.words import a
from tracejit.trace.arguments.signature import signature_of
from tracejit.trace.recording.active import called
from tracejit.trace.recording.numbers import may_be_differentiated
from tracejit.trace.recording.recorder import Recorder
from tracejit.trace.structure.trees import flatten
from tracejit.trace.tensor.tensor import Tensor

RULES_FOR_NUMPY: list[Any] = []
"""The rules that users have registered for functions of NumPy's: any call may reach them."""


def leaf_type(leaf: Any) -> ArrayType | None:
    """The type of a Tensor, Variable, array or number; None of anything else."""
    return leaf.type if hasattr(type(leaf), "__tracejit_record__") else type_of(leaf)


def is_array(leaf: Any) -> bool:
    """Return whether a leaf is an input or output of a custom op: an array, or a Python float that
    is computed from one, not another Python number."""
    known = leaf_type(leaf)
    return known is not None and (known.form != "weak" or may_be_differentiated(leaf))


def has_cotangent(leaf: Any) -> bool:
    """Return whether an output of a custom op becomes a Tensor: an array or a float; a Python int
    or bool stays as it is."""
    known = leaf_type(leaf)
    return known is not None and (known.form != "weak" or known.is_inexact)


class Input(NamedTuple):
    """One input of a custom op: what errors call it, and its type."""

    name: str
    type: ArrayType


class Rule:
    """A user's rule, its answer checked against the inputs before it enters the reverse pass.

    The inputs are the arrays among the leaves of the arguments, which come in the order of the
    parameters, and then the Variables that were read. `outputs` says of each number in the value
    whether the reverse pass has a cotangent for it.
    """

    def __init__(
        self,
        name: str,
        rule: Callable[..., Any],
        arguments: dict[str, Any],
        value: Any,
        variables: Sequence[Any],
        recorder: Recorder,
    ) -> None:
        """The rule that `name` returned with `value` for `arguments`, having read `variables`.

        Raises RuleTypeError if it cannot take the variables.
        """
        self.name = name
        self.rule = rule
        self.recorder = recorder
        self.since = recorder.writes
        self.arguments = arguments
        self.variables = list(variables)
        self.leaves = [
            (parameter, leaf)
            for parameter, argument in arguments.items()
            for leaf in flatten(argument)[0]
        ]
        self.arrays = [leaf for _, leaf in self.leaves if is_array(leaf)]
        self.inputs = [
            Input(parameter, known)
            for parameter, leaf in self.leaves
            if is_array(leaf) and (known := leaf_type(leaf)) is not None
        ]
        self.variable_inputs = [Input(v.name or "a Variable", v.type) for v in self.variables]
        self.outputs = [
            has_cotangent(leaf) for leaf in flatten(value)[0] if leaf_type(leaf) is not None
        ]
        self.takes_variables = self._takes_variables()

    def _takes_variables(self) -> bool:
        """Return whether the rule takes the argument `variables`."""
        parameters = signature_of(self.rule).parameters
        kinds = [parameter.kind for parameter in parameters.values()]
        wanted = parameters.get("variables")
        if not self.variables:
            return wanted is not None and wanted.default is inspect.Parameter.empty
        if wanted is None and inspect.Parameter.VAR_KEYWORD not in kinds:
            names = ", ".join(each.name for each in self.variable_inputs)
            raise fail(
                "rule-no-variables", self.recorder.here(), function=self.name, variables=names
            )
        return True

    def __call__(self, *cotangents: Any) -> list[Tensor | None]:
        """One checked gradient per input."""
        remaining = iter(cotangents)
        given = [next(remaining) if there else None for there in self.outputs]
        extra = {"variables": self.variables} if self.takes_variables else {}
        with self.recorder.running_rule(), self.recorder.reading_as_of(self.since):
            answer = called(self.rule)(*given, **extra)
        of_variables: list[Any] = []
        if extra:
            answer, of_variables = self._pair(answer)
        entries = [*self._entries(answer), *self._variable_entries(of_variables)]
        inputs = [*self.inputs, *self.variable_inputs]
        pairs = zip(entries, inputs, strict=True)
        return [checked(entry, input, self.name, self.recorder) for entry, input in pairs]

    def _pair(self, answer: Any) -> Any:
        """The answer of a rule that takes variables: gradients of inputs, and of variables."""
        if not (type(answer) in (tuple, list) and len(answer) == 2):
            got = a(type(answer).__name__)
            if type(answer) in (tuple, list):
                got += f" of {len(answer)}"
            raise fail("rule-variables", self.recorder.here(), function=self.name, got=got)
        return answer

    def _in_order(self, answer: Any) -> Any:
        """A dict of gradients by parameter as a list in the order of the parameters."""
        if type(answer) is not dict or not answer.keys() <= self.arguments.keys():
            return answer
        given = self.arguments.values()
        if any(type(value) is dict and value.keys() == answer.keys() for value in given):
            return answer  # like the argument
        return [answer[name] for name in self.arguments if name in answer]

    def _entries(self, answer: Any) -> list[Any]:
        """The gradients of the arguments as a flat list, one entry per input."""
        answer = self._in_order(answer)
        entries = flatten(answer)[0] if answer is not None or len(self.inputs) == 1 else []
        # One for each argument, or each that is a number: those of what is no array are dropped.
        numbers = [leaf for leaf in self.leaves if leaf_type(leaf[1]) is not None]
        for leaves in (self.leaves, numbers):
            if len(entries) == len(leaves) > len(self.inputs):
                pairs = zip(entries, leaves, strict=True)
                entries = [entry for entry, (_, leaf) in pairs if is_array(leaf)]
        self._check_count(entries, self.inputs)
        return entries

    def _variable_entries(self, answer: Any) -> list[Any]:
        """The gradients of the variables as a flat list, one entry per variable."""
        none = answer is None and len(self.variables) != 1
        entries = [] if none else flatten(answer)[0]
        self._check_count(entries, self.variable_inputs)
        return entries

    def _check_count(self, entries: Sequence[Any], inputs: Sequence[Input]) -> None:
        if len(entries) != len(inputs):
            raise fail(
                "rule-count",
                self.recorder.here(),
                function=self.name,
                got=len(entries),
                expected=len(inputs),
                names=", ".join(each.name for each in inputs) or "none",
            )


def checked(entry: Any, input: Input, function: str, recorder: Recorder) -> Tensor | None:
    """One gradient that a rule of `function` answered, as a Tensor that fits its input."""
    name, wanted = input
    if entry is None or not wanted.is_inexact:
        return None
    words = {"function": function, "name": name}
    known = leaf_type(entry)
    if known is None or (known.dtype.kind == "c" and wanted.dtype.kind != "c"):
        got = a(type(entry).__name__) if known is None else f"a complex gradient {known!r}"
        expected = str(wanted.dtype)
        raise fail("rule-type", recorder.here(), got=got, expected=expected, **words)
    if known.form != "weak" and known.shape != wanted.shape:
        got, expected = str(known.shape), str(wanted.shape)
        raise fail("rule-shape", recorder.here(), got=got, expected=expected, **words)
    return Tensor(recorder.lift(entry), recorder)
