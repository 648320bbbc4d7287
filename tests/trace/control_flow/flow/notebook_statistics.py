"""Likelihoods, samplers and state-space models, as books on statistics and blogs have them."""

import itertools
import math
from collections import defaultdict, namedtuple
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.stats as stats
from scipy.special import expit, gammaln, logsumexp

from tests.trace.control_flow.flow.program import program


def log_posterior(theta, x, y):
    intercept, slope, log_sigma = theta
    sigma = np.exp(log_sigma)
    prior = (
        stats.norm.logpdf(intercept, 0, 10)
        + stats.norm.logpdf(slope, 0, 10)
        + stats.norm.logpdf(log_sigma, 0, 1)
    )
    return prior + stats.norm(intercept + slope * x, sigma).logpdf(y).sum()


@program(lambda rng: (rng.normal(size=3), rng.normal(size=15), rng.normal(size=15)))
def metropolis_regression(start, x, y):
    rng = np.random.default_rng(42)
    chain = [start]
    logp = log_posterior(start, x, y)
    accepted = 0
    for i in range(30):
        proposal = chain[-1] + 0.1 * rng.standard_normal(3)
        logp_new = log_posterior(proposal, x, y)
        if np.log(rng.uniform()) < logp_new - logp:
            chain.append(proposal)
            logp = logp_new
            accepted += 1
        else:
            chain.append(chain[-1])
    samples = np.array(chain)
    return samples[10:].mean(axis=0).sum() + accepted / 30


def tadpoles(rng):
    tanks = ["a", "b", "c", "d"]
    rows = [
        {
            "tank": tanks[k % 4],
            "density": int(rng.integers(10, 30)),
            "surv": int(rng.integers(1, 9)),
        }
        for k in range(12)
    ]
    return {"alpha": rng.normal(size=4), "mu": 0.3, "sigma": rng.uniform(0.5, 1.5)}, rows


@program(tadpoles)
def multilevel_tadpoles(theta, rows):
    index = {tank: k for k, tank in enumerate(sorted({row["tank"] for row in rows}))}
    groups = defaultdict(list)
    for row in rows:
        groups[row["tank"]].append(row)
    lp = stats.expon.logpdf(theta["sigma"]) + stats.norm.logpdf(theta["mu"], 0, 1.5)
    lp += np.sum(stats.norm.logpdf(theta["alpha"], theta["mu"], theta["sigma"]))
    for tank, members in groups.items():
        p = expit(theta["alpha"][index[tank]])
        for row in members:
            lp += stats.binom.logpmf(row["surv"], row["density"], p)
    return -lp


def patients(rng):
    return (
        rng.normal(size=2),
        rng.exponential(size=15),
        rng.random(15) < 0.7,
        rng.normal(size=(15, 2)),
    )


@program(patients)
def cox_partial_likelihood(beta, time, event, covariates):
    order = np.argsort(-time)
    time, event, covariates = time[order], event[order], covariates[order]
    log_lik = 0
    risk = 0.0
    for t, e, x in zip(time, event, covariates):
        eta = np.dot(x, beta)
        risk += np.exp(eta)
        if e:
            log_lik += eta - np.log(risk)
    return -log_lik


@program(
    lambda rng: ({"log_scale": rng.normal(), "log_shape": 0.3 * rng.normal()}, *patients(rng)[1:3])
)
def censored_weibull(params, time, event):
    lam, k = np.exp(params["log_scale"]), np.exp(params["log_shape"])
    log_hazard = np.log(k / lam) + (k - 1) * np.log(time / lam)
    cumulative = (time / lam) ** k
    ll = log_hazard[event].sum() - cumulative.sum()
    median = lam * math.log(2) ** (1 / k)
    return -ll + 0.1 * median


class HiddenMarkovModel:
    def __init__(self, logits, means):
        a = np.exp(logits)
        self.A = a / a.sum(axis=1, keepdims=True)
        self.pi = np.ones(len(means)) / len(means)
        self.means = means

    def emission(self, x):
        return np.array([stats.norm.pdf(x, loc=m, scale=1.0) for m in self.means])

    def forward(self, observations):
        T, N = len(observations), len(self.pi)
        alpha = np.zeros((T, N))
        c = np.zeros(T)
        alpha[0] = self.pi * self.emission(observations[0])
        c[0] = alpha[0].sum()
        alpha[0] /= c[0]
        for t in range(1, T):
            for j in range(N):
                alpha[t, j] = alpha[t - 1].dot(self.A[:, j])
            alpha[t] *= self.emission(observations[t])
            c[t] = alpha[t].sum()
            alpha[t] /= c[t]
        return alpha, c

    def viterbi(self, observations):
        T, N = len(observations), len(self.pi)
        delta = np.zeros((T, N))
        psi = np.zeros((T, N), dtype=int)
        delta[0] = np.log(self.pi * self.emission(observations[0]))
        for t in range(1, T):
            for j in range(N):
                scores = delta[t - 1] + np.log(self.A[:, j])
                psi[t, j] = np.argmax(scores)
                delta[t, j] = scores.max() + np.log(self.emission(observations[t])[j])
        path = [int(np.argmax(delta[-1]))]
        for t in range(T - 1, 0, -1):
            path.insert(0, int(psi[t, path[0]]))
        return path, delta[-1].max()


@program(lambda rng: ([rng.normal(size=(2, 2)), np.array([-1.0, 1.0])], rng.normal(size=12)))
def hidden_markov_model(theta, observations):
    model = HiddenMarkovModel(*theta)
    alpha, c = model.forward(observations)
    return -np.sum(np.log(c)) + alpha[-1, 0]


@program(lambda rng: ([rng.normal(size=(2, 2)), np.array([-1.0, 1.0])], rng.normal(size=6)))
def viterbi_path(theta, observations):
    model = HiddenMarkovModel(*theta)
    path, score = model.viterbi(observations)
    return score + sum(model.means[s] for s in path)


class Kernel:
    def __add__(self, other):
        return SumKernel(self, other)

    def __call__(self, a, b):
        raise NotImplementedError


class RBF(Kernel):
    def __init__(self, length, variance=1.0):
        self.length, self.variance = length, variance

    def __call__(self, a, b):
        sqdist = np.sum(a**2, 1).reshape(-1, 1) + np.sum(b**2, 1) - 2 * np.dot(a, b.T)
        return self.variance * np.exp(-0.5 / self.length**2 * sqdist)


class White(Kernel):
    def __init__(self, noise):
        self.noise = noise

    def __call__(self, a, b):
        return self.noise * np.eye(len(a)) if a is b else np.zeros((len(a), len(b)))


class SumKernel(Kernel):
    def __init__(self, *parts):
        self.parts = parts

    def __call__(self, a, b):
        return sum(part(a, b) for part in self.parts)


@program(lambda rng: (rng.uniform(0.3, 1.5, 3), rng.normal(size=(8, 1)), rng.normal(size=8)))
def gaussian_process(theta, X, y):
    length, variance, noise = theta
    kernel = RBF(length, variance) + White(noise**2)
    K = kernel(X, X)
    try:
        L = np.linalg.cholesky(K)
    except np.linalg.LinAlgError:
        L = np.linalg.cholesky(K + 1e-6 * np.eye(len(X)))
    alpha = scipy.linalg.cho_solve((L, True), y)
    nll = 0.5 * y.dot(alpha) + np.sum(np.log(np.diagonal(L))) + 0.5 * len(X) * np.log(2 * np.pi)
    X_s = np.linspace(-2, 2, 5).reshape(-1, 1)
    mu_s = kernel(X_s, X) @ alpha
    return nll + np.max(mu_s)


@program(
    lambda rng: (
        np.array([3.0, 1.0]) + rng.random(2),
        rng.poisson(2.0, 40),
        int(rng.integers(5, 35)),
    )
)
def coal_mining_switchpoint(rates, counts, switch):
    early, late = rates
    years = np.arange(len(counts))
    rate = np.where(switch >= years, early, late)
    ll = sum(stats.poisson.logpmf(k, mu) for k, mu in zip(counts, rate))
    total = []
    for s in range(1, len(counts) - 1, 6):
        r = np.r_[np.repeat(early, s), np.repeat(late, len(counts) - s)]
        total.append(np.sum(counts * np.log(r) - r - gammaln(counts + 1)))
    return ll + logsumexp(total)


State = namedtuple("State", "mean cov")


@dataclass(frozen=True)
class LocalLevel:
    sigma_eps: float
    sigma_eta: float

    def predict(self, state):
        return state._replace(cov=state.cov + self.sigma_eta**2)

    def update(self, state, y):
        if np.isnan(y):
            return state, 0.0
        v = y - state.mean
        f = state.cov + self.sigma_eps**2
        k = state.cov / f
        return State(state.mean + k * v, state.cov * (1 - k)), -0.5 * (
            math.log(2 * math.pi * f) + v**2 / f
        )


def nile(rng):
    y = np.cumsum(rng.normal(size=30))
    y[rng.integers(0, 30, 5)] = np.nan
    return rng.uniform(0.5, 2.0, 2), y


@program(nile)
def local_level_model(theta, y):
    model = LocalLevel(*theta)
    state = State(0.0, 1e2)
    loglik = 0.0
    for obs in y:
        state = model.predict(state)
        state, ll = model.update(state, obs)
        loglik += ll
    return -loglik / len(y)


@program(lambda rng: (np.array([0.4, 0.3, 0.1]) + 0.1 * rng.normal(size=3), rng.normal(size=40)))
def arma_conditional_likelihood(params, y):
    phi, theta, c = params
    errors = []
    for t, y_t in enumerate(y):
        if t == 0:
            errors.append(0.0)
            continue
        y_hat = c + phi * y[t - 1] + theta * errors[-1]
        errors.append(y_t - y_hat)
    errors = np.asarray(errors[1:])
    sigma2 = errors @ errors / len(errors)
    return 0.5 * len(errors) * (np.log(2 * np.pi * sigma2) + 1)


def expectation_maximisation(x, means, n_iter=20, tol=1e-2):
    k, (n, d) = len(means), x.shape
    weights = np.ones(k) / k
    covs = [np.eye(d) for _ in range(k)]
    old = -np.inf
    for it in range(n_iter):
        resp = np.zeros((n, k))
        for j in range(k):
            resp[:, j] = weights[j] * stats.multivariate_normal.pdf(x, mean=means[j], cov=covs[j])
        ll = np.sum(np.log(resp.sum(axis=1)))
        resp /= resp.sum(axis=1)[:, None]
        nk = resp.sum(axis=0)
        weights = nk / n
        means = [resp[:, j] @ x / nk[j] for j in range(k)]
        for j in range(k):
            diff = x - means[j]
            covs[j] = (resp[:, j][:, np.newaxis] * diff).T @ diff / nk[j] + 1e-3 * np.eye(d)
        if np.abs(ll - old) < tol:
            break
        old = ll
    return ll, means, it


@program(
    lambda rng: (
        np.array([[-1.0, 0.0], [1.0, 0.0]]) + 0.1 * rng.normal(size=(2, 2)),
        rng.normal(size=(20, 2)) + rng.choice([-2, 2], (20, 1)),
    )
)
def mixture_by_em(start, x):
    ll, means, it = expectation_maximisation(x, list(start))
    return ll + np.sum(means[0]) + 0.1 * it


@program(lambda rng: (rng.normal(size=4), 0.3 * rng.normal()))
def ising_free_energy(fields, coupling):
    n = len(fields)
    energies = []
    for spins in itertools.product([-1, 1], repeat=n):
        s = np.array(spins)
        bonds = sum(s[i] * s[(i + 1) % n] for i in range(n))
        energies.append(-coupling * bonds - np.dot(fields, s))
    energies = np.array(energies)
    e0 = energies.min()
    z = np.sum(np.exp(-(energies - e0)))
    magnetisation = sum(
        np.exp(-(e - e0)) * sum(s) for e, s in zip(energies, itertools.product([-1, 1], repeat=n))
    )
    return e0 - np.log(z) + magnetisation / z
