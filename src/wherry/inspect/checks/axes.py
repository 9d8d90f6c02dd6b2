"""Losses and probabilities along the wrong axis or twice: softmax over the batch, softmax before cross_entropy."""

from typing import Any

from wherry.inspect.facts import Line, Numbers, own_line
from wherry.inspect.findings import Check
from wherry.inspect.tape import flat_tensors

_SOFTMAX = ("softmax", "log_softmax")
_KEEPS = ("log", "clip", "scale", "unsqueeze", "squeeze")
_LOSSES = ("cross_entropy_with_softmax", "nll_loss")


class AxisCheck(Check):
    """Reports a softmax along the axis of the batch, and a softmax whose result goes into cross_entropy, which applies its own."""

    kind = "wrong-axis"

    def __init__(self) -> None:
        super().__init__()
        self._numbers = Numbers()
        self._softmax: dict[int, tuple[Line, int, str]] = {}
        # Labels as one-hot rows: the axis of the classes.
        self._one_hot: dict[int, int] = {}
        self._open: list[tuple[tuple[Any, ...], tuple[Any, ...], Line]] = []

    def call_started(self, op: Any, inputs: tuple[Any, ...], attrs: tuple[Any, ...], inplace: bool) -> None:
        line = own_line()
        self._open.append((inputs, attrs, line))
        if op.name == "multiply":
            self._one_distribution_each(inputs, line)
        if op.name not in _LOSSES:
            return
        scores, label = inputs[0], inputs[1]
        made = self._softmax.get(self._numbers.of(scores))
        if made is None:
            return
        place, axis, name = made
        if op.name == "cross_entropy_with_softmax":
            self.report(
                "warning",
                place,
                f"the result of {name} goes into cross_entropy, which applies softmax itself: the loss is flat and learns slowly",
                "Give cross_entropy the raw scores, or pass use_softmax=False.",
                [(line, "the loss")],
                kind="double-softmax",
            )
        elif axis == 0 and scores.impl.meta.ndim == 2 and label is not None and label.impl.meta.ndim == 1:
            self._wrong(place, name, line)

    def _one_distribution_each(self, inputs: tuple[Any, ...], line: Line) -> None:
        """A softmax along axis 0 times one-hot labels along another axis: what nll_loss comes down to."""
        numbers = [self._numbers.of(t) for t in inputs]
        for scores, label in (numbers, numbers[::-1]):
            made = self._softmax.get(scores)
            if made is not None and made[1] == 0 and self._one_hot.get(label, 0) != 0:
                self._wrong(made[0], made[2], line)

    def _wrong(self, place: Line, name: str, line: Line) -> None:
        self.report(
            "warning",
            place,
            f"{name} along axis 0 normalises over the batch: the samples, not the classes, add up to one",
            "Use the axis of the classes: axis=-1.",
            [(line, "used here as one distribution for each sample")],
        )

    def call_failed(self, op: Any, error: BaseException) -> None:
        self._open.pop()

    def call_finished(self, op: Any, outputs: tuple[Any, ...]) -> None:
        inputs, attrs, line = self._open.pop()
        if op.name in _SOFTMAX:
            tensor = flat_tensors(outputs)[0]
            axis = next((a for a in attrs if isinstance(a, int)), -1)
            axis += tensor.impl.meta.ndim if axis < 0 else 0
            self._softmax[self._numbers.of(tensor)] = (line, axis, op.name)
        elif op.name == "label_one_hot":
            axis = next((a for name, a in zip(op.attrs, attrs) if name == "axis"), 0)
            self._one_hot[self._numbers.of(flat_tensors(outputs)[0])] = axis
        elif op.name in _KEEPS and len(inputs) == 1:
            # What is true of a softmax stays true of its logarithm.
            made = self._softmax.get(self._numbers.of(inputs[0]))
            if made is not None:
                self._softmax[self._numbers.of(flat_tensors(outputs)[0])] = made
