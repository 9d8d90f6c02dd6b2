"""Reading and writing pickles of arrays and plain containers, and of nothing else.

A pickle may name any function to be called on loading. This reader knows the few names that arrays and containers need, hands
out stand-ins that check what they are given, and refuses every other name. The writer refuses to write what the reader would refuse.
"""

import collections
import pickle
from collections.abc import Callable
from typing import IO, Any

import numpy as np

# NumPy 2 moved these; files hold one or the other.
_MULTIARRAY = ("numpy.core.multiarray", "numpy._core.multiarray")
_KINDS = "biufcUS"


class ForeignObject(Exception):
    """A pickle names something that is neither an array nor a plain container."""


class _StoredDtype:
    """Stands for numpy.dtype: name first, byte order after."""

    def __init__(self, name: Any, align: Any = False, copy: Any = True) -> None:
        if isinstance(name, bytes):
            name = name.decode("ascii")
        if not isinstance(name, str) or name[:1] not in _KINDS or not name[1:].isdigit():
            raise ForeignObject(f"the array type {name!r}")
        self.dtype = np.dtype(name)

    def __setstate__(self, state: Any) -> None:
        order = state[1].decode("ascii") if isinstance(state[1], bytes) else state[1]
        if order not in ("<", ">", "=", "|"):
            raise ValueError(f"a byte order {order!r}")
        if order in "<>":
            self.dtype = self.dtype.newbyteorder(order)


class _StoredArray:
    """Stands for an array until its state is read."""

    def __init__(self) -> None:
        self.array: Any = None

    def __setstate__(self, state: Any) -> None:
        _, shape, stored, fortran, raw = state
        if not isinstance(stored, _StoredDtype) or not isinstance(shape, tuple):
            raise ValueError("an array without shape or type")
        if isinstance(raw, str):
            raw = raw.encode("latin1")
        if not isinstance(raw, bytes):
            raise ForeignObject("an array of objects")
        flat = np.frombuffer(raw, stored.dtype)
        # A copy: the buffer is read-only. reshape refuses a shape that the bytes do not fill.
        array = flat.reshape(shape, order="F" if fortran else "C").copy()
        self.array = array.astype(array.dtype.newbyteorder("="), copy=False)


def _reconstruct(kind: Any, shape: Any, code: Any) -> _StoredArray:
    return _StoredArray()


def _scalar(stored: Any, raw: Any) -> Any:
    if not isinstance(stored, _StoredDtype):
        raise ValueError("a number without type")
    if isinstance(raw, str):
        raw = raw.encode("latin1")
    return np.frombuffer(raw, stored.dtype)[0]


def _encode(text: Any, encoding: Any) -> bytes:
    if encoding != "latin1" or not isinstance(text, str):
        raise ForeignObject(f"the encoding {encoding!r}")
    return text.encode("latin1")


def _bytes(*args: Any) -> bytes:
    # Only how empty bytes are written before protocol 3: bytes(n) could take any amount of memory.
    if args:
        raise ForeignObject("bytes called with arguments")
    return b""


def _bytearray(value: Any = b"", encoding: Any = None) -> bytearray:
    if isinstance(value, str) and encoding in ("latin1", "latin-1"):
        return bytearray(value.encode("latin1"))
    if not isinstance(value, bytes):
        raise ForeignObject(f"bytearray called with {type(value).__name__}")
    return bytearray(value)


def _ndarray(*args: Any) -> Any:
    raise ForeignObject("numpy.ndarray called by name")


# What the reader answers for each name.
_READABLE: dict[tuple[str, str], Callable[..., Any]] = {
    ("numpy", "ndarray"): _ndarray,
    ("numpy", "dtype"): _StoredDtype,
    ("_codecs", "encode"): _encode,
    ("collections", "OrderedDict"): collections.OrderedDict,
    **{(module, "_reconstruct"): _reconstruct for module in _MULTIARRAY},
    **{(module, "scalar"): _scalar for module in _MULTIARRAY},
    **{
        (module, kind.__name__): kind
        for module in ("builtins", "__builtin__")
        for kind in (tuple, list, dict, set, frozenset, complex)
    },
    **{(module, "bytes"): _bytes for module in ("builtins", "__builtin__")},
    **{(module, "bytearray"): _bytearray for module in ("builtins", "__builtin__")},
}


class _Reader(pickle._Unpickler):  # type: ignore[name-defined,misc]
    """Finds the readable names only, and lets a pickle set the state of nothing but stand-ins.

    It is the Python form of the unpickler: the native one takes memory as a pickle's memo numbers say, in advance.
    """

    dispatch = dict(pickle._Unpickler.dispatch)  # type: ignore[attr-defined]

    def find_class(self, module: str, name: str) -> Any:
        found = _READABLE.get((module, name))
        if found is None:
            raise ForeignObject(f"{module}.{name}")
        return found

    def persistent_load(self, pid: Any) -> Any:
        raise ForeignObject("a reference to something outside the file")

    def load_build(self) -> None:
        """BUILD: state for the object below it on the stack."""
        state = self.stack.pop()
        target = self.stack[-1]
        if not isinstance(target, (_StoredArray, _StoredDtype)):
            raise ForeignObject(f"the state of a {type(target).__name__}")
        target.__setstate__(state)

    dispatch[pickle.BUILD[0]] = load_build


def load(file: IO[bytes]) -> Any:
    """The object in a pickle, arrays restored.

    Raises ForeignObject that names what the pickle asks for, and whatever a damaged pickle makes the reader raise.
    """
    return restored(_Reader(file).load())


def restored(value: Any) -> Any:
    """The value with arrays in the place of their stand-ins, in containers too."""
    if isinstance(value, _StoredArray):
        if value.array is None:
            raise ValueError("an array without contents")
        return value.array
    if type(value) is list:
        return [restored(v) for v in value]
    if type(value) is tuple:
        return tuple([restored(v) for v in value])
    if isinstance(value, dict):
        pairs = [(key, restored(v)) for key, v in value.items()]
        return collections.OrderedDict(pairs) if isinstance(value, collections.OrderedDict) else dict(pairs)
    if isinstance(value, _StoredDtype):
        return value.dtype
    return value


class _Writer(pickle.Pickler):
    """Writes arrays, plain containers and what `replace` turns into them."""

    def __init__(self, file: IO[bytes], protocol: int, replace: Callable[[Any], Any]) -> None:
        super().__init__(file, protocol)
        self._replace = replace

    def reducer_override(self, value: Any) -> Any:
        changed = self._replace(value)
        if changed is not None:
            return changed
        if isinstance(value, np.ndarray) and type(value) is np.ndarray and value.dtype.kind in _KINDS:
            return NotImplemented
        if isinstance(value, np.generic) and value.dtype.kind in _KINDS:
            return NotImplemented
        if type(value) in (np.dtype, complex, bytearray, collections.OrderedDict) or isinstance(value, np.dtype):
            return NotImplemented
        module, name = getattr(value, "__module__", None), getattr(value, "__name__", None)
        if (module, name) in _READABLE or (module == "numpy" and name in ("ndarray", "dtype")):
            return NotImplemented
        if isinstance(value, dict):
            return dict, (list(value.items()),)
        raise TypeError(
            f"expected Tensors, arrays, numbers, strings, None and lists, tuples, sets and dictionaries of them, "
            f"received {_described(value)}"
        )


def _described(value: Any) -> str:
    kind = type(value)
    if isinstance(value, np.ndarray):
        return f"an array of dtype {value.dtype}"
    return f"{value!r:.80}" if kind.__module__ == "builtins" else f"an object of {kind.__module__}.{kind.__qualname__}"


def dump(value: Any, file: IO[bytes], protocol: int, replace: Callable[[Any], Any]) -> None:
    """Write a pickle that `load` reads; `replace(x)` returns how to write an x of another kind (as __reduce__ does), or None.

    Raises TypeError that names what cannot be written.
    """
    _Writer(file, protocol, replace).dump(value)
