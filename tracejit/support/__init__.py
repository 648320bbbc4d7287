"""Foundations that know no graph: errors, options, words, the parser, garbage collection."""
