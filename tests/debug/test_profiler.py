"""Profiles of kernels: which line takes how long, how often it ran, and what it wrote."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.debug.profiler import Clock

HERE = Path(__file__).name
RNG = np.random.default_rng(0)
A = RNG.normal(size=(120, 120))


def heavy(a: Any) -> Any:
    b = a @ a @ a
    c = np.sum(b)
    return c * 2.0


def made(f: Any) -> Any:
    return tj.function(f, cache=False)


def test_a_line_of_the_users_has_its_share() -> None:
    profile = tj.value_and_grad(made(heavy)).profile(A)
    first = heavy.__code__.co_firstlineno
    products, *others = profile.lines
    assert products.place == f"{HERE}:{first + 1}" and products.text == "b = a @ a @ a"
    assert products.share > 0.5
    assert products.bytes >= 4 * A.nbytes
    assert [line.place for line in others if line.place] == [
        f"{HERE}:{first + k}" for k in (2, 3) if f"{HERE}:{first + k}" in str(profile)
    ]
    assert sum(line.share for line in profile.lines) == pytest.approx(1.0)
    assert profile.total == pytest.approx(sum(line.seconds for line in profile.lines))
    assert profile.total < 1.0 and profile.overhead > 0.0


def test_generated_lines_are_those_of_the_text() -> None:
    kernel = tj.value_and_grad(made(heavy)).kernel(A)
    profile = kernel.profile(A)
    lines = kernel.source.split("\n")
    start = next(n for n, line in enumerate(lines, 1) if line.startswith("def value_and_grad"))
    written = {n: wrote for n, (_, wrote, _) in profile.generated.items()}
    assert written and all((n > start and "=" in lines[n - 1]) or wrote == 0
                           for n, wrote in written.items())  # fmt: skip
    products = [n for n in written if lines[n - 1].strip().endswith("= a @ a")]
    assert products and {written[n] for n in products} == {A.nbytes}


def test_loops_count_their_steps() -> None:
    def steps(x: Any) -> Any:
        return np.sum(tj.fori_loop(0, 37, lambda k, c: np.tanh(c @ x), x))

    x = RNG.normal(size=(5, 5))
    profile = made(steps).profile(x)
    assert max(line.calls for line in profile.lines) == 37
    assert next(line.bytes for line in profile.lines if line.calls == 37) >= 37 * x.nbytes


def test_tiles_are_counted_in_their_own_lines() -> None:
    def tiled(x: Any) -> Any:
        y = np.exp(-x) * np.cos(x)
        return np.sum(np.log(y + 2.0))

    x = np.linspace(0.0, 1.0, 900_000)
    kernel = made(tiled).kernel(x)
    assert "in_turn(tile_1" in kernel.source
    exponentials = kernel.profile(x).lines[0]
    assert exponentials.calls > 2
    assert exponentials.bytes >= x.nbytes


@pytest.mark.parametrize("name", ["forward", "backward", "value_and_grad"])
def test_each_function_can_be_profiled(name: str) -> None:
    kernel = tj.value_and_grad(made(heavy)).kernel(A)
    profile = kernel.profile(A, function=name, repeat=1)
    assert profile.function == name
    lines = kernel.source.split("\n")
    before = {
        next(line for line in reversed(lines[:n]) if line.startswith("def "))
        for n in profile.generated
    }
    assert all(line.startswith(f"def {name}(") for line in before)
    assert len(before) == 1


def test_the_value_alone_has_no_backward() -> None:
    kernel = made(heavy).kernel(A)
    assert kernel.profile(A).function == "forward"
    with pytest.raises(AttributeError, match="only the value"):
        kernel.profile(A, function="backward")


def test_a_call_with_containers_keywords_and_numbers() -> None:
    def loss(parts: Any, *, scale: Any = 2.0) -> Any:
        return np.sum(parts["w"] * parts["x"]) * scale

    f = tj.grad(made(loss))
    profile = f.profile({"w": A, "x": A}, scale=3.0)
    assert profile.lines[0].place.startswith(HERE)
    assert len(f.kernels) == 1


@pytest.mark.parametrize("transform", [tj.hessian, tj.jacobian, tj.grad, tj.vmap])
def test_transforms_can_be_profiled(transform: Any) -> None:
    def total(x: Any) -> Any:
        return np.sum(x * np.sin(x))

    f = transform(total)
    profile = f.profile(np.ones((3, 3)))
    place = f"{HERE}:{total.__code__.co_firstlineno + 1}"
    assert place in [line.place for line in profile.lines]
    assert profile.total > 0.0


def test_draws_and_variables_are_as_if_there_had_been_no_profile() -> None:
    count = tj.Variable(0.0)

    def noisy(x: Any, rng: Any) -> Any:
        count.assign_add(1.0)
        return np.sum(x * rng.normal(size=3))

    f = made(noisy)
    rng, other = np.random.default_rng(3), np.random.default_rng(3)
    f.profile(np.ones(3), rng)
    assert count.numpy() == 0.0
    assert rng.normal() == other.normal()


def test_the_time_of_a_called_function_is_its_own() -> None:
    clock = Clock()
    clock.start()
    clock.mark(1)
    caller = clock.enter()
    clock.mark(2)
    time.sleep(0.02)
    clock.leave(caller)
    clock.mark(3)
    assert clock.seconds[2] >= 0.02 > clock.seconds[1]
    assert clock.calls == {1: 1, 2: 1, 3: 1}


def test_a_kernel_from_a_file_cites_relative_lines(tmp_path: Path) -> None:
    kernel = tj.value_and_grad(made(heavy)).kernel(A)
    kernel.save(tmp_path / "heavy.py")
    loaded = tj.load(tmp_path / "heavy.py")
    profile = loaded.profile(A, repeat=1)
    assert [line.place for line in profile.lines][:2] == ["heavy:1", "heavy:2"]
    with np.errstate(all="ignore"), pytest.raises(tj.errors.NonFiniteError, match="heavy:1   b ="):
        loaded.checked().forward(A * 1e200)
