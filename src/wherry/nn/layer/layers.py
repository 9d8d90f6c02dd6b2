"""`Layer`: base of all layers."""

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from wherry.api.parameter import EagerParamBase, make_parameter
from wherry.autograd.structures import TensorBase
from wherry.core.default_dtype import get_default_dtype
from wherry.core.dtype import convert_dtype
from wherry.core.place import Place
from wherry.core.state import STATE
from wherry.nn.layer import state
from wherry.nn.layer.hooks import Hook, HookRemoveHelper, add_hook, call_with_hooks, observed_call
from wherry.tensor.tensor import Tensor
from wherry.utils import unique_name


def snake_case(name: str) -> str:
    """BatchNorm2D -> batch_norm2d: the form of class names in the names of parameters."""
    parted = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", parted).lower()


def _indented(text: str) -> str:
    first, *rest = text.split("\n")
    return "\n".join([first, *("  " + line for line in rest)])


class Layer:
    """Holds parameters, buffers and sublayers under the names of its attributes, and computes `forward`.

    name_scope: begins the names of parameters; the class's name by default. dtype: of the parameters; the default dtype where None.
    Source: paddle.nn.Layer.
    """

    training: bool

    def __init__(self, name_scope: str | None = None, dtype: Any = None) -> None:
        fields = self.__dict__
        fields["training"] = True
        fields["_full_name"] = unique_name.generate(
            snake_case(type(self).__name__ if name_scope is None else name_scope)
        )
        fields["_dtype"] = get_default_dtype() if dtype is None else convert_dtype(dtype).name
        fields["_parameters"] = OrderedDict()
        fields["_buffers"] = OrderedDict()
        fields["_non_persistable_buffer_names_set"] = set()
        fields["_sub_layers"] = OrderedDict()
        fields["_forward_pre_hooks"] = OrderedDict()
        fields["_forward_post_hooks"] = OrderedDict()
        fields["_state_dict_hooks"] = OrderedDict()

    # Calling.

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the layer computes; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} defines no forward()")

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        if STATE.observers != 0:
            return observed_call(self, inputs, kwargs)
        if self._forward_pre_hooks or self._forward_post_hooks:
            return call_with_hooks(self, inputs, kwargs)
        return self.forward(*inputs, **kwargs)

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> HookRemoveHelper:
        """Call hook(layer, inputs) before forward; what it returns takes the inputs' place, None leaves them.

        with_kwargs: hook(layer, inputs, kwargs), which returns None or (inputs, kwargs). prepend: before the hooks there are.
        Source: paddle.nn.Layer.register_forward_pre_hook.
        """
        return add_hook(self._forward_pre_hooks, Hook(hook, with_kwargs), prepend, "register_forward_pre_hook")

    def register_forward_post_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> HookRemoveHelper:
        """Call hook(layer, inputs, outputs) after forward; what it returns takes the outputs' place, None leaves them.

        with_kwargs: hook(layer, inputs, kwargs, outputs). always_call: also where forward raises.
        Source: paddle.nn.Layer.register_forward_post_hook.
        """
        entry = Hook(hook, with_kwargs, always_call)
        return add_hook(self._forward_post_hooks, entry, prepend, "register_forward_post_hook")

    register_forward_hook = register_forward_post_hook

    def train(self, mode: bool = True) -> "Layer":
        """Set the training mode (dropout, batch statistics) here and in all sublayers; returns the layer."""
        if not isinstance(mode, bool):
            raise ValueError(f"train: expected a bool, received {type(mode).__name__}")
        for layer in self.sublayers(include_self=True):
            layer.training = mode
        return self

    def eval(self) -> "Layer":
        """train(False)."""
        return self.train(False)

    def apply(self, fn: Callable[["Layer"], Any]) -> "Layer":
        """Call fn with every sublayer, children first, then with the layer itself; returns the layer."""
        for layer in self.children():
            layer.apply(fn)
        fn(self)
        return self

    # Names.

    def full_name(self) -> str:
        """The name that begins the names of the layer's parameters."""
        return str(self._full_name)

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What the layer's line in repr() says between its parentheses."""
        return ""

    def __repr__(self) -> str:
        own = self.extra_repr()
        lines = [f"({name}): {_indented(repr(layer))}" for name, layer in self._sub_layers.items()]
        if not lines:
            return f"{self._get_name()}({own})"
        return f"{self._get_name()}({own}\n  " + "\n  ".join(lines) + "\n)"

    # Parameters, buffers, sublayers: adding.

    def create_parameter(
        self,
        shape: Any,
        attr: Any = None,
        dtype: Any = None,
        is_bias: bool = False,
        default_initializer: Any = None,
        device: Any = None,
    ) -> Any:
        """A parameter made as `attr` says (a ParamAttr, a name, an Initializer, a regularizer, None), or None where it is False.

        It becomes the layer's own when it is set as an attribute. Source: paddle.nn.Layer.create_parameter.
        """
        _only_cpu(device)
        dtype = self._dtype if dtype is None else dtype
        return make_parameter(shape, dtype, attr, self._full_name, is_bias, default_initializer)

    def create_variable(self, name: str | None = None, persistable: bool | None = None, dtype: Any = None) -> Any:
        """An empty tensor of the layer's dtype."""
        return self.create_tensor(name, persistable, dtype)

    def create_tensor(self, name: str | None = None, persistable: bool | None = None, dtype: Any = None) -> Any:
        """An empty tensor of the layer's dtype."""
        tensor = Tensor(dtype=self._dtype if dtype is None else dtype)
        tensor.name = unique_name.generate(f"{self._full_name}._generated_var") if name is None else name
        tensor.persistable = bool(persistable)
        return tensor

    def add_parameter(self, name: str, parameter: Any) -> Any:
        """Add a parameter (or None, to reserve the name); returns it. Raises TypeError, or KeyError for a name that cannot be.

        Source: paddle.nn.Layer.add_parameter.
        """
        self._check_name(name, self._parameters, "parameter")
        if parameter is not None and not isinstance(parameter, EagerParamBase):
            raise TypeError(
                f"add_parameter: expected a Parameter or None for {name!r}, received {type(parameter).__name__}"
            )
        self.__dict__.pop(name, None)
        self._parameters[name] = parameter
        return parameter

    register_parameter = add_parameter

    def register_buffer(self, name: str, tensor: Any, persistable: bool = True) -> None:
        """Add a tensor that is not trained; persistable ones are in state_dict. Raises TypeError or KeyError as add_parameter does.

        Source: paddle.nn.Layer.register_buffer.
        """
        self._check_name(name, self._buffers, "buffer")
        if tensor is not None and not isinstance(tensor, TensorBase):
            raise TypeError(
                f"register_buffer: expected a Tensor or None for {name!r}, received {type(tensor).__name__}"
            )
        self.__dict__.pop(name, None)
        self._buffers[name] = tensor
        if persistable:
            self._non_persistable_buffer_names_set.discard(name)
        else:
            self._non_persistable_buffer_names_set.add(name)

    def add_sublayer(self, name: str, sublayer: Any) -> Any:
        """Add a layer; returns it. Source: paddle.nn.Layer.add_sublayer."""
        if sublayer is not None and not isinstance(sublayer, Layer):
            raise TypeError(f"add_sublayer: expected a Layer for {name!r}, received {type(sublayer).__name__}")
        self.__dict__.pop(name, None)
        self._sub_layers[name] = sublayer
        return sublayer

    add_module = add_sublayer
    register_module = add_sublayer

    def _check_name(self, name: Any, known: Any, kind: str) -> None:
        if "_parameters" not in self.__dict__:
            raise RuntimeError(f"super().__init__() must be called before a {kind} is added to {type(self).__name__}")
        if not isinstance(name, str):
            raise TypeError(f"expected a str for the name of a {kind}, received {type(name).__name__}")
        if "." in name:
            raise KeyError(f"the name of a {kind} can not contain '.', received {name!r}")
        if name == "":
            raise KeyError(f"the name of a {kind} can not be empty")
        if name not in known and (hasattr(self, name) and name not in self.__dict__):
            raise KeyError(f"attribute '{name}' already exists.")

    # Attributes.

    def __setattr__(self, name: str, value: Any) -> None:
        fields = self.__dict__
        parameters = fields.get("_parameters")
        if isinstance(value, EagerParamBase):
            self._need_init(parameters)
            self._forget(name)
            parameters[name] = value
        elif parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(
                    f"assignment to parameter '{name}' should be of type Parameter or None, but got '{type(value).__name__}'; "
                    "to change its values use .set_value(...), or delete the attribute first"
                )
            parameters[name] = None
        elif isinstance(value, Layer):
            self._need_init(parameters)
            self._forget(name)
            fields["_sub_layers"][name] = value
        elif parameters is not None and name in fields["_sub_layers"]:
            if value is not None:
                raise TypeError(
                    f"assignment to sublayer '{name}' should be of type Layer or None, but got '{type(value).__name__}'"
                )
            fields["_sub_layers"][name] = None
        elif parameters is not None and name in fields["_buffers"]:
            if value is not None and not isinstance(value, TensorBase):
                raise TypeError(
                    f"assignment to buffer '{name}' should be of type Tensor or None, but got '{type(value).__name__}'"
                )
            fields["_buffers"][name] = value
        elif isinstance(value, TensorBase) and parameters is not None and not hasattr(type(self), name):
            # A plain tensor moves with the layer (to, train ...) but is not saved.
            fields.pop(name, None)
            fields["_non_persistable_buffer_names_set"].add(name)
            fields["_buffers"][name] = value
        else:
            object.__setattr__(self, name, value)

    def _need_init(self, parameters: Any) -> None:
        if parameters is None:
            raise ValueError(f"super().__init__() of {type(self).__name__} should be called first")

    def _forget(self, name: str) -> None:
        fields = self.__dict__
        for holder in (fields, fields["_parameters"], fields["_buffers"], fields["_sub_layers"]):
            holder.pop(name, None)
        fields["_non_persistable_buffer_names_set"].discard(name)

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__
        parameters = fields.get("_parameters")
        if parameters is not None:
            if name in parameters:
                return parameters[name]
            if name in fields["_sub_layers"]:
                return fields["_sub_layers"][name]
            if name in fields["_buffers"]:
                return fields["_buffers"][name]
        elif name in ("_forward_pre_hooks", "_sub_layers", "_full_name"):
            raise ValueError(f"super().__init__() of {type(self).__name__} should be called first")
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        fields = self.__dict__
        for holder in (fields["_parameters"], fields["_sub_layers"], fields["_buffers"]):
            if name in holder:
                del holder[name]
                fields["_non_persistable_buffer_names_set"].discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *self._parameters, *self._sub_layers, *self._buffers]

    # Parameters, buffers, sublayers: looking.

    def children(self) -> Iterator["Layer"]:
        """The direct sublayers, each once."""
        for _, layer in self.named_children():
            yield layer

    def named_children(self) -> Iterator[tuple[str, "Layer"]]:
        """The direct sublayers with their names, each once."""
        seen: set[int] = set()
        for name, layer in self._sub_layers.items():
            if layer is not None and id(layer) not in seen:
                seen.add(id(layer))
                yield name, layer

    def named_sublayers(
        self,
        prefix: str = "",
        include_self: bool = False,
        layers_set: set["Layer"] | None = None,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, "Layer"]]:
        """All layers below this one with their dotted names, parents first. Source: paddle.nn.Layer.named_sublayers."""
        seen = set() if layers_set is None else layers_set
        if self in seen:
            return
        if remove_duplicate:
            seen.add(self)
        if include_self:
            yield prefix, self
        for name, layer in self._sub_layers.items():
            if layer is not None:
                below = f"{prefix}.{name}" if prefix else name
                yield from layer.named_sublayers(below, True, seen, remove_duplicate)

    def named_modules(self, memo: Any = None, prefix: str = "", remove_duplicate: bool = True) -> Any:
        """named_sublayers with the layer itself."""
        return self.named_sublayers(prefix, True, memo, remove_duplicate)

    def sublayers(self, include_self: bool = False) -> list["Layer"]:
        """All layers below this one."""
        return [layer for _, layer in self.named_sublayers(include_self=include_self)]

    def modules(self) -> Iterator["Layer"]:
        """The layer and all below it."""
        return iter(self.sublayers(include_self=True))

    def _named(
        self, field: str, prefix: str, include_sublayers: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        if include_sublayers:
            layers = self.named_sublayers(prefix, True, None, remove_duplicate)
        else:
            layers = iter([(prefix, self)])
        for path, layer in layers:
            for name, tensor in layer.__dict__[field].items():
                if tensor is None or id(tensor) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(tensor))
                yield f"{path}.{name}" if path else name, tensor

    def named_parameters(
        self, prefix: str = "", include_sublayers: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Parameters with their dotted names, each once. Source: paddle.nn.Layer.named_parameters."""
        return self._named("_parameters", prefix, include_sublayers, remove_duplicate)

    def parameters(self, include_sublayers: bool = True) -> list[Any]:
        """Parameters of the layer and those below it, each once."""
        return [p for _, p in self.named_parameters(include_sublayers=include_sublayers)]

    def named_buffers(
        self, prefix: str = "", include_sublayers: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Buffers with their dotted names, each once. Source: paddle.nn.Layer.named_buffers."""
        return self._named("_buffers", prefix, include_sublayers, remove_duplicate)

    def buffers(self, include_sublayers: bool = True) -> list[Any]:
        """Buffers of the layer and those below it, each once."""
        return [b for _, b in self.named_buffers(include_sublayers=include_sublayers)]

    def get_sublayer(self, target: str) -> "Layer":
        """The layer at a dotted name; "" is this one. Raises AttributeError where there is none."""
        layer = self
        for name in target.split(".") if target else []:
            layer = getattr(layer, name)
            if not isinstance(layer, Layer):
                raise AttributeError(f"`{name}` is not a layer")
        return layer

    get_submodule = get_sublayer

    def set_sublayer(self, target: str, layer: "Layer", strict: bool = False) -> None:
        """Put a layer at a dotted name; strict: one must be there already (AttributeError)."""
        path, _, name = target.rpartition(".")
        owner = self.get_sublayer(path)
        if not name:
            raise ValueError("set_sublayer: expected a name, received an empty one")
        if strict and name not in owner._sub_layers:
            raise AttributeError(f"set_sublayer: {type(owner).__name__} has no sublayer `{name}`")
        owner.add_sublayer(name, layer)

    set_submodule = set_sublayer

    def get_parameter(self, target: str) -> Any:
        """The parameter at a dotted name. Raises AttributeError where there is none."""
        path, _, name = target.rpartition(".")
        owner = self.get_sublayer(path)
        if name not in owner._parameters:
            raise AttributeError(f"`{name}` is not a parameter of {type(owner).__name__}")
        return owner._parameters[name]

    def get_buffer(self, target: str) -> Any:
        """The buffer at a dotted name. Raises AttributeError where there is none."""
        path, _, name = target.rpartition(".")
        owner = self.get_sublayer(path)
        if name not in owner._buffers:
            raise AttributeError(f"`{name}` is not a buffer of {type(owner).__name__}")
        return owner._buffers[name]

    def requires_grad_(self, requires_grad: bool = True) -> "Layer":
        """Set trainable of every parameter; returns the layer."""
        for parameter in self.parameters():
            parameter.stop_gradient = not requires_grad
        return self

    def clear_gradients(self, set_to_zero: bool = True) -> None:
        """Set the gradients of all trained parameters to zeros, or drop them."""
        for parameter in self.parameters():
            if not parameter.stop_gradient:
                parameter.clear_gradient(set_to_zero)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all trained parameters, or set them to zeros."""
        self.clear_gradients(not set_to_none)

    # State.

    def state_dict(
        self,
        destination: Any = None,
        include_sublayers: bool = True,
        structured_name_prefix: str = "",
        use_hook: bool = True,
        keep_vars: bool = True,
    ) -> Any:
        """Parameters and persistable buffers by dotted name, as an ordered dictionary of the tensors themselves.

        keep_vars=False gives detached ones. Source: paddle.nn.Layer.state_dict.
        """
        return state.collect(self, destination, include_sublayers, structured_name_prefix, False, use_hook, keep_vars)

    def to_static_state_dict(
        self,
        destination: Any = None,
        include_sublayers: bool = True,
        structured_name_prefix: str = "",
        use_hook: bool = True,
        keep_vars: bool = True,
    ) -> Any:
        """state_dict with the buffers that are not persistable too."""
        return state.collect(self, destination, include_sublayers, structured_name_prefix, True, use_hook, keep_vars)

    def register_state_dict_hook(self, hook: Callable[[Any], Any]) -> HookRemoveHelper:
        """Call hook(state dict) at the end of every state_dict()."""
        return add_hook(self._state_dict_hooks, hook, False, "register_state_dict_hook")

    def set_state_dict(self, state_dict: Any, use_structured_name: bool = True) -> tuple[list[str], list[str]]:
        """Copy values (Tensors or arrays) into the layer; returns the names that were missing and those that were not used.

        use_structured_name=False: the keys are the tensors' own names. A value of another shape is left out, with a warning; raises
        TypeError for another dtype. Source: paddle.nn.Layer.set_state_dict.
        """
        return state.load(self, state_dict, use_structured_name)

    set_dict = set_state_dict
    load_dict = set_state_dict

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> state.IncompatibleKeys:
        """set_state_dict that raises RuntimeError where names do not match, unless strict=False."""
        if assign:
            raise NotImplementedError("load_state_dict: 'assign' is not supported; values are copied")
        found = state.IncompatibleKeys(*state.load(self, state_dict, True))
        if strict and (found.missing_keys or found.unexpected_keys):
            raise RuntimeError(
                f"load_state_dict of {type(self).__name__}: missing {found.missing_keys}, unexpected {found.unexpected_keys}"
            )
        return found

    # Conversion.

    def to(
        self, device: Any = None, dtype: Any = None, blocking: bool | None = None, non_blocking: bool | None = None
    ) -> "Layer":
        """Convert all parameters and buffers to a dtype; returns the layer. Devices other than the CPU are refused.

        Source: paddle.nn.Layer.to.
        """
        if dtype is None and device is not None and not isinstance(device, Place) and _names_dtype(device):
            device, dtype = None, device
        _only_cpu(device)
        if dtype is not None:
            state.convert_tensors(self, convert_dtype(dtype), False, lambda layer: False)
        return self

    def astype(self, dtype: Any = None) -> "Layer":
        """Convert the floating-point parameters and buffers; returns the layer."""
        return self._floating("float32" if dtype is None else dtype, None)

    type = astype

    def float(self, excluded_layers: Any = None) -> "Layer":
        """Floating-point parameters and buffers to float32, but for layers of the excluded classes."""
        return self._floating("float32", excluded_layers)

    def float16(self, excluded_layers: Any = None) -> "Layer":
        """Floating-point parameters and buffers to float16, but for layers of the excluded classes."""
        return self._floating("float16", excluded_layers)

    def bfloat16(self, excluded_layers: Any = None) -> "Layer":
        """Floating-point parameters and buffers to bfloat16, but for layers of the excluded classes."""
        return self._floating("bfloat16", excluded_layers)

    def half(self) -> "Layer":
        """Floating-point parameters and buffers to float16."""
        return self._floating("float16", None)

    def double(self) -> "Layer":
        """Floating-point parameters and buffers to float64."""
        return self._floating("float64", None)

    def _floating(self, dtype: Any, excluded: Any) -> "Layer":
        kinds = tuple(excluded) if isinstance(excluded, (list, tuple)) else () if excluded is None else (excluded,)
        state.convert_tensors(self, convert_dtype(dtype), True, lambda layer: isinstance(layer, kinds))
        return self

    def cpu(self) -> "Layer":
        """The layer itself: it is on the CPU."""
        return self

    def cuda(self, device: Any = None) -> "Layer":
        """Raises NotImplementedError: there is no GPU backend."""
        raise NotImplementedError("cuda: no GPU backend is registered; layers live on the CPU")


def _names_dtype(value: Any) -> bool:
    try:
        convert_dtype(value)
    except TypeError:
        return False
    return True


def _only_cpu(device: Any) -> None:
    if device is not None and not str(device).lower().replace("place(", "").startswith("cpu"):
        raise NotImplementedError(f"no backend for the device {device!r} is registered; layers live on the CPU")


__all__ = ["Layer", "snake_case"]
