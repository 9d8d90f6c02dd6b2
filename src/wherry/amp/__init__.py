"""Automatic mixed precision: the names of paddle.amp that are there so far."""

from wherry.amp.auto_cast import amp_guard, auto_cast, autocast, is_bfloat16_supported, is_float16_supported

__all__ = ["amp_guard", "auto_cast", "autocast", "is_bfloat16_supported", "is_float16_supported"]
