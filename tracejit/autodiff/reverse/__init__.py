"""The reverse pass: cotangents of a graph, of its loops and of its conditions."""
