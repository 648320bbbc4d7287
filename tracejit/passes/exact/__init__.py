"""Passes that change no bit of a result."""
