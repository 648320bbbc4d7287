"""Rewrites: the table of patterns.

Each row has the expression before, the expression after, the bits that the result keeps, where it
holds, where it pays, and the meaning of other names; `conditions` has the functions. `EXACT` and
`SIGN_OF_NAN` are for `simplify`. `STRENGTH` is strength reduction, before sums and products are
reassociated. `BEFORE_SUMS` comes before sums become products with ones, `CALLS` after that: it
chooses the call that is fastest for the sizes at hand.

To add a rewrite, add a row here and an example to tests/passes/algebra/test_rewrites.py, of an
exact one to test_simplify.py: see docs/contributing.md.
"""

from __future__ import annotations

from tracejit.ir.graph import Graph
from tracejit.ops.linalg import products
from tracejit.passes.algebra import conditions as given
from tracejit.passes.framework.patterns import Pattern, apply_patterns

# fmt: off
# Without a change of bits
EXACT = (
    Pattern("x * 1.0", "x", "bits", [given.is_not_complex]),
    Pattern("x * 1.0", "as_scalar(x, dtype=dtype)", "bits", [given.is_weak_real], let=given.DTYPE),
    Pattern("x / 1.0", "x", "bits", [given.is_not_complex]),
    Pattern("x / 1.0", "as_scalar(x, dtype=dtype)", "bits", [given.is_weak_real], let=given.DTYPE),
    Pattern("-(-x)", "x", "bits"),
    *(Pattern(f"{op}(x, exponent=n)", "x", "bits", [given.one_of("n", (1,))])
      for op in ("pow_to", "power_to")),
    Pattern("a - c", "a + d", "bits", [given.is_negative_number], let=given.OPPOSITE),
    Pattern("absolute(-x)", "absolute(x)", "bits", [given.is_strong_float]),
    Pattern("conjugate(x)", "x", "bits", [given.real("x")]),
    Pattern("x + x", "2.0 * x", "bits", [given.is_strong_float]),
    Pattern("logical_and(x, x)", "x", "bits"),
    Pattern("logical_and(both := logical_and(x, y), y)", "both", "bits"),
    Pattern("logical_and(x, always)", "x", "bits", [given.always(True)]),
    Pattern("where(always, x, y)", "x", "bits", [given.always(True)]),
    Pattern("where(always, x, y)", "y", "bits", [given.always(False)]),
    *(Pattern(f"where({both}(always, c), x, y)", "y", "bits", [given.always(False)])
      for both in ("logical_and", "bitwise_and")),
    Pattern("logical_or(x, x)", "x", "bits"),
    Pattern("logical_or(both := logical_or(x, y), y)", "both", "bits"),
    Pattern("copy(new := stack(*rest))", "new", "bits"),
    Pattern("above_minus_infinity(y := logaddexp(c, x))", "y", "bits", [given.is_finite]),
)
SIGN_OF_NAN = (
    Pattern("a + -b", "a - b", "bits but for the sign of nan", [given.is_second]),
    Pattern("a - -b", "a + b", "bits but for the sign of nan", [given.is_second]),
    Pattern("a + -1.0 * b", "a - b", "bits but for the sign of nan", [given.real("a")]),
)

# Strength reduction

POWERS = {
    2: "x * x",
    3: "x * x * x",
    4: "(x * x) * (x * x)",
    5: "(x * x) * (x * x) * x",
    6: "(x * x * x) * (x * x * x)",
    7: "(x * x * x) * (x * x * x) * x",
    8: "((x * x) * (x * x)) * ((x * x) * (x * x))",
    -1: "1.0 / x",
    -2: "(1.0 / x) * (1.0 / x)",
    -3: "(1.0 / x) * (1.0 / x) * (1.0 / x)",
    -4: "((1.0 / x) * (1.0 / x)) * ((1.0 / x) * (1.0 / x))",
}
"""|x ** 2| lies between 1 and |x ** n|: products overflow and underflow where the power does."""
ROOTS = {
    0.5: "sqrt(x)",
    1.5: "x * sqrt(x)",
    2.5: "x * (x * sqrt(x))",
    3.5: "x * (x * (x * sqrt(x)))",
    -0.5: "1.0 / sqrt(x)",
    -1.5: "(1.0 / x) * sqrt(1.0 / x)",
    -2.5: "(1.0 / x) * ((1.0 / x) * sqrt(1.0 / x))",
    -3.5: "(1.0 / x) * ((1.0 / x) * ((1.0 / x) * sqrt(1.0 / x)))",
}
"""Where x is -0.0 or -inf, NumPy's root and power differ."""


LOG_SUM = (
    "(top := max(x, axis=axes, keepdims=keeps)) + log(maximum(sum("
    "exp(x - minimum(maximum(top, least), most)), axis=axes, keepdims=keeps), one))"
)
"""Where the top is infinite a finite number takes its place, and the sum is at least 1."""
LOG_SUM_PARTS = (
    "((m := max(x)) + log(s := maximum(sum(p := exp(x - minimum(maximum(m, least), most))), 1.0)))"
)
STEP = ("where({step}, 0.0)", "or_zero({step}, chosen=True)")
QUOTIENT = "g / ((e := exp(-absolute(z))) + 1.0) * e * sign(z)"
LOGARITHM = "expm1(-log1p(exp(-absolute(z)))) * sign(z)"
LOGISTIC = (
    ("{step} - {quotient}", ""),
    ("{step} - (rest + {quotient})", " - rest"),
    ("{step} - rest - {quotient}", " - rest"),
    ("{logarithm} + {step}", ""),
    ("{logarithm} - rest + {step}", " - rest"),
    ("{step} - rest + {logarithm}", " - rest"),
)
"""The slope of maximum(z, 0.0) + log1p(exp(-absolute(z))), in the forms that derivatives have."""

STRENGTH = (
    # scipy.special.logsumexp takes ten times as long. Its derivative becomes a quotient.
    Pattern("logsumexp(x, axis=axis, keepdims=keepdims, return_sign=False)", LOG_SUM,
            "4 ulp, no warnings", [given.real("x"), given.takes_all(True)], let=given.LOG_SUM),
    Pattern("logsumexp(x, axis=axis, keepdims=keepdims, return_sign=False)",
            f"squeeze({LOG_SUM}, axis=axes)",
            "4 ulp, no warnings", [given.real("x"), given.takes_all(False)], let=given.LOG_SUM),
    *(
        Pattern(f"exp(x - where((y := {log_sum}) == -inf, 0.0, y))", "p / s",
                "4 ulp", [given.real("x"), given.is_clipped_to_finite])
        for form in ("{}", "reshape({})", "reshape(squeeze({}))")
        for log_sum in (form.format(LOG_SUM_PARTS),)
    ),
    # The slope of a logistic loss is a sigmoid: one tanh for a quotient, a sign and a choice.
    *(
        Pattern(form.format(step=step, quotient=QUOTIENT, logarithm=logarithm),
                f"h * tanh(0.5 * z) + h{rest}", "4 ulp", [given.is_logistic])
        for form, rest in LOGISTIC
        for logarithm in ((LOGARITHM, f"g * {LOGARITHM}") if "logarithm" in form else ("",))
        for step in (one.format(step="z >= 0.0, where(z == 0.0, h, w)") for one in STEP)
    ),
    *(
        Pattern(f"{op}(x, exponent=n)", after, "4 ulp of the result", [given.real("x"), *where])
        for op in ("pow_to", "power_to")
        for after, where in (
            (lambda match: POWERS[match["n"]], [given.one_of("n", POWERS)]),
            (lambda match: ROOTS[match["n"]], [given.one_of("n", ROOTS), given.nonnegative("x")]),
        )
    ),
    Pattern("copy(x)", "x", "bits", [given.is_no_view]),
    # A loop that adds products begins with zeros.
    Pattern("zeros + p", "p", "bits but for the sign of a zero",
            [given.real("p"), given.alike("p"), given.is_product_on_zeros]),
    Pattern("pow_to(x, exponent=0.5)", "sqrt(x)", "bits", [given.real("x"), given.is_array]),
    Pattern("square(x)", "x * x", "bits", [given.real("x")]),
    Pattern("reciprocal(x)", "1.0 / x", "bits", [given.real("x")]),
    Pattern("logaddexp(0.0, x)", "maximum(0.0, x) + log1p(exp(-absolute(x)))",
            "2 ulp", [given.real("x"), given.are_of_one_dtype], given.is_long_logaddexp),
    Pattern("logaddexp(c, x)", "maximum(c, x) + log1p(exp(-absolute(c - x)))",
            "2 ulp", [given.real("x"), given.are_of_one_dtype, given.is_finite],
            given.is_long_logaddexp),
    # inf - inf is nan, which fmin makes inf.
    Pattern("logaddexp(x, y)", "maximum(x, y) + log1p(exp(-fmin(absolute(x - y), inf)))",
            "2 ulp", [given.real("x", "y"), given.are_of_one_dtype], given.is_long_logaddexp),
    # exp(-v) is at most 1, so that neither overflows. The logarithm is computed in its place.
    Pattern("g / (d := (e := exp(-v)) + 1.0) * e", "g * -expm1(-log1p(e))",
            "3 ulp", [given.real("e"), given.alike("d", "e"), given.nonnegative("v")],
            given.is_small_array, there="log1p(e)", closed=True),
    Pattern("tril(x, k=k)", "where(mask, x, 0.0)",
            "bits", [given.real("x"), given.has_small_mask], let=given.mask_up_to(0)),
    Pattern("triu(x, k=k)", "where(mask, 0.0, x)",
            "bits", [given.real("x"), given.has_small_mask], let=given.mask_up_to(-1)),
)

# Before sums become products
BEFORE_SUMS = (
    # The adjoint of a gather by a known index. np.bincount takes half of the time of np.add.at for
    # few elements, and one flat index a third of that of several, or of rows. A product with a
    # matrix of ones would be as fast, but for it inf and nan are everywhere.
    Pattern("add_at(g, *at, shape=shape, index=index)",
            "bincount(places, g, size=size, minlength=size)",
            "4 ulp", [given.is_known_index, given.is_double_vector], given.is_short, given.PLACES),
    Pattern("add_at(g, *at, shape=shape, index=index)",
            "reshape(bincount(places, reshape(g, shape=flat), size=size, minlength=size),"
            " shape=shape)",
            "4 ulp", [given.is_known_index, given.is_double], given.is_short, given.PLACES),
    Pattern("add_at(g, *at, shape=shape, index=index)",
            "reshape(add_at(reshape(g, shape=flat), places, shape=whole, index=first),"
            " shape=shape)",
            "bits", [given.is_known_index], given.is_of_several_axes, given.PLACES),
    # Into the rest of a sum instead of zeros that are added then.
    *(
        Pattern(f"rest {sign} (s := {scatter}(g, *at, index=index))",
                f"{update}(rest, *at, g, index=index, unique={unique})",
                "4 ulp", [given.is_scattered], closed=True)
        for scatter, unique in (("add_at", False), ("put_at", True))
        for sign, update in (("+", "add_item"), ("-", "subtract_item"))
    ),
    # The gradient of a diagonal needs the sum, that of a triangle the product.
    *(
        Pattern(f"sum(p := a * b, axis=axis, keepdims={keepdims})",
                form.format(f"diagonal({product}, offset=0, axis1=i, axis2=j)"),
                "4 ulp", [given.sums_along(axis)], given.are_long_products, given.MATRIX, product)
        for axis, product in ((-1, "a @ b.mT"), (-2, "a.mT @ b"))
        for keepdims, form in ((False, "{}"), (True, "expand_dims({}, axis=axis)"))
    ),
    # Blocks of the diagonal are solved for as NumPy solves, and so is what is not finite.
    *(
        Pattern(f"{solve}((l := {factor}(a)){turn}, b)",
                f"substitute(l, b, upper={factor != 'cholesky'}, turned={bool(turn)})",
                "rounding errors of a solution", [given.is_double_factor], given.is_of_blocks)
        for solve in ("solve", "solve_vector")
        for factor in ("cholesky", "cholesky_upper")
        for turn in ("", ".mT")
    ),
)

# Calls

DOTS = {
    products.matmul.name: products.dot_matrix,
    products.matmul_vector.name: products.dot_vector,
    products.vector_matmul.name: products.vector_dot,
    products.vectors_matmul.name: products.dot,
}
CALLS = (
    # matmul finds its loop by the general rules of ufuncs, dot asks the BLAS at once.
    *(
        Pattern(f"{op}(a, b)", f"{dot.name}(a, b)",
                "bits", [given.is_matrix_product], given.is_small_product)
        for op, dot in DOTS.items()
    ),
    # The derivative of maximum(x, 0.0). fmax takes -1 for nan; the sign is often there.
    *(
        Pattern(form.format(f"x {side} 0.0", "where(x == 0.0, h, w)"), step,
                "bits", [given.is_step])
        for side, step in ((">=", "h * (fmax(sign(x), -1.0) + 1.0)"),
                           ("<=", "h * (1.0 - fmin(sign(x), 1.0))"))
        for form in ("where({}, {}, 0.0)", "or_zero({}, {}, chosen=True)")
    ),
    # A choice is hard to foresee, and a wrong guess costs ten times what an element does.
    Pattern("where(c, x, 0.0)", "or_zero(c, x, chosen=True)",
            "bits", [given.has_bits], given.is_long_choice),
    Pattern("where(c, 0.0, x)", "or_zero(c, x, chosen=False)",
            "bits", [given.has_bits], given.is_long_choice),
)

# fmt: on


def reduce_strength(graph: Graph) -> Graph:
    """`graph` with cheaper arithmetic."""
    return apply_patterns(graph, STRENGTH)


def reuse_results(graph: Graph) -> Graph:
    """`graph` with scatters into what is there, diagonals of products, and factors substituted."""
    return apply_patterns(graph, BEFORE_SUMS)


def select_calls(graph: Graph) -> Graph:
    """`graph` with the calls that are fastest for its sizes."""
    return apply_patterns(graph, CALLS)
