"""Tools for passes: the driver, patterns, rebuilding, copying."""
