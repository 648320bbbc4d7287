"""Passes that choose the order of axes and the slices of arrays."""
