"""Top-level names of functions that live in other modules."""

from wherry.tensor.printing import set_printoptions
from wherry.utils.dlpack import from_dlpack, to_dlpack

__all__ = ["from_dlpack", "set_printoptions", "to_dlpack"]
