"""einsum, two operands at a time, each product one matrix product."""

import math
from typing import Any

import numpy as np

from wherry.core.einsum import label_sizes, split
from wherry.dispatch.kernel_factory import NUMERIC, kernel
from wherry.kernels.numpy.common import Array, in_float32


@kernel("einsum", NUMERIC)
def einsum(x: list[Array], equation: str) -> Array:
    """The equation is explicit. Sums run over every label that is not in the output."""
    return np.asarray(_product(*x, equation))


@in_float32
def _product(*arguments: Any) -> Array:
    x: tuple[Array, ...] = arguments[:-1]
    terms, out = split(arguments[-1])
    sizes = label_sizes(terms, [a.shape for a in x])
    operands = [_plain(a, t, sizes) for a, t in zip(x, terms)]
    while len(operands) > 1:
        i, j = _cheapest_pair(operands, out, sizes)
        b, b_labels = operands.pop(j)
        a, a_labels = operands.pop(i)
        kept = set(out).union(*(labels for _, labels in operands))
        operands.append(_contract(a, a_labels, b, b_labels, kept))
    array, labels = operands[0]
    array, labels = _summed(array, labels, set(out))
    array = array.transpose([labels.index(c) for c in out])
    if array.base is not None or any(array is a for a in x):
        array = np.array(array, order="C")
    return array


def _plain(array: Array, term: str, sizes: dict[str, int]) -> tuple[Array, str]:
    """Diagonals taken for repeated labels, and axes of size 1 that stretch left out."""
    labels = term
    for label in sorted(set(term)):
        while labels.count(label) > 1:
            i = labels.index(label)
            j = labels.index(label, i + 1)
            if array.shape[i] != array.shape[j]:
                size = sizes[label]
                stretched = list(array.shape)
                stretched[i] = stretched[j] = size
                array = np.broadcast_to(array, stretched)
            array = np.diagonal(array, axis1=i, axis2=j)
            labels = labels[:i] + labels[i + 1 : j] + labels[j + 1 :] + label
    index: list[Any] = []
    kept = ""
    for label, size in zip(labels, array.shape):
        if size == 1 and sizes[label] != 1:
            index.append(0)
        else:
            index.append(slice(None))
            kept += label
    return array[tuple(index)], kept


def _cheapest_pair(operands: list[tuple[Array, str]], out: str, sizes: dict[str, int]) -> tuple[int, int]:
    """The two operands whose product grows least over what they are now."""
    if len(operands) == 2:
        return 0, 1
    best = (math.inf, 0, 1)
    for i in range(len(operands)):
        for j in range(i + 1, len(operands)):
            others = set(out).union(*(labels for k, (_, labels) in enumerate(operands) if k not in (i, j)))
            result = set(operands[i][1] + operands[j][1]) & others
            growth = math.prod(sizes[c] for c in result) - operands[i][0].size - operands[j][0].size
            best = min(best, (growth, i, j))
    return best[1], best[2]


def _summed(array: Array, labels: str, kept: set[str]) -> tuple[Array, str]:
    axes = tuple(i for i, c in enumerate(labels) if c not in kept)
    if not axes:
        return array, labels
    return np.sum(array, axis=axes, dtype=array.dtype), "".join(c for c in labels if c in kept)


def _contract(a: Array, a_labels: str, b: Array, b_labels: str, kept: set[str]) -> tuple[Array, str]:
    a, a_labels = _summed(a, a_labels, kept | set(b_labels))
    b, b_labels = _summed(b, b_labels, kept | set(a_labels))
    batch = [c for c in a_labels if c in b_labels and c in kept]
    inner = [c for c in a_labels if c in b_labels and c not in kept]
    rows = [c for c in a_labels if c not in b_labels]
    columns = [c for c in b_labels if c not in a_labels]
    a = a.transpose([a_labels.index(c) for c in batch + rows + inner])
    b = b.transpose([b_labels.index(c) for c in batch + inner + columns])
    lead, height = a.shape[: len(batch)], a.shape[len(batch) : len(batch) + len(rows)]
    width = b.shape[len(batch) + len(inner) :]
    labels = "".join(batch + rows + columns)
    if not inner:
        return a.reshape(lead + height + (1,) * len(width)) * b.reshape(lead + (1,) * len(height) + width), labels
    depth = math.prod(a.shape[len(batch) + len(rows) :])
    count = (math.prod(lead),) if batch else ()
    product = np.matmul(
        a.reshape(count + (math.prod(height), depth)),
        b.reshape(count + (depth, math.prod(width))),
    )
    return product.reshape(lead + height + width), labels
