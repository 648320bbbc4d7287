"""Sparse Jacobians: the pattern of dependencies, and the fewest directions that show all of it."""
