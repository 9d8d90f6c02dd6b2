"""How a tensor prints: the text that Paddle gives it, character for character."""

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

Array = Any

# Column where the elements begin: under the "(" of "Tensor(".
_INDENT: Final = 7


class PrintOptions:
    """What `set_printoptions` sets."""

    def __init__(self) -> None:
        self.precision = 8
        self.threshold = 1000
        self.edgeitems = 3
        self.linewidth = 80
        self.sci_mode = False


OPTIONS: Final = PrintOptions()


def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    sci_mode: bool | None = None,
    linewidth: int | None = None,
) -> None:
    """Set how tensors print; None leaves an option as it is.

    precision: digits after the point (8). threshold: the number of elements above which a tensor is summarised (1000).
    edgeitems: how many elements stay at either end of an axis then (3). sci_mode: scientific notation (False).
    linewidth: characters in a line (80). Raises TypeError for options that are not integers, ValueError for negative
    ones. Source: paddle.set_printoptions.
    """
    for name, value in (
        ("precision", precision),
        ("threshold", threshold),
        ("edgeitems", edgeitems),
        ("linewidth", linewidth),
    ):
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise TypeError(f"expected {name} to be an integer, received {value!r}")
        if value < 0:
            raise ValueError(f"expected {name} >= 0, received {value}")
    if precision is not None:
        OPTIONS.precision = int(precision)
    if threshold is not None:
        OPTIONS.threshold = int(threshold)
    if edgeitems is not None:
        OPTIONS.edgeitems = int(edgeitems)
    if linewidth is not None:
        OPTIONS.linewidth = int(linewidth)
    if sci_mode is not None:
        OPTIONS.sci_mode = bool(sci_mode)


def format_tensor(
    array: Array, dtype_name: str, shape: list[int], place_text: str, stop_gradient: bool, indent: int = _INDENT
) -> str:
    """The text of a tensor: a line that describes it, then its elements from column `indent` on."""
    head = f"Tensor(shape={list(shape)}, dtype={dtype_name}, place={place_text}, stop_gradient={bool(stop_gradient)},"
    return f"{head}\n{' ' * indent}{format_elements(array, indent)})"


def format_elements(array: Array, indent: int = 0) -> str:
    """The elements in brackets, rows under each other from column `indent` on."""
    summarised = array.size > OPTIONS.threshold
    shown = _edges(array) if summarised else array
    text = _number_text(shown)
    flat = shown.reshape(-1).tolist() if shown.dtype.kind != "V" else shown.reshape(-1).astype(np.float32).tolist()
    texts = [text(value) for value in flat]
    width = max((len(t) for t in texts), default=0)
    signed = any((value.real if isinstance(value, complex) else value) < 0 for value in flat)
    padded = [_padded(t, value, width, signed) for t, value in zip(texts, flat)]
    items = np.array(padded, dtype=object).reshape(shown.shape)
    return _block(items, array.shape, width, indent + 1, summarised)


def _edges(array: Array) -> Array:
    """The elements that a summary shows."""
    edge = OPTIONS.edgeitems
    index = [np.r_[0:edge, n - edge : n] if n > 2 * edge else np.arange(n) for n in array.shape]
    return array[np.ix_(*index)]


def _number_text(array: Array) -> Callable[[Any], str]:
    kind = array.dtype.kind
    if kind in "biu":
        return str
    code = f".{OPTIONS.precision}{'e' if OPTIONS.sci_mode else 'f'}"
    if kind == "c":
        return lambda value: f"({value.real:{code}}{value.imag:+{code}}j)"
    if OPTIONS.sci_mode:
        return lambda value: f"{value:{code}}"

    def decimal(value: float) -> str:
        # A whole number shows no decimals; infinity counts as one.
        if math.isinf(value) or (math.isfinite(value) and value == math.ceil(value)):
            return f"{value:.0f}."
        return f"{value:{code}}"

    return decimal


def _padded(text: str, value: Any, width: int, signed: bool) -> str:
    """To the column's width; beside negative numbers the others leave room for a sign."""
    if len(text) >= width or not signed or (value.real if isinstance(value, complex) else value) < 0:
        return text.ljust(width)
    return (" " + text).ljust(width)


def _block(items: Any, shape: tuple[int, ...], width: int, column: int, summarised: bool) -> str:
    if items.ndim == 0:
        return str(items.item())
    cut = summarised and shape[0] > 2 * OPTIONS.edgeitems
    if items.ndim == 1:
        row = list(items)
        if cut:
            row.insert(OPTIONS.edgeitems, "...")
        return "[" + _row(row, width, column) + "]"
    blocks = [_block(item, shape[1:], width, column + 1, summarised) for item in items]
    if cut:
        blocks.insert(OPTIONS.edgeitems, "...")
    return "[" + (",\n" + "\n" * (items.ndim - 2) + " " * column).join(blocks) + "]"


def _row(row: list[str], width: int, column: int) -> str:
    """Items with as many to a line as fit, each with its comma and space."""
    count = max(1, (OPTIONS.linewidth - column) // (width + 2))
    lines = [", ".join(row[i : i + count]) for i in range(0, len(row), count)]
    return (",\n" + " " * column).join(lines)
