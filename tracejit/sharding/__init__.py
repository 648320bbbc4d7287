"""Sharding: a recorded function on arrays whose rows are in blocks, cut into stages.

`recording` records it with one symbol for the rows, `analysis` places every value, `stages` cuts
the graph where values of blocks are combined, and `program` holds the kernels of the stages and
says how they follow each other. Nothing here knows who computes the blocks.
"""
