"""Differentiation under tapes: the operations of an eager program, and their gradients."""
