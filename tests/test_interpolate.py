"""interpolate: known values of every mode, gradients, refusals."""

import numpy as np
import pytest

import wherry as paddle
from wherry.autograd import gradcheck
from wherry.nn import functional as F


def signal(values: list[float], shape: list[int]) -> paddle.Tensor:
    return paddle.to_tensor(np.array(values, np.float64).reshape(shape))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"size": 4, "mode": "nearest"}, [1.0, 1.0, 3.0, 3.0]),
        ({"scale_factor": 2, "mode": "linear"}, [1.0, 1.5, 2.5, 3.0]),
        ({"size": [3], "mode": "linear", "align_corners": True}, [1.0, 2.0, 3.0]),
        ({"size": 4, "mode": "linear", "align_mode": 1}, [1.0, 2.0, 3.0, 3.0]),
        ({"size": 1, "mode": "linear"}, [2.0]),
        ({"size": 1, "mode": "area"}, [2.0]),
        ({"size": 2, "mode": "nearest"}, [1.0, 3.0]),
    ],
)
def test_a_signal(options, expected) -> None:
    assert F.interpolate(signal([1.0, 3.0], [1, 1, 2]), **options).reshape([-1]).tolist() == expected


def test_an_image_by_each_mode() -> None:
    x = signal([0.0, 1.0, 2.0, 3.0], [1, 1, 2, 2])
    bilinear = F.interpolate(x, size=[3, 3], mode="bilinear", align_corners=True)
    assert bilinear[0, 0].tolist() == [[0.0, 0.5, 1.0], [1.0, 1.5, 2.0], [2.0, 2.5, 3.0]]
    # Halfway, the cubic kernel of Keys with -0.75 weighs its four places -3/32, 19/32, 19/32, -3/32.
    ramp = signal([0.0, 1.0, 4.0, 9.0, 0.0, 1.0, 4.0, 9.0], [1, 1, 2, 4])
    cubic = F.interpolate(ramp, size=[2, 7], mode="bicubic", align_corners=True)
    np.testing.assert_allclose(cubic[0, 0, 0, 3].item(), (-3 * 0 + 19 * 1 + 19 * 4 - 3 * 9) / 32, rtol=1e-14)
    last = F.interpolate(
        x.transpose([0, 2, 3, 1]), size=[3, 3], mode="bilinear", align_corners=True, data_format="NHWC"
    )
    assert last.transpose([0, 3, 1, 2]).tolist() == bilinear.tolist()
    assert F.upsample(x, scale_factor=2, mode="nearest").tolist() == F.interpolate(x, scale_factor=2).tolist()


@pytest.mark.parametrize(
    ("mode", "shape", "size"),
    [("nearest", [1, 1, 2, 3], [3, 4]), ("linear", [1, 2, 3], [5]), ("bilinear", [1, 1, 2, 3], [3, 2]),
     ("bicubic", [1, 1, 2, 3], [3, 4]), ("trilinear", [1, 1, 2, 2, 2], [3, 2, 3]), ("area", [1, 1, 4, 3], [2, 2])],
)  # fmt: skip
def test_gradients(mode, shape, size) -> None:
    x = paddle.to_tensor(np.random.default_rng(0).normal(size=shape), stop_gradient=False)
    assert gradcheck(lambda t: F.interpolate(t, size=size, mode=mode), x)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({}, ValueError, "expected one of size and scale_factor, received neither"),
        ({"size": 2, "scale_factor": 2}, ValueError, "expected one of size and scale_factor, received size=2 and scale_factor=2"),
        ({"size": 0}, ValueError, "expected output sizes of at least 1, received [0]"),
        ({"size": [1, 2]}, ValueError, "expected 1 numbers in size, received [1, 2]"),
        ({"size": 2, "mode": "bilinear"}, ValueError, "expected x of 4 dimensions for mode 'bilinear', received shape [1, 1, 2]"),
        ({"size": 2, "align_corners": True}, ValueError, "expected align_corners=False with mode 'nearest', received True"),
        ({"size": 2, "align_mode": 2}, ValueError, "expected align_mode 0 or 1, received 2"),
        ({"size": 2, "data_format": "NHWC"}, ValueError, "expected data_format NCW or NWC, received 'NHWC'"),
        ({"size": 2, "recompute_scale_factor": True}, ValueError, "expected scale_factor with recompute_scale_factor=True, received size"),
        ({"size": 2, "antialias": True}, NotImplementedError, "'antialias' is not supported"),
    ],
)  # fmt: skip
def test_refusals(options, error, text) -> None:
    with pytest.raises(error) as caught:
        F.interpolate(signal([1.0, 3.0], [1, 1, 2]), **options)
    assert str(caught.value) == f"interpolate: {text}"
