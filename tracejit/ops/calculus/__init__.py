"""Polynomials, series, finite differences, interpolation and Fourier transforms."""
