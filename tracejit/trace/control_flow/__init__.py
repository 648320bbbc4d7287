"""Loops and conditions as nodes: explicit ones, and `while` loops of Python."""
