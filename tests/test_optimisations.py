"""Every optimisation, alone and with all others, on random programs: against exact kernels.

Values and gradients are those of `exact=True` up to rounding, with the same infinities and nan,
dtypes, shapes and forms, also where the arguments hold special values. Limits are lowered, so that
small programs are optimised, and it is counted that they are: a kernel counts where its text is
another one without the optimisation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import tracejit as tj
from tests import patterns
from tests.against_exact import KINDS, OF_INFINITE, all_alike, all_close
from tests.by_day import by_day, some_by_day
from tests.programs import Kind, Program, arguments, programs
from tests.test_programs import FEW
from tracejit.autodiff.partition import residuals
from tracejit.compiler import bodies, pipeline
from tracejit.loops.bodies.loop_products import join_sums
from tracejit.passes.algebra import column_sums, contract, rewrites
from tracejit.passes.algebra.coefficients import gather_coefficients
from tracejit.passes.algebra.factoring import factor_sums
from tracejit.passes.algebra.outer_sums import join_outers
from tracejit.passes.algebra.reassociate import add_apart
from tracejit.passes.algebra.rewrites import BEFORE_SUMS, CALLS, STRENGTH
from tracejit.passes.algebra.solves import solve_together
from tracejit.passes.algebra.triangles import take_factors_apart
from tracejit.passes.exact.constant_folding import fold_constants
from tracejit.passes.framework.patterns import Pattern
from tracejit.passes.layout.layout_assignment import assign_layouts
from tracejit.passes.layout.slice_updates import update_slices
from tracejit.runtime import buffer_pool, workers
from tracejit.support.cost_model import assuming
from tracejit.targets.numpy.lower import flat_indices, flattening, improve, lower, sliding_windows
from tracejit.targets.numpy.plan import tiling
from tracejit.targets.numpy.text import constants, module

pytestmark = pytest.mark.filterwarnings("ignore:.*more than memory_budget")

# Where products overflow with either sign, the BLAS adds them up to an infinity or to nan, as their
# order is: it rounds no product. Larger numbers are for the tests of each pass.
SMALLEST = 5e-324
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e60, -1e60, 1e-300, SMALLEST)
NOTHING = residuals.Rematerialisation(frozenset(), 0, 0)


class Optimisation(NamedTuple):
    """One optimisation: what stands in where it is off, the limits where it is on, figures of the
    cost model where it is on and where it is off, options of `function`, and the programs that it
    is for: operations, arguments, how many operations.

    `passes` are those of IMPROVEMENTS that belong to it, `rows` those of the table of rewrites,
    `stages` those of the pipeline. One of `least` programs is to change.
    """

    kinds: Sequence[Kind]
    given: st.SearchStrategy[Any] = arguments()
    off: Sequence[tuple[Any, str, Any]] = ()
    limits: Sequence[tuple[Any, str, Any]] = ()
    figures: dict[str, Any] = {}  # noqa: RUF012
    figures_off: dict[str, Any] = {}  # noqa: RUF012
    passes: Sequence[Callable[..., Any]] = ()
    rows: Sequence[Pattern] = ()
    stages: Sequence[Callable[..., Any]] = ()
    options: dict[str, Any] = {}  # noqa: RUF012
    lengths: tuple[int, int] = (2, 8)
    least: int = 3


SQUARES = patterns.some(patterns.SQUARES, alike=True)
MATRICES = patterns.some(patterns.SQUARES[:2], alike=True)
ROWS = patterns.some(patterns.ROWS, alike=True)
TILES: dict[str, Any] = {
    "tiled_bytes": 0,
    "least_tiled_time": 0,
    "least_tiled_operations": 1,
    "tile_bytes": 320,
    "least_tile_bytes": 0,
    "halved_tile_bytes": 0,
    "least_tile_run": 1,
}
NO_TILES = {"tiled_bytes": 1 << 60}
TALL = patterns.some(patterns.TALL, alike=True)
STACKS = patterns.some(patterns.STACKS, alike=True)
LONG_LAST: dict[str, Any] = {
    "long_axis": 2,
    "longer_than_rows": 0,
    "least_moved_elements": 1,
    "least_moved_gain": -1e9,
}
BY_ROWS = (patterns.elementwise, patterns.elementwise, patterns.sums, patterns.normalised)
IN_PRODUCTS = (patterns.elementwise, patterns.matrices, patterns.rolled, patterns.sums)


def with_elementwise(kind: Kind) -> tuple[Kind, ...]:
    """Mostly this kind of operations."""
    return kind, kind, kind, patterns.elementwise


def rows(table: Sequence[Pattern], roots: str) -> list[Pattern]:
    """The rows of a table that replace these operations."""
    return [row for row in table if row.root in roots.split()]


STEPS = [row for row in CALLS if "sign" in str(row.after)]
BY_PATTERNS = (rewrites.reduce_strength, rewrites.reuse_results, rewrites.select_calls)
TABLES = {"STRENGTH": STRENGTH, "BEFORE_SUMS": BEFORE_SUMS, "CALLS": CALLS}
OPTIMISATIONS: dict[str, Optimisation] = {
    "powers": Optimisation(
        (patterns.powers, patterns.powers, patterns.elementwise),
        figures={"least_logaddexp_elements": 0},
        rows=rows(STRENGTH, "pow_to power_to square reciprocal logaddexp tril triu sum copy"),
    ),
    "factor_sums": Optimisation(
        with_elementwise(patterns.like_terms),
        passes=[factor_sums],
    ),
    "factor_sums in common": Optimisation(
        with_elementwise(patterns.common_factors),
        passes=[factor_sums],
    ),
    "gather_coefficients": Optimisation(
        (patterns.factors, patterns.factors, patterns.elementwise),
        passes=[gather_coefficients],
    ),
    "add_apart": Optimisation(
        with_elementwise(patterns.apart),
        SQUARES,
        passes=[add_apart],
    ),
    "contract": Optimisation(
        with_elementwise(patterns.contracted),
        SQUARES,
        figures={"least_contracted_products": 1, "least_contracted_terms": 1},
        passes=[contract.contract],
    ),
    "sum_columns_first": Optimisation(
        with_elementwise(patterns.columns),
        SQUARES,
        figures={"least_column_sum_elements": 1},
        passes=[column_sums.sum_columns_first],
    ),
    "update_slices": Optimisation(
        with_elementwise(patterns.edged), SQUARES, passes=[update_slices]
    ),
    "solve_together": Optimisation(
        with_elementwise(patterns.solved), SQUARES, passes=[solve_together]
    ),
    "substitute_factors": Optimisation(
        with_elementwise(patterns.factored),
        SQUARES,
        figures={"triangle_rows": 2, "least_triangle_blocks": 0},
        rows=rows(BEFORE_SUMS, "solve solve_vector"),
    ),
    "take_factors_apart": Optimisation(
        with_elementwise(patterns.likelihoods), MATRICES, passes=[take_factors_apart]
    ),
    "join_sums": Optimisation(with_elementwise(patterns.joined), SQUARES, passes=[join_sums]),
    "join_outers": Optimisation(with_elementwise(patterns.outers), SQUARES, passes=[join_outers]),
    "flatten_slices": Optimisation(
        with_elementwise(patterns.stencils),
        SQUARES,
        figures={"least_flat_slice": 1, "least_flat_share": 0.0},
        limits=[(flattening.Flattening, "gain", lambda *given: 1.0)],
        passes=[flattening.flatten_slices],
    ),
    "lower": Optimisation((patterns.sums, patterns.elementwise), passes=[lower.lower]),
    "lower in rows": Optimisation(
        (patterns.sums, patterns.elementwise),
        ROWS,
        figures={
            "blas_elements": 16,
            "vecdot_row": 2,
            "dense_row": 2,
            "least_block_rows": 1,
            "wide_row": 4,
            "least_einsum_elements": 1,
        },
        passes=[lower.lower],
    ),
    "dot_small": Optimisation(
        (patterns.matrices, patterns.elementwise),
        SQUARES,
        rows=rows(CALLS, " ".join(rewrites.DOTS)),
    ),
    "assign_layouts": Optimisation(
        (
            patterns.spread,
            patterns.spread,
            patterns.normalised,
            patterns.sums,
            patterns.matrices,
            patterns.blocks,
        ),
        TALL,
        figures=LONG_LAST,
        passes=[assign_layouts],
    ),
    "spell_log_sums": Optimisation(
        with_elementwise(patterns.log_sums), ROWS, rows=rows(STRENGTH, "logsumexp exp")
    ),
    "keep_logarithms": Optimisation(
        with_elementwise(patterns.softplus), ROWS, rows=rows(STRENGTH, "multiply add subtract")
    ),
    "step_by_sign": Optimisation(with_elementwise(patterns.steps), ROWS, rows=STEPS),
    "choose_by_bits": Optimisation(
        with_elementwise(patterns.kinked),
        figures={"least_choice_elements": 1},
        rows=[row for row in rows(CALLS, "where") if row not in STEPS],
        least=4,
    ),
    "read_diagonals": Optimisation(
        (patterns.diagonals, patterns.diagonals, patterns.elementwise),
        SQUARES,
        figures={"least_diagonal_elements": 1},
        rows=rows(BEFORE_SUMS, "sum"),
    ),
    "view_windows": Optimisation(
        (patterns.sliced, patterns.sliced, patterns.elementwise, patterns.sums),
        patterns.some(patterns.SLICED_SHAPES, alike=True),
        figures={"least_windows": 1, "most_window_channels": 99},
        passes=[sliding_windows.view_windows],
    ),
    "flatten_indices": Optimisation(
        with_elementwise(patterns.gathered),
        SQUARES,
        figures={"least_flat_places": 1, "table_share": 1 << 20},
        passes=[flat_indices.flatten_indices],
    ),
    "scatter_into_sums": Optimisation(
        with_elementwise(patterns.scattered),
        patterns.some(patterns.POINTS, alike=True),
        rows=rows(BEFORE_SUMS, "add subtract"),
    ),
    "fold_constants": Optimisation(
        with_elementwise(patterns.known), SQUARES, passes=[fold_constants], least=4
    ),
    "add_at": Optimisation(
        with_elementwise(patterns.known), SQUARES, rows=rows(BEFORE_SUMS, "add_at"), least=6
    ),
    "vectorise_loops": Optimisation(
        with_elementwise(patterns.rolled), SQUARES, stages=[pipeline.vectorise_loops]
    ),
    "detach": Optimisation(with_elementwise(patterns.updated), SQUARES, stages=[pipeline.detach]),
    "tiles": Optimisation(BY_ROWS, ROWS, figures=TILES, figures_off=NO_TILES),
    "products in tiles": Optimisation(IN_PRODUCTS, SQUARES, figures=TILES, figures_off=NO_TILES),
    "stacks in tiles": Optimisation(
        (patterns.spread, patterns.columns, patterns.diagonals, patterns.normalised),
        TALL,
        figures=TILES,
        figures_off=NO_TILES,
    ),
    "lower in tiles": Optimisation(
        BY_ROWS,
        ROWS,
        figures={**TILES, "left_to_tiles_bytes": 0},
        passes=[lower.lower],
    ),
    "threads": Optimisation(
        BY_ROWS,
        ROWS,
        limits=[(tiling, "is_for_one_blas_thread", lambda nodes, in_tiles: bool(in_tiles))],
        figures=TILES,
        options={"threads": 2},
    ),
    "recycle": Optimisation(
        BY_ROWS,
        ROWS,
        figures={**TILES, "pooled_bytes": 1},
        options={"recycle": True},
    ),
    "floats": Optimisation(
        (patterns.scalars,),
        patterns.numbers(),
        [(module, "pays", lambda plan: False)],
        figures={"python_call": 0, "float_made": 0, "scalar_made": 0},
        lengths=(4, 16),
    ),
    "constants": Optimisation(
        (patterns.factors, patterns.elementwise),
        off=[(constants, "dtype_at", lambda node, position: None)],
    ),
    "one BLAS thread": Optimisation(
        (patterns.matrices, patterns.elementwise),
        SQUARES,
        [(tiling, "is_for_one_blas_thread", lambda nodes, in_tiles: False)],
        figures={"threaded_multiplications": 1, "repaid_time": 800 / 300},
    ),
    "cut": Optimisation(
        (patterns.factors, patterns.elementwise, patterns.sums),
        SQUARES,
        [(bodies, "choose", lambda part, gradients, budget: NOTHING)],
        figures={"least_recomputed_bytes": 0, "uncached_bytes": 0},
    ),
    "release": Optimisation(
        patterns.EVERY,
        SQUARES,
        figures_off={"released_body_bytes": 1 << 60},
        figures={
            **dict.fromkeys(("released_body_bytes", "unreleased_bytes", "held_bytes"), 0),
            **dict.fromkeys(("held_part", "little_part", "released_part"), 1 << 60),
        },
        least=4,
    ),
    "memory budget": Optimisation(
        (patterns.elementwise, patterns.sums, patterns.matrices),
        SQUARES,
        options={"memory_budget": 200},
    ),
}
APART = ("memory budget", "lower in tiles")  # without tiles; sums of rows left to them
TOGETHER = tuple(name for name in OPTIMISATIONS if name not in APART)


@contextmanager
def only(*names: str) -> Iterator[None]:
    """These optimisations and no others, with their limits."""
    chosen = [OPTIMISATIONS[name] for name in names]
    passes = [one for each in chosen for one in each.passes]
    with pytest.MonkeyPatch.context() as patch:
        others = [each for name, each in OPTIMISATIONS.items() if name not in names]
        settled = [one for each in others for one in each.off]
        figures = [each.figures_off for each in others] + [each.figures for each in chosen]
        for place, attribute, value in [*settled, *(one for each in chosen for one in each.limits)]:
            patch.setattr(place, attribute, value)
        kept = tuple(one for one in improve.IMPROVEMENTS if one.run in (*passes, *BY_PATTERNS))
        patch.setattr(improve, "IMPROVEMENTS", kept)
        without = [one for each in others for one in each.stages]
        stages = tuple(one for one in pipeline.PASSES if one.run not in without)
        patch.setattr(pipeline, "PASSES", stages)
        left = [row for each in chosen for row in each.rows]
        for name, table in TABLES.items():
            patch.setattr(rewrites, name, tuple(row for row in table if row in left))
        with assuming(**dict(chain.from_iterable(each.items() for each in figures))):
            yield


def differentiable(program: Program) -> Callable[..., Any]:
    """The scalar that is differentiated: of scalars alone, one without sums."""
    text = program.loss_text
    if all(type(value) is np.float64 for value in program.values):
        text = text.replace("np.sum", "")
    return program.compiled(text)


def options_of(*names: str) -> dict[str, Any]:
    """The options of `function` for these optimisations."""
    return {key: value for name in names for key, value in OPTIMISATIONS[name].options.items()}


class Compiled:
    """A program as a function, and its value and gradients, for arguments of any type."""

    def __init__(self, program: Program, **options: Any) -> None:
        """Compile with these options of `function`."""
        self.value = tj.function(program.function, cache=False, **options)
        self.both = tj.value_and_grad(
            tj.function(differentiable(program), cache=False, **options), argnums=program.moving
        )

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """The value, and the value with the gradients."""
        return [self.value(*values), self.both(*values)]


class Compared(NamedTuple):
    """A program with some optimisations and without any rewrite, for one call after another."""

    program: Program
    names: Sequence[str]
    improved: Compiled
    exact: Compiled


def compared(pair: Compared, values: Sequence[Any], is_special: bool = False) -> Any:
    """The program and its gradients with these optimisations are as the exact kernels have them;
    the kernel of the gradients. Some of the values may be special."""
    program, names = pair.program, pair.names
    if is_special and "gather_coefficients" in names:
        values = [_without_smallest(value) for value in values]
    with only(*names), np.errstate(all="ignore"):
        found = pair.improved(values)
        kernel = pair.improved.both.kernel(*values)
    given = dict(zip([one.name for one in program.arguments], values, strict=True))
    inputs = [
        np.float64(given[name]) if type == "f8" else given[name]
        for name, type in kernel.signature["inputs"].items()
    ]
    doubles = [_in_double(value) for value in values]
    is_single = any(one is not other for one, other in zip(doubles, values, strict=True))
    with np.errstate(all="ignore"):
        expected = pair.exact(values)
        precise = pair.exact(doubles) if is_single else expected
        value, kept = kernel.forward(*inputs)
        gradients = kernel.backward(kept)
    apart = value, gradients if isinstance(gradients, tuple) else (gradients,)
    pairs = [*found, apart], [*expected, expected[1]]
    if is_special:
        all_alike(*pairs, kinds=OF_INFINITE if "sum_columns_first" in names else KINDS)
    else:
        all_close(*pairs, np.float32 if is_single else None, [*precise, precise[1]])
    return kernel


def _without_smallest(value: Any) -> Any:
    """The argument without the smallest number there is: half of it is zero, and infinity times
    that is nan, where a factor has not moved."""
    if isinstance(value, np.ndarray) and value.dtype == np.float64:
        value = value.copy(order="K")
        value[value == SMALLEST] = 0.0
    return np.float64(0.0) if isinstance(value, np.float64) and value == SMALLEST else value


def _in_double(value: Any) -> Any:
    """The argument in float64 where it is in float32."""
    is_single = isinstance(value, (np.ndarray, np.generic)) and value.dtype == np.float32
    return value.astype(np.float64) if is_single else value


REPLACED = {"threads": ("in_turn", workers), "recycle": ("empty", buffer_pool)}
"""Functions of a module that the runtime replaces, and where the others are from."""


def text_of(kernel: Any) -> str:
    """The module without its header, in which nothing but numbers of versions and keys differ."""
    text: str = kernel.source
    return text.split('"""', 2)[2]


def is_changed(program: Program, values: Sequence[Any], kernel: Any, names: Sequence[str]) -> bool:
    """Whether the kernel is another one without these optimisations."""
    if len(names) == 1 and names[0] in REPLACED:
        function, source = REPLACED[names[0]]
        found = getattr(kernel.module, function, None)
        return found is not None and found.__module__ == source.__name__
    with only():
        loss = tj.function(differentiable(program), cache=False)
        plain = tj.value_and_grad(loss, argnums=program.moving).kernel(*values)
    return text_of(plain) != text_of(kernel)


def with_special(values: Sequence[Any], rng: np.random.Generator) -> list[Any]:
    """The floating-point arguments with special values in a few places."""
    return [_special(value, rng) for value in values]


def _special(value: Any, rng: np.random.Generator) -> Any:
    if isinstance(value, np.float64):
        return np.float64(rng.choice(SPECIAL))
    if not isinstance(value, np.ndarray) or not value.size:
        return value
    changed = value.copy(order="K")
    for _ in range(2):
        changed[tuple(rng.integers(0, value.shape))] = rng.choice(SPECIAL)
    return changed


def programs_for(*names: str) -> st.SearchStrategy[Program]:
    """Programs with what these optimisations look for."""
    return st.one_of(
        [
            programs(each.kinds, each.given, each.lengths)
            for each in map(OPTIMISATIONS.__getitem__, names)
        ]
    )


def check(names: Sequence[str], count: int, least: int, some: settings = FEW) -> None:
    """`count` programs with these optimisations, of which one in `least` is changed by them."""
    seen: Counter[str] = Counter()

    @settings(some, max_examples=count, phases=[Phase.generate])
    @given(programs_for(*names))
    def checked(program: Program) -> None:
        improved, exact = Compiled(program, **options_of(*names)), Compiled(program, exact=True)
        pair = Compared(program, names, improved, exact)
        kernel = compared(pair, program.values)
        seen["programs"] += 1
        seen["changed"] += is_changed(program, program.values, kernel, names)
        rng = np.random.default_rng(seen["programs"])
        if seen["programs"] % 2:
            compared(pair, with_special(program.values, rng), is_special=True)
        else:
            compared(pair, program.in_float32())

    checked()
    assert seen["changed"] * least >= seen["programs"], seen


def test_every_improvement_is_here() -> None:
    passes = [one for each in OPTIMISATIONS.values() for one in each.passes]
    assert {each.run for each in improve.IMPROVEMENTS} == {*passes, *BY_PATTERNS}
    found = {row for each in OPTIMISATIONS.values() for row in each.rows}
    assert found == {row for table in TABLES.values() for row in table}


@pytest.mark.parametrize("name", some_by_day(OPTIMISATIONS, 4))
def test_alone(name: str) -> None:
    check([name], by_day(2, 6), OPTIMISATIONS[name].least)


def test_all_together() -> None:
    check(TOGETHER, by_day(4, 16), 2)


@pytest.mark.nightly
@pytest.mark.parametrize("name", OPTIMISATIONS)
def test_nightly_alone(name: str) -> None:
    some = settings(FEW, derandomize=False, print_blob=True)
    check([name], 1000, OPTIMISATIONS[name].least, some)


@pytest.mark.nightly
def test_nightly_all_together() -> None:
    check(TOGETHER, 3000, 2, settings(FEW, derandomize=False, print_blob=True))
