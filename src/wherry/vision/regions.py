"""Pooling over regions of images. Source: paddle.vision.ops."""

from typing import Any

from wherry import _C_ops
from wherry.nn.functional.windows import Size, ints
from wherry.nn.layer.layers import Layer
from wherry.tensor.tensor import Tensor


def _output(output_size: Size, name: str) -> tuple[int, ...]:
    if not isinstance(output_size, (int, tuple, list)):
        raise TypeError(f"{name}: expected an int or two as output_size, received {type(output_size).__name__}")
    return ints(output_size, 2, "output_size")


def roi_align(
    x: Tensor,
    boxes: Tensor,
    boxes_num: Tensor,
    output_size: Size,
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = True,
    name: str | None = None,
) -> Tensor:
    """Means of samples taken between the cells of each bin of each box (He et al., 2017).

    x: [N, C, H, W]; boxes: [boxes, 4] of x's dtype, those of the first image first; boxes_num: [N] integers, how many each image has. The
    result is [boxes, C, *output_size]. spatial_scale: from the boxes' units to cells. sampling_ratio: samples along each side of a bin;
    -1: as many as it has cells. aligned: half a cell is taken off, so that boxes and cells have the same origin. A box without extent gives 0.
    Raises ValueError for shapes or numbers of boxes that do not fit, TypeError for boxes of another dtype. Source: paddle.vision.ops.roi_align.
    """
    size = _output(output_size, "roi_align")
    return _C_ops.roi_align(x, boxes, boxes_num, *size, spatial_scale, sampling_ratio, aligned)


def roi_pool(
    x: Tensor,
    boxes: Tensor,
    boxes_num: Tensor,
    output_size: Size,
    spatial_scale: float = 1.0,
    name: str | None = None,
) -> Tensor:
    """The largest cell of each bin of each box (Girshick, 2015); 0 for a bin without cells. Arguments as `roi_align`.

    Source: paddle.vision.ops.roi_pool.
    """
    return _C_ops.roi_pool(x, boxes, boxes_num, *_output(output_size, "roi_pool"), spatial_scale)[0]


def psroi_pool(
    x: Tensor,
    boxes: Tensor,
    boxes_num: Tensor,
    output_size: Size,
    spatial_scale: float = 1.0,
    name: str | None = None,
) -> Tensor:
    """The mean of each bin of each box, every bin in channels of its own (Dai et al., 2016); 0 for a bin without cells.

    x: [N, C * height * width of output_size, H, W]; the result is [boxes, C, *output_size]. Other arguments as `roi_align`.
    Source: paddle.vision.ops.psroi_pool.
    """
    size = _output(output_size, "psroi_pool")
    if x.ndim != 4:
        raise ValueError(f"psroi_pool: expected x of 4 dimensions, received shape {list(x.shape)}")
    if min(size) < 1:
        raise ValueError(f"psroi_pool: expected an output_size of at least 1, received {list(size)}")
    return _C_ops.psroi_pool(x, boxes, boxes_num, *size, x.shape[1] // (size[0] * size[1]), spatial_scale)


class RoIAlign(Layer):
    """`roi_align` as a layer. Source: paddle.vision.ops.RoIAlign."""

    def __init__(self, output_size: Size, spatial_scale: float = 1.0) -> None:
        super().__init__()
        self._output_size = output_size
        self._spatial_scale = spatial_scale

    def forward(self, x: Any, boxes: Any, boxes_num: Any, aligned: bool = True) -> Any:
        return roi_align(x, boxes, boxes_num, self._output_size, self._spatial_scale, aligned=aligned)


class RoIPool(Layer):
    """`roi_pool` as a layer. Source: paddle.vision.ops.RoIPool."""

    def __init__(self, output_size: Size, spatial_scale: float = 1.0) -> None:
        super().__init__()
        self._output_size = output_size
        self._spatial_scale = spatial_scale

    def forward(self, x: Any, boxes: Any, boxes_num: Any) -> Any:
        return roi_pool(x, boxes, boxes_num, self._output_size, self._spatial_scale)

    def extra_repr(self) -> str:
        return f"output_size={self._output_size}, spatial_scale={self._spatial_scale}"


class PSRoIPool(Layer):
    """`psroi_pool` as a layer. Source: paddle.vision.ops.PSRoIPool."""

    def __init__(self, output_size: Size, spatial_scale: float = 1.0) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale

    def forward(self, x: Any, boxes: Any, boxes_num: Any) -> Any:
        return psroi_pool(x, boxes, boxes_num, self.output_size, self.spatial_scale)
