"""Operations: one record for each, with its NumPy functions, types, rules, batching and text.

Importing this package fills the tables of `tracejit.ops.op`.
"""

from tracejit.ops import accumulations as accumulations
from tracejit.ops import applying as applying
from tracejit.ops import arithmetic as arithmetic
from tracejit.ops import branches as branches
from tracejit.ops import building as building
from tracejit.ops import choices as choices
from tracejit.ops import comparison as comparison
from tracejit.ops import complex as complex
from tracejit.ops import counting as counting
from tracejit.ops import covariances as covariances
from tracejit.ops import creation as creation
from tracejit.ops import diagonals as diagonals
from tracejit.ops import effects as effects
from tracejit.ops import eigenvalues as eigenvalues
from tracejit.ops import einsum as einsum
from tracejit.ops import emath as emath
from tracejit.ops import exponential as exponential
from tracejit.ops import factorizations as factorizations
from tracejit.ops import folds as folds
from tracejit.ops import fourier as fourier
from tracejit.ops import indexing as indexing
from tracejit.ops import indices as indices
from tracejit.ops import joining as joining
from tracejit.ops import least_squares as least_squares
from tracejit.ops import linalg as linalg
from tracejit.ops import loops as loops
from tracejit.ops import marker_ops as marker_ops
from tracejit.ops import metadata as metadata
from tracejit.ops import methods as methods
from tracejit.ops import nan as nan
from tracejit.ops import norms as norms
from tracejit.ops import numpy_code as numpy_code
from tracejit.ops import orthogonal as orthogonal
from tracejit.ops import padding as padding
from tracejit.ops import polynomials as polynomials
from tracejit.ops import products as products
from tracejit.ops import quantiles as quantiles
from tracejit.ops import ranges as ranges
from tracejit.ops import rearranging as rearranging
from tracejit.ops import reductions as reductions
from tracejit.ops import sampling as sampling
from tracejit.ops import segments as segments
from tracejit.ops import selection as selection
from tracejit.ops import sets as sets
from tracejit.ops import shapes as shapes
from tracejit.ops import slopes as slopes
from tracejit.ops import statistics as statistics
from tracejit.ops import triangles as triangles
from tracejit.ops import trigonometric as trigonometric
from tracejit.ops import updates as updates
from tracejit.ops import weak as weak
from tracejit.ops import windows as windows
