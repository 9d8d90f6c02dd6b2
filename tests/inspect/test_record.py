"""record: why there is no gradient, what one is the sum of, where nan began, casts; bounded."""

import json
import math
import threading
from typing import Any

import numpy as np
import pytest

import wherry as paddle
from wherry.inspect import record, why_no_grad
from wherry.inspect.profile import trace_events, write_profile


def leaf(values: Any) -> paddle.Tensor:
    return paddle.to_tensor(values, stop_gradient=False)


def line(text: str) -> int:
    with open(__file__) as file:
        return next(n for n, source in enumerate(file, 1) if source.strip().endswith("# " + text))


def test_why_there_is_no_gradient() -> None:
    w, u, frozen, other, unused, kept = (leaf([1.0, 2.0]) for _ in range(6))
    whole, plain = paddle.ones([2], "int64"), paddle.ones([2])
    with record() as tape:
        cut = (w * 2.0).detach()  # cut by detach
        with paddle.no_grad():  # cut by no_grad
            c = u * 3.0
        frozen.stop_gradient = True  # frozen
        hard = other.argmax()  # no derivative
        loss = (cut * kept + c + frozen + hard.astype("float32") + plain).sum()
        loss.backward()
    answers = {
        name: tape.why_no_grad(t)
        for name, t in {"w": w, "u": u, "frozen": frozen, "other": other, "unused": unused}.items()
    }
    assert [a.kind for a in answers.values()] == ["cut", "cut", "stop_gradient", "cut", "not used"]
    assert answers["w"].because[0].kind == "detach" and answers["w"].because[0].line.line == line("cut by detach")
    assert answers["u"].because[0].kind == "no_grad" and answers["u"].because[0].line.line == line("cut by no_grad")
    assert answers["frozen"].line.line == line("frozen")
    assert answers["other"].because[0].kind == "no derivative" and answers["other"].because[0].line.line == line(
        "no derivative"
    )
    assert tape.why_no_grad(whole).kind == "dtype" and tape.why_no_grad(plain).kind == "default"
    assert tape.why_no_grad(kept).kind == "has gradient"
    assert tape.why_no_grad(loss).kind == "not retained"
    inner = tape.why_no_grad(c)
    assert inner.kind == "no_grad" and "multiply" in inner.text
    assert "with paddle.no_grad():" in str(inner), "the source line is shown"


def test_without_a_recording_what_the_tensor_knows_is_said() -> None:
    assert why_no_grad(leaf([1.0])).kind == "no backward"
    assert why_no_grad(paddle.ones([1])).kind == "stop_gradient"
    with pytest.raises(TypeError, match="why_no_grad: expected a Tensor, received int"):
        why_no_grad(3)


def test_a_gradient_is_the_sum_of_its_terms() -> None:
    x = leaf([3.0])
    x.register_hook(lambda g: g * 10.0)
    with record() as tape:
        y = x * 2.0  # first way
        ((y * 5.0) + (x * x) + x).backward()
    found = tape.why_grad(x)
    assert sorted(term.statistics.maximum for term in found.terms) == [1.0, 3.0, 3.0, 10.0]
    largest = max(found.terms, key=lambda t: t.statistics.norm)
    assert largest.line.line == line("first way") and largest.path[0].startswith("add")
    assert found.total.maximum == 17.0 and "changed it to min 170" in found.hooks[0]
    assert str(found).startswith("the sum of 4 terms")
    assert tape.why_grad(y).terms[0].statistics.maximum == 5.0
    with record() as empty:
        pass
    with pytest.raises(ValueError, match="expected a recording with a backward pass"):
        empty.why_grad(x)


def test_the_first_nan_forward_and_backward() -> None:
    x = leaf([0.0, 4.0])
    with record() as tape:
        root = paddle.sqrt(x)
        root.sum().backward()
    found = tape.first_nonfinite()
    assert found.op == "sqrt" and found.backward and found.made_here and found.result.inf == 1
    assert any("x: float32[2]" in i for i in found.inputs)
    with record() as tape:
        y = paddle.log(x - 1.0)
        y.exp()
    found = tape.first_nonfinite()
    assert (found.op, found.backward, found.result.nan) == ("log", False, 1)
    with record() as tape:
        paddle.exp(x)
    assert tape.first_nonfinite() is None
    with record(with_statistics=False) as tape:
        pass
    with pytest.raises(ValueError, match="with_statistics=False"):
        tape.first_nonfinite()


def test_casts_and_promotions_say_who_asked() -> None:
    x, y = leaf([1.0]), paddle.ones([1], "float64")
    with record() as tape:
        x + y
        x.astype("float64")
        with paddle.amp.auto_cast(dtype="bfloat16"):
            paddle.matmul(x, x)
    assert [c.op for c in tape.promotions()] == ["add"]
    assert [who for _, who in tape.casts()] == ["promotion in add", "the program", "AMP in matmul", "AMP in matmul"]


def test_hooks_deliveries_and_order() -> None:
    x = leaf([1.0])
    y = x * 2.0
    y.register_hook(lambda g: g * 3.0)
    y.register_hook(lambda g: None)
    with record() as tape:
        (y + y).backward()
    add, multiply, accumulate = tape.passes[0].nodes
    assert [(d.remaining, d.target) for d in add.deliveries] == [(1, multiply.node), (0, multiply.node)]
    assert [h.changed for h in multiply.hooks] == [True, False] and multiply.hooks[0].after.maximum == 6.0
    assert multiply.in_degree == 2 and accumulate.leaf == "" and accumulate.arrived[0].maximum == 12.0
    assert all(a.index < b.index for a, b in zip(tape.passes[0].nodes, list(tape.passes[0].nodes)[1:]))


def test_the_tape_is_bounded_and_holds_no_tensor() -> None:
    x = leaf(np.zeros(1000, "float32"))
    with record(limit=20) as tape:
        for _ in range(100):
            x = x * 1.0
    assert (len(tape.calls), tape.calls.total, tape.calls.dropped) == (20, 100, 80)
    indices = [c.index for c in tape.calls]
    assert indices[:10] == list(range(indices[0], indices[0] + 10)) and indices[-1] - indices[10] == 9
    with record() as tape:
        y = paddle.ones([1000])
        del y
    assert tape.memory_track[-1][1] == 0 and max(n for _, n in tape.memory_track) == 4000


def test_only_this_thread_and_nested_recordings() -> None:
    x = leaf([1.0])
    with record() as outer:
        with record() as inner:
            x * 2.0
        thread = threading.Thread(target=lambda: x * 3.0)
        thread.start()
        thread.join()
        x + 1.0
    assert [c.op for c in inner.calls] == ["multiply"] and [c.op for c in outer.calls] == ["multiply", "add"]


def test_as_json_and_as_a_trace(tmp_path: Any) -> None:
    x = leaf([math.inf, 1.0])
    with record() as tape:
        (x * x).sum().backward()
    data = json.loads(json.dumps(tape.to_dict(), allow_nan=False))
    assert data["calls"]["items"][0]["inputs"][0]["given"]["statistics"]["inf"] == 1
    events = trace_events(tape)
    names = {e["args"]["name"] for e in events if e["ph"] == "M"}
    assert names == {"forward", "kernels", "backward"}
    assert {e["name"] for e in events if e["ph"] == "X"} >= {
        "multiply",
        "sum",
        "backward",
        "multiply backward",
        "accumulate ",
    }
    assert all(e["ts"] >= 0 and e["dur"] >= 0 for e in events if e["ph"] == "X")
    assert any(e["ph"] == "C" for e in events)
    write_profile(tape, tmp_path / "trace.json")
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
