"""Captured state: the walk over what a function reads besides its arguments, and its guard."""
