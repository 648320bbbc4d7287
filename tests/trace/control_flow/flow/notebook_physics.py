"""Simulations of physics, as lectures and blogs have them."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh_tridiagonal

from tests.trace.control_flow.flow.program import program


@dataclass
class Body:
    name: str
    mass: float
    pos: np.ndarray
    vel: np.ndarray
    acc: np.ndarray = None

    @property
    def kinetic(self):
        return 0.5 * self.mass * np.dot(self.vel, self.vel)


class System:
    G = 1.0

    def __init__(self, bodies):
        self.bodies = bodies

    def compute_accelerations(self):
        for body in self.bodies:
            body.acc = np.zeros(2)
        for b1, b2 in itertools.combinations(self.bodies, 2):
            r = b2.pos - b1.pos
            dist = np.sqrt(r.dot(r) + 1e-3)
            force = self.G * r / dist**3
            b1.acc += b2.mass * force
            b2.acc -= b1.mass * force

    def step(self, dt):
        for body in self.bodies:
            body.vel += 0.5 * dt * body.acc
            body.pos += dt * body.vel
        self.compute_accelerations()
        for body in self.bodies:
            body.vel += 0.5 * dt * body.acc

    def energy(self):
        kinetic = sum(b.kinetic for b in self.bodies)
        potential = 0
        for i, b1 in enumerate(self.bodies):
            for b2 in self.bodies[i + 1 :]:
                potential -= self.G * b1.mass * b2.mass / np.linalg.norm(b1.pos - b2.pos)
        return kinetic + potential


@program(
    lambda rng: (
        rng.uniform(0.5, 2.0, 3),
        np.array([[1.0, 0.0], [-0.5, 0.8], [-0.5, -0.8]]) + 0.1 * rng.normal(size=(3, 2)),
        0.3 * rng.normal(size=(3, 2)),
    )
)
def gravity_of_bodies(masses, positions, velocities):
    names = ["sun", "earth", "moon"]
    system = System(
        [Body(n, m, p.copy(), v.copy()) for n, m, p, v in zip(names, masses, positions, velocities)]
    )
    system.compute_accelerations()
    for _ in range(10):
        system.step(0.02)
    by_name = {b.name: b for b in system.bodies}
    return system.energy() + np.linalg.norm(by_name["earth"].pos - by_name["moon"].pos)


@program(lambda rng: (rng.uniform(0.5, 3.0, 2), int(rng.integers(0, 3))))
def bound_states(potential, level):
    depth, width = potential
    x = np.linspace(-4, 4, 40)
    dx = x[1] - x[0]
    V = lambda x: 0.5 * x**2 - depth * np.exp(-((x / width) ** 2))
    diagonal = 1 / dx**2 + V(x)
    off_diagonal = -0.5 / dx**2 * np.ones(len(x) - 1)
    H = np.diag(diagonal) + np.diag(off_diagonal, k=1) + np.diag(off_diagonal, -1)
    E, psi = np.linalg.eigh(H)
    density = np.abs(psi[:, level]) ** 2
    density /= np.trapezoid(density, x)
    return E[level] + np.trapezoid(density * x**2, x)


@program(lambda rng: (rng.uniform(0.5, 3.0, 2), rng.uniform(0.5, 2.0)))
def tridiagonal_ground_state(potential, stretch):
    x = np.linspace(-3, 3, 30)
    dx = x[1] - x[0]
    v = potential[0] * x**2 + potential[1] * x**4
    w, vec = eigh_tridiagonal(
        1 / dx**2 + v, -0.5 * np.ones(29) / dx**2, select="i", select_range=(0, 1)
    )
    return stretch * (w[1] - w[0]) + np.sum(vec[:, 0] ** 4)


@program(lambda rng: (rng.uniform(0.5, 2.0, 2), rng.uniform(-1.0, 1.0)))
def split_step_schroedinger(theta, x0):
    height, k0 = theta
    n, dt = 32, 0.05
    x = np.linspace(-8, 8, n, endpoint=False)
    k = 2 * np.pi * np.fft.fftfreq(n, d=x[1] - x[0])
    psi = np.exp(-((x - x0) ** 2) / 2 + 1j * k0 * x)
    psi /= np.sqrt(np.sum(np.abs(psi) ** 2))
    V = np.zeros_like(x)
    V[np.abs(x - 2) < 1] = height
    half = np.exp(-0.5j * V * dt)
    kinetic = np.exp(-0.5j * k**2 * dt)
    for _ in range(10):
        psi = half * psi
        psi = np.fft.ifft(kinetic * np.fft.fft(psi))
        psi *= half
    return np.sum(np.abs(psi[x > 1]) ** 2) + np.real(np.vdot(psi, x * psi))


@program(lambda rng: (rng.uniform(0.05, 0.2, 2), rng.uniform(size=(8, 8))))
def heat_on_a_plate(nu, u0):
    u = u0.copy()
    u[0, :], u[-1, :], u[:, 0], u[:, -1] = 1.0, 0.0, 0.0, 0.0
    for it in range(15):
        un = u.copy()
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            + nu[0] * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, 0:-2])
            + nu[1] * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[0:-2, 1:-1])
        )
        u[-1, :] = u[-2, :]
        change = np.linalg.norm(u - un)
        if change < 0.3:
            break
    return u.sum() + it * 0.1


def cavity_pressure(p, dx, dy, b, steps):
    pn = np.empty_like(p)
    for _ in range(steps):
        pn = p.copy()
        p[1:-1, 1:-1] = (
            (pn[1:-1, 2:] + pn[1:-1, 0:-2]) * dy**2 + (pn[2:, 1:-1] + pn[0:-2, 1:-1]) * dx**2
        ) / (2 * (dx**2 + dy**2)) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1]
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0
    return p


@program(lambda rng: (rng.uniform(0.5, 2.0), 0.1 * rng.normal(size=(6, 6))))
def pressure_in_a_cavity(rho, u):
    dx = dy = 0.2
    b = np.zeros((6, 6))
    b[1:-1, 1:-1] = rho * ((u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx)) ** 2
    p = cavity_pressure(np.zeros((6, 6)), dx, dy, b, 8)
    return np.sum(p**2) + p[2, 3]


def derivs(state, t, L1, L2, M1, M2, G=9.8):
    dydx = np.zeros_like(state)
    dydx[0] = state[1]
    delta = state[2] - state[0]
    den1 = (M1 + M2) * L1 - M2 * L1 * np.cos(delta) * np.cos(delta)
    dydx[1] = (
        M2 * L1 * state[1] * state[1] * np.sin(delta) * np.cos(delta)
        + M2 * G * np.sin(state[2]) * np.cos(delta)
        + M2 * L2 * state[3] * state[3] * np.sin(delta)
        - (M1 + M2) * G * np.sin(state[0])
    ) / den1
    dydx[2] = state[3]
    den2 = (L2 / L1) * den1
    dydx[3] = (
        -M2 * L2 * state[3] * state[3] * np.sin(delta) * np.cos(delta)
        + (M1 + M2) * G * np.sin(state[0]) * np.cos(delta)
        - (M1 + M2) * L1 * state[1] * state[1] * np.sin(delta)
        - (M1 + M2) * G * np.sin(state[2])
    ) / den2
    return dydx


def rk4(f, y0, t, args=()):
    n = len(t)
    y = np.zeros((n, len(y0)))
    y[0] = y0
    for i in range(n - 1):
        h = t[i + 1] - t[i]
        k1 = f(y[i], t[i], *args)
        k2 = f(y[i] + k1 * h / 2.0, t[i] + h / 2.0, *args)
        k3 = f(y[i] + k2 * h / 2.0, t[i] + h / 2.0, *args)
        k4 = f(y[i] + k3 * h, t[i] + h, *args)
        y[i + 1] = y[i] + (h / 6.0) * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


@program(lambda rng: (rng.uniform(0.8, 1.2, 4), np.radians(rng.uniform(10, 120, 2))))
def double_pendulum(lengths_and_masses, angles):
    th1, th2 = angles
    L1, L2, M1, M2 = lengths_and_masses
    y = rk4(derivs, [th1, 0.0, th2, 0.0], np.arange(0.0, 0.5, 0.02), args=(L1, L2, M1, M2))
    x2 = L2 * np.sin(y[:, 2]) + L1 * np.sin(y[:, 0])
    y2 = -L2 * np.cos(y[:, 2]) - L1 * np.cos(y[:, 0])
    return x2[-1] + y2.mean()


class LennardJonesFluid:
    def __init__(self, eps, sigma, box, rcut=1.8):
        self.eps, self.sigma, self.box, self.rcut = eps, sigma, box, rcut

    def forces(self, x):
        n = len(x)
        f = np.zeros_like(x)
        pe = 0.0
        for i in range(n):
            for j in range(i + 1, n):
                rij = x[i] - x[j]
                rij -= self.box * np.round(rij / self.box)
                r2 = np.sum(rij * rij)
                if r2 > self.rcut**2:
                    continue
                s6 = (self.sigma**2 / r2) ** 3
                pe += 4 * self.eps * (s6**2 - s6)
                fij = 24 * self.eps * (2 * s6**2 - s6) / r2 * rij
                f[i] += fij
                f[j] -= fij
        return f, pe


def lattice(rng):
    x = np.array(list(itertools.product(range(2), range(3))), dtype=float) * 1.1
    return (
        rng.uniform(0.9, 1.1, 2),
        x + 0.05 * rng.normal(size=x.shape),
        0.2 * rng.normal(size=x.shape),
    )


@program(lattice)
def molecular_dynamics(params, x, v):
    fluid = LennardJonesFluid(params[0], params[1], box=3.3)
    f, pe = fluid.forces(x)
    energies = []
    for step in range(4):
        v = v + 0.5 * 0.005 * f
        x = (x + 0.005 * v) % fluid.box
        f, pe = fluid.forces(x)
        v = v + 0.5 * 0.005 * f
        energies.append((0.5 * np.sum(v**2), pe))
    kinetic, potential = np.array(energies).T
    return kinetic.mean() + potential[-1]


@program(lambda rng: (rng.uniform(1.0, 4.0), float(rng.uniform(8, 12))))
def finite_differences_in_time(epsilon, t0):
    ke = 40
    ex, hy = np.zeros(ke), np.zeros(ke)
    boundary_low, boundary_high = [0, 0], [0, 0]
    cb = 0.5 * np.ones(ke)
    cb[25:] = 0.5 / epsilon
    for time_step in range(1, 31):
        for k in range(1, ke):
            ex[k] = ex[k] + cb[k] * (hy[k - 1] - hy[k])
        pulse = math.exp(-0.5 * ((t0 - time_step) / 4) ** 2)
        ex[5] = pulse + ex[5]
        ex[0] = boundary_low.pop(0)
        boundary_low.append(ex[1])
        ex[ke - 1] = boundary_high.pop(0)
        boundary_high.append(ex[ke - 2])
        for k in range(ke - 1):
            hy[k] = hy[k] + 0.5 * (ex[k] - ex[k + 1])
    return np.sum(ex**2) + np.sum(hy[25:])


def normalize(x):
    x /= np.linalg.norm(x)
    return x


def intersect_sphere(O, D, S, R):
    a = np.dot(D, D)
    OS = O - S
    b = 2 * np.dot(D, OS)
    c = np.dot(OS, OS) - R * R
    disc = b * b - 4 * a * c
    if disc > 0:
        distSqrt = np.sqrt(disc)
        q = (-b - distSqrt) / 2.0 if b < 0 else (-b + distSqrt) / 2.0
        t0 = q / a
        t1 = c / q
        t0, t1 = min(t0, t1), max(t0, t1)
        if t1 >= 0:
            return t1 if t0 < 0 else t0
    return np.inf


def trace_ray(scene, O, D, L):
    t = np.inf
    for i, obj in enumerate(scene):
        t_obj = intersect_sphere(O, D, obj["position"], obj["radius"])
        if t_obj < t:
            t, obj_idx = t_obj, i
    if t == np.inf:
        return
    obj = scene[obj_idx]
    M = O + D * t
    N = normalize(M - obj["position"])
    toL = normalize(L - M)
    toO = normalize(O - M)
    col = 0.05
    col += 0.8 * max(np.dot(N, toL), 0) * obj["color"]
    col += max(np.dot(N, normalize(toL + toO)), 0) ** 50
    return obj, M, N, col


@program(
    lambda rng: (
        rng.uniform(0.4, 0.7, 2),
        np.array([[0.3, 0.1, 1.0], [-0.6, 0.1, 1.8]]) + 0.05 * rng.normal(size=(2, 3)),
    )
)
def ray_tracing(radii, centers):
    colors = [np.array([0.0, 0.0, 1.0]), np.array([0.5, 0.2, 0.5])]
    scene = [
        {"position": c, "radius": r, "color": k, "reflection": 0.4}
        for c, r, k in zip(centers, radii, colors)
    ]
    L = np.array([5.0, 5.0, -10.0])
    img = np.zeros((3, 4, 3))
    for i, x in enumerate(np.linspace(-1, 1, 4)):
        for j, y in enumerate(np.linspace(-0.7, 0.7, 3)):
            O = np.array([0.0, 0.35, -1.0])
            D = normalize(np.array([x, y, 0.0]) - O)
            col = np.zeros(3)
            depth, reflection = 0, 1.0
            while depth < 2:
                traced = trace_ray(scene, O, D, L)
                if not traced:
                    break
                obj, M, N, col_ray = traced
                O, D = M + N * 0.0001, normalize(D - 2 * np.dot(D, N) * N)
                depth += 1
                col += reflection * col_ray
                reflection *= obj.get("reflection", 1.0)
            img[j, i, :] = np.clip(col, 0, 1)
    return img.mean()


@program(lambda rng: (rng.uniform(0.6, 1.0), 1 + 0.1 * rng.random((6, 8, 9))))
def lattice_boltzmann(tau, F):
    cxs = np.array([0, 0, 1, 1, 1, 0, -1, -1, -1])
    cys = np.array([0, 1, 1, 0, -1, -1, -1, 0, 1])
    weights = np.array([4 / 9, 1 / 9, 1 / 36, 1 / 9, 1 / 36, 1 / 9, 1 / 36, 1 / 9, 1 / 36])
    idxs = np.arange(9)
    X, Y = np.meshgrid(range(8), range(6))
    cylinder = (X - 2) ** 2 + (Y - 3) ** 2 < 2**2
    F[:, :, 3] += 0.2 * (1 + 0.2 * np.cos(2 * np.pi * X / 8 * 4))
    for it in range(4):
        for i, cx, cy in zip(idxs, cxs, cys):
            F[:, :, i] = np.roll(F[:, :, i], cx, axis=1)
            F[:, :, i] = np.roll(F[:, :, i], cy, axis=0)
        bndryF = F[cylinder, :]
        bndryF = bndryF[:, [0, 5, 6, 7, 8, 1, 2, 3, 4]]
        rho = np.sum(F, 2)
        ux = np.sum(F * cxs, 2) / rho
        uy = np.sum(F * cys, 2) / rho
        Feq = np.zeros(F.shape)
        for i, cx, cy, w in zip(idxs, cxs, cys, weights):
            Feq[:, :, i] = (
                rho
                * w
                * (
                    1
                    + 3 * (cx * ux + cy * uy)
                    + 9 * (cx * ux + cy * uy) ** 2 / 2
                    - 3 * (ux**2 + uy**2) / 2
                )
            )
        F += -(1.0 / tau) * (F - Feq)
        F[cylinder, :] = bndryF
    ux[cylinder] = 0
    vorticity = np.roll(ux, -1, axis=0) - np.roll(ux, 1, axis=0)
    vorticity[cylinder] = np.nan
    return np.nansum(vorticity**2)
