"""What travels to another process, and what arrives there."""

from __future__ import annotations

import copy
import functools
import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import cloudpickle
import joblib
import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor

import tracejit as tj
from tests import workers
from tests.support.compare import close
from tracejit.ops.base.op import OPS
from tracejit.support.errors import KernelError, ValueNeededError

W = np.array([0.5, -1.0, 2.0])
X = np.arange(6.0).reshape(2, 3) / 8.0
PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)


def sent(thing: Any, protocol: int = pickle.HIGHEST_PROTOCOL) -> Any:
    return pickle.loads(pickle.dumps(thing, protocol))


def by_value(thing: Any) -> Any:
    return pickle.loads(cloudpickle.dumps(thing))


# Functions

NAMED: dict[str, Any] = {
    "function": workers.loss,
    "with options": workers.scaled,
    "custom gradient": workers.tripled,
    "method": workers.Model.loss,
    "static method": workers.Model.doubled,
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", NAMED)
def test_a_function_of_a_module_is_found_by_its_name(name: str, protocol: int) -> None:
    assert sent(NAMED[name], protocol) is NAMED[name]
    assert by_value(NAMED[name]) is NAMED[name]


MADE: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "of a plain function": (tj.function(workers.plain, exact=True), (W, X)),
    "grad": (tj.grad(workers.loss), (W, X)),
    "grad of a plain function": (tj.grad(workers.plain, (0, 1)), (W, X)),
    "grad of a method": (tj.grad(workers.Model.loss, argnums=1), (workers.Model(), W)),
    "grad of a custom gradient": (tj.grad(workers.total), (W,)),
    "value_and_grad": (workers.slope, (W, X)),
    "second derivative": (tj.grad(tj.elementwise_grad(np.sin)), (0.5,)),
    "jacobian": (tj.jacobian(workers.scaled), (W,)),
    "jacrev": (tj.jacrev(workers.loss, argnums=(0, 1)), (W, X)),
    "hessian": (workers.hessian, (W, X)),
    "vmap": (tj.vmap(workers.loss, in_axes=(None, 0)), (W, np.stack([X, X]))),
    "vmap of grad": (tj.vmap(tj.grad(workers.loss), in_axes=(None, 0)), (W, np.stack([X, X]))),
    "elementwise_grad": (tj.elementwise_grad(workers.scaled), (W,)),
    "deriv": (tj.deriv(workers.scaled), (0.5,)),
    "partial": (tj.function(functools.partial(workers.plain, W)), (X,)),
}


@pytest.mark.parametrize("name", MADE)
def test_others_are_made_again_and_compute_the_same(name: str) -> None:
    f, args = MADE[name]
    expected = f(*args)
    for again in (*[sent(f, protocol) for protocol in PROTOCOLS], by_value(f)):
        for found, known in zip(leaves(again(*args)), leaves(expected), strict=True):
            assert type(found) is type(known)
            np.testing.assert_array_equal(found, known)


def leaves(result: Any) -> list[Any]:
    return [x for part in result for x in leaves(part)] if type(result) is tuple else [result]


@pytest.mark.parametrize("name", ["of a plain function", "grad", "jacobian", "vmap of grad"])
def test_what_arrives_twice_is_made_once(name: str) -> None:
    f, _ = MADE[name]
    first = sent(f)
    assert sent(f) is first
    assert type(first) is tj.Function


def test_options_and_requests_travel() -> None:
    f = sent(tj.grad(workers.scaled, argnums=(0,)))
    assert f.options.exact
    assert f.name == "scaled"
    assert f.request.argnums == (0,)
    assert not f.request.single


def test_a_bound_method_travels_with_its_object() -> None:
    model = workers.Model()
    model.weights = 2.0 * W
    close(sent(model.loss)(W), np.sum(2.0 * W * W))
    close(sent(workers.Model.named)(W), 5.0 * W)
    again = sent(model)
    close(again.step(X), X + 2.0 * W)
    again.weights = -W
    close(again.step(X), X - W)
    close(model.step(X), X + 2.0 * W)


def closure() -> Any:
    scale = 2.0
    return tj.function(lambda x: np.sum(x * scale))


@pytest.mark.parametrize("derive", [lambda f: f, tj.grad, tj.jacobian, tj.vmap])
def test_closures_are_refused_by_pickle_and_go_by_value(derive: Callable[[Any], Any]) -> None:
    f = derive(closure())
    with pytest.raises((pickle.PicklingError, AttributeError), match=r"closure.*<lambda>"):
        pickle.dumps(f)
    for x in (X, X + 1.0):
        np.testing.assert_array_equal(by_value(f)(x), f(x))


def test_a_closure_that_decorates_is_named() -> None:
    @tj.function
    def local(x: Any) -> Any:
        return x

    with pytest.raises((pickle.PicklingError, AttributeError), match="local"):
        pickle.dumps(local)
    close(by_value(local)(W), W)


def test_copies() -> None:
    f = closure()
    for one in (f, workers.loss, workers.slope, workers.hessian):
        assert copy.copy(one) is one
        assert copy.deepcopy(one) is one
    model = workers.Model()
    close(model.step(X), X + 1.0)
    other = copy.deepcopy(model)
    other.weights = W
    close(other.step(X), X + W)
    close(model.step(X), X + 1.0)


# What else there is


def test_a_kernel_travels_as_text() -> None:
    kernel = workers.slope.kernel(W, X)
    again = sent(kernel)
    assert again.source == kernel.source
    assert again.key == kernel.key
    assert again.name == kernel.name
    close(again.value_and_grad(W, X)[1], kernel.value_and_grad(W, X)[1])
    with pytest.raises(AttributeError, match="no graph"):
        _ = again.graph


def test_a_kernel_travels_with_its_constants() -> None:
    kernel = tj.function(lambda x: x + np.arange(5000.0)).kernel(np.ones(5000))
    assert kernel.module.__npz__ is not None
    np.testing.assert_array_equal(sent(kernel).forward(np.ones(5000)), np.arange(5000.0) + 1.0)


def test_a_kernel_that_was_edited_on_its_way_is_refused() -> None:
    data = pickle.dumps(tj.function(lambda x: np.sin(x)).kernel(W))
    with pytest.raises(KernelError, match="its text was changed"):
        pickle.loads(data.replace(b"sin(x)", b"cos(x)"))


@pytest.mark.parametrize("value", [W, 2.0, np.float32(2.0), 3], ids=["array", "0-d", "f4", "int"])
def test_an_eager_tensor_travels_by_value(value: Any) -> None:
    for tensor in (tj.constant(value), tj.constant(value) * np.float64(2.0)):
        again = sent(tensor)
        assert isinstance(again, tj.Tensor)
        assert again.type is tensor.type
        np.testing.assert_array_equal(again.numpy(), tensor.numpy())
        assert copy.deepcopy(tensor).type is tensor.type


def test_a_tensor_on_a_tape_is_refused() -> None:
    x = tj.constant(W)
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = x * 2.0
        with pytest.raises(ValueNeededError, match="pickling y would take y off the tape"):
            pickle.dumps(y)
    close(sent(y).numpy(), 2.0 * W)


def test_a_tensor_that_is_recorded_is_refused() -> None:
    @tj.function
    def f(x: Any, n: int) -> Any:
        assert sent(n) == 2
        return pickle.dumps(x)

    with pytest.raises(ValueNeededError, match="pickling x needs a value"):
        f(W, 2)


def test_variables_specs_generators_and_operations() -> None:
    v = tj.Variable(W, trainable=False, name="v")
    one, other = sent((v, v))
    assert one is other
    assert (one.name, one.trainable, one.type) == ("v", False, v.type)
    np.testing.assert_array_equal(one.numpy(), W)
    spec = tj.TensorSpec((3,), np.float32, "x")
    assert sent(spec) == copy.copy(spec) == spec
    assert sent(spec).name == "x"
    rng = tj.random.default_rng(0)
    assert sent(rng).normal() == rng.normal()
    assert sent(OPS["exp"]) is OPS["exp"]


# Processes


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_workers(method: str) -> None:
    """As tasks and as arguments of tasks; a worker records once for all of its tasks."""
    value, slope = workers.slope(W, X)
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        tasks = [
            pool.submit(workers.loss, W, X),
            pool.submit(workers.slope, W, X),
            pool.submit(workers.applied, tj.grad(workers.loss), W, X),
            pool.submit(workers.forward, workers.loss.kernel(W, X), W, X),
            pool.submit(workers.hessian, W, X),
        ]
        counts = [pool.submit(workers.traced, tj.grad(workers.plain), W, X) for _ in range(3)]
        found = [task.result(60) for task in tasks]
        assert {task.result(60)[1] for task in counts} == {1}
    np.testing.assert_array_equal(found[0], value)
    np.testing.assert_array_equal(found[1][0], value)
    np.testing.assert_array_equal(found[1][1], slope)
    np.testing.assert_array_equal(found[2], slope)
    np.testing.assert_array_equal(found[3], value)
    np.testing.assert_array_equal(found[4], workers.hessian(W, X))


@pytest.mark.stress
def test_joblib_takes_closures_to_its_workers() -> None:
    f = closure()
    try:
        for one in (f, tj.grad(f), tj.jacobian(f), workers.hessian):
            args = [(W, X)] * 3 if one is workers.hessian else [(X + k,) for k in range(3)]
            found = joblib.Parallel(2)(joblib.delayed(one)(*each) for each in args)
            for its, each in zip(found, args, strict=True):
                np.testing.assert_array_equal(its, one(*each))
    finally:
        get_reusable_executor().shutdown(wait=True)
