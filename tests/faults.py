"""Faults that the suite must find, one row each: a text of the package, what is put in its place,
and the tests that are to fail then. `python -m tests.mutation` tries them.

A row finds its place by its text alone, which stands once in the package: a module may be moved and
its neighbours rewritten. Where the text itself is rewritten, write the row anew, or put another
fault of the same kind in its place.
"""

from __future__ import annotations

from typing import NamedTuple

TABLE = "tests/ops/test_table.py -k"
PROGRAMS = "tests/test_programs.py"


class Fault(NamedTuple):
    """A seeded fault: `before` becomes `after`, and one of the runs in `tests` must fail, each the
    arguments of pytest."""

    name: str
    before: str
    after: str
    tests: tuple[str, ...]


FAULTS = (
    # Traits of ops
    Fault(
        "a difference can be exchanged",
        'lambda g, z, x, y: -g), linear_in="jointly"\n',
        'lambda g, z, x, y: -g), linear_in="jointly", commutative=True\n',
        ("tests/ops/test_traits.py",),
    ),
    Fault(
        "inf in a denominator is as good as nan",
        "elif type(linear_in) is tuple:",
        "elif not linear_in:",
        ("tests/passes/algebra/test_column_sums.py",),
    ),
    Fault(
        "a hyperbolic sine is bounded",
        "np.sinh, deriv=lambda y, x: np.cosh(x), cost=20",
        "np.sinh, deriv=lambda y, x: np.cosh(x), cost=20, bound=1.0",
        ("tests/ops/test_traits.py",),
    ),
    # Gradient rules
    Fault(
        "the slope of cos has no sign",
        "np.cos, vjp=(lambda g, y, x: -g * np.sin(x),)",
        "np.cos, vjp=(lambda g, y, x: g * np.sin(x),)",
        (f"{TABLE} cos-",),
    ),
    Fault(
        "the slope of arctan is that of log1p",
        "np.arctan, vjp=(lambda g, y, x: g / (1.0 + x * x),)",
        "np.arctan, vjp=(lambda g, y, x: g / (1.0 + x),)",
        (f"{TABLE} arctan-",),
    ),
    Fault(
        "arctan2 has the same sign for both operands",
        "return -g * sine / radius",
        "return g * sine / radius",
        (f"{TABLE} arctan2-",),
    ),
    Fault(
        "the slope of log1p is that of log",
        "np.log1p, vjp=(lambda g, y, x: g / (x + 1.0),)",
        "np.log1p, vjp=(lambda g, y, x: g / x,)",
        (f"{TABLE} log1p-",),
    ),
    Fault(
        "cbrt lacks a factor",
        "np.cbrt, vjp=(lambda g, y, x: g / (3.0 * y * y),)",
        "np.cbrt, vjp=(lambda g, y, x: g / (3.0 * y),)",
        (f"{TABLE} cbrt-",),
    ),
    Fault(
        "a quotient by its divisor lacks a division",
        "vjp=(lambda g, z, x, y: g / y, lambda g, z, x, y: -g * z / y)",
        "vjp=(lambda g, z, x, y: g / y, lambda g, z, x, y: -g * z)",
        (f"{TABLE} divide-",),
    ),
    Fault(
        "the remainder by its divisor has the wrong sign",
        "lambda g, z, x, y: -g * np.floor_divide(x, y)",
        "lambda g, z, x, y: g * np.floor_divide(x, y)",
        (f"{TABLE} remainder-",),
    ),
    Fault(
        "an imaginary part is turned the other way",
        "lambda g, y, x: g * -1j,",
        "lambda g, y, x: g * 1j,",
        (f"{TABLE} imag-",),
    ),
    Fault(
        "the larger of two equal operands gets nothing",
        "lambda g, z, x, y: np.where(x >= y, _share(g, z, x, y), 0.0)",
        "lambda g, z, x, y: np.where(x > y, _share(g, z, x, y), 0.0)",
        ("tests/ops/test_singular_points.py",),
    ),
    Fault(
        "clip hands nothing on at its lower bound",
        "np.where((low <= a) & (a <= high), g, 0.0)",
        "np.where((low < a) & (a <= high), g, 0.0)",
        ("tests/ops/test_singular_points.py",),
    ),
    Fault(
        "heaviside has a slope above zero",
        "lambda g, z, x, y: np.where(x == 0, g, 0.0)",
        "lambda g, z, x, y: np.where(x >= 0, g, 0.0)",
        (f"{TABLE} heaviside-",),
    ),
    Fault(
        "elements that share an extremum each get all",
        "return chosen * expand(g / ties, axis, keepdims)",
        "return chosen * expand(g, axis, keepdims)",
        ("tests/ops/test_singular_points.py",),
    ),
    Fault(
        "the other factors of a product are in reverse order",
        "return before * np.flip(after, axis)",
        "return before * after",
        (f"{TABLE} prod-",),
    ),
    Fault(
        "what is rolled is rolled on",
        "np.roll(g, _negated(shift), axis)",
        "np.roll(g, shift, axis)",
        (f"{TABLE} roll-",),
    ),
    Fault(
        "a transposition is not undone",
        "np.transpose(g, _inverse(axes))",
        "np.transpose(g, axes)",
        (f"{TABLE} transpose-",),
    ),
    Fault(
        "a product hands on the factor as it is",
        "lambda g, c, a, b: g @ b.mT",
        "lambda g, c, a, b: g @ b",
        (f"{TABLE} matmul-",),
    ),
    Fault(
        "a fold takes no tangent",
        "return _forward(before, after_one(here, y, axis) * v, axis)",
        "return _forward(before, after_one(here, y, axis), axis)",
        (f"{TABLE} accumulate-",),
    ),
    Fault(
        "a cross product turns the wrong way",
        "lambda g, c, a, b: np.cross(b, g)",
        "lambda g, c, a, b: np.cross(g, b)",
        (f"{TABLE} cross-",),
    ),
    Fault(
        "a determinant takes no cotangent",
        "lambda g, y, a: each(g) * _cofactors(y, a)",
        "lambda g, y, a: _cofactors(y, a)",
        (f"{TABLE} det-",),
    ),
    Fault(
        "the inverse transform is pulled back by the transform",
        "lambda g, n, axis, norm: np.fft.ifft(g, n, axis, norm)",
        "lambda g, n, axis, norm: np.fft.fft(g, n, axis, norm)",
        (f"{TABLE} ifft-",),
    ),
    Fault(
        "partial products leave float16",
        "x = with_room(x if dtype is None else x.astype(dtype))",
        "x = x if dtype is None else x.astype(dtype)",
        ("tests/ops/test_float16.py", f"{TABLE} prod-"),
    ),
    # Reverse, forward and batched passes
    Fault(
        "gradients of complex arguments are not conjugated",
        "return [None if g is None else conjugate(g) for g in found]",
        "return [None if g is None else g for g in found]",
        (f"{TABLE} multiply-",),
    ),
    Fault(
        "nan comes through the branch that was not chosen",
        "return self.choices.get(g._value)",
        "return None",
        ("tests/ops/test_singular_points.py", "tests/autodiff/reverse/test_adjoint.py"),
    ),
    Fault(
        "every maximum is a shift without effect",
        "return has_no_effect(node, self.followers, self.ends)",
        "return True",
        ("tests/autodiff/reverse/test_shift_invariance.py tests/autodiff/reverse/test_adjoint.py",),
    ),
    Fault(
        "what does not move is its own tangent",
        "dot if dot is not None else zeros_like(operand)",
        "dot if dot is not None else operand",
        (f"{TABLE} concatenate-",),
    ),
    Fault(
        "operands of a batch are not aligned",
        "return op(*aligned(moved, operands, rank), **node.params)",
        "return op(*operands, **node.params)",
        (f"{TABLE} add-",),
    ),
    Fault(
        "Python numbers of a batch keep their dtype",
        "x.astype(dtype) if gives_way and x.dtype != dtype else x",
        "x",
        (f"{TABLE} add-", "tests/autodiff/batch/test_batch.py tests/api/test_vmap.py"),
    ),
    # Passes
    Fault(
        "every number is taken for none below zero",
        "return Range(number, number, math.copysign(1.0, number) < 0)",
        "return Range(number, number, False)",
        ("tests/passes/algebra/test_ranges.py", "tests/passes/algebra/test_rewrites.py"),
    ),
    Fault(
        "the mask of an upper triangle is that of a lower",
        "let=given.mask_up_to(-1)",
        "let=given.mask_up_to(0)",
        ("tests/passes/algebra/test_rewrites.py",),
    ),
    Fault(
        "odd powers lack a factor",
        '3: "x * x * x"',
        '3: "x * x"',
        ("tests/passes/algebra/test_rewrites.py",),
    ),
    Fault(
        "one over x is x",
        'Pattern("x / 1.0", "x", ',
        'Pattern("1.0 / x", "x", ',
        ("tests/passes/algebra/test_simplify.py",),
    ),
    Fault(
        "a sum of two complex numbers is a product with 2",
        'match["x"].type.dtype.kind == "f" and',
        'match["x"].type.dtype.kind in "fc" and',
        (
            "tests/passes/algebra/test_simplify.py",
            "tests/passes/test_dtypes.py",
            "tests/test_exact_signs.py",
        ),
    ),
    Fault(
        "0.0 and -0.0 are one number",
        "if data.tobytes() != number.tobytes() * data.size:",
        "if not (data == number).all():",
        ("tests/passes/algebra/test_simplify.py", "tests/test_exact_signs.py"),
    ),
    Fault(
        "effects without a reader are dropped",
        "if node in wanted or (node.op.effect and not there.issuperset(node.results)):",
        "if node in wanted:",
        ("tests/passes/framework/test_dce.py", "tests/ops/control/test_effects.py"),
    ),
    Fault(
        "a value of one branch is taken for that of another",
        "if known is not None and self.branches.precedes(known.segment, node.segment):",
        "if known is not None:",
        (
            "tests/passes/exact/test_cse.py",
            "tests/test_branch_programs.py tests/test_branches.py",
        ),
    ),
    Fault(
        "a step by sign makes nan of nan",
        '"h * (fmax(sign(x), -1.0) + 1.0)"',
        '"h * (maximum(sign(x), -1.0) + 1.0)"',
        ("tests/passes/algebra/test_rewrites.py",),
    ),
    # Schedules and text
    Fault(
        "a buffer is overwritten that is read later",
        "if dies.get(root) != number:",
        "if dies.get(root, number) < number:",
        ("tests/targets/numpy/plan/test_buffers.py",),
    ),
    Fault(
        "two results share memory",
        "if not storages.is_ours(value) or root in taken or _is_strided_view(value):",
        "if not storages.is_ours(value) or _is_strided_view(value):",
        ("tests/targets/numpy/plan/test_buffers.py", "tests/specialise/test_results.py"),
    ),
    Fault(
        "what is read twice is written twice",
        "is_chosen = uses[value] == 1 and (",
        "is_chosen = uses[value] <= 2 and (",
        ("tests/targets/numpy/plan/test_inline.py",),
    ),
    Fault(
        "an expression is written behind an update of what it reads",
        "here < place < there",
        "there < place < here",
        ("tests/trace/tensor/test_writes.py",),
    ),
    Fault(
        "a name is taken one statement too early",
        "if busy_until > number:",
        "if busy_until > number + 1:",
        ("tests/targets/numpy/text/test_names.py",),
    ),
    Fault(
        "a - (b - c) loses its parentheses",
        "second = _held(self._operation(stronger + 1), stronger + 1)",
        "second = _held(self._operation(stronger + 1), stronger)",
        ("tests/text/test_parentheses.py tests/text/test_source.py",),
    ),
    Fault(
        "names are deleted that are read later",
        "if root not in needed and root.type.estimated_bytes > least",
        "if root.type.estimated_bytes > least",
        ("tests/targets/numpy/text/test_release.py",),
    ),
    Fault(
        "what one path binds is there on the next",
        "while len(self._changes) > self._begins[self.segment]:",
        "while False:",
        ("tests/targets/numpy/text/test_bindings.py",),
    ),
    Fault(
        "an array that is updated is as it was",
        "self._bind(self._names[value], UPDATED)",
        "continue",
        ("tests/targets/numpy/text/test_bindings.py",),
    ),
    Fault(
        "two values have one name",
        "while numbered or value.name in self.taken:",
        "while numbered:",
        ("tests/ir",),
    ),
    # Captures and guards
    Fault(
        "True passes for 1",
        'test = "{type}({value}) is {kind} and {again} == {wanted}"',
        'test = "{value} == {wanted}"',
        ("tests/trace/guards/test_guards.py", "tests/test_captured.py", "tests/trace/capture"),
    ),
    Fault(
        "-0.0 passes for 0.0 inside an object",
        "idle bits\n        return kind, repr(value)",
        "idle bits\n        return kind, value",
        ("tests/trace/guards/test_exactness.py", "tests/test_captured.py"),
    ),
    Fault(
        "a name that was missing may be defined",
        "for path, x in self._absent.values()]",
        "for path, x in ()]",
        ("tests/trace/capture", "tests/test_captured.py"),
    ),
    # Memory, the cache, calls
    Fault(
        "a view does not see what is written to its base",
        "if now is self.seen:\n            return",
        "if now is not None:\n            return",
        ("tests/trace/tensor/test_writes.py tests/trace/recording/test_variable.py",),
    ),
    Fault(
        "a view or a copy is taken for a view",
        "return splits or lies_in_order(self.base)",
        "return True",
        (f"{TABLE} reshape-", "tests/trace/tensor/test_writes.py"),
    ),
    Fault(
        "kernels with other options share a key",
        "return digest(graph, origin.name, origin.file, shape, options,",
        "return digest(graph, origin.name, origin.file, shape,",
        ("tests/compiler/test_pipeline.py tests/compiler/test_kernel.py",),
    ),
    Fault(
        "a file that was edited is trusted",
        "return None if _sha256(body) == found[1] else",
        "return None if found[1] else",
        ("tests/cache/test_key.py",),
    ),
    Fault(
        "a recycled array may be held by a weak reference",
        "references = sys.getrefcount(array) + weakref.getweakrefcount(array)",
        "references = sys.getrefcount(array)",
        ("tests/runtime/test_buffer_pool.py",),
    ),
    Fault(
        "results of a batch lie along the first axis",
        "return whole if axis == 0 else np.moveaxis(whole, 0, axis)",
        "return whole",
        ("tests/api/test_transforms.py",),
    ),
    # Loops
    Fault(
        "a step that changes the type of a variable is the last that is recorded",
        "return (self.kind, self.kinds) != before",
        "return False",
        ("tests/trace/control_flow/test_turns.py",),
    ),
    Fault(
        "both outcomes of a condition give what one side does",
        "Side(ran.nodes, [pair[k] for pair in self.pairs])",
        "Side(ran.nodes, [pair[0] for pair in self.pairs])",
        ("tests/trace/control_flow/test_forks.py",),
    ),
    Fault(
        "a side of a condition changes what was there before",
        "if type(o) not in TENSORS and not self.is_inside(o):",
        "if o is None:",
        ("tests/trace/reads/test_sides.py",),
    ),
    Fault(
        "what moves by the step before does not move",
        "new = {one for one, out in pairs if out in moving} - moving",
        "new: set[Value] = set()",
        ("tests/autodiff/reverse/test_loops.py",),
    ),
    Fault(
        "a cotangent of the last step begins anew",
        "zeros(recording, bar.type) if finals[k] is None else like(finals[k], bar)",
        "zeros(recording, bar.type)",
        ("tests/autodiff/reverse/test_loops.py",),
    ),
    Fault(
        "a loop reads the stacks of another in another order",
        "read = [*operands[:last], *[stacks[row] for row in rows]]",
        "read = [*operands[:last], *[stacks[row] for row in reversed(rows)]]",
        ("tests/loops/bodies/test_loop_residuals.py", "tests/autodiff/reverse/test_loops.py"),
    ),
    Fault(
        "the rows of a batched loop lie step by step",
        "return np.moveaxis(result, 1, 0) if is_stacked else result",
        "return result",
        ("tests/autodiff/batch/test_batched_loops.py",),
    ),
    Fault(
        "an element of a batch goes on after its end",
        "chosen_by(going, *self._tensors(out, state[value]))._value",
        "batch.known.get(out, out)",
        ("tests/autodiff/batch/test_batched_loops.py",),
    ),
    Fault(
        "both sides of a condition have the derivative of the last",
        "sides = [record_side(recording, partial(outputs, body)) for body in self.bodies]",
        "sides = [record_side(recording, partial(outputs, self.bodies[-1])) for _ in self.bodies]",
        ("tests/test_control_flow_programs.py",),
    ),
    # Exported modules
    Fault(
        "nan has no text in an exported module",
        'if type(value) is float and not math.isfinite(value):\n            return f"{self',
        'if type(value) is float and math.isinf(value):\n            return f"{self',
        ("tests/api/test_export.py",),
    ),
    Fault(
        "a variable of an exported module hides a parameter",
        'while word in self.taken:\n            word += "_"',
        'if "__" in word:\n            word += "_"',
        ("tests/api/test_export.py",),
    ),
    Fault(
        "an exported module takes arrays of any order",
        'tests.append(f"not {text}.flags.c_contiguous")',
        'tests.append("False")',
        ("tests/api/test_export.py",),
    ),
    Fault(
        "an exported module takes containers of other keys",
        "test = f\"{self.names.known('list')}({text}) != {keys}\"",
        "test = f\"{self.names.known('len')}({text}) != len({keys})\"",
        ("tests/api/test_export.py",),
    ),
    # Pages of the explorer
    Fault(
        "code is shown as it is",
        "return html.escape(shown)",
        "return html.escape(shown, quote=False)",
        ("tests/explorer/test_highlight.py tests/explorer/test_page.py",),
    ),
    Fault(
        "code without a color is shown as it is",
        "text, style = escaped(line[place:following]), tags.get(place)",
        "text, style = line[place:following], tags.get(place)",
        ("tests/explorer/test_highlight.py",),
    ),
    # Eager tapes
    Fault(
        "a tape that is stopped goes on",
        'self._recording("stop_recording")\n        self._close()',
        'self._recording("stop_recording")',
        ("tests/eager/test_tape.py",),
    ),
    Fault(
        "a tape that is reset keeps what it saw",
        'self._recording("reset")\n        self._window.clear()',
        'self._recording("reset")',
        ("tests/eager/test_tape.py",),
    ),
    Fault(
        "one kernel serves windows whose ends differ",
        "key = (tuple(window.words), tuple(places), len(ys), extra_types, kind)",
        "key = (tuple(window.words), len(places), len(ys), extra_types, kind)",
        ("tests/eager/test_window_gradient.py",),
    ),
    Fault(
        "a number that changes is baked into a window's kernel",
        "return known.numbers == numbers or known.dynamic.issuperset(_changed(known, numbers))",
        "return len(known.numbers) == len(numbers)",
        ("tests/eager/test_window_gradient.py",),
    ),
    Fault(
        "Variables that are not trained are watched",
        "if not (self.accessed and variable.trainable):",
        "if not self.accessed:",
        ("tests/eager/test_tape.py", "tests/tensorflow/test_facts_tapes.py"),
    ),
    Fault(
        "an accumulator takes one primal twice",
        "if len({id(primal) for primal in self._primals}) < len(self._primals):",
        "if not self._primals:",
        ("tests/eager/test_accumulator.py",),
    ),
    Fault(
        "what is computed again reads arrays as they are now",
        "generators.replayed(), EAGER.reading_as_of(since):",
        "generators.replayed():",
        ("tests/eager/test_recompute.py",),
    ),
    # Files of the cache
    Fault(
        "the kernels used last are deleted first",
        "key=lambda use: use.time, reverse=True):",
        "key=lambda use: use.time):",
        ("tests/cache/test_eviction.py tests/cache/test_store.py",),
    ),
    Fault(
        "a link in the cache is followed",
        'flags |= 0 if follow else getattr(os, "O_NOFOLLOW", 0)',
        "flags |= 0",
        ("tests/cache/test_folder.py tests/cache/test_store.py",),
    ),
    # Arguments
    Fault(
        "an array of any dtype passes for another",
        "found = [kind, HasDtype(self.type.dtype), HasShape(self.type.shape)]",
        "found = [kind, HasShape(self.type.shape)]",
        ("tests/specialise/test_reasons.py", "tests/specialise/test_function.py"),
    ),
    Fault(
        "arrays of several orders share a kernel that keeps one",
        "return [*found, InOrder()] if in_order else found",
        "return found",
        ("tests/specialise/test_reasons.py tests/trace/arguments/test_signature.py",),
    ),
)
