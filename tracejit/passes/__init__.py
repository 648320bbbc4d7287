"""Passes, Graph to Graph. None changes a graph in place; each keeps names and locations."""
