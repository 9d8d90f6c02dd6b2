"""Cells of recurrent networks: one step for a batch."""

import math
from collections.abc import Callable
from typing import Any

from wherry import _C_ops
from wherry.core.default_dtype import get_default_dtype
from wherry.nn import initializer as I
from wherry.nn.layer.layers import Layer


def map_structure(function: Callable[..., Any], *trees: Any) -> Any:
    """The function of the leaves of nested lists, tuples and dictionaries of one form."""
    first = trees[0]
    if isinstance(first, dict):
        return {key: map_structure(function, *(tree[key] for tree in trees)) for key in first}
    if isinstance(first, (list, tuple)):
        if any(len(tree) != len(first) for tree in trees):
            raise ValueError(f"expected structures of {len(first)} parts, received {[len(tree) for tree in trees]}")
        parts = [map_structure(function, *leaves) for leaves in zip(*trees)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    return function(*trees)


def _is_shape(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(v, int) for v in value)


class RNNCellBase(Layer):
    """Base of cells: initial states, and the parameters that all cells have. Source: paddle.nn.RNNCellBase."""

    def get_initial_states(
        self, batch_ref: Any, shape: Any = None, dtype: Any = None, init_value: float = 0.0, batch_dim_idx: int = 0
    ) -> Any:
        """States full of init_value, of batch_ref's batch size (its axis batch_dim_idx).

        shape: of one state without the batch, or a nested structure of them; `state_shape` by default. dtype: one, or a structure like
        shape's; `state_dtype` or the default dtype where None. Source: paddle.nn.RNNCellBase.get_initial_states.
        """
        if dtype is None:
            try:
                dtype = self.state_dtype
            except NotImplementedError:
                dtype = get_default_dtype()
        batch = batch_ref.shape[batch_dim_idx]
        return self._filled(self.state_shape if shape is None else shape, dtype, init_value, batch)

    def _filled(self, shape: Any, dtype: Any, value: float, batch: int) -> Any:
        if _is_shape(shape):
            inner = shape[1:] if shape and shape[0] == -1 else shape
            if isinstance(dtype, (list, tuple)) and len(dtype) == 1:
                dtype = dtype[0]
            return _C_ops.full((batch, *inner), float(value), dtype)
        dtypes = dtype if isinstance(dtype, (list, tuple)) and len(dtype) > 1 else [dtype] * len(shape)
        return type(shape)([self._filled(s, d, value, batch) for s, d in zip(shape, dtypes, strict=True)])

    @property
    def state_shape(self) -> Any:
        """The shape of the states, without the batch; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} defines no state_shape")

    @property
    def state_dtype(self) -> Any:
        """The dtype of the states; subclasses may define it."""
        raise NotImplementedError(f"{type(self).__name__} defines no state_dtype")

    def _size(self, input_size: int, hidden_size: int) -> None:
        if hidden_size <= 0:
            raise ValueError(f"{type(self).__name__}: expected a hidden_size above 0, received {hidden_size}")
        self.input_size = input_size
        self.hidden_size = hidden_size

    def _make(self, gates: int, state: int, weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any) -> None:
        """weight_ih, weight_hh, bias_ih, bias_hh; an attribute False gives a fixed one: weights of ones, biases of zeros."""
        rows = gates * self.hidden_size
        for name, shape, attr in (
            ("weight_ih", (rows, self.input_size), weight_ih),
            ("weight_hh", (rows, state), weight_hh),
            ("bias_ih", (rows,), bias_ih),
            ("bias_hh", (rows,), bias_hh),
        ):
            bias = len(shape) == 1
            if attr is False:
                fixed = self.create_parameter(shape, None, None, bias, I.Constant(0.0 if bias else 1.0))
                fixed.stop_gradient = True
                setattr(self, name, fixed)
            else:
                setattr(self, name, self.create_parameter(shape, attr, None, bias, self._spread()))

    def _spread(self) -> Any:
        limit = 1.0 / math.sqrt(self.hidden_size)
        return I.Uniform(-limit, limit)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}"


def projected(x: Any, weight: Any, *biases: Any) -> Any:
    """x @ weight^T + biases."""
    out = _C_ops.matmul(x, weight, False, True)
    for bias in biases:
        out = _C_ops.add(out, bias)
    return out


def lstm_step(gates: Any, cell: Any) -> tuple[Any, Any]:
    """(hidden, cell) from the sums of the gates [batch, 4 hidden], in the order input, forget, cell, output."""
    i, f, g, o = _C_ops.split_with_num(gates, 4, -1)
    kept = _C_ops.multiply(_C_ops.sigmoid(f), cell)
    cell = _C_ops.add(kept, _C_ops.multiply(_C_ops.sigmoid(i), _C_ops.tanh(g)))
    return _C_ops.multiply(_C_ops.sigmoid(o), _C_ops.tanh(cell)), cell


def gru_step(x_gates: Any, h_gates: Any, hidden: Any) -> Any:
    """The next hidden state from the gates of input and state [batch, 3 hidden], in the order reset, update, candidate."""
    size = hidden.shape[-1]
    x_rz, x_c = _C_ops.split(x_gates, (2 * size, size), -1)
    h_rz, h_c = _C_ops.split(h_gates, (2 * size, size), -1)
    r, z = _C_ops.split_with_num(_C_ops.sigmoid(_C_ops.add(x_rz, h_rz)), 2, -1)
    candidate = _C_ops.tanh(_C_ops.add(x_c, _C_ops.multiply(r, h_c)))
    return _C_ops.add(_C_ops.multiply(_C_ops.subtract(hidden, candidate), z), candidate)


class SimpleRNNCell(RNNCellBase):
    """h = activation(x @ weight_ih^T + bias_ih + h @ weight_hh^T + bias_hh).

    weight_ih [hidden_size, input_size], weight_hh [hidden_size, hidden_size]. activation: "tanh" or "relu". Calling it with inputs [batch, input_size] and
    states [batch, hidden_size] (zeros by default) gives (h, h). Source: paddle.nn.SimpleRNNCell.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        activation: str = "tanh",
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._size(input_size, hidden_size)
        if activation not in ("tanh", "relu"):
            raise ValueError(f"SimpleRNNCell: expected activation 'tanh' or 'relu', received {activation!r}")
        self._make(1, hidden_size, weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        self.activation = activation
        self._activation_fn = _C_ops.tanh if activation == "tanh" else _C_ops.relu

    def forward(self, inputs: Any, states: Any = None) -> Any:
        if states is None:
            states = self.get_initial_states(inputs, self.state_shape)
        total = _C_ops.add(
            projected(inputs, self.weight_ih, self.bias_ih), projected(states, self.weight_hh, self.bias_hh)
        )
        hidden = self._activation_fn(total)
        return hidden, hidden

    @property
    def state_shape(self) -> tuple[int]:
        return (self.hidden_size,)

    def extra_repr(self) -> str:
        text = super().extra_repr()
        return text if self.activation == "tanh" else f"{text}, activation={self.activation}"


class LSTMCell(RNNCellBase):
    """Long short-term memory: gates i, f, g, o; c = sigmoid(f) c + sigmoid(i) tanh(g), h = sigmoid(o) tanh(c).

    weight_ih [4 hidden_size, input_size], weight_hh [4 hidden_size, proj_size or hidden_size]; with proj_size h is multiplied by weight_ho [hidden_size,
    proj_size]. Calling it with inputs [batch, input_size] and states (h, c) (zeros by default) gives (h, (h, c)). Source: paddle.nn.LSTMCell.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        proj_size: int = 0,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._size(input_size, hidden_size)
        if not 0 <= proj_size < hidden_size:
            raise ValueError(f"LSTMCell: expected a proj_size in [0, {hidden_size}), received {proj_size}")
        self._make(4, proj_size or hidden_size, weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        self.proj_size = proj_size
        if proj_size > 0:
            attr = None if weight_hh_attr is False else weight_hh_attr
            self.weight_ho = self.create_parameter((hidden_size, proj_size), attr, default_initializer=self._spread())

    def forward(self, inputs: Any, states: Any = None) -> Any:
        if states is None:
            states = self.get_initial_states(inputs, self.state_shape)
        hidden, cell = states
        gates = _C_ops.add(
            projected(inputs, self.weight_ih, self.bias_ih), projected(hidden, self.weight_hh, self.bias_hh)
        )
        hidden, cell = lstm_step(gates, cell)
        if self.proj_size > 0:
            hidden = _C_ops.matmul(hidden, self.weight_ho, False, False)
        return hidden, (hidden, cell)

    @property
    def state_shape(self) -> tuple[tuple[int], tuple[int]]:
        return ((self.proj_size or self.hidden_size,), (self.hidden_size,))


class GRUCell(RNNCellBase):
    """Gated recurrent unit: gates r, z, c; c = tanh(x_c + sigmoid(r) h_c), h = z h + (1 - z) c.

    weight_ih [3 hidden_size, input_size], weight_hh [3 hidden_size, hidden_size]. Calling it with inputs [batch, input_size] and states [batch, hidden_size] (zeros by
    default) gives (h, h). Source: paddle.nn.GRUCell.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._size(input_size, hidden_size)
        self._make(3, hidden_size, weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)

    def forward(self, inputs: Any, states: Any = None) -> Any:
        if states is None:
            states = self.get_initial_states(inputs, self.state_shape)
        x_gates = projected(inputs, self.weight_ih, self.bias_ih)
        hidden = gru_step(x_gates, projected(states, self.weight_hh, self.bias_hh), states)
        return hidden, hidden

    @property
    def state_shape(self) -> tuple[int]:
        return (self.hidden_size,)
