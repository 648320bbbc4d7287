"""Targets: each turns a graph into the text of a module."""
