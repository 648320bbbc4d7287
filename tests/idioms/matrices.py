"""Linear algebra, geometry, estimation."""

from __future__ import annotations

import numpy as np

from tests.idioms.table import idiom, normal, positive, spd


@idiom(normal(5, 3), normal(5))
def least_squares_by_normal_equations(a, b):
    return np.linalg.solve(a.T @ a, a.T @ b)


@idiom(normal(5, 3), normal(5))
def least_squares_by_lstsq(a, b):
    return np.linalg.lstsq(a, b, rcond=None)[0]


@idiom(normal(5, 3), normal(5), np.float64(0.1))
def ridge_regression(x, y, penalty):
    return np.linalg.solve(x.T @ x + penalty * np.eye(3), x.T @ y)


@idiom(spd(3))
def log_determinant(a):
    sign, value = np.linalg.slogdet(a)
    return sign * value


@idiom(normal(3), normal(3), spd(3))
def gaussian_log_density(x, mu, cov):
    d = x - mu
    root = np.linalg.cholesky(cov)
    z = np.linalg.solve(root, d)
    return -0.5 * (z @ z) - np.log(np.diag(root)).sum() - 0.5 * len(x) * np.log(2 * np.pi)


@idiom(normal(4, 3), spd(3))
def mahalanobis_distances(x, cov):
    d = x - x.mean(axis=0)
    return np.sqrt(np.einsum("ij,jk,ik->i", d, np.linalg.inv(cov), d))


@idiom(spd(3))
def power_iteration(a):
    v = np.ones(3)
    for _ in range(8):
        v = a @ v
        v = v / np.linalg.norm(v)
    return v @ a @ v


@idiom(normal(4, 3))
def gram_schmidt(a):
    basis = []
    for v in a.T:
        for q in basis:
            v = v - (q @ v) * q
        basis.append(v / np.linalg.norm(v))
    return np.stack(basis, axis=1)


@idiom(normal(6, 3))
def explained_variance(x):
    s = np.linalg.svd(x - x.mean(axis=0), compute_uv=False)
    return s**2 / np.sum(s**2)


@idiom(normal(5, 3))
def low_rank_approximation(x):
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    return (u[:, :2] * s[:2]) @ vt[:2]


@idiom(normal(3, 3))
def matrix_cubed(a):
    return np.linalg.matrix_power(a, 3)


@idiom(normal(3, 3) / 3)
def exponential_by_series(a):
    term = total = np.eye(3)
    for k in range(1, 12):
        term = term @ a / k
        total = total + term
    return total


@idiom(normal(3), spd(3))
def quadratic_form(x, a):
    return x @ a @ x, np.einsum("i,ij,j", x, a, x)


@idiom(normal(2, 3, 4), normal(2, 4, 2))
def batched_products(a, b):
    return a @ b, np.matmul(a, b).mT, np.einsum("bij,bjk->bik", a, b)


@idiom(normal(3, 4), normal(4, 3))
def trace_of_product(a, b):
    return np.trace(a @ b), np.sum(a * b.T)


@idiom(np.float64(0.4), normal(5, 2))
def rotate_points(angle, points):
    c, s = np.cos(angle), np.sin(angle)
    rotation = np.stack([np.stack([c, -s]), np.stack([s, c])])
    return points @ rotation.T


@idiom(np.float64(0.4), normal(2))
def rotation_by_np_array(angle, point):
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return rotation @ point


@idiom(normal(3), np.float64(0.7), normal(3))
def rodrigues(axis, angle, v):
    k = axis / np.linalg.norm(axis)
    return (
        v * np.cos(angle) + np.cross(k, v) * np.sin(angle) + k * np.dot(k, v) * (1 - np.cos(angle))
    )


@idiom(normal(4), normal(4))
def quaternion_product(p, q):
    (a, b, c, d), (e, f, g, h) = p, q
    return np.stack([
        a * e - b * f - c * g - d * h,
        a * f + b * e + c * h - d * g,
        a * g - b * h + c * e + d * f,
        a * h + b * g - c * f + d * e,
    ])  # fmt: skip


@idiom(normal(4, 3))
def triangle_normals(vertices):
    normals = np.cross(vertices[1:3] - vertices[:2], vertices[2:] - vertices[:2])
    return normals / np.linalg.norm(normals, axis=-1, keepdims=True)


@idiom(normal(3), normal(3))
def projection(v, onto):
    return np.vdot(v, onto) / np.vdot(onto, onto) * onto


@idiom(normal(2), spd(2), normal(1))
def kalman_step(mean, cov, measured):
    f = np.array([[1.0, 0.1], [0.0, 1.0]])
    h = np.array([[1.0, 0.0]])
    mean, cov = f @ mean, f @ cov @ f.T + 0.01 * np.eye(2)
    gain = cov @ h.T @ np.linalg.inv(h @ cov @ h.T + 0.1 * np.eye(1))
    return mean + gain @ (measured - h @ mean), (np.eye(2) - gain @ h) @ cov


@idiom(spd(3))
def smallest_eigenvalue(a):
    return np.linalg.eigvalsh(a)[0]


@idiom(spd(3))
def matrix_square_root(a):
    values, vectors = np.linalg.eigh(a)
    return vectors @ np.diag(np.sqrt(values)) @ vectors.T


@idiom(normal(3, 3), normal(3))
def sherman_morrison(a, u):
    inverse = np.linalg.inv(a)
    return inverse - np.outer(inverse @ u, u @ inverse) / (1 + u @ inverse @ u)


@idiom(spd(3), normal(3))
def conjugate_gradients(a, b):
    x, r = np.zeros(3), b
    p, rr = r, r @ r
    for _ in range(3):
        q = a @ p
        alpha = rr / (p @ q)
        x, r = x + alpha * p, r - alpha * q
        p, rr = r + (r @ r) / rr * p, r @ r
    return x


@idiom(normal(5, 2), normal(5, 2))
def procrustes_rotation(a, b):
    u, _, vt = np.linalg.svd(a.T @ b)
    return u @ vt


@idiom(normal(2, 3, 4), normal(4, 3, 2))
def tensor_contraction(a, b):
    return np.tensordot(a, b, axes=([1, 2], [1, 0]))


@idiom(normal(2, 3), normal(3, 4), normal(4, 2))
def chain_product(a, b, c):
    return np.linalg.multi_dot([a, b, c])


@idiom(normal(4, 2), normal(3, 2))
def pairwise_distances(x, y):
    return np.sqrt(((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=-1))


@idiom(normal(4, 3))
def squared_distances_by_products(x):
    squares = np.sum(x**2, axis=1)
    return squares[:, None] + squares - 2 * x @ x.T


@idiom(normal(4, 3))
def unit_rows(x):
    return x / np.linalg.norm(x, axis=1)[:, np.newaxis]


@idiom(normal(3, 3))
def norms_of_matrices(a):
    return (
        np.linalg.norm(a),
        np.linalg.norm(a, 1),
        np.linalg.norm(a, np.inf),
        np.linalg.norm(a, 2),
        np.linalg.norm(a, "nuc"),
    )


@idiom(normal(5, 3))
def pseudo_inverse(a):
    return np.linalg.pinv(a)


@idiom(normal(4, 3))
def orthonormal_columns(a):
    q, r = np.linalg.qr(a)
    return q @ np.diag(np.sign(np.diag(r)))


@idiom(normal(3, 3))
def determinant_volume(edges):
    return np.abs(np.linalg.det(edges)) / 6


@idiom(positive(4), normal(3))
def tridiagonal_solve(main, off):
    a = np.diag(main + 3.0) + np.diag(off, 1) + np.diag(off, -1)
    return np.linalg.solve(a, np.ones(4))


@idiom(normal(4))
def polynomial_fit_by_vandermonde(y):
    x = np.array([-1.0, 0.0, 0.5, 2.0])
    return np.linalg.solve(np.vander(x), y)


@idiom(normal(6))
def polynomial_fit(y):
    return np.polyfit(np.linspace(-1, 1, 6), y, 2)


@idiom(normal(3), normal(4))
def polynomial_value(coefficients, x):
    return np.polyval(coefficients, x)


@idiom(normal(3), normal(4))
def polynomial_product(p, q):
    return np.polymul(p, q)


@idiom(normal(3, 2, 2))
def batched_inverse(a):
    return np.linalg.inv(a + 3 * np.eye(2)).sum(axis=0)


@idiom(spd(3), normal(3, 2))
def cholesky_solve(a, b):
    root = np.linalg.cholesky(a)
    return np.linalg.solve(root.T, np.linalg.solve(root, b))


@idiom(spd(3))
def condition_number(a):
    return np.linalg.cond(a)


@idiom(normal(3, 3), normal(3, 3))
def commutator(a, b):
    return a @ b - b @ a


@idiom(normal(3))
def cross_product_matrix(v):
    x, y, z = v
    o = np.zeros_like(x)
    return np.stack([o, -z, y, z, o, -x, -y, x, o]).reshape(3, 3)
