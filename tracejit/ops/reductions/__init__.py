"""Sums, products, extremes and running totals along axes."""
