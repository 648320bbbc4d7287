"""The table of idioms, and the arguments that most of them take."""

from __future__ import annotations

import numpy as np

from tests.trace.convert.table import Table

idiom = Table()

X = np.array([1.5, 0.4, 2.25, 3.1])
Y = np.array([0.7, 1.9, -1.2, 0.3])
P = np.array([0.2, 0.7, 0.55, 0.35])
S = 1.3
T = 0.6
N = 3
M = np.array([[2.0, 0.3, 0.5], [0.3, 1.7, -0.2], [0.5, -0.2, 2.4]])
A = np.array([[1.2, 2.5, -0.5, 0.3], [0.2, -1.1, 1.4, 2.2], [3.0, 0.6, 0.9, -0.7]])
B = np.array([[0.5, 1.5], [2.5, -0.3]])
