"""Losses for many classes, by trees and by clusters of them. Source: paddle.nn.functional."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from wherry import _C_ops
from wherry.nn.functional.common import linear
from wherry.tensor.tensor import Tensor, tensor_from_array

__all__ = ["adaptive_log_softmax_with_loss", "hsigmoid_loss"]


def _default_paths(labels: Any, classes: int) -> tuple[Any, Any]:
    """The inner nodes from the root's side on, and which way they turn, of a complete binary tree; -1 beyond a path's end."""
    wrong = (labels < 0) | (labels >= classes)
    if wrong.any():
        raise ValueError(f"hsigmoid_loss: expected labels in [0, {classes}), received {int(labels[wrong][0])}")
    places = labels + classes
    bits = np.arange(int(classes - 1).bit_length())
    parents = (places[:, None] >> (bits + 1)) - 1
    return parents, np.where(parents >= 0, (places[:, None] >> bits) & 1, -1)


def _custom_paths(path_table: Tensor | None, path_code: Tensor | None, batch: int, nodes: int) -> tuple[Any, Any]:
    if path_table is None or path_code is None:
        raise ValueError("hsigmoid_loss: expected path_table and path_code, or neither of them")
    table, code = path_table.impl.array, path_code.impl.array
    if table.ndim != 2 or table.shape != code.shape or table.shape[0] != batch:
        raise ValueError(
            f"hsigmoid_loss: expected path_table and path_code of shape [{batch}, longest path], received {list(table.shape)} and "
            f"{list(code.shape)}"
        )
    # A path ends at its first negative node.
    table = np.where(np.logical_and.accumulate(table >= 0, axis=1), table, -1)
    if table.size and table.max() >= nodes:
        raise ValueError(f"hsigmoid_loss: expected nodes below {nodes} in path_table, received {int(table.max())}")
    return table, code


def hsigmoid_loss(
    input: Tensor,
    label: Tensor,
    num_classes: int,
    weight: Tensor,
    bias: Tensor | None = None,
    path_table: Tensor | None = None,
    path_code: Tensor | None = None,
    is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Cross entropy of the turns on the way from the root of a binary tree of classes to the label.

    input: [batch, width]; label: integers [batch] or [batch, 1]; weight: [nodes, width], bias: [nodes] or [nodes, 1], where a complete tree has num_classes - 1
    nodes. path_table, path_code [batch, longest path]: the nodes and turns of a tree of your own, negative beyond a path's end. As in Paddle each place that a
    path lacks to the longest counts log(2). is_sparse: has no effect on values; gradients are dense. Returns [batch, 1]. Raises ValueError for
    labels, nodes or shapes that do not fit. Source: paddle.nn.functional.hsigmoid_loss.
    """
    if num_classes < 2:
        raise ValueError(f"hsigmoid_loss: expected num_classes of at least 2, received {num_classes}")
    if input.ndim != 2 or weight.ndim != 2 or input.shape[1] != weight.shape[1]:
        raise ValueError(
            "hsigmoid_loss: expected input [batch, width] and weight [nodes, width], received "
            f"{list(input.shape)} and {list(weight.shape)}"
        )
    batch, width = input.shape
    nodes = weight.shape[0]
    if label.size != batch:
        raise ValueError(f"hsigmoid_loss: expected {batch} labels, received {list(label.shape)}")
    if path_table is None and path_code is None:
        if nodes < num_classes - 1:
            raise ValueError(
                f"hsigmoid_loss: expected weights of {num_classes - 1} nodes for {num_classes} classes, received {nodes}"
            )
        table, code = _default_paths(label.impl.array.reshape(-1).astype(np.int64), num_classes)
    else:
        table, code = _custom_paths(path_table, path_code, batch, nodes)
    inside = table >= 0
    flat = tensor_from_array(np.where(inside, table, 0).astype(np.int64).reshape(-1))
    rows = _C_ops.reshape(_C_ops.gather(weight, flat, 0), (*table.shape, width))
    scores = _C_ops.sum(_C_ops.multiply(rows, _C_ops.unsqueeze(input, (1,))), (2,), None, False)
    if bias is not None:
        if bias.size != nodes:
            raise ValueError(f"hsigmoid_loss: expected a bias of {nodes} elements, received {list(bias.shape)}")
        picked = _C_ops.gather(_C_ops.reshape(bias, (nodes,)), flat, 0)
        scores = _C_ops.add(scores, _C_ops.reshape(picked, table.shape))
    scores = _C_ops.where(tensor_from_array(inside), scores, _C_ops.full_like(scores, 0.0))
    turns = tensor_from_array(np.where(inside, code != 0, 0).astype(scores.dtype.numpy))
    # log(1 + exp(s)) - turn * s, exact in both tails.
    tails = _C_ops.scale(_C_ops.logsigmoid(_C_ops.scale(scores, -1.0, 0.0, True)), -1.0, 0.0, True)
    return _C_ops.sum(_C_ops.subtract(tails, _C_ops.multiply(turns, scores)), (1,), None, True)


def adaptive_log_softmax_with_loss(
    input: Tensor,
    label: Tensor,
    head_weight: Tensor,
    tail_weights: Sequence[Sequence[Tensor]],
    cutoffs: Sequence[int],
    head_bias: Tensor | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Log-probabilities of labels where rare classes lie in clusters (Grave et al., 2017), and the mean loss.

    input: [batch, in_features], label: integers [batch] (or [in_features] and 0-D). head_weight: [in_features, cutoffs[0] + clusters]; tail_weights: two
    matrices for each cluster, [in_features, width] and [width, classes]. cutoffs: where each cluster ends; the last is the number of classes. Raises
    ValueError for shapes that do not fit or labels outside the classes. Source: paddle.nn.functional.adaptive_log_softmax_with_loss.
    """
    title = "adaptive_log_softmax_with_loss"
    if (
        label.ndim > 1
        or input.ndim != label.ndim + 1
        or (label.ndim and label.size and label.shape[0] != input.shape[0])
    ):
        raise ValueError(
            f"{title}: expected input [batch, in_features] and label [batch], or [in_features] and [], received "
            f"{list(input.shape)} and {list(label.shape)}"
        )
    batched = label.ndim == 1
    if not batched:
        input, label = _C_ops.unsqueeze(input, (0,)), _C_ops.unsqueeze(label, (0,))
    ends = [0, *(int(c) for c in cutoffs)]
    labels = label.impl.array.astype(np.int64)
    wrong = (labels < 0) | (labels >= ends[-1])
    if wrong.any():
        raise ValueError(f"{title}: expected labels in [0, {ends[-1]}), received {int(labels[wrong][0])}")
    if not labels.size:
        none = _C_ops.full((0,), 0.0, input.dtype)
        return none, _C_ops.mean(none, (), False)
    heads = np.array(labels)
    output = None
    for i in range(1, len(ends) - 1):
        rows = np.flatnonzero((labels >= ends[i]) & (labels < ends[i + 1]))
        if not rows.size:
            continue
        heads[rows] = ends[1] + i - 1
        index = tensor_from_array(rows)
        hidden = linear(linear(_C_ops.index_select(input, index, 0), tail_weights[i - 1][0]), tail_weights[i - 1][1])
        own = _picked(_C_ops.log_softmax(hidden, 1), labels[rows] - ends[i])
        spread = _C_ops.scatter_nd_add(_C_ops.full((labels.size,), 0.0, own.dtype), _C_ops.unsqueeze(index, (1,)), own)
        output = spread if output is None else _C_ops.add(output, spread)
    head = _picked(_C_ops.log_softmax(linear(input, head_weight, head_bias), 1), heads)
    output = head if output is None else _C_ops.add(output, head)
    loss = _C_ops.scale(_C_ops.mean(output, (), False), -1.0, 0.0, True)
    return (output if batched else _C_ops.squeeze(output, (0,))), loss


def _picked(x: Tensor, places: Any) -> Tensor:
    """Of each row one element."""
    index = tensor_from_array(places[:, None])
    return _C_ops.squeeze(_C_ops.take_along_axis(x, index, 1), (1,))
