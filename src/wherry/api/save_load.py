"""save and load, in Paddle's file format."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from wherry.autograd.structures import TensorBase
from wherry.core import dtype as dt
from wherry.tensor.tensor import tensor_from_array
from wherry.utils import safe_pickle

__all__ = ["load", "save"]

# The key under which a state dict's file holds the tensors' own names.
_NAMES = "StructuredToParameterName@@"
# Protocol 2 and 3 files hold large arrays in pieces, described under this key.
_PIECES = "UnpackBigParamInfor@@"
_PROTOCOLS = (2, 3, 4)
_SAVE_OPTIONS = ("use_binary_format", "pickle_protocol")
_LOAD_OPTIONS = ("return_numpy", "keep_name_table", "model_filename", "params_filename")


def save(obj: Any, path: str | os.PathLike[str] | IO[bytes], protocol: int = 4, **configs: Any) -> None:
    """Write Tensors, arrays, numbers, strings and containers of them (such as state dicts) to a file that real Paddle reads too.

    path: a file name (folders are made), or an object with write(). protocol: of pickle, 2 to 4. The file appears whole or not at all. Raises
    ValueError for a path that names no file or for another protocol, TypeError for an object of another kind (a Layer: save its
    state_dict()), naming it. Source: paddle.save.
    """
    for name in configs:
        if name not in _SAVE_OPTIONS:
            raise ValueError(f"save: the additional config ({name}) is not supported")
    if configs.get("use_binary_format"):
        raise NotImplementedError("save: 'use_binary_format' is not supported; leave it out")
    protocol = configs.get("pickle_protocol", protocol)
    if isinstance(protocol, bool) or not isinstance(protocol, int):
        raise ValueError(f"save: expected an int for 'protocol', received {type(protocol).__name__}")
    if protocol not in _PROTOCOLS:
        raise ValueError(f"save: expected a protocol of {_PROTOCOLS}, received {protocol}")
    if hasattr(obj, "state_dict") and hasattr(obj, "forward"):
        raise ValueError(
            f"save: expected Tensors and containers of them, received the layer {type(obj).__name__}; save its state_dict()"
        )
    stored, replace = (_state_dict_form(obj), _refuse) if _is_state_dict(obj) else (obj, _tensor_form)
    if hasattr(path, "write"):
        safe_pickle.dump(stored, path, protocol, replace)  # type: ignore[arg-type]
        return
    name = os.fspath(path)
    if os.path.basename(name) == "":
        raise ValueError(f"save: expected the path of a file, received {name!r}, which ends in no file name")
    with _whole_file(name) as file:
        safe_pickle.dump(stored, file, protocol, replace)


@contextlib.contextmanager
def _whole_file(name: str) -> Iterator[IO[bytes]]:
    """A file that takes the name's place when it is complete; nothing is left of one that is not."""
    folder = os.path.dirname(name) or "."
    os.makedirs(folder, exist_ok=True)
    if os.path.isdir(name):
        raise IsADirectoryError(f"save: expected the path of a file, received the directory {name!r}")
    # The link's target, so that a link stays one; and its permissions, or those a new file gets.
    target = os.path.realpath(name)
    handle, temporary = tempfile.mkstemp(
        dir=os.path.dirname(target), prefix=os.path.basename(target) + ".", suffix=".part"
    )
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode_for(target))
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _mode_for(target: str) -> int:
    try:
        return os.stat(target).st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _is_state_dict(obj: Any) -> bool:
    """A dictionary of Tensors, or of Tensors and dictionaries without any: what Paddle stores with a table of names."""
    if not isinstance(obj, dict):
        return False
    return all(
        isinstance(value, TensorBase)
        or (isinstance(value, dict) and not any(isinstance(inner, TensorBase) for inner in value.values()))
        for value in obj.values()
    )


def _plain(tensor: TensorBase) -> Any:
    """A tensor's values as Paddle stores them: bfloat16 as its bits."""
    array = tensor.impl.array
    if tensor.impl.meta.dtype is dt.bfloat16:
        array = array.view(np.uint16)
    return np.ascontiguousarray(array).reshape(array.shape)


def _state_dict_form(obj: Any) -> dict[Any, Any]:
    stored: dict[Any, Any] = {}
    names: dict[Any, str] = {}
    for key, value in obj.items():
        if isinstance(value, TensorBase):
            stored[key] = _plain(value)
            names[key] = value.name  # type: ignore[attr-defined]
        else:
            stored[key] = value
    stored[_NAMES] = names
    return stored


def _tensor_form(value: Any) -> Any:
    """A Tensor anywhere else is stored as the pair of its name and values."""
    if isinstance(value, TensorBase):
        return tuple, ((value.name, _plain(value)),)  # type: ignore[attr-defined]
    return None


def _refuse(value: Any) -> Any:
    return None


def load(path: str | os.PathLike[str] | IO[bytes], **configs: Any) -> Any:
    """What `save` (or real Paddle's) wrote: Tensors, or arrays with return_numpy=True. Nothing in the file is run.

    keep_name_table=True leaves the table of names in a state dict. Raises ValueError that names the file for one that is missing, cut
    off, not of this format, or that holds objects other than arrays and plain containers. Source: paddle.load.
    """
    for option, value in configs.items():
        if option not in _LOAD_OPTIONS:
            raise ValueError(f"load: the additional config ({option}) is not supported")
        if option in ("model_filename", "params_filename") and value is not None:
            raise NotImplementedError(f"load: {option!r} is not supported: inference models are not read")
    return_numpy = bool(configs.get("return_numpy", False))
    if hasattr(path, "read"):
        found = _read(path, "the file object")  # type: ignore[arg-type]
    else:
        name = os.fspath(path)
        if not os.path.isfile(name):
            raise ValueError(f"load: expected the path of a file, received {name!r}, where there is none")
        with open(name, "rb") as file:
            found = _read(file, repr(name))
    found = _joined(found)
    if isinstance(found, dict) and _NAMES in found:
        return _from_state_dict(found, return_numpy, bool(configs.get("keep_name_table", False)))
    return _from_tensor_form(found, return_numpy)


def _read(file: Any, shown: str) -> Any:
    try:
        found = safe_pickle.load(file)
    except safe_pickle.ForeignObject as error:
        raise ValueError(
            f"load: {shown} asks for {error}, which is neither an array nor a plain container; loading it could run any code, "
            "so it is refused. Open it with the program that wrote it and save its tensors alone."
        ) from None
    except Exception as error:
        raise ValueError(
            f"load: {shown} is damaged, cut off or not a file of this format ({type(error).__name__}: {error}). "
            "Use another copy of it."
        ) from None
    return found


def _joined(found: Any) -> Any:
    """Large arrays of old files, put together from their pieces."""
    if not isinstance(found, dict) or _PIECES not in found:
        return found
    pieces = found.pop(_PIECES)
    for key, description in pieces.items():
        parts = [found.pop(part) for part in description["slices"]]
        found[key] = np.concatenate([np.ravel(p) for p in parts]).reshape(description["OriginShape"])
    return found


def _tensor(array: Any, name: str | None) -> Any:
    if array.dtype == np.uint16:
        array = array.view(dt.bfloat16.numpy)
    tensor = tensor_from_array(array)
    if name is not None:
        tensor.name = name
    return tensor


def _from_state_dict(found: dict[Any, Any], return_numpy: bool, keep_names: bool) -> dict[Any, Any]:
    names = found[_NAMES] if isinstance(found[_NAMES], dict) else {}
    result: dict[Any, Any] = {}
    for key, value in found.items():
        if key == _NAMES:
            if keep_names:
                result[key] = value
        elif isinstance(value, np.ndarray) and not return_numpy:
            result[key] = _tensor(value, names.get(key))
        else:
            result[key] = value
    return result


def _is_pair(value: Any) -> bool:
    return (
        isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], np.ndarray)
    )


def _from_tensor_form(value: Any, return_numpy: bool) -> Any:
    if _is_pair(value):
        return value[1] if return_numpy else _tensor(value[1], value[0])
    if isinstance(value, dict):
        kind = type(value)
        return kind((key, _from_tensor_form(inner, return_numpy)) for key, inner in value.items())
    if isinstance(value, (list, tuple)):
        return type(value)([_from_tensor_form(inner, return_numpy) for inner in value])
    return value
