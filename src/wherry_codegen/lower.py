"""Entries in Paddle's own style, whose derivative is a backward entry, turned into ours: an operation and a rule that calls it.

`backward : relu_grad` with a `backward_op : relu_grad` that has a kernel becomes the operation relu_grad and a generated
rule. One that has only `invoke` becomes a rule that calls that operation.
"""

import re
from dataclasses import replace

from wherry_codegen.emit import HEADER, WIDTH
from wherry_codegen.model import Argument, CallSpec, Entry, Problem, Signature

RULES_IMPORTS = """\
from typing import Any

from wherry.core.meta import Meta
"""
_DTYPE_OF = re.compile(r"(\w+)\.dtype\(\)")


def lower(entries: list[Entry]) -> tuple[list[Entry], str, list[Problem]]:
    """The operations with `backward` turned into `grad`, the source of the rules module, and problems."""
    problems: list[Problem] = []
    by_name = {e.name: e for e in entries if e.is_backward}
    forwards = {e.name: e for e in entries}
    rules: list[str] = []
    result: list[Entry] = []
    for entry in entries:
        if entry.is_backward:
            problems += check_forward(entry, forwards)
            if entry.kernel is None:
                continue
            # In a backward entry inplace lets memory be used again; here the result is always fresh.
            entry = replace(entry, inplace=())
        if entry.backward and not entry.grad:
            backward = by_name.get(entry.backward)
            if backward is None:
                message = f"{entry.name} names the backward entry {entry.backward}, which does not exist; add it, or name rules in grad"
                problems.append(Problem(entry.at("backward"), message))
            elif not matches(entry, backward):
                pass  # check_forward has reported it.
            else:
                source = rule_source(entry, backward, problems)
                if source:
                    rules.append(source)
                    entry = replace(entry, grad={"": rule_name(backward)})
        elif entry.backward:
            message = f"{entry.name} has both backward and grad; keep grad (rules) or backward (a backward entry)"
            problems.append(Problem(entry.at("backward"), message))
        result.append(entry)
    text = "\n".join(
        [
            HEADER.format(doc="Derivative rules of backward entries: each calls the entry's operation."),
            RULES_IMPORTS,
            *rules,
        ]
    )
    return result, text, problems


def rule_name(backward: Entry) -> str:
    """The name of the generated rule."""
    return f"rule_{backward.name}"


def matches(entry: Entry, backward: Entry) -> bool:
    """Whether a backward entry's forward signature is that of the entry, position by position (names may differ)."""
    forward = backward.forward
    return forward is not None and not differences(entry, forward)


def differences(entry: Entry, forward: Signature) -> list[str]:
    """How a forward signature differs from the entry it names."""
    found: list[str] = []
    if forward.name != entry.name:
        return [f"it names {forward.name}"]
    if len(forward.args) != len(entry.args):
        found.append(f"it has {len(forward.args)} arguments, {entry.name} has {len(entry.args)}")
    if len(forward.outputs) != len(entry.outputs):
        found.append(f"it has {len(forward.outputs)} outputs, {entry.name} has {len(entry.outputs)}")
    pairs = [(a.type, a.name, b.type, b.name) for a, b in zip(forward.args, entry.args)]
    pairs += [(a.type, a.name, b.type, b.name) for a, b in zip(forward.outputs, entry.outputs)]
    for kind, name, other_kind, other in pairs:
        if kind.name != other_kind.name:
            found.append(f"its {kind} {name} is {other_kind} {other} in {entry.name}")
    return found


def check_forward(backward: Entry, forwards: dict[str, Entry]) -> list[Problem]:
    """Problems between a backward entry and the operation its `forward` names."""
    forward = backward.forward
    assert forward is not None
    entry = forwards.get(forward.name)
    at = backward.at("forward")
    if entry is None:
        return [
            Problem(
                at,
                f"{backward.name} belongs to the operation {forward.name}, which does not exist; add it or correct forward",
            )
        ]
    problems = [
        Problem(
            at, f"forward of {backward.name} does not match {entry.name} ({entry.location}): {text}; make them the same"
        )
        for text in differences(entry, forward)
    ]
    known = (
        {a.name for a in forward.args} | {o.name for o in forward.outputs} | {o.name + "_grad" for o in forward.outputs}
    )
    for arg in backward.args:
        if arg.type.is_tensor and arg.name not in known:
            message = f"{backward.name} takes the tensor {arg.name}, which is no input, output or <output>_grad of {entry.name}"
            problems.append(Problem(backward.at("args"), f"{message}; expected one of {', '.join(sorted(known))}"))
    inputs = [a.name + "_grad" for a in forward.args if a.type.is_tensor]
    for output in backward.outputs:
        if output.name not in inputs:
            message = f"{backward.name} returns {output.name}, which is the gradient of no input of {entry.name}"
            problems.append(
                Problem(backward.at("output"), f"{message}; expected some of {', '.join(inputs)}, in this order")
            )
    places = [inputs.index(o.name) for o in backward.outputs if o.name in inputs]
    if places != sorted(places):
        message = f"{backward.name} returns its gradients in another order than the inputs of {entry.name}"
        problems.append(
            Problem(backward.at("output"), f"{message}; write {', '.join(inputs[i] for i in sorted(places))}")
        )
    return problems


def rule_source(entry: Entry, backward: Entry, problems: list[Problem]) -> str:
    """The rule of `entry` that calls the backward entry's operation; "" after reporting why there can be none."""
    forward = backward.forward
    assert forward is not None
    if backward.kernel is None and backward.invoke is None:
        what = "only composite" if backward.composite else "neither kernel nor invoke"
        message = f"{backward.name} has {what}; write a rule in src/wherry/grads/ and name it in grad of {entry.name}"
        problems.append(Problem(backward.location, message))
        return ""
    renamed = {a.name: b.name for a, b in zip(forward.args, entry.args)}
    renamed |= {a.name: b.name for a, b in zip(forward.outputs, entry.outputs)}
    renamed |= {a.name + "_grad": b.name + "_grad" for a, b in zip(forward.outputs, entry.outputs)}
    params: dict[str, str] = {}
    lines: list[str] = []

    def wanted(arg: Argument) -> str:
        name = renamed.get(arg.name, arg.name)
        if not arg.type.is_tensor:
            params[name] = "Any"
            return name
        if arg.name not in backward.no_need_buffer:
            params[name] = "Any"
            return name
        # Only its shape and dtype are needed: a value of that shape that takes no memory stands for it.
        params[name + "_meta"] = "Meta"
        stand_in = f"ops.expand(ops.full((), 0, {name}_meta.dtype), {name}_meta.shape)"
        if arg.name in backward.optional:
            stand_in = f"None if {name}_meta is None else {stand_in}"
        lines.append(f"    {name} = {stand_in}")
        return name

    if backward.kernel is not None:
        call = (
            backward.name,
            [wanted(a) for a in backward.args if a.type.is_tensor or a.name in renamed or not a.has_default],
        )
    else:
        assert backward.invoke is not None
        call = backward.invoke.name, invoked(backward, backward.invoke, renamed, params, problems)
    target = f"ops.{call[0]}({', '.join(call[1])})"
    # One output goes to its input's place; several come as a tuple in the order of the inputs.
    outputs = [o.name for o in backward.outputs]
    places = []
    for arg in forward.args:
        if arg.type.is_tensor:
            grad = arg.name + "_grad"
            if grad not in outputs:
                places.append("None")
            else:
                places.append("result" if len(outputs) == 1 else f"result[{outputs.index(grad)}]")
    text = f"({', '.join(places)}{',' if len(places) == 1 else ''})"
    signature = ", ".join(["ops: Any"] + [f"{name}: {kind}" for name, kind in params.items()])
    head = f"def {rule_name(backward)}({signature}) -> tuple[Any, ...]:"
    if len(head) > WIDTH:
        head = f"def {rule_name(backward)}(\n    {signature}\n) -> tuple[Any, ...]:"
    doc = f'    """Gradients of {entry.name} by {call[0]} ({backward.location})."""'
    return "\n".join(["", head, doc, *lines, f"    result = {target}", f"    return {text}", ""])


def invoked(
    backward: Entry, call: CallSpec, renamed: dict[str, str], params: dict[str, str], problems: list[Problem]
) -> list[str]:
    """The arguments of an `invoke` as source text; names become parameters of the rule."""
    result: list[str] = []
    known = {a.name for a in backward.args}
    for text in call.args:
        name = renamed.get(text, text)
        dtype_of = _DTYPE_OF.fullmatch(text)
        if text in known:
            params[name] = "Any"
            result.append(name)
        elif dtype_of and dtype_of[1] in known:
            name = renamed.get(dtype_of[1], dtype_of[1])
            if name.endswith("_grad"):
                params[name] = "Any"
                result.append(f"{name}.meta.dtype")
            else:
                params[name + "_meta"] = "Meta"
                result.append(f"{name}_meta.dtype")
        elif text in ("true", "false"):
            result.append(text.capitalize())
        elif re.fullmatch(r"-?[\d.]+(e-?\d+)?f?", text):
            result.append(text.rstrip("f"))
        else:
            message = f"invoke of {backward.name} has the argument {text!r}; expected an argument's name, name.dtype() or a number"
            problems.append(Problem(call.location, message))
    return result
