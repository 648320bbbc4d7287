"""Captured state: the walk over everything a function reads besides its arguments."""
