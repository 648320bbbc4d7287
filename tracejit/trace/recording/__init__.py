"""The recorder: calls of NumPy become nodes of a graph."""
