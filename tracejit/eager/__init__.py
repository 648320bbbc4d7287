"""Differentiation under tapes: what an eager program computed, and its gradients."""
