"""Everything that writes to a tensor's memory raises its version once, so that backward notices; and what is refused is not written."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wherry as paddle
from wherry.core.errors import PermissionDeniedError

nn, F = paddle.nn, paddle.nn.functional
ONES = np.ones((2, 3))


def leaf(values: object) -> paddle.Tensor:
    return paddle.to_tensor(np.asarray(values, np.float64), stop_gradient=False)


def indices(*values: int) -> paddle.Tensor:
    return paddle.to_tensor(np.array(values))


WRITERS: dict[str, Callable[[Any], Any]] = {
    "x[0]": lambda x: x.__setitem__(0, 5.0),
    "x[mask]": lambda x: x.__setitem__(x > 0, 5.0),
    "x[[]]": lambda x: x.__setitem__([], 5.0),
    "view of a view": lambda x: x[0][1:].zero_(),
    "setitem on a view": lambda x: x.T.__setitem__((0, slice(1)), 5.0),
    "detached alias": lambda x: x.detach().zero_(),
    "data": lambda x: x.data.zero_(),
    "Tensor(x)": lambda x: paddle.Tensor(x).zero_(),
    "view in another dtype": lambda x: x.view("int64").zero_(),
    "set_value": lambda x: x.set_value(ONES),
    "copy_": lambda x: x.copy_(paddle.ones([3])),
    "assign": lambda x: paddle.assign(ONES, x),
    "full(out=)": lambda x: paddle.full([2, 3], 1.0, out=x),
    "outer(out=)": lambda x: paddle.outer(x[:, 0], x[0], out=x),
    "initializer": lambda x: nn.initializer.Constant(2.0)(x),
    "vector_to_parameters": lambda x: nn.utils.vector_to_parameters(paddle.ones([6], "float64"), [x]),
    "_bump_inplace_version": lambda x: x._bump_inplace_version(),
    "relu_": F.relu_,
    "softmax_": F.softmax_,
    "random_": lambda x: x.random_(0, 5),
    "uniform_": lambda x: x.uniform_(),
    "normal_": lambda x: x.normal_(),
    "exponential_": lambda x: x.exponential_(),
    "bernoulli_": lambda x: x.bernoulli_(),
    "bernoulli_ of a tensor": lambda x: x.bernoulli_(paddle.to_tensor(ONES / 2)),
    "geometric_": lambda x: x.geometric_(0.5),
    "cauchy_": lambda x: x.cauchy_(),
    "log_normal_": lambda x: x.log_normal_(),
    "fill_diagonal_": lambda x: x.fill_diagonal_(1.0),
    "fill_diagonal_tensor_": lambda x: x.fill_diagonal_tensor_(paddle.ones([2])),
    "index_put_": lambda x: x.index_put_((indices(0),), paddle.ones([3], "float64")),
    "index_fill_": lambda x: x.index_fill_(indices(0), 0, 1.0),
    "put_along_axis_": lambda x: x.put_along_axis_(indices(0).reshape([1, 1]), 1.0, 1),
    "scatter_": lambda x: x.scatter_(indices(0), paddle.ones([1, 3], "float64")),
    "reshape_": lambda x: x.reshape_([3, 2]),
    "cast_ to its own dtype": lambda x: x.cast_("float64"),
    "dlpack": lambda x: paddle.utils.dlpack.from_dlpack(x.detach()).zero_(),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_writer_raises_the_version_once_and_backward_notices(name: str) -> None:
    x = leaf(ONES)
    loss = (x * x).sum()
    assert x.inplace_version == x._inplace_version() == 0
    with paddle.no_grad():
        WRITERS[name](x)
    assert x.inplace_version == x._inplace_version() == 1 and x.is_leaf
    with pytest.raises(RuntimeError, match="expected version 0, received version 1") as refused:
        loss.backward()
    assert refused.value.args[0].count("test_versions.py") == 2
    assert x.grad is None


OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    name: lambda parameters, name=name: getattr(paddle.optimizer, name)(learning_rate=0.1, parameters=parameters)
    for name in ("SGD", "Momentum", "Adam", "AdamW", "Adamax", "Adagrad", "Adadelta", "RMSProp", "Lamb")
}


def test_every_optimizer_is_here() -> None:
    made = {n for n in dir(paddle.optimizer) if isinstance(getattr(paddle.optimizer, n), type)} - {"Optimizer"}
    assert made == set(OPTIMIZERS)


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_an_optimizer_step_writes_parameters_and_state_once(name: str, dtype: str) -> None:
    parameters = [paddle.create_parameter([2, 3], dtype) for _ in range(3)]
    optimizer = OPTIMIZERS[name](parameters)
    if dtype == "float16":
        optimizer._multi_precision = True
    first = [p.inplace_version for p in parameters]
    losses = []
    for count in range(1, 4):
        losses = [(p * p).sum() for p in parameters]
        for p in parameters:
            (p * 3.0).sum().backward()
        before = {k: t.inplace_version for k, t in optimizer.state_dict().items() if isinstance(t, paddle.Tensor)}
        optimizer.step()
        assert [p.inplace_version for p in parameters] == [v + count for v in first]
        for k, t in optimizer.state_dict().items():
            # Moments of several parameters may lie in one vector, which is written once.
            if k in before and isinstance(t, paddle.Tensor):
                assert t.inplace_version > before[k], k
    for loss in losses:
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()


def test_running_statistics_are_written_once_a_call() -> None:
    layer = nn.BatchNorm1D(3)
    kept = (layer._mean * leaf(np.ones(3)).astype("float32")).sum()
    statistics = (layer._mean, layer._variance)
    first = [t.inplace_version for t in statistics]
    for count in (1, 2):
        layer(paddle.rand([4, 3]))
        assert [t.inplace_version for t in statistics] == [v + count for v in first]
    layer.eval()
    layer(paddle.rand([4, 3]))
    assert [t.inplace_version for t in statistics] == [v + 2 for v in first]
    with pytest.raises(RuntimeError, match="changed by update_running_ at"):
        kept.backward()


def test_loading_a_state_raises_versions(tmp_path: Path) -> None:
    layer = nn.Linear(2, 3)
    first = [p.inplace_version for p in layer.parameters()]
    layer.set_state_dict(layer.state_dict())
    assert [p.inplace_version for p in layer.parameters()] == [v + 1 for v in first]
    paddle.save(layer.state_dict(), str(tmp_path / "state"))
    layer.set_state_dict(paddle.load(str(tmp_path / "state")))
    assert [p.inplace_version for p in layer.parameters()] == [v + 2 for v in first]


def test_gradients_count_their_writes() -> None:
    x = leaf([1.0])
    (x * 2.0).backward()
    assert x.grad.inplace_version == 0
    (x * 2.0).backward()
    x.clear_grad()
    assert x.grad.inplace_version == 2
    x._reset_grad_inplace_version()
    assert x.grad.inplace_version == 2
    x._reset_grad_inplace_version(True)
    assert x.grad.inplace_version == 0 and x.inplace_version == 0
    leaf([1.0])._reset_grad_inplace_version(True)


def test_the_version_cannot_be_set() -> None:
    with pytest.raises(AttributeError):
        leaf([1.0]).inplace_version = 3


def test_aliases_have_one_version_and_copies_their_own() -> None:
    x = paddle.ones([2, 3])
    aliases = [x[0], x.T, x.reshape([6]), x.detach(), x.detach()[1], x.unbind(0)[0], x.view("int32")]
    copies = [x.clone(), x + 0.0, paddle.to_tensor(x), x.astype("float64")]
    aliases[4].zero_()
    assert [a.inplace_version for a in [x, *aliases]] == [1] * 8
    assert [c.inplace_version for c in copies] == [0] * 4
    # A view that is made later begins with the count of its memory.
    assert x[1:].inplace_version == 1


def test_a_tensor_that_moves_goes_on_counting() -> None:
    x = paddle.ones([2, 3]).T
    x.add_(paddle.ones([3, 2]))
    x.reshape_([2, 3])
    assert x.inplace_version == 2
    x.cast_("float64")
    assert x.inplace_version == 3


def test_what_was_saved_before_a_tensor_moved_is_still_right() -> None:
    x = leaf([1.0, 2.0])
    y = x * 1.0
    z = y * y
    y.cast_("float32")
    y.zero_()
    z.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_a_change_of_shape_counts_as_in_paddle() -> None:
    y = leaf([1.0, 2.0]) * 1.0
    z = y * y
    y.reshape_([2, 1])
    with pytest.raises(RuntimeError, match=r"changed by reshape_ at"):
        z.sum().backward()


def test_assign_into_a_tensor_is_recorded() -> None:
    x, old = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    output = old * 1.0
    assert paddle.assign(x * 2.0, output) is output and output.tolist() == [2.0, 4.0]
    (output * 3.0).sum().backward()
    assert x.grad.tolist() == [6.0, 6.0] and old.grad.tolist() == [0.0, 0.0]
    narrow = paddle.zeros([2], "float32")
    paddle.assign(x, narrow)
    assert narrow.dtype is paddle.float32 and not narrow.stop_gradient
    target = leaf([0.0, 0.0])
    assert paddle.assign(np.ones(2), target) is target and target.is_leaf and target.tolist() == [1.0, 1.0]
    product = paddle.zeros([2, 2], "float64")
    paddle.outer(x, x, out=product).sum().backward()
    assert x.grad.tolist() == [12.0, 12.0]


REFUSALS: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "leaf": (lambda x: x.add_(x), PermissionDeniedError, "add_: expected a tensor that is not a leaf"),
    "leaf, setitem": (lambda x: x.__setitem__(0, 1.0), PermissionDeniedError, "setitem: expected a tensor that is not a leaf"),
    "view of a leaf": (lambda x: x[0].zero_(), PermissionDeniedError, "no view of a leaf"),
    "assign": (lambda x: paddle.assign(x * 1.0, x), PermissionDeniedError, "not a leaf"),
    "assign, shape": (lambda x: paddle.assign(np.ones(4), x), ValueError, r"data's shape \[4\], received \[2, 3\]"),
    "set_value, shape": (lambda x: x.set_value(np.ones(4)), ValueError, r"shape \[2, 3\], received \[4\]"),
    "set_value, dtype": (lambda x: x.set_value(np.ones((2, 3), "float32")), TypeError, "float64, received float32"),
    "copy_": (lambda x: x.copy_(paddle.ones([4])), ValueError, "broadcasts"),
    "initializer": (lambda x: nn.initializer.Assign(np.ones(4))(x), ValueError, "4"),
}  # fmt: skip
IN_PLACE_REFUSALS: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "shape": (lambda x: x.add_(paddle.ones([4, 2, 3])), ValueError, r"shape \[2, 3\] to write into x, received \[4, 2, 3\]"),
    "dtype": (lambda x: x.add_(paddle.ones([3], "complex64")), TypeError, "fits the dtype float64.*received complex64"),
    "index_add_": (lambda x: x.index_add_(indices(0, 5), 0, paddle.ones([2, 3], "float64")), IndexError, "5"),
    "index_put_": (lambda x: x.index_put_((indices(0, 7),), paddle.ones([2, 3], "float64")), IndexError, "7"),
    "index_fill_": (lambda x: x.index_fill_(indices(0, 9), 1, 1.0), IndexError, "9"),
    "put_along_axis_": (lambda x: x.put_along_axis_(indices(0, 3).reshape([1, 2]), 1.0, 1), IndexError, "3"),
    "put_along_axis_, add": (
        lambda x: x.put_along_axis_(indices(0, 3).reshape([1, 2]), 1.0, 1, "add"), IndexError, "3",
    ),
    "scatter_": (lambda x: x.scatter_(indices(0, 4), paddle.ones([2, 3], "float64")), IndexError, "4"),
    "scatter_, add": (lambda x: x.scatter_(indices(0, 4), paddle.ones([2, 3], "float64"), False), IndexError, "4"),
    "scatter_add_": (
        lambda x: x.scatter_add_(0, paddle.to_tensor([[0, 0, 6]]), paddle.ones([1, 3], "float64")), IndexError, "6",
    ),
    "setitem, index": (lambda x: x.__setitem__(indices(0, 8), 1.0), IndexError, "8"),
    "setitem, second index": (lambda x: x.__setitem__((indices(0, 1), indices(0, 8)), 1.0), IndexError, "8"),
    "setitem, value": (lambda x: x.__setitem__(0, paddle.ones([4])), ValueError, r"\[3\]"),
    "setitem, mask": (lambda x: x.__setitem__(paddle.ones([3, 3]) > 0, 1.0), IndexError, r"\[2, 3\]"),
    "setitem, kind": (lambda x: x.__setitem__(0, "a"), TypeError, "str"),
    "masked_fill_": (lambda x: x.masked_fill_(paddle.ones([4]) > 0, 1.0), ValueError, "4"),
    "baddbmm_": (
        lambda x: x[None].baddbmm_(paddle.ones([2, 2, 3], "float64"), paddle.ones([2, 3, 3], "float64"), 0.5),
        ValueError, r"\[2, 2, 3\]",
    ),
    "lerp_": (lambda x: x.lerp_(paddle.ones([4, 2, 3], "float64"), 0.5), ValueError, r"\[4, 2, 3\]"),
    "clip_": (lambda x: x.clip_(paddle.ones([4, 2, 3], "float64")), ValueError, r"\[4, 2, 3\]"),
    "where_": (lambda x: paddle.where_(paddle.ones([4, 2, 3]) > 0, x, x), ValueError, r"\[4, 2, 3\]"),
    "reshape_": (lambda x: x.reshape_([4]), ValueError, "4"),
    "transpose_": (lambda x: x.transpose_([0, 0]), ValueError, "perm"),
    "squeeze_": (lambda x: x.squeeze_(5), ValueError, "axis"),
    "uniform_": (lambda x: x.uniform_(2.0, 1.0), ValueError, "min"),
    "bernoulli_": (lambda x: x.bernoulli_(2.0), ValueError, "2.0"),
    "random_": (lambda x: x.random_(5, 2), ValueError, "5"),
    "resize_": (lambda x: x.resize_(4), TypeError, "list or tuple"),
    "set_": (lambda x: x.set_(x, [7]), ValueError, "7"),
    "expanded": (lambda x: x.reshape([1, 2, 3]).expand([2, 2, 3]).zero_(), PermissionDeniedError, "share memory"),
    "windows": (lambda x: x.unfold(1, 2, 1).zero_(), PermissionDeniedError, "share memory"),
    "expanded, setitem": (lambda x: x[None].expand([2, 2, 3]).__setitem__(0, 1.0), PermissionDeniedError, "share memory"),
    "expanded, set_value": (lambda x: x[0].expand([2, 3]).set_value(ONES), PermissionDeniedError, "share memory"),
}  # fmt: skip


@pytest.mark.parametrize("name", [*REFUSALS, *IN_PLACE_REFUSALS])
@pytest.mark.parametrize("needs_grad", [True, False])
def test_what_is_refused_is_not_written(name: str, needs_grad: bool) -> None:
    function, error, message = {**REFUSALS, **IN_PLACE_REFUSALS}[name]
    if name in REFUSALS:
        x = leaf(ONES)
    else:
        x = leaf(ONES) * 1.0 if needs_grad else paddle.to_tensor(ONES)
    node = x.grad_fn
    with pytest.raises(error, match=rf"(?s){message}"):
        function(x)
    np.testing.assert_array_equal(x.numpy(), ONES)
    assert x.inplace_version == 0 and x.grad_fn is node and x.shape == [2, 3] and x.dtype is paddle.float64
