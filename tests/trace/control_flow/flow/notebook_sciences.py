"""Chemistry, biology, astronomy, geology and finance, as notebooks have them."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.linalg import expm
from scipy.spatial.distance import cdist
from scipy.stats import norm

from tests.trace.control_flow.flow.program import program


@dataclass
class Epidemic:
    beta: float
    sigma: float = 0.2
    gamma: float = 0.1
    lockdown: float = 0.4

    def derivative(self, y, t, contact):
        S, E, I, R = y
        N = sum(y)
        dS = -contact * self.beta * S * I / N
        dE = contact * self.beta * S * I / N - self.sigma * E
        return np.array([dS, dE, self.sigma * E - self.gamma * I, self.gamma * I])

    def run(self, y0, days):
        history = np.zeros((days + 1, 4))
        history[0] = y0
        locked = False
        for day in range(days):
            infected = history[day, 2]
            if not locked and infected > 60:
                locked = True
            elif locked and infected < 40:
                locked = False
            contact = self.lockdown if locked else 1.0
            history[day + 1] = history[day] + self.derivative(history[day], day, contact)
        return history


@program(lambda rng: (rng.uniform(0.4, 1.2, 2), rng.uniform(5, 20)))
def epidemic_with_lockdowns(theta, infected):
    model = replace(Epidemic(beta=theta[0]), lockdown=theta[1] / 2)
    history = model.run([1000 - infected, 0, infected, 0], 40)
    attack = history[-1, 3] / history[0].sum()
    return attack + history[:, 2].max() / 1000


REACTIONS = {
    "A->B": {"k0": 10.0, "Ea": 2.0, "reactants": {"A": 1}, "products": {"B": 1}},
    "2B->C": {"k0": 30.0, "Ea": 3.0, "reactants": {"B": 2}, "products": {"C": 1}},
    "C->A": {"k0": 1.0, "Ea": 1.0, "reactants": {"C": 1}, "products": {"A": 1}},
}


@program(lambda rng: (rng.uniform(0.7, 1.3), rng.uniform(0.5, 1.5, 3)))
def stiff_kinetics(temperature, c0):
    species = ["A", "B", "C"]
    S = np.zeros((3, len(REACTIONS)))
    k, orders = [], np.zeros((len(REACTIONS), 3))
    for j, (name, r) in enumerate(REACTIONS.items()):
        k.append(r["k0"] * np.exp(-r["Ea"] / temperature))
        for s, nu in r["reactants"].items():
            S[species.index(s), j] -= nu
            orders[j, species.index(s)] = nu
        for s, nu in r["products"].items():
            S[species.index(s), j] += nu
    k = np.array(k)

    def rates(c):
        return k * np.prod(c**orders, axis=1)

    def jacobian(c):
        J = np.zeros((3, 3))
        for i in range(3):
            cp = c.copy()
            cp[i] += 1e-7
            J[:, i] = (S @ rates(cp) - S @ rates(c)) / 1e-7
        return J

    c, dt = c0, 0.1
    for _ in range(5):
        new = c.copy()
        for iteration in range(20):
            residual = new - c - dt * S @ rates(new)
            if np.max(np.abs(residual)) < 1e-10:
                break
            new -= np.linalg.solve(np.eye(3) - dt * jacobian(new), residual)
        else:
            raise RuntimeError("Newton did not converge")
        c = new
    return c[2] + 0.1 * c[0]


def spherical(h, sill, rng_, nugget):
    if h == 0:
        return 0.0
    if h > rng_:
        return nugget + sill
    return nugget + sill * (1.5 * h / rng_ - 0.5 * (h / rng_) ** 3)


class OrdinaryKriging:
    def __init__(self, coords, values, variogram):
        self.coords, self.values = coords, values
        self.variogram = np.vectorize(variogram)
        n = len(values)
        d = cdist(coords, coords)
        self.A = np.ones((n + 1, n + 1))
        self.A[:n, :n] = self.variogram(d)
        self.A[n, n] = 0.0

    def predict(self, point):
        d = np.sqrt(((self.coords - point) ** 2).sum(axis=1))
        b = np.append(self.variogram(d), 1.0)
        w = np.linalg.solve(self.A, b)
        return w[:-1] @ self.values, w @ b


@program(
    lambda rng: (
        np.array([1.0, 1.5, 0.1]) + 0.2 * rng.random(3),
        rng.uniform(size=(6, 2)) * 3,
        rng.normal(size=6),
    )
)
def kriging_of_a_grid(params, coords, values):
    sill, reach, nugget = params
    model = OrdinaryKriging(coords, values, lambda h: spherical(h, sill, reach, nugget))
    out = []
    for x in np.linspace(0, 3, 3):
        for y in np.linspace(0, 3, 2):
            estimate, variance = model.predict(np.array([x, y]))
            out.append(estimate + 0.1 * variance)
    return np.mean(out)


def kepler(M, e):
    M = np.array(M)
    E = M * 1.0
    err = M * 0.0 + 1.0
    while err.max() > 1e-8:
        guess = E - (E - e * np.sin(E) - M) / (1.0 - e * np.cos(E))
        err = np.abs(guess - E)
        E = guess
    return E


@program(
    lambda rng: (
        np.array([3.0, 0.1, 0.2, 0.3, 1.0, 0.1]) + 0.05 * rng.normal(size=6),
        np.sort(rng.uniform(0, 20, 12)),
        rng.normal(size=12),
    )
)
def radial_velocity(params, t, rv):
    period, t0, sqrte_cos, sqrte_sin, K, gamma = params
    e = sqrte_cos**2 + sqrte_sin**2
    omega = np.arctan2(sqrte_sin, sqrte_cos)
    if not 0 <= e < 1:
        return -np.inf
    M = (2 * np.pi / period * (t - t0)) % (2 * np.pi)
    E = kepler(M, e)
    f = (np.arctan(np.sqrt((1 + e) / (1 - e)) * np.tan(E / 2)) * 2) % (2 * np.pi)
    model = K * (e * np.cos(omega) + np.cos(f + omega)) + gamma
    return -0.5 * np.sum((rv - model) ** 2)


@np.vectorize
def occulted(z, k):
    if z >= 1 + k:
        return 0.0
    if z <= 1 - k:
        return k**2
    k0 = np.arccos((k**2 + z**2 - 1) / (2 * k * z))
    k1 = np.arccos((1 - k**2 + z**2) / (2 * z))
    return (k**2 * k0 + k1 - math.sqrt(z**2 - 0.25 * (1 + z**2 - k**2) ** 2)) / np.pi


@program(
    lambda rng: (
        {"k": rng.uniform(0.08, 0.15), "b": rng.uniform(0.0, 0.5), "u1": 0.3},
        np.linspace(-1.2, 1.2, 15) + 0.02 * rng.random(15),
    )
)
def transit_light_curve(p, t):
    z = np.sqrt(t**2 + p["b"] ** 2)
    mu = np.sqrt(np.clip(1 - z**2, 1e-12, None))
    flux = 1 - occulted(z, p["k"]) * (1 - p["u1"] * (1 - mu)) / (1 - p["u1"] / 3)
    in_transit = z < 1 + p["k"]
    depth = 1 - flux[in_transit].min()
    return depth + np.sum((1 - flux) ** 2)


class HodgkinHuxley:
    C_m, g_Na, E_Na, g_K, E_K, g_L, E_L = 1.0, 120.0, 50.0, 36.0, -77.0, 0.3, -54.387

    def alpha_m(self, V):
        return 0.1 * (V + 40.0) / (1.0 - np.exp(-(V + 40.0) / 10.0))

    def beta_m(self, V):
        return 4.0 * np.exp(-(V + 65.0) / 18.0)

    def alpha_h(self, V):
        return 0.07 * np.exp(-(V + 65.0) / 20.0)

    def beta_h(self, V):
        return 1.0 / (1.0 + np.exp(-(V + 35.0) / 10.0))

    def alpha_n(self, V):
        return 0.01 * (V + 55.0) / (1.0 - np.exp(-(V + 55.0) / 10.0))

    def beta_n(self, V):
        return 0.125 * np.exp(-(V + 65) / 80.0)

    def simulate(self, I, dt=0.05):
        V, m, h, n = -65.0, 0.05, 0.6, 0.32
        spikes, trace = 0, []
        above = False
        for current in I:
            I_Na = self.g_Na * m**3 * h * (V - self.E_Na)
            I_K = self.g_K * n**4 * (V - self.E_K)
            I_L = self.g_L * (V - self.E_L)
            V += dt * (current - I_Na - I_K - I_L) / self.C_m
            m += dt * (self.alpha_m(V) * (1 - m) - self.beta_m(V) * m)
            h += dt * (self.alpha_h(V) * (1 - h) - self.beta_h(V) * h)
            n += dt * (self.alpha_n(V) * (1 - n) - self.beta_n(V) * n)
            if V > 0 and not above:
                spikes += 1
                above = True
            elif V < -20:
                above = False
            trace.append(V)
        return np.array(trace), spikes


@program(lambda rng: (rng.uniform(5, 20), int(rng.integers(20, 40))))
def hodgkin_huxley(amplitude, start):
    current = np.zeros(120)
    current[start:] = amplitude
    trace, spikes = HodgkinHuxley().simulate(current)
    return trace.mean() + 10 * spikes


TREE = (("human", 0.1), ("chimp", 0.12)), (("mouse", 0.3), (("rat", 0.2), ("cow", 0.5)))


def pruning(node, P, leaves):
    """The likelihood of what is below a node, by its state."""
    if isinstance(node[0], str):
        name, length = node
        v = np.zeros(4)
        v["ACGT".index(leaves[name])] = 1.0
        return P(length) @ v
    result = np.ones(4)
    for child in node:
        result = result * pruning(child, P, leaves)
    return P(0.1) @ result


def alignment(rng):
    names = ["human", "chimp", "mouse", "rat", "cow"]
    return rng.uniform(0.5, 3.0), {n: "".join(rng.choice(list("ACGT"), 4)) for n in names}


@program(alignment)
def phylogenetic_likelihood(kappa, sequences):
    pi = np.array([0.3, 0.2, 0.2, 0.3])
    Q = np.empty((4, 4))
    for i in range(4):
        for j in range(4):
            transition = {i, j} in ({0, 2}, {1, 3})
            Q[i, j] = (kappa if transition else 1.0) * pi[j] if i != j else 0.0
    Q -= np.diag(Q.sum(axis=1))
    Q /= -np.dot(pi, np.diag(Q))
    cache = {}

    def P(t):
        if t not in cache:
            cache[t] = expm(Q * t)
        return cache[t]

    loglik = 0
    for site in zip(*sequences.values()):
        leaves = dict(zip(sequences, site))
        loglik += math.log(pi @ pruning(TREE, P, leaves))
    return loglik


@program(
    lambda rng: (
        np.array([100.0, 0.25, 0.03]) + [rng.normal(), 0.02 * rng.random(), 0.0],
        rng.uniform(95, 105),
    )
)
def american_put_by_a_tree(market, strike, n=12, T=1.0):
    S, sigma, r = market
    dt = T / n
    u = np.exp(sigma * np.sqrt(dt))
    d = 1 / u
    p = (np.exp(r * dt) - d) / (u - d)
    disc = np.exp(-r * dt)
    prices = np.array([S * u ** (n - j) * d**j for j in range(n + 1)])
    values = np.maximum(strike - prices, 0)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1):
            values[j] = disc * (p * values[j] + (1 - p) * values[j + 1])
            spot = S * u ** (i - j) * d**j
            values[j] = max(values[j], strike - spot)
    return values[0]


class HestonModel:
    def __init__(self, kappa, theta, xi, rho, v0):
        self.kappa, self.theta, self.xi, self.rho, self.v0 = kappa, theta, xi, rho, v0

    def characteristic(self, u, T):
        i = complex(0, 1)
        a = self.kappa - self.rho * self.xi * i * u
        d = np.sqrt(a**2 + self.xi**2 * (i * u + u**2))
        g = (a - d) / (a + d)
        e = np.exp(-d * T)
        C = self.kappa * self.theta / self.xi**2 * ((a - d) * T - 2 * np.log((1 - g * e) / (1 - g)))
        D = (a - d) / self.xi**2 * (1 - e) / (1 - g * e)
        return np.exp(C + D * self.v0)

    def call(self, S, K, T):
        x, w = np.polynomial.legendre.leggauss(24)
        u = 40 * (x + 1)
        integrand = (np.exp(1j * u * np.log(S / K)) * self.characteristic(u - 0.5j, T)) / (
            u**2 + 0.25
        )
        return S - np.sqrt(S * K) / np.pi * np.sum(40 * w * integrand.real)

    def monte_carlo(self, S, K, T, z):
        L = np.linalg.cholesky(np.array([[1.0, self.rho], [self.rho, 1.0]]))
        n_steps, _, n_paths = z.shape
        dt = T / n_steps
        s, v = np.full(n_paths, S), np.ones(n_paths) * self.v0
        for k in range(n_steps):
            dW = L @ z[k] * np.sqrt(dt)
            v_pos = np.maximum(v, 0)
            s *= np.exp(-0.5 * v_pos * dt + np.sqrt(v_pos) * dW[0])
            v += self.kappa * (self.theta - v_pos) * dt + self.xi * np.sqrt(v_pos) * dW[1]
        return np.maximum(s - K, 0).mean()


@program(
    lambda rng: (
        np.array([1.5, 0.05, 0.4, -0.6, 0.05]) * (1 + 0.05 * rng.normal(size=5)),
        rng.uniform(90, 110),
        rng.normal(size=(6, 2, 10)),
    )
)
def heston_two_ways(params, strike, z):
    model = HestonModel(*params)
    exact = model.call(100.0, strike, 1.0)
    simulated = model.monte_carlo(100.0, strike, 1.0, z)
    return exact + 0.1 * (simulated - exact) ** 2


def quotes(rng):
    frame = pd.DataFrame({"years": [0.5, 1.0, 2.0, 3.0, 5.0], "coupon": [0, 0, 3.0, 3.5, 4.0]})
    frame["price"] = 100 - frame.years + rng.normal(size=5) * 0.3
    return rng.uniform(-0.01, 0.01, 5), frame


@program(quotes)
def bootstrapped_yield_curve(shift, bonds):
    curve = {}
    for (_, bond), bump in zip(bonds.iterrows(), shift):
        price = bond["price"] * (1 + bump)
        if bond["coupon"] == 0:
            curve[bond["years"]] = -math.log(price / 100) / bond["years"]
            continue
        for t in range(1, int(bond["years"])):
            rate = np.interp(t, list(curve.keys()), list(curve.values()))
            price -= bond["coupon"] * math.exp(-rate * t)
        curve[bond["years"]] = -math.log(price / (100 + bond["coupon"])) / bond["years"]
    rates = pd.Series(curve).sort_index()
    forwards = np.diff(rates.values * rates.index.values) / np.diff(rates.index.values)
    return float(np.sum(forwards**2) * 100 + rates.iloc[-1])


@program(
    lambda rng: (
        np.array([0.04, -0.02, 0.01, 1.5]) * (1 + 0.1 * rng.normal(size=4)),
        rng.uniform(0.02, 0.05, 5),
    )
)
def nelson_siegel(params, quoted):
    beta0, beta1, beta2, tau = params

    def zero_rate(t):
        if t <= 0.0:
            return beta0 + beta1
        x = t / tau
        return beta0 + (beta1 + beta2) * (1 - math.exp(-x)) / x - beta2 * math.exp(-x)

    errors = []
    for maturity, rate in zip([1, 2, 5, 10, 30], quoted):
        annuity = sum(math.exp(-zero_rate(t) * t) for t in range(1, maturity + 1))
        par = (1 - math.exp(-zero_rate(maturity) * maturity)) / annuity
        errors.append((par - rate) ** 2)
    return 1e4 * np.mean(errors) + zero_rate(0.0)


@program(lambda rng: (np.array([36.0, 0.2]) * (1 + 0.05 * rng.random(2)), rng.normal(size=(4, 12))))
def least_squares_monte_carlo(market, z):
    S0, sigma = market
    r, dt, K = 0.06, 0.25, 40.0
    paths = np.zeros((5, 12))
    paths[0] = S0
    for t in range(1, 5):
        paths[t] = paths[t - 1] * np.exp((r - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * z[t - 1])
    h = np.maximum(K - paths, 0)
    V = h[-1].copy()
    for t in range(3, 0, -1):
        V = V * np.exp(-r * dt)
        reg = np.polyfit(paths[t], V, 2)
        C = np.polyval(reg, paths[t])
        exercise = np.logical_and(h[t] > C, h[t] > 0)
        V[exercise] = h[t][exercise]
    delta = (norm.cdf((np.log(S0 / K) + r + 0.5 * sigma**2) / sigma) - 1).item()
    return np.mean(V) * np.exp(-r * dt) + delta
