"""The examples, run as a reader would run them."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

import tracejit as tj
from tests.support.processes import python

EXAMPLES = Path(__file__).parents[1] / "examples"
needs_dask = pytest.mark.skipif(
    importlib.util.find_spec("dask") is None, reason="the extra dask is not installed"
)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache."""
    for name in ("TRACEJIT_CACHE", "TRACEJIT_DISABLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path / "cache"))


def example(name):
    """The module of examples/NAME.py."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_digits(capsys):
    digits = example("digits")
    accuracy, parameters = digits.main()
    assert accuracy >= 0.96
    assert {array.dtype for array in parameters.values()} == {np.dtype("f4")}
    assert len(digits.step.kernels) == 2
    assert str(digits.step.kernels[-1].path) in capsys.readouterr().out


def test_digits_is_short():
    assert len((EXAMPLES / "digits.py").read_text().splitlines()) < 60


def test_logreg_scipy(capsys):
    logreg = example("logreg_scipy")
    result, accuracy = logreg.main()
    assert result.success
    assert np.max(np.abs(result.jac)) < 1e-4
    assert result.jac.dtype == np.dtype("f8") and isinstance(result.fun, float)
    assert accuracy >= 0.98
    assert f"{result.nit} iterations" in capsys.readouterr().out


# Gradient control. Each example asserts what it claims; what a reader is told is asserted here.


def test_log1pexp(capsys):
    log1pexp = example("log1pexp")
    first, second = log1pexp.main()
    x = np.array([-1000.0, 0.0, 1000.0])
    np.testing.assert_array_equal(first(x), [0.0, 0.5, 1.0])
    np.testing.assert_array_equal(second(x), [0.0, 0.25, 0.0])
    assert re.search(r"1000 +nan +1$", capsys.readouterr().out, re.MULTILINE)
    with np.errstate(over="ignore", invalid="ignore"):
        assert np.isnan(log1pexp.derivatives(log1pexp.plain)[0](x)[-1])


def test_stable_softmax(capsys):
    softmax = example("stable_softmax")
    losses, step = softmax.main()
    assert losses[-1] < losses[0] / 50
    assert len(step.kernels) == 1  # a tape and two Variables in one kernel, recorded once
    assert "gradient as in the formula" in capsys.readouterr().out
    # The maximum has no part in the backward code, stopped or not.
    logits, labels = np.ones((20, 30)), np.ones((20, 30))
    for loss in (softmax.cross_entropy, softmax.cross_entropy_through_max):
        source = softmax.tj.value_and_grad(loss).kernel(logits, labels).source
        backward = source[source.index("def backward") : source.index("def value_and_grad")]
        assert "max" not in re.sub("#.*", "", backward) and "==" not in backward


def test_gaussian_mixture(capsys):
    mixture = example("gaussian_mixture")
    history, parameters = mixture.main()
    assert history[-1] > history[0] + 1
    assert len(mixture.climb.kernels) == 1
    assert set(parameters) == {"mean", "log_scale", "logit"}
    assert "Fisher's identity holds" in capsys.readouterr().out
    # Without the stop, the identity would not hold.
    x = np.random.default_rng(0).normal(size=(5, 2))
    stop = mixture.tj.stop_gradient
    slope = mixture.tj.grad(mixture.expected)(parameters, x)["mean"]
    try:
        mixture.tj.stop_gradient = lambda value: value
        through = mixture.tj.grad(lambda p, x: mixture.expected(p, x))(parameters, x)["mean"]
    finally:
        mixture.tj.stop_gradient = stop
    assert np.max(np.abs(slope - through)) > 1e-3


def test_rbm(capsys):
    rbm = example("rbm")
    before, after, parameters = rbm.main()
    assert after < 0.1 * before
    rng = np.random.default_rng(1)
    v, noise = rbm.bars(rng, 20), rng.random((20, 16))
    slope = rbm.tj.grad(rbm.loss)(parameters, v, noise)
    rule = rbm.by_hand(parameters, v, noise)
    for name in rule:
        np.testing.assert_allclose(slope[name], rule[name], rtol=0, atol=1e-14)
    assert "from the rule by hand" in capsys.readouterr().out


def test_adversarial(capsys):
    shares, model = example("adversarial").main()
    assert shares["adversarial"][1] > 0.85 > 0.5 > shares["plain"][1]
    assert len(model.step.kernels) <= 2
    assert "attacked" in capsys.readouterr().out


def test_straight_through(capsys):
    errors, step = example("straight_through").main()
    assert errors["rounded in training"] < 0.5 * errors["rounded afterwards"]
    assert errors["full precision"] < errors["rounded in training"]
    assert "[straight-through]" in step.source
    assert "plainly rounded weights: None" in capsys.readouterr().out


def test_moving_average(capsys):
    losses, error, step = example("moving_average").main()
    assert error < 0.1 * losses[0]
    assert len(step.kernels) == 1
    assert "[straight-through]" in step.source
    assert "one example at a time" in capsys.readouterr().out


def test_clip_gradients(capsys):
    found = example("clip_gradients").main()
    assert found["plain"][1][0] > 1000
    assert max(found["clipped"][1]) < 50
    assert found["clipped"][0][-1] < 0.1 * found["plain"][0][-1]
    assert "clipped" in capsys.readouterr().out


def test_fused_second_order(capsys):
    largest, (fused, differentiated) = example("fused_second_order").main()
    # Newton's method: each slope of the last steps is about the square of the one before.
    assert largest[4] < 100 * largest[3] ** 2 and largest[5] < 100 * largest[4] ** 2
    assert "tanh" in fused.source and "tanh" not in differentiated.source
    assert "[custom gradient]" in fused.source
    assert "curvature @" in fused.source  # the second rule, not what differentiation makes of it
    assert "fused" in capsys.readouterr().out


def test_recompute_chain(capsys):
    kept, again = example("recompute_chain").main()
    assert again[1] < 0.5 * kept[1]
    assert kept[0][0] == pytest.approx(again[0][0], rel=1e-14)
    assert "computed again" in capsys.readouterr().out


def test_custom_variables(capsys):
    (robust, plain), step = example("custom_variables").main()
    assert robust < 0.05 < 1 < plain
    assert len(step.kernels) == 1
    assert "[custom gradient]" in step.source
    assert "clipped" in capsys.readouterr().out


# Transforms


def test_enzyme_kinetics(capsys):
    fit, errors = example("enzyme_kinetics").main()
    # As published: Bates and Watts, table 2.1 and section 2.3.
    np.testing.assert_allclose(fit.x, [212.684, 0.064121], rtol=1e-4)
    np.testing.assert_allclose(errors, [6.947, 0.00828], rtol=1e-3)
    out = capsys.readouterr().out
    assert "1 kernel" in out and "def forward" in out


def test_epidemic(capsys):
    fit, errors = example("epidemic").main()
    assert np.max(np.abs(fit.jac)) < 1e-2
    # A fit of the same model with tolerances of 1e-12 and differences in SciPy's least_squares.
    np.testing.assert_allclose(fit.x, [1.699799, 0.446866], rtol=1e-4)
    np.testing.assert_allclose(errors, [0.02978, 0.01513], rtol=0.03)
    assert "def spread_pullback" in capsys.readouterr().out


def test_hyperparameter(capsys):
    hyper = example("hyperparameter")
    strength, found, weights = hyper.main()
    x, y = hyper.X, hyper.Y

    def error(strength):
        """By the hat matrix, which tells the error of a row that is left out."""
        hat = x @ np.linalg.solve(x.T @ x + strength * np.eye(4), x.T)
        return np.mean(((y - hat @ y) / (1.0 - np.diag(hat))) ** 2)

    assert found.fun == pytest.approx(error(strength), rel=1e-7)
    assert found.fun < min(error(0.97 * strength), error(1.03 * strength), 0.87 * error(0.0))
    exact = np.linalg.solve(x.T @ x + strength * np.eye(4), x.T @ y)
    np.testing.assert_allclose(weights, exact, rtol=1e-6)
    assert found.nfev < 15
    assert "least_squares(" in capsys.readouterr().out


def test_o_rings(capsys):
    fit, errors, risk = example("o_rings").main()
    assert fit.success and np.max(np.abs(fit.jac)) < 1e-5
    np.testing.assert_allclose(fit.x, [15.0429, -0.2322], rtol=1e-3)
    np.testing.assert_allclose(errors, [7.3786, 0.1082], rtol=1e-3)
    assert risk > 0.99
    assert "at 31 degrees" in capsys.readouterr().out


def test_load_cell(capsys):
    fit, scatter, found = example("load_cell").main()
    assert fit.success
    # The certified fit of a parabola: https://www.itl.nist.gov/div898/strd/lls/data/Pontius.shtml
    certified = np.array([-0.316081871345029e-2, 0.732059160401003, 0.673565789473684e-3])
    assert abs(scatter / 0.205177424076185e-3 - 1.0) < 0.02
    for reading, (load, error) in zip((0.5, 1.0, 2.0), found, strict=True):
        assert abs(np.polyval(certified, load) - reading) < 1e-4
        assert 2.5e-4 < error < 3.5e-4
    assert "+- 300 pounds" in capsys.readouterr().out


NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))


@pytest.mark.parametrize("name", NAMES)
def test_every_example_has_a_test_and_says_how_it_is_run(name):
    assert f"test_{name}" in globals()
    head = (EXAMPLES / f"{name}.py").read_text("utf-8").split('"""')[1]
    assert f"Run: python examples/{name}.py" in head


def test_an_example_is_a_script():
    """In an interpreter of its own, where warnings are errors and nothing is cached."""
    assert "custom slope" in python(EXAMPLES / "log1pexp.py")


# Loops and simulations.


def test_nile_flow(capsys):
    nile = example("nile_flow")
    noise, drift, loss = nile.main()
    # Durbin and Koopman, 2.10.3
    np.testing.assert_allclose([noise, drift], [15099, 1469.1], rtol=2e-3)
    assert len(loss.source.splitlines()) < 400
    assert "noise" in capsys.readouterr().out


def test_optimal_control_is_one_short_loop():
    control = example("optimal_control")
    loss = tj.value_and_grad(control.cost)
    value, gradient = loss(np.zeros(control.STEPS))
    assert np.isfinite(value) and np.any(gradient)
    assert len(loss.source.splitlines()) < 400


@pytest.mark.nightly
def test_optimal_control():
    control = example("optimal_control")
    angle, speed, loss = control.main()
    assert abs(angle - np.pi) < 0.02 and abs(speed) < 0.02
    assert len(loss.source.splitlines()) < 400


def test_poisson(capsys):
    poisson = example("poisson")
    fit, loss = poisson.main()
    np.testing.assert_allclose(np.exp(fit.x), np.exp(poisson.TRUTH), rtol=0.05)
    text = loss.source.partition("def value_and_grad")[2]
    assert text.count("sparse_linalg.splu(") == 1  # by whose factors the gradient is solved, too
    assert "misfit" in capsys.readouterr().out


def test_pipe_friction(capsys):
    pipe = example("pipe_friction")
    roughness, slope = pipe.main()
    np.testing.assert_allclose(roughness, 2e-4, rtol=1e-6)
    assert any(line.strip().startswith("while ") for line in slope.source.splitlines())
    assert "while" in capsys.readouterr().out


# On Dask: small, and on a cluster of one process. They take seconds, most of them Dask's.

SMALL = {"n_workers": 1, "processes": False, "memory_limit": None}


@needs_dask
def test_dask_logistic_regression(capsys):
    result, error = example("dask_logistic_regression").main(rows=6_000, block=1_700, **SMALL)
    assert result.success and isinstance(result.fun, float)
    assert error < 0.2
    assert "6,000 rows in 4 blocks" in capsys.readouterr().out


@needs_dask
def test_dask_gaussian_mixture(capsys):
    mixture = example("dask_gaussian_mixture")
    result, weight, error = mixture.main(rows=3_000, block=1_700, **SMALL)
    assert np.max(np.abs(weight - [0.5, 0.3, 0.2])) < 0.03
    assert error < 0.2
    assert result.nit > 5 and "3,000 rows in 2 blocks" in capsys.readouterr().out


@needs_dask
def test_dask_minibatches(capsys):
    history, _ = example("dask_minibatches").main(rows=5_500, block=1_000, steps=25, **SMALL)
    assert np.mean(history[-5:]) < 0.5 * history[0]
    assert "25 steps" in capsys.readouterr().out
