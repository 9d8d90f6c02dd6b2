"""Images resampled, cut into windows, rearranged, unpooled: known values, gradients, refusals."""

import itertools

import numpy as np
import pytest

import wherry as paddle
from wherry import nn
from wherry.autograd import gradcheck, gradgradcheck
from wherry.nn import functional as F


def tensor(values, shape=None, dtype="float64", grad=False) -> paddle.Tensor:
    array = np.array(values, dtype)
    return paddle.to_tensor(array if shape is None else array.reshape(shape), stop_gradient=not grad)


def normal(*shape: int, seed: int = 0, grad: bool = True) -> paddle.Tensor:
    return paddle.to_tensor(np.random.default_rng(seed).normal(size=shape), stop_gradient=not grad)


NINE = tensor(np.arange(1.0, 10.0), [1, 1, 3, 3])
# Left of x, its corner, between cells, its far edge, beyond it.
GRID = tensor([[-1.5, -1.0], [-1.0, -1.0], [0.25, -0.5], [1.0, 1.0], [0.0, 1.5]], [1, 1, 5, 2])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [0.5, 1.0, 3.75, 9.0, 4.0]),
        ({"align_corners": False}, [0.0, 0.25, 3.125, 2.25, 0.0]),
        ({"padding_mode": "border"}, [1.0, 1.0, 3.75, 9.0, 8.0]),
        ({"padding_mode": "border", "align_corners": False}, [1.0, 1.0, 3.125, 9.0, 8.0]),
        ({"padding_mode": "reflection"}, [1.5, 1.0, 3.75, 9.0, 6.5]),
        # -1.5 lies 0.75 cells beyond the left edge and comes back as far inside: 0.25 cells from the first centre.
        ({"padding_mode": "reflection", "align_corners": False}, [1.25, 1.0, 3.125, 9.0, 7.25]),
        ({"mode": "nearest"}, [1.0, 1.0, 2.0, 9.0, 8.0]),
        ({"mode": "nearest", "align_corners": False, "padding_mode": "border"}, [1.0, 1.0, 2.0, 9.0, 8.0]),
    ],
)
def test_grid_sample_of_known_places(options, expected) -> None:
    np.testing.assert_allclose(F.grid_sample(NINE, GRID, **options).numpy().ravel(), expected, rtol=1e-14)


def reference(x: np.ndarray, grid: np.ndarray, align: bool) -> np.ndarray:
    """Linear interpolation with zeros outside, corner by corner, in any number of axes."""
    count = x.ndim - 2
    out = np.zeros((x.shape[0], x.shape[1], *grid.shape[1:-1]))
    for n, *where in np.ndindex(*grid.shape[:-1]):
        g = grid[(n, *where)][::-1]
        sizes = np.array(x.shape[2:])
        place = (g + 1) / 2 * (sizes - 1) if align else ((g + 1) * sizes - 1) / 2
        low = np.floor(place).astype(int)
        for corner in itertools.product((0, 1), repeat=count):
            cell = low + corner
            if (cell >= 0).all() and (cell < sizes).all():
                out[(n, slice(None), *where)] += np.prod(1 - np.abs(place - cell)) * x[(n, slice(None), *cell)]
    return out


@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("spatial", [(4, 5), (3, 4, 2)])
def test_grid_sample_equals_interpolation_corner_by_corner(spatial, align) -> None:
    x = normal(2, 3, *spatial)
    grid = np.random.default_rng(1).uniform(-1.3, 1.3, (2, *spatial, len(spatial)))
    out = F.grid_sample(x, paddle.to_tensor(grid), align_corners=align)
    np.testing.assert_allclose(out.numpy(), reference(x.numpy(), grid, align), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("spatial", [(2, 3), (2, 2, 2)])
def test_grid_sample_has_derivatives_of_both_orders(spatial, align, padding_mode) -> None:
    x, count = normal(1, 1, *spatial), len(spatial)
    places = np.random.default_rng(2).uniform(-1.4, 1.4, (1, *[1] * (count - 1), 2, count))
    grid = paddle.to_tensor(places, stop_gradient=False)

    def sample(x, grid):
        return F.grid_sample(x, grid, padding_mode=padding_mode, align_corners=align)

    assert gradcheck(sample, [x, grid])
    assert gradgradcheck(sample, [x, grid])


def test_grid_sample_of_the_nearest_cell_has_a_zero_gradient_by_the_grid() -> None:
    x, grid = normal(1, 2, 3, 3), tensor(GRID.numpy(), grad=True)
    F.grid_sample(x, grid, mode="nearest").sum().backward()
    assert grid.grad.abs().sum().item() == 0.0
    # The corner twice, with nothing beyond the left edge: -1.5 is half a cell out, and halves go to the even cell.
    assert x.grad[0, 0].tolist() == [[2.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 1.0]]


def test_grid_sample_in_halves_and_with_places_that_are_no_numbers() -> None:
    half = F.grid_sample(NINE.astype("float16"), GRID.astype("float16"))
    assert half.dtype == paddle.float16
    assert half.numpy().ravel().tolist() == [0.5, 1.0, 3.75, 9.0, 4.0]
    odd = tensor([[float("nan"), 0.0], [float("inf"), 0.0], [1e300, 0.0]], [1, 1, 3, 2])
    # A place without a number has no value; one far away reads nothing, or the border.
    assert np.isnan(F.grid_sample(NINE, odd).numpy()).ravel().tolist() == [True, False, False]
    assert F.grid_sample(NINE, odd, padding_mode="border").numpy().ravel()[1:].tolist() == [6.0, 6.0]
    single = F.grid_sample(NINE[:, :, :1], GRID, padding_mode="reflection").numpy().ravel()
    np.testing.assert_allclose(single, [1.5, 1.0, 2.25, 3.0, 2.0])


def test_affine_grid() -> None:
    turn = tensor([[[0.0, -1.0, 0.5], [1.0, 0.0, 0.0]]])
    assert F.affine_grid(turn, [1, 1, 2, 2]).tolist() == [[[[1.5, -1.0], [1.5, 1.0]], [[-0.5, -1.0], [-0.5, 1.0]]]]
    assert F.affine_grid(turn, [1, 1, 2, 2], False).tolist() == [[[[1.0, -0.5], [1.0, 0.5]], [[0.0, -0.5], [0.0, 0.5]]]]
    assert F.affine_grid(turn, paddle.to_tensor([1, 1, 1, 1])).tolist() == [[[[0.5, 0.0]]]]
    same = paddle.eye(3, 4, dtype="float64").unsqueeze(0)
    volume = F.affine_grid(same, [1, 1, 2, 3, 2])
    assert volume.shape == [1, 2, 3, 2, 3]
    assert volume[0, 1, 0, 0].tolist() == [-1.0, -1.0, 1.0]
    x = normal(1, 2, 2, 3, 2)
    np.testing.assert_allclose(F.grid_sample(x, volume).numpy(), x.numpy(), rtol=1e-14)
    assert F.affine_grid(turn, [1, 1, 0, 2]).shape == [1, 0, 2, 2]
    assert gradgradcheck(lambda t: F.affine_grid(t, [2, 1, 2, 3]) ** 2, normal(2, 2, 3))


def test_unfold_and_fold() -> None:
    columns = F.unfold(NINE, 2)
    assert columns.tolist() == [[[1, 2, 4, 5], [2, 3, 5, 6], [4, 5, 7, 8], [5, 6, 8, 9]]]
    assert F.unfold(NINE, [1, 2], paddings=[1, 0, 0, 0]).shape == [1, 2, 8]
    assert F.unfold(NINE, 2, dilations=2).tolist() == [[[1], [3], [7], [9]]]
    assert F.fold(columns, 3, 2).tolist() == [[[[1, 4, 3], [8, 20, 12], [7, 16, 9]]]]
    # A convolution is a product with columns.
    x, weight = normal(2, 3, 5, 6), normal(4, 3, 3, 2, seed=1)
    product = weight.reshape([4, -1]) @ F.unfold(x, [3, 2], [2, 1], [1, 0, 1, 1])
    expected = F.conv2d(x, weight, stride=[2, 1], padding=[1, 1, 0, 1])
    np.testing.assert_allclose(product.reshape(expected.shape).numpy(), expected.numpy(), rtol=1e-12)
    assert nn.Fold(3, 2)(nn.Unfold(2)(NINE)).tolist() == F.fold(columns, 3, 2).tolist()
    assert repr(nn.Unfold(2, strides=2)) == "Unfold(kernel_size=2, dilation=1, padding=0, stride=2)"


def test_channels_shuffled_and_frames_shifted() -> None:
    x = paddle.arange(12).reshape([1, 6, 1, 2])
    assert F.channel_shuffle(x, 3)[0, :, 0, 0].tolist() == [0, 4, 8, 2, 6, 10]
    assert F.channel_shuffle(x.transpose([0, 2, 3, 1]), 3, "NHWC")[0, 0, 0].tolist() == [0, 4, 8, 2, 6, 10]
    assert nn.ChannelShuffle(3)(x).tolist() == F.channel_shuffle(x, 3).tolist()
    assert repr(nn.ChannelShuffle(3, "NHWC")) == "ChannelShuffle(groups=3, data_format=NHWC)"
    frames = tensor(np.arange(16.0), [4, 4, 1, 1], grad=True)
    out = F.temporal_shift(frames, 2)
    # The first channel comes from the frame before, the second from the frame after.
    expected = [[0, 5, 2, 3], [0, 0, 6, 7], [0, 13, 10, 11], [8, 0, 14, 15]]
    assert out.reshape([4, 4]).tolist() == expected
    last = F.temporal_shift(frames.reshape([4, 1, 1, 4]), 2, 0.25, None, "NHWC")
    assert last.reshape([4, 4]).tolist() == expected
    assert F.temporal_shift(frames, 2, 0.1).tolist() == frames.tolist()
    assert gradcheck(lambda t: F.temporal_shift(t, 2, 0.3), frames)


def test_max_pooling_undone() -> None:
    x = normal(2, 3, 4, 6)
    out, index = F.max_pool2d(x, 2, return_mask=True)
    back = F.max_unpool2d(out, index, 2)
    kept = np.where(back.numpy() != 0, x.numpy(), 0)
    assert back.numpy().tolist() == kept.tolist()
    assert (kept != 0).sum() == out.size
    assert F.max_unpool2d(out, index, 2, output_size=[5, 7]).shape == [2, 3, 5, 7]
    assert nn.MaxUnPool2D(2)(out, index, output_size=[2, 3, 5, 7]).shape == [2, 3, 5, 7]
    assert gradgradcheck(lambda t: F.max_unpool2d(t, index, 2) ** 2, tensor(out.numpy(), grad=True))
    line, places = F.max_pool1d(x[:, :, 0], 2, return_mask=True)
    assert F.max_unpool1d(line, places, 2).shape == [2, 3, 6]
    assert nn.MaxUnPool1D(2)(line, places).tolist() == F.max_unpool1d(line, places, 2).tolist()
    cube, cells = F.max_pool3d(normal(1, 2, 4, 4, 4), 2, return_mask=True)
    assert nn.MaxUnPool3D(2)(cube, cells).shape == [1, 2, 4, 4, 4]
    with pytest.raises(IndexError, match="expected indices in"):
        F.max_unpool2d(out, index + 24, 2)


def test_pooling_by_a_norm() -> None:
    x = tensor([[3.0, 4.0, 0.0, 0.0, 1.0, 2.0]], [1, 1, 6], grad=True)
    out = F.lp_pool1d(x, 2, 2)
    np.testing.assert_allclose(out.numpy().ravel(), [5.0, 0.0, 5.0**0.5], rtol=1e-15)
    out.sum().backward()
    # Of a window of zeros there is no slope; the gradient is 0, not NaN.
    np.testing.assert_allclose(x.grad.numpy().ravel(), [0.6, 0.8, 0.0, 0.0, 5.0**-0.5, 2 * 5.0**-0.5], rtol=1e-15)
    assert F.lp_pool1d(x, float("inf"), 3).numpy().ravel().tolist() == [4.0, 2.0]
    # The last window of ceil_mode has one element.
    np.testing.assert_allclose(F.lp_pool1d(x, 3, 4, 3, ceil_mode=True).numpy().ravel()[1], 9 ** (1 / 3), rtol=1e-14)
    image = paddle.to_tensor(np.random.default_rng(3).uniform(0.5, 2.0, (2, 3, 5, 4)), stop_gradient=False)
    last = F.lp_pool2d(image.transpose([0, 2, 3, 1]), 3, [2, 3], 1, [1, 0], data_format="NHWC")
    np.testing.assert_allclose(
        last.transpose([0, 3, 1, 2]).numpy(), F.lp_pool2d(image, 3, [2, 3], 1, [1, 0]).numpy(), rtol=1e-14
    )
    windows = F.unfold(image[:, :1], 2, 2)
    np.testing.assert_allclose(
        F.lp_pool2d(image[:, :1], 3, 2).numpy().reshape(2, -1),
        (windows**3).sum(1).numpy() ** (1 / 3),
        rtol=1e-14,
    )
    assert gradgradcheck(lambda t: F.lp_pool2d(t, 3, 2, 1, 1), image)
    assert nn.LPPool2D(3, 2)(image).tolist() == F.lp_pool2d(image, 3, 2).tolist()
    assert nn.LPPool1D(2, 2)(x).tolist() == out.tolist()
    assert repr(nn.LPPool1D(2, 2)) == "LPPool1D(norm_type=2.0, kernel_size=2, stride=None, padding=0)"


def test_fractional_pooling_draws_where_the_windows_begin() -> None:
    x = paddle.arange(49, dtype="float64").reshape([1, 1, 7, 7])
    out, index = F.fractional_max_pool2d(x, 3, random_u=0.5, return_mask=True)
    assert index.dtype == paddle.int32
    assert out.tolist() == index.astype("float64").tolist()
    assert out[0, 0, -1, -1].item() == 48.0
    assert nn.FractionalMaxPool2D(3, random_u=0.5)(x).tolist() == out.tolist()
    assert F.fractional_max_pool2d(x, [None, 2], random_u=0.5).shape == [1, 1, 7, 2]
    paddle.seed(5)
    draws = [F.fractional_max_pool2d(x, 3) for _ in range(8)]
    assert len({str(d.tolist()) for d in draws}) > 1
    paddle.seed(5)
    assert F.fractional_max_pool2d(x, 3).tolist() == draws[0].tolist()
    cube = normal(1, 2, 5, 4, 6)
    assert nn.FractionalMaxPool3D([2, 2, 3], random_u=0.4)(cube).shape == [1, 2, 2, 2, 3]


SHAPES = (
    "expected x [N, C, H, W] and grid [N, H', W', 2], or x [N, C, D, H, W] and grid [N, D', H', W', 3], received shapes"
)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: F.grid_sample(NINE, GRID, "bicubic"), ValueError, "grid_sample: expected mode 'bilinear' or 'nearest', received 'bicubic'"),
        (lambda: F.grid_sample(NINE, GRID, padding_mode="wrap"), ValueError,
         "grid_sample: expected padding_mode 'zeros', 'border' or 'reflection', received 'wrap'"),
        (lambda: F.grid_sample(NINE, GRID[0]), ValueError, f"grid_sample: {SHAPES} [1, 1, 3, 3] and [1, 5, 2]"),
        (lambda: F.grid_sample(NINE, GRID.astype("float32")), ValueError,
         "grid_sample: expected x and grid of one dtype, received float64 and float32"),
        (lambda: F.affine_grid(NINE[0], [1, 1, 2]), ValueError, "affine_grid: expected 4 or 5 numbers in out_shape, received [1, 1, 2]"),
        (lambda: F.affine_grid(NINE[0], [1, 1, 2, 2]), ValueError,
         "affine_grid: expected theta of shape [N, 2, 3] for out_shape [1, 1, 2, 2], received [1, 3, 3]"),
        (lambda: F.affine_grid([1], [1, 1, 2, 2]), TypeError, "affine_grid: expected a Tensor as theta, received list"),
        (lambda: F.unfold(NINE, 2, paddings=[1, 2, 3]), ValueError, "unfold: expected 1, 2 or 4 numbers in paddings, received [1, 2, 3]"),
        (lambda: F.channel_shuffle(NINE, 2), ValueError, "channel_shuffle: expected groups that divide 1 channels, received 2"),
        (lambda: F.channel_shuffle(NINE, 1.0), TypeError, "channel_shuffle: expected an int as groups, received float"),
        (lambda: F.channel_shuffle(NINE[0], 1), ValueError, "channel_shuffle: expected x of 4 dimensions, received shape [1, 3, 3]"),
        (lambda: F.temporal_shift(NINE, 2), ValueError, "temporal_shift: expected a seg_num that divides the 1 frames of x, received 2"),
        (lambda: F.temporal_shift(NINE, 1, 0.5), ValueError, "temporal_shift: expected a shift_ratio in (0, 0.5), received 0.5"),
        (lambda: F.temporal_shift(NINE, 1, data_format="NCL"), ValueError,
         "temporal_shift: expected data_format 'NCHW' or 'NHWC', received 'NCL'"),
        (lambda: F.max_unpool2d(NINE, NINE.astype("int32"), 2, output_size=[9, 6]), ValueError,
         "max_unpool2d: expected an output_size between 4 and 8 (both excluded) for axis 0, received [9, 6]"),
        (lambda: F.max_unpool2d(NINE, NINE.astype("int32"), 2, output_size=[6]), ValueError,
         "max_unpool2d: expected 2 or 4 numbers in output_size, received [6]"),
        (lambda: F.max_unpool2d(NINE, NINE.astype("int32"), 2, data_format="NHWC"), ValueError,
         "max_unpool2d: expected data_format 'NCHW', received 'NHWC'"),
        (lambda: F.lp_pool2d(NINE, 0, 2), ValueError, "lp_pool2d: expected a norm_type other than 0, received 0"),
        (lambda: F.lp_pool1d(NINE, 2, 2), ValueError, "lp_pool1d: expected x of 3 dimensions, received shape [1, 1, 3, 3]"),
        (lambda: F.fractional_max_pool2d(NINE, 2, random_u=1.0), ValueError,
         "fractional_max_pool2d: expected random_u in (0, 1), received 1.0"),
        (lambda: F.fractional_max_pool2d(NINE, [2]), ValueError,
         "fractional_max_pool2d: expected one number or 2 in output_size, received [2]"),
    ],
)  # fmt: skip
def test_refusals(call, error, text) -> None:
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: F.unfold(NINE, 4), "expected a window that fits"),
        (lambda: F.unfold(NINE, 2, 0), r"expected strides of at least 1, received \[0, 0\]"),
        (lambda: F.unfold(NINE[0], 2), r"expected x of 4 dimensions, received shape \[1, 3, 3\]"),
        (lambda: F.fold(NINE[0], 4, 2), "expected a second dimension of x that the kernel's 4 elements divide"),
        (lambda: F.fold(paddle.ones([1, 4, 4]), 4, 2), r"expected 9 columns in x for output_sizes \[4, 4\]"),
        (lambda: F.fractional_max_pool2d(NINE, 4), "expected an output_size from 1 to the axis's size"),
        (lambda: F.fractional_max_pool2d(NINE, 2, 3), "expected a kernel_size of which"),
    ],
)
def test_operations_refuse_sizes_that_do_not_fit(call, text) -> None:
    with pytest.raises(ValueError, match=text):
        call()
