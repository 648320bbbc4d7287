"""The containers of autograd.builtins: Python's own, which tracejit follows."""

from builtins import dict as dict
from builtins import isinstance as isinstance
from builtins import list as list
from builtins import tuple as tuple
from builtins import type as type

DictBox = dict
SequenceBox = (list, tuple)
