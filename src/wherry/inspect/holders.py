"""Who holds a tensor: the way from a variable, a module, a layer, a hook to it, found through the collector's own lists."""

import gc
import sys
from collections.abc import Iterable
from inspect import CO_OPTIMIZED
from types import BuiltinFunctionType, CellType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from wherry.autograd.structures import GradNodeBase, GradState, Hook, TensorBase
from wherry.inspect.facts import Line, function_place, is_package_file, line_of_node

# How many steps up from a tensor a name is looked for.
_DEPTH: Final = 6
_MOST_HOLDERS: Final = 8


class Holder:
    """Who holds a thing: `text` for people, `kind` ("variable", "attribute", "hook", "closure", "saved", "grad", "other"), a line if there is one.

    `name` is the variable or attribute at the end of the way, "" where there is none.
    """

    __slots__ = ("kind", "line", "name", "text")

    def __init__(self, kind: str, text: str, line: Line | None = None, name: str = "") -> None:
        self.kind = kind
        self.text = text
        self.line = line
        self.name = name

    def __repr__(self) -> str:
        return f"Holder({self.text})"


def frames() -> list[FrameType]:
    """All frames of all threads that belong to programs, not to this package."""
    found: list[FrameType] = []
    # No local may keep this function's own frame, which is among them: the two would keep each other, and all that the callers hold.
    following: list[FrameType | None] = list(sys._current_frames().values())
    while following:
        frame = following.pop()
        if frame is not None:
            if not is_package_file(frame.f_code.co_filename):
                found.append(frame)
            following.append(frame.f_back)
    return found


def locals_of(frame: FrameType) -> dict[str, Any]:
    """A copy of a frame's local variables that leaves no reference behind in the frame."""
    names = frame.f_locals
    copy = dict(names)
    if type(names) is dict and frame.f_code.co_flags & CO_OPTIMIZED:
        # Up to Python 3.12 the frame keeps this dictionary, and with it the values, until it ends.
        names.clear()
    return copy


class Holders:
    """A reading of the heap: for any of `targets` it knows who refers to it, up to names."""

    def __init__(self, targets: Iterable[Any]) -> None:
        self._referrers: dict[int, list[Any]] = {}
        self._names: dict[int, list[tuple[str, str, Line | None]]] = {}
        self._modules = {
            id(m.__dict__): name for name, m in list(sys.modules.items()) if isinstance(m, ModuleType) and m.__dict__
        }
        everything = gc.get_objects()
        self._own: set[int] = {id(everything), id(self.__dict__), id(self._referrers), id(self._names)}
        wanted = {id(t) for t in targets}
        self._frames = frames()
        for frame in self._frames:
            self._modules.setdefault(id(frame.f_globals), str(frame.f_globals.get("__name__", "?")))
            for name, value in locals_of(frame).items():
                where = Line(frame.f_code, frame.f_lasti)
                # A module's own variables come by way of its dictionary.
                if frame.f_code.co_flags & CO_OPTIMIZED:
                    self._names.setdefault(id(value), []).append((name, frame.f_code.co_qualname, where))
        for _ in range(_DEPTH):
            wanted = self._look(everything, wanted)
            if not wanted:
                break
        # This function's own frame is among them; the two would keep each other, and everything else, alive.
        everything.clear()

    def _look(self, everything: list[Any], wanted: set[int]) -> set[int]:
        """One pass over the heap: who refers to the wanted; returns the referrers that are new."""
        found: set[int] = set()
        for thing in everything:
            kind = type(thing)
            if kind in _PLAIN or id(thing) in self._own or isinstance(thing, FrameType):
                continue
            for referent in gc.get_referents(thing):
                if id(referent) in wanted:
                    before = self._referrers.setdefault(id(referent), [])
                    if not any(b is thing for b in before):
                        before.append(thing)
                        if id(thing) not in self._referrers:
                            found.add(id(thing))
        return found

    def close(self) -> None:
        """Let go of everything; what was read may refer to this object, and the two would keep each other."""
        self._referrers.clear()
        self._names.clear()
        self._frames.clear()

    def of(self, thing: Any) -> list[Holder]:
        """The holders of a thing, by name where there is one."""
        found: list[Holder] = []
        self._climb(thing, "", found, {id(thing)}, 0)
        unique: dict[str, Holder] = {}
        for holder in found:
            unique.setdefault(holder.text, holder)
        return list(unique.values())[:_MOST_HOLDERS]

    def _climb(self, thing: Any, path: str, found: list[Holder], seen: set[int], depth: int) -> None:
        for name, function, line in self._names.get(id(thing), ()):
            found.append(Holder("variable", f"variable {name}{path} in {function}", line, name))
        if depth >= _DEPTH:
            return
        for referrer in self._referrers.get(id(thing), ()):
            if id(referrer) in seen:
                continue
            seen.add(id(referrer))
            self._through(thing, referrer, path, found, seen, depth)

    def _through(self, thing: Any, referrer: Any, path: str, found: list[Holder], seen: set[int], depth: int) -> None:
        """Follow one reference upwards, adding its part of the way."""
        if isinstance(referrer, dict):
            self._through_dict(thing, referrer, path, found, seen, depth)
        elif isinstance(referrer, (list, tuple)):
            places = [i for i, item in enumerate(referrer) if item is thing]
            step = f"[{places[0]}]" if places else "[...]"
            self._climb(referrer, step + path, found, seen, depth + 1)
        elif isinstance(referrer, (set, frozenset)):
            self._climb(referrer, "{...}" + path, found, seen, depth + 1)
        elif isinstance(referrer, CellType):
            self._through_cell(referrer, path, found, seen, depth)
        elif isinstance(referrer, FunctionType):
            place = function_place(referrer)
            found.append(Holder("closure", f"the function {referrer.__qualname__} ({place})", place))
        elif isinstance(referrer, Hook):
            found.append(hook_holder(referrer))
        elif isinstance(referrer, (GradNodeBase, GradState, TensorBase, MethodType)):
            # Reported by the snapshot itself (saved, .grad), or no holder of its own.
            self._climb(referrer, path, found, seen, depth + 1)
        elif not isinstance(referrer, (ModuleType, BuiltinFunctionType)):
            self._climb(referrer, f" (in a {type(referrer).__qualname__})" + path, found, seen, depth + 1)

    def _through_dict(
        self, thing: Any, referrer: dict[Any, Any], path: str, found: list[Holder], seen: set[int], depth: int
    ) -> None:
        keys = [k for k, v in list(referrer.items()) if v is thing]
        if not keys:
            return
        module = self._modules.get(id(referrer))
        if module is not None:
            if not module.startswith("wherry.") or module == "__main__":
                found.append(Holder("variable", f"variable {keys[0]}{path} of module {module}", None, str(keys[0])))
            return
        owners = [o for o in self._referrers.get(id(referrer), ()) if getattr(o, "__dict__", None) is referrer]
        if owners:
            owner = owners[0]
            text = f"attribute {keys[0]}{path} of {describe_owner(owner)}"
            found.append(Holder("attribute", text, None, str(keys[0])))
            return
        self._climb(referrer, f"[{keys[0]!r}]" + path, found, seen, depth + 1)

    def _through_cell(self, cell: Any, path: str, found: list[Holder], seen: set[int], depth: int) -> None:
        for closure in self._referrers.get(id(cell), ()):
            for function in self._referrers.get(id(closure), ()) if isinstance(closure, tuple) else (closure,):
                if not isinstance(function, FunctionType) or function.__closure__ is None:
                    continue
                name = next((n for n, c in zip(function.__code__.co_freevars, function.__closure__) if c is cell), "")
                hooks = [h for h in self._referrers.get(id(function), ()) if isinstance(h, Hook)]
                place = function_place(function)
                kind = "hook" if hooks else "closure"
                text = f"{name}{path} in the closure of {'the hook ' if hooks else ''}{function.__qualname__} ({place})"
                found.append(Holder(kind, text, place, name))


# Types that hold no tensors, passed over for speed.
_PLAIN: Final = {type, BuiltinFunctionType, property, staticmethod, classmethod, type(len), type(gc)}


def describe_owner(owner: Any) -> str:
    """An object as its class, and its full name where it is a Layer."""
    name = getattr(owner, "_full_name", None)
    return f"{type(owner).__qualname__} {name}" if isinstance(name, str) else f"a {type(owner).__qualname__}"


def hook_holder(hook: Hook) -> Holder:
    """A hook as a holder."""
    place = function_place(hook.function)
    return Holder("hook", f"the hook {getattr(hook.function, '__qualname__', '?')} ({place})", place)


def saved_holder(node: GradNodeBase, name: str) -> Holder:
    """A node that saved a tensor, as a holder."""
    line = line_of_node(node)
    return Holder("saved", f"saved as {name} for the backward of {node.op_name()} at {line}", line)
