"""ctc_loss, rnnt_loss, sequence_mask and gather_tree: reductions, lengths, refusals; the values are in tests/op_table/sequence.py."""

from typing import Any

import numpy as np
import pytest

import wherry as paddle
from tests.op_table import sequence
from wherry.autograd.gradcheck import gradcheck, gradgradcheck
from wherry.nn import functional as F

LABELS = np.array([[1, 2], [1, 1], [2, 0]], "int32")
STEPS = np.array([4, 4, 3])
COUNTS = np.array([2, 2, 1])


def leaf(*shape: int, dtype: str = "float64") -> paddle.Tensor:
    values = np.random.default_rng(sum(shape)).standard_normal(shape)
    return paddle.to_tensor(values, dtype=dtype, stop_gradient=False)


def tensors(*arrays: Any) -> list[paddle.Tensor]:
    return [paddle.to_tensor(a) for a in arrays]


def ctc(x: paddle.Tensor, **settings: Any) -> paddle.Tensor:
    return F.ctc_loss(x, *tensors(LABELS, STEPS, COUNTS), **settings)


def test_reductions_of_ctc() -> None:
    x = leaf(4, 3, 3)
    each = sequence.warpctc(x.numpy(), LABELS, STEPS, COUNTS)[:, 0]
    np.testing.assert_allclose(ctc(x, reduction="none").numpy(), each, rtol=1e-12)
    np.testing.assert_allclose(ctc(x, reduction="sum").numpy(), each.sum(), rtol=1e-12)
    np.testing.assert_allclose(ctc(x).numpy(), (each / COUNTS).mean(), rtol=1e-12)


def test_norm_by_times_divides_the_gradient_alone() -> None:
    x = leaf(4, 3, 3)
    plain, normed = ctc(x, reduction="sum"), ctc(x, reduction="sum", norm_by_times=True)
    assert plain.item() == normed.item()
    (a,), (b,) = paddle.grad(plain, [x]), paddle.grad(normed, [x])
    np.testing.assert_allclose(b.numpy(), a.numpy() / STEPS[:, None], rtol=1e-13)


def test_too_few_steps_count_nothing() -> None:
    x = leaf(4, 2, 4)
    label = np.array([[1, 2, 3], [3, 3, 3]])
    loss = F.ctc_loss(x, *tensors(label, np.array([2, 4]), np.array([3, 3])), reduction="none")
    assert loss.tolist() == [0.0, 0.0]
    assert not paddle.grad(loss.sum(), [x])[0].numpy().any()


def test_labels_of_probability_0() -> None:
    x = leaf(2, 1, 3)
    hidden = paddle.where(paddle.to_tensor([False, True, False]), paddle.full_like(x, -np.inf), x)
    args = tensors(np.array([[1]]), np.array([2]), np.array([1]))
    assert F.ctc_loss(hidden, *args, reduction="none").tolist() == [np.inf]
    loss = F.ctc_loss(hidden, *args, reduction="none", zero_infinity=True)
    assert loss.tolist() == [0.0]
    assert not paddle.grad(loss.sum(), [x])[0].numpy().any()


def test_logits_of_a_thousand_and_many_steps_stay_exact() -> None:
    x = paddle.to_tensor(np.array([[[0.0, 1000.0]], [[0.0, 1000.0]]]), stop_gradient=False)
    args = tensors(np.array([[1, 1]]), np.array([2]), np.array([2]))
    assert F.ctc_loss(x, *args).item() == 0.0  # Two equal labels need a blank between them.
    one = F.ctc_loss(x, *tensors(np.array([[1]]), np.array([2]), np.array([0])), reduction="none")
    assert one.tolist() == [2000.0]
    long = paddle.zeros([500, 1, 4])
    value = F.ctc_loss(long, *tensors(np.zeros((1, 0), "int64"), np.array([500]), np.array([0])), reduction="sum")
    np.testing.assert_allclose(value.item(), 500 * np.log(4.0), rtol=1e-6)


def test_float32_is_as_exact_as_its_digits() -> None:
    wide, narrow = leaf(60, 2, 5), leaf(60, 2, 5, dtype="float32")
    args = tensors(np.array([[1, 2, 3, 3], [4, 4, 1, 0]]), np.array([60, 50]), np.array([4, 3]))
    a, b = (paddle.grad(F.ctc_loss(x, *args), [x])[0].numpy() for x in (wide, narrow))
    np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-7)


def test_derivatives_of_ctc_to_second_order() -> None:
    x = leaf(4, 3, 3)
    assert gradcheck(lambda x: ctc(x, reduction="none"), [x])
    assert gradgradcheck(lambda x: ctc(x), [x])


def test_a_third_derivative_is_refused() -> None:
    x = leaf(4, 3, 3)
    (first,) = paddle.grad(ctc(x), [x], create_graph=True)
    (second,) = paddle.grad((first * first).sum(), [x], create_graph=True)
    with pytest.raises(NotImplementedError, match="the third derivative of this loss is not supported"):
        second.sum().backward()


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"blank": 3}, ValueError, "expected a blank in [0, 3), received 3"),
        ({"reduction": "all"}, ValueError, "ctc_loss: expected reduction 'mean', 'sum' or 'none', received 'all'"),
        ({"labels": np.array([[1, 3], [1, 1], [1, 1]])}, ValueError, "expected labels in [0, 3), received 3"),
        ({"labels": np.array([[1, 2]])}, ValueError, "expected labels of shape [3, most labels], received [1, 2]"),
        ({"labels": np.ones((3, 2))}, TypeError, "expected integer labels, received float64"),
        ({"input_lengths": np.array([5, 4, 4])}, ValueError, "expected input_lengths in [0, 4], received 5"),
        ({"input_lengths": np.array([4, 4])}, ValueError, "expected input_lengths of shape [3], received [2]"),
        ({"label_lengths": np.array([-1, 2, 2])}, ValueError, "expected label_lengths in [0, 2], received -1"),
        ({"log_probs": np.zeros((4, 3), "float32")}, ValueError, "expected logits of shape [steps, batch, classes]"),
        (
            {"log_probs": np.zeros((4, 3, 3), "float16")},
            NotImplementedError,
            "registered are kernels for float32, float64",
        ),
    ],
)
def test_ctc_refuses(change: dict[str, Any], error: type, text: str) -> None:
    settings: dict[str, Any] = {
        "log_probs": np.zeros((4, 3, 3)),
        "labels": LABELS,
        "input_lengths": STEPS,
        "label_lengths": COUNTS,
    } | change
    call = {k: paddle.to_tensor(v) if isinstance(v, np.ndarray) else v for k, v in settings.items()}
    with pytest.raises(error) as caught:
        F.ctc_loss(**call)
    assert text in str(caught.value)


RNNT = (np.array([[1, 2], [2, 2], [1, 0]], "int32"), np.array([3, 3, 2], "int32"), np.array([2, 2, 1], "int32"))


def test_reductions_of_rnnt() -> None:
    x = leaf(3, 3, 3, 3)
    each = sequence.warprnnt(x.numpy(), *RNNT)
    settings = {"fastemit_lambda": 0.0}
    np.testing.assert_allclose(F.rnnt_loss(x, *tensors(*RNNT), reduction="none", **settings).numpy(), each, rtol=1e-12)
    np.testing.assert_allclose(F.rnnt_loss(x, *tensors(*RNNT), reduction="sum").numpy(), each.sum(), rtol=1e-12)
    np.testing.assert_allclose(F.rnnt_loss(x, *tensors(*RNNT)).numpy(), each.mean(), rtol=1e-12)


def test_fastemit_enlarges_gradients_of_labels_alone() -> None:
    x = leaf(3, 3, 3, 3)
    grads = [
        paddle.grad(F.rnnt_loss(x, *tensors(*RNNT), fastemit_lambda=v, reduction="sum"), [x])[0].numpy()
        for v in (0.0, 0.5)
    ]
    np.testing.assert_allclose(grads[1], sequence.emitted(grads[0], RNNT[0], 0.5, 0), rtol=1e-13)
    assert (grads[1] != grads[0]).any()


def test_derivatives_of_rnnt_to_second_order() -> None:
    x = leaf(3, 3, 3, 3)
    assert gradcheck(lambda x: F.rnnt_loss(x, *tensors(*RNNT), fastemit_lambda=0.0, reduction="none"), [x])
    assert gradgradcheck(lambda x: F.rnnt_loss(x, *tensors(*RNNT), fastemit_lambda=0.0), [x])


def test_a_label_that_is_the_blank() -> None:
    x = leaf(1, 3, 2, 2)
    args = tensors(np.array([[0]]), np.array([3]), np.array([1]))
    assert gradcheck(lambda x: F.rnnt_loss(x, *args, fastemit_lambda=0.0), [x])


def test_rnnt_refuses() -> None:
    x = paddle.zeros([3, 3, 2, 3])
    with pytest.raises(ValueError, match=r"expected input with one place more than labels, 3, on axis 2"):
        F.rnnt_loss(x, *tensors(*RNNT))
    with pytest.raises(ValueError, match=r"expected input of shape \[batch, steps, labels \+ 1, classes\]"):
        F.rnnt_loss(x[0], *tensors(*RNNT))
    with pytest.raises(ValueError, match=r"expected input_lengths in \[0, 2\], received 3"):
        F.rnnt_loss(paddle.zeros([3, 2, 3, 3]), *tensors(*RNNT))
    with pytest.raises(ValueError, match="rnnt_loss: expected reduction"):
        F.rnnt_loss(x, *tensors(*RNNT), reduction="all")


def mask(lengths: Any, dtype: str = "int64", **settings: Any) -> Any:
    out = F.sequence_mask(paddle.to_tensor(np.array(lengths, dtype)), **settings)
    assert out.stop_gradient
    return out


def test_masks_of_lengths() -> None:
    assert mask([1, 3]).tolist() == [[1, 0, 0], [1, 1, 1]]
    assert F.sequence_mask(paddle.to_tensor([[1, 3]]), 2, "bool").tolist() == [[[True, False], [True, True]]]
    assert mask(2).tolist() == [1, 1]
    assert mask([1.5, 2.0], "float32").tolist() == [[1, 1], [1, 1]]
    assert mask([-1, 2]).tolist() == [[0, 0], [1, 1]]
    assert mask([1, 2], maxlen=-3).tolist() == [[1, 0], [1, 1]]
    assert mask([1, 2], maxlen=paddle.to_tensor([3])).tolist() == [[1, 0, 0], [1, 1, 0]]
    assert mask([0, 0]).shape == [2, 0]
    assert mask(np.zeros(0)).shape == [0, 0]
    assert mask(np.zeros(0), maxlen=3).shape == [0, 3]
    assert F.sequence_mask(paddle.to_tensor([1, 2]), dtype="float64").dtype == paddle.float64


def test_beams_refuse() -> None:
    ids = paddle.zeros([2, 1, 2], dtype="int64")
    with pytest.raises(ValueError, match=r"expected parents in \[0, 2\), received 7"):
        F.gather_tree(ids, paddle.full([2, 1, 2], 7, dtype="int64"))
    with pytest.raises(TypeError, match="expected ids and parents of one dtype, received int64 and int32"):
        F.gather_tree(ids, paddle.zeros([2, 1, 2], dtype="int32"))
    with pytest.raises(ValueError, match=r"of one shape \[steps, batch, beams\]"):
        F.gather_tree(ids, paddle.zeros([2, 1, 3], dtype="int64"))
    with pytest.raises(NotImplementedError, match="registered are kernels for int32, int64"):
        F.gather_tree(paddle.zeros([2, 1, 2]), ids)


def test_the_layers_call_the_functions() -> None:
    x, y = leaf(4, 3, 3), leaf(3, 3, 3, 3)
    args = tensors(LABELS, STEPS, COUNTS)
    assert paddle.nn.CTCLoss(0, "sum")(x, *args).item() == ctc(x, reduction="sum").item()
    layer = paddle.nn.RNNTLoss(reduction="sum")
    assert layer(y, *tensors(*RNNT)).item() == F.rnnt_loss(y, *tensors(*RNNT), reduction="sum").item()
