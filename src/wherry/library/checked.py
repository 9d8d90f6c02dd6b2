"""What stands between the engine and the functions of a custom operation: inputs they cannot write to, results that are checked."""

import threading
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from wherry.core import dtype as dt
from wherry.core.meta import Meta
from wherry.core.where import definition, describe
from wherry.library.signature import Arguments

_HALF: Final = (dt.float16.numpy, dt.bfloat16.numpy)


def where_defined(function: Any) -> str:
    """The line at which a function is defined."""
    code = definition(function)[1]
    return "an unknown place" if code is None else describe(code, 0)


class Checked:
    """The kernel of a custom operation (`__call__`) and its InferMeta (`infer`), which comes first."""

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        arguments: Arguments,
        outputs: tuple[str, ...],
        infer_meta: Callable[..., Any] | None,
        first: int,
    ) -> None:
        self.__wrapped__ = function
        self.__name__ = name
        self._arguments = arguments
        self._outputs = outputs
        self._infer_meta = infer_meta
        # The argument whose meta the result has, where that is known; else -1.
        self._first = first
        # What InferMeta said, for the kernel that runs next in the same thread.
        self._expected = threading.local()

    def infer(self, *arguments: Any) -> Any:
        """The user's InferMeta; without one the meta of the first input (in-place operations), or metas that say: as the arrays are."""
        count = len(self._outputs)
        self._expected.metas = None
        if self._infer_meta is None:
            if self._first >= 0:
                self._expected.metas = (arguments[self._first],)
                return arguments[self._first]
            meta = Meta((-1,), dt.float32)
            return meta if count == 1 else (meta,) * count
        found = self._infer_meta(*arguments)
        metas = found if count > 1 else (found,)
        if not isinstance(metas, tuple) or len(metas) != count or not all(isinstance(m, Meta) for m in metas):
            expected = "a Meta" if count == 1 else f"a tuple of {count} Metas"
            raise TypeError(
                f"{self.__name__}: expected {expected} from infer_meta, received {found!r}\n"
                f"  infer_meta is defined at {where_defined(self._infer_meta)}"
            )
        self._expected.metas = metas
        return found

    def __call__(self, *values: Any) -> Any:
        half = _half_of(values)
        given = [_read_only(v) if half is None else _in_float32(v) for v in values]
        # By name: the function may take some of them as keywords only.
        result = self.__wrapped__(**dict(zip(self._arguments.order, given)))
        if len(self._outputs) == 1:
            result = (result,)
        if not isinstance(result, tuple) or len(result) != len(self._outputs):
            received = len(result) if isinstance(result, tuple) else type(result).__name__
            self._refuse(f"a tuple of {len(self._outputs)} arrays ({', '.join(self._outputs)})", received)
        metas = getattr(self._expected, "metas", None) or (None,) * len(self._outputs)
        if half is not None:
            result = tuple([_rounded(r, half) for r in result])
        arrays = [self._checked(n, r, m, given) for n, r, m in zip(self._outputs, result, metas)]
        return arrays[0] if len(arrays) == 1 else tuple(arrays)

    def _checked(self, name: str, result: Any, meta: Meta | None, given: list[Any]) -> Any:
        if result is None and name.endswith("_grad"):
            return None
        if not isinstance(result, (np.ndarray, np.generic, bool, int, float, complex)):
            self._refuse(f"an array for {name}", type(result).__name__)
        array = np.asarray(result)
        if meta is not None and array.dtype.kind == meta.dtype.numpy.kind:
            array = array.astype(meta.dtype.numpy, copy=False)
        try:
            found = Meta(array.shape, dt.from_numpy(array.dtype))
        except TypeError:
            self._refuse(f"an array of a tensor's dtype for {name}", f"one of dtype {array.dtype}")
            raise
        if meta is not None and -1 not in meta.shape and (meta.shape != found.shape or meta.dtype is not found.dtype):
            why = "InferMeta" if self._infer_meta is not None else "inplace=True, without infer_meta,"
            self._refuse(f"{meta!r} for {name}, as {why} says", repr(found))
        # What shares memory with an input would change when the input does.
        for value in given:
            for other in value if isinstance(value, list) else (value,):
                if isinstance(other, np.ndarray) and np.may_share_memory(array, other):
                    return array.copy()
        return array if array.flags.writeable else array.copy()

    def _refuse(self, expected: str, received: Any) -> None:
        raise TypeError(
            f"{self.__name__}: expected {expected}, received {received} from the function\n"
            f"  it is defined at {where_defined(self.__wrapped__)}"
        )


def _half_of(values: tuple[Any, ...]) -> Any:
    """The half dtype among the arrays, or None."""
    for value in values:
        for array in value if isinstance(value, list) else (value,):
            if isinstance(array, np.ndarray) and array.dtype in _HALF:
                return array.dtype
    return None


def _in_float32(value: Any) -> Any:
    """Half arrays in float32, as the engine's own kernels compute them; they are copies, which the function may write to."""
    if isinstance(value, list):
        return [_in_float32(v) for v in value]
    if isinstance(value, np.ndarray) and value.dtype in _HALF:
        return value.astype(np.float32)
    return _read_only(value)


def _rounded(result: Any, half: Any) -> Any:
    """A float32 result in the half dtype."""
    return (
        result.astype(half) if isinstance(result, (np.ndarray, np.generic)) and result.dtype == np.float32 else result
    )


def _read_only(value: Any) -> Any:
    if isinstance(value, list):
        return [_read_only(v) for v in value]
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()
    view.flags.writeable = False
    return view
