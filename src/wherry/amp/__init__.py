"""Automatic mixed precision. Source: paddle.amp."""

from wherry.amp.auto_cast import (
    amp_guard,
    auto_cast,
    autocast,
    get_autocast_cpu_dtype,
    get_autocast_dtype,
    get_autocast_gpu_dtype,
    is_autocast_enabled,
    is_bfloat16_supported,
    is_float16_supported,
)
from wherry.amp.decorate import decorate
from wherry.amp.grad_scaler import AmpScaler, GradScaler, OptimizerState

amp_decorate = decorate

__all__ = [
    "AmpScaler",
    "GradScaler",
    "OptimizerState",
    "amp_decorate",
    "amp_guard",
    "auto_cast",
    "autocast",
    "decorate",
    "get_autocast_cpu_dtype",
    "get_autocast_dtype",
    "get_autocast_gpu_dtype",
    "is_autocast_enabled",
    "is_bfloat16_supported",
    "is_float16_supported",
]
