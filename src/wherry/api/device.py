"""Devices, modes and flags. The only device is the CPU; scripts that ask get that answer."""

from collections.abc import Sequence
from typing import Any

from wherry.core.place import CPU_PLACE, Place

__all__ = [
    "CPUPlace",
    "CUDAPinnedPlace",
    "CUDAPlace",
    "CustomPlace",
    "XPUPlace",
    "device_guard",
    "disable_signal_handler",
    "disable_static",
    "enable_static",
    "get_cudnn_version",
    "get_device",
    "get_flags",
    "in_dynamic_mode",
    "is_compiled_with_cinn",
    "is_compiled_with_cuda",
    "is_compiled_with_custom_device",
    "is_compiled_with_distribute",
    "is_compiled_with_rocm",
    "is_compiled_with_xpu",
    "set_device",
    "set_flags",
]

_KINDS = ("cpu", "gpu", "cuda", "xpu", "dcu", "npu", "custom")


class _PlaceKind(type):
    """The class of places of one kind; places themselves are all of one class."""

    kind: str

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Place) and value.kind == cls.kind


class CPUPlace(metaclass=_PlaceKind):
    """The CPU. Source: paddle.CPUPlace."""

    kind = "cpu"

    def __new__(cls) -> Any:
        return CPU_PLACE


class _Missing(metaclass=_PlaceKind):
    """A place of a device that has no backend: making one is refused."""

    kind = "missing"

    def __new__(cls, *args: Any) -> Any:
        raise ValueError(f"{cls.__name__}: no backend for this device is registered; use CPUPlace()")


class CUDAPlace(_Missing):
    """Raises ValueError: there is no GPU backend. Source: paddle.CUDAPlace."""

    kind = "gpu"


class CUDAPinnedPlace(_Missing):
    """Raises ValueError: there is no GPU backend. Source: paddle.CUDAPinnedPlace."""

    kind = "gpu_pinned"


class XPUPlace(_Missing):
    """Raises ValueError: there is no XPU backend. Source: paddle.XPUPlace."""

    kind = "xpu"


class CustomPlace(_Missing):
    """Raises ValueError: there are no custom backends. Source: paddle.CustomPlace."""

    kind = "custom"


def set_device(device: str | Place) -> Place:
    """Choose the device that tensors are made on: "cpu", the only one there is; returns its place.

    Raises ValueError for a device that is not there or a name that means none. Source: paddle.set_device.
    """
    if isinstance(device, Place) and device == CPU_PLACE:
        return CPU_PLACE
    name = device if isinstance(device, str) else repr(device)
    kind, _, number = name.lower().partition(":")
    if kind not in _KINDS or (number and not number.isdigit()):
        raise ValueError(f"set_device: expected a device such as 'cpu', received {name!r}")
    if kind != "cpu":
        raise ValueError(f"set_device: no backend for the device {name!r} is registered; use 'cpu'")
    return CPU_PLACE


def get_device(input: Any = None) -> str:
    """The device that tensors are made on: "cpu". Source: paddle.get_device."""
    return "cpu"


class device_guard:
    """Inside, tensors are made on a device: a context for set_device."""

    def __init__(self, device: str | Place | None = None) -> None:
        if device is not None:
            set_device(device)

    def __enter__(self) -> "device_guard":
        return self

    def __exit__(self, *exception: object) -> None:
        return None


def is_compiled_with_cuda() -> bool:
    """False: there is no GPU backend. Source: paddle.is_compiled_with_cuda."""
    return False


def is_compiled_with_rocm() -> bool:
    """False. Source: paddle.is_compiled_with_rocm."""
    return False


def is_compiled_with_xpu() -> bool:
    """False. Source: paddle.is_compiled_with_xpu."""
    return False


def is_compiled_with_cinn() -> bool:
    """False. Source: paddle.is_compiled_with_cinn."""
    return False


def is_compiled_with_distribute() -> bool:
    """False: there is one process. Source: paddle.is_compiled_with_distribute."""
    return False


def is_compiled_with_custom_device(device_type: str) -> bool:
    """False. Source: paddle.is_compiled_with_custom_device."""
    return False


def get_cudnn_version() -> None:
    """None: there is no GPU backend. Source: paddle.get_cudnn_version."""


def in_dynamic_mode() -> bool:
    """True: every call runs at once. Source: paddle.in_dynamic_mode."""
    return True


def disable_static(place: Any = None) -> None:
    """No effect: dynamic mode is the only one. Source: paddle.disable_static."""


def enable_static() -> None:
    """Raises NotImplementedError: there is no static graph mode. Source: paddle.enable_static."""
    raise NotImplementedError("enable_static: wherry runs in dynamic mode only; remove the call")


def disable_signal_handler() -> None:
    """No effect: no signal handlers are installed. Source: paddle.disable_signal_handler."""


# Flags of Paddle that mean something here, or whose default is what happens here anyway.
_FLAGS: dict[str, Any] = {
    "FLAGS_check_nan_inf": False,
    "FLAGS_cudnn_deterministic": True,
    "FLAGS_use_stride_kernel": True,
    "FLAGS_retain_grad_for_all_tensor": False,
}


def get_flags(flags: str | Sequence[str]) -> dict[str, Any]:
    """Values of flags by name; raises ValueError for one that there is not. Source: paddle.get_flags."""
    names = [flags] if isinstance(flags, str) else list(flags)
    for name in names:
        if name not in _FLAGS:
            raise ValueError(f"get_flags: expected a flag of {sorted(_FLAGS)}, received {name!r}")
    return {name: _FLAGS[name] for name in names}


def set_flags(flags: dict[str, Any]) -> None:
    """Set flags to the values they have; raises ValueError for an unknown one, NotImplementedError for another value.

    Source: paddle.set_flags.
    """
    if not isinstance(flags, dict):
        raise TypeError(f"set_flags: expected a dictionary, received {type(flags).__name__}")
    for name, value in flags.items():
        if name not in _FLAGS:
            raise ValueError(f"set_flags: expected a flag of {sorted(_FLAGS)}, received {name!r}")
        if bool(value) != _FLAGS[name]:
            raise NotImplementedError(f"set_flags: {name}={value!r} is not supported; it is {_FLAGS[name]!r}")
