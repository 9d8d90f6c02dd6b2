"""decorate: models and optimizers for training in a half dtype."""

import weakref
from typing import Any

from wherry import _C_ops, nn
from wherry.autograd.modes import no_grad
from wherry.core import dtype as dt
from wherry.nn.layer.state import convert_tensors

_BATCH_NORMS = ("BatchNorm", "BatchNorm1D", "BatchNorm2D", "BatchNorm3D", "SyncBatchNorm")
_NORMS = ("LayerNorm", "InstanceNorm1D", "InstanceNorm2D", "InstanceNorm3D")


def decorate(
    models: Any,
    optimizers: Any = None,
    level: str = "O1",
    dtype: str = "float16",
    master_weight: bool | None = None,
    save_dtype: str | None = None,
    master_grad: bool = False,
    excluded_layers: Any = None,
) -> Any:
    """Models whose parameters are in a half dtype, and optimizers that keep float32 copies of them; level O1 changes no model.

    models: a Layer or a list; optimizers: an Optimizer, a list or None. level: "O1" or "O2". dtype: "float16" or "bfloat16"; batch norms
    keep float32, with float16 layer and instance norms too. master_weight: False leaves the optimizers without float32 copies. save_dtype: the dtype of
    the floating-point values of state_dict(). master_grad: gradients are float32 from backward on. excluded_layers: Layers or classes of Layers
    that keep their dtype, or a list. Returns the models, or (models, optimizers) where optimizers are given, in the form they came. Raises ValueError for
    another level or dtype, TypeError for what is no Layer or Optimizer. Source: paddle.amp.decorate.
    """
    if level not in ("O1", "O2"):
        raise ValueError(f"decorate: expected level O1 or O2, received {level!r}")
    if dtype not in ("float16", "bfloat16"):
        raise ValueError(f"decorate: expected dtype 'float16' or 'bfloat16', received {dtype!r}")
    if save_dtype not in (None, "float16", "bfloat16", "float32", "float64"):
        raise ValueError(
            f"decorate: expected save_dtype float16, bfloat16, float32, float64 or None, received {save_dtype!r}"
        )
    if master_weight not in (None, True, False):
        raise TypeError(f"decorate: expected master_weight True, False or None, received {master_weight!r}")
    model_list = _all_of(models, nn.Layer, "models", "a Layer")
    optimizer_list = [] if optimizers is None else _optimizers(optimizers)
    if level == "O2":
        _to_half(model_list, dtype, excluded_layers)
        for optimizer in optimizer_list:
            optimizer._multi_precision = master_weight is not False
        if master_grad:
            _keep_float32_gradients(model_list)
    if save_dtype is not None:
        for model in model_list:
            for layer in model.sublayers(include_self=True):
                layer.register_state_dict_hook(_SaveIn(save_dtype))
    return models if optimizers is None else (models, optimizers)


def _all_of(value: Any, kind: Any, name: str, what: str) -> list[Any]:
    found = list(value) if isinstance(value, (list, tuple)) else [value]
    for item in found:
        if not isinstance(item, kind):
            raise TypeError(f"decorate: expected {what} or a list of them for {name!r}, received {type(item).__name__}")
    return found


def _optimizers(value: Any) -> list[Any]:
    from wherry.optimizer import Optimizer

    return _all_of(value, Optimizer, "optimizers", "an Optimizer")


def _to_half(models: list[Any], dtype: str, excluded: Any) -> None:
    """Convert what is not kept in float32."""
    items = [] if excluded is None else list(excluded) if isinstance(excluded, (list, tuple)) else [excluded]
    classes: list[Any] = []
    kept: set[int] = set()
    for item in items:
        if isinstance(item, nn.Layer):
            kept |= {id(layer) for layer in item.sublayers(include_self=True)}
        elif isinstance(item, type) and issubclass(item, nn.Layer):
            classes.append(item)
        else:
            raise TypeError(
                f"decorate: expected excluded_layers of Layers, classes of Layers or a list of them, received {type(item).__name__}"
            )
    norms = _BATCH_NORMS + (_NORMS if dtype == "float16" else ())
    classes += [getattr(nn, name) for name in norms if hasattr(nn, name)]

    def keep(layer: Any) -> bool:
        return (
            id(layer) in kept or isinstance(layer, tuple(classes)) or not getattr(layer, "_cast_to_low_precision", True)
        )

    for model in models:
        convert_tensors(model, dt.convert_dtype(dtype), True, keep)


def _keep_float32_gradients(models: list[Any]) -> None:
    for model in models:
        for parameter in model.parameters():
            if not parameter.stop_gradient:
                parameter._register_backward_hook(_WidenGradient(parameter))


class _WidenGradient:
    """Called when a gradient has been added to `.grad`: the sum goes on in float32."""

    def __init__(self, parameter: Any) -> None:
        # The parameter holds this hook: it must not be held by it.
        self._parameter = weakref.ref(parameter)

    def __call__(self) -> None:
        parameter = self._parameter()
        if parameter is not None and parameter.grad is not None and parameter.grad.dtype in (dt.float16, dt.bfloat16):
            with no_grad():
                parameter.grad = _C_ops.cast(parameter.grad, dt.float32)


class _SaveIn:
    """A hook on state_dict(): floating-point values in another dtype, the layer's own unchanged."""

    def __init__(self, dtype: str) -> None:
        self._dtype = dt.convert_dtype(dtype)

    def __call__(self, state: Any) -> None:
        with no_grad():
            for name, value in state.items():
                if value.dtype.is_floating and value.dtype is not self._dtype:
                    converted = _C_ops.cast(value, self._dtype)
                    converted.name = value.name
                    state[name] = converted
