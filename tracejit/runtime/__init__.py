"""What runs around a generated module: dispatch."""
