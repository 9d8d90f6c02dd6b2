"""Windows as columns and weighted rows in torch."""

from typing import Any

from tests.oracle.torch_call import TorchCall, torch


def unfolded(x: Any, kernel_sizes: Any, strides: Any, paddings: Any, dilations: Any) -> Any:
    top, bottom, left, right = paddings
    padded = torch.nn.functional.pad(x, (left, right, top, bottom))
    return torch.nn.functional.unfold(padded, tuple(kernel_sizes), tuple(dilations), 0, tuple(strides))


def folded(x: Any, output_sizes: Any, kernel_sizes: Any, strides: Any, paddings: Any, dilations: Any) -> Any:
    top, bottom, left, right = paddings
    height, width = output_sizes
    room = (height + top + bottom, width + left + right)
    out = torch.nn.functional.fold(x, room, tuple(kernel_sizes), tuple(dilations), 0, tuple(strides))
    return out[..., top : top + height, left : left + width]


def bag(x: Any, weight: Any, per_sample_weights: Any) -> Any:
    # A row more, which stands for no element.
    rows = torch.cat((weight, weight.new_zeros(1, weight.shape[1])))
    index = torch.where(x < 0, weight.shape[0], x)
    return torch.nn.functional.embedding_bag(
        index, rows, per_sample_weights=per_sample_weights, mode="sum", padding_idx=weight.shape[0]
    )


def bag_grad_weight(x: Any, per_sample_weights: Any, out_grad: Any, rows: int) -> Any:
    """The gradient of embedding_bag spelt out, so that torch can derive it again."""
    pieces = (per_sample_weights * (x >= 0))[:, :, None] * out_grad[:, None]
    total = out_grad.new_zeros(rows, out_grad.shape[1])
    return total.index_add(0, x.clamp(min=0).reshape(-1), pieces.reshape(-1, out_grad.shape[1]))


def bag_grad_samples(x: Any, weight: Any, out_grad: Any) -> Any:
    products = (weight[x.clamp(min=0)] * out_grad[:, None]).sum(-1)
    return torch.where(x >= 0, products, torch.zeros_like(products))


CALLS: dict[str, TorchCall] = {
    "unfold": TorchCall(unfolded),
    "fold": TorchCall(folded),
    "embedding_bag": TorchCall(bag),
    "embedding_bag_grad_weight": TorchCall(
        bag_grad_weight, "no element is a product with 0 here", ("special values", "special gradients")
    ),
    "embedding_bag_grad_samples": TorchCall(bag_grad_samples),
}
