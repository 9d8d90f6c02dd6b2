"""The AMP phase: casts of the inputs under auto_cast, by the `amp` field of the operation's entry."""

from typing import Any

from wherry.autograd.structures import TensorBase
from wherry.autograd.type_promotion import cast_to
from wherry.core import dtype as dt
from wherry.core.dtype import DataType
from wherry.dispatch.op_def import OpDef


class AmpState:
    """One auto_cast block: level "O1", "O2" or "OD", the low dtype, and the user's own lists."""

    def __init__(self, level: str, dtype: DataType, white: frozenset[str], black: frozenset[str]) -> None:
        self.level = level
        self.dtype = dtype
        self.white = white
        self.black = black


def decision(op: OpDef, amp: AmpState) -> str:
    """ "white" (low dtype), "black" (float32), "promote" (the widest among the inputs) or "" (as they come)."""
    if op.name in amp.white:
        return "white"
    if op.name in amp.black:
        return "black"
    if amp.level == "O2" and op.amp != "black":
        return "white"
    if amp.level == "OD" and op.amp != "white":
        return "black"
    return op.amp


def amp_cast(op: OpDef, inputs: tuple[Any, ...], amp: AmpState) -> tuple[Any, ...]:
    """The inputs as auto_cast wants them: only float32 and the low dtypes are ever cast."""
    if op.name == "cast":
        return inputs
    kind = decision(op, amp)
    if kind == "white":
        target = amp.dtype
    elif kind == "black":
        target = dt.float32
    else:
        # Mixed inputs meet in float32; inputs that agree stay as they are.
        kinds = {t.impl.meta.dtype.name for t in tensors_in(inputs) if castable(t)}
        if len(kinds) < 2:
            return inputs
        target = dt.float32
    return tuple([cast_value(v, target) for v in inputs])


def tensors_in(inputs: tuple[Any, ...]) -> list[Any]:
    """All tensors, those in lists included."""
    found: list[Any] = []
    for value in inputs:
        if isinstance(value, TensorBase):
            found.append(value)
        elif value is not None:
            found += value
    return found


def castable(tensor: Any) -> bool:
    """Whether auto_cast may touch it."""
    return tensor.impl.meta.dtype in (dt.float32, dt.float16, dt.bfloat16)


def cast_value(value: Any, target: DataType) -> Any:
    """A tensor or a list of them, cast where castable."""
    if isinstance(value, TensorBase):
        return cast_to(value, target) if castable(value) else value
    return None if value is None else [cast_value(v, target) for v in value]
