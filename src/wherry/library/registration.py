"""Kernels, InferMeta functions and derivative rules of the user's, by name."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from wherry.core import dtype as dt
from wherry.core.dtype import DataType
from wherry.dispatch.bind import RULES
from wherry.dispatch.kernel_factory import FACTORY, register
from wherry.infermeta.registry import INFER_META

_Function = TypeVar("_Function", bound=Callable[..., Any])


def dtypes_of(dtypes: Any) -> tuple[DataType, ...]:
    """DataTypes from one dtype or name, or several; every dtype for None."""
    if dtypes is None:
        return tuple(dt.ALL)
    if isinstance(dtypes, (str, DataType)):
        dtypes = (dtypes,)
    return tuple(dt.convert_dtype(d) for d in dtypes)


def kernel(
    name: str,
    dtypes: str | DataType | Iterable[str | DataType],
    *,
    predicate: Callable[..., bool] | None = None,
    out: bool = False,
    contiguous: bool = False,
) -> Callable[[_Function], _Function]:
    """Register the decorated function as a kernel `name`, which operations name in their entries, for some dtypes.

    The function takes NumPy arrays and attribute values in the order of the operation's arguments and returns an array, or a tuple of them where there
    are several outputs; it writes to none of its inputs. predicate: takes the same arguments and says whether this kernel wants the call; those with a
    predicate are asked first, the newest first. Without one the kernel takes the place of the one that is there. out: the function also takes `out=`, an array
    to write to. contiguous: inputs are made C-contiguous first. Raises TypeError for what is not callable, ValueError for a predicate with a name that no
    kernel has yet (`wherry kernels NAME` lists what there is).
    """
    if predicate is not None and not callable(predicate):
        raise TypeError(f"kernel: expected a callable predicate, received {type(predicate).__name__}")
    chosen = dtypes_of(dtypes)

    def decorate(function: _Function) -> _Function:
        if not callable(function):
            raise TypeError(f"kernel: expected a function to register as {name!r}, received {type(function).__name__}")
        if predicate is not None and not FACTORY.registered(name):
            raise ValueError(
                f"kernel: expected the name of a kernel that is there, as this one has a predicate, received {name!r}; "
                "without a predicate it begins a new one"
            )
        register(name, function, chosen, out=out, contiguous=contiguous, predicate=predicate)
        return function

    return decorate


def infer_meta(name: str) -> Callable[[_Function], _Function]:
    """Register the decorated function as InferMeta `name`, which entries name: Metas and attributes in, the Meta of each output out.

    Raises ValueError for a name that the engine's own have.
    """

    def decorate(function: _Function) -> _Function:
        before = INFER_META.get(name)
        if before is not None and before.__module__.startswith("wherry."):
            raise ValueError(f"infer_meta: expected a new name, received {name!r}, which is the engine's own")
        INFER_META[name] = function
        return function

    return decorate


def rule(function: _Function) -> _Function:
    """Register the decorated function as a derivative rule, by its name, which entries name in `grad`.

    It is written against `ops`, its first parameter; the names of the others say what it wants (docs/adding-an-op.md, section 4). Raises ValueError for a
    name that the engine's own rules have.
    """
    name = function.__name__
    before = RULES.get(name)
    if before is not None and before.__module__.startswith("wherry."):
        raise ValueError(f"rule: expected a new name, received {name!r}, which is the engine's own")
    RULES[name] = function
    return function
