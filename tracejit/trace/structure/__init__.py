"""Nested arguments and results as flat lists of arrays, and back."""
