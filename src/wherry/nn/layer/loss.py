"""Loss layers: each calls the function of its name in nn.functional."""

from typing import Any

from wherry.nn import functional as F
from wherry.nn.layer.layers import Layer

_REDUCTIONS = ("mean", "sum", "none")


class _Loss(Layer):
    """Keeps the settings a loss function is called with; raises ValueError for an unknown reduction."""

    def __init__(self, name: str | None = None, **settings: Any) -> None:
        super().__init__()
        reduction = settings.get("reduction", "mean")
        allowed = (*_REDUCTIONS, "batchmean") if type(self).__name__ == "KLDivLoss" else _REDUCTIONS
        if reduction not in allowed:
            raise ValueError(f"{type(self).__name__}: expected reduction of {allowed}, received {reduction!r}")
        self.name = name
        self._settings = settings
        for key, value in settings.items():
            setattr(self, key, value)

    def _loss(self, function: Any, input: Any, label: Any) -> Any:
        return function(input, label, **{key: getattr(self, key) for key in self._settings})


class CrossEntropyLoss(_Loss):
    """Softmax and negative log-likelihood of class numbers, or of distributions with soft_label. Source: paddle.nn.CrossEntropyLoss."""

    def __init__(
        self,
        weight: Any = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        soft_label: bool = False,
        axis: int = -1,
        use_softmax: bool = True,
        label_smoothing: float = 0.0,
        name: str | None = None,
    ) -> None:
        super().__init__(
            name,
            weight=weight,
            ignore_index=ignore_index,
            reduction=reduction,
            soft_label=soft_label,
            axis=axis,
            use_softmax=use_softmax,
            label_smoothing=label_smoothing,
        )

    def forward(self, input: Any, label: Any) -> Any:
        return self._loss(F.cross_entropy, input, label)


class MSELoss(_Loss):
    """Squared differences. Source: paddle.nn.MSELoss."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)

    def forward(self, input: Any, label: Any) -> Any:
        return self._loss(F.mse_loss, input, label)


class L1Loss(_Loss):
    """Absolute differences. Source: paddle.nn.L1Loss."""

    def __init__(self, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__(name, reduction=reduction)

    def forward(self, input: Any, label: Any) -> Any:
        return self._loss(F.l1_loss, input, label)


class NLLLoss(_Loss):
    """Negative log-likelihood of class numbers, of log-probabilities. Source: paddle.nn.NLLLoss."""

    def __init__(
        self,
        weight: Any = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        name: str | None = None,
    ) -> None:
        super().__init__(name, weight=weight, ignore_index=ignore_index, reduction=reduction)

    def forward(self, input: Any, label: Any) -> Any:
        return self._loss(F.nll_loss, input, label)


class BCELoss(_Loss):
    """Cross entropy of probabilities and labels in [0, 1]. Source: paddle.nn.BCELoss."""

    def __init__(self, weight: Any = None, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__(name, weight=weight, reduction=reduction)

    def forward(self, input: Any, label: Any) -> Any:
        return self._loss(F.binary_cross_entropy, input, label)


class BCEWithLogitsLoss(_Loss):
    """Cross entropy of sigmoid(logits) and labels in [0, 1]. Source: paddle.nn.BCEWithLogitsLoss."""

    def __init__(
        self,
        weight: Any = None,
        reduction: str = "mean",
        pos_weight: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name, weight=weight, reduction=reduction, pos_weight=pos_weight)

    def forward(self, input: Any, label: Any) -> Any:
        return self._loss(F.binary_cross_entropy_with_logits, input, label)


class SmoothL1Loss(_Loss):
    """Squared differences up to delta, absolute ones beyond. Source: paddle.nn.SmoothL1Loss."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0, name: str | None = None) -> None:
        super().__init__(name, reduction=reduction, delta=delta)

    def forward(self, input: Any, label: Any) -> Any:
        return self._loss(F.smooth_l1_loss, input, label)


class KLDivLoss(_Loss):
    """Kullback-Leibler divergence of log-probabilities from a distribution. Source: paddle.nn.KLDivLoss."""

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(reduction=reduction, log_target=log_target)

    def forward(self, input: Any, label: Any) -> Any:
        return self._loss(F.kl_div, input, label)


class MarginRankingLoss(Layer):
    """max(0, -label * (input - other) + margin). Source: paddle.nn.MarginRankingLoss."""

    def __init__(self, margin: float = 0.0, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__()
        if reduction not in _REDUCTIONS:
            raise ValueError(f"MarginRankingLoss: expected reduction of {_REDUCTIONS}, received {reduction!r}")
        self.margin = margin
        self.reduction = reduction
        self.name = name

    def forward(self, input: Any, other: Any, label: Any) -> Any:
        return F.margin_ranking_loss(input, other, label, self.margin, self.reduction)


class HingeEmbeddingLoss(_Loss):
    """x where the label is 1, max(0, margin - x) where it is -1. Source: paddle.nn.HingeEmbeddingLoss."""

    def __init__(self, margin: float = 1.0, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__(name, margin=margin, reduction=reduction)

    def forward(self, input: Any, label: Any) -> Any:
        return self._loss(F.hinge_embedding_loss, input, label)


class SoftMarginLoss(_Loss):
    """log(1 + exp(-label * x)). Source: paddle.nn.SoftMarginLoss."""

    def __init__(self, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__(name, reduction=reduction)

    def forward(self, input: Any, label: Any) -> Any:
        return self._loss(F.soft_margin_loss, input, label)
