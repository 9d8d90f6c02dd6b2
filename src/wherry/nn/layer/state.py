"""A layer's state: what is saved of it, loading it back, and conversion to another dtype."""

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wherry.autograd.inplace import note_write, write_value
from wherry.autograd.structures import TensorBase
from wherry.core.dense_tensor import dense_from_array
from wherry.core.dtype import DataType, bfloat16


class IncompatibleKeys(NamedTuple):
    """What load_state_dict could not match."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"

    __str__ = __repr__


def collect(
    layer: Any,
    destination: Any,
    include_sublayers: bool,
    prefix: str,
    non_persistable: bool,
    use_hook: bool,
    keep_vars: bool,
) -> Any:
    """Parameters and buffers by structured name: a layer's own, then its sublayers'."""
    if destination is None:
        destination = OrderedDict()
    for name, parameter in layer._parameters.items():
        if parameter is not None:
            destination[prefix + name] = parameter if keep_vars else parameter.detach()
    for name, buffer in layer._buffers.items():
        if buffer is not None and (non_persistable or name not in layer._non_persistable_buffer_names_set):
            destination[prefix + name] = buffer if keep_vars else buffer.detach()
    if include_sublayers:
        for name, sublayer in layer._sub_layers.items():
            if sublayer is not None:
                collect(sublayer, destination, True, f"{prefix}{name}.", non_persistable, use_hook, keep_vars)
    if use_hook:
        for hook in layer._state_dict_hooks.values():
            changed = hook(destination)
            if changed is not None:
                destination = changed
    return destination


def array_of(value: Any, name: str) -> Any:
    """The array of a value in a state dict; raises TypeError for one that is none."""
    if isinstance(value, TensorBase):
        return value.impl.array
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, (int, float, complex, bool, list, tuple)):
        return np.array(value)
    raise TypeError(f"set_state_dict: expected a Tensor or array for {name!r}, received {type(value).__name__}")


def load(layer: Any, state_dict: Any, use_structured_name: bool) -> tuple[list[str], list[str]]:
    """Copy values into the layer's tensors; returns the names that were missing and those that were not used.

    A value of another shape is left out with a warning (and its name is in both lists). Nothing is written where one is
    of another dtype: TypeError.
    """
    own = layer.state_dict()
    keys = {name: name if use_structured_name else tensor.name for name, tensor in own.items()}
    missing: list[str] = []
    matched: list[tuple[Any, Any, str]] = []
    used: set[str] = set()
    for name, tensor in own.items():
        key = keys[name]
        if key not in state_dict:
            missing.append(key)
            continue
        array = array_of(state_dict[key], key)
        if tuple(array.shape) != tensor.impl.meta.shape:
            warnings.warn(
                f"{key} is skipped: expected the shape {list(tensor.impl.meta.shape)}, received {list(array.shape)}",
                stacklevel=4,
            )
            missing.append(key)
            continue
        used.add(key)
        matched.append((tensor, converted(array, tensor.dtype, key), key))
    unexpected = [key for key in state_dict if key not in used]
    for tensor, array, _ in matched:
        write_value(tensor, array, "set_state_dict")
    return missing, unexpected


def converted(array: Any, dtype: DataType, key: str) -> Any:
    """The array in the tensor's dtype: bit patterns of bfloat16 (uint16) are taken as such, other dtypes are refused."""
    if array.dtype == dtype.numpy:
        return array
    if array.dtype == np.uint16 and dtype is bfloat16:
        return array.view(dtype.numpy)
    raise TypeError(
        f"set_state_dict: expected the dtype {dtype.name} for {key!r}, received {array.dtype}; "
        "convert the layer (layer.to(dtype=...)) or the value (.astype(...)) first"
    )


def convert_tensors(layer: Any, dtype: DataType, floating_only: bool, skip: Callable[[Any], bool]) -> None:
    """Give parameters and buffers of a layer and its sublayers another dtype; gradients go along."""
    for sublayer in layer.sublayers(include_self=True):
        if skip(sublayer):
            continue
        for tensor in [*sublayer._parameters.values(), *sublayer._buffers.values()]:
            if tensor is None or tensor.dtype is dtype or (floating_only and not tensor.dtype.is_floating):
                continue
            tensor.impl = dense_from_array(tensor.impl.array.astype(dtype.numpy))
            # A leaf's AccumulationNode knows the old dtype: the next use makes another, with the hooks of the old one.
            grad = tensor.grad
            if grad is not None:
                tensor.grad = None
                tensor.grad = grad.astype(dtype)
            note_write(tensor, "to")
        sublayer._dtype = dtype.name
