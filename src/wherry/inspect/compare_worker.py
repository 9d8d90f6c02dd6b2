"""Runs a script under one implementation of Paddle's API and writes down every call with its values and gradients.

Started by file name in the interpreter that has the implementation, which need not have wherry; so it imports nothing but NumPy.
Usage: compare_worker.py MODULE SCRIPT FOLDER [--replay FOLDER] [--capture NUMBER] [-- ARGUMENTS]
"""

import argparse
import functools
import importlib
import inspect
import json
import os
import sys
import traceback
import types

import numpy as np

# Arrays above this many elements are thinned evenly before they are kept.
MOST = 20_000
OPERATORS = (
    "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "pow", "rpow", "matmul", "rmatmul", "mod", "floordiv", "neg", "abs",
    "eq", "ne", "lt", "le", "gt", "ge", "getitem", "and", "or", "xor", "invert",
)  # fmt: skip
NAMES = {
    "sub": "subtract", "mul": "multiply", "truediv": "divide", "radd": "add", "rsub": "subtract", "rmul": "multiply", "rtruediv": "divide",
    "div": "divide", "mm": "matmul", "eq": "equal", "ne": "not_equal", "lt": "less_than", "le": "less_equal", "gt": "greater_than",
    "ge": "greater_equal", "mod": "remainder", "floordiv": "floor_divide", "rpow": "pow", "rmatmul": "matmul", "astype": "cast",
}  # fmt: skip
# Functions of chance: their results are the reference run's in the other run too.
RANDOM = {
    "rand", "randn", "uniform", "normal", "gaussian", "standard_normal", "randint", "randint_like", "randperm", "bernoulli", "multinomial",
    "poisson", "rand_like", "randn_like", "binomial", "standard_gamma", "log_normal", "uniform_", "normal_", "exponential_", "bernoulli_",
    "cauchy_", "geometric_", "log_normal_",
}  # fmt: skip
DROPOUT = {
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "alpha_dropout",
    "feature_alpha_dropout",
    "gumbel_softmax",
    "rrelu",
}
LEFT_ALONE = {
    "numpy", "item", "tolist", "backward", "register_hook", "set_value", "get_tensor", "value", "cpu", "cuda", "pin_memory", "retain_grads",
    "gradient", "clear_gradient", "clear_grad", "zero_", "seed", "save", "load", "grad", "no_grad", "set_grad_enabled", "enable_grad", "dim", "ndimension",
    "element_size", "is_floating_point", "is_complex", "is_integer", "is_tensor", "to_tensor", "create_parameter", "summary", "flops", "detach_",
    "set_default_dtype", "get_default_dtype", "set_printoptions", "set_device", "get_device", "in_dynamic_mode", "assign",
}  # fmt: skip


class Recorder:
    """The calls of a run."""

    def __init__(self, paddle: types.ModuleType, script: str, replay: str | None, capture: int | None) -> None:
        self.paddle = paddle
        self.folder = os.path.dirname(os.path.abspath(script))
        self.calls: list[dict[str, object]] = []
        self.gradients: list[dict[str, object]] = []
        self.arrays: dict[str, np.ndarray] = {}
        self.chance: list[np.ndarray] = []
        self.replay = None if replay is None else np.load(os.path.join(replay, "chance.npz"))
        self.capture = capture
        self.captured: dict[str, np.ndarray] = {}
        self.captured_call: dict[str, object] = {}
        self.depth = 0
        self.made: dict[int, tuple[object, list[int]]] = {}

    # Values.

    def array(self, tensor: object) -> np.ndarray:
        """A tensor's values; half precision as float32."""
        dtype = str(tensor.dtype)  # type: ignore[attr-defined]
        if "bfloat16" in dtype:
            tensor = tensor.astype("float32")  # type: ignore[attr-defined]
        return np.asarray(tensor.numpy())  # type: ignore[attr-defined]

    def keep(self, array: np.ndarray) -> str:
        """Store an array, thinned where large; returns its name."""
        flat = array.reshape(-1)
        if flat.size > MOST:
            flat = flat[:: -(-flat.size // MOST)]
        name = f"a{len(self.arrays)}"
        self.arrays[name] = np.array(flat)
        return name

    def line(self) -> tuple[str, int]:
        """The user's line: the innermost frame below the script's folder."""
        frame = sys._getframe(2)
        while frame is not None:
            name = frame.f_code.co_filename
            if os.path.abspath(name).startswith(self.folder + os.sep) and "site-packages" not in name:
                return name, frame.f_lineno
            frame = frame.f_back
        return "", 0

    def tensors(self, value: object) -> list[object]:
        """The tensors in a result or among arguments."""
        if isinstance(value, self.paddle.Tensor):
            return [value]
        if isinstance(value, dict):
            value = list(value.values())
        return [t for v in value for t in self.tensors(v)] if isinstance(value, (list, tuple)) else []

    # Calls.

    def by_chance(self, name: str, result: object, args: tuple[object, ...]) -> object:
        """The result of a function of chance: kept in the reference run, replaced by what was kept in the other."""
        tensors = self.tensors(result)
        for i, tensor in enumerate(tensors):
            array = self.array(tensor)
            if self.replay is None:
                self.chance.append(array)
                continue
            before = self.next_chance(array.shape, name)
            if before is None:
                continue
            if name in DROPOUT and self.tensors(args):
                # The mask is what the reference's output is a multiple of its input by, so that gradients pass as they did.
                source = self.array(self.tensors(args)[0])
                with np.errstate(all="ignore"):
                    mask = np.where(source == 0, 0, before / source).astype(array.dtype)
                return self.tensors(args)[0] * self.paddle.to_tensor(mask)
            fresh = self.paddle.to_tensor(before.astype(array.dtype))
            if name.endswith("_") or len(tensors) > 1:
                with self.paddle.no_grad():
                    tensor.set_value(fresh)  # type: ignore[attr-defined]
            elif i == 0:
                fresh.stop_gradient = tensor.stop_gradient  # type: ignore[attr-defined]
                return fresh
        return result

    def next_chance(self, shape: tuple[int, ...], name: str) -> np.ndarray | None:
        """What the reference run drew at this place; None (and a remark) where it drew something of another shape."""
        assert self.replay is not None
        key = f"c{len(self.chance)}"
        self.chance.append(np.zeros(0))
        if key not in self.replay or self.replay[key].shape != shape:
            sys.stderr.write(f"compare: {name} has no counterpart in the reference run\n")
            return None
        return self.replay[key]

    def record(self, name: str, args: tuple[object, ...], kwargs: dict[str, object], result: object) -> None:
        """Write a call down, and listen for the gradients of its outputs."""
        number = len(self.calls)
        outputs = []
        for j, tensor in enumerate(self.tensors(result)):
            array = self.array(tensor)
            finite = {"shape": list(array.shape), "dtype": str(tensor.dtype).split(".")[-1], "values": self.keep(array)}  # type: ignore[attr-defined]
            outputs.append({**finite, "stop_gradient": bool(tensor.stop_gradient)})  # type: ignore[attr-defined]
            self.made[id(tensor)] = (tensor, [number, j])
            self.listen(tensor, number, j)
        inputs = [self.made.get(id(t), (None, [-1, 0]))[1] for t in self.tensors((args, kwargs))]
        file, line = self.line()
        self.calls.append({"name": name, "file": file, "line": line, "inputs": inputs, "outputs": outputs})

    def listen(self, tensor: object, number: int, j: int) -> None:
        """Keep the gradients that reach an output."""
        if tensor.stop_gradient:  # type: ignore[attr-defined]
            return

        def hook(grad: object) -> None:
            self.depth += 1
            try:
                array = self.array(grad)
                entry = {
                    "call": number,
                    "output": j,
                    "dtype": str(grad.dtype).split(".")[-1],
                    "values": self.keep(array),
                }  # type: ignore[attr-defined]
                self.gradients.append({**entry, "shape": list(array.shape), "after": len(self.calls)})
            finally:
                self.depth -= 1

        tensor.register_hook(hook)  # type: ignore[attr-defined]

    def wrapped(self, name: str, function: object, qualified: str) -> object:
        """The function, recorded where the script (or a layer) calls it, not where another recorded function does."""

        @functools.wraps(function)  # type: ignore[arg-type]
        def wrapper(*args: object, **kwargs: object) -> object:
            if self.depth:
                return function(*args, **kwargs)  # type: ignore[operator]
            self.depth += 1
            try:
                if self.capture == len(self.calls):
                    self.capture_inputs(qualified, args, kwargs)
                result = function(*args, **kwargs)  # type: ignore[operator]
                if name in RANDOM or (name in DROPOUT and self.tensors(result)):
                    result = self.by_chance(name, result, args)
                if self.tensors(result):
                    self.record(name, args, kwargs, result)
                return result
            finally:
                self.depth -= 1

        return wrapper

    def capture_inputs(self, qualified: str, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        """Keep the arguments of one call, to make it again from a file."""

        def shown(value: object) -> str:
            if isinstance(value, self.paddle.Tensor):
                name = f"t{len(self.captured)}"
                self.captured[name] = self.array(value)
                cast = ".astype('bfloat16')" if "bfloat16" in str(value.dtype) else ""
                return f"t('{name}'){cast}"
            if isinstance(value, (list, tuple)):
                inner = ", ".join(shown(v) for v in value)
                return f"[{inner}]" if isinstance(value, list) else f"({inner},)"
            return repr(str(value).split(".")[-1]) if "dtype" in type(value).__name__.lower() else repr(value)

        texts = [shown(a) for a in args] + [f"{k}={shown(v)}" for k, v in kwargs.items()]
        self.captured_call = {"function": qualified, "arguments": texts}

    def install(self) -> None:
        """Wrap the functions of the namespaces and the methods and operators of Tensor."""
        for path in ("", "nn.functional", "linalg", "fft", "signal"):
            space = self.paddle
            for part in filter(None, path.split(".")):
                space = getattr(space, part, None)  # type: ignore[assignment]
            for name in dir(space) if space is not None else ():
                function = getattr(space, name)
                if name[0] != "_" and name not in LEFT_ALONE and inspect.isroutine(function):
                    setattr(
                        space,
                        name,
                        self.wrapped(NAMES.get(name, name), function, f"paddle.{path}.{name}".replace("..", ".")),
                    )
        tensor = self.paddle.Tensor
        names = [n for n in dir(tensor) if n[0] != "_" and n not in LEFT_ALONE] + [f"__{n}__" for n in OPERATORS]
        for name in names:
            method = getattr(tensor, name, None)
            if callable(method) and not isinstance(
                inspect.getattr_static(tensor, name, None), (property, staticmethod, classmethod)
            ):
                plain = name.strip("_") if name.startswith("__") else name
                setattr(tensor, name, self.wrapped(NAMES.get(plain, plain), method, f"paddle.Tensor.{name}"))
        self.wrap_parameters()

    def wrap_parameters(self) -> None:
        """Parameters are made by chance too."""
        layer = self.paddle.nn.Layer
        make = layer.create_parameter

        @functools.wraps(make)
        def create_parameter(*args: object, **kwargs: object) -> object:
            self.depth += 1
            try:
                made = make(*args, **kwargs)
                if made is not None:
                    if self.replay is None:
                        self.chance.append(self.array(made))
                    else:
                        before = self.next_chance(tuple(made.shape), "create_parameter")
                        if before is not None:
                            made.set_value(before.astype(self.array(made).dtype))
                    self.record("create_parameter", (), {}, made)
                return made
            finally:
                self.depth -= 1

        layer.create_parameter = create_parameter

    def write(self, folder: str, error: str) -> None:
        """Everything as files in a folder."""
        os.makedirs(folder, exist_ok=True)
        np.savez(os.path.join(folder, "arrays.npz"), **self.arrays)
        if self.replay is None:
            np.savez(os.path.join(folder, "chance.npz"), **{f"c{i}": a for i, a in enumerate(self.chance)})
        if self.captured_call:
            np.savez(os.path.join(folder, "inputs.npz"), **self.captured)
        data = {"calls": self.calls, "gradients": self.gradients, "error": error, "captured": self.captured_call}
        with open(os.path.join(folder, "run.json"), "w", encoding="utf-8") as file:
            json.dump({**data, "version": str(getattr(self.paddle, "__version__", ""))}, file)


def main() -> None:
    """Run the script and write what happened; its own exception is written too and ends it with status 0."""
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    parser = argparse.ArgumentParser()
    parser.add_argument("module")
    parser.add_argument("script")
    parser.add_argument("folder")
    parser.add_argument("--replay")
    parser.add_argument("--capture", type=int)
    parser.add_argument("--before", help="a Python file to run first; it may change the implementation")
    options = parser.parse_args(sys.argv[1:split])
    # The folder of this file is the package's; nothing in it may hide the standard library.
    sys.path[0] = os.path.dirname(os.path.abspath(options.script))
    if options.module != "paddle":
        importlib.import_module(f"{options.module}.paddle_alias").install()
    paddle = importlib.import_module("paddle")
    if options.before:
        with open(options.before, encoding="utf-8") as file:
            exec(compile(file.read(), options.before, "exec"), {"__name__": "before"})
    recorder = Recorder(paddle, options.script, options.replay, options.capture)
    recorder.install()
    sys.argv = [options.script, *sys.argv[split + 1 :]]
    main_module = types.ModuleType("__main__")
    main_module.__dict__.update(__file__=options.script)
    sys.modules["__main__"] = main_module
    error = ""
    try:
        with open(options.script, encoding="utf-8") as file:
            code = compile(file.read(), options.script, "exec", dont_inherit=True)
        exec(code, main_module.__dict__)
    except SystemExit:
        pass
    except BaseException:
        error = traceback.format_exc()
    recorder.depth += 1
    recorder.write(options.folder, error)


if __name__ == "__main__":
    main()
