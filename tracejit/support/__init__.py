"""The lowest package: what every other one may import, and that imports none of them."""
