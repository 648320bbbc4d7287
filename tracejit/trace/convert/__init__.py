"""The operators of converted code: calls under their own names become operations of the graph."""
