"""Tools that every pass is made of: the driver, patterns, rebuilding, copying."""
