"""Files as tensors."""

from pathlib import Path
from typing import Any

import numpy as np

from wherry.tensor.tensor import Tensor, tensor_from_array


def read_file(filename: Any, name: str | None = None) -> Tensor:
    """The bytes of a file as uint8 of shape [bytes]. Raises OSError where it cannot be read. Source: paddle.vision.ops.read_file."""
    return tensor_from_array(np.frombuffer(Path(filename).read_bytes(), np.uint8).copy())
