"""Batching: the graph of one element becomes the graph of a batch."""
