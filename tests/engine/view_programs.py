"""Random programs of views and in-place changes, run twice: as written, and again without any of them.

The second run keeps each memory as one flat tensor, and a view as the positions that it has of it: reading takes those, writing makes a new flat
tensor in which those are replaced. Nothing there is ever changed, so its gradients come from plain operations.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import wherry as paddle
from wherry.autograd import PyLayer
from wherry.core.errors import PermissionDeniedError

Key = tuple[Any, ...]
SHAPES = ((3, 4), (4,), (2, 3, 2), (2, 2), (4, 3))

# View operations by name: on positions (NumPy), and on tensors.
VIEWS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "getitem": (lambda a, key: a[(*key, ...)], lambda x, key: x[key]),
    "reshape": (lambda a, shape: a.reshape(shape), lambda x, shape: x.reshape(shape)),
    "flatten": (lambda a: a.reshape(-1), lambda x: x.flatten()),
    "transpose": (lambda a, perm: a.transpose(perm), lambda x, perm: x.transpose(perm)),
    "T": (lambda a: a.T, lambda x: x.T),
    "moveaxis": (lambda a, i, j: np.moveaxis(a, i, j), lambda x, i, j: paddle.moveaxis(x, i, j)),
    "squeeze": (lambda a, axis: a.squeeze(axis), lambda x, axis: x.squeeze(axis)),
    "unsqueeze": (lambda a, axis: np.expand_dims(a, axis), lambda x, axis: x.unsqueeze(axis)),
    "expand": (lambda a, shape: np.broadcast_to(a, shape), lambda x, shape: x.expand(shape)),
    "diagonal": (lambda a, offset: a.diagonal(offset), lambda x, offset: x.diagonal(offset)),
    "unbind": (lambda a, axis, i: a.take(i, axis), lambda x, axis, i: x.unbind(axis)[i]),
    "split": (lambda a, axis, i: np.split(a, 2, axis)[i], lambda x, axis, i: paddle.split(x, 2, axis)[i]),
    "chunk": (lambda a, axis, i: np.split(a, 2, axis)[i], lambda x, axis, i: paddle.chunk(x, 2, axis)[i]),
    "unfold": (
        lambda a, axis, step: np.lib.stride_tricks.sliding_window_view(a, 2, axis).take(
            range(0, a.shape[axis] - 1, step), axis
        ),
        lambda x, axis, step: x.unfold(axis, 2, step),
    ),
    "as_strided": (
        lambda a, offset: a.reshape(-1)[offset + np.array([[0, 1], [2, 3]])],
        lambda x, offset: paddle.as_strided(x, [2, 2], [2, 1], offset),
    ),
    "real": (lambda a: a[..., 0], paddle.real),
    "imag": (lambda a: a[..., 1], paddle.imag),
    "as_real": (lambda a: a, paddle.as_real),
    "as_complex": (lambda a: a, paddle.as_complex),
}
PARTS = ("real", "imag", "as_real", "as_complex")
TWINS = ("reshape", "flatten", "transpose", "squeeze", "unsqueeze")

# In-place operations by name: with a tensor operand or without, and what they make of the old value. None saves its result.
WRITERS: dict[str, tuple[bool, Callable[..., Any], Callable[..., Any]]] = {
    "multiply_": (True, lambda x, y: x.multiply_(y), lambda x, y: x * y),
    "add_": (True, lambda x, y: x.add_(y), lambda x, y: x + y),
    "subtract_": (True, lambda x, y: x.subtract_(y), lambda x, y: x - y),
    "copy by setitem": (True, lambda x, y: x.__setitem__(..., y), lambda x, y: y + paddle.zeros_like(x)),
    "divide_": (False, lambda x: x.divide_(number(1.25, x)), lambda x: x / number(1.25, x)),
    "multiply_ by itself": (False, lambda x: x.multiply_(x), lambda x: x * x),
    "fill_": (False, lambda x: x.fill_(0.75), lambda x: paddle.full_like(x, 0.75)),
    "zero_": (False, lambda x: x.zero_(), lambda x: paddle.zeros_like(x)),
}
REAL_WRITERS: dict[str, tuple[bool, Callable[..., Any], Callable[..., Any]]] = {
    "clip_": (False, lambda x: x.clip_(-0.5, 0.9), lambda x: x.clip(-0.5, 0.9)),
    "floor_": (False, lambda x: x.floor_(), lambda x: x.floor()),
    "less_than_": (
        False,
        lambda x: x.less_than_(number(0.5, x)),
        lambda x: x.less_than(number(0.5, x)).astype(x.dtype),
    ),
}


def number(value: float, x: Any) -> Any:
    return paddle.full([], value, dtype=x.dtype)


def values(seed: int, shape: tuple[int, ...]) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.uniform(0.4, 1.4, shape) * rng.choice([-1.0, 1.0], shape)


@dataclass
class Step:
    """One line. `out` is the variable that it makes or changes, `sources` are those that it reads."""

    kind: str
    out: int
    sources: tuple[int, ...] = ()
    name: str = ""
    arguments: tuple[Any, ...] = ()
    recorded: bool = True


@dataclass
class Variable:
    """Of a variable, what the generator and the second run know: shape, kind of number, and where its elements are."""

    shape: tuple[int, ...]
    is_complex: bool


@dataclass
class Program:
    """A random program: three leaves, then `length` lines that fit what there is."""

    seed: int
    length: int
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.known: dict[int, Variable] = {}
        # Leaves that need a gradient and their views, whose shape in-place operations must not change.
        self.leaves: set[int] = set()
        for _ in range(3):
            shape = SHAPES[self.rng.integers(len(SHAPES))]
            is_complex = bool(self.rng.random() < 0.2)
            needs_grad = bool(self.rng.random() < 0.7)
            out = self.add("leaf", (), "", (shape, is_complex, needs_grad, self.number()), Variable(shape, is_complex))
            if needs_grad:
                self.leaves.add(out)
        while len(self.steps) < self.length + 3:
            chosen = self.rng.choice(
                ["view", "call", "write", "set", "detach", "twin"], p=[0.4, 0.12, 0.2, 0.18, 0.05, 0.05]
            )
            getattr(self, f"add_{chosen}")()

    def number(self) -> int:
        return int(self.rng.integers(1 << 20))

    def one_of(self, fits: Callable[[Variable], bool] = lambda v: True) -> int | None:
        found = [k for k, v in self.known.items() if fits(v)]
        return int(self.rng.choice(found)) if found else None

    def target(self) -> int:
        """What to change in place: now and then a leaf or its view, which should be refused."""
        found = [k for k in self.known if k not in self.leaves or self.rng.random() < 0.1]
        return int(self.rng.choice(found or list(self.known)))

    def add(self, kind: str, sources: tuple[int, ...], name: str, arguments: tuple[Any, ...], made: Variable) -> int:
        out = len(self.known)
        self.known[out] = made
        recorded = kind != "view" or bool(self.rng.random() > 0.07)
        self.steps.append(Step(kind, out, sources, name, arguments, recorded))
        return out

    def add_view(self) -> None:
        source = self.one_of()
        assert source is not None
        name = str(self.rng.choice(list(VIEWS)))
        arguments = self.arguments_of(name, self.known[source])
        if arguments is not None:
            out = self.add("view", (source,), name, arguments, viewed(self.known[source], name, arguments))
            if source in self.leaves:
                self.leaves.add(out)

    def add_twin(self) -> None:
        target = self.target()
        name = str(self.rng.choice(TWINS))
        arguments = self.arguments_of(name, self.known[target])
        if arguments is not None and target not in self.leaves:
            self.known[target] = viewed(self.known[target], name, arguments)
            self.steps.append(Step("twin", target, (), name, arguments, bool(self.rng.random() > 0.15)))

    def add_call(self) -> None:
        source = self.one_of()
        assert source is not None
        name = str(self.rng.choice(["square", "double"]))
        self.add("call", (source,), name, (), self.known[source])

    def add_detach(self) -> None:
        source = self.one_of()
        assert source is not None
        self.add("detach", (source,), "", (), self.known[source])

    def add_write(self) -> None:
        target = self.target()
        known = self.known[target]
        name = str(self.rng.choice(list(WRITERS) + ([] if known.is_complex else list(REAL_WRITERS))))
        sources: tuple[int, ...] = ()
        if {**WRITERS, **REAL_WRITERS}[name][0]:
            other = self.one_of(lambda v: broadcasts(v, known))
            if other is None:
                return
            sources = (other,)
        self.steps.append(Step("write", target, sources, name, (), bool(self.rng.random() > 0.15)))

    def add_set(self) -> None:
        target = self.target()
        known = self.known[target]
        key = self.basic_key(known.shape) if self.rng.random() < 0.5 else self.advanced_key(known.shape)
        region = Variable(np.zeros(known.shape)[key].shape, known.is_complex)
        other = self.one_of(lambda v: broadcasts(v, region)) if self.rng.random() < 0.7 else None
        recorded = bool(self.rng.random() > 0.15)
        sources = () if other is None else (other,)
        self.steps.append(Step("set", target, sources, "", (key, float(self.rng.integers(-3, 4))), recorded))

    def basic_key(self, shape: tuple[int, ...]) -> Key:
        key: list[Any] = [None] if self.rng.random() < 0.15 else []
        for size in shape[: self.rng.integers(0, len(shape) + 1)]:
            first = int(self.rng.integers(0, size + 1))
            forms: list[Any] = [
                slice(first, int(self.rng.integers(first, size + 1))),
                slice(None, None, int(self.rng.integers(1, 3))),
                slice(None, None, -int(self.rng.integers(1, 3))),
            ]
            if size:
                forms += [int(self.rng.integers(-size, size))] * 2
            key.append(forms[self.rng.integers(len(forms))])
        return tuple(key)

    def advanced_key(self, shape: tuple[int, ...]) -> Key:
        if self.rng.random() < 0.4 or 0 in shape or not shape:
            return (self.rng.random(shape) < 0.5,)
        count = int(self.rng.integers(1, 4))
        first = self.rng.integers(-shape[0], shape[0], count)
        if len(shape) > 1 and self.rng.random() < 0.5:
            return (first, self.rng.integers(0, shape[1], count))
        return (first,)

    def arguments_of(self, name: str, known: Variable) -> tuple[Any, ...] | None:
        """Arguments with which a view of the variable can be made, or None."""
        rng, shape, ndim = self.rng, known.shape, len(known.shape)
        size = int(np.prod(shape))
        axis = int(rng.integers(ndim)) if ndim else 0
        if name == "getitem":
            return (self.basic_key(shape),)
        if name == "reshape" and size:
            part = int(rng.choice([d for d in range(1, size + 1) if size % d == 0]))
            return ((part, size // part) if rng.random() < 0.6 else (1, part, size // part),)
        if name == "transpose" and ndim > 1:
            return (tuple(int(i) for i in rng.permutation(ndim)),)
        if name == "moveaxis" and ndim > 1:
            return (axis, int(rng.integers(ndim)))
        if name == "squeeze" and 1 in shape:
            return (shape.index(1),)
        if name == "unsqueeze":
            return (int(rng.integers(ndim + 1)),)
        if name == "expand":
            return ((2, *shape),)
        if name == "diagonal" and ndim > 1:
            return (int(rng.integers(-1, 2)),)
        if name == "unbind" and ndim and shape[axis]:
            return (axis, int(rng.integers(shape[axis])))
        if name in ("split", "chunk") and ndim and shape[axis] and shape[axis] % 2 == 0:
            return (axis, int(rng.integers(2)))
        if name == "unfold" and ndim and shape[axis] > 1:
            return (axis, int(rng.integers(1, 3)))
        if name == "as_strided" and size > 3:
            return (int(rng.integers(size - 3)),)
        if name in ("T", "flatten") and ndim > 1:
            return ()
        pairs = name == "as_complex" and not known.is_complex and shape[-1:] == (2,)
        return () if pairs or (name in ("real", "imag", "as_real") and known.is_complex) else None


def broadcasts(operand: Variable, target: Variable) -> bool:
    """Whether the operand fits an in-place operation on the target."""
    try:
        fits = np.broadcast_shapes(operand.shape, target.shape) == target.shape
    except ValueError:
        return False
    return fits and operand.is_complex == target.is_complex


def viewed(known: Variable, name: str, arguments: tuple[Any, ...]) -> Variable:
    """What a view of a variable is like."""
    if name in PARTS:
        shape = {"as_real": (*known.shape, 2), "as_complex": known.shape[:-1]}.get(name, known.shape)
        return Variable(shape, name == "as_complex")
    return Variable(VIEWS[name][0](np.zeros(known.shape), *arguments).shape, known.is_complex)


@contextmanager
def recording(on: bool) -> Iterator[None]:
    with paddle.set_grad_enabled(on):
        yield


def sharing(x: Any, y: Any) -> bool:
    return x.impl.storage is not None and x.impl.storage is y.impl.storage


def as_written(program: Program) -> tuple[dict[int, Any], dict[int, Any], list[str]]:
    """Run a program; returns its variables, its leaves, and of each line whether it was refused, or its view had to copy.

    A refused line must not have changed anything, a write must have raised the version once.
    """
    env: dict[int, Any] = {}
    leaves: dict[int, Any] = {}
    outcomes: list[str] = []
    for step in program.steps:
        sources = [env[s] for s in step.sources]
        outcome = ""
        if step.kind == "leaf":
            shape, is_complex, needs_grad, seed = step.arguments
            array = values(seed, (*shape, 2) if is_complex else shape)
            array = array[..., 0] + 1j * array[..., 1] if is_complex else array
            env[step.out] = paddle.to_tensor(array, stop_gradient=not needs_grad)
            if needs_grad:
                leaves[step.out] = env[step.out]
        elif step.kind == "view":
            with recording(step.recorded):
                env[step.out] = VIEWS[step.name][1](sources[0], *step.arguments)
            outcome = "" if sharing(env[step.out], sources[0]) else "copied"
        elif step.kind == "call":
            env[step.out] = called(step.name, paddle.assign(sources[0]))
        elif step.kind == "detach":
            env[step.out] = sources[0].detach()
        else:
            outcome = written(step, env)
        outcomes.append(outcome)
    return env, leaves, outcomes


def called(name: str, x: Any) -> Any:
    return x * x if name == "square" else x + x


def written(step: Step, env: dict[int, Any]) -> str:
    """Run a line that changes a variable in place."""
    target = env[step.out]
    before = {k: x.numpy() for k, x in env.items()}
    version, alias = target.inplace_version, target.detach()
    try:
        with recording(step.recorded):
            if step.kind == "twin":
                assert getattr(target, f"{step.name}_")(*step.arguments) is target
            elif step.kind == "set":
                key, constant = step.arguments
                key = tuple(paddle.to_tensor(k) if isinstance(k, np.ndarray) else k for k in key)
                target[key] = env[step.sources[0]] if step.sources else constant
            else:
                # What add_ and subtract_ need later are shapes only; the operands of others are saved, and may change.
                saved = step.name not in ("add_", "subtract_", "copy by setitem")
                operands = [paddle.assign(env[s]) if saved else env[s] for s in step.sources]
                {**WRITERS, **REAL_WRITERS}[step.name][1](target, *operands)
    except PermissionDeniedError:
        assert target.inplace_version == version
        for k, x in env.items():
            np.testing.assert_array_equal(x.numpy(), before[k])
        return "refused"
    assert target.inplace_version == version + 1
    return "" if step.kind != "twin" or sharing(target, alias) else "copied"


class Replaced(PyLayer):
    """The new value, with the gradient of the old one: what a change that is not recorded does to a history."""

    @staticmethod
    def forward(ctx: Any, old: Any, new: Any) -> Any:
        return paddle.assign(new)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad, None


class Memory:
    """One memory. Each group of aliases has a history of its own: a flat tensor of the same values, and whether it is a leaf's."""

    def __init__(self, flat: Any, is_leaf: bool) -> None:
        self.groups: list[tuple[Any, bool]] = [(flat, is_leaf)]

    def new_group(self, group: int) -> int:
        self.groups.append((self.groups[group][0].detach().clone(), False))
        return len(self.groups) - 1

    def write(self, group: int, new: Any, recorded: bool) -> None:
        for i, (old, is_leaf) in enumerate(self.groups):
            value = new if i == group and recorded else Replaced.apply(old, new.detach())
            self.groups[i] = (value, is_leaf)


@dataclass
class Alias:
    """A variable of the second run: a memory, the group, and the positions (of real and imaginary parts where it is complex)."""

    memory: Memory
    group: int
    places: np.ndarray
    is_complex: bool
    # Made inside no_grad; made by expand.
    unrecorded: bool = False
    repeated: bool = False

    @property
    def flat(self) -> Any:
        return self.memory.groups[self.group][0]

    def read(self) -> Any:
        parts = take(self.flat, self.places)
        return paddle.complex(parts[..., 0], parts[..., 1]) if self.is_complex else parts


def take(flat: Any, places: np.ndarray) -> Any:
    return paddle.gather(flat, paddle.to_tensor(places.reshape(-1)), 0).reshape(list(places.shape)).clone()


def parts_of(x: Any) -> Any:
    return paddle.stack([paddle.real(x), paddle.imag(x)], -1) if x.is_complex() else x


def fresh(x: Any, is_leaf: bool = False) -> Alias:
    """A memory of its own for a value."""
    parts = parts_of(x)
    memory = Memory(parts.reshape([-1]).clone() if not is_leaf else parts.reshape([-1]), is_leaf)
    return Alias(memory, 0, np.arange(parts.size).reshape(list(parts.shape)), x.is_complex())


def places_of(alias: Alias, name: str, arguments: tuple[Any, ...]) -> np.ndarray:
    if name in PARTS:
        return np.asarray(VIEWS[name][0](alias.places))
    function = VIEWS[name][0]
    if not alias.is_complex:
        return np.asarray(function(alias.places, *arguments))
    return np.stack([function(alias.places[..., k], *arguments) for k in (0, 1)], -1)


def without_views(program: Program, outcomes: list[str]) -> tuple[dict[int, Any], dict[int, Any], list[bool]]:
    """Run a program on flat tensors; returns the variables' values, the leaves, and of each line whether it should have been refused."""
    env: dict[int, Alias] = {}
    leaves: dict[int, Any] = {}
    refused: list[bool] = []
    for step, outcome in zip(program.steps, outcomes):
        refuse = False
        if step.kind == "leaf":
            shape, is_complex, needs_grad, seed = step.arguments
            leaf = paddle.to_tensor(values(seed, (*shape, 2) if is_complex else shape), stop_gradient=not needs_grad)
            env[step.out] = fresh(leaf, needs_grad)
            env[step.out].is_complex = is_complex
            if needs_grad:
                leaves[step.out] = leaf
        elif step.kind == "view":
            env[step.out] = view_of(env[step.sources[0]], step, outcome)
        elif step.kind == "call":
            env[step.out] = fresh(called(step.name, env[step.sources[0]].read()))
        elif step.kind == "detach":
            source = env[step.sources[0]]
            group = source.memory.new_group(source.group)
            env[step.out] = Alias(source.memory, group, source.places, source.is_complex, repeated=source.repeated)
        elif step.kind == "twin":
            env[step.out] = view_of(env[step.out], Step("view", 0, (), step.name, step.arguments), outcome)
        else:
            refuse = not write(env, step)
        refused.append(refuse)
    return {k: alias.read() for k, alias in env.items()}, leaves, refused


def view_of(source: Alias, step: Step, outcome: str) -> Alias:
    places = places_of(source, step.name, step.arguments)
    is_complex = step.name == "as_complex" or (source.is_complex and step.name not in PARTS)
    if outcome == "copied":
        value = Alias(source.memory, source.group, places, is_complex).read()
        return fresh(value if step.recorded else value.detach())
    group, unrecorded = source.group, source.unrecorded
    if not step.recorded and not unrecorded:
        group, unrecorded = source.memory.new_group(group), True
    repeated = source.repeated or (step.name == "expand" and places.size > 0)
    return Alias(source.memory, group, places, is_complex, unrecorded, repeated)


def write(env: dict[int, Alias], step: Step) -> bool:
    """Write by making a new flat tensor; False where the line should be refused."""
    target = env[step.out]
    operands = [env[s].read() for s in step.sources]
    flat, is_leaf = target.memory.groups[target.group]
    recorded = step.recorded and not all(x.stop_gradient for x in (flat, *operands))
    if recorded and (target.unrecorded or (is_leaf and not flat.stop_gradient)):
        return False
    if target.repeated or np.unique(target.places).size < target.places.size:
        return False
    if step.kind == "set":
        key, constant = step.arguments
        shape = target.places.shape[:-1] if target.is_complex else target.places.shape
        numbers = np.arange(int(np.prod(shape))).reshape(shape)
        region = np.asarray(numbers[key])
        places = target.places.reshape(numbers.size, 2 if target.is_complex else 1)[region.reshape(-1)]
        value = operands[0] if operands else paddle.full([], constant, dtype="float64")
    else:
        places = target.places.reshape(-1, 2 if target.is_complex else 1)
        value = {**WRITERS, **REAL_WRITERS}[step.name][2](target.read(), *operands)
        region = places[:, 0].reshape(target.places.shape[:-1] if target.is_complex else target.places.shape)
    if target.is_complex and not value.is_complex():
        value = paddle.complex(value, paddle.zeros_like(value))
    value = value.reshape(list(value.shape)[max(0, value.ndim - region.ndim) :])
    parts = parts_of(value.expand(list(region.shape)) if region.ndim else value.reshape([])).reshape([-1])
    put(target, places.reshape(-1), parts, recorded)
    return True


def put(target: Alias, places: np.ndarray, parts: Any, recorded: bool) -> None:
    # Of several values for one place the last one stays.
    _, first = np.unique(places[::-1], return_index=True)
    last = np.sort(places.size - 1 - first)
    if last.size:
        index = paddle.to_tensor(places[last])
        new = paddle.scatter(target.flat, index, take(parts, last), overwrite=True)
    else:
        new = target.flat.clone()
    target.memory.write(target.group, new, recorded)


def loss_of(variables: dict[int, Any]) -> Any:
    """A weighted sum of all variables that need a gradient; None where there is none."""
    total = None
    for k, x in sorted(variables.items()):
        if x.stop_gradient:
            continue
        parts = parts_of(x)
        weights = np.random.default_rng(1000 + k).standard_normal(list(parts.shape))
        term = (parts * paddle.to_tensor(weights)).sum()
        total = term if total is None else total + term
    return total
