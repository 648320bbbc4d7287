"""Debugging of generated code: where numbers stop being finite, where time goes, how to step in."""

INSTRUMENTED = "__instrumented__"
"""The name by which a module is known whose functions were rewritten already."""
