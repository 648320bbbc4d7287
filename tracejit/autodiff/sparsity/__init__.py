"""Sparse Jacobians: which elements depend on which, and how few directions show all of them."""
