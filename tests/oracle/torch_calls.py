"""The operations of the table in torch, by name; and why those that are not there have no counterpart."""

from tests.oracle import torch_elementwise, torch_linalg, torch_sequence, torch_shapes, torch_special, torch_vision
from tests.oracle.torch_call import TorchCall

CALLS: dict[str, TorchCall] = {
    **torch_elementwise.CALLS,
    **torch_shapes.CALLS,
    **torch_linalg.CALLS,
    **torch_sequence.CALLS,
    **torch_special.CALLS,
    **torch_vision.CALLS,
}

DRAW = "a draw: torch's numbers are others"
RULE = "a part of wherry's own derivative rules"
UPDATE = "an optimizer's update of many parameters at once, compared in tests/test_optimizer.py"
WITHOUT: dict[str, list[str]] = {
    DRAW: """bernoulli bernoulli_inplace binomial cauchy_inplace dropout exponential_inplace gaussian gaussian_inplace geometric_inplace
        log_normal_inplace multinomial poisson randint randint_inplace randperm standard_gamma truncated_gaussian_random uniform
        uniform_inplace""".split(),
    RULE: """bessel_i gamma_density sinc_derivative fft_scale_doubled put_along_axis_grad put_along_axis_order scatter_grad setitem_advanced_grad view_replay view_replay_grad
        view_scatter warpctc_double_grad warprnnt_double_grad""".split(),
    UPDATE: """merged_adadelta_ merged_adagrad_ merged_adam_ merged_adamax_ merged_lamb_ merged_momentum_ merged_rmsprop_ merged_sgd_
        packed_adam_ update_running_""".split(),
    "takes statistics that torch keeps to itself; the gradient of the operation is compared": "batch_norm_grad layer_norm_grad".split(),
    "torch has no such operation on graphs": "graph_sample_neighbors reindex_graph".split(),
    "torch itself has neither transducers nor beam search": "gather_tree warprnnt warprnnt_grad".split(),
    "its values are arbitrary": "empty empty_like".split(),
    "torch places the windows by another formula": ["fractional_max_pool"],
    "of torchvision, or of Paddle alone; the reference goes box by box": """box_coder distribute_fpn_proposals generate_proposals matrix_nms nms
        prior_box psroi_pool psroi_pool_grad roi_align roi_align_grad roi_pool yolo_box yolo_targets""".split(),
}
# name: why there is no call in torch.
NOT_IN_TORCH = {op: reason for reason, ops in WITHOUT.items() for op in ops}
