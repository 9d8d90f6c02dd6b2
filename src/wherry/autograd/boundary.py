"""The boundary between a pass and the user's functions: what they are handed, what they may return, whose exception it is.

A gradient on its way may share its memory with that of another path, with a saved tensor or with a tensor of the user. So it is lent: the
user's function gets the gradient itself where nobody else can see its memory, and a copy otherwise; what comes back is taken over in the
same way. A function may therefore write to what it gets, keep it, and go on using what it returns. Everything that comes back is checked
before it is used. An exception of the user's passes as itself, with a note.
"""

import sys
from typing import Any, Final

import numpy as np

from wherry.autograd import structures as st
from wherry.autograd.compute import meta_of_value
from wherry.autograd.grad_tensor_holder import GradTensorHolder
from wherry.autograd.history import REGISTRY, new_tensor
from wherry.autograd.structures import AccumulationNode, GradNodeBase, Hook, TensorBase
from wherry.core import dtype as dt
from wherry.core.dense_tensor import DenseTensor
from wherry.core.meta import Meta
from wherry.core.state import STATE, set_grad_enabled_flag
from wherry.core.where import definition, describe

_array: Final[Any] = np.array
_getrefcount: Final[Any] = sys.getrefcount


class Limits:
    """How many references there are to what only one local variable holds; measured at import, as it differs when compiled."""

    def __init__(self) -> None:
        self.dense = 0
        self.array = 0
        self.tensor = 0
        self.impl = 0


LIMITS: Final = Limits()


def alone(grad: Any) -> bool:
    """Whether nobody but one local variable, two calls up, refers to a gradient and its memory."""
    if isinstance(grad, DenseTensor):
        return int(_getrefcount(grad)) <= LIMITS.dense and unseen(grad)
    return (
        int(_getrefcount(grad)) <= LIMITS.tensor and int(_getrefcount(grad.impl)) <= LIMITS.impl and unseen(grad.impl)
    )


def unseen(dense: DenseTensor) -> bool:
    """Whether nothing else is over the memory of a DenseTensor."""
    # No local variable for the array: it would count, and where compiled only as long as it is still needed.
    return (
        dense.array.base is None
        and dense.storage is None
        and array_references(dense) <= LIMITS.array
        and bool(dense.array.flags.owndata)
    )


def array_references(dense: DenseTensor) -> int:
    """How many references there are to the array of a DenseTensor, as counted from here."""
    return int(_getrefcount(dense.array))


def calibrate() -> None:
    """Measure LIMITS on a gradient and a Tensor that only a local variable holds, two calls up."""
    meta = Meta((1,), dt.float32)
    grad: Any = DenseTensor(_array([0.0], "float32"), meta)
    measure(grad)
    # The Tensor class is not there yet; its base counts the same.
    grad = TensorBase()
    grad.impl = DenseTensor(_array([0.0], "float32"), meta)
    measure(grad)


def measure(grad: Any) -> None:
    """Stands where `lent` and `own` stand."""
    count(grad)


def count(grad: Any) -> None:
    """Stands where `alone` stands."""
    if isinstance(grad, DenseTensor):
        LIMITS.dense = int(_getrefcount(grad))
        LIMITS.array = array_references(grad)
    else:
        LIMITS.tensor = int(_getrefcount(grad))
        LIMITS.impl = int(_getrefcount(grad.impl))


calibrate()


def copied(grad: Any, create_graph: bool) -> Any:
    """A gradient in memory of its own; under create_graph with its history."""
    if create_graph:
        return REGISTRY.recorded_ops.assign(grad)
    return DenseTensor(_array(grad.array), grad.meta)


def lent(grad: Any, create_graph: bool) -> Any:
    """A gradient as a Tensor that the user may write to and keep; only one local variable of the caller may hold it."""
    return as_tensor(grad if alone(grad) else copied(grad, create_graph))


def own(grad: Any, create_graph: bool) -> Any:
    """A gradient whose memory the user does not see (any more); only one local variable of the caller may hold it."""
    return grad if alone(grad) else copied(grad, create_graph)


def as_tensor(grad: Any) -> Any:
    """A gradient as user code sees it."""
    return new_tensor(grad) if isinstance(grad, DenseTensor) else grad


def lent_all(grads: list[Any], create_graph: bool) -> list[Any]:
    """Every gradient of a list (which is emptied) lent; None stays."""
    given: list[Any] = []
    for i in range(len(grads)):
        grad = grads[i]
        grads[i] = None
        given.append(None if grad is None else lent(grad, create_graph))
    return given


def owned_all(tensors: list[Any], create_graph: bool) -> list[Any]:
    """The gradients of a list of Tensors (which is emptied), taken over; None stays."""
    values: list[Any] = []
    for i in range(len(tensors)):
        tensor = tensors[i]
        tensors[i] = None
        value: Any = None
        if tensor is not None:
            value = tensor if create_graph else tensor.impl
            tensor = None
            value = own(value, create_graph)
        values.append(value)
        value = None
    return values


def kept(grad: Any, create_graph: bool) -> Any:
    """A gradient to keep for the user: its memory is nobody else's."""
    return as_tensor(copied(grad, create_graph))


def called(function: Any, arguments: tuple[Any, ...], node: GradNodeBase, create_graph: bool, mark: int) -> Any:
    """Call the user's function in the mode of the pass; the mode is restored, and an exception gets its note."""
    before = set_grad_enabled_flag(create_graph)
    try:
        return function(*arguments)
    except BaseException as error:
        note(error, node, mark)
        raise
    finally:
        set_grad_enabled_flag(before)


def note(error: BaseException, node: GradNodeBase, mark: int) -> None:
    """Say which node raised, and where the user's forward line is; the exception stays what it is.

    mark: the pass. What a pass inside this one has said already is enough.
    """
    # The kernel that raised did not say that it had ended.
    STATE.in_kernel = False
    line = node.forward_line()
    if isinstance(node, AccumulationNode):
        text = f"raised at the gradient of {line}"
    else:
        text = f"raised in the backward of {node.op_name()}, which was recorded at {line}"
    try:
        if getattr(error, "wherry_noted", 0) >= mark:
            return
        # Not by way of the class's own __setattr__, which may refuse (a frozen dataclass).
        BaseException.__setattr__(error, "wherry_noted", mark)
        kind = getattr(error, "wherry_kind", "")
        if kind or getattr(error, "wherry_explained", False):
            if kind in ("hook", "custom-backward") or line not in str(error):
                error.args = (f"{error}\n  {text}",)
            return
        # The user's own exception passes as it is; what is to be said goes into a note.
        notes = getattr(error, "__notes__", None)
        if isinstance(notes, list):
            notes.append(text)
        else:
            BaseException.__setattr__(error, "__notes__", [text])
    except Exception:
        # A class whose attributes cannot even be asked for goes without.
        return


def refuse_hook(error: Exception, function: Any, node: GradNodeBase, mark: int) -> None:
    """Raise for what a hook returned, with the place of the hook's definition."""
    code = definition(function)[1]
    refusal: Any = error
    refusal.wherry_kind = "hook"
    refusal.wherry_places = [("the hook", code, 0)]
    if code is not None:
        error.args = (f"{error}\n  the hook is defined at {describe(code, 0)}",)
    note(error, node, mark)
    raise error


def check_result(result: Any, expected: Meta | None, where: str, hook: Hook, node: GradNodeBase, mark: int) -> None:
    """Raise TypeError or ValueError for a result of a hook that is no gradient of the expected shape and dtype."""
    name = definition(hook.function)[0]
    if not isinstance(result, TensorBase):
        text = f"the hook {name}: expected a Tensor or None as its result{where}, received {type(result).__name__}"
        refuse_hook(TypeError(text), hook.function, node, mark)
        return
    found = result.impl.meta
    if expected is not None and (found.shape != expected.shape or found.dtype is not expected.dtype):
        text = f"the hook {name}: expected a gradient of {expected} as its result{where}, received {found}"
        refuse_hook(ValueError(text), hook.function, node, mark)


def run_hooks(engine: Any, node: GradNodeBase, holder: GradTensorHolder) -> None:
    """The user's hooks on the gradients that arrived, in the order they were registered; retained gradients last."""
    hooks = node.hooks
    if hooks is None:
        return
    for hook in hooks:
        # A hook may have removed this one.
        if hook.removed:
            continue
        if hook.kind == st.TENSOR_HOOK:
            run_tensor_hook(engine, node, hook, holder)
        elif hook.kind == st.NODE_PRE_HOOK:
            run_pre_hook(engine, node, hook, holder)
    buffer = holder.buffer
    for hook in hooks:
        if hook.kind == st.RETAIN_GRAD:
            grad = holder.single if buffer is None else buffer[hook.position]
            if grad is not None:
                hook.function.grad = kept(grad, engine.create_graph)


def run_tensor_hook(engine: Any, node: GradNodeBase, hook: Hook, holder: GradTensorHolder) -> None:
    """One hook on one gradient: None leaves it, a Tensor takes its place, and so does what the hook wrote into it."""
    create_graph: bool = engine.create_graph
    buffer = holder.buffer
    grad: Any = None
    if buffer is None:
        grad = holder.single
        holder.single = None
        holder.owned = False
    else:
        grad = buffer[hook.position]
        buffer[hook.position] = None
    if grad is None:
        return
    expected = meta_of_value(grad)
    before: Any = grad if engine.watching is not None else None
    given: Any = lent(grad, create_graph)
    # Where the hook got a copy, the gradient itself goes on unless the hook changed the copy.
    original: Any = None if given is grad or given.impl is grad else grad
    grad = None
    impl: Any = given.impl
    version: int = impl.inplace_version
    mode = set_grad_enabled_flag(create_graph)
    # As `called`, without its frame: passes may nest deep in hooks.
    try:
        result: Any = hook.function(given)
    except BaseException as error:
        note(error, node, engine.mark)
        raise
    finally:
        set_grad_enabled_flag(mode)
    if result is None:
        result = given
    unchanged = result is given and given.impl is impl and impl.inplace_version == version
    impl = None
    given = None
    if not (unchanged and original is not None):
        check_result(result, expected, "", hook, node, engine.mark)
        original = result if create_graph else result.impl
        result = None
        original = own(original, create_graph)
    if before is not None:
        for observer in engine.watching:
            observer.hook_called(engine, node, hook, before, before if unchanged else original)
    if buffer is None:
        holder.single = original
    else:
        buffer[hook.position] = original


def run_pre_hook(engine: Any, node: GradNodeBase, hook: Hook, holder: GradTensorHolder) -> None:
    """A hook on all gradients that arrived at a node: hook(grad_outputs), which returns as many or None."""
    buffer = holder.buffer
    grads = [holder.single] if buffer is None else buffer
    holder.single = None
    holder.owned = False
    given = lent_all(grads, engine.create_graph)
    result = called(hook.function, (tuple(given),), node, engine.create_graph, engine.mark)
    if result is not None:
        given = checked_results(result, [node.output_meta(j) for j in range(len(given))], hook, node, engine.mark)
        result = None
    values = owned_all(given, engine.create_graph)
    if buffer is None:
        holder.single = values[0]
    else:
        for j, value in enumerate(values):
            buffer[j] = value


def run_post_hooks(engine: Any, node: GradNodeBase, results: list[Any], grads: list[Any]) -> list[Any]:
    """Hooks on a node after its rules: hook(grad_inputs, grad_outputs), which returns gradients for the inputs or None."""
    hooks = node.hooks
    if hooks is None:
        return results
    for hook in hooks:
        if hook.kind != st.NODE_POST_HOOK or hook.removed:
            continue
        create_graph: bool = engine.create_graph
        given = lent_all(results, create_graph)
        seen = lent_all(list(grads), create_graph)
        result = called(hook.function, (tuple(given), tuple(seen)), node, create_graph, engine.mark)
        if result is not None:
            given = checked_results(result, [node.input_meta(i) for i in range(len(given))], hook, node, engine.mark)
            result = None
        results = owned_all(given, create_graph)
    return results


def checked_results(result: Any, expected: list[Meta | None], hook: Hook, node: GradNodeBase, mark: int) -> list[Any]:
    """What a hook on a node returned, as a list; raises where count, type, shape or dtype do not fit."""
    name = definition(hook.function)[0]
    if not isinstance(result, (tuple, list)):
        text = f"the hook {name}: expected a tuple of {len(expected)} gradients or None as its result, received {type(result).__name__}"
        refuse_hook(TypeError(text), hook.function, node, mark)
    if len(result) != len(expected):
        text = f"the hook {name}: expected a tuple of {len(expected)} gradients or None as its result, received {len(result)}"
        refuse_hook(ValueError(text), hook.function, node, mark)
    for i, value in enumerate(result):
        if value is not None:
            check_result(value, expected[i], f" at position {i}", hook, node, mark)
    return list(result)


def run_reduce_hooks(engine: Any, node: GradNodeBase) -> None:
    """Hooks that are told when a gradient has been added to a leaf's `.grad`."""
    hooks = node.hooks
    if hooks is not None:
        for hook in hooks:
            if hook.kind == st.REDUCE_HOOK and not hook.removed:
                called(hook.function, (), node, engine.create_graph, engine.mark)
