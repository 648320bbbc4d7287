"""Debugging of generated code: where numbers stop being finite, where time goes, how to step in."""
