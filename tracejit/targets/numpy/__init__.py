"""The NumPy target: lowering, the plan of a function, and its text."""
