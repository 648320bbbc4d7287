"""Passes that choose NumPy's fastest calls for a graph."""
