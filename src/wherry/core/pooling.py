"""Sizes of pooling windows, which InferMeta and kernels both work out."""


def output_size(size: int, kernel: int, stride: int, before: int, after: int, ceil_mode: bool) -> int:
    """How many windows fit along an axis."""
    span = size + before + after - kernel
    return (span + stride - 1 if ceil_mode else span) // stride + 1


def output_sizes(
    spatial: tuple[int, ...],
    kernel_size: tuple[int, ...],
    strides: tuple[int, ...],
    paddings: tuple[int, ...],
    ceil_mode: bool,
) -> tuple[int, ...]:
    """The same along every axis; raises ValueError where no window fits or an argument has the wrong length."""
    count = len(spatial)
    for name, values, length in (
        ("kernel_size", kernel_size, count),
        ("stride", strides, count),
        ("padding", paddings, 2 * count),
    ):
        if len(values) != length:
            raise ValueError(f"expected {length} numbers in {name} for {count} spatial axes, received {list(values)}")
    for name, values, least in (("kernel_size", kernel_size, 1), ("stride", strides, 1), ("padding", paddings, 0)):
        if min(values, default=least) < least:
            raise ValueError(f"expected {name} of at least {least}, received {list(values)}")
    sizes = tuple(
        output_size(spatial[i], kernel_size[i], strides[i], paddings[2 * i], paddings[2 * i + 1], ceil_mode)
        for i in range(count)
    )
    for i, size in enumerate(sizes):
        if size <= 0:
            raise ValueError(
                f"expected a window that fits, received kernel_size {list(kernel_size)} and padding {list(paddings)} for the "
                f"spatial shape {list(spatial)}: axis {i} would have {size} windows"
            )
        if paddings[2 * i] >= kernel_size[i] or paddings[2 * i + 1] >= kernel_size[i]:
            raise ValueError(
                f"expected padding smaller than the kernel, received padding {list(paddings)} and kernel_size {list(kernel_size)}"
            )
    return sizes


def adaptive_bounds(size: int, output: int) -> list[tuple[int, int]]:
    """(start, end) of each of `output` windows that share an axis of `size`."""
    return [(i * size // output, -((-(i + 1) * size) // output)) for i in range(output)]
