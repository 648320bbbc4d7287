"""Differentiation, Graph to Graph: the reverse pass, forward mode, and the split into forward and
backward."""
