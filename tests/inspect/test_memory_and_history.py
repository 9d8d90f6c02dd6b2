"""memory, leaks, inplace_history and check_complex."""

import gc
from typing import Any

import numpy as np
import pytest

import wherry as paddle
from wherry import nn
from wherry.autograd import PyLayer
from wherry.inspect import check_complex, inplace_history, leaks, memory

KEPT: list[Any] = []


def leaf(*shape: int) -> paddle.Tensor:
    x = paddle.ones(list(shape))
    x.stop_gradient = False
    return x


def found_for(shape: tuple[int, ...]) -> Any:
    return next(s for s in memory().storages if s.shape == shape)


def test_who_made_it_and_who_holds_it() -> None:
    net = nn.Linear(13, 17)
    x = leaf(11, 13)
    out = net(x)
    y = paddle.exp(out)
    big = paddle.ones([19, 23])
    y.register_hook(lambda g: g * big.sum())
    y.sum().backward(retain_graph=True)
    table = {"inner": [leaf(29, 3)]}
    exp = found_for((11, 17))
    texts = [h.text for s in memory().storages if s.shape == (11, 17) for h in s.holders]
    assert any("saved as out for the backward of exp" in t for t in texts)
    assert any(t.startswith("variable y in test_who_made_it") for t in texts)
    assert exp.op in ("exp", "add") and exp.line.file == __file__
    of_weight = [h.text for s in memory().storages if s.shape == (13, 17) for h in s.holders]
    assert f"attribute _parameters['weight'] of Linear {net.full_name()}" in of_weight
    assert any(
        h.kind == "grad" and "linear" in h.text for s in memory().storages if s.shape == (13, 17) for h in s.holders
    )
    assert any(
        h.kind == "hook" and h.text.startswith("big in the closure of the hook") for h in found_for((19, 23)).holders
    )
    assert [h.text for h in found_for((29, 3)).holders] == [
        "variable table['inner'][0] in test_who_made_it_and_who_holds_it"
    ]
    assert "held by" in str(memory())
    assert len(table) == 1


def test_totals_by_line_and_holder_and_the_difference() -> None:
    gc.collect()
    before = memory()
    x = paddle.ones([100, 100])
    after = memory()
    assert after.total - before.total == 40_000
    assert any("variable x in" in text and size >= 40_000 for text, size in after.by_holder().items())
    change = after.now.diff(before.now)
    assert list(change.values()) == [40_000] and "held by variable x in" in next(iter(change))
    del x
    assert memory().total == before.total


def test_the_peak_and_what_was_alive_then() -> None:
    x = leaf(50, 50)
    with memory() as m:
        y = paddle.exp(x)  # made here
        z = y * y
        del z
        kept = y.sum()
    assert m.peak - m.now.total == 20_000 + 0 or m.peak - m.now.total == 20_004
    assert max(n for _, n in m.timeline) == m.peak
    assert any(f"{__file__}:" in text for text in m.peak_by_line)
    assert m.after is not None and sum(m.diff.values()) == m.after.total - m.now.total
    assert str(m).startswith("peak ") and kept.shape == []


def test_leaks_names_what_grows() -> None:
    x = leaf(20, 20)
    KEPT.clear()

    def leaking() -> None:
        KEPT.append(paddle.exp(x))

    def clean() -> None:
        paddle.exp(x).sum().backward()
        x.clear_grad()

    found = leaks(leaking, 4)
    assert found and found.bytes_per_run == 1600
    assert all("made by exp at" in text and "variable KEPT[...] of module" in text for text in found.growing)
    assert str(found).startswith("each run leaves 1.6 KiB behind:")
    assert not leaks(clean, 4) and str(leaks(clean, 3)) == "nothing grows over 3 runs"
    KEPT.clear()


def test_reading_the_heap_changes_no_lifetime() -> None:
    def holder() -> None:
        inner = paddle.ones([77, 3])
        assert found_for((77, 3)).holders[0].text.startswith("variable inner in")
        del inner

    gc.collect()
    gc.disable()
    try:
        holder()
        assert not [s for s in memory().storages if s.shape == (77, 3)]
    finally:
        gc.enable()


def test_inplace_history() -> None:
    x = leaf(3)
    a = x * 2.0
    b = a * a
    view = a[0]
    alias = a.detach()
    a.add_(paddle.ones([3]))
    alias.scale_(2.0)
    found = inplace_history(a)
    assert found.version == 2 and [(w.version, w.op) for w in found.writes] == [(1, "add_"), (2, "scale_")]
    assert [(s.op, s.name, s.expected, s.valid) for s in found.savers] == [
        ("multiply", "x", 0, False),
        ("multiply", "y", 0, False),
    ]
    assert sorted(a.kind for a in found.aliases) == [
        "a view of it (getitem_basic)",
        "an alias without history (detach)",
    ]
    assert "WRITTEN SINCE: backward of multiply will refuse" in str(found) and f"add_ at {__file__}" in str(found)
    assert inplace_history(paddle.ones([1])).version == 0
    assert view.shape == [] and b.shape == [3]
    with pytest.raises(TypeError, match="inplace_history: expected a Tensor, received list"):
        inplace_history([])


class Square(PyLayer):
    rule: Any = None

    @staticmethod
    def forward(ctx: Any, z: Any) -> Any:
        ctx.save_for_backward(z)
        return z * z

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return Square.rule(ctx.saved_tensor()[0], g)


@pytest.mark.parametrize(
    ("rule", "verdict"),
    [
        (lambda z, g: g * 2.0 * z.conj(), "right"),
        (lambda z, g: g * 2.0 * z, "conjugate missed"),
        (
            lambda z, g: paddle.complex((g * 2.0 * z.conj()).real(), paddle.zeros([2], "float64")),
            "imaginary part dropped",
        ),
        (lambda z, g: paddle.complex(paddle.zeros([2], "float64"), (g * 2.0 * z.conj()).imag()), "real part dropped"),
        (lambda z, g: g * 3.0 * z.conj(), "wrong"),
    ],
)
def test_both_wirtinger_derivatives(rule: Any, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Square, "rule", staticmethod(rule))
    z = paddle.to_tensor(np.array([1 + 2j, 3 - 1j]), stop_gradient=False)
    found = check_complex(Square.apply, z)
    assert [c.verdict for c in found] == [verdict] and bool(found) == (verdict == "right")
    assert found[0].holomorphic is True
    np.testing.assert_allclose(found[0].dzbar, found[0].expected / 2)
    np.testing.assert_allclose(found[0].dz, np.conj(found[0].dzbar))
    assert f"input 0: {verdict}" in str(found) and "held by backward" in str(found)


def test_functions_that_are_not_holomorphic() -> None:
    z = paddle.to_tensor(np.array([1 + 2j, 3 - 1j]), stop_gradient=False)
    assert check_complex(lambda z: z * z.conj(), z)[0].holomorphic is False
    found = check_complex(lambda z: z.abs().sum(), z)
    assert found and found[0].holomorphic is None
    # L = v * sum |z| with a random v: the gradient is v z / |z|.
    ratio = found[0].held / (z.numpy() / np.abs(z.numpy()))
    np.testing.assert_allclose(ratio, ratio[0].real)
    with pytest.raises(ValueError, match="expected an input of dtype complex128"):
        check_complex(paddle.abs, paddle.ones([2]))
