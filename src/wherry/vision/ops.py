"""Operations of object detection and the layers made of them. Source: paddle.vision.ops.

A box is (left, top, right, bottom). What boxes are chosen or coded has no derivative; pooling over regions, deformable convolution and the YOLO
loss have them, to every order.
"""

from wherry.vision.boxes import (
    box_coder,
    distribute_fpn_proposals,
    generate_proposals,
    matrix_nms,
    nms,
    prior_box,
)
from wherry.vision.deform import DeformConv2D, deform_conv2d
from wherry.vision.files import read_file
from wherry.vision.regions import PSRoIPool, RoIAlign, RoIPool, psroi_pool, roi_align, roi_pool
from wherry.vision.yolo import yolo_box, yolo_loss

__all__ = [
    "DeformConv2D",
    "PSRoIPool",
    "RoIAlign",
    "RoIPool",
    "box_coder",
    "deform_conv2d",
    "distribute_fpn_proposals",
    "generate_proposals",
    "matrix_nms",
    "nms",
    "prior_box",
    "psroi_pool",
    "read_file",
    "roi_align",
    "roi_pool",
    "yolo_box",
    "yolo_loss",
]
