"""Means, quantiles, covariances, histograms and sampling."""
