"""NumPy, with arrays that can hold what is being recorded: its types are NumPy's."""

from numpy import *
