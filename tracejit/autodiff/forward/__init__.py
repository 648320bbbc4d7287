"""Forward mode, and the transpose of a linear graph."""
