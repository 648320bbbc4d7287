"""Loops, conditions, effects and gradient markers as operations."""
