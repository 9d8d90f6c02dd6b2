"""What a custom operation's arguments are, from the signature of its NumPy function."""

import inspect
import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wherry.dispatch import op_def as od
from wherry.dispatch.op_def import REQUIRED
from wherry.tensor.tensor import Tensor

_SCALARS = {bool: "bool", int: "int64_t", float: "double", complex: "Scalar", str: "str"}


@dataclass
class Arguments:
    """Tensor arguments and attributes of a function, and the order it takes them in."""

    inputs: list[str] = field(default_factory=list)
    input_kinds: list[int] = field(default_factory=list)
    attrs: list[str] = field(default_factory=list)
    attr_kinds: list[str] = field(default_factory=list)
    attr_defaults: list[Any] = field(default_factory=list)
    order: list[str] = field(default_factory=list)


def arguments_of(function: Callable[..., Any], name: str) -> Arguments:
    """Read a signature.

    An argument annotated as an array (or Tensor), or neither annotated nor with a default, is a tensor; `np.ndarray | None` may be left out, `list[np.ndarray]`
    is a list of tensors. Any other is an attribute, of the annotated type or that of its default. Raises TypeError for what cannot be told.
    """
    found = Arguments()
    hints = _hints(function)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(
                f"custom_op {name}: expected named arguments, received {parameter}; a list of tensors is one argument annotated list[np.ndarray]"
            )
        found.order.append(parameter.name)
        hint = hints.get(parameter.name, parameter.empty)
        kind = _tensor_kind(hint)
        if kind is None and hint is parameter.empty and parameter.default is parameter.empty:
            kind = od.TENSOR
        if kind is not None:
            found.inputs.append(parameter.name)
            found.input_kinds.append(kind)
            continue
        found.attrs.append(parameter.name)
        found.attr_kinds.append(_attribute_kind(hint, parameter.default, name, parameter.name))
        found.attr_defaults.append(REQUIRED if parameter.default is parameter.empty else parameter.default)
    if not found.inputs:
        raise TypeError(
            f"custom_op {name}: expected at least one array among the arguments of the function, received none"
        )
    return found


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except Exception:  # Annotations may name what is not there at run time.
        return {n: a for n, a in getattr(function, "__annotations__", {}).items() if not isinstance(a, str)}


def _is_array(hint: Any) -> bool:
    origin = typing.get_origin(hint) or hint
    return isinstance(origin, type) and issubclass(origin, (np.ndarray, Tensor))


def _tensor_kind(hint: Any) -> int | None:
    if _is_array(hint):
        return od.TENSOR
    parts = typing.get_args(hint)
    if typing.get_origin(hint) in (typing.Union, types.UnionType) and type(None) in parts:
        rest = [p for p in parts if p is not type(None)]
        if len(rest) == 1 and _tensor_kind(rest[0]) is not None:
            return od.OPTIONAL if _tensor_kind(rest[0]) == od.TENSOR else od.OPTIONAL_LIST
    if typing.get_origin(hint) in (list, tuple, Sequence) and parts and _is_array(parts[0]):
        return od.LIST
    return None


def _attribute_kind(hint: Any, default: Any, name: str, argument: str) -> str:
    if hint is inspect.Parameter.empty:
        if default is None:
            raise TypeError(
                f"custom_op {name}: expected an annotation for {argument!r}, whose default is None: np.ndarray | None for a tensor that may be left out"
            )
        hint = type(default) if not isinstance(default, (list, tuple)) or not default else list[type(default[0])]  # type: ignore[misc]
    if hint in _SCALARS:
        return _SCALARS[hint]
    parts = [p for p in typing.get_args(hint) if p is not Ellipsis]
    if (
        typing.get_origin(hint) in (list, tuple, Sequence)
        and len(set(parts)) == 1
        and parts[0] in (int, float, bool, str)
    ):
        return f"{'int64_t' if parts[0] is int else parts[0].__name__}[]"
    return "Any"
