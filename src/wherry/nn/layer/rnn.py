"""Recurrent networks over sequences."""

from functools import partial
from typing import Any

import numpy as np

from wherry import _C_ops
from wherry.nn import functional as F
from wherry.nn.layer.container import LayerList
from wherry.nn.layer.layers import Layer
from wherry.nn.layer.rnn_cell import (
    GRUCell,
    LSTMCell,
    SimpleRNNCell,
    gru_step,
    lstm_step,
    map_structure,
    projected,
)
from wherry.tensor.tensor import Tensor, tensor_from_array


def _masks(sequence_length: Any, steps: int) -> list[Any]:
    """For each step which sequences are not over, [batch, 1]; None where none is."""
    if sequence_length is None:
        return [None] * steps
    if not isinstance(sequence_length, Tensor):
        raise TypeError(f"expected sequence_length to be a Tensor, received {type(sequence_length).__name__}")
    going = np.arange(steps)[:, None] < sequence_length.impl.array.reshape(1, -1)
    return [None if row.all() else tensor_from_array(row[:, None]) for row in going]


def _kept(mask: Any, new: Any, old: Any) -> Any:
    """The new state where the sequence is not over, else the old one."""
    if new.ndim != 2:
        mask = _C_ops.reshape(mask, (mask.shape[0],) + (1,) * (new.ndim - 1))
    return _C_ops.where(mask, new, old)


def _run(
    cell: Any, inputs: Any, states: Any, sequence_length: Any, time_major: bool, is_reverse: bool, **kwargs: Any
) -> tuple[Any, Any]:
    """A cell over a sequence: (outputs, last states)."""
    axis = 0 if time_major else 1
    leaves: list[Any] = []
    map_structure(leaves.append, inputs)
    steps = leaves[0].shape[axis]
    if steps == 0:
        raise ValueError(f"expected inputs of at least one time step, received shape {list(leaves[0].shape)}")
    if states is None:
        states = cell.get_initial_states(leaves[0], batch_dim_idx=1 - axis)
    # Lists of steps, handed out one by one: `columns` has them in the order of the leaves.
    columns = [_C_ops.unbind(leaf, axis) for leaf in leaves]
    masks = _masks(sequence_length, steps)
    outputs: list[Any] = [None] * steps
    for t in reversed(range(steps)) if is_reverse else range(steps):
        row = iter([column[t] for column in columns])
        outputs[t], new = cell(map_structure(lambda _: next(row), inputs), states, **kwargs)  # noqa: B023
        states = new if masks[t] is None else map_structure(partial(_kept, masks[t]), new, states)
    return map_structure(lambda *parts: _C_ops.stack(parts, axis), *outputs), states


class RNN(Layer):
    """A cell over a sequence [batch, steps, ...] ([steps, batch, ...] with time_major), from the end with is_reverse.

    Calling it with (inputs, initial_states=None, sequence_length=None) gives (outputs, last states). A sequence that is over keeps its state; its
    outputs are still computed. Raises ValueError for no steps. Source: paddle.nn.RNN.
    """

    def __init__(self, cell: Any, is_reverse: bool = False, time_major: bool = False) -> None:
        super().__init__()
        self.cell = cell
        self.is_reverse = is_reverse
        self.time_major = time_major

    def forward(self, inputs: Any, initial_states: Any = None, sequence_length: Any = None, **kwargs: Any) -> Any:
        return _run(self.cell, inputs, initial_states, sequence_length, self.time_major, self.is_reverse, **kwargs)


class BiRNN(Layer):
    """One cell over a sequence from the start and one from the end; their outputs are joined on the last axis.

    Calling it with (inputs, initial_states=None, sequence_length=None) gives (outputs, (last states, last states of the cell from the end)). Raises ValueError where the
    cells' input sizes differ. Source: paddle.nn.BiRNN.
    """

    def __init__(self, cell_fw: Any, cell_bw: Any, time_major: bool = False) -> None:
        super().__init__()
        if cell_fw.input_size != cell_bw.input_size:
            raise ValueError(
                f"BiRNN: expected cells of one input size, received {cell_fw.input_size} and {cell_bw.input_size}"
            )
        self.cell_fw = cell_fw
        self.cell_bw = cell_bw
        self.time_major = time_major

    def forward(self, inputs: Any, initial_states: Any = None, sequence_length: Any = None, **kwargs: Any) -> Any:
        if initial_states is None:
            initial_states = (None, None)
        if not isinstance(initial_states, (list, tuple)) or len(initial_states) != 2:
            raise ValueError("BiRNN: expected initial_states of two parts, one for each cell")
        pairs = [
            _run(cell, inputs, states, sequence_length, self.time_major, reverse, **kwargs)
            for cell, states, reverse in zip((self.cell_fw, self.cell_bw), initial_states, (False, True))
        ]
        outputs = map_structure(lambda x, y: _C_ops.concat([x, y], -1), pairs[0][0], pairs[1][0])
        return outputs, (pairs[0][1], pairs[1][1])


def _simple_loop(cell: Any, inputs: Any, states: list[Any], masks: list[Any], order: Any) -> list[Any]:
    activation = cell._activation_fn
    (hidden,) = states
    outputs: list[Any] = [None] * len(masks)
    for t in order:
        new = activation(_C_ops.add(inputs[t], _C_ops.matmul(hidden, cell.weight_hh, False, True)))
        hidden = new if masks[t] is None else _kept(masks[t], new, hidden)
        outputs[t] = new
    states[0] = hidden
    return outputs


def _lstm_loop(cell: Any, inputs: Any, states: list[Any], masks: list[Any], order: Any) -> list[Any]:
    hidden, memory = states
    outputs: list[Any] = [None] * len(masks)
    for t in order:
        gates = _C_ops.add(inputs[t], _C_ops.matmul(hidden, cell.weight_hh, False, True))
        new, remembered = lstm_step(gates, memory)
        if masks[t] is None:
            hidden, memory = new, remembered
        else:
            hidden, memory = _kept(masks[t], new, hidden), _kept(masks[t], remembered, memory)
        outputs[t] = new
    states[:] = [hidden, memory]
    return outputs


def _gru_loop(cell: Any, inputs: Any, states: list[Any], masks: list[Any], order: Any) -> list[Any]:
    (hidden,) = states
    outputs: list[Any] = [None] * len(masks)
    for t in order:
        new = gru_step(inputs[t], projected(hidden, cell.weight_hh, cell.bias_hh), hidden)
        hidden = new if masks[t] is None else _kept(masks[t], new, hidden)
        outputs[t] = new
    states[0] = hidden
    return outputs


_LOOPS = {LSTMCell: _lstm_loop, GRUCell: _gru_loop, SimpleRNNCell: _simple_loop}


def _fused(cell: Any, inputs: Any, states: list[Any], masks: list[Any], reverse: bool) -> Any:
    """A cell over inputs [steps, batch, size], whose part of the gates is one product; outputs are 0 where a sequence is over.

    `states` becomes the last states.
    """
    # The biases of a GRU's state are apart: the reset gate multiplies one of them.
    biases = (cell.bias_ih,) if isinstance(cell, GRUCell) else (cell.bias_ih, cell.bias_hh)
    bias = biases[0] if len(biases) == 1 else _C_ops.add(*biases)
    columns = _C_ops.unbind(projected(inputs, cell.weight_ih, bias), 0)
    order = range(len(masks))
    outputs = _LOOPS[type(cell)](cell, columns, states, masks, reversed(order) if reverse else order)
    for t, mask in enumerate(masks):
        if mask is not None:
            outputs[t] = _C_ops.where(mask, outputs[t], _C_ops.full_like(outputs[t], 0.0))
    return _C_ops.stack(outputs, 0)


class RNNBase(LayerList):
    """Layers of recurrent cells, one on the other; the base of SimpleRNN, LSTM and GRU.

    The parameters are those of the cells, and also named weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0 (`_reverse` at the end for the direction from the end).
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        direction: str = "forward",
        time_major: bool = False,
        dropout: float = 0.0,
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        proj_size: int = 0,
    ) -> None:
        super().__init__()
        if direction not in ("forward", "bidirect", "bidirectional"):
            raise ValueError(
                f"{type(self).__name__}: expected direction 'forward', 'bidirect' or 'bidirectional', received {direction!r}"
            )
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.dropout = dropout
        self.num_directions = 1 if direction == "forward" else 2
        self.time_major = time_major
        self.num_layers = num_layers
        self.state_components = 2 if mode == "LSTM" else 1
        self.proj_size = proj_size
        settings: dict[str, Any] = {
            "weight_ih_attr": weight_ih_attr,
            "weight_hh_attr": weight_hh_attr,
            "bias_ih_attr": bias_ih_attr,
            "bias_hh_attr": bias_hh_attr,
        }
        cells: Any = {"LSTM": LSTMCell, "GRU": GRUCell}.get(mode, SimpleRNNCell)
        if mode == "LSTM":
            settings["proj_size"] = proj_size
        elif mode != "GRU":
            settings["activation"] = "relu" if mode == "RNN_RELU" else "tanh"
        for layer in range(num_layers):
            size = input_size if layer == 0 else (proj_size or hidden_size) * self.num_directions
            made = [cells(size, hidden_size, **settings) for _ in range(self.num_directions)]
            self.append(BiRNN(made[0], made[1], time_major) if len(made) == 2 else RNN(made[0], False, time_major))
        self._name_parameters(bias_ih_attr is not False, bias_hh_attr is not False)

    def _name_parameters(self, bias_ih: bool, bias_hh: bool) -> None:
        """The names that checkpoints hold. As in Paddle they go to the parameters in their order, so that those of a network with proj_size, or with
        one bias only, are not where the names say."""
        kinds = ["weight_ih", "weight_hh"] + ["bias_ih"] * bias_ih + ["bias_hh"] * bias_hh
        endings = [
            f"_l{layer}{direction}"
            for layer in range(self.num_layers)
            for direction in ("", "_reverse")[: self.num_directions]
        ]
        names = [kind + ending for ending in endings for kind in kinds]
        for name, parameter in zip(names, self.parameters()):
            setattr(self, name, parameter)

    def flatten_parameters(self) -> None:
        """No effect: parameters are not moved into one array."""

    def _cells(self) -> list[list[Any]]:
        return [
            [layer.cell] if self.num_directions == 1 else [layer.cell_fw, layer.cell_bw]
            for layer in self._sub_layers.values()
        ]

    def _initial(self, inputs: Any, initial_states: Any, batch: int) -> list[list[Any]]:
        """For each layer and direction a list of states [batch, size]."""
        count = self.num_layers * self.num_directions
        sizes = [self.proj_size or self.hidden_size, self.hidden_size][: self.state_components]
        if initial_states is None:
            return [[_C_ops.full((batch, s), 0.0, inputs.dtype) for s in sizes] for _ in range(count)]
        given = [initial_states] if isinstance(initial_states, Tensor) else list(initial_states)
        if [list(s.shape) for s in given] != [[count, batch, size] for size in sizes]:
            raise ValueError(
                f"{type(self).__name__}: expected initial states of shapes {[[count, batch, size] for size in sizes]}, received "
                f"{[list(s.shape) for s in given]}"
            )
        return [list(states) for states in zip(*(_C_ops.unbind(s, 0) for s in given))]

    def forward(self, inputs: Any, initial_states: Any = None, sequence_length: Any = None) -> Any:
        title = type(self).__name__
        axis = 0 if self.time_major else 1
        if inputs.ndim != 3 or inputs.shape[2] != self.input_size or inputs.shape[axis] == 0:
            raise ValueError(
                f"{title}: expected inputs of three dimensions, at least one time step (axis {axis}) and {self.input_size} at the end, received "
                f"shape {list(inputs.shape)}"
            )
        states = self._initial(inputs, initial_states, inputs.shape[1 - axis])
        outputs = inputs if self.time_major else _C_ops.transpose(inputs, (1, 0, 2))
        masks = _masks(sequence_length, inputs.shape[axis])
        for i, cells in enumerate(self._cells()):
            if i > 0 and self.dropout > 0.0:
                outputs = F.dropout(outputs, self.dropout, training=self.training)
            own = states[i * len(cells) : (i + 1) * len(cells)]
            if self.proj_size > 0:
                parts = []
                for j, cell in enumerate(cells):
                    part, last = _run(cell, outputs, tuple(own[j]), sequence_length, True, j == 1)
                    own[j][:] = last
                    parts.append(part)
            else:
                parts = [_fused(cell, outputs, own[j], masks, j == 1) for j, cell in enumerate(cells)]
            outputs = parts[0] if len(parts) == 1 else _C_ops.concat(parts, -1)
        if not self.time_major:
            outputs = _C_ops.transpose(outputs, (1, 0, 2))
        last = tuple(_C_ops.stack(parts, 0) for parts in zip(*states))
        return outputs, last if len(last) > 1 else last[0]

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.time_major:
            text += f", time_major={self.time_major}"
        if self.dropout != 0:
            text += f", dropout={self.dropout}"
        return text


class SimpleRNN(RNNBase):
    """Layers of SimpleRNNCell over a sequence [batch, steps, input_size] ([steps, batch, input_size] with time_major).

    direction: "forward", or "bidirect" / "bidirectional" for both. dropout: between layers, in training. Calling it with (inputs,
    initial_states=None, sequence_length=None) gives (outputs, last states [layers * directions, batch, hidden_size]); outputs are 0 where a sequence is over.
    Raises ValueError for shapes that do not fit. Source: paddle.nn.SimpleRNN.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        direction: str = "forward",
        time_major: bool = False,
        dropout: float = 0.0,
        activation: str = "tanh",
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        if activation not in ("tanh", "relu"):
            raise ValueError(f"SimpleRNN: expected activation 'tanh' or 'relu', received {activation!r}")
        super().__init__(
            "RNN_TANH" if activation == "tanh" else "RNN_RELU",
            input_size,
            hidden_size,
            num_layers,
            direction,
            time_major,
            dropout,
            weight_ih_attr,
            weight_hh_attr,
            bias_ih_attr,
            bias_hh_attr,
        )
        self.activation = activation


class LSTM(RNNBase):
    """Layers of LSTMCell over a sequence; states are (h, c). Else as SimpleRNN.

    With proj_size the outputs have that size, and are still computed where a sequence is over (as in Paddle). Source: paddle.nn.LSTM.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        direction: str = "forward",
        time_major: bool = False,
        dropout: float = 0.0,
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        proj_size: int = 0,
        name: str | None = None,
    ) -> None:
        super().__init__(
            "LSTM",
            input_size,
            hidden_size,
            num_layers,
            direction,
            time_major,
            dropout,
            weight_ih_attr,
            weight_hh_attr,
            bias_ih_attr,
            bias_hh_attr,
            proj_size,
        )


class GRU(RNNBase):
    """Layers of GRUCell over a sequence. Else as SimpleRNN. Source: paddle.nn.GRU."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        direction: str = "forward",
        time_major: bool = False,
        dropout: float = 0.0,
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(
            "GRU",
            input_size,
            hidden_size,
            num_layers,
            direction,
            time_major,
            dropout,
            weight_ih_attr,
            weight_hh_attr,
            bias_ih_attr,
            bias_hh_attr,
        )
