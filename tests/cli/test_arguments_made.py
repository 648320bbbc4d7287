"""Arguments that are made from the signature of a kernel."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.cli.arguments_made import arguments_for, attempts, saved_arguments, size_of
from tracejit.cli.output import Refusal


def test_every_form_of_argument():
    @tj.function
    def f(x, k, rate, scale, flags):
        return np.sum(x[k]) * rate * scale + np.sum(flags)

    for rate in (0.5, 0.25):
        f(np.ones((2, 3)), np.array([1, 0]), rate, np.float32(2.0), np.array([True]))
    kernel = f.kernels[-1]
    x, k, rate, scale, flags = arguments_for(kernel)
    assert (x.shape, x.dtype, k.dtype) == ((2, 3), np.float64, np.int64)
    assert (type(rate), type(scale), flags.dtype) == (float, np.float32, bool)
    assert np.all(np.isfinite(kernel.forward(x, k, rate, scale, flags)))


def test_sizes_are_free_to_choose():
    kernel = tj.function(lambda x, y: x @ y).kernel(tj.TensorSpec((None, 3)), tj.TensorSpec((3,)))
    assert arguments_for(kernel, {"n": 9})[0].shape == (9, 3)
    assert arguments_for(kernel)[0].shape == (size_of("n", {}), 3)


@pytest.mark.parametrize(
    ("f", "drawn"),
    [
        (lambda x: np.sum(np.sin(x)), "standard normal"),
        (lambda x: np.sum(np.log(x)), "uniform in (0.1, 0.9)"),
        (lambda x: np.sum(np.log(x - 1.0)), "uniform in (1.1, 2)"),
        (lambda x: np.sum(np.linalg.cholesky(x)), "positive definite"),
    ],
)
def test_they_lie_where_the_function_is_finite(f, drawn):
    kernel = tj.value_and_grad(f).kernel(np.eye(4) * 2.0)
    assert next(attempts(kernel))[0] == drawn


def test_where_nothing_is_finite_it_says_so():
    kernel = tj.function(lambda x: np.sum(np.log(x * 0.0))).kernel(np.ones(3))
    with pytest.raises(Refusal, match=r"it returns inf or nan.*--arguments FILE.npz"):
        arguments_for(kernel)


def test_a_generator_cannot_be_made():
    kernel = tj.function(lambda rng: rng.normal(size=3)).kernel(np.random.default_rng(0))
    with pytest.raises(Refusal, match="it cannot be drawn at random"):
        arguments_for(kernel)


def test_saved_arguments(tmp_path):
    kernel = tj.function(lambda x, s: x * s).kernel(np.ones(3), np.float64(2.0))
    np.savez(tmp_path / "data.npz", x=np.arange(3.0), s=4.0)
    x, s = saved_arguments(kernel, str(tmp_path / "data.npz"))
    assert kernel.forward(x, s).tolist() == [0.0, 4.0, 8.0]
    np.savez(tmp_path / "less.npz", x=np.arange(3.0))
    with pytest.raises(Refusal, match=r"has no s: "):
        saved_arguments(kernel, str(tmp_path / "less.npz"))
    with pytest.raises(Refusal, match="there is no file"):
        saved_arguments(kernel, str(tmp_path / "none.npz"))
