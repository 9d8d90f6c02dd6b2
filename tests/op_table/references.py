"""What references share."""

from typing import Any

import numpy as np


def sifted(factor: Any, value: Any) -> np.ndarray:
    """factor * value, and 0 where the factor is 0: what a matrix of a linear map does not read may be infinite."""
    factor, value = np.asarray(factor), np.asarray(value)
    with np.errstate(all="ignore"):
        product = np.asarray(factor * value)
        return np.where(factor == 0, product.dtype.type(0), product)
