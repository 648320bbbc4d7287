"""The letters of every op, by a probe: each axis that has a letter is cut into two blocks, and what
the op makes of them, joined or combined as the rule says, is what it makes of the whole."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from tests.by_day import by_day, some_by_day
from tests.ops.program import Program, quiet
from tests.ops.test_traits import CUBE, ROW, TABLE, Call, calls
from tests.rows import each_row
from tracejit.ir.sizes import Sizes
from tracejit.ir.types import HANDLE, ArrayType, type_of
from tracejit.ops.base.axes import COMBINATIONS, AxisRule, axis_rule
from tracejit.ops.base.op import OPS
from tracejit.ops.control.routines import Routine
from tracejit.ops.scipy import sparse  # noqa: F401
from tracejit.trace.tensor.tensor import Tensor

MASK = TABLE > 5.0
LOWER = np.tril(np.ones((4, 4))) + np.eye(4)

MORE: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "norm": [((TABLE,), {"axis": (1,)}), ((CUBE,), {"axis": (1,), "ord": 3, "keepdims": True})],
    "pad_odd": [((TABLE,), {"pad_width": ((0, 0), (1, 1)), "mode": "reflect"})],
    "percentile": [((TABLE,), {"axis": (0,), "method": "linear", "q": 40.0})],
    "gradient_at": [((TABLE, ROW), {"axis": 1, "edge_order": 1})],
    "put_diagonal": [((TABLE,), {"shape": (3, 4, 4), "offset": 0, "axis1": 1, "axis2": 2})],
    "triu": [((CUBE,), {"k": 0})],
    "add_windows": [
        ((TABLE[..., None] * ROW[:2],), {"shape": (3, 5), "window_shape": (2,), "axis": (1,)}),
    ],
    "windows": [((TABLE,), {"size": 2, "first": 0, "step": 1, "count": 3})],
    "substitute": [((LOWER, TABLE.T), {"upper": False, "turned": False})],
    "ndimage_correlate1d": [((TABLE, ROW), {"axis": 1})],
    "ndimage_convolve1d": [((TABLE, ROW), {"axis": 0})],
    "set_item": [
        ((TABLE, MASK, -1.0), {"index": ("{1}",), "unique": True}),
        ((TABLE, MASK[:, 0], -1.0), {"index": ("{1}",), "unique": True}),
        ((TABLE, ROW[:3]), {"index": (("slice", None, None, None), 1), "unique": True}),
    ],
    "with_real": [((TABLE * 1j, TABLE), {})],
    "with_imag": [((TABLE + 1j, TABLE), {})],
    "add_item": [
        ((TABLE, np.array([1, 1]), TABLE[:2]), {"index": ("{1}",), "unique": False}),
        ((TABLE, ROW), {"index": (("slice", 1, None, None),), "unique": True}),
    ],
    "put_at": [
        ((np.ones((3, 2)), np.array([[2], [0], [1]]), np.array([[1, 3]])),
         {"shape": (3, 4), "index": ("{1}", "{2}")}),
    ],
    "put_slice": [((TABLE,), {"shape": (3, 8), "index": ("...", ("slice", 0, 8, 2))})],
    "reduce": [((CUBE, CUBE > 0.0, 0.5), {"ufunc": "maximum", "axis": (0, 2)})],
    "matrix_view": [((TABLE,), {})],
    "sparse_product": [
        ((scipy.sparse.csr_array(LOWER), TABLE.T),
         {"left": True, "transposed": False, "shape": (4, 4), "dtype": "<f8"}),
        ((scipy.sparse.csr_array(LOWER), TABLE),
         {"left": False, "transposed": True, "shape": (4, 4), "dtype": "<f8"}),
    ],
}  # fmt: skip
"""Calls that show letters which the samples do not."""

UNSPLIT = {
    reason: words.split()
    for reason, words in {
        "is made after functions are cut into stages": "masked_product",
        "takes and gives numbers": """
            as_scalar as_element as_array as_integer size python_add python_sub python_mul
            python_truediv python_floordiv python_mod python_pow python_pow_to python_power
            python_and python_or python_xor python_lshift python_rshift
            python_lt python_le python_gt python_ge python_eq python_ne
            python_neg python_pos python_invert python_abs scalar_absolute as_pattern as_digest
            python_bool python_int python_float python_complex python_complex_of_parts
            python_round as_python_if python_sum python_sumprod""",
        "is its first operand, once derivatives are taken": "length",
        "steers the program by what is known whole": """
            decide leave keep move ensure selected_element""",
        "repeats or chooses a body that is recorded for the whole": """
            loop condition while stack_row add_rows zero_rows""",
        "calls a function, or draws numbers in an order": """
            callback override draw normal uniform default_rng""",
        "numbers its rows from the first one on": "arange eye directions",
        "puts elements on a diagonal": "diag",
        "exchanges parts of the whole": "swap_items",
        "takes as many elements as a mask selects": "take_under",
        "factorises one matrix, every row of which depends on all": """
            solve_vector lstsq lstsq_rank lstsq_values orthogonal_procrustes scipy_qr eigh_pair
            eigvalsh_pair eigh_tridiagonal eigvalsh_tridiagonal""",
        "is a function of one matrix, or an equation of matrices": """
            expm_frechet expm_beside_frechet solve_sylvester solve_continuous_lyapunov
            solve_discrete_lyapunov solve_continuous_are solve_discrete_are""",
        "makes a polynomial of all coefficients": """
            roots without_leading_zeros
            polynomial_polyadd polynomial_polysub polynomial_polymul chebadd chebsub chebmul legadd
            legsub legmul hermadd hermsub hermmul hermeadd hermesub hermemul lagadd lagsub
            lagmul""",
        "makes each element of its neighbours": """
            convolve correlate ndimage_correlate ndimage_convolve signal_convolve
            signal_fftconvolve signal_oaconvolve signal_convolve2d signal_correlate
            signal_correlate2d""",
        "is of a sparse matrix, whose numbers are in no order of axes": """
            matrix_part matrix_size has_places_once matrix_product entry_lines sparse_solve
            sparse_factors factors_solve iterated_solve converged_solve sparse_expm_multiply
            sparse_expm_slope""",
        "refuses numbers that are not finite, which blocks do not tell": "scipy_norm",
        "is made by passes, after graphs are cut": """
            einsum_if_not_finite dot_in_rows fill_gaps""",
    }.items()
}
"""The ops of which no axis can be cut into blocks, by the reason."""


@cache
def all_calls() -> dict[str, list[Call]]:
    """The calls of each op: of an elementwise one that has only numbers in its samples, of rows of
    them."""
    found: dict[str, list[Call]] = {}
    for name, op in OPS.items():
        own = list(calls().get(name, []))
        if op.elementwise and own and not any(map(np.ndim, own[0].operands)):
            rows = [np.repeat(np.asarray(one), 3) for one in own[0].operands]
            own.append(own[0]._replace(operands=tuple(rows)))
        found[name] = own + [Call(op, *more) for more in MORE.get(name, [])]
    return found


def rule_of(call: Call) -> AxisRule | None:
    """The rule for the operands of a call."""
    types = [type_of(operand) or HANDLE for operand in call.operands]
    return axis_rule(call.op, types, call.params)


def results_of(rule: AxisRule, made: Any) -> list[np.ndarray]:
    """The results of an op as arrays."""
    return [np.asarray(one) for one in (made if len(rule.results) > 1 else [made])]


def pairs(letters: Sequence[str], values: Sequence[Any]) -> Iterator[tuple[str, int]]:
    """Each letter with the size of its axis."""
    for word, value in zip(letters, values, strict=True):
        shape = value.shape if type(value) is np.ndarray else ()
        yield from zip(word, shape, strict=True)


def cut(letter: str, word: str, value: Any, part: slice, units: int) -> Any:
    """The block of an operand."""
    if letter not in word:
        return value
    axis = word.index(letter)
    step = value.shape[axis] // units
    index = slice(part.start * step, part.stop * step)
    return value[(slice(None),) * axis + (index,)]


def block(
    call: Call, rule: AxisRule, letter: str, whole: np.ndarray, part: slice, units: int
) -> Any:
    """The results for a part of the units of an axis. A shape in the parameters is the block's."""
    operands = [
        cut(letter, *pair, part, units) for pair in zip(rule.operands, call.operands, strict=True)
    ]
    params = call.params
    if letter in rule.results[0] and params.get("shape") == whole.shape:
        axis = rule.results[0].index(letter)
        sizes = list(whole.shape)
        sizes[axis] = sizes[axis] // units * (part.stop - part.start)
        params = {**params, "shape": tuple(sizes)}
    return call._replace(params=params).on(*operands)


def close(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two results are equal but for rounding."""
    if one.shape != other.shape:
        return False
    if one.dtype.kind not in "fc":
        return np.array_equal(one, other)
    tolerance = 1e-12 if one.dtype.char in "dD" else 1e-3 if one.dtype.char == "e" else 1e-5
    return np.allclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=True)


def units_of(
    call: Call, rule: AxisRule, letter: str, whole: list[np.ndarray]
) -> tuple[int, set[int]]:
    """The number of units that all axes of a letter are made of, and how long they are."""
    sizes = [*pairs(rule.operands, call.operands), *pairs(rule.results, whole)]
    lengths = {size for one, size in sizes if one == letter}
    return math.gcd(*lengths), lengths - {0}


def wrong(call: Call, rule: AxisRule, letter: str) -> str | None:
    """What is wrong with a letter; "" where an axis is too short to say."""
    whole = results_of(rule, call.result)
    units, lengths = units_of(call, rule, letter, whole)
    if units < 2 and len(lengths) < 2:
        return ""
    if any(length % min(lengths) for length in lengths) or units < 2:
        return f"{letter} of {rule}: axes of {sorted(lengths)} elements"
    try:
        made = [
            results_of(rule, block(call, rule, letter, whole[0], part, units))
            for part in (slice(0, 1), slice(1, units))
        ]
        for word, result, *parts in zip(rule.results, whole, *made, strict=True):
            if letter in word:
                joined = np.concatenate(parts, axis=word.index(letter))
            else:
                joined = getattr(np, rule.combine)(*parts)
            if not close(result, joined):
                return f"{letter} of {rule}: {joined} is not {result}"
    except (ValueError, IndexError, TypeError, np.linalg.LinAlgError) as error:
        return f"{letter} of {rule}: {error}"
    return None


@cache
def probed() -> list[tuple[Call, AxisRule, str]]:
    """All letters of all calls of ops that have a rule."""
    return [
        (call, rule, letter)
        for several in all_calls().values()
        for call in several
        if (rule := rule_of(call)) is not None
        for letter in sorted({*"".join((*rule.operands, *rule.results))} - {"_"})
    ]


def of_one_matrix(name: str) -> bool:
    """Return whether an op is of each matrix of a stack, and this SciPy takes one at a time."""
    has_rule = OPS[name].library == "scipy" and OPS[name].axes is not None
    return has_rule and all(np.ndim(call.operands[0]) == 2 for call in all_calls()[name])


def tried() -> list[tuple[Call, AxisRule, str]]:
    """The same; by day each rule of an op on the first of its calls."""
    times: Counter[tuple[str, str, str]] = Counter()
    found = []
    for call, rule, letter in probed():
        times[call.op.name, str(rule), letter] += 1
        if times[call.op.name, str(rule), letter] <= by_day(1, 1_000_000):
            found.append((call, rule, letter))
    return found


def test_blocks_make_what_the_whole_makes() -> None:
    with quiet():
        problems = {(call.op.name, wrong(call, rule, letter)) for call, rule, letter in tried()}
        shown = {name for name, problem in problems if problem is None}
    assert {one for one in problems if one[1]} == set()
    unsplit = [name for names in UNSPLIT.values() for name in names]
    assert len(set(unsplit)) == len(unsplit)
    assert shown & set(unsplit) == set(), "these can be split"
    of_numbers = ("map_", "math_")
    names = [name for name, op in OPS.items() if not isinstance(op, Routine)]
    ours = {name for name in names if not name.startswith(of_numbers) and not of_one_matrix(name)}
    assert ours - shown - set(unsplit) == set(), "no letter is shown, and no reason given"


def mutants(rule: AxisRule, letter: str) -> Iterator[AxisRule]:
    """Rules that say something else of a letter: what is joined is combined, what is combined is
    combined otherwise, or what is joined along one axis is joined along another."""
    without = tuple(word.replace(letter, "_") for word in rule.results)
    if without != rule.results:
        yield from (rule._replace(results=without, combine=name) for name in ("add", "fmax"))
    else:
        yield from (rule._replace(combine=name) for name in COMBINATIONS if name != rule.combine)
    for other in sorted({*"".join(rule.operands)} - {"_", letter}):
        table = str.maketrans({letter: other, other: letter})
        results = tuple(word.translate(table) for word in rule.results)
        if results != rule.results:
            yield rule._replace(results=results)


AMBIGUOUS = {
    "max min nanmax nanmin scipy_matrix_norm": "numbers of samples are no nan",
    "any all reduce_discrete isin": "extrema and products of truths are all and any",
    "count_nonzero histogram histogram_of_weights": "blocks of samples count nothing, or one",
    "put_at add_at reduce": "blocks of samples place nothing, or less than others",
    "histogram_bin_edges broadcast_to repeat": "blocks are alike",
}
"""Why samples do not tell one combination from another."""


def test_another_rule_is_found_wrong() -> None:
    """Each rule but those that mean the same is refuted, by the first call that shows the rule."""
    firsts = {(call.op.name, rule, letter): call for call, rule, letter in probed()[::-1]}
    left, refuted = set(), 0
    with quiet():
        for (name, rule, letter), call in firsts.items():
            if wrong(call, rule, letter) == "":
                continue
            for mutant in some_by_day(mutants(rule, letter), 3):
                problem = wrong(call, mutant, letter)
                refuted += bool(problem)
                left |= {name} if problem is None else set()
    assert left - {name for names in AMBIGUOUS for name in names.split()} == set()
    assert refuted > by_day(700, 2000)


WRONG = [
    ("cumsum", "a->a"),
    ("accumulate", "a->a"),
    ("sort", "a->a"),
    ("argsort", "a->a"),
    ("argmax", "a-> by maximum"),
    ("median", "a-> by add"),
    ("std", "a-> by add"),
    ("norm", "a-> by add"),
    ("fft", "a->a"),
    ("roll", "a->a"),
    ("tile", "ab->ab"),
    ("concatenate", "ab,ab,ab->ab"),
    ("stack", "a,a->ab"),
    ("take", "ab,c->cb by add"),
    ("take_at", "a,b->b by add"),
    ("getitem", "ab->ab"),
    ("set_item", "ab,b->ab"),
    ("solve", "__,ab->ab"),
    ("inv", "ab->ab"),
    ("cholesky", "ab->ab"),
    ("einsum", "ab,bc->bc"),
    ("diagonal", "ab->a"),
    ("pad", "ab->ab"),
    ("softmax", "ab->ab"),
    ("logsumexp", "a-> by maximum"),
    ("interp", "a,b,b->a by add"),
    ("searchsorted", "a,b->b by maximum"),
    ("sliding_window_view", "a_->a__"),
    ("simpson", "a-> by add"),
    ("bincount", "a,a->_ by add"),
    ("reduceat", "a->a"),
    ("convolve", "a,_->a"),
]


@each_row(("name", "axes"), WRONG)
def test_a_mixed_axis_is_found(name: str, axes: str) -> None:
    """A letter in the place of `_` is refuted by some call."""
    found = []
    with quiet():
        for call in all_calls()[name]:
            rule = rule_of(call._replace(op=replace(OPS[name], axes=axes)))
            if rule is not None and [len(word) for word in rule.results] == [np.ndim(call.result)]:
                letters = sorted({*"".join((*rule.operands, *rule.results))} - {"_"})
                found += [wrong(call, rule, letter) for letter in letters]
    assert any(found)


def free(word: str, shape: Any, letter: str, n: Any, units: int) -> Any:
    """A shape with `n` in place of the units of an axis."""
    pairs = zip(word, shape, strict=True)
    return tuple(size // units * n if one == letter else size for one, size in pairs)


def test_free_sizes_leave_the_letters() -> None:
    """The rule is the same, without a question, where an axis is as long as a free size says."""
    for call, rule, letter in tried():
        with quiet():
            whole = results_of(rule, call.result)
        units, _ = units_of(call, rule, letter, whole)
        if units < 2:
            continue
        record = Sizes()
        n = record.symbol(units)
        record.freeze()

        types = [type_of(operand) or HANDLE for operand in call.operands]
        types = [
            ArrayType(free(word, type.shape, letter, n, units), type.dtype, type.form)
            for word, type in zip(rule.operands, types, strict=True)
        ]
        params = dict(call.params)
        if params.get("shape") == whole[0].shape:
            params["shape"] = free(rule.results[0], whole[0].shape, letter, n, units)
        assert str(axis_rule(call.op, types, params)) == str(rule), call.op.name


def test_a_free_size_that_is_no_length_is_refused() -> None:
    n = Sizes().symbol(5)
    x = ArrayType((4,), np.dtype("f8"))
    assert axis_rule(OPS["roll"], [x], {"shift": n, "axis": 0}) is None
    assert axis_rule(OPS["getitem"], [x], {"index": (n - 3,)}) is None
    assert axis_rule(OPS["unravel_index"], [x], {"shape": (n, 2)}) is None
    assert str(axis_rule(OPS["size"], [], {"value": n})) == "->"


BY_ROWS = {"take_at", "put_at", "add_at"}
FORMULAS = sorted(
    name for name, op in OPS.items() if op.formula is not None and name not in BY_ROWS
)


@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula_makes_what_the_op_makes(name: str) -> None:
    """Of arrays, and recorded; in the same types."""
    formula: Any = OPS[name].formula
    made = 0
    with quiet():
        for call in all_calls()[name]:
            first, *others = call.operands
            found = formula(np.asarray(first), *others, **call.params)
            if found is NotImplemented:
                continue
            made += 1
            several = [call.result] if type(call.result) is not tuple else call.result
            for one, other in zip(several, [found] if len(several) < 2 else found, strict=True):
                assert np.asarray(one).dtype == np.asarray(other).dtype
                tolerance = 1e-10 if np.asarray(one).dtype.itemsize == 8 else 1e-3
                np.testing.assert_allclose(one, other, rtol=tolerance, atol=1e-14)
    assert made


@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula_is_recorded(name: str) -> None:
    op: Any = OPS[name]
    with quiet():
        for call in all_calls()[name]:
            operands = [np.asarray(one) for one in call.operands]
            expected = op.formula(*operands, **call.params)
            if expected is not NotImplemented and all(one.dtype.kind in "fb" for one in operands):
                break
        program = Program(lambda *xs: op.formula(*xs, **call.params), tuple(operands), 0)
        for one, other in zip(program.value(), program.expected[0], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10)
    assert any(isinstance(leaf, Tensor) for leaf in program.recorded[1])
