"""The shape of the package, read off its source: layers, imports, size, docstrings, tests.

`PACKAGES` is the house, lowest floor first. A module imports from lower floors, or from its own,
and never in a circle. The surface stands on top. `ROOMS` are the folders of a package, lowest
first, and imports among them go down, too. A module beside the rooms stands above them all.
"""

from __future__ import annotations

import ast
import graphlib
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.processes import python
from tracejit.ops.base.op import OPS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "tracejit"

PACKAGES = (
    "support", "convert", "ir", "ops", "passes", "trace", "loops", "autodiff", "solvers",
    "text", "targets",
    "cache", "runtime", "explorer", "debug", "compiler", "eager", "specialise", "exporting",
    "sharding", "api",
)  # fmt: skip
SURFACE = (
    "__init__", "__main__", "cli", "dask", "demo", "kernels", "numpy", "scipy", "autograd",
)  # fmt: skip
RANKS = {
    "version": 0,
    **{package: rank for rank, package in enumerate(PACKAGES)},
    **dict.fromkeys(SURFACE, len(PACKAGES)),
}

ROOMS = {
    "ops": (
        "base", "control", "elementwise", "reductions", "indexing", "shapes", "linalg",
        "statistics", "calculus", "scipy.base", "scipy.linear_algebra", "scipy.special", "scipy",
        "scipy.stats", "scipy.interpolate",
    ),
    "passes": ("framework", "exact", "algebra", "layout"),
    "trace": (
        "source", "guards", "structure", "tensor", "arguments", "capture", "recording", "convert",
        "control_flow", "reads", "rerolling",
    ),
    "loops": ("arrays", "bodies"),
    "autodiff": ("partition", "reverse", "forward", "request", "batch", "sparsity"),
    "targets": ("numpy.plan", "numpy.text", "numpy.lower"),
}  # fmt: skip
BESIDE_THE_ROOMS = {"tracejit.ops.areas"}

MAX_LINES = 800

# A docstring opens with what a thing is or does, not with a question about it.
QUESTION = re.compile(r"(What|Whether|How|Which|Where|When|Why|Who|If|Tell (if|why|what|how))\b")
MOST_QUESTIONS = 0

# Tensors are of two classes: `type(x) in TENSORS` tells if x is one.
OF_THE_BASE_CLASS = re.compile(r"\bis (not )?Tensor\b|\bin [({][^)}]*\bTensor\b")

RUNTIME_DEPENDENCIES = {"numpy", "astor"}
MAY_IMPORT_EXTRAS = (
    "tracejit.cli", "tracejit.dask", "tracejit.demo", "tracejit.scipy", "tracejit.ops.scipy",
    "tracejit.solvers",
)  # fmt: skip

# A module is tested by the file of the same place and name under tests/, or by one of these.
TESTED_BY = {
    "tests/api/test_control_flow.py": """
        api.carries autodiff.reverse.conditions loops.bodies.prune ops.control.control_flow
        trace.control_flow.conditions trace.control_flow.loops
    """,
    "tests/api/test_export.py": """
        exporting.argument_checks exporting.checked_call exporting.exported_module
        exporting.exporter exporting.kernel_package exporting.parameters exporting.spelling
        exporting.stubs
    """,
    "tests/api/test_transforms.py": """
        api.derivatives api.derived api.hessian api.jacobian api.jacobian_rows
    """,
    "tests/autograd/test_differential_operators.py": """
        autograd.boxes autograd.builtins autograd.core autograd.extend autograd.misc.flatten
        autograd.misc.optimizers autograd.numpy.fft autograd.numpy.linalg
        autograd.numpy.numpy_boxes autograd.numpy.numpy_vjps autograd.numpy.numpy_wrapper
        autograd.scipy.integrate autograd.scipy.linalg autograd.scipy.special
        autograd.scipy.stats.beta autograd.scipy.stats.chi2 autograd.scipy.stats.dirichlet
        autograd.scipy.stats.gamma autograd.scipy.stats.multivariate_normal
        autograd.scipy.stats.norm autograd.scipy.stats.poisson autograd.scipy.stats.t
        autograd.test_util autograd.tracer autograd.util autograd.vspaces autograd.wrap_util
    """,
    "tests/autodiff/batch/test_loop_fission.py": """
        loops.bodies.step_values loops.bodies.loop_stages loops.bodies.loop_terms
    """,
    "tests/convert/test_branches.py": """
        convert.glue convert.lowering convert.scopes convert.syntax
    """,
    "tests/eager/test_call_operation.py": """
        eager.traced_call
    """,
    "tests/eager/test_recompute.py": """
        trace.recording.replays
    """,
    "tests/eager/test_tape.py": """
        eager.constants eager.recorded_gradients
    """,
    "tests/explorer/test_page.py": """
        explorer.kernel_view explorer.show explorer.story
    """,
    "tests/trace/convert/test_numbers.py": """
        trace.convert.samples
    """,
    "tests/trace/convert/test_arrays.py": """
        trace.convert.masked
    """,
    "tests/ops/elementwise/test_python_math.py": """
        ops.scipy.special.python_functions
    """,
    "tests/ir/test_sizes.py": """
        ir.dims ir.size_parser ir.translation
    """,
    "tests/loops/arrays/test_loop_arrays.py": """
        loops.arrays.labelled_arrays loops.arrays.loop_cells
    """,
    "tests/ops/test_arranging.py": """
        ops.control.applying ops.indexing.indices ops.indexing.sets ops.shapes.building
        ops.shapes.metadata ops.shapes.padding ops.statistics.counting
    """,
    "tests/ops/test_table.py": """
        ops.base.forms ops.base.ufuncs ops.calculus.fourier ops.calculus.polynomials
        ops.calculus.series ops.calculus.slopes ops.control.marker_ops ops.elementwise.arithmetic
        ops.elementwise.choices ops.elementwise.comparison ops.elementwise.emath
        ops.elementwise.exponential ops.elementwise.trigonometric ops.elementwise.weak
        ops.linalg.batched_products ops.linalg.eigenvalues ops.linalg.least_squares
        ops.linalg.orthogonal ops.reductions.accumulations ops.reductions.folds
        ops.reductions.segments ops.scipy.base.calls ops.scipy.base.library ops.scipy.base.ufuncs
        ops.scipy.convolutions ops.scipy.filters ops.scipy.fourier ops.scipy.integrate
        ops.scipy.linalg ops.scipy.linear_algebra.banded ops.scipy.linear_algebra.cholesky
        ops.scipy.linear_algebra.inverses ops.scipy.linear_algebra.lu
        ops.scipy.linear_algebra.matrix_functions ops.scipy.linear_algebra.polar
        ops.scipy.linear_algebra.qr ops.scipy.linear_algebra.riccati
        ops.scipy.linear_algebra.solvers ops.scipy.linear_algebra.spectra
        ops.scipy.linear_algebra.structured ops.scipy.ndimage ops.scipy.signal
        ops.scipy.special.airy ops.scipy.special.bessel ops.scipy.special.distributions
        ops.scipy.special.elementary ops.scipy.special.elliptic ops.scipy.special.error_functions
        ops.scipy.special.gamma ops.scipy.special.harmonics ops.scipy.special.hypergeometric
        ops.scipy.special.integrals ops.scipy.special.polynomials ops.scipy.special.softmax
        ops.shapes.ranges ops.statistics.covariances ops.statistics.nan ops.statistics.quantiles
        ops.statistics.sampling
    """,
    "tests/ops/test_ufunc_methods.py": """
        ops.base.loops ops.reductions.methods
    """,
    "tests/passes/algebra/test_rewrites.py": """
        passes.algebra.conditions
    """,
    "tests/passes/layout/test_layout_assignment.py": """
        passes.framework.tiled
    """,
    "tests/scipy/test_ndimage.py": """
        ops.scipy.images
    """,
    "tests/scipy/test_interpolate.py": """
        ops.scipy.base.blending ops.base.twins ops.scipy.interpolate.bsplines
        ops.scipy.interpolate.cubic ops.scipy.interpolate.grids ops.scipy.interpolate.lines
        ops.scipy.interpolate.polynomials ops.scipy.interpolate.univariate
    """,
    "tests/scipy/test_signal.py": """
        ops.scipy.spectra
    """,
    "tests/scipy/test_spatial.py": """
        ops.scipy.distances ops.scipy.rotations ops.scipy.spatial
    """,
    "tests/scipy/test_stats.py": """
        ops.scipy.stats.bounded ops.scipy.stats.continuous ops.scipy.stats.densities
        ops.scipy.stats.discrete ops.scipy.stats.families ops.scipy.stats.multivariate
        ops.scipy.stats.positive ops.scipy.stats.statistics
    """,
    "tests/solvers/test_samples.py": """
        solvers.equations solvers.integrals solvers.minima solvers.roots
        solvers.trajectories
    """,
    "tests/solvers/test_calls.py": """
        ops.control.routines solvers.batching solvers.constraints solvers.functions
        solvers.integrate solvers.optimize solvers.routes
    """,
    "tests/specialise/test_reasons.py": """
        specialise.sentences
    """,
    "tests/support/test_config.py": """
        api.configuration runtime.tile_threads
    """,
    "tests/test_branches.py": """
        compiler.bodies ir.branches ops.control.branches passes.framework.join
        targets.numpy.text.branches trace.recording.decisions
    """,
    "tests/test_effects_order.py": """
        trace.recording.events
    """,
    "tests/test_numpy.py": """
        api.arrays
    """,
    "tests/test_sizes.py": """
        ops.base.sized targets.numpy.text.free_sizes trace.arguments.free_dimensions
    """,
    "tests/test_threads.py": """
        trace.recording.active trace.recording.forks
    """,
    "tests/trace/capture/test_captures.py": """
        trace.capture.classes trace.capture.functions trace.capture.walk
    """,
    "tests/trace/control_flow/test_turns.py": """
        trace.recording.reruns
    """,
    "tests/trace/recording/test_recorded_matrix.py": """
        ops.indexing.sparse trace.structure.sparse_products
    """,
    "tests/trace/convert/test_sparse.py": """
        ops.scipy.sparse
    """,
    "tests/trace/reads/test_reader.py": """
        trace.reads.attributes trace.reads.calls trace.reads.containers trace.reads.frames
        trace.reads.fresh trace.reads.notes
        trace.reads.noting trace.reads.rules
    """,
    "tests/trace/reads/test_captured.py": """
        specialise.read_guards
    """,
    "tests/trace/rerolling/test_moving_numbers.py": """
        trace.rerolling.inner_loops
    """,
    "tests/trace/rerolling/test_rerolling.py": """
        trace.rerolling.loop_search trace.rerolling.periods trace.rerolling.rolled_loops
        trace.rerolling.stacked_rows trace.rerolling.step_columns trace.rerolling.step_operands
    """,
    "tests/trace/tensor/test_writes.py": """
        ops.indexing.updates trace.tensor.memory
    """,
}
TESTED_ELSEWHERE = {
    f"tracejit.{name}": test for test, names in TESTED_BY.items() for name in names.split()
}
NOTHING_TO_TEST = {"tracejit.version", "tracejit.__main__"}

# The packages whose thresholds are figures of the cost model, and the numbers there that are none.
OF_THE_COST_MODEL = {
    "passes", "loops", "autodiff", "text", "targets", "runtime", "compiler",
}  # fmt: skip
NO_THRESHOLDS = {
    "tracejit.targets.numpy.text.constants": {"EXACT_INT", "LONGEST_NAME"},
    "tracejit.text.header": {"INDENT", "MOST_NAMES"},
    "tracejit.text.lines": {"WIDTH"},
    "tracejit.text.parentheses": {"_TUPLE", "_COMPARISON", "_SIGN", "_CONSTANT", "_WHOLE"},
    "tracejit.compiler.pipeline": {"IR_VERSION"},
    "tracejit.passes.algebra.ranges": {"ROUNDING"},
    "tracejit.passes.algebra.sum_of_products": {"SMALLEST", "LARGEST", "_TINY", "_HUGE"},
    "tracejit.runtime.allocator": {"M_TRIM_THRESHOLD"},
    "tracejit.runtime.blas": {"_OWN_THREADS"},
    "tracejit.runtime.workers": {"SECONDS_TO_END"},
}
# Passes with thresholds of their own, until they are rewritten.
WITH_THRESHOLDS = {"tracejit.passes.algebra.triangles"}

# Calls that import the module they name. At rank 10 that is how something optional is deferred.
LOADERS = {"import_module", "__import__", "run_module"}


class Import(NamedTuple):
    """One import: of `target`, a module, at `line`; `nested` where it stands inside a function."""

    target: str
    line: int
    nested: bool


class Module(NamedTuple):
    """A file under tracejit/ and what was read in it; `name` is what an import calls it."""

    name: str
    path: Path
    tree: ast.Module
    lines: int

    @property
    def layer(self) -> str:
        """The key of this module in `RANKS`."""
        return layer(self.name)

    def at(self, line: int) -> str:
        """A place in this file, as editors understand it."""
        return f"{self.path.relative_to(ROOT)}:{line}"


def layer(name: str) -> str:
    """The key in `RANKS` of the module called `name`: `tracejit.ops.shapes.shapes` is in `ops`."""
    return [*name.split("."), "__init__"][1]


def read(path: Path) -> Module:
    """Parse one file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    text = path.read_text(encoding="utf-8")
    return Module(name, path, ast.parse(text, str(path)), text.count("\n"))


@cache
def modules() -> dict[str, Module]:
    """All modules, by name, read when a test first asks: each process of a run collects this."""
    return {module.name: module for module in map(read, sorted(PACKAGE.rglob("*.py")))}


@cache
def stubs() -> list[Module]:
    """What type checkers read: the types of a module, or types that stand in a stub alone."""
    return [read(path) for path in sorted(PACKAGE.rglob("*.pyi"))]


def imports(module: Module) -> list[Import]:
    """All imports of a module: at its head, under `if TYPE_CHECKING`, in functions, by name."""

    def visit(node: ast.AST, nested: bool) -> Iterator[Import]:
        match node:
            case ast.Import():
                for alias in node.names:
                    yield Import(alias.name, node.lineno, nested)
            case ast.ImportFrom():
                base = absolute(module, node)
                for alias in node.names:
                    inner = f"{base}.{alias.name}"
                    yield Import(inner if inner in modules() else base, node.lineno, nested)
            case ast.Call(
                func=ast.Attribute(attr=called) | ast.Name(id=called),
                args=[ast.Constant(value=str(target)), *_],
            ) if called in LOADERS:
                yield Import(target, node.lineno, nested=False)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                nested = True
        for child in ast.iter_child_nodes(node):
            yield from visit(child, nested)

    return list(visit(module.tree, nested=False))


def absolute(module: Module, node: ast.ImportFrom) -> str:
    """The module that `from X import ...` names, the dots of a relative import resolved."""
    if not node.level:
        return node.module or ""
    package = module.name.split(".")
    drop = node.level - (module.path.name == "__init__.py")
    return ".".join(package[: len(package) - drop] + ([node.module] if node.module else []))


@cache
def imports_by_module() -> dict[str, list[Import]]:
    """The imports of every module, by its name."""
    return {name: imports(module) for name, module in modules().items()}


def ours(target: str) -> bool:
    """Return whether an import is of tracejit itself."""
    return target.split(".")[0] == "tracejit"


def check(rule: Callable[[Module], Iterator[str]]) -> None:
    """Fail with everything that `rule` says of any module, one line each."""
    assert modules(), f"no module found under {PACKAGE}"
    said = [line for module in modules().values() for line in rule(module)]
    if said:
        pytest.fail("\n".join(said), pytrace=False)


def test_every_module_has_a_layer() -> None:
    def rule(module: Module) -> Iterator[str]:
        if module.layer not in RANKS:
            yield f"{module.at(1)} {module.name} is in no layer: {module.layer!r} has no rank"

    check(rule)


def test_imports_go_down() -> None:
    def rule(module: Module) -> Iterator[str]:
        rank = RANKS.get(module.layer, 0)
        for target, line, _ in imports_by_module()[module.name]:
            if ours(target) and RANKS.get(layer(target), 0) > rank:
                yield (
                    f"{module.at(line)} {module.name} (rank {rank}) imports {target} "
                    f"(rank {RANKS[layer(target)]}), which is above it"
                )

    check(rule)


def room(name: str) -> str | None:
    """The room of the module called `name` in its package; None at the package's own level."""
    folders = name.split(".")
    if modules()[name].path.name != "__init__.py":
        folders.pop()
    return ".".join(folders[2:]) or None if layer(name) in ROOMS else None


def test_every_room_has_a_rank() -> None:
    found = {(layer(name), inner) for name in modules() if (inner := room(name))}
    ranked = {(package, inner) for package, rooms in ROOMS.items() for inner in rooms}
    # A folder that holds nothing but rooms, as targets/numpy, needs none.
    outer = {(package, inner.split(".")[0]) for package, inner in ranked if "." in inner}
    assert ranked <= found <= ranked | outer


def test_imports_among_rooms_go_down() -> None:
    def rule(module: Module) -> Iterator[str]:
        rooms = ROOMS.get(module.layer, ())
        own = room(module.name)
        if own not in rooms:
            return
        for target, line, _ in imports_by_module()[module.name]:
            if target in modules() and layer(target) == module.layer:
                if room(target) not in rooms[: rooms.index(own) + 1]:
                    yield f"{module.at(line)} {module.name} imports {target}, which is above it"

    check(rule)


def test_modules_of_packages_with_rooms_stand_in_a_room() -> None:
    beside = {
        module.name
        for module in modules().values()
        if module.layer in ROOMS and not module.path.name == "__init__.py" and not room(module.name)
    }
    assert beside == BESIDE_THE_ROOMS


def test_imports_of_stubs_go_down() -> None:
    assert stubs()
    for stub in stubs():
        for target, line, _ in imports(stub):
            assert RANKS.get(layer(target), 0) <= RANKS[stub.layer] or not ours(target), (
                f"{stub.at(line)} imports {target}, which is above it"
            )


class Parameter(NamedTuple):
    """One parameter of a signature; `default` is its text, None where it must be given."""

    name: str
    kind: str
    default: str | None


def parameters(function: ast.FunctionDef) -> list[Parameter]:
    """The parameters of a signature, in order."""
    given = function.args
    positional = [(one, "positional only") for one in given.posonlyargs]
    positional += [(one, "positional") for one in given.args]
    rest = [(given.vararg, "*")] if given.vararg else []
    rest += [(one, "keyword only") for one in given.kwonlyargs]
    rest += [(given.kwarg, "**")] if given.kwarg else []
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(given.defaults))
    defaults += given.defaults
    defaults += [None] if given.vararg else []
    defaults += given.kw_defaults
    defaults += [None] if given.kwarg else []
    return [
        Parameter(one.arg, kind, ast.unparse(default) if default else None)
        for (one, kind), default in zip(positional + rest, defaults, strict=True)
    ]


def signatures(module: Module) -> dict[str, list[list[Parameter]]]:
    """The signatures of the functions of a module or stub: of one with overloads several."""
    found: dict[str, list[list[Parameter]]] = {}
    for node in module.tree.body:
        if isinstance(node, ast.FunctionDef) and node.name != "__getattr__":
            found.setdefault(node.name, []).append(parameters(node))
    return found


def test_stubs_say_what_their_modules_do() -> None:
    """An overload may ask for an argument that has a default, which may make it keyword only."""
    described = [stub for stub in stubs() if stub.name in modules() and signatures(stub)]
    assert described
    for stub in described:
        module = modules()[stub.name]
        written = signatures(module)
        told = signatures(stub)
        public = {name for name in written if name[0] != "_"}
        assert public <= told.keys() <= written.keys(), stub.at(1)
        for name, overloads in told.items():
            (plain,) = written[name]  # the overloads stand in the stub alone
            assert all(disagreement(overload, plain) is None for overload in overloads), (
                f"{stub.at(1)} {name}: {[disagreement(one, plain) for one in overloads]}"
            )
            assert {*plain} <= {one for overload in overloads for one in overload}, stub.at(1)


def disagreement(overload: list[Parameter], plain: list[Parameter]) -> str | None:
    """The first parameter of an overload that is not as the function has it."""
    if [one.name for one in overload] != [one.name for one in plain]:
        return f"the parameters are {', '.join(one.name for one in overload)}"
    for one, other in zip(overload, plain, strict=True):
        demanded = one.default is None and other.default is not None
        kinds = {other.kind, "keyword only" if demanded else other.kind}
        if one.kind not in kinds or not (demanded or one.default == other.default):
            return f"{one} is not {other}"
    return None


def test_stubs_are_imported_under_type_checking_alone() -> None:
    alone = {stub.name for stub in stubs()} - modules().keys()

    def rule(module: Module) -> Iterator[str]:
        for node in outside_type_checking(module.tree):
            if isinstance(node, ast.ImportFrom) and absolute(module, node) in alone:
                yield f"{module.at(node.lineno)} imports a stub at run time"

    check(rule)


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes right inside another that are no expressions: no statement is inside one."""
    return (node for node in ast.iter_child_nodes(tree) if not isinstance(node, ast.expr))


def outside_type_checking(tree: ast.AST) -> Iterator[ast.AST]:
    """The statements of a module that run."""
    for child in statements(tree):
        if isinstance(tree, ast.If) and ast.unparse(tree.test) == "TYPE_CHECKING":
            if child in tree.body:
                continue
        yield child
        yield from outside_type_checking(child)


def test_imports_name_modules_that_exist() -> None:
    known = modules().keys() | {stub.name for stub in stubs()}

    def rule(module: Module) -> Iterator[str]:
        for target, line, _ in imports_by_module()[module.name]:
            if ours(target) and target not in known:
                yield f"{module.at(line)} {module.name} imports {target}, which is not there"

    check(rule)


def test_imports_make_no_circle() -> None:
    graph = {
        name: {target for target, _, _ in found if ours(target)}
        for name, found in imports_by_module().items()
    }
    try:
        graphlib.TopologicalSorter(graph).prepare()
        circle = []
    except graphlib.CycleError as error:
        circle = error.args[1][::-1]  # it goes from the imported to the importing
    assert not circle, " imports ".join(circle)


def test_no_import_inside_a_function() -> None:
    def rule(module: Module) -> Iterator[str]:
        for target, line, nested in imports_by_module()[module.name]:
            if nested:
                yield f"{module.at(line)} {target} is imported inside a function, not at the head"

    check(rule)


def test_only_the_standard_library_numpy_and_astor_are_imported() -> None:
    allowed = sys.stdlib_module_names | RUNTIME_DEPENDENCIES

    def rule(module: Module) -> Iterator[str]:
        for target, line, _ in imports_by_module()[module.name]:
            known = ours(target) or target.split(".")[0] in allowed
            if not known and not module.name.startswith(MAY_IMPORT_EXTRAS):
                yield f"{module.at(line)} {module.name} imports {target}, no dependency of tracejit"

    check(rule)


def test_files_stay_short() -> None:
    def rule(module: Module) -> Iterator[str]:
        if module.lines > MAX_LINES:
            yield f"{module.at(MAX_LINES)} {module.name} has {module.lines} lines"

    check(rule)


def test_thresholds_are_figures_of_the_cost_model() -> None:
    def rule(module: Module) -> Iterator[str]:
        if module.layer not in OF_THE_COST_MODEL or module.name in WITH_THRESHOLDS:
            return
        for name, line in numbers_of(module):
            if name not in NO_THRESHOLDS.get(module.name, ()):
                yield f"{module.at(line)} {name} is a number: make it a figure of the cost model"

    check(rule)


def test_numbers_that_are_no_thresholds_are_there() -> None:
    gone = [
        f"{name}.{number}"
        for name, numbers in NO_THRESHOLDS.items()
        for number in numbers - {found for found, _ in numbers_of(modules()[name])}
    ]
    assert not gone


def numbers_of(module: Module) -> Iterator[tuple[str, int]]:
    """The constants of a module that are numbers, or tuples or ranges of them, and their lines."""
    for node in module.tree.body:
        match node:
            case ast.Assign(targets=[target], value=value):
                pass
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                pass
            case _:
                continue
        if is_number(value):
            yield from [(name, node.lineno) for name in ast.unparse(target).strip("()").split(", ")]


def is_number(value: ast.expr) -> bool:
    """Return whether an expression is arithmetic of numbers that it writes out, or several."""
    match value:
        case ast.Constant():
            return type(value.value) in (int, float)
        case ast.UnaryOp(operand=operand):
            return is_number(operand)
        case ast.BinOp(left=left, right=right):
            return is_number(left) and is_number(right)
        case ast.Tuple(elts=parts) | ast.Call(func=ast.Name(id="range"), args=parts):
            return bool(parts) and all(map(is_number, parts))
    return False


def test_modules_public_classes_and_public_functions_have_docstrings() -> None:
    def rule(module: Module) -> Iterator[str]:
        if not ast.get_docstring(module.tree):
            yield f"{module.at(1)} {module.name} has no docstring"
        for node in definitions(module.tree.body):
            public = not node.name.startswith("_")
            if public and not is_overload(node) and not ast.get_docstring(node):
                yield f"{module.at(node.lineno)} {module.name}.{node.name} has no docstring"

    check(rule)


def documented(tree: ast.AST) -> Iterator[ast.AST]:
    """A module and all that is defined in it, at any depth."""
    yield tree
    for child in statements(tree):
        yield from documented(child)


def test_docstrings_open_with_what_things_are_or_do() -> None:
    found = [
        f"{module.at(node.body[0].lineno)} {text.splitlines()[0]}"
        for module in modules().values()
        for node in documented(module.tree)
        if isinstance(node, ast.Module | Definition)
        if QUESTION.match(text := ast.get_docstring(node) or "")
    ]
    assert len(found) <= MOST_QUESTIONS, "\n".join(found)


Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def definitions(body: list[ast.stmt]) -> Iterator[Definition]:
    """The functions and classes that a module defines, also under `if` and `try`."""
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node
            case ast.If():
                yield from definitions(node.body + node.orelse)
            case ast.Try():
                yield from definitions(node.body + node.orelse + node.finalbody)


def is_overload(node: Definition) -> bool:
    """Return whether this is one of the signatures of a function, rather than the function."""
    return any(ast.unparse(decorator).endswith("overload") for decorator in node.decorator_list)


def mirror(module: Module) -> str:
    """Where the tests of a module belong."""
    *packages, name = module.name.split(".")[1:]
    return "/".join(["tests", *packages, f"test_{name}.py"])


def test_tests_mirror_the_tree() -> None:
    def rule(module: Module) -> Iterator[str]:
        if module.path.name == "__init__.py" or module.name in NOTHING_TO_TEST:
            return
        expected = TESTED_ELSEWHERE.get(module.name, mirror(module))
        if not (ROOT / expected).is_file():
            yield f"{module.at(1)} {module.name} has no tests: {expected} is missing"

    check(rule)


def test_tested_elsewhere_lists_only_what_is() -> None:
    gone = [name for name in TESTED_ELSEWHERE if name not in modules()]
    mirrored = [
        name
        for name in TESTED_ELSEWHERE
        if name in modules() and (ROOT / mirror(modules()[name])).is_file()
    ]
    assert not gone, f"no such modules: {gone}"
    assert not mirrored, f"these have tests of their own: {mirrored}"


def test_importing_tracejit_imports_no_extra() -> None:
    """No optional package is imported, and no warning gets out (astor has one for Python 3.12)."""
    extras = {"scipy", "sklearn", "pytest", "hypothesis", "pandas", "numba", "dask", "rich"}
    script = f"import sys, tracejit\nprint(*sorted({extras} & set(sys.modules)))"
    assert python(script).split() == []


def test_no_type_is_compared_with_the_base_class_of_tensors() -> None:
    for path in sorted(PACKAGE.rglob("*.py")):
        for line in path.read_text().splitlines():
            assert not ("type(" in line and OF_THE_BASE_CLASS.search(line)), f"{path}: {line}"


# Modules outside ops/ that hold several names of ops, or compare one, and why. What an op is, its
# record declares: see `Op`. A pass that rewrites one particular op names it by its record.
NAMES_OF_OPS = {
    "tracejit.trace.recording.generators": "methods of a NumPy Generator",
    "tracejit.ir.printer": "how the marker of overrides is printed",
    "tracejit.targets.numpy.lower.lower": "the three spellings of a square",
    "tracejit.passes.layout.axes": "how each op is made with its axes in another order",
    "tracejit.passes.layout.layout_assignment": "what each op takes with its axes in another order",
    "tracejit.targets.numpy.lower.flattening": "sums and products, which may be computed in gaps",
    "tracejit.targets.numpy.lower.flat_indices": "gathers and sums at an index",
    "tracejit.passes.layout.slice_updates": "what puts arrays together of parts",
    "tracejit.targets.numpy.lower.improve": "what passes have nothing to do without",
    "tracejit.passes.algebra.rewrites": "the table of what is rewritten",
    "tracejit.passes.algebra.conditions": "what comparisons make has the bits of 0 and 1",
    "tracejit.passes.framework.patterns": "how operators are spelled",
    "tracejit.passes.algebra.solves": "the calls of LAPACK that become one",
    "tracejit.passes.algebra.triangles": "the parts of a cotangent that are taken apart",
}  # fmt: skip


def several_ops(node: ast.AST) -> list[str]:
    """The names of ops that a collection of nothing else holds, or with which one is compared."""
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            found, least = parts, 2
        case ast.Dict(keys=parts):
            found, least = parts, 2
        case ast.Compare(left=ast.Attribute(value=ast.Attribute(attr="op"), attr="name")):
            found, least = node.comparators, 1
        case ast.Match(subject=subject, cases=cases) if ".op.name" in ast.unparse(subject):
            found = [
                p.value for one in cases for p in ast.walk(one) if isinstance(p, ast.MatchValue)
            ]
            least = 1
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="split")):
            found, least = [ast.Constant(word) for word in text.split()], 2
        case _:
            return []
    names = [one.value for one in found if isinstance(one, ast.Constant)]
    are_ops = len(names) >= least and all(type(one) is str and one in OPS for one in names)
    return names if are_ops else []


def test_what_an_op_is_is_asked_of_its_record() -> None:
    def rule(module: Module) -> Iterator[str]:
        if module.layer == "ops" or module.name in NAMES_OF_OPS:
            return
        for node in ast.walk(module.tree):
            if names := several_ops(node):
                yield (
                    f"{module.at(node.lineno)} names {', '.join(names)}: let a trait of the op "
                    "answer, or compare the op itself"
                )

    check(rule)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("SUMS = ('add', 'subtract')", 2),
        ("TOTALS = {'sum': 1, 'max': 2}", 2),
        ("ALL = frozenset('sum max min'.split())", 3),
        ("node.op.name == 'exp'", 1),
        ("node.op.name in ('exp', 'log')", 2),
        ("match node.op.name, node.operands:\n    case 'exp', (x,): pass", 1),
        ("emit(graph, node, 'exp', (x,))", 0),
        ("('exp', 'mean')", 0),
        ("node.op is exp", 0),
    ],
)
def test_names_of_ops_are_found(text: str, count: int) -> None:
    assert max(len(several_ops(node)) for node in ast.walk(ast.parse(text))) == count
