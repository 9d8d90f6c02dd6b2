"""Names that scripts take from paddle.base.framework."""

from wherry.api.device import in_dynamic_mode
from wherry.api.parameter import EagerParamBase
from wherry.core.dtype import convert_dtype as convert_np_dtype_to_dtype_
from wherry.tensor.tensor import Tensor

Parameter = EagerParamBase
Variable = Tensor
in_dygraph_mode = in_dynamic_mode
in_dynamic_or_pir_mode = in_dynamic_mode

__all__ = [
    "EagerParamBase",
    "Parameter",
    "Variable",
    "convert_np_dtype_to_dtype_",
    "in_dygraph_mode",
    "in_dynamic_mode",
    "in_dynamic_or_pir_mode",
]
