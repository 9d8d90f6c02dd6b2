"""Checks of entries against each other and against the code. A message says what is wrong and what to change."""

import difflib
import keyword
from collections.abc import Iterable, Iterator

from wherry_codegen.emit import public_names
from wherry_codegen.inventory import Inventory
from wherry_codegen.model import Entry, Location, Problem


def check(entries: list[Entry], inventory: Inventory | None = None) -> list[Problem]:
    """Every problem of the (lowered) entries; without an inventory the names of functions are not looked up."""
    problems: list[Problem] = []
    problems += duplicates(entries)
    for entry in entries:
        problems += check_arguments(entry)
        problems += check_names(entry)
        problems += check_fields(entry)
        # A module that does not import hides what it registers: then only that is reported.
        if inventory is not None and not inventory.problems:
            problems += check_code(entry, inventory)
    if inventory is not None:
        problems += inventory.problems
    return problems


def hint(name: str, known: Iterable[str]) -> str:
    """`; did you mean x?` where a known name is close."""
    close = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {close[0]}?" if close else ""


def listed(known: Iterable[str]) -> str:
    """Names in a sentence."""
    return ", ".join(known) or "none"


def duplicates(entries: list[Entry]) -> Iterator[Problem]:
    """Operations and public names that two entries give."""
    operations: dict[str, Entry] = {}
    publics: dict[str, Entry] = {}
    for entry in entries:
        first = operations.setdefault(entry.name, entry)
        if first is not entry:
            message = f"the operation {entry.name} is defined twice (first at {first.location}); remove or rename one"
            yield Problem(entry.location, message)
            continue
        for public in public_names(entry):
            full = f"{public.namespace}.{public.name}".lstrip(".")
            other = publics.setdefault(full, entry)
            if other is not entry:
                message = (
                    f"the public name {full} is also given by {other.name} ({other.location}); remove one from api"
                )
                yield Problem(entry.at("api"), message)
    for entry in entries:
        twin = operations.get(entry.name + "_")
        if twin is not None and entry.inplace and not entry.writes:
            message = (
                f"{entry.name} has inplace, which makes {twin.name}, and {twin.location} defines that too; remove one"
            )
            yield Problem(entry.at("inplace"), message)


def check_arguments(entry: Entry) -> Iterator[Problem]:
    """Argument and output names, and defaults."""
    at = entry.at("args")
    taken: set[str] = set()
    for arg in entry.args:
        if keyword.iskeyword(arg.name) or arg.name.startswith("_") or arg.name in ("self", "ops"):
            yield Problem(
                at, f"{entry.name} has an argument named {arg.name}, which cannot name one in Python; rename it"
            )
        if entry.api and arg.name == "name":
            message = f"{entry.name} has an argument named name, which every public function has at its end; rename it"
            yield Problem(at, message)
        if arg.name in taken:
            yield Problem(at, f"{entry.name} has two arguments named {arg.name}; rename one")
        taken.add(arg.name)
    outputs: set[str] = set()
    for output in entry.outputs:
        if output.name in outputs:
            yield Problem(entry.at("output"), f"{entry.name} has two outputs named {output.name}; rename one")
        outputs.add(output.name)
    defaulted = ""
    for arg in entry.args:
        if arg.has_default:
            defaulted = arg.name
        elif defaulted and not (arg.type.is_tensor and arg.name in entry.optional):
            message = f"argument {arg.name} of {entry.name} has no default but {defaulted} before it has; give it one or move it"
            yield Problem(at, message)


def check_names(entry: Entry) -> Iterator[Problem]:
    """Names in fields must be those of arguments and outputs."""
    tensors = [a.name for a in entry.tensors]
    args = [a.name for a in entry.args]
    outputs = [o.name for o in entry.outputs]

    def unknown(field: str, name: str, what: str, known: list[str], at: Location | None = None) -> Iterator[Problem]:
        if name not in known:
            message = f"{field} of {entry.name} names {name}, which is no {what}; expected one of {listed(known)}"
            yield Problem(at or entry.at(field), message + hint(name, known))

    for field in ("inplace", "view"):
        for source, target in getattr(entry, field):
            yield from unknown(field, source, "tensor argument", tensors)
            yield from unknown(field, target, "output", outputs)
    for name in entry.optional:
        yield from unknown("optional", name, "tensor argument or output", tensors + outputs)
    for name in entry.intermediate:
        yield from unknown("intermediate", name, "output", outputs)
    for name in entry.no_need_buffer:
        yield from unknown("no_need_buffer", name, "tensor argument", tensors)
    for field in ("skip_transform", "support_trans_dtype"):
        for name in getattr(entry.data_transform, field):
            yield from unknown(f"data_transform.{field}", name, "argument", args, entry.at("data_transform"))
    infer, kernel = entry.infer_meta, entry.kernel
    for name in (infer.params if infer else None) or ():
        yield from unknown("infer_meta.param", name, "argument", args, entry.at("infer_meta"))
    for name in (kernel.params if kernel else None) or ():
        yield from unknown("kernel.param", name, "argument", args, entry.at("kernel"))
    for source in (kernel.data_type + kernel.layout + kernel.backend) if kernel else ():
        if not source.constant:
            yield from unknown("kernel", source.name, "argument", args, entry.at("kernel"))
    for name in entry.grad:
        if name:
            yield from unknown("grad", name, "tensor argument", tensors)


def check_fields(entry: Entry) -> Iterator[Problem]:
    """Fields that need or exclude each other."""
    if entry.infer_meta is None:
        yield Problem(
            entry.location, f"{entry.name} has no infer_meta; name the function that gives its outputs' shape and dtype"
        )
    if entry.invoke is not None and not entry.is_backward:
        message = f"{entry.name} is made of {entry.invoke.name}; write it as a function in src/wherry/api/ instead of an entry"
        yield Problem(entry.at("invoke"), message)
    elif entry.kernel is None:
        yield Problem(entry.location, f"{entry.name} has no kernel; name its kernel")
    else:
        for source in entry.kernel.data_type:
            if source.constant or source.conversion:
                message = f"data_type of {entry.name} is {source}: the dispatcher takes argument names; name one, or leave it out"
                yield Problem(entry.at("kernel"), message)
        if not any(kinds_are_dense(f.inputs + f.outputs) for f in entry.kernel.functions):
            message = f"no kernel of {entry.name} takes and returns dense tensors; others are not supported"
            yield Problem(entry.at("kernel"), message)
    if entry.api and not entry.doc:
        message = f"{entry.name} has api but no doc; write one sentence, then shapes, dtypes, errors and the source"
        yield Problem(entry.at("api"), message)
    if entry.aliases and not entry.api:
        yield Problem(entry.at("aliases"), f"{entry.name} has aliases but no api; name the public function first")
    if entry.outputs and all(o.name in entry.intermediate for o in entry.outputs):
        yield Problem(
            entry.at("intermediate"), f"every output of {entry.name} is intermediate; one must reach the user"
        )
    if entry.writes and not entry.inplace:
        message = f"the name {entry.name} says that it writes, but it has no inplace; name the inputs it writes"
        yield Problem(entry.location, message)
    if entry.writes and (entry.grad or entry.backward):
        yield Problem(entry.at("grad"), f"{entry.name} writes, so it can have no derivative; remove grad and backward")
    if entry.writes and entry.view:
        yield Problem(entry.at("view"), f"{entry.name} writes, so its output cannot be a view; remove view")
    if "" in entry.grad and len(entry.grad) > 1:
        yield Problem(entry.at("grad"), f"grad of {entry.name} is both a rule for all inputs and a map; keep one")


def kinds_are_dense(kinds: tuple[str, ...]) -> bool:
    """Whether a kernel's kinds are all dense (or not given)."""
    return all(kind == "dense" for kind in kinds)


def check_code(entry: Entry, inventory: Inventory) -> Iterator[Problem]:
    """Functions that the entry names must exist, and rules ask for what there is."""
    infer, kernel = entry.infer_meta, entry.kernel
    if infer is not None and infer.function not in inventory.infer_meta:
        message = (
            f"no InferMeta function {infer.function} is registered for {entry.name}; write it in src/wherry/infermeta/"
        )
        yield Problem(entry.at("infer_meta"), message + hint(infer.function, inventory.infer_meta))
    if kernel is not None:
        name = kernel.functions[0].name
        if name not in inventory.kernels:
            message = f"no kernel {name} is registered for {entry.name}; register it in src/wherry/kernels/numpy/"
            yield Problem(entry.at("kernel"), message + hint(name, inventory.kernels))
    wanted = rule_parameters(entry)
    for rule in dict.fromkeys(entry.grad.values()):
        functions = inventory.rules.get(rule, ())
        if not functions:
            if rule.startswith("rule_"):
                continue  # Generated from a backward entry.
            message = f"no rule {rule} for {entry.name}; write def {rule}(ops, ...) in src/wherry/grads/"
            yield Problem(entry.at("grad"), message + hint(rule, inventory.rules))
            continue
        if len(functions) > 1:
            places = listed(str(f.location) for f in functions)
            yield Problem(entry.at("grad"), f"the rule {rule} of {entry.name} is defined twice ({places}); rename one")
        function = functions[0]
        if function.params[:1] != ("ops",):
            yield Problem(function.location, f"the first parameter of the rule {rule} is not ops; rules begin with it")
        for name in function.params[1:]:
            if name not in wanted:
                message = (
                    f"the rule {rule} has the parameter {name}, which is no input, output, gradient or attribute of "
                    f"{entry.name} ({entry.location}); expected one of {listed(wanted)}"
                )
                yield Problem(function.location, message + hint(name, wanted))


def rule_parameters(entry: Entry) -> list[str]:
    """The parameter names a rule of the entry may have."""
    both = [a.name for a in entry.tensors] + [o.name for o in entry.outputs]
    metas = [name + "_meta" for name in both]
    grads = [o.name + "_grad" for o in entry.outputs]
    return both + metas + grads + [a.name for a in entry.attributes] + ["needs_grad"]
