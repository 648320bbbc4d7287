"""Steps of a Python `for` loop, recorded one by one, become one loop node."""
