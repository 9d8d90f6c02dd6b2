"""Recurrent networks against a loop in NumPy: values, lengths of sequences, states, names of parameters, derivatives."""

import copy
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

import wherry as paddle
from wherry import nn
from wherry.autograd.gradcheck import gradcheck, gradgradcheck


@pytest.fixture(autouse=True)
def in_float64() -> Any:
    paddle.seed(11)
    paddle.set_default_dtype("float64")
    yield
    paddle.set_default_dtype("float32")


def step(kind: str, weights: dict[str, np.ndarray], x: np.ndarray, states: list[np.ndarray]) -> list[np.ndarray]:
    """The next states; the first is the output."""
    from_x = x @ weights["weight_ih"].T + weights["bias_ih"]
    from_h = states[0] @ weights["weight_hh"].T + weights["bias_hh"]
    if kind == "SimpleRNN":
        return [np.tanh(from_x + from_h)]
    if kind == "GRU":
        (xr, xz, xc), (hr, hz, hc) = np.split(from_x, 3, axis=1), np.split(from_h, 3, axis=1)
        z = expit(xz + hz)
        return [z * states[0] + (1 - z) * np.tanh(xc + expit(xr + hr) * hc)]
    i, f, g, o = np.split(from_x + from_h, 4, axis=1)
    c = expit(f) * states[1] + expit(i) * np.tanh(g)
    h = expit(o) * np.tanh(c)
    return [h @ weights["weight_ho"] if "weight_ho" in weights else h, c]


def run(
    kind: str, cell: Any, x: np.ndarray, states: list[np.ndarray], lengths: list[int], reverse: bool, zeros: bool
) -> tuple[np.ndarray, list[np.ndarray]]:
    """x [batch, steps, size]; each sequence by itself."""
    weights = {name: p.numpy() for name, p in cell.named_parameters()}
    out = np.zeros((*x.shape[:2], states[0].shape[1]))
    last = [np.array(s) for s in states]
    for b, n in enumerate(lengths):
        own = [s[b : b + 1] for s in states]
        order = range(x.shape[1])
        for t in reversed(order) if reverse else order:
            new = step(kind, weights, x[b : b + 1, t], own)
            if t < n or not zeros:
                out[b, t] = new[0][0]
            own = new if t < n else own
        for s, o in zip(last, own):
            s[b] = o[0]
    return out, last


def network(kind: str, net: Any, x: np.ndarray, states: list[np.ndarray], lengths: list[int]) -> tuple[np.ndarray, Any]:
    """states: [layers * directions, batch, size] each."""
    last = []
    for i, layer in enumerate(net):
        cells = [layer.cell] if net.num_directions == 1 else [layer.cell_fw, layer.cell_bw]
        parts = []
        for j, cell in enumerate(cells):
            own = [s[i * len(cells) + j] for s in states]
            part, final = run(kind, cell, x, own, lengths, j == 1, net.proj_size == 0)
            parts.append(part)
            last.append(final)
        x = np.concatenate(parts, axis=2)
    return x, [np.stack(s) for s in zip(*last)]


def flat(result: Any) -> list[paddle.Tensor]:
    return [t for part in result for t in flat(part)] if isinstance(result, (tuple, list)) else [result]


@pytest.mark.parametrize("kind", ["SimpleRNN", "GRU", "LSTM", "LSTM with proj_size"])
@pytest.mark.parametrize("direction", ["forward", "bidirect"])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("time_major", [False, True])
def test_networks(kind: str, direction: str, layers: int, time_major: bool) -> None:
    kind, _, projection = kind.partition(" with ")
    settings: dict[str, Any] = {"proj_size": 2} if projection else {}
    net = getattr(nn, kind)(3, 4, layers, direction, time_major, **settings)
    count = layers * (2 if direction == "bidirect" else 1)
    rng = np.random.default_rng(layers)
    x = rng.standard_normal((3, 5, 3))
    sizes = [settings.get("proj_size", 4), 4][: net.state_components]
    given = [rng.standard_normal((count, 3, size)) for size in sizes]
    inputs = paddle.to_tensor(x.transpose(1, 0, 2) if time_major else x)
    for lengths, states in (([5, 5, 5], None), ([5, 2, 0], given)):
        start = [np.zeros_like(g) for g in given] if states is None else states
        expected, last = network(kind, net, x, start, lengths)
        initial = None
        if states is not None:
            held = [paddle.to_tensor(s) for s in states]
            initial = tuple(held) if len(held) > 1 else held[0]
        out, final = net(inputs, initial, None if states is None else paddle.to_tensor(lengths))
        got = out.numpy().transpose(1, 0, 2) if time_major else out.numpy()
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)
        for a, b in zip(flat(final), last, strict=True):
            np.testing.assert_allclose(a.numpy(), b, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", ["SimpleRNN", "GRU", "LSTM"])
def test_derivatives(kind: str) -> None:
    net = getattr(nn, kind)(2, 2, 2, "bidirect")
    lengths = paddle.to_tensor([3, 1])
    x = paddle.randn([2, 3, 2])
    x.stop_gradient = False
    cell = net[0].cell_fw
    tensors = [x, cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh]

    def function(x: Any, *weights: Any) -> Any:
        for name, weight in zip(("weight_ih", "weight_hh", "bias_ih", "bias_hh"), weights, strict=True):
            cell._parameters[name] = weight
        return flat(net(x, None, lengths))

    assert gradcheck(function, tensors, edges=False)
    assert gradgradcheck(function, tensors, edges=False, fast_mode=True)


@pytest.mark.parametrize("kind", ["SimpleRNN", "GRU", "LSTM"])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_cell_in_rnn(kind: str, reverse: bool) -> None:
    cell = getattr(nn, f"{kind}Cell")(3, 4)
    x = np.random.default_rng(0).standard_normal((2, 4, 3))
    start = [np.zeros((2, 4)) for _ in range(2 if kind == "LSTM" else 1)]
    expected, last = run(kind, cell, x, start, [4, 2], reverse, False)
    out, final = nn.RNN(cell, reverse)(paddle.to_tensor(x), sequence_length=paddle.to_tensor([4, 2]))
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-12)
    for a, b in zip(flat(final), last, strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-12)


def test_two_cells_in_birnn() -> None:
    forward, backward = nn.LSTMCell(3, 4), nn.GRUCell(3, 2)
    net = nn.BiRNN(forward, backward, time_major=True)
    x = np.random.default_rng(1).standard_normal((2, 4, 3))
    first, _ = run("LSTM", forward, x, [np.zeros((2, 4))] * 2, [4, 4], False, False)
    second, last = run("GRU", backward, x, [np.zeros((2, 2))], [4, 4], True, False)
    out, (_, final) = net(paddle.to_tensor(x.transpose(1, 0, 2)))
    np.testing.assert_allclose(out.numpy().transpose(1, 0, 2), np.concatenate([first, second], axis=2), rtol=1e-12)
    np.testing.assert_allclose(final.numpy(), last[0], rtol=1e-12)


class Counting(nn.RNNCellBase):
    """Inputs and states in a dictionary and a tuple; a keyword of its own."""

    def forward(self, inputs: Any, states: Any, scale: float = 1.0) -> Any:
        total, steps = states
        total = total + scale * (inputs["a"] + inputs["b"])
        return {"total": total}, (total, steps + 1.0)

    @property
    def state_shape(self) -> Any:
        return ((2,), (1,))


def test_a_cell_of_ones_own_with_nested_inputs() -> None:
    inputs = {"a": paddle.ones([3, 4, 2]), "b": paddle.full([3, 4, 2], 2.0)}
    out, (total, steps) = nn.RNN(Counting())(inputs, sequence_length=paddle.to_tensor([4, 2, 1]), scale=2.0)
    assert out["total"].shape == [3, 4, 2]
    assert total.tolist() == [[24.0, 24.0], [12.0, 12.0], [6.0, 6.0]]
    assert steps.tolist() == [[4.0], [2.0], [1.0]]


def test_initial_states() -> None:
    x = paddle.zeros([2, 5, 3])
    cell = nn.LSTMCell(3, 4, proj_size=2)
    h, c = cell.get_initial_states(x, init_value=2.0)
    assert (h.shape, c.shape, c.tolist()) == ([2, 2], [2, 4], [[2.0] * 4] * 2)
    assert cell.get_initial_states(x, [3, 4], batch_dim_idx=1).shape == [5, 3, 4]
    first, second = cell.get_initial_states(x, ([-1, 3], (2, 4)), ["float32", "int64"])
    assert (first.shape, first.dtype, second.shape, second.dtype) == ([2, 3], paddle.float32, [2, 2, 4], paddle.int64)
    with pytest.raises(NotImplementedError, match="RNNCellBase defines no state_shape"):
        nn.RNNCellBase().get_initial_states(x)
    assert cell(x[:, 0])[0].shape == [2, 2]


def test_the_names_and_shapes_of_checkpoints() -> None:
    net = nn.GRU(3, 4, 2, "bidirectional")
    state = net.state_dict()
    assert [k for k in state if "_l" in k][:8] == [
        *("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"),
        *("weight_ih_l0_reverse", "weight_hh_l0_reverse", "bias_ih_l0_reverse", "bias_hh_l0_reverse"),
    ]
    assert list(state["weight_ih_l1"].shape) == [12, 8]
    assert list(state["weight_hh_l1_reverse"].shape) == [12, 4]
    assert state["1.cell_bw.weight_hh"] is state["weight_hh_l1_reverse"]
    assert len(state) == 32
    assert len(net.parameters()) == 16
    assert list(nn.LSTM(3, 4).weight_ih_l0.shape) == [16, 3]
    assert list(nn.LSTM(3, 4, proj_size=2).state_dict()["0.cell.weight_ho"].shape) == [4, 2]


def test_a_checkpoint_and_a_copy_give_the_same() -> None:
    net, other = nn.LSTM(3, 4, 2), nn.LSTM(3, 4, 2)
    x = paddle.randn([2, 5, 3])
    other.set_state_dict(net.state_dict())
    expected = net(x)[0].tolist()
    assert other(x)[0].tolist() == expected
    twin = copy.deepcopy(net)
    assert twin(x)[0].tolist() == expected
    assert twin.weight_ih_l0 is twin[0].cell.weight_ih
    net.flatten_parameters()
    assert net(x)[0].tolist() == expected


def test_fixed_parameters() -> None:
    cell = nn.GRUCell(3, 4, weight_ih_attr=False, bias_hh_attr=False)
    assert (cell.weight_ih == 1.0).all()
    assert not cell.bias_hh.numpy().any()
    assert [p.stop_gradient for p in cell.parameters()] == [True, False, False, True]
    x = paddle.randn([2, 5, 3])
    net = nn.LSTM(3, 4, bias_ih_attr=False, bias_hh_attr=False)
    expected, _ = network("LSTM", net, x.numpy(), [np.zeros((1, 2, 4))] * 2, [5, 5])
    np.testing.assert_allclose(net(x)[0].numpy(), expected, rtol=1e-12)


def test_dropout_is_between_layers_and_in_training() -> None:
    net = nn.SimpleRNN(3, 4, 2, dropout=1.0)
    x = paddle.randn([2, 5, 3])
    second = nn.SimpleRNN(4, 4)
    second[0].cell.set_state_dict(net[1].cell.state_dict())
    np.testing.assert_allclose(net(x)[0].numpy(), second(paddle.zeros([2, 5, 4]))[0].numpy(), rtol=1e-12)
    expected, _ = network("SimpleRNN", net, x.numpy(), [np.zeros((2, 2, 4))], [5, 5])
    np.testing.assert_allclose(net.eval()(x)[0].numpy(), expected, rtol=1e-12)


def test_relu() -> None:
    net = nn.SimpleRNN(1, 1, activation="relu", bias_ih_attr=False, bias_hh_attr=False, weight_ih_attr=False)
    net[0].cell.weight_hh.set_value(paddle.to_tensor([[2.0]]))
    assert net(paddle.to_tensor([[[1.0], [-3.0], [2.0]]]))[0].tolist() == [[[1.0], [0.0], [2.0]]]


def test_descriptions() -> None:
    assert repr(nn.GRU(3, 4, 2, time_major=True, dropout=0.5)) == (
        "GRU(3, 4, num_layers=2, time_major=True, dropout=0.5\n  (0): RNN(\n    (cell): GRUCell(3, 4)\n  )\n"
        "  (1): RNN(\n    (cell): GRUCell(4, 4)\n  )\n)"
    )
    assert repr(nn.SimpleRNNCell(3, 4, "relu")) == "SimpleRNNCell(3, 4, activation=relu)"


def test_refusals() -> None:
    x = paddle.zeros([2, 5, 3])
    net = nn.GRU(3, 4)
    calls: list[tuple[Any, type, str]] = [
        (lambda: nn.GRU(3, 4, direction="back"), ValueError, "expected direction 'forward', 'bidirect' or"),
        (lambda: nn.GRU(3, 0), ValueError, "GRUCell: expected a hidden_size above 0, received 0"),
        (lambda: nn.LSTM(3, 4, proj_size=4), ValueError, r"expected a proj_size in \[0, 4\), received 4"),
        (lambda: nn.SimpleRNN(3, 4, activation="gelu"), ValueError, "expected activation 'tanh' or 'relu'"),
        (lambda: nn.SimpleRNNCell(3, 4, "gelu"), ValueError, "expected activation 'tanh' or 'relu'"),
        (lambda: net(x[0]), ValueError, "GRU: expected inputs of three dimensions"),
        (lambda: net(x[:, :0]), ValueError, "at least one time step"),
        (lambda: net(paddle.zeros([2, 5, 7])), ValueError, "and 3 at the end, received shape"),
        (lambda: net(x, paddle.zeros([2, 2, 4])), ValueError, r"of shapes \[\[1, 2, 4\]\], received \[\[2, 2, 4\]\]"),
        (lambda: net(x, None, [5, 3]), TypeError, "expected sequence_length to be a Tensor, received list"),
        (lambda: nn.RNN(nn.GRUCell(3, 4))(x[:, :0]), ValueError, "expected inputs of at least one time step"),
        (lambda: nn.BiRNN(nn.GRUCell(3, 4), nn.GRUCell(4, 4)), ValueError, "of one input size, received 3 and 4"),
    ]
    for call, error, text in calls:
        with pytest.raises(error, match=text):
            call()
    assert net(x[:0])[0].shape == [0, 5, 4]
