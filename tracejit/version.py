"""The version, in one place: the package, the build and generated modules read it here."""

__version__ = "0.2.0"
