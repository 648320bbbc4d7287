"""Smaller loop bodies: merging, splitting, pruning and choosing residuals."""
