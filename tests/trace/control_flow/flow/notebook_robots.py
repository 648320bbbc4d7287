"""Filters, planners and controllers, as courses on robotics and control have them."""

import math
from functools import reduce

import numpy as np
import pandas as pd

from tests.trace.control_flow.flow.program import program

DT = 0.1
STATE_SIZE, LM_SIZE = 3, 2


def pi_2_pi(angle):
    return (angle + math.pi) % (2 * math.pi) - math.pi


def motion_model(x, u):
    f = np.eye(3)
    b = np.array([[DT * math.cos(x[2, 0]), 0], [DT * math.sin(x[2, 0]), 0], [0.0, DT]])
    return f @ x + b @ u


class EkfSlam:
    def __init__(self, q, r):
        self.Cx = np.diag(q) ** 2
        self.R = np.diag(r) ** 2
        self.xEst = np.zeros((STATE_SIZE, 1))
        self.PEst = np.eye(STATE_SIZE)
        self.seen = {}

    def predict(self, u):
        s = STATE_SIZE
        yaw = self.xEst[2, 0]
        self.xEst[0:s] = motion_model(self.xEst[0:s], u)
        g = np.eye(len(self.xEst))
        g[0, 2] = -DT * u[0, 0] * math.sin(yaw)
        g[1, 2] = DT * u[0, 0] * math.cos(yaw)
        self.PEst = g.T @ self.PEst @ g
        self.PEst[0:s, 0:s] += self.Cx

    def add_landmark(self, name, z):
        x, y, yaw = self.xEst[:3, 0]
        place = np.array([[x + z[0] * math.cos(yaw + z[1])], [y + z[0] * math.sin(yaw + z[1])]])
        n = len(self.xEst)
        self.xEst = np.vstack((self.xEst, place))
        self.PEst = np.vstack(
            (
                np.hstack((self.PEst, np.zeros((n, LM_SIZE)))),
                np.hstack((np.zeros((LM_SIZE, n)), np.eye(LM_SIZE))),
            )
        )
        self.seen[name] = len(self.seen)

    def update(self, name, z):
        if name not in self.seen:
            self.add_landmark(name, z)
        i = STATE_SIZE + LM_SIZE * self.seen[name]
        delta = self.xEst[i : i + 2] - self.xEst[0:2]
        q = (delta.T @ delta)[0, 0]
        angle = math.atan2(delta[1, 0], delta[0, 0]) - self.xEst[2, 0]
        innovation = np.array([[z[0] - math.sqrt(q)], [pi_2_pi(z[1] - angle)]])
        sq = math.sqrt(q)
        h = np.zeros((2, len(self.xEst)))
        h[:, :3] = np.array(
            [[-sq * delta[0, 0], -sq * delta[1, 0], 0], [delta[1, 0], -delta[0, 0], -q]]
        )
        h[:, i : i + 2] = np.array(
            [[sq * delta[0, 0], sq * delta[1, 0]], [-delta[1, 0], delta[0, 0]]]
        )
        h = h / q
        S = h @ self.PEst @ h.T + self.R
        K = (self.PEst @ h.T) @ np.linalg.inv(S)
        self.xEst = self.xEst + (K @ innovation)
        self.PEst = (np.eye(len(self.xEst)) - (K @ h)) @ self.PEst


def slam_data(rng):
    names = ["tree", "wall", "door"]
    steps = [
        {
            "v": 1.0,
            "omega": rng.normal() * 0.2,
            "seen": {names[k % 3]: rng.uniform([2, -1], [5, 1])},
        }
        for k in range(6)
    ]
    return rng.uniform(0.2, 0.6, 5), steps


@program(slam_data)
def ekf_slam(noise, steps):
    slam = EkfSlam(noise[:3], noise[3:])
    error = 0.0
    for step in steps:
        u = np.array([[step["v"], step["omega"]]]).T
        slam.predict(u)
        for name, z in step["seen"].items():
            slam.update(name, z)
        error += np.sum(slam.xEst[:2] ** 2)
    return error + np.trace(slam.PEst)


class Pendulum:
    g, l, m, b = 9.81, 1.0, 1.0, 0.1

    def step(self, x, u):
        theta, omega = x
        alpha = (u[0] - self.b * omega - self.m * self.g * self.l * np.sin(theta)) / (
            self.m * self.l**2
        )
        return np.array([theta + 0.05 * omega, omega + 0.05 * alpha])

    def jacobians(self, x, u):
        a = np.array([[1.0, 0.05], [-0.05 * self.g / self.l * np.cos(x[0]), 1 - 0.05 * self.b]])
        return a, np.array([[0.0], [0.05]])


def ilqr(model, x0, us, q, r, goal, max_iter=4):
    def rollout(us):
        xs = [x0]
        for u in us:
            xs.append(model.step(xs[-1], u))
        return np.array(xs)

    def cost(xs, us):
        return sum((x - goal) @ q @ (x - goal) for x in xs) + r * np.sum(us**2)

    xs = rollout(us)
    J = cost(xs, us)
    for _ in range(max_iter):
        vx, vxx = 2 * q @ (xs[-1] - goal), 2 * q
        ks, Ks = [], []
        for t in range(len(us) - 1, -1, -1):
            a, b = model.jacobians(xs[t], us[t])
            qx = 2 * q @ (xs[t] - goal) + a.T @ vx
            qu = 2 * r * us[t] + b.T @ vx
            qxx = 2 * q + a.T @ vxx @ a
            quu = 2 * r * np.eye(1) + b.T @ vxx @ b
            qux = b.T @ vxx @ a
            k = -np.linalg.solve(quu, qu)
            K = -np.linalg.solve(quu, qux)
            ks.append(k)
            Ks.append(K)
            vx = qx + K.T @ quu @ k + K.T @ qu + qux.T @ k
            vxx = qxx + K.T @ quu @ K + K.T @ qux + qux.T @ K
        ks.reverse()
        Ks.reverse()
        improved = False
        for alpha in [1.0, 0.5, 0.25, 0.1]:
            x, new_us = x0, np.zeros_like(us)
            for t in range(len(us)):
                new_us[t] = us[t] + alpha * ks[t] + Ks[t] @ (x - xs[t])
                x = model.step(x, new_us[t])
            new_xs = rollout(new_us)
            new_J = cost(new_xs, new_us)
            if new_J < J:
                xs, us, J, improved = new_xs, new_us, new_J, True
                break
        if not improved:
            break
    return xs, us, J


@program(lambda rng: (rng.uniform(0.5, 2.0, 3), rng.normal(size=2)))
def iterative_lqr(weights, x0):
    xs, us, J = ilqr(
        Pendulum(),
        x0,
        np.zeros((8, 1)),
        np.diag(weights[:2]),
        0.1 * weights[2],
        np.array([np.pi, 0.0]),
    )
    return J + xs[-1, 0]


class PID:
    def __init__(self, kp, ki, kd, limits=(-5, 5)):
        self.kp, self.ki, self.kd = kp, ki, kd
        self.low, self.high = limits
        self._integral = 0
        self._last_error = None

    def __call__(self, setpoint, measurement, dt):
        error = setpoint - measurement
        self._integral += error * dt
        self._integral = max(min(self._integral, 1.0), -1.0)
        derivative = 0 if self._last_error is None else (error - self._last_error) / dt
        self._last_error = error
        output = self.kp * error + self.ki * self._integral + self.kd * derivative
        if output > self.high:
            return self.high
        elif output < self.low:
            return self.low
        return output


@program(lambda rng: (rng.uniform(0.5, 4.0, 3), rng.normal(size=30) * 0.05))
def pid_loop(gains, disturbance):
    pid = PID(*gains)
    position, velocity = 0.0, 0.0
    log = {"t": [], "y": [], "u": []}
    for i, d in enumerate(disturbance):
        u = pid(1.0, position, DT)
        velocity += DT * (u - 0.5 * velocity + d)
        position += DT * velocity
        log["t"].append(i * DT)
        log["y"].append(position)
        log["u"].append(u)
    y = np.array(log["y"])
    overshoot = max(0, y.max() - 1)
    return np.trapezoid(np.abs(1 - y), log["t"]) + 0.01 * np.sum(np.square(log["u"])) + overshoot


def systematic_resample(weights, u):
    n = len(weights)
    positions = (np.arange(n) + u) / n
    indexes = np.zeros(n, "i")
    cumulative_sum = np.cumsum(weights)
    i, j = 0, 0
    while i < n:
        if positions[i] < cumulative_sum[j]:
            indexes[i] = j
            i += 1
        else:
            j += 1
    return indexes


@program(lambda rng: (rng.uniform(0.5, 1.5, 2), rng.normal(size=6), rng.normal(size=(6, 12))))
def particle_filter(theta, measurements, noise):
    sigma_v, sigma_w = theta
    rng = np.random.default_rng(7)
    particles = np.zeros(12)
    weights = np.ones(12) / 12
    loglik = 0.0
    for z, v in zip(measurements, noise):
        particles = 0.9 * particles + sigma_v * v
        weights *= np.exp(-0.5 * ((z - particles) / sigma_w) ** 2) / sigma_w
        weights += 1e-300
        loglik += np.log(sum(weights))
        weights /= sum(weights)
        neff = 1.0 / np.sum(np.square(weights))
        if neff < len(particles) / 2:
            indexes = systematic_resample(weights, rng.random())
            particles = particles[indexes]
            weights.fill(1.0 / len(weights))
    mean = np.average(particles, weights=weights)
    var = np.average((particles - mean) ** 2, weights=weights)
    return loglik + mean + var


def dh_matrix(theta, d, a, alpha):
    ct, st = np.cos(theta), np.sin(theta)
    ca, sa = np.cos(alpha), np.sin(alpha)
    return np.array(
        [
            [ct, -st * ca, st * sa, a * ct],
            [st, ct * ca, -ct * sa, a * st],
            [0, sa, ca, d],
            [0, 0, 0, 1],
        ]
    )


class RobotArm:
    def __init__(self, links):
        self.links = links

    def forward(self, q):
        transforms = [dh_matrix(theta, **link) for theta, link in zip(q, self.links)]
        return reduce(np.matmul, transforms, np.eye(4))[:3, 3]

    def jacobian(self, q):
        T = np.identity(4)
        origins, axes = [T[:3, 3]], [T[:3, 2]]
        for theta, link in zip(q, self.links):
            T = T.dot(dh_matrix(theta, **link))
            origins.append(T[:3, 3])
            axes.append(T[:3, 2])
        return np.column_stack(
            [np.cross(z, origins[-1] - o) for z, o in zip(axes[:-1], origins[:-1])]
        )

    def inverse(self, target, q, damping=0.5, tol=1e-2, max_iter=12):
        for it in range(max_iter):
            error = target - self.forward(q)
            if np.linalg.norm(error) < tol:
                break
            J = self.jacobian(q)
            q = q + J.T @ np.linalg.inv(J @ J.T + damping**2 * np.eye(3)) @ error
        return q, it


@program(lambda rng: (rng.uniform(0.4, 1.0, 3), rng.normal(size=3) * 0.5 + 0.3))
def inverse_kinematics(lengths, target):
    arm = RobotArm(
        [
            dict(d=lengths[0], a=0.0, alpha=np.pi / 2),
            dict(d=0.0, a=lengths[1], alpha=0.0),
            dict(d=0.0, a=lengths[2], alpha=0.0),
        ]
    )
    q, _ = arm.inverse(target, np.array([0.1, 0.4, 0.5]))
    return np.sum(q**2) + np.linalg.norm(arm.forward(q) - target)


def solve_dare(A, B, Q, R, max_iter=150, eps=1e-4):
    P = Q
    for i in range(max_iter):
        P_next = A.T @ P @ A - A.T @ P @ B @ np.linalg.inv(R + B.T @ P @ B) @ B.T @ P @ A + Q
        if (abs(P_next - P)).max() < eps:
            break
        P = P_next
    return P_next


@program(lambda rng: (rng.uniform(0.5, 2.0, 2), rng.normal(size=4), np.linspace(0, 5, 20)))
def lqr_path_tracking(q, start, course):
    x, y, yaw, v = start[0], start[1], 0.1 * start[2], 1.0 + 0.1 * start[3]
    cx, cy = course, np.sin(course / 2)
    A = np.array([[1.0, DT], [0.0, 1.0]])
    total = 0.0
    for _ in range(8):
        d = [(x - icx) ** 2 + (y - icy) ** 2 for icx, icy in zip(cx, cy)]
        mind = min(d)
        ind = d.index(mind)
        mind = math.sqrt(mind)
        angle = pi_2_pi(math.atan2(cy[ind] - y, cx[ind] - x) - yaw)
        if angle < 0:
            mind *= -1
        B = np.zeros((2, 1))
        B[1, 0] = v * DT
        P = solve_dare(A, B, np.diag(q), np.eye(1))
        K = np.linalg.inv(B.T @ P @ B + np.eye(1)) @ (B.T @ P @ A)
        delta = (K @ np.array([mind, angle]))[0]
        delta = np.clip(delta, -0.5, 0.5)
        x += v * math.cos(yaw) * DT
        y += v * math.sin(yaw) * DT
        yaw += v * math.tan(delta) * DT
        total += mind**2 + delta**2
    return total


class Madgwick:
    def __init__(self, beta):
        self.beta = beta
        self.q = np.array([1.0, 0.0, 0.0, 0.0])

    @staticmethod
    def multiply(p, q):
        w0, x0, y0, z0 = p
        w1, x1, y1, z1 = q
        return np.array(
            [
                w0 * w1 - x0 * x1 - y0 * y1 - z0 * z1,
                w0 * x1 + x0 * w1 + y0 * z1 - z0 * y1,
                w0 * y1 - x0 * z1 + y0 * w1 + z0 * x1,
                w0 * z1 + x0 * y1 - y0 * x1 + z0 * w1,
            ]
        )

    def update(self, gyro, acc):
        norm = np.linalg.norm(acc)
        if norm == 0:
            return
        a = acc / norm
        q = self.q
        f = np.array(
            [
                2 * (q[1] * q[3] - q[0] * q[2]) - a[0],
                2 * (q[0] * q[1] + q[2] * q[3]) - a[1],
                2 * (0.5 - q[1] ** 2 - q[2] ** 2) - a[2],
            ]
        )
        j = np.array(
            [
                [-2 * q[2], 2 * q[3], -2 * q[0], 2 * q[1]],
                [2 * q[1], 2 * q[0], 2 * q[3], 2 * q[2]],
                [0, -4 * q[1], -4 * q[2], 0],
            ]
        )
        step = j.T @ f
        step /= np.linalg.norm(step)
        qdot = 0.5 * self.multiply(q, [0, *gyro]) - self.beta * step
        self.q = self.q + qdot * DT
        self.q /= np.linalg.norm(self.q)


def imu_log(rng):
    frame = pd.DataFrame(rng.normal(size=(8, 6)), columns=["gx", "gy", "gz", "ax", "ay", "az"])
    frame["az"] += 9.81
    return rng.uniform(0.05, 0.5), frame


@program(imu_log)
def attitude_from_a_data_frame(beta, log):
    estimator = Madgwick(beta)
    for _, row in log.iterrows():
        estimator.update(row[["gx", "gy", "gz"]].values, row[["ax", "ay", "az"]].to_numpy())
    w, x, y, z = estimator.q
    roll = math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    pitch = math.asin(2 * (w * y - z * x))
    return roll + 2 * pitch
