"""Exporter: records a function for a description of its arguments, and writes it as a module of
NumPy alone."""

from __future__ import annotations

import functools
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from tracejit.autodiff.request.request import Request
from tracejit.cache.key import constants_bytes, seal
from tracejit.cache.standalone import write_all
from tracejit.exporting.checked_call import Baked, CallText, call_text
from tracejit.exporting.exported_module import exported_text
from tracejit.exporting.kernel_package import Member, member_name, package_files, stale_files
from tracejit.exporting.rehearsal import rehearse
from tracejit.exporting.spelling import cannot_export, is_atom, numpy_name
from tracejit.exporting.stubs import Stub, stub_of
from tracejit.ir.types import HANDLE, type_of
from tracejit.runtime.dispatch import Entry
from tracejit.runtime.single_flight import SingleFlight
from tracejit.specialise.arguments import without_tensors
from tracejit.specialise.callee import Callee, Form
from tracejit.specialise.explain import History
from tracejit.specialise.fallback import shown
from tracejit.specialise.function import Function
from tracejit.specialise.kernel_table import CompiledCall, KernelTable
from tracejit.specialise.specialiser import Specialiser
from tracejit.support.errors import TracejitError
from tracejit.support.options import Options
from tracejit.trace.arguments.signature import Call, signature_of
from tracejit.trace.guards.access_paths import AccessPath, Labels, Place
from tracejit.trace.guards.conditions import Condition
from tracejit.trace.guards.descriptions import described
from tracejit.trace.guards.guards import HasContents, Is, SameValue, Static
from tracejit.trace.recording.decisions import Failed, Hidden
from tracejit.trace.recording.events import Event
from tracejit.trace.recording.mutable_attributes import Attribute
from tracejit.trace.recording.variable import Variable
from tracejit.trace.structure.draws import is_generator
from tracejit.trace.structure.trees import LEAF

GLOBAL = "the global "


class Source(NamedTuple):
    """A function to export: the Python function and what is asked of it, its `options`, and
    `does`, the words for what `call` will do. `known` has the kernels that it has run, if any."""

    python: Any
    request: Request
    form: Form | None
    options: Options
    does: str
    known: Function[..., Any] | None


class Exported(NamedTuple):
    """A function as a module: its text without the seal, its large constants, the text of its stub,
    and the types of its arguments, as SIGNATURE has them."""

    text: str
    constants: dict[str, np.ndarray]
    stub: Stub
    inputs: Mapping[str, str]

    def files(self, stem: str) -> dict[str, bytes]:
        """The files of the module, sealed, the module itself last."""
        npz = constants_bytes(self.constants) if self.constants else None
        files = {} if npz is None else {f"{stem}.npz": npz}
        files[f"{stem}.pyi"] = seal(self.stub.text).encode()
        files[f"{stem}.py"] = seal(self.text, npz).encode()
        return files


def exported(
    source: Source,
    specs: tuple[Any, ...],
    keywords: dict[str, Any],
    check: bool,
    name: str | None = None,
) -> Exported:
    """The module of one function for one description of its arguments."""
    options, request = source.options, source.request
    if options.input_signature is not None and not specs and not keywords:
        specs = tuple(options.input_signature)
    callee = Callee(source.python, request, options, source.form)
    try:
        found, given, described = _specialised(callee, source, specs, keywords)
        entry, name = found.entry, name or callee.name
        labels = _labels(entry, source.python)
        _check_effects(entry, name)
        hidden = [_baked(one, labels, name) for one in entry.traces.hidden]
    except TracejitError as error:
        raise shown(error) from None
    except Failed as failed:
        problem = f"its recording fails ({failed.row})"
        fix = "choose between arrays with np.where(condition, a, b), or with tj.cond."
        raise cannot_export(callee.name, problem, fix) from None
    target = "value_and_grad" if request.transform else "forward"
    call = call_text(entry, name, target, given, hidden, check)
    baked = list(_baked_words(entry, call, hidden, labels, source.python))
    checked = "its arguments are checked" if check else "its arguments are not checked"
    text = exported_text(found.kernel, call, source.does.format(callee.name), checked, baked)
    npz: Any = found.kernel.module.__npz__
    constants = {} if npz is None else dict(np.load(io.BytesIO(npz)))
    stub = stub_of(entry, call, found.kernel.module, request.transform != "")
    outer = [one.name for one in hidden]
    inputs = {k: v for k, v in found.kernel.signature["inputs"].items() if k not in outer}
    made = Exported(text, constants | call.constants, stub, inputs)
    rehearse(name, made.files(""), target, found, described)
    return made


def write_module(file: Path, made: Exported, overwrite: bool) -> None:
    """Write a module, its stub and its constants; those that it had before and has no more go."""
    files = made.files(file.stem)
    write_all(file.parent, files, overwrite, {f"{file.stem}.npz"} - files.keys())


def write_package(
    functions: Mapping[str, Any], folder: Path, make: Callable[..., Exported], overwrite: bool
) -> None:
    """Write a folder with a module for every kernel, which `make` makes, and an `__init__` with a
    function for every name. Modules of the package that was there before go."""
    members: dict[str, list[Member]] = {}
    files: dict[str, bytes] = {}
    for name, calls in functions.items():
        for function, *specs in calls if isinstance(calls, list) else [calls]:
            made = make(function, tuple(specs), {}, name)
            taken = [*functions, *[file.removesuffix(".py") for file in files]]
            stem = member_name(name, made.inputs, taken)
            members.setdefault(name, []).append(Member(stem, made.inputs, made.stub))
            files |= made.files(stem)
    files |= package_files(members)
    write_all(folder, files, overwrite, stale_files(folder) - files.keys())


def _specialised(
    callee: Callee, source: Source, specs: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[CompiledCall, list[str], Call]:
    """The kernel for a call like this one, the parameters that it passes, and the call. The numbers
    that it passes stay arguments, unless Python reads them."""
    table = KernelTable()
    history = History(callee.name, table, False, callee.findings)
    specialiser = Specialiser(
        callee, source.options, table, history, SingleFlight(), checks_purity=True
    )
    request = callee.note(callee.bind(specs, keywords))
    given = list(signature_of(callee.python).bind(*specs, **keywords).arguments)
    call, _ = without_tensors(request.call)
    fixed = {
        leaf.name: request.fixed[leaf.name]
        for leaf in call.leaves
        if leaf.name in request.fixed
        and (leaf.argument in callee.static or leaf.argument not in given)
    }
    found = specialiser.generalise(request._replace(call=call, fixed=fixed))
    if not table.compiled:
        problem = "it changes something that it reads, so its kernel is for this one call"
        raise cannot_export(
            callee.name, problem, "pass the changing value as an argument, and return it."
        )
    if found.entry.decisions and source.known is not None:
        # Calls before this one may have taken other branches.
        found = source.known.compiled_call(call) or found
    return found, given, call


def _check_effects(entry: Entry, function: str) -> None:
    """Refuse what takes place outside of the kernel after a call."""
    for commit in (commit for answer in entry.answers for commit in answer.commits):
        event: Event = commit.event
        if event.argument:
            problem = f"it writes to its argument {event.argument}"
            fix = f"return the new array, or write to a copy: {event.argument}.copy()."
        elif type(event.variable) is Variable:
            problem = f"it assigns the Variable {event.variable.name or ''}".rstrip()
            fix = "pass its value as an argument, and return the new one."
        else:
            problem, fix = "it uses tj.callback or tj.primitive", "leave out tj.callback."
            holder = getattr(event.run, "__self__", None)
            if type(holder) is Attribute:
                problem, fix = (
                    f"it assigns the attribute {holder.name}",
                    "return the value that it assigns.",
                )
        raise cannot_export(function, problem, fix)


def _labels(entry: Entry, python: Any) -> Labels:
    """The user's words for what the function reads."""
    holder = getattr(python, "__self__", None if isinstance(python, FunctionType) else python)
    names = {} if holder is None else {id(holder): "self"}
    return Labels(names) if entry.guard is None else entry.guard.labels(names)


def _baked(hidden: Hidden, labels: Labels, function: str) -> Baked:
    """The value that an input of the kernel besides the arguments has now."""
    name, holder = hidden.value.name, hidden.holder
    if is_generator(holder) or hasattr(type(holder), "numpy_generator"):
        fix = "pass the generator as an argument."
        raise cannot_export(function, "it draws from a generator that it captures", fix)
    if hidden.value.type is HANDLE:
        problem = f"it uses {_label(labels, holder)}, which is not an array"
        fix = "pass it as an argument, or keep callbacks and primitives outside of the function."
        raise cannot_export(function, problem, fix)
    value = functools.reduce(getattr, filter(None, hidden.path.split(".")), holder)
    if type(value) is np.ndarray:
        value = value.copy(order="K")
    return Baked(name, hidden.value.type, value)


def _label(labels: Labels, holder: Any) -> str:
    """The user's words for an object that the function reads."""
    if type(holder) is Attribute:
        return f"{_label(labels, holder.holder)}.{holder.name}"
    if type(holder) is Place:
        return labels.of(holder.path).removeprefix(GLOBAL)
    return labels.of_object(holder).removeprefix(GLOBAL)


def _baked_words(
    entry: Entry, call: CallText, hidden: Sequence[Baked], labels: Labels, python: Any
) -> Iterator[str]:
    """The values that the module holds for good, each as `name = value` or by name and type."""
    for name, structure in entry.call.structures.items():
        leaves = [leaf for leaf in entry.call.leaves if leaf.argument == name]
        for leaf in leaves:
            if leaf.name in entry.fixed:
                yield f"{leaf.path} = {entry.fixed[leaf.name]!r}"
            elif leaf.role == "static" or (name not in call.parameters and structure is LEAF):
                library = numpy_name(leaf.value)
                yield f"{leaf.path} = {f'numpy.{library}' if library else described(leaf.value)}"
    told: dict[str, str] = {}
    known = _known_already(entry, python)
    for one, baked in zip(entry.traces.hidden, hidden, strict=True):
        label = _label(labels, one.holder)
        told[baked.name if " " in label else label] = f" {baked.type!r}"
    for condition in () if entry.guard is None else entry.guard.conditions:
        words, path = _value_of(condition), condition.path
        label = labels.of(path).removeprefix(GLOBAL)
        if words and not known(path) and "defaults__" not in label:
            told.setdefault(label, words)
    yield from [f"{label}{words}" for label, words in told.items()]


def _known_already(entry: Entry, python: Any) -> Callable[[AccessPath], bool]:
    """A test of paths that lead to no value of the user's, or to one that is told already: options
    of a transform, arguments of a partial, and the default values of fields."""
    fields = {
        (id(part.cls), key)
        for structure in entry.call.structures.values()
        for part in structure.parts()
        for key in part.keys
    }
    is_ours = "tracejit." in getattr(python, "__globals__", {}).get("__name__", "")
    roots = {id(cell) for cell in python.__closure__ or ()} if is_ours else set()
    roots.add(id(getattr(python, "keywords", None)))

    def is_known(path: AccessPath) -> bool:
        root = path.root
        module = root.get("__name__", "") if type(root) is dict else type(root).__module__
        if str(module).startswith("tracejit."):
            return True
        return id(root) in roots or (id(root), path.argument) in fields

    return is_known


def _value_of(condition: Condition) -> str:
    """The value that a guard wants, where that is a number, a text or the contents of an array."""
    guard = condition.guard
    if isinstance(guard, SameValue) or (type(guard) in (Is, Static) and is_atom(guard.wanted)):
        return f" = {described(guard.wanted)}"
    if isinstance(guard, HasContents):
        value = condition.path.value()
        return f" {type_of(value)!r}" if type(value) is np.ndarray else f", {described(value)}"
    return ""
