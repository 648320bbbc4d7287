"""From a plan to the text of a NumPy module."""
