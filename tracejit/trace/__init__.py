"""Recording: Tensors, NumPy's protocols, user names and lines, captures and signatures."""
