"""auto_cast: run the operations that gain from it in a half dtype."""

import functools
from collections.abc import Callable, Iterable
from typing import Any

from wherry.api.creation import check_device
from wherry.autograd.amp import AmpState
from wherry.core import dtype as dt
from wherry.core.state import amp_state, set_amp_state

# The dtype of the last auto_cast that was entered, which a GradScaler goes by.
_last = {"dtype": "float32"}


class auto_cast:
    """Inside, operations of the white list get their float32 inputs in `dtype`, those of the black list in float32.

    enable: bool. custom_white_list, custom_black_list: names of operations added to the lists (an operation's own list is the field `amp` of its
    entry). level: "O0" (nothing), "O1" (lists), "O2" (all but the black list), "OD" (the white list only). dtype: "bfloat16" or
    "float16". use_promote: mixed inputs of other operations meet in float32. A context manager and a decorator. Raises ValueError for
    another level or dtype. Source: paddle.amp.auto_cast.
    """

    def __init__(
        self,
        enable: bool = True,
        custom_white_list: Iterable[str] | None = None,
        custom_black_list: Iterable[str] | None = None,
        level: str = "O1",
        dtype: str = "float16",
        use_promote: bool = True,
    ) -> None:
        level = level.upper()
        if level not in ("O0", "O1", "O2", "OD"):
            raise ValueError(f"auto_cast: expected level O0, O1, O2 or OD, received {level!r}")
        low = dt.convert_dtype(dtype)
        if low not in (dt.float16, dt.bfloat16):
            raise ValueError(f"auto_cast: expected dtype float16 or bfloat16, received {dtype!r}")
        if not use_promote:
            raise NotImplementedError("auto_cast: the argument 'use_promote' is supported as True only")
        white = frozenset(custom_white_list or ())
        black = frozenset(custom_black_list or ())
        if white & black:
            raise ValueError(
                f"auto_cast: expected lists without common names, received {sorted(white & black)} in both"
            )
        self._state = AmpState(level, low, white, black) if enable and level != "O0" else None
        self._dtype = low.name
        self._before: list[Any] = []

    def __enter__(self) -> None:
        _last["dtype"] = self._dtype
        self._before.append(set_amp_state(self._state))

    def __exit__(self, *exception: object) -> None:
        set_amp_state(self._before.pop())

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return wrapper


autocast = auto_cast
amp_guard = auto_cast


def last_dtype() -> str:
    """The dtype of the auto_cast that was entered last, "float32" before the first."""
    return _last["dtype"]


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether this thread is inside an auto_cast that casts. Raises NotImplementedError for a device other than the CPU.

    Source: paddle.amp.is_autocast_enabled.
    """
    check_device(device_type, "device_type")
    return amp_state() is not None


def get_autocast_dtype(device_type: str | None = None) -> str:
    """The low dtype of the auto_cast around, "float16" outside of one. Raises NotImplementedError for a device other than the CPU.

    Source: paddle.amp.get_autocast_dtype.
    """
    check_device(device_type, "device_type")
    state = amp_state()
    return "float16" if state is None else str(state.dtype.name)


get_autocast_cpu_dtype = get_autocast_dtype
get_autocast_gpu_dtype = get_autocast_dtype


def is_float16_supported(device: str | None = None) -> bool:
    """True: every operation has float16 kernels. Source: paddle.amp.is_float16_supported."""
    return True


def is_bfloat16_supported(device: str | None = None) -> bool:
    """True: every operation has bfloat16 kernels. Source: paddle.amp.is_bfloat16_supported."""
    return True
