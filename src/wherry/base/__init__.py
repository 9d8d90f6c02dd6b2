"""Names that older Paddle scripts take from paddle.base."""

from wherry import device
from wherry.api.device import CPUPlace, CUDAPlace, get_flags, in_dynamic_mode, is_compiled_with_cuda, set_flags
from wherry.api.param_attr import ParamAttr
from wherry.base import core, dygraph, framework, param_attr
from wherry.tensor.tensor import Tensor
from wherry.utils import unique_name

in_dygraph_mode = in_dynamic_mode

__all__ = [
    "CPUPlace",
    "CUDAPlace",
    "ParamAttr",
    "Tensor",
    "core",
    "device",
    "dygraph",
    "framework",
    "get_flags",
    "in_dygraph_mode",
    "in_dynamic_mode",
    "is_compiled_with_cuda",
    "param_attr",
    "set_flags",
    "unique_name",
]
