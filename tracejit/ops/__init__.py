"""Operations: one record for each, with its NumPy functions, types, rules, batching and text.

Importing this package fills the tables of `tracejit.ops.base.op`.
"""

from tracejit.ops.base import creation as creation
from tracejit.ops.base import loops as loops
from tracejit.ops.calculus import fourier as fourier
from tracejit.ops.calculus import polynomials as polynomials
from tracejit.ops.calculus import slopes as slopes
from tracejit.ops.control import applying as applying
from tracejit.ops.control import branches as branches
from tracejit.ops.control import effects as effects
from tracejit.ops.control import marker_ops as marker_ops
from tracejit.ops.elementwise import arithmetic as arithmetic
from tracejit.ops.elementwise import choices as choices
from tracejit.ops.elementwise import comparison as comparison
from tracejit.ops.elementwise import complex as complex
from tracejit.ops.elementwise import emath as emath
from tracejit.ops.elementwise import exponential as exponential
from tracejit.ops.elementwise import trigonometric as trigonometric
from tracejit.ops.elementwise import weak as weak
from tracejit.ops.indexing import indexing as indexing
from tracejit.ops.indexing import indices as indices
from tracejit.ops.indexing import selection as selection
from tracejit.ops.indexing import sets as sets
from tracejit.ops.indexing import updates as updates
from tracejit.ops.linalg import eigenvalues as eigenvalues
from tracejit.ops.linalg import einsum as einsum
from tracejit.ops.linalg import factorizations as factorizations
from tracejit.ops.linalg import least_squares as least_squares
from tracejit.ops.linalg import linalg as linalg
from tracejit.ops.linalg import norms as norms
from tracejit.ops.linalg import numpy_code as numpy_code
from tracejit.ops.linalg import orthogonal as orthogonal
from tracejit.ops.linalg import products as products
from tracejit.ops.linalg import triangles as triangles
from tracejit.ops.reductions import accumulations as accumulations
from tracejit.ops.reductions import folds as folds
from tracejit.ops.reductions import methods as methods
from tracejit.ops.reductions import reductions as reductions
from tracejit.ops.reductions import segments as segments
from tracejit.ops.shapes import building as building
from tracejit.ops.shapes import diagonals as diagonals
from tracejit.ops.shapes import joining as joining
from tracejit.ops.shapes import metadata as metadata
from tracejit.ops.shapes import padding as padding
from tracejit.ops.shapes import ranges as ranges
from tracejit.ops.shapes import rearranging as rearranging
from tracejit.ops.shapes import shapes as shapes
from tracejit.ops.shapes import windows as windows
from tracejit.ops.statistics import counting as counting
from tracejit.ops.statistics import covariances as covariances
from tracejit.ops.statistics import nan as nan
from tracejit.ops.statistics import quantiles as quantiles
from tracejit.ops.statistics import sampling as sampling
from tracejit.ops.statistics import statistics as statistics
