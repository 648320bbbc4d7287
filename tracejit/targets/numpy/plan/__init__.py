"""The plan of a function: statements, buffers, tiles and the order of both."""
