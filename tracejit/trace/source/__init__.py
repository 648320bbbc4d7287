"""The user's source: files, lines, expressions, and errors that name them."""
