"""`custom_op`: an operation from a NumPy function, its derivative from another."""

import inspect
from collections.abc import Callable
from typing import Any

from wherry import _C_ops
from wherry._generated import raw_ops
from wherry._generated.op_defs import OPS
from wherry.autograd.eager import eager, eager_inplace
from wherry.core.dtype import DataType
from wherry.dispatch import library as operation_library
from wherry.dispatch import op_def as od
from wherry.dispatch.bind import RULES
from wherry.dispatch.kernel_factory import register
from wherry.dispatch.op_def import OpDef
from wherry.infermeta.registry import INFER_META
from wherry.library.checked import Checked, where_defined
from wherry.library.registration import dtypes_of
from wherry.library.signature import Arguments, arguments_of


def custom_op(
    function: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    outputs: tuple[str, ...] = ("out",),
    dtypes: Any = None,
    infer_meta: Callable[..., Any] | None = None,
    promote: bool = True,
    amp: str = "",
    inplace: bool = False,
) -> Any:
    """An operation from a function of NumPy arrays: a decorator, with or without arguments in between.

    function: takes arrays and attributes by name (an argument without annotation and default, or annotated np.ndarray, is a tensor; `np.ndarray | None = None` may be
    left out; `list[np.ndarray]` is a list of tensors; the others are attributes), and returns an array, or a tuple as long as `outputs`, which names the
    results for the derivative. It may not write to its inputs. name: the function's own by default. dtypes: those it serves (all). infer_meta: takes a
    Meta (`.shape`, `.dtype`) for each tensor and the attributes, and returns the Meta of each output; bad shapes are refused there, before anything is computed;
    left out, shape and dtype are those of the arrays that come out. promote: several tensors meet in one dtype by Paddle's rules, and a number may stand for one.
    amp: "white" (runs in the low dtype under auto_cast), "black" (in float32), "promote" or "". inplace: the result may be written into the first input, by
    `.inplace(...)`. Returns a CustomOp, which is called as the function is, with Tensors. Its `.grad` takes the derivative. Raises TypeError for a function
    whose arguments cannot be told apart, ValueError for the name of an operation of the engine's own. Source: paddle.utils.cpp_extension (PD_BUILD_OP).
    """

    def decorate(wrapped: Callable[..., Any]) -> CustomOp:
        chosen = wrapped.__name__ if name is None else name
        arguments = arguments_of(wrapped, chosen)
        return CustomOp(
            wrapped, chosen, arguments, tuple(outputs), dtypes_of(dtypes), infer_meta, promote, amp, inplace
        )

    return decorate if function is None else decorate(function)


class CustomOp:
    """A custom operation: call it with Tensors; `.grad` and `.rule` give it a derivative, `.inplace` is its twin that writes."""

    _output_kind = od.TENSOR

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        arguments: Arguments,
        outputs: tuple[str, ...],
        dtypes: tuple[DataType, ...],
        infer_meta: Callable[..., Any] | None,
        promote: bool,
        amp: str,
        inplace: bool,
    ) -> None:
        _check_name(name)
        if amp not in ("", "white", "black", "promote"):
            raise ValueError(f"custom_op {name}: expected amp 'white', 'black', 'promote' or '', received {amp!r}")
        self.name = name
        self.outputs = outputs
        self.__name__ = name
        self.__doc__ = function.__doc__
        self.__wrapped__ = function
        self._arguments = arguments
        self._signature = inspect.signature(function)
        self._dtypes = dtypes
        self._promote = promote and len(arguments.inputs) > 1
        self._amp = amp
        self._inplace = inplace
        first = arguments.order.index(arguments.inputs[0]) if inplace else -1
        kernel = Checked(function, name, arguments, outputs, infer_meta, first)
        register(name, kernel, dtypes)
        INFER_META[_infer_name(name)] = kernel.infer
        self._define({})

    def _define(self, grad: dict[str, str]) -> None:
        """Make the operation known, with the derivative it has now."""
        arguments = self._arguments
        self.op = OpDef(
            self.name,
            inputs=tuple(arguments.inputs),
            input_kinds=tuple(arguments.input_kinds),
            attrs=tuple(arguments.attrs),
            attr_kinds=tuple(arguments.attr_kinds),
            attr_defaults=tuple(arguments.attr_defaults),
            outputs=self.outputs,
            output_kinds=(self._output_kind,) * len(self.outputs),
            infer_meta=_infer_name(self.name),
            infer_params=tuple(arguments.order),
            kernel=self.name,
            kernel_params=tuple(arguments.order),
            inplace=((0, 0),) if self._inplace else (),
            grad=grad,
            amp=self._amp,
            promote=self._promote,
            location=where_defined(self.__wrapped__),
        )
        OPS[self.name] = self.op
        count = len(arguments.inputs)
        op = self.op

        def recorded(*values: Any) -> Any:
            return eager(op, values[:count], values[count:])

        def raw(*values: Any) -> Any:
            return operation_library.raw(op, values[:count], values[count:])

        # Rules of other operations may call it, too.
        setattr(_C_ops, self.name, recorded)
        setattr(raw_ops, self.name, raw)

    def _split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.name}: {error}") from None
        bound.apply_defaults()
        values = bound.arguments
        return tuple([values[n] for n in self._arguments.inputs]), tuple([values[n] for n in self._arguments.attrs])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return eager(self.op, *self._split(args, kwargs))

    def inplace(self, *args: Any, **kwargs: Any) -> Any:
        """The result written into the first tensor, which is returned. Raises NotImplementedError for an operation without inplace=True."""
        if not self._inplace:
            raise NotImplementedError(
                f"{self.name} has no in-place twin; give custom_op inplace=True where the result fits its first input"
            )
        return eager_inplace(self.op, *self._split(args, kwargs))

    def grad(self, function: Callable[..., Any]) -> "CustomOp":
        """Give the operation its derivative as a function of NumPy arrays: a decorator.

        The names of its arguments say what it wants: an input's or output's name the value, `<output>_grad` the gradient that arrives, an attribute's name its value;
        nothing else is kept from the forward call. It returns the gradient of each input in order (a tuple where there are several), None where there is
        none, each of the input's shape. It becomes an operation `<name>_grad`, which is returned: decorate again with its own `.grad` for the second order.
        Raises TypeError for a name that means nothing.
        """
        known = self._wanted()
        wanted = list(inspect.signature(function).parameters)
        for parameter in wanted:
            if parameter not in known:
                raise TypeError(
                    f"the derivative of {self.name}: expected arguments among {sorted(known)}, received {parameter!r}\n"
                    f"  it is defined at {where_defined(function)}"
                )
        if od.LIST in self._arguments.input_kinds or od.OPTIONAL_LIST in self._arguments.input_kinds:
            raise NotImplementedError(
                f"the derivative of {self.name}: a list of tensors among the inputs is not supported by .grad; use .rule"
            )
        grad_op = _GradOp(function, self, [(n, known[n]) for n in wanted])
        self._use_rule(_rule_that_calls(self, grad_op))
        return grad_op

    def rule(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Give the operation its derivative as a rule against `ops`, which is right for every order: a decorator.

        Written as the engine's own rules are (docs/adding-an-op.md, section 4): the first argument is `ops`, the others say what is wanted; it returns a
        gradient for each tensor input (a tuple where there are several). Returns the function.
        """
        count = len(self._arguments.inputs)

        def joint(*values: Any) -> tuple[Any, ...]:
            result = function(*values)
            grads = result if isinstance(result, tuple) else (result,)
            if len(grads) != count:
                raise ValueError(
                    f"the derivative of {self.name}: expected {count} gradients, one for each tensor input, received {len(grads)}\n"
                    f"  it is defined at {where_defined(function)}"
                )
            return grads

        joint.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
        joint.__name__ = function.__name__
        joint.__wrapped__ = function  # type: ignore[attr-defined]
        self._use_rule(joint)
        return function

    def _wanted(self) -> dict[str, int]:
        """What a derivative may ask for: the kind of each tensor, and -1 for attributes."""
        arguments = self._arguments
        found = dict.fromkeys(arguments.attrs, -1)
        found.update(zip(arguments.inputs, arguments.input_kinds))
        for name in self.outputs:
            found[name] = found[f"{name}_grad"] = od.TENSOR
        return found

    def _use_rule(self, function: Callable[..., Any]) -> None:
        name = f"{self.name}_derivative"
        RULES[name] = function
        self._define({"": name})

    def __repr__(self) -> str:
        return f"<custom operation {self.name} at {where_defined(self.__wrapped__)}>"


class _GradOp(CustomOp):
    """The derivative of a custom operation, an operation itself: a gradient, or None, for each input."""

    _output_kind = od.OPTIONAL

    def __init__(self, function: Callable[..., Any], forward: CustomOp, wanted: list[tuple[str, int]]) -> None:
        given = forward._arguments
        arguments = Arguments(order=[n for n, _ in wanted])
        for name, kind in wanted:
            if kind >= 0:
                arguments.inputs.append(name)
                arguments.input_kinds.append(kind)
            else:
                at = given.attrs.index(name)
                arguments.attrs.append(name)
                arguments.attr_kinds.append(given.attr_kinds[at])
                arguments.attr_defaults.append(given.attr_defaults[at])
        if not arguments.inputs:
            raise TypeError(
                f"the derivative of {forward.name}: expected it to take {forward.outputs[0]}_grad, received no tensor"
            )
        outputs = tuple(f"{n}_grad" for n in given.inputs)
        super().__init__(function, f"{forward.name}_grad", arguments, outputs, forward._dtypes, None, False, "", False)


def _rule_that_calls(forward: CustomOp, grad_op: CustomOp) -> Callable[..., Any]:
    """The rule of the operation: call its derivative, check the shapes that come back and bring the dtypes in line."""
    inputs = forward._arguments.inputs
    tensors, attrs = grad_op._arguments.inputs, grad_op._arguments.attrs
    count = len(tensors) + len(attrs)

    def derivative(ops: Any, *values: Any) -> tuple[Any, ...]:
        result = getattr(ops, grad_op.name)(*values[:count])
        grads = list(result) if isinstance(result, tuple) else [result]
        for i, (name, meta) in enumerate(zip(inputs, values[count:])):
            grad = grads[i]
            if grad is None or meta is None:
                grads[i] = None
            elif grad.meta.shape != meta.shape:
                raise ValueError(
                    f"the derivative of {forward.name}: expected a gradient of shape {list(meta.shape)} for {name}, received {list(grad.meta.shape)}\n"
                    f"  it is defined at {where_defined(grad_op.__wrapped__)}"
                )
            elif grad.meta.dtype is not meta.dtype and not grad.meta.dtype.is_complex:
                grads[i] = ops.cast(grad, meta.dtype)
        return tuple(grads)

    names = ("ops", *tensors, *attrs, *[f"{n}_meta" for n in inputs])
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    derivative.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])  # type: ignore[attr-defined]
    derivative.__wrapped__ = grad_op.__wrapped__  # type: ignore[attr-defined]
    return derivative


def _check_name(name: str) -> None:
    if not name.isidentifier():
        raise ValueError(f"custom_op: expected a name that is an identifier, received {name!r}")
    known = OPS.get(name)
    if known is not None and known.location.startswith("ops/"):
        raise ValueError(
            f"custom_op: expected a new name, received {name!r}, which is an operation of the engine's own ({known.location})"
        )


def _infer_name(name: str) -> str:
    return f"{name}.InferMeta"
