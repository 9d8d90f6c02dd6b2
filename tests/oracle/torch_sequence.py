"""Losses over sequences in torch."""

from typing import Any

from tests.oracle.torch_call import TorchCall, torch, vjp


def ctc(logits: Any, label: Any, steps: Any, counts: Any, blank: int = 0, norm_by_times: bool = False) -> Any:
    loss = torch.nn.functional.ctc_loss(
        torch.log_softmax(logits, 2), label.long(), steps.long(), counts.long(), blank, "none", zero_infinity=True
    )
    return loss[:, None]


def ctc_grad(logits: Any, label: Any, steps: Any, counts: Any, loss_grad: Any, blank: int, norm_by_times: bool) -> Any:
    weights = loss_grad / steps.clamp(min=1)[:, None] if norm_by_times else loss_grad
    return vjp(lambda x: ctc(x, label, steps, counts, blank))(logits, weights)


_DIFFERS = "torch has no second derivative, and its gradient of a sequence without steps is not 0"

CALLS: dict[str, TorchCall] = {
    "warpctc": TorchCall(ctc, _DIFFERS, ("special values", "special gradients")),
    "warpctc_grad": TorchCall(ctc_grad, _DIFFERS, ("gradients", "special values", "special gradients")),
}
