"""Your own operations and kernels, with everything the built-in ones get: promotion, AMP, InferMeta, gradcheck, explain.

Three ways: `custom_op` makes an operation of a NumPy function; `load_ops` reads entries in Paddle's YAML, whose kernels, InferMeta functions and
rules are registered beside them; `kernel` adds a kernel to an operation that is there. See docs/your-own-op.md.
"""

from wherry.library.custom import CustomOp, custom_op
from wherry.library.entries import load_ops
from wherry.library.registration import infer_meta, kernel, rule

__all__ = ["CustomOp", "custom_op", "infer_meta", "kernel", "load_ops", "rule"]
