"""Passes that rewrite formulas; each states the rounding that it allows."""
