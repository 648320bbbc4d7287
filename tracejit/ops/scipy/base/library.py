"""SciPy as generated code calls it: known before any operation on its functions is, which another
thread may meet while the others are still being declared."""

import scipy

from tracejit.ops.base.op import LIBRARIES

LIBRARIES["scipy"] = scipy
