"""Programs of numerical work: solvers, searches, factorisations and samplers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.semantics.scenes import Stage, scene, smooth

X = np.array([0.7, -1.2, 0.4])
UP = np.array([1.5, 0.5, 2.0])
MATRIX = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -0.2], [0.5, -0.2, 2.0]])


@smooth
def newton(stage: Stage) -> None:
    @stage
    def cube_root(a: Any) -> Any:
        t, error = a / 3.0, 1.0
        while error > 1e-14:
            new = t - (t**3 - a) / (3.0 * t * t)
            error = np.abs(new - t) / np.abs(new)
            t = new
        return t

    for a in (8.0, 2.0, -5.0, 1000.0, 8.0):
        cube_root(np.float64(a))


@scene
def newton_with_a_report(stage: Stage) -> None:
    @stage
    def solve(a: Any, most: int = 20) -> dict[str, Any]:
        t = a
        for rounds in range(most):
            value = t * t - 2.0
            if abs(value) < 1e-12:
                return {"root": t, "rounds": rounds, "status": "converged"}
            if t == 0:
                return {"root": None, "rounds": rounds, "status": "flat"}
            t = t - value / (2.0 * t)
        return {"root": t, "rounds": most, "status": f"no root in {most} rounds"}

    for a in (1.0, -3.0, 0.0, 1e6, 1.0):
        solve(np.float64(a))
        solve(np.float64(a), most=3)


@smooth
def bisection(stage: Stage) -> None:
    """The end of the bracket moves by constants: the slope is that of one last Newton step."""

    @stage
    def root(a: Any) -> Any:
        low, high = 0.0, 4.0
        while high - low > 1e-3:
            middle = 0.5 * (low + high)
            if middle**3 + middle > a:
                high = middle
            else:
                low = middle
        t = 0.5 * (low + high)
        for _ in range(4):
            t = t - (t**3 + t - a) / (3.0 * t * t + 1.0)
        return t * t

    for a in (2.1, 10.3, 0.5, 2.1, 30.0):
        root(np.float64(a))


@smooth
def golden_section(stage: Stage) -> None:
    @stage
    def smallest(w: Any) -> Any:
        def f(t: Any) -> Any:
            return np.sum((t - w) ** 2)

        ratio = (5.0**0.5 - 1.0) / 2.0
        a, b = -2.0, 2.0
        c, d = b - ratio * (b - a), a + ratio * (b - a)
        for _ in range(9):
            if f(c) < f(d):
                b, d = d, c
                c = b - ratio * (b - a)
            else:
                a, c = c, d
                d = a + ratio * (b - a)
        return f((a + b) / 2.0)

    for w in (X, UP, -X, X + 0.01):
        smallest(w)


@smooth
def secant(stage: Stage) -> None:
    @stage
    def root(a: Any) -> Any:
        s, t = 1.0, 2.0
        fs, ft = np.exp(s) - a, np.exp(t) - a
        for _ in range(50):
            if abs(ft) < 1e-13 * abs(a) or abs(ft - fs) < 1e-15:
                break
            s, t, fs = t, t - ft * (t - s) / (ft - fs), ft
            ft = np.exp(t) - a
        return t - (np.exp(t) - a) / np.exp(t)

    for a in (3.0, 5.0, 20.0, 3.0):
        root(np.float64(a))


@smooth
def backtracking(stage: Stage) -> None:
    """Gradient descent whose step is halved until the loss falls enough."""

    def loss(w: Any) -> Any:
        return np.sum(w**4) / 4.0 - np.sum(w)

    @stage
    def descend(w: Any) -> Any:
        for _ in range(3):
            slope = w**3 - 1.0
            step = 1.0
            while loss(w - step * slope) > loss(w) - 0.3 * step * np.sum(slope * slope):
                step *= 0.5
            w = w - step * slope
        return loss(w)

    for w in (X, 2 * UP, 3 * X, 0.5 * UP, X):
        descend(w)


@smooth
def line_search_that_gives_up(stage: Stage) -> None:
    @stage
    def search(x: Any, direction: Any) -> Any:
        start = np.sum(x * x)
        for step in (1.0, 0.5, 0.1):
            trial = x + step * direction
            if np.sum(trial * trial) < start - 0.1 * step:
                break
        else:
            trial = x
        return np.sum(trial**3)

    for direction in (-X, X, -2.5 * X, -9.0 * X, UP, -X):
        search(X, direction)


@smooth
def levenberg_marquardt(stage: Stage) -> None:
    """Steps are accepted or refused; the damping follows."""

    @stage
    def fit(w: Any, y: Any) -> Any:
        times = np.array([0.0, 0.5, 1.0, 1.5])
        damping = 1.0
        residual = w[0] * np.exp(w[1] * times) - y
        for _ in range(4):
            slope = np.stack([np.exp(w[1] * times), w[0] * times * np.exp(w[1] * times)], axis=1)
            normal = slope.T @ slope + damping * np.eye(2)
            trial = w - np.linalg.solve(normal, slope.T @ residual)
            other = trial[0] * np.exp(trial[1] * times) - y
            if other @ other < residual @ residual:
                w, residual, damping = trial, other, damping / 5.0
            else:
                damping *= 4.0
        return residual @ residual

    y = np.array([2.0, 1.2, 0.7, 0.5])
    for w in ([1.0, 0.0], [3.0, 1.5], [-1.0, 1.0], [1.0, 0.0]):
        fit(np.array(w), y)


@smooth
def power_iteration(stage: Stage) -> None:
    @stage
    def largest(m: Any) -> Any:
        v = np.array([1.0, 0.5, 0.25]) @ m
        v = v / np.linalg.norm(v)
        while True:
            w = m @ v
            value = v @ w
            if np.max(np.abs(w - value * v)) < 1e-11 * value:
                return value
            v = w / np.linalg.norm(w)

    strong = np.diag([5.0, 1.0, 0.5]) + 0.1
    for m in (strong, MATRIX @ MATRIX, strong @ strong, strong):
        largest(m)


@smooth
def conjugate_gradients(stage: Stage) -> None:
    @stage
    def solve(b: Any) -> Any:
        x = np.zeros_like(b)
        r = b - MATRIX @ x
        p, rho = r, r @ r
        while rho > 1e-20:
            q = MATRIX @ p
            alpha = rho / (p @ q)
            x = x + alpha * p
            r = r - alpha * q
            new = r @ r
            p, rho = r + new / rho * p, new
        return np.sum(x * x) + x[0]

    for b in (X, UP, 3 * X, X):
        solve(b)


@scene
def conjugate_gradients_of_nothing(stage: Stage) -> None:
    """No round at all, and one."""

    @stage
    def solve(b: Any) -> Any:
        x, r, rounds = np.zeros_like(b), b, 0
        while r @ r > 1e-20 and rounds < 5:
            x = x + r / 2.0
            r = b - 2.0 * x
            rounds += 1
        return x, rounds

    for b in (0 * X, X, 0 * X, UP):
        solve(b)


@smooth
def fixed_point(stage: Stage) -> None:
    @stage
    def solve(a: Any) -> Any:
        t = a * 0.0
        for _ in range(200):
            new = np.cos(t) * a
            if np.max(np.abs(new - t)) < 1e-13:
                break
            t = new
        return np.sum(new)

    for scale in (0.3, 0.6, 0.1, 0.3):
        solve(scale * UP[:2])


@smooth
def sinkhorn(stage: Stage) -> None:
    @stage
    def balance(cost: Any) -> Any:
        k = np.exp(-cost)
        u = np.ones(2)
        for _ in range(100):
            v = 0.5 / (k.T @ u)
            u = 0.5 / (k @ v)
            if np.max(np.abs(v * (k.T @ u) - 0.5)) < 1e-13:
                break
        return np.sum(u[:, None] * k * v * cost)

    balance(np.array([[0.1, 1.0], [0.7, 0.2]]))
    balance(np.array([[0.1, 0.1], [0.1, 0.1]]))
    balance(np.array([[1.0, 0.3], [0.2, 2.0]]))
    balance(np.array([[0.1, 1.0], [0.7, 0.2]]))


@scene
def adaptive_runge_kutta(stage: Stage) -> None:
    """Steps are refused and repeated with half the length."""

    @stage
    def integrate(y: Any, rate: Any) -> Any:
        def slope(t: float, y: Any) -> Any:
            return -rate * y + np.sin(3.0 * t)

        t, h, refused = 0.0, 0.5, 0
        while t < 1.0:
            h = min(h, 1.0 - t)
            a = slope(t, y)
            b = slope(t + h, y + h * a)
            error = np.max(np.abs(h * (b - a) / 2.0))
            if error > 2e-2:
                h *= 0.5
                refused += 1
                continue
            y = y + h * (a + b) / 2.0
            t += h
            if error < 2e-3:
                h *= 2.0
        return y, refused

    for rate in (0.5, 4.0, 20.0, 0.5):
        integrate(X, np.float64(rate))


@smooth
def adaptive_step_of_recorded_length(stage: Stage) -> None:
    """The step itself is computed from the error."""

    @stage
    def integrate(w: Any) -> Any:
        t, y, h = 0.0, np.sum(w), 0.3
        while t < 1.0:
            if t + h > 1.0:
                h = 1.0 - t
            a = -y * w[0]
            b = -(y + h * a) * w[0]
            error = np.abs(h * (b - a)) + 1e-9
            if error < 0.05:
                t, y = t + h, y + h * (a + b) / 2.0
                if t > 1.0 - 1e-9:
                    break
            h = h * 0.9 * (0.05 / error) ** 0.5
        return y

    for w in (UP, X, 2.5 * UP, UP):
        integrate(w)


@scene
def event_detection(stage: Stage) -> None:
    """A bouncing ball: the time of each bounce is found on the way."""

    @stage
    def bounce(height: Any, restitution: float) -> Any:
        times, v, t = [], height * 0.0, 0.0
        y = height
        while t < 2.0:
            new, v = y + 0.1 * v, v - 0.981
            if new < 0:
                times.append(round(t, 1))
                new, v = -restitution * new, -restitution * v
            y = new
            t += 0.1
        return y, times

    for height in (1.0, 3.0, 0.2, 1.0):
        bounce(np.float64(height), 0.8)
    bounce(np.float64(1.0), 0.5)


@scene
def gram_schmidt_with_rank(stage: Stage) -> None:
    @stage
    def basis(m: Any) -> Any:
        kept: list[Any] = []
        for column in m.T:
            rest = column
            for q in kept:
                rest = rest - (q @ column) * q
            size = np.linalg.norm(rest)
            if size > 1e-10:
                kept.append(rest / size)
        if not kept:
            return 0, None
        return len(kept), np.stack(kept, axis=1)

    full = MATRIX
    short = np.stack([X, 2 * X, UP], axis=1)
    for m in (full, short, 0 * full, np.outer(X, UP), full):
        basis(m)


@scene
def pivoting_lu(stage: Stage) -> None:
    @stage
    def factor(a: Any) -> Any:
        a = a.copy()
        n, order, sign = len(a), list(range(len(a))), 1
        for k in range(n - 1):
            pivot = k + int(np.argmax(np.abs(a[k:, k])))
            if a[pivot, k] == 0:
                return None
            if pivot != k:
                a[[k, pivot]] = a[[pivot, k]]
                order[k], order[pivot] = order[pivot], order[k]
                sign = -sign
            a[k + 1 :, k] /= a[k, k]
            a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
        return a, order, sign

    for m in (MATRIX, MATRIX[::-1].copy(), MATRIX[[1, 2, 0]], 0 * MATRIX, MATRIX):
        factor(m)


@smooth
def determinant_by_elimination(stage: Stage) -> None:
    @stage
    def determinant(a: Any) -> Any:
        rows, value = [a[0], a[1], a[2]], 1.0
        for k in range(3):
            pivot = max(range(k, 3), key=lambda i: abs(rows[i][k]))
            if pivot != k:
                rows[k], rows[pivot] = rows[pivot], rows[k]
                value = -value
            value = value * rows[k][k]
            for i in range(k + 1, 3):
                rows[i] = rows[i] - rows[k] * (rows[i][k] / rows[k][k])
        return value

    for m in (MATRIX, MATRIX[::-1].copy(), MATRIX[[1, 2, 0]], MATRIX.T + np.outer(X, UP), MATRIX):
        determinant(m)


@scene
def k_means(stage: Stage) -> None:
    """Clusters may lose all their points."""

    @stage
    def cluster(points: Any, centres: Any) -> Any:
        labels, rounds = None, 0
        while rounds < 10:
            distance = np.sum((points[:, None] - centres[None]) ** 2, axis=-1)
            new = np.argmin(distance, axis=1)
            if labels is not None and np.array_equal(new, labels):
                break
            labels = new
            rounds += 1
            moved = []
            for k in range(len(centres)):
                mine = labels == k
                if not np.any(mine):
                    moved.append(points[int(np.argmax(np.min(distance, axis=1)))])
                else:
                    moved.append(np.sum(points * mine[:, None], axis=0) / np.sum(mine))
            centres = np.stack(moved)
        return centres, labels, rounds

    points = np.array([[0.0, 0.1], [0.2, 0.0], [3.0, 3.1], [3.2, 2.9], [6.0, 0.0]])
    cluster(points, np.array([[0.0, 0.0], [3.0, 3.0]]))
    cluster(points, np.array([[0.0, 0.0], [90.0, 90.0]]))
    cluster(points, np.array([[0.0, 0.0], [3.0, 3.0], [50.0, 0.0]]))
    cluster(points, np.array([[6.0, 0.0], [5.0, 0.0]]))


@scene
def metropolis(stage: Stage) -> None:
    """Acceptance by draws from a generator that is an argument."""

    @stage
    def walk(rng: Any, start: Any) -> Any:
        x, accepted = start, 0
        for _ in range(6):
            trial = x + 0.8 * rng.normal(size=2)
            change = np.sum(x * x) / 2.0 - np.sum(trial * trial) / 2.0
            if change > 0 or rng.uniform() < np.exp(change):
                x = trial
                accepted += 1
        return x, accepted

    rng = np.random.default_rng(3)
    for _ in range(4):
        walk(rng, X[:2])
    walk(np.random.default_rng(4), 3 * X[:2])


@scene
def rejection_sampling(stage: Stage) -> None:
    """How often is drawn depends on what is drawn."""

    @stage
    def sample(rng: Any, width: Any) -> Any:
        tries = 1
        while True:
            t = rng.uniform(-width, width)
            if rng.uniform() < np.exp(-t * t):
                return t, tries
            tries += 1

    rng = np.random.default_rng(11)
    for width in (1.0, 3.0, 3.0, 1.0, 6.0):
        sample(rng, width)


@scene
def random_walk_until_outside(stage: Stage) -> None:
    @stage
    def steps(rng: Any, limit: float) -> Any:
        place, count = 0, 0
        while abs(place) < limit:
            place += 1 if rng.integers(2) else -1
            count += 1
        return place, count

    rng = np.random.default_rng(5)
    for limit in (2, 3, 2, 1):
        steps(rng, limit)


@smooth
def ray_against_spheres(stage: Stage) -> None:
    """The nearest hit in front of the eye, if there is one."""

    spheres = ((0.0, 0.0, 4.0, 1.0), (0.5, 0.0, 7.0, 2.0))

    @stage
    def depth(direction: Any) -> Any:
        nearest = None
        d = direction / np.linalg.norm(direction)
        for *centre, radius in spheres:
            c = np.array(centre)
            b = d @ c
            inside = b * b - c @ c + radius * radius
            if inside < 0:
                continue
            t = b - np.sqrt(inside)
            if t > 0 and (nearest is None or t < nearest):
                nearest = t
        if nearest is None:
            return 20.0 + np.sum(d)
        return nearest

    for direction in ([0.0, 0.1, 1.0], [0.3, 0.0, 1.0], [1.0, 0.0, 0.1], [0.0, 0.1, 1.0]):
        depth(np.array(direction))


@smooth
def trust_region(stage: Stage) -> None:
    @stage
    def step(g: Any) -> Any:
        radius = 0.5
        full = np.linalg.solve(MATRIX, -g)
        if np.linalg.norm(full) <= radius:
            return full @ g
        steepest = -g * ((g @ g) / (g @ MATRIX @ g))
        if np.linalg.norm(steepest) >= radius:
            return g @ (steepest * (radius / np.linalg.norm(steepest)))
        d = full - steepest
        a, b, c = d @ d, 2.0 * steepest @ d, steepest @ steepest - radius**2
        return g @ (steepest + (-b + np.sqrt(b * b - 4.0 * a * c)) / (2.0 * a) * d)

    for g in (0.1 * X, X, UP * 2, 4 * X, np.array([0.4, 1.6, -0.2]), 0.1 * X):
        step(g)


@smooth
def proximal_steps(stage: Stage) -> None:
    """Soft thresholds, by elements, until nothing moves."""

    def shrink(t: Any, amount: float) -> Any:
        if t > amount:
            return t - amount
        if t < -amount:
            return t + amount
        return 0.0 * t

    @stage
    def lasso(b: Any) -> Any:
        w = np.zeros(2)
        for _ in range(40):
            residual = MATRIX[:2, :2] @ w - b
            new = np.stack([shrink(t, 0.05) for t in w - 0.2 * residual])
            if np.max(np.abs(new - w)) < 1e-9:
                break
            w = new
        return np.sum(new * new) + np.sum(new)

    for b in (X[:2], 0.1 * X[:2], np.array([2.0, 0.05]), X[:2]):
        lasso(b)
