"""The public surface: transforms, markers, the registry, callbacks, checks."""
