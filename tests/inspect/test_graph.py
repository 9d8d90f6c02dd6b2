"""graph: nodes, edges, in-degrees, the order of execution, text that folds repeats, drawings."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import wherry as paddle
from wherry import nn
from wherry.inspect import graph, record


def leaf(*shape: int) -> paddle.Tensor:
    x = paddle.ones(list(shape))
    x.stop_gradient = False
    return x


def network() -> paddle.Tensor:
    net = nn.Sequential(*[nn.Linear(4, 4) for _ in range(3)])
    h = net(paddle.ones([2, 4]))
    for _ in range(5):
        h = paddle.tanh(h)
        h = h * 0.5 + h
    return (h * h).mean()


def test_the_order_is_the_one_that_backward_takes() -> None:
    loss = network()
    expected = [n.number for n in graph(loss)]
    degrees = {n.number: n.in_degree for n in graph(loss)}
    with record(with_statistics=False) as tape:
        loss.backward()
    runs = list(tape.passes[0].nodes)
    assert [r.node for r in runs] == expected
    assert all(r.in_degree == degrees[r.node] for r in runs)


def test_nodes_edges_slots_and_saved() -> None:
    x, y = leaf(2, 3), leaf(3)
    parts = paddle.split(x * y, 3, 1)
    found = graph(paddle.concat([parts[0], parts[2]], 1).sum())
    ops = [n.op for n in found]
    assert ops == ["sum", "concat", "split_with_num", "multiply", "accumulation", "accumulation"]
    concat = found.nodes[1]
    assert concat.slots_in == [2] and [(e.slot, e.rank, e.target_slot, e.target_rank) for e in concat.edges] == [
        (0, 0, 0, 0),
        (0, 1, 0, 2),
    ]
    assert [(s.name, s.shape, s.nbytes) for s in found.nodes[3].saved] == [("x", (2, 3), 24), ("y", (3,), 12)]
    assert found.nodes[2].in_degree == 2 and found.nodes[2].slots_out == [3]
    assert len(found.leaves) == 2 and found.nbytes == 36
    assert found[found.roots[0]] is found.nodes[0] and found.nodes[3].depth == 3


def test_text_folds_a_loop_and_says_the_line() -> None:
    text = str(graph(network()))
    assert text.startswith("backward graph: ") and "repeated 5 times:" in text
    assert "add -> multiply" in text and "tanh" in text and f"{__file__}:" in text
    assert "6 leaves" in text
    assert len(text.split("\n")) < 16


def test_released_nodes_are_marked() -> None:
    loss = network()
    loss.backward()
    assert "[released]" in str(graph(loss)) and graph(loss).nbytes == 0


def test_a_hundred_thousand_nodes() -> None:
    y = leaf(1)
    for _ in range(50_000):
        y = y * 1.0 + 0.5
    found = graph(y)
    assert len(found) == 100_001
    assert "(add -> multiply) x 50000 -> leaf float32[1]" in str(found)
    assert found.to_dot().count("->") <= 2


def test_dot_json_and_modules(tmp_path: Path) -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    with record(with_statistics=False) as tape:
        loss = net(paddle.ones([1, 2])).sum()
    found = graph(loss, tape)
    assert found.nodes[1].module.endswith(net[1].full_name())
    assert f'label="relu  #1\\n{Path(__file__).name}:' in found.to_dot()
    assert net[0].full_name() in found.to_dot(fold="module")
    data = json.loads(found.to_json(tmp_path / "graph.json"))
    assert json.loads((tmp_path / "graph.json").read_text()) == data
    assert data["nodes"][0]["op"] == "sum" and data["nodes"][0]["line"]["file"] == __file__
    with pytest.raises(ValueError, match='fold: expected "line", "module" or "none", received \'x\''):
        found.to_dot(fold="x")


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_svg(tmp_path: Path) -> None:
    svg = graph(network()).to_svg(tmp_path / "graph.svg")
    assert svg.startswith("<svg") and "tanh" in svg and (tmp_path / "graph.svg").read_text() == svg
    assert graph(network())._repr_html_().startswith("<svg")


def test_without_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RuntimeError, match="expected Graphviz's program `dot` on the path, found none; install"):
        graph(network()).to_svg()
    assert graph(network())._repr_html_().startswith("<pre>backward graph")


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (3, TypeError, "graph: expected a Tensor or a non-empty list of Tensors, received int"),
        ([], TypeError, "received list"),
        (paddle.ones([1]), ValueError, "expected a tensor that needs a gradient, received one with stop_gradient=True"),
    ],
)
def test_wrong_arguments(value: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        graph(value)
