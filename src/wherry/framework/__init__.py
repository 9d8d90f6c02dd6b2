"""Names that scripts take from paddle.framework."""

from wherry.api.device import CPUPlace, CUDAPlace, disable_static, enable_static, get_flags, in_dynamic_mode, set_flags
from wherry.api.param_attr import ParamAttr
from wherry.api.save_load import load, save
from wherry.autograd.modes import no_grad
from wherry.autograd.run import grad
from wherry.core.default_dtype import get_default_dtype, set_default_dtype
from wherry.core.dtype import DataType as dtype
from wherry.core.generator import seed
from wherry.framework import io, random

in_dynamic_or_pir_mode = in_dynamic_mode

__all__ = [
    "CPUPlace",
    "CUDAPlace",
    "ParamAttr",
    "disable_static",
    "dtype",
    "enable_static",
    "get_default_dtype",
    "get_flags",
    "grad",
    "in_dynamic_mode",
    "in_dynamic_or_pir_mode",
    "io",
    "load",
    "no_grad",
    "random",
    "save",
    "seed",
    "set_default_dtype",
    "set_flags",
]
