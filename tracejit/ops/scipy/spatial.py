"""scipy.spatial: distances and rotations. Importing this declares them all."""

from tracejit.ops.scipy import distances as distances
from tracejit.ops.scipy import rotations as rotations
