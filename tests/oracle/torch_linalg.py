"""Products, decompositions, Fourier transforms and layers in torch."""

from typing import Any

from tests.oracle.torch_call import NotInTorch, TorchCall, torch, transpose_of
from tests.oracle.torch_shapes import padded


def turned(x: Any, flag: bool) -> Any:
    return x.transpose(-1, -2) if flag and x.ndim > 1 else x


def plain_dot(x: Any, y: Any) -> Any:
    return (x * y).sum(-1)


def added(input: Any, x: Any, y: Any, beta: float, alpha: float) -> Any:
    return torch.addmm(input, x, y, beta=beta, alpha=alpha)


def crossed(x: Any, y: Any, axis: int) -> Any:
    x, y = torch.broadcast_tensors(x, y)
    at = next(i for i, n in enumerate(x.shape) if n == 3) if axis == 9 else axis
    return torch.linalg.cross(x, y, dim=at)


def einsum(x: Any, equation: str) -> Any:
    return torch.einsum(equation, *x)


def sign_and_logarithm(x: Any) -> Any:
    sign, logarithm = torch.linalg.slogdet(x)
    return torch.stack((sign, logarithm.to(sign.dtype)))


def cofactors(x: Any) -> Any:
    inverse = torch.linalg.inv(x)
    return torch.linalg.det(x)[..., None, None] * inverse.transpose(-1, -2)


def triangular(x: Any, y: Any, upper: bool, transpose: bool, unitriangular: bool) -> Any:
    matrix = torch.triu(x) if upper else torch.tril(x)
    matrix = matrix.transpose(-1, -2) if transpose else matrix
    return torch.linalg.solve_triangular(matrix, y, upper=upper != transpose, unitriangular=unitriangular)


def from_cholesky(x: Any, y: Any, upper: bool) -> Any:
    return torch.cholesky_solve(x, torch.triu(y) if upper else torch.tril(y), upper)


def factored_lu(x: Any, pivot: bool) -> Any:
    packed, pivots = torch.linalg.lu_factor(x, pivot=pivot)
    return packed, pivots, None


def unpacked(x: Any, y: Any, unpack_ludata: bool, unpack_pivots: bool) -> Any:
    found = torch.lu_unpack(x, y.int(), unpack_ludata, unpack_pivots)
    return [p if p.numel() else None for p in found]


def least_squares(x: Any, y: Any, rcond: float) -> Any:
    found = torch.linalg.lstsq(x, y, rcond=rcond, driver="gelsd")
    return found.solution, None, found.rank.int(), found.singular_values


def qr(x: Any, mode: str) -> Any:
    q, r = torch.linalg.qr(x, mode)
    return (q if q.numel() else None), r


PADDED = "padding on one side more than on the other is made by torch's pad first"
CONV = {1: "conv1d", 2: "conv2d", 3: "conv3d"}


def conv(x: Any, filter: Any, strides: Any, paddings: Any, dilations: Any, groups: int) -> Any:
    room = padded(x, (0, 0, 0, 0, *paddings))
    function = getattr(torch.nn.functional, CONV[len(strides)])
    return function(room, filter, None, strides, 0, dilations, groups)


def conv_grad_input(out_grad: Any, filter: Any, spatial_size: Any, groups: int, **attrs: Any) -> Any:
    shape = (out_grad.shape[0], filter.shape[1] * groups, *spatial_size)
    # The adjoint has the conjugate filter; the kernel is the transpose.
    return transpose_of(lambda x: conv(x, filter.conj(), groups=groups, **attrs))(out_grad, shape)


def conv_grad_filter(x: Any, out_grad: Any, kernel_size: Any, groups: int, **attrs: Any) -> Any:
    shape = (out_grad.shape[1], x.shape[1] // groups, *kernel_size)
    return transpose_of(lambda w: conv(x.conj(), w, groups=groups, **attrs))(out_grad, shape)


def symmetric(paddings: Any) -> list[int]:
    if paddings[::2] != paddings[1::2]:
        raise NotInTorch("padding on one side more than on the other")
    return list(paddings[::2])


def batched(pool: Any) -> Any:
    """A pooling of inputs with any number of axes in front of the spatial ones."""

    def call(x: Any, **attrs: Any) -> Any:
        count = len(attrs.get("kernel_size", attrs.get("output_size", ())))
        lead, spatial = x.shape[: x.ndim - count], x.shape[x.ndim - count :]
        found = pool(x.reshape(-1, 1, *spatial), count, **attrs)
        outputs = [f.reshape(*lead, *f.shape[2:]) for f in (found if isinstance(found, tuple) else (found,))]
        return outputs if len(outputs) > 1 else outputs[0]

    return call


def max_pool(x: Any, count: int, kernel_size: Any, strides: Any, paddings: Any, ceil_mode: bool) -> Any:
    pool = getattr(torch.nn.functional, f"max_pool{count}d")
    found = pool(x, kernel_size, strides, symmetric(paddings), 1, ceil_mode, True)
    return found[0], found[1].int()


def avg_pool(
    x: Any, count: int, kernel_size: Any, strides: Any, paddings: Any, ceil_mode: bool, exclusive: bool
) -> Any:
    pool = getattr(torch.nn.functional, f"avg_pool{count}d")
    return pool(x, kernel_size, strides, symmetric(paddings), ceil_mode, not exclusive)


def adaptive_max_pool(x: Any, count: int, output_size: Any) -> Any:
    values, index = getattr(torch.nn.functional, f"adaptive_max_pool{count}d")(x, output_size, return_indices=True)
    return values, index.int()


def max_pool_grad(x: Any, out: Any, out_grad: Any, **attrs: Any) -> Any:
    leaf = x.detach().requires_grad_()
    return torch.autograd.grad(batched(max_pool)(leaf, **attrs)[0], leaf, out_grad)[0]


def avg_pool_backward(out_grad: Any, spatial_size: Any, **attrs: Any) -> Any:
    lead = out_grad.shape[: out_grad.ndim - len(spatial_size)]
    return transpose_of(lambda x: batched(avg_pool)(x, **attrs))(out_grad, (*lead, *spatial_size))


def pool_places(index: Any, lead: int, size: int) -> Any:
    return (index.long().reshape(lead, -1) + torch.arange(lead)[:, None] * size).reshape(-1)


def pool_scatter(value: Any, index: Any, spatial_size: Any, overlapping: bool) -> Any:
    lead = value.shape[: value.ndim - len(spatial_size)]
    size, rows = torch.Size(spatial_size).numel(), torch.Size(lead).numel()
    zeros = torch.zeros(rows * size, dtype=value.dtype)
    return zeros.index_add(0, pool_places(index, rows, size), value.reshape(-1)).reshape(*lead, *spatial_size)


def pool_gather(x: Any, index: Any, spatial_axes: int) -> Any:
    lead = x.shape[: x.ndim - spatial_axes]
    size, rows = x.shape[x.ndim - spatial_axes :].numel(), torch.Size(lead).numel()
    return x.reshape(-1)[pool_places(index, rows, size)].reshape(index.shape)


def batch_norm(x: Any, scale: Any, bias: Any, epsilon: float) -> Any:
    axes = (0, *range(2, x.ndim))
    out = torch.nn.functional.batch_norm(x, None, None, scale, bias, True, 0.0, epsilon)
    return out, x.mean(axes), x.var(axes, correction=0)


def layer_norm(x: Any, scale: Any, bias: Any, epsilon: float, begin_norm_axis: int) -> Any:
    shape = x.shape[begin_norm_axis:]
    scale = None if scale is None else scale.reshape(shape)
    bias = None if bias is None else bias.reshape(shape)
    rows = x.reshape(*x.shape[:begin_norm_axis], -1)
    out = torch.nn.functional.layer_norm(x, shape, scale, bias, epsilon)
    return out, rows.mean(-1).reshape(-1), rows.var(-1, correction=0).reshape(-1)


def norm_grad(x: Any, scale: Any, out_grad: Any, norm: Any) -> Any:
    leaf = x.detach().requires_grad_()
    weight = None if scale is None else scale.detach().requires_grad_()
    shape = scale.shape if scale is not None else None
    out = norm(leaf, weight)
    inputs = [leaf] if weight is None else [leaf, weight]
    found = torch.autograd.grad(out, inputs, out_grad)
    return found[0], found[1].reshape(shape) if weight is not None else None, None


def layer_norm_grad(
    x: Any, scale: Any, mean: Any, variance: Any, out_grad: Any, epsilon: float, begin_norm_axis: int
) -> Any:
    raise NotInTorch("statistics that are given")


def cross_entropy(logits: Any, label: Any, ignore_index: int, axis: int) -> Any:
    moved = logits.movedim(axis, -1)
    flat = label.movedim(axis, -1)[..., 0].long()
    loss = torch.nn.functional.cross_entropy(
        moved.reshape(-1, moved.shape[-1]), flat.reshape(-1), ignore_index=ignore_index, reduction="none"
    )
    return loss.reshape(flat.shape).unsqueeze(-1).movedim(-1, axis)


def cross_entropy_grad(softmax: Any, label: Any, loss_grad: Any, ignore_index: int, axis: int) -> Any:
    classes = torch.arange(softmax.shape[axis]).reshape(
        [-1 if i == axis % softmax.ndim else 1 for i in range(softmax.ndim)]
    )
    slope = (softmax - (classes == label).to(softmax.dtype)) * loss_grad
    return torch.where(label != ignore_index, slope, 0)


def opposite(normalization: str) -> str:
    return {"backward": "forward", "forward": "backward", "ortho": "ortho"}[normalization]


def fft_c2c(x: Any, axes: Any, normalization: str, forward: bool) -> Any:
    return (torch.fft.fftn if forward else torch.fft.ifftn)(x, dim=tuple(axes), norm=normalization)


def fft_r2c(x: Any, axes: Any, normalization: str, forward: bool, onesided: bool) -> Any:
    if not onesided:
        return fft_c2c(torch.complex(x, torch.zeros_like(x)), axes, normalization, forward)
    if forward:
        return torch.fft.rfftn(x, dim=tuple(axes), norm=normalization)
    return torch.conj_physical(torch.fft.rfftn(x, dim=tuple(axes), norm=opposite(normalization)))


def fft_c2r(x: Any, axes: Any, normalization: str, forward: bool, last_dim_size: int) -> Any:
    size = last_dim_size or 2 * (x.shape[axes[-1]] - 1)
    sizes = [x.shape[a] for a in axes[:-1]] + [size]
    if forward:
        return torch.fft.irfftn(torch.conj_physical(x), sizes, tuple(axes), opposite(normalization))
    return torch.fft.irfftn(x, sizes, tuple(axes), normalization)


def fft_resize(x: Any, axes: Any, sizes: Any) -> Any:
    paddings = [0] * (2 * x.ndim)
    for axis, size in zip(axes, sizes):
        paddings[2 * (axis % x.ndim) + 1] = size - x.shape[axis]
    return padded(x, paddings)


def scan(a: Any, b: Any, reverse: bool) -> Any:
    length = b.shape[-1]
    rows: dict[int, Any] = {}
    for i in range(length - 1, -1, -1) if reverse else range(length):
        before = i + 1 if reverse else i - 1
        factor = a[..., before if reverse else i] if before in rows else 0
        rows[i] = b[..., i] + (factor * rows[before] if before in rows else 0)
    return torch.stack([rows[i] for i in range(length)], -1) if length else b.clone()


def attention(q: Any, k: Any, v: Any, causal: bool) -> Any:
    times = q.shape[2] // k.shape[2]
    k, v = (x.repeat_interleave(times, dim=2) for x in (k, v))
    heads_first = [x.transpose(1, 2) for x in (q, k, v)]
    return torch.nn.functional.scaled_dot_product_attention(*heads_first, is_causal=causal).transpose(1, 2)


def attention_grad(q: Any, k: Any, v: Any, out_grad: Any, causal: bool) -> Any:
    with torch.enable_grad():
        leaves = [x.detach().requires_grad_() for x in (q, k, v)]
        return torch.autograd.grad(attention(*leaves, causal), leaves, out_grad)


LAST_NAN = "of several NaN in a window the first is taken, in torch the last"
PHASE = "vectors are fixed but for a sign or phase: of svd the values alone are compared"

CALLS: dict[str, TorchCall] = {
    "matmul": TorchCall(
        lambda x, y, transpose_x, transpose_y: torch.matmul(turned(x, transpose_x), turned(y, transpose_y))
    ),
    "bmm": TorchCall("bmm"),
    "mv": TorchCall("mv"),
    "dot": TorchCall(plain_dot),
    "addmm": TorchCall(added),
    "kron": TorchCall("kron"),
    "cross": TorchCall(crossed),
    "einsum": TorchCall(einsum),
    "trace": TorchCall(lambda x, offset, axis1, axis2: torch.diagonal(x, offset, axis1, axis2).sum(-1)),
    "trace_grad": TorchCall(
        lambda grad, shape, offset, axis1, axis2: transpose_of(
            lambda x: torch.diagonal(x, offset, axis1, axis2).sum(-1)
        )(grad, shape)
    ),
    "inverse": TorchCall("linalg.inv"),
    "det": TorchCall("linalg.det"),
    "slogdet": TorchCall(sign_and_logarithm),
    "cofactor": TorchCall(cofactors, "det(x) times the inverse's transpose: only of matrices that have an inverse"),
    "solve": TorchCall(lambda x, y: torch.linalg.solve(x, y)),
    "triangular_solve": TorchCall(triangular),
    "cholesky": TorchCall(lambda x, upper: torch.linalg.cholesky(x, upper=upper)),
    "cholesky_solve": TorchCall(from_cholesky),
    "qr": TorchCall(qr),
    "svd": TorchCall(lambda x, full_matrices: (None, torch.linalg.svd(x, full_matrices)[1], None), PHASE),
    "svdvals": TorchCall("linalg.svdvals"),
    "eigh": TorchCall(lambda x, UPLO: torch.linalg.eigh(x, UPLO), PHASE),
    "eigvalsh": TorchCall(lambda x, uplo: torch.linalg.eigvalsh(x, uplo)),
    "eig": TorchCall("linalg.eig", PHASE),
    "eigvals": TorchCall("linalg.eigvals"),
    "pinv": TorchCall(lambda x, rcond, hermitian: torch.linalg.pinv(x, rtol=rcond, hermitian=hermitian)),
    "lu": TorchCall(factored_lu),
    "lu_unpack": TorchCall(unpacked),
    "lstsq": TorchCall(least_squares),
    "conv": TorchCall(conv, PADDED),
    "conv_grad_input": TorchCall(conv_grad_input, PADDED),
    "conv_grad_filter": TorchCall(conv_grad_filter, PADDED),
    "max_pool": TorchCall(lambda x, **attrs: batched(max_pool)(x, **attrs)[0], LAST_NAN, ("special gradients",)),
    "max_pool_with_index": TorchCall(batched(max_pool), LAST_NAN, ("special values",)),
    "max_pool_grad": TorchCall(max_pool_grad),
    "adaptive_max_pool_with_index": TorchCall(batched(adaptive_max_pool)),
    "avg_pool": TorchCall(batched(avg_pool)),
    "avg_pool_backward": TorchCall(avg_pool_backward),
    "max_pool_scatter": TorchCall(pool_scatter),
    "max_pool_gather": TorchCall(pool_gather),
    "batch_norm": TorchCall(batch_norm),
    "layer_norm": TorchCall(layer_norm),
    "cross_entropy_with_softmax": TorchCall(cross_entropy),
    "cross_entropy_with_softmax_grad": TorchCall(cross_entropy_grad),
    "fft_c2c": TorchCall(fft_c2c),
    "fft_r2c": TorchCall(fft_r2c),
    "fft_c2r": TorchCall(fft_c2r),
    "fft_resize": TorchCall(fft_resize),
    "linear_scan": TorchCall(scan),
    "flash_attn": TorchCall(attention),
    "flash_attn_grad": TorchCall(attention_grad, "an infinite score leaves no weights", ("special values",)),
}
