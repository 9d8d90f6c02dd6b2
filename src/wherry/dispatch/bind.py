"""Resolve the names in an OpDef (InferMeta, rules, argument orders) to objects, once, on first use."""

import importlib
import inspect
import pkgutil
from typing import Any, Final

from wherry.dispatch import op_def as od
from wherry.dispatch.op_def import OpDef, Rule
from wherry.infermeta.registry import INFER_META

# Rule name -> function, from every module that was handed to register_rules.
RULES: Final[dict[str, Any]] = {}


def register_rules(module: Any) -> None:
    """Make the functions that a module defines available as derivative rules, by name."""
    for name, value in vars(module).items():
        # A compiled function is a built-in one to Python.
        if inspect.isroutine(value) and value.__module__ == module.__name__:
            RULES[name] = value


def import_package(package: str) -> list[Any]:
    """Import every module of a package; returns the modules."""
    parent = importlib.import_module(package)
    return [importlib.import_module(f"{package}.{info.name}") for info in pkgutil.iter_modules(parent.__path__)]


def argument_order(op: OpDef, params: tuple[str, ...]) -> tuple[int, ...]:
    """Positions in (inputs + attributes) of the named arguments; empty where that is all of them in order."""
    names = op.inputs + op.attrs
    if not params or params == names:
        return ()
    return tuple(names.index(name) for name in params)


def make_rule(op: OpDef, function: Any) -> Rule:
    """Work out from a rule's parameter names what it wants; raises TypeError for a name that means nothing."""
    kinds: list[int] = []
    positions: list[int] = []
    for name in list(inspect.signature(function).parameters)[1:]:
        kind, position = _wanted(op, name)
        if kind < 0:
            raise TypeError(
                f"the rule {function.__name__} of {op.name} has the parameter {name}, which is no input, output, gradient or "
                f"attribute of {op.name} ({op.location}); expected one of {_all_wanted(op)}"
            )
        kinds.append(kind)
        positions.append(position)
    return Rule(function, tuple(kinds), tuple(positions))


def _wanted(op: OpDef, name: str) -> tuple[int, int]:
    if name in op.inputs:
        return od.WANTS_INPUT, op.inputs.index(name)
    if name in op.outputs:
        return od.WANTS_OUTPUT, op.outputs.index(name)
    if name in op.attrs:
        return od.WANTS_ATTR, op.attrs.index(name)
    if name == "needs_grad":
        return od.WANTS_NEEDS_GRAD, 0
    if name.endswith("_meta") and name[:-5] in op.inputs:
        return od.WANTS_INPUT_META, op.inputs.index(name[:-5])
    if name.endswith("_meta") and name[:-5] in op.outputs:
        return od.WANTS_OUTPUT_META, op.outputs.index(name[:-5])
    if name.endswith("_grad") and name[:-5] in op.outputs:
        return od.WANTS_OUT_GRAD, op.outputs.index(name[:-5])
    return -1, 0


def _all_wanted(op: OpDef) -> list[str]:
    names = [n + end for n in op.inputs + op.outputs for end in ("", "_meta")]
    return names + [n + "_grad" for n in op.outputs] + list(op.attrs) + ["needs_grad"]


def find_rule(op: OpDef, name: str) -> Rule:
    """The rule of that name, bound to the operation."""
    if name not in RULES:
        raise NotImplementedError(
            f"no derivative rule {name} is registered for {op.name} ({op.location}); "
            "write it in wherry/grads/, or register yours with wherry.library.rule"
        )
    return make_rule(op, RULES[name])


def bind(op: OpDef) -> None:
    """Fill the derived fields; raises NotImplementedError that names what is missing."""
    if op.infer_meta not in INFER_META:
        raise NotImplementedError(f"{op.name} names the InferMeta function {op.infer_meta}, which is not registered")
    op.infer = INFER_META[op.infer_meta]
    op.infer_order = argument_order(op, op.infer_params)
    op.kernel_order = argument_order(op, op.kernel_params)
    if op.infer_meta == "UnchangedInferMeta" and op.infer_order in ((), (0,)):
        op.infer_kind = od.INFER_UNCHANGED
    elif op.infer_meta == "ElementwiseInferMeta" and len(op.inputs) == 2:
        op.infer_kind = od.INFER_ELEMENTWISE
    names = op.inputs + op.attrs
    op.key_source = tuple(names.index(name) for name in op.data_type)
    if "" in op.grad:
        op.joint_rule = find_rule(op, op.grad[""])
        op.rules = [op.joint_rule] * len(op.inputs)
    else:
        op.rules = [find_rule(op, op.grad[name]) if name in op.grad else None for name in op.inputs]
    op.fast = (
        op.fast
        and not op.infer_order
        and not op.kernel_order
        and op.key_source in ((), (0,))
        and (not op.view or op.view[0][0] == 0)
    )
    op.bound = True
