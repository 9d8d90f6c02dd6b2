"""Devices. Source: paddle.device."""

from wherry.api.device import (
    XPUPlace,
    device_guard,
    get_cudnn_version,
    get_device,
    is_compiled_with_cinn,
    is_compiled_with_cuda,
    is_compiled_with_custom_device,
    is_compiled_with_distribute,
    is_compiled_with_rocm,
    is_compiled_with_xpu,
    set_device,
)
from wherry.device import cuda

__all__ = [
    "XPUPlace",
    "cuda",
    "device_count",
    "device_guard",
    "get_all_device_type",
    "get_available_device",
    "get_cudnn_version",
    "get_device",
    "is_compiled_with_cinn",
    "is_compiled_with_cuda",
    "is_compiled_with_custom_device",
    "is_compiled_with_distribute",
    "is_compiled_with_rocm",
    "is_compiled_with_xpu",
    "set_device",
    "synchronize",
]


def get_all_device_type() -> list[str]:
    """The kinds of devices with a backend. Source: paddle.device.get_all_device_type."""
    return ["cpu"]


def get_available_device() -> list[str]:
    """The devices there are. Source: paddle.device.get_available_device."""
    return ["cpu"]


def device_count() -> int:
    """How many accelerators there are: none."""
    return 0


def synchronize(device: object = None) -> None:
    """No effect: every call has finished when it returns. Source: paddle.device.synchronize."""
