"""What optimisations look for, as kinds of operations of random programs (tests/programs.py).

Loops over rows, sums of products, powers, factors, products of matrices, log-sum-exp: what a
program of single operations would show once in a thousand times.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.programs import (
    BINARY,
    SMOOTH,
    WEAK,
    Argument,
    Build,
    Kind,
    arrays,
    binary,
    index,
    kinked,
    reduction,
    shape,
    unary,
    weak,
)

SUMS = (
    "np.sum({0} * {1})", "np.sum({0} * {0}, axis=-1)", "np.mean({0} ** 2)", "np.sum({0}, axis=0)",
    "np.sum({0} * {1}, axis=-1, keepdims=True)", "np.sum(np.square({0}), axis=0)",
    "np.mean({0} * {0}, axis=0, keepdims=True)", "np.sum({0}, axis=-1)", "np.mean({0}, axis=-1)",
    "np.sum(np.sum({0} * {1}, axis=-1))", "np.sum(0.5 * ({0} * {0}) + np.square({1}))",
    "np.sum(np.sum({0}, axis=0))", "np.mean((np.sin({0}) + {1}) ** 2 + 0.25 * {0} ** 2)",
    "np.sum({0} > 0.3) * {0}", "np.var({0}, axis=-1)", "np.std({0} + np.sin({0}))",
)  # fmt: skip
POWERS = (
    "{0} ** 4", "{0} ** 5", "{0} ** 7", "({0} * {0} + 1.0) ** -2", "np.power({0}, 3)",
    "({0} * {0}) ** 1.5", "np.exp({0}) ** 0.5", "(np.square({0}) + 0.5) ** -1.5",
    "np.power(np.abs({0}) + 0.25, 2.5)", "np.logaddexp(0.0, {0})", "np.logaddexp({0}, {1})",
    "np.reciprocal({0} * {0} + 2.0)", "(2.0 + {0} * {0}) ** -1", "np.square({0} - 1.0)",
    "{0} * {1} + {1} * {0}", "np.logaddexp(np.sin({0}), 1.5)", "({0} + 40.0) ** 0.5",
)  # fmt: skip
STEPS = (
    "np.mean(np.maximum({0}, 0.0))", "np.sum(np.minimum(0.0, {0})) / 3.0",
    "np.sum(np.maximum({0}, 0.0) - {0} * 0.3 + np.log1p(np.exp(-np.abs({0}))))",
    "np.where({0} >= 0, np.where({0} == 0, 0.5, 1.0), 0.0) * {0}",
    "{0} - np.where({0} <= 0.0, np.where({0} == 0.0, 0.125, 0.25), 0.0)",
    "np.where(0.0 <= {0}, np.where(0.0 == {0}, 1.5, 3.0), 0.0) - {1}",
    "np.where(0 >= {0}, np.where({0} == 0, 1.0, 2.0), 0) * np.sign({0})",
)  # fmt: skip
SOFTPLUS = (
    "np.log1p(np.exp(-np.abs({0})))", "np.log1p(np.exp(-({0} * {0}))) * {1}",
    "np.mean(np.maximum({0}, 0.0) + np.log1p(np.exp(-np.abs({0}))))",
    "np.log1p(np.exp(-np.abs({0} - {1}))) + {0}", "np.log1p(np.exp(-np.square({0} + {1})))",
)  # fmt: skip
LOG_SUMS = (
    "special.logsumexp({0}, axis=-1)", "special.logsumexp({0})",
    "{0} - special.logsumexp({0}, axis=0, keepdims=True)",
    "special.logsumexp({0} * {1}, axis=0) + special.logsumexp({0}, axis=0)",
    "np.exp({1} - special.logsumexp({0}, axis=-1, keepdims=True))",
)  # fmt: skip
LIKE_TERMS = (
    "{0} * {1} * {1} + {1} * ({0} * {1})", "{0} + 0.5 * {0} * {0} * {0}",
    "np.tanh({0} + 0.25 * {1} * {1} * {1})", "{0} * ({0} * {0}) + {0} * {0} * {0} + {1}",
    "{1} - {0} * {1} * 0.5 - {1} * 0.25 * {0}", "2.0 * {0} * {1} - 0.5 * ({1} * {0}) + {0}",
    "np.tanh(0.1 * ({0} * {0} * {0} * {1} + {1} * {0}))",
)  # fmt: skip
COMMON_FACTORS = (
    "np.tanh({0}) * {1} + 0.5 * np.tanh({0})", "np.sin({0}) * {1} - {0} * np.sin({0}) + {1}",
    "{0} / (1.0 + np.exp({1})) - 2.0 * {1} / (1.0 + np.exp({1}))",
    "(t := np.tanh({0}), e := np.cos({1}), t * e * {1} - 2.0 * t * t * e * {0} + t * e)[2]",
    "(t := 1.0 / (1.0 + np.exp({0})), {1} * t * 0.5 - t * np.sin({1}) - t * t)[1]",
    "np.mean((np.tanh({0} * {1}) - 1.0 / (1.0 + np.exp(-{1}))) ** 2 * np.exp(-({1} * {1})))",
)  # fmt: skip
FACTORS = (
    "2.0 * ({0} * (0.5 * {1}))", "{0} + (-{1}) * {0}", "3.0 * {0} - 3.0 * {1}", "-(-{0} - {1})",
    "0.5 * ({0} - 2.0 * (-{1}))", "{0} * (1.0 / ({1} * {1} + 1.0))", "np.sum(0.25 * (-{0}))",
    "np.mean(-2.0 * {0}, axis=-1)", "(-{0}) / (4.0 * ({1} * {1} + 1.0))", "({0} * 3.0) / 7.0",
    "2.0 * np.reshape(-0.5 * {0}, -1)", "(0.1 * {0}).T * -5.0", "-0.5 * {0} ** 2 - 0.5 * {1} ** 2",
    "(0.5 * {0}) @ (2.0 * {1})", "{0} / 3.0 + {0} / 3.0", "-np.sum({0} * (-0.5 * {1}), axis=-1)",
    "1.0 / (1.0 + np.exp(-2.0 * {0}))", "-({0} * -{1}) * 0.125",
    "{1} - np.sum(np.reshape(-0.5 * {0}, -1)[[0, -1, 0]] * 4.0)",
    "np.sin(np.reshape({0}, -1)[[0, 0]] - np.reshape({1}, -1)[[-1, 0]])[0] * -2.0",
)  # fmt: skip
MATRICES = (
    "{0} @ {1}", "{0} @ {1}.T", "{0}.T @ {1}", "{0} @ {0}.T", "{0} @ {1}[0]", "{0}[0] @ {1}",
    "np.dot({0}, {1})", "np.einsum('ij,kj->ik', {0}, {1})", "np.einsum('ij,jk->k', {0}, {1})",
    "np.outer({0}[0], {1}[0])", "np.tensordot({0}, {1}, axes=([1], [1]))", "{0}[0] @ {1}[0]",
    "np.linalg.cholesky(np.tanh({0} @ {0}.T) + 30.0 * np.eye({0}.shape[0]))",
    "np.linalg.solve(np.tanh({0} @ {0}.T) + 30.0 * np.eye({0}.shape[0]), {1})",
    "np.sum({0} @ {1}, axis=0)", "np.sum({0} @ {1})", "np.trace({0} @ {1})",
    "np.linalg.slogdet(np.tanh({0} @ {0}.T) + 30.0 * np.eye({0}.shape[0]))[1]",
    "np.concatenate([{0} @ {1}, {0}], axis=-1)", "np.diag(np.diagonal({0})) @ {1}",
)  # fmt: skip
APART = (
    "np.sum(np.sum({0} * {1}, axis=-1))", "np.sum(0.5 * ({0} * {0}) + {1} * {1})",
    "np.mean(np.sum({0} * {0}, axis=0))", "np.sum({0} * {0} + 0.25 * ({1} * {1})) * {1}",
    "np.sum(np.exp({0}) * np.exp({1}) + {1} * {1})", "np.sum(np.mean(np.tanh({0}), axis=-1))",
)  # fmt: skip
COLUMNS = (
    "np.tanh((POINTS + {0}[0]) @ {1})", "np.tanh({1} @ (POINTS - {0}[1])) * {0}",
    "(lambda a: np.sin(np.tril({1}) @ a + a * {1}[0, 0]))(POINTS - {0}[0])",
    "np.sin(-((POINTS + {0}[1]) @ {1}).mT / 3.0)", "np.sum(({0} - {1} @ {0}) @ {1}, axis=-2)",
    "(lambda a: np.tanh(a @ {1} - {1}[0] * a) * {0})(POINTS + np.mean({0}, -2, keepdims=True))",
)  # fmt: skip
COLUMNS = tuple(
    text.replace("POINTS", "np.cos(np.arange({0}.size)).reshape({0}.shape)") for text in COLUMNS
)
EACH = "for k in range({0}.shape[0])]"
JOINED = (
    "sum([np.outer({0}[k], np.sin({1}[k])) EACH)", "sum([np.sum({0} * {1}[k], axis=0) EACH)",
    "(h := {1}[0], [h := np.tanh(h @ {1} + {0}[k]) EACH)[1][-1]",
    "(h := {0}, np.stack([h := np.tanh(h @ {1} + {0}[k]) EACH))[1]",
    "sum([({0} * {1}[k]).T @ {1} EACH)", "sum([np.sin({0} @ {1} + {0}[k]) EACH)",
)  # fmt: skip
ROLLED = (
    "np.stack([np.sum(np.sin({0}[k] * 1.5)) EACH)", "np.stack([np.tanh({0}[k]) * {1}[k] EACH)",
    "np.stack([{0}[k] * k EACH, axis=-1)", "sum([np.tanh({0}[k]) * {1}[k] EACH)",
    "sum([np.sum({0}[k] ** 2) * 0.5 EACH)", "np.stack([{0}[k] - {0}[0] EACH)",
    "(h := {1}[0], [h := np.tanh(h * {1}[1] + {0}[k] @ {1}) EACH)[1][-1]",
    "sum([{0}[k] * np.sin({1}) EACH)", "np.stack([{0}[k] / np.sum(np.exp({0}[k])) EACH)",
    "np.concatenate([np.sin({0}[k:k + 1]) * 0.5 EACH)", "np.stack([{0}[:, k] EACH) @ {1}",
    "sum([{0}[:, k] * {1}[k] EACH)", "np.stack([np.sort({0}[k]) * {0}[k] EACH)",
    "np.stack([np.max(np.stack([{0}[k], {1}[k]]), axis=0) EACH)",
    "np.stack([np.where({0}[k] > 0.1, {0}[k], {1}[k]) EACH, axis=1)",
    "np.stack([{0}[k, 0] * {1}[0, k] + {0}[0, k] EACH)", "np.stack([np.mean({0}[k] @ {1}.T) EACH)",
    "np.stack([np.cumsum({0}[k])[::-1] * {1}[-1] EACH)", "np.stack([{0}[k][[0, -1, 0]] EACH)",
)  # fmt: skip
UPDATED = (
    "(a := np.sin({0}), b := a[:1], a.__setitem__(-1, {1}[0]), b + a)[3]",
    "(a := np.exp(-{0} * {0}), b := a[0], a.__setitem__(0, {1}[0]), np.sum(b) + a)[3]",
    "(a := {0} * 2.0, a.__setitem__(slice(1, 3), a[:2] * 0.5), a + {1})[2]",
    "(a := {0} * {1}, a.__iadd__(1.0), b := a[..., ::2], a.__imul__(2.0), np.sum(b) * a)[4]",
)  # fmt: skip
EDGED = (
    "np.concatenate(({0}[:1], {0}[1:-1] + np.sin({0}[2:]) * 0.5, {0}[-1:]))",
    "np.concatenate((np.sin({0})[:1], np.sin({0})[1:], np.cos({0})[:1]))",
    "(u := np.sin({0}), np.concatenate((u[:1], 0.5 * (u[2:] - u[:-2]), u[-1:])))[1]",
    "(u := np.exp(-{0} * {0}), np.concatenate((u[:1], u[1:-1] - {1}[1:-1], u[-1:])))[1]",
    "(u := {0} * {1}, np.concatenate((u[:1], u[1:-1] * 0.3 + u[2:], u[-1:])) + {1})[1]",
    "(u := np.sin({0}), [u := np.concatenate((u[:1], u[1:-1] + u[2:] * 0.1, u[-1:])) EACH)[1][-1]",
    "(u := np.cos({0}), np.concatenate((u[..., :1], u[..., 1:] + {1}[..., 1:]), axis=-1))[1]",
)  # fmt: skip
OUTERS = (
    "(np.outer({0}[0], {1}[0]) - np.outer(np.sin({0}[0]), np.cos({1}[1])))",
    "(np.outer({0}[0], {1}[0]) + np.outer({1}[0], {0}[0]) - 0.5 * np.outer({1}[1], {0}[1]))",
)
STENCILS = (
    "(u := {0} * 2.0, u[IN].__iadd__({1}[IN] * (u[:-2, 1:-1] - 2.0 * u[IN])), u * {1})[2]",
    "(u := np.sin({0}), w := u.copy(), w[IN].__isub__(0.5 * (u[:-2, :-2] - {1}[IN])), w * {1})[3]",
    "(w := {0} + {1}, w.__setitem__(np.s_[IN], 0.5 * ({0}[2:, 2:] - {1}[IN])), w * {1})[2]",
    "(d := {0}[1:, :-1] - {1}[:-1, 1:], np.exp(-d * d) + (-d) * {1}[1:, 1:])[1]",
    "(u := np.cos({0}), [u[1:, 1:].__iadd__(0.1 * (u[1:, :-1] * {1}[:-1, 1:])) EACH, u)[2]",
    "(d := {0}[1:, 1:] * {1}[:-1, 1:], d[1:] - d[:-1] - np.sin({1}[2:, 1:]) * d[:-1])[1]",
    "np.sum(({0}[..., 1:-1] - {0}[..., :-2]) * {1}[..., 2:] * 0.3)",
    "({0}[:-1, 1:] + np.sin({1})[1:, 1:] - {0}[1:, :-1]).copy()[1:, :-1] * 1.5",
    "(u := np.sin({0}), i := u[IN] + 0.1 * (u[2:, 1:-1] - {1}[1:-1, 2:]), FRAME * {1})[2]",
    "(u := {0} * 1.5, [i := 0.3 * u[2:, 1:-1] - u[IN] * {1}[IN], u := FRAME], u)[2]",
)  # fmt: skip
SOLVED = (
    "(a := np.sin({0}) + 9 * np.eye({0}.shape[-1]), np.linalg.solve(a, {1}) + np.linalg.inv(a))[1]",
    "(a := np.tanh({0}) + 9 * np.eye(4), np.linalg.solve(a, {1}) @ np.linalg.solve(a, {1}.T))[1]",
)  # fmt: skip
CONTRACTED = (
    "np.einsum('...ij,...jk', {0}, {1})", "np.einsum('...ij,...kj->...ik', {0}, {1})",
    "np.einsum('...ij,...kj->...ki', {0}, {1})", "np.einsum('...ij,...ij->...i', {0}, {1})",
    "np.einsum('...ij,...j->...i', {0}, {1}[..., 0])", "np.einsum('...ij->...j', {0})",
    "(np.einsum('...ij,...ij->', {0}, {1}) + {0})",
    "np.einsum('...ij,...i->...ij', {0}, {1}[..., 0])",
    "np.einsum('...ji,...jk->ik', {0}, {1})", "np.einsum('...ij,...ji->...', {0}, {1})",
    "np.einsum('...ij,...kj,...kl->...il', {0}, {1}, {0}, optimize=True)",
    "np.einsum('...i,...ij,...j->...', {0}[..., 0], {1}, {0}[..., 0], optimize='optimal')",
    "np.einsum('...ij,...jk,...ik->...i', {0}, {1}, {0})", "np.einsum('...ii', {0})",
    "np.einsum('...ij,...lk,...ij->...i', {0}, {1}, {1}, optimize=True)",
    "np.einsum('...ij,...jk,...kl,...li->...', {0}, {1}, {1}, {0})",
    "np.einsum('...ij,...kj,...ki->...k', {0}, {0}, {1}, optimize=['einsum_path', (1, 2), (0, 1)])",
)  # fmt: skip
CONTRACTED = tuple(f"np.tanh(0.2 * {text})" for text in CONTRACTED)
FACTOR = "(u := np.tanh(np.nan_to_num({0})), l := np.linalg.cholesky(u @ u.mT + 4 * np.eye(SIZE)"
FACTORED = (
    FACTOR + "), np.sin(np.linalg.solve(l, {1})))[2]",
    FACTOR + ", upper=True), np.linalg.solve(l.mT, {1}) * 0.5)[2]",
    FACTOR + "), np.sin(np.linalg.solve(l.mT, np.linalg.solve(l, {1}))))[2]",
    FACTOR + "), np.log(np.linalg.diagonal(l)) - np.linalg.solve(l, {1}))[2]",
)
LIKELIHOODS = (
    FACTOR + "), np.log1p(np.sum(np.linalg.solve(l, {1}) ** 2)) + {0})[2]",
    FACTOR + "), w := np.linalg.solve(l, {1}[0]), np.log1p(w @ w) - {0})[3]",
    FACTOR + "), q := {1}[0], np.log1p(q @ np.linalg.solve(l.mT, np.linalg.solve(l, q))) + {1})[3]",
    FACTOR + ", upper=True), w := np.linalg.solve(l.mT, {1}[0]), np.log1p(0.5 * w @ w) + {1})[3]",
    FACTOR
    + "), w := np.linalg.solve(l, {1}), np.log(np.sum(w**2) + np.prod(np.diag(l))) + {0})[3]",
)
FACTORED, LIKELIHOODS = (
    tuple(text.replace("SIZE", "{0}.shape[-1]") for text in texts)
    for texts in (FACTORED, LIKELIHOODS)
)
FRAME = "np.concatenate((u[:1], np.concatenate((u[1:-1, :1], i, u[1:-1, -1:]), axis=1), u[-1:]))"
STENCILS = tuple(text.replace("FRAME", FRAME) for text in STENCILS)
JOINED, ROLLED, EDGED, STENCILS = (
    tuple(text.replace("EACH", EACH).replace("[IN]", "[1:-1, 1:-1]") for text in texts)
    for texts in (JOINED, ROLLED, EDGED, STENCILS)
)
LOG_SUM_EXP = (
    "(lambda x, m: m + np.log(np.sum(np.exp(x - m), axis=-1, keepdims=True)))"
    "({0}, np.max({0}, axis=-1, keepdims=True))"
)
NORMALISED = (
    LOG_SUM_EXP,
    "(lambda e: e / np.sum(e, axis=-1, keepdims=True))(np.exp({0}))",
    "(lambda e: e / np.sum(e, axis=-1)[..., None])(np.exp({0} - np.max({0}, axis=-1)[..., None]))",
    "(lambda d: d / np.sqrt(np.mean(d * d, axis=-1)[..., None] + 0.1))({0} - np.mean({0}))",
)
SPREAD = (
    "{0} * {1}[..., :1, :]", "{0} - {1}[..., :, :1]", "np.tanh({0} + {1}[..., -1, :])",
    "{0} / (np.var({1}, axis=-2, keepdims=True) + 1.0)", "({0} * {1}[..., :1, :]).mT @ {1}",
    "np.where({0} > {1}[..., :1, :], {0}, {1})", "{0} @ np.tanh({1}.mT @ ({0} * {1}[..., :1, :]))",
    "{0} * np.max({1} - {0}[..., :1, :], axis=-1, keepdims=True)", "{0} / ({1}[..., :1, :1] + 9.0)",
    "{0} * np.min({1} * {0}[..., :, :1], axis=-2, keepdims=True)",
    "({0} * {1}[..., 0, :]) @ {1}[0]",
    "np.sum({0} * {1}[..., :1, :], axis=(-1, -2))", "np.broadcast_to({0}[..., :1, :], {0}.shape)",
    "np.sum({0} * ({1}[..., :1, :] > 0.2), axis=-1)[..., None] * {0}",
    "-np.max({0} * {1}[..., :1, :], axis=-1, keepdims=True) * {1}", "np.sum({0}, axis=()) * {1}",
    "np.sin(({0}.mT @ np.tanh({1} @ {0}.mT).mT).mT * 0.1) * {1}[..., :1, :]",
)  # fmt: skip
SLICED = (
    "np.concatenate([{0}[..., :-2, :], {0}[..., 1:-1, :], {0}[..., 2:, :]], axis=-1) * 0.5",
    "np.concatenate([{0}[..., 1:, :], {0}[..., :-1, :], {1}[..., 1:, :]], axis=-1)",
    "np.sin(np.concatenate([{0}[1:, 1:], {1}[1:, :-1], {1}[1:, 1:], {1}[:-1, 1:]], axis=-1))",
    "np.concatenate([{0}[i : i + 2, j : j + 2] for i in range(2) for j in range(2)], axis=-1)",
    "np.sum(np.concatenate([{0}[..., :-1, :], {0}[..., 1:, :]], axis=-1), axis=-2)",
    "np.tanh(np.concatenate([np.sin({0})[..., k : k + 2, :] for k in range(2)], axis=-1))",
)  # fmt: skip
SCATTERED = (
    "{0} * {1}[np.arange(len({1})) // 2]", "{0} - np.sin({0})[np.arange(len({0})) // 3]",
    "{0}[np.arange(len({0})) % 3] - {0}[np.arange(len({0})) // 2] + {1}",
    "(lambda d: (np.add.at(d, np.arange(len(d)) // 2, np.sin({1})), d)[1])({0} * 2.0)",
    "np.take({0}, np.arange(len({0})) % 2, axis=0) * np.tanh({0})",
    "{1} * {0}.take(np.arange(len({0})) // 2, axis=0)[np.arange(len({0})) % 2]",
)  # fmt: skip
GATHERED = (
    "{0}[np.arange(12) % {0}.shape[0], np.arange(12) // 3 % {0}.shape[1]] * 0.5",
    "np.sin({0})[np.arange(-3, 0) % 2, np.arange(3) % 2] - {1}[np.arange(3) % 2, np.arange(3) % 2]",
    "np.tanh({0}[np.arange(4)[:, None] % 2, np.arange(3) - 3 + {0}.shape[1]])",
    "{0}[np.array([0, 1, 0, -1]), np.array([1, -1, 1, 0])] * {0}[0, 1]",
)  # fmt: skip
BLOCKS = (
    "np.stack([{0} * {1}[..., :1, :], np.tanh({1})], axis=-1)[..., 0]",
    "np.concatenate([{0}[..., None] * {0}[..., None, :1], {1}[..., None]], axis=-1)[..., 1]",
    "np.roll({0} * {1}[..., :1], 1, axis=0) - {0}[..., :1]",
    "(lambda d: (d.__setitem__((..., 0), np.sin({1})[..., 1]), d)[1])({0} * {1}[..., :1])",
    "(({0}[..., None] * {1}[..., None, :1]) @ np.ones((1, 2)) * {1}[..., :1, None])[..., 0]",
    "np.sum({0}[..., None] * {1}[..., None, :], axis=-2) / {0}.shape[-1]",
    "np.transpose({0}[..., None] * {1}[..., None, :1], (-1, *range({0}.ndim)))[0]",
)  # fmt: skip
KNOWN = (
    "np.mean(np.cos(np.arange({0}.size * 1.0)).reshape({0}.shape) @ {0})",
    "np.sum(np.sin(np.arange({0}.size * 1.0)).reshape({0}.shape).mT @ {0}, axis=-1) * {1}[..., 0]",
    "np.sum({0} @ np.arange({0}.shape[-1] * 20.0).reshape({0}.shape[-1], 20)) * {1}",
    "{0} + {1}[np.arange(60) % len({1})][: len({0})]",
)  # fmt: skip
DIAGONALS = (
    "((a @ b.mT) * np.sum(a * b, axis=-1)[..., None])",
    "((a.mT @ b) * np.sum(b * a, axis=-2, keepdims=True))",
    "(a @ a.mT - 2.0 * np.sum(a * a, axis=-1, keepdims=True))",
    "np.sin(b @ np.tril(a).mT + b * a[..., :1, :])",
)  # fmt: skip
DIAGONALS = tuple(f"(a := np.tanh({{0}}), b := np.tanh({{1}}), {text})[2]" for text in DIAGONALS)
ELEMENTWISE = (*SMOOTH[:20], *WEAK, *BINARY[:11])


def of(templates: Sequence[str], ndim: int = 0) -> Kind:
    """The kind of operations on two values of at least so many dimensions that these spell."""

    def kind(build: Build) -> str:
        first, second = (build.pick(arrays=ndim > 0, ndim=ndim) for _ in range(2))
        if not (first and second):
            return ""
        return build.draw(st.sampled_from(templates)).format(first, second)

    return kind


sums, powers, factors = of(SUMS, 1), of(POWERS), of(FACTORS)
like_terms, common_factors = of(LIKE_TERMS), of(COMMON_FACTORS)
steps, softplus, log_sums = of(STEPS, 1), of(SOFTPLUS, 1), of(LOG_SUMS, 1)
matrices, diagonals, known = of(MATRICES, 2), of(DIAGONALS, 2), of(KNOWN, 2)
updated, edged = of(UPDATED, 1), of(EDGED, 1)
solved, factored, likelihoods = of(SOLVED, 2), of(FACTORED, 2), of(LIKELIHOODS, 2)
stencils = of(STENCILS, 2)
apart, joined, rolled = of(APART, 1), of(JOINED, 2), of(ROLLED, 2)
contracted, columns, outers = of(CONTRACTED, 2), of(COLUMNS, 2), of(OUTERS, 2)
normalised, elementwise, spread = of(NORMALISED, 1), of(ELEMENTWISE), of(SPREAD, 2)
sliced, scattered = of(SLICED, 2), of(SCATTERED, 1)
gathered, blocks = of(GATHERED, 2), of(BLOCKS, 2)
scalars = of([text for text in (*ELEMENTWISE, *POWERS) if not re.search(r"array|\*\*|:=", text)])

EVERY: tuple[Kind, ...] = (
    unary, weak, binary, reduction, shape, index, kinked, sums, powers, factors, like_terms,
    matrices, normalised, apart, columns, joined, rolled, updated, edged, solved,
    contracted, factored, stencils, spread, diagonals, common_factors, steps, softplus,
    sliced, scattered, log_sums, known, outers,
)  # fmt: skip

SQUARES = ((4, 4), (5, 5), (6, 3, 3), (5, 4, 4))
TALL = ((17, 5), (4, 4), (33, 2), (6, 3, 3), (5, 4, 2), (2, 9, 4), (9, 2, 3))
SLICED_SHAPES = ((6, 3, 3), (5, 4, 2), (4, 4, 1), (3, 3, 4, 2))
POINTS = ((200, 3), (7,), (40, 4), (9, 9), (300, 2))
STACKS = ((6, 3, 3), (5, 4, 2), (2, 9, 4), (2, 3, 4, 2))
ROWS = ((40,), (17, 5), (33, 2), (40, 1), (9, 3, 4), (17, 5))


@st.composite
def some(
    draw: Any, shapes: Sequence[tuple[int, ...]], alike: bool = False, most: int = 3
) -> list[Argument]:
    """Up to three arrays of these shapes, of one where they are `alike`, and perhaps a float."""
    chosen = (draw(st.sampled_from(shapes)),) if alike else shapes
    names = "xyz"[: draw(st.integers(1, most))]
    made = [Argument(name, np.asarray(draw(arrays(chosen))), True) for name in names]
    if draw(st.booleans()):
        made.append(Argument("s", draw(st.sampled_from((0.6, 1.4))), False))
    return made


@st.composite
def numbers(draw: Any) -> list[Argument]:
    """Float64 scalars."""
    values = st.sampled_from((0.7, -1.25, 2.0, 0.1))
    count = draw(st.integers(1, 3))
    return [Argument(name, np.float64(draw(values)), True) for name in "abc"[:count]]
