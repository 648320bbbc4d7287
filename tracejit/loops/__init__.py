"""Transformations of loop nodes, for every target."""
