"""Layers of losses over sequences, of distances, of distributions and of many classes."""

from collections.abc import Callable
from typing import Any

from wherry import _C_ops
from wherry.nn import functional as F
from wherry.nn.functional.loss import cosine_embedding_loss, triplet_margin_loss
from wherry.nn.layer.common import named, needed
from wherry.nn.layer.layers import Layer
from wherry.nn.layer.loss import _REDUCTIONS, _Loss


class CTCLoss(Layer):
    """Connectionist temporal classification of logits [steps, batch, classes]. Source: paddle.nn.CTCLoss."""

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__()
        self.blank = blank
        self.reduction = reduction
        self.zero_infinity = zero_infinity

    def forward(
        self, log_probs: Any, labels: Any, input_lengths: Any, label_lengths: Any, norm_by_times: bool = False
    ) -> Any:
        return F.ctc_loss(
            log_probs,
            labels,
            input_lengths,
            label_lengths,
            self.blank,
            self.reduction,
            norm_by_times,
            self.zero_infinity,
        )


class RNNTLoss(Layer):
    """The loss of a transducer, of log-probabilities [batch, steps, labels + 1, classes]. Source: paddle.nn.RNNTLoss."""

    def __init__(
        self, blank: int = 0, fastemit_lambda: float = 0.001, reduction: str = "mean", name: str | None = None
    ) -> None:
        super().__init__()
        self.blank = blank
        self.fastemit_lambda = fastemit_lambda
        self.reduction = reduction
        self.name = name

    def forward(self, input: Any, label: Any, input_lengths: Any, label_lengths: Any) -> Any:
        return F.rnnt_loss(input, label, input_lengths, label_lengths, self.blank, self.fastemit_lambda, self.reduction)


class PairwiseDistance(Layer):
    """The p-norm of x - y + epsilon over the last axis. Source: paddle.nn.PairwiseDistance."""

    def __init__(self, p: float = 2.0, epsilon: float = 1e-6, keepdim: bool = False, name: str | None = None) -> None:
        super().__init__()
        self.p = p
        self.epsilon = epsilon
        self.keepdim = keepdim
        self.name = name

    def forward(self, x: Any, y: Any) -> Any:
        return F.pairwise_distance(x, y, self.p, self.epsilon, self.keepdim)

    def extra_repr(self) -> str:
        text = f"p={self.p}"
        if self.epsilon != 1e-6:
            text += f", epsilon={self.epsilon}"
        if self.keepdim:
            text += f", keepdim={self.keepdim}"
        return named(text, self.name)


class PoissonNLLLoss(_Loss):
    """Negative log-likelihood of counts under Poisson distributions. Source: paddle.nn.PoissonNLLLoss."""

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        epsilon: float = 1e-8,
        reduction: str = "mean",
        name: str | None = None,
    ) -> None:
        super().__init__(name, log_input=log_input, full=full, epsilon=epsilon, reduction=reduction)
        if epsilon <= 0:
            raise ValueError(f"PoissonNLLLoss: expected a positive epsilon, received {epsilon}")

    def forward(self, input: Any, label: Any) -> Any:
        return self._loss(F.poisson_nll_loss, input, label)


class GaussianNLLLoss(Layer):
    """Negative log-likelihood of labels under Gaussians. Source: paddle.nn.GaussianNLLLoss."""

    def __init__(
        self, full: bool = False, epsilon: float = 1e-6, reduction: str = "mean", name: str | None = None
    ) -> None:
        super().__init__()
        if reduction not in _REDUCTIONS:
            raise ValueError(f"GaussianNLLLoss: expected reduction of {_REDUCTIONS}, received {reduction!r}")
        self.full = full
        self.epsilon = epsilon
        self.reduction = reduction
        self.name = name

    def forward(self, input: Any, label: Any, variance: Any) -> Any:
        return F.gaussian_nll_loss(input, label, variance, self.full, self.epsilon, self.reduction)


class MultiMarginLoss(_Loss):
    """max(0, margin - x[label] + x) ** p of the other classes. Source: paddle.nn.MultiMarginLoss."""

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Any = None,
        reduction: str = "mean",
        name: str | None = None,
    ) -> None:
        super().__init__(name, p=p, margin=margin, weight=weight, reduction=reduction)

    def forward(self, input: Any, label: Any) -> Any:
        return self._loss(F.multi_margin_loss, input, label)


class MultiLabelSoftMarginLoss(_Loss):
    """Binary cross entropy of logits, mean over the classes. Source: paddle.nn.MultiLabelSoftMarginLoss."""

    def __init__(self, weight: Any = None, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__(name, weight=weight, reduction=reduction)

    def forward(self, input: Any, label: Any) -> Any:
        return self._loss(F.multi_label_soft_margin_loss, input, label)


class CosineEmbeddingLoss(Layer):
    """1 - cos where the label is 1, max(0, cos - margin) where it is -1. Source: paddle.nn.CosineEmbeddingLoss."""

    def __init__(self, margin: float = 0, reduction: str = "mean", name: str | None = None) -> None:
        super().__init__()
        if not -1 <= margin <= 1:
            raise ValueError(f"CosineEmbeddingLoss: expected a margin in [-1, 1], received {margin}")
        if reduction not in _REDUCTIONS:
            raise ValueError(f"CosineEmbeddingLoss: expected reduction of {_REDUCTIONS}, received {reduction!r}")
        self.margin = margin
        self.reduction = reduction
        self.name = name

    def forward(self, input1: Any, input2: Any, label: Any) -> Any:
        return cosine_embedding_loss(input1, input2, label, self.margin, self.reduction)


class TripletMarginLoss(Layer):
    """max(0, |a - p| - |a - n| + margin). Source: paddle.nn.TripletMarginLoss."""

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        epsilon: float = 1e-6,
        swap: bool = False,
        reduction: str = "mean",
        name: str | None = None,
    ) -> None:
        super().__init__()
        if reduction not in _REDUCTIONS:
            raise ValueError(f"TripletMarginLoss: expected reduction of {_REDUCTIONS}, received {reduction!r}")
        self.margin = margin
        self.p = p
        self.epsilon = epsilon
        self.swap = swap
        self.reduction = reduction
        self.name = name

    def forward(self, input: Any, positive: Any, negative: Any) -> Any:
        return triplet_margin_loss(
            input, positive, negative, self.margin, self.p, self.epsilon, self.swap, self.reduction
        )


class TripletMarginWithDistanceLoss(Layer):
    """max(0, d(a, p) - d(a, n) + margin) for a distance of your own. Source: paddle.nn.TripletMarginWithDistanceLoss."""

    def __init__(
        self,
        distance_function: Callable[[Any, Any], Any] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
        name: str | None = None,
    ) -> None:
        super().__init__()
        if reduction not in _REDUCTIONS:
            raise ValueError(
                f"TripletMarginWithDistanceLoss: expected reduction of {_REDUCTIONS}, received {reduction!r}"
            )
        self.margin = margin
        self.swap = swap
        self.reduction = reduction
        self.distance_function = distance_function
        self.name = name

    def forward(self, input: Any, positive: Any, negative: Any) -> Any:
        return F.triplet_margin_with_distance_loss(
            input, positive, negative, self.distance_function, self.margin, self.swap, self.reduction
        )


class FeatureAlphaDropout(Layer):
    """alpha_dropout of whole channels, in training. Source: paddle.nn.FeatureAlphaDropout."""

    def __init__(self, p: float = 0.5, name: str | None = None) -> None:
        super().__init__()
        self.p = p
        self.name = name

    def forward(self, input: Any) -> Any:
        return F.feature_alpha_dropout(input, self.p, self.training)

    def extra_repr(self) -> str:
        return named(f"p={self.p}", self.name)


class HSigmoidLoss(Layer):
    """Cross entropy of the turns on the way to a class in a tree; weight [num_classes - 1, feature_size], bias [num_classes - 1, 1].

    is_custom: the tree is given by path_table and path_code in the call, and weight has num_classes rows.
    Source: paddle.nn.HSigmoidLoss.
    """

    def __init__(
        self,
        feature_size: int,
        num_classes: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        is_custom: bool = False,
        is_sparse: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__()
        if num_classes < 2 and not is_custom:
            raise ValueError(f"HSigmoidLoss: expected num_classes of at least 2, received {num_classes}")
        self._feature_size = feature_size
        self._num_classes = num_classes
        self._is_custom = is_custom
        self._is_sparse = is_sparse
        nodes = num_classes if is_custom else num_classes - 1
        self.weight = self.create_parameter([nodes, feature_size], needed(weight_attr, "HSigmoidLoss"))
        self.bias = self.create_parameter([nodes, 1], bias_attr, is_bias=True)

    def forward(self, input: Any, label: Any, path_table: Any = None, path_code: Any = None) -> Any:
        if self._is_custom and (path_table is None or path_code is None):
            raise ValueError("HSigmoidLoss: expected path_table and path_code with is_custom=True, received None")
        return F.hsigmoid_loss(
            input, label, self._num_classes, self.weight, self.bias, path_table, path_code, self._is_sparse
        )


class AdaptiveLogSoftmaxWithLoss(Layer):
    """Log-probabilities of labels where rare classes lie in clusters, each narrower by div_value than the one before.

    Calling it gives (log-probabilities of the labels, mean loss). Raises ValueError for cutoffs that do not rise or are not in [1, n_classes - 1].
    Source: paddle.nn.AdaptiveLogSoftmaxWithLoss.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Any,
        weight_attr: Any = None,
        bias_attr: Any = None,
        div_value: float = 4.0,
        head_bias: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__()
        cutoffs = [int(c) for c in cutoffs]
        if not cutoffs or cutoffs != sorted(set(cutoffs)) or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1:
            raise ValueError(
                f"AdaptiveLogSoftmaxWithLoss: expected rising cutoffs in [1, {n_classes - 1}], received {cutoffs}"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.is_head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head_weight = self.create_parameter([in_features, self.head_size], weight_attr)
        self.head_bias = self.create_parameter([self.head_size], bias_attr, is_bias=True) if head_bias else None
        for i in range(self.n_clusters):
            width = int(in_features // (div_value ** (i + 1)))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            for j, shape in enumerate(([in_features, width], [width, size])):
                self.add_parameter(f"tail_weight_{i}_{j}", self.create_parameter(shape, weight_attr))

    @property
    def tail_weights(self) -> list[list[Any]]:
        """The two matrices of each cluster."""
        return [[self._parameters[f"tail_weight_{i}_{j}"] for j in (0, 1)] for i in range(self.n_clusters)]

    def forward(self, input: Any, label: Any) -> Any:
        return F.adaptive_log_softmax_with_loss(
            input, label, self.head_weight, self.tail_weights, self.cutoffs, self.head_bias
        )

    def log_prob(self, input: Any) -> Any:
        """Log-probabilities of all classes, [batch, n_classes]."""
        head = F.log_softmax(F.linear(input, self.head_weight, self.head_bias), axis=1)
        parts = [head[:, : self.shortlist_size]]
        for i, (first, second) in enumerate(self.tail_weights):
            tail = F.log_softmax(F.linear(F.linear(input, first), second), axis=1)
            parts.append(_C_ops.add(tail, head[:, self.shortlist_size + i : self.shortlist_size + i + 1]))
        return _C_ops.concat(parts, 1)

    def predict(self, input: Any) -> Any:
        """The most probable class of each row, as float32 (as in Paddle)."""
        return _C_ops.cast(self.log_prob(input).argmax(axis=1), "float32")
