"""`backward` and `grad`: from the user's tensors to a BackwardPass."""

from typing import Any

import numpy as np

from wherry.autograd.boundary import as_tensor, own
from wherry.autograd.engine import BackwardPass
from wherry.autograd.history import grad_node_of, new_tensor
from wherry.autograd.structures import GradNodeBase, TensorBase
from wherry.core.dense_tensor import DenseTensor
from wherry.core.state import set_grad_enabled_flag


def tensor_list(value: Any, function: str, name: str) -> list[TensorBase]:
    """One tensor or a sequence of them as a list; raises TypeError that names the argument."""
    if isinstance(value, TensorBase):
        return [value]
    if not isinstance(value, (list, tuple)) or len(value) == 0:
        found = f"an empty {type(value).__name__}" if isinstance(value, (list, tuple)) else type(value).__name__
        raise TypeError(f"{function}: expected a Tensor or a non-empty list of Tensors for {name!r}, received {found}")
    return all_tensors(value, function, name)


def all_tensors(value: Any, function: str, name: str) -> list[TensorBase]:
    """The items as a list; raises TypeError for one that is no Tensor."""
    for i, item in enumerate(value):
        if not isinstance(item, TensorBase):
            raise TypeError(f"{function}: expected Tensors in {name!r}, received {type(item).__name__} at position {i}")
    return list(value)


def blocking_list(value: Any) -> list[TensorBase]:
    """The argument no_grad_vars of grad as a list."""
    if value is None:
        return []
    if isinstance(value, TensorBase):
        return [value]
    if not isinstance(value, (list, tuple, set, frozenset)):
        raise TypeError(
            "grad: expected a Tensor, or a list or set of Tensors, or None for 'no_grad_vars', "
            f"received {type(value).__name__}"
        )
    return all_tensors(value, "grad", "no_grad_vars")


def flag(value: Any, function: str, name: str) -> bool:
    """True or False; raises TypeError for anything else."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{function}: expected True or False for {name!r}, received {type(value).__name__}")
    return bool(value)


def seeds_for(outputs: list[TensorBase], grads: Any, function: str, name: str) -> list[Any]:
    """The gradient each output starts from: ones where none is given. Raises for a wrong count, type, shape or dtype."""
    if grads is None:
        return [None] * len(outputs)
    if isinstance(grads, TensorBase):
        grads = [grads]
    if not isinstance(grads, (list, tuple)):
        raise TypeError(
            f"{function}: expected a Tensor or a list of Tensors and None for {name!r}, received {type(grads).__name__}"
        )
    if len(grads) == 0:
        return [None] * len(outputs)
    if len(grads) != len(outputs):
        raise ValueError(
            f"{function}: expected {len(outputs)} gradients in {name!r}, one for each output, received {len(grads)}"
        )
    for i, (output, grad) in enumerate(zip(outputs, grads)):
        if grad is None:
            continue
        if not isinstance(grad, TensorBase):
            raise TypeError(
                f"{function}: expected a Tensor or None in {name!r}, received {type(grad).__name__} at position {i}"
            )
        expected = output.impl.meta
        if grad.impl.meta.shape != expected.shape:
            raise ValueError(
                f"{function}: expected a gradient of shape {list(expected.shape)} in {name!r} at position {i}, received shape "
                f"{list(grad.impl.meta.shape)}"
            )
        if grad.impl.meta.dtype is not expected.dtype:
            raise ValueError(
                f"{function}: expected a gradient of dtype {expected.dtype.name} in {name!r} at position {i}, received "
                f"{grad.impl.meta.dtype.name}"
            )
    return list(grads)


def seed_roots(engine: BackwardPass, outputs: list[TensorBase], seeds: list[Any]) -> None:
    """Put the seeds of all outputs that need a gradient into the pass."""
    for output, seed in zip(outputs, seeds):
        node = grad_node_of(output)
        if node is None:
            continue
        if seed is None:
            meta = output.impl.meta
            seed = new_tensor(DenseTensor(np.ones(meta.shape, meta.dtype.numpy), meta))
        engine.seed(node, output._position, seed if engine.create_graph else seed.impl)


def run_pass(engine: BackwardPass) -> None:
    """Run a pass; under create_graph it records whatever the caller's mode is, otherwise it records nothing."""
    before = set_grad_enabled_flag(engine.create_graph)
    watching = engine.watching or ()
    try:
        roots = list(engine.table)
        engine.count_edges()
        for observer in watching:
            observer.backward_started(engine, roots)
        engine.run()
        for observer in watching:
            observer.backward_finished(engine, None)
    except BaseException as error:
        engine.abandon()
        for observer in watching:
            observer.backward_finished(engine, error)
        raise
    finally:
        set_grad_enabled_flag(before)


# The flags are Any: compiled, a declared bool would be refused before `flag` can name function and argument.
def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: Any = False,
    create_graph: Any = False,
    *,
    dump_backward_graph_path: str | None = None,
) -> None:
    """Add the gradients of the tensors to `.grad` of the leaves they were made from.

    tensors: a Tensor or a list; several may lie in one graph. grad_tensors: for each the gradient it starts from (same shape and
    dtype) or None for ones. retain_graph: keep what was saved, so that backward may run again. create_graph: record the
    pass itself, so that the gradients can be differentiated. Raises TypeError or ValueError for a wrong argument, RuntimeError where the
    graph was freed or a saved tensor was changed in place. A tensor with stop_gradient=True contributes nothing.
    Source: paddle.autograd.backward.
    """
    if dump_backward_graph_path is not None:
        raise NotImplementedError("backward: the argument 'dump_backward_graph_path' is not supported")
    outputs = tensor_list(tensors, "backward", "tensors")
    seeds = seeds_for(outputs, grad_tensors, "backward", "grad_tensors")
    create_graph = flag(create_graph, "backward", "create_graph")
    retain_graph = retain_graph is not None and flag(retain_graph, "backward", "retain_graph")
    engine = BackwardPass(create_graph, retain_graph or create_graph)
    seed_roots(engine, outputs, seeds)
    if engine.table:
        run_pass(engine)


def on_the_way(roots: list[GradNodeBase], targets: set[GradNodeBase]) -> set[GradNodeBase]:
    """The nodes from which a target can be reached."""
    order: list[GradNodeBase] = []
    seen: set[GradNodeBase] = set(roots)
    pending = list(seen)
    came_from: dict[GradNodeBase, list[GradNodeBase]] = {}
    while pending:
        node = pending.pop()
        order.append(node)
        for i in range(node.num_inputs()):
            following = node.edge_node(i)
            if following is None:
                continue
            came_from.setdefault(following, []).append(node)
            if following not in seen:
                seen.add(following)
                pending.append(following)
    useful = {t for t in targets if t in seen}
    pending = list(useful)
    while pending:
        for before in came_from.get(pending.pop(), ()):
            if before not in useful:
                useful.add(before)
                pending.append(before)
    return useful


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: Any = None,
    create_graph: Any = False,
    only_inputs: Any = True,
    allow_unused: Any = False,
    no_grad_vars: Any = None,
    *,
    dump_backward_graph_path: str | None = None,
) -> list[Any]:
    """The gradients of the sum of the outputs with respect to the inputs; `.grad` of no tensor changes.

    outputs, inputs: a Tensor or a list; inputs may be leaves, intermediate results, or outputs themselves. grad_outputs: for each
    output the gradient it starts from, or None for ones. retain_graph: keep what was saved (default: as create_graph).
    create_graph: make the gradients differentiable. allow_unused: None instead of an error for an input that the outputs do not
    depend on. no_grad_vars: tensors through which no gradient flows. Only the part of the graph between outputs and inputs
    runs. Returns a list, one entry for each input. Raises TypeError, ValueError (names the position of an unused input),
    RuntimeError as `backward`, NotImplementedError for only_inputs=False. Source: paddle.grad.
    """
    if not flag(only_inputs, "grad", "only_inputs"):
        raise NotImplementedError("grad: the argument 'only_inputs' has no other value than True, received False")
    if dump_backward_graph_path is not None:
        raise NotImplementedError("grad: the argument 'dump_backward_graph_path' is not supported")
    output_list = tensor_list(outputs, "grad", "outputs")
    input_list = tensor_list(inputs, "grad", "inputs")
    seeds = seeds_for(output_list, grad_outputs, "grad", "grad_outputs")
    create_graph = flag(create_graph, "grad", "create_graph")
    allow_unused = flag(allow_unused, "grad", "allow_unused")
    engine = BackwardPass(
        create_graph, create_graph if retain_graph is None else flag(retain_graph, "grad", "retain_graph")
    )
    engine.results = [None] * len(input_list)
    captures: dict[GradNodeBase, list[tuple[int, int]]] = {}
    for index, tensor in enumerate(input_list):
        node = grad_node_of(tensor)
        if node is not None:
            captures.setdefault(node, []).append((tensor._position, index))
    engine.captures = captures
    for tensor in blocking_list(no_grad_vars):
        node = grad_node_of(tensor)
        if node is not None:
            engine.blocked.add((node, tensor._position))
    roots = [n for n in (grad_node_of(t) for t in output_list) if n is not None]
    engine.needed = on_the_way(roots, set(captures))
    seed_needed(engine, output_list, seeds)
    if engine.table:
        run_pass(engine)
    return finished_results(engine, input_list, allow_unused)


def seed_needed(engine: BackwardPass, outputs: list[TensorBase], seeds: list[Any]) -> None:
    """Seed only the outputs from which an input can be reached."""
    needed = engine.needed
    chosen = [(o, s) for o, s in zip(outputs, seeds) if needed is not None and grad_node_of(o) in needed]
    seed_roots(engine, [o for o, _ in chosen], [s for _, s in chosen])


def finished_results(engine: BackwardPass, inputs: list[TensorBase], allow_unused: bool) -> list[Any]:
    """The captured gradients as Tensors; raises ValueError for one that is missing where that is not allowed."""
    for i, tensor in enumerate(inputs):
        if engine.results[i] is None and not allow_unused:
            raise ValueError(
                f"grad: the input at position {i} ({tensor.impl.meta}, stop_gradient={tensor._stop_gradient}) is not used by the outputs: "
                "no recorded operation leads from it to them. Expected a tensor that the outputs depend on; "
                "pass allow_unused=True to get None for it."
            )
    before = set_grad_enabled_flag(engine.create_graph)
    try:
        return finished(engine.results, engine.create_graph)
    finally:
        set_grad_enabled_flag(before)


def finished(captured: list[Any], create_graph: bool) -> list[Any]:
    """Captured gradients, each in memory of its own; the list is emptied."""
    results: list[Any] = []
    for i in range(len(captured)):
        grad = captured[i]
        captured[i] = None
        results.append(None if grad is None else as_tensor(own(grad, create_graph)))
        grad = None
    return results
