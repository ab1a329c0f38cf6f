"""Names for the types of numpy arrays, for annotations."""
import numpy as np
from numpy.typing import NDArray

#: An array of 64-bit floating-point numbers.
Floats = NDArray[np.float64]
#: An array of 64-bit integers.
Integers = NDArray[np.int64]
#: An array of booleans.
Booleans = NDArray[np.bool_]
