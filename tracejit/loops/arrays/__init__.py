"""Whole loops as operations on arrays."""
