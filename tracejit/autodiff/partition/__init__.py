"""The split of a graph into forward and backward, and the residuals between."""
