"""Another kernel for an operation that is there: products of many two-by-two matrices, in C where there is a compiler."""

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import wherry as paddle
from wherry import library
from wherry.autograd import gradcheck

SOURCE = """
void products(const float *x, const float *y, float *out, long count) {
    for (long i = 0; i < 4 * count; i += 4) {
        out[i] = x[i] * y[i] + x[i + 1] * y[i + 2];
        out[i + 1] = x[i] * y[i + 1] + x[i + 1] * y[i + 3];
        out[i + 2] = x[i + 2] * y[i] + x[i + 3] * y[i + 2];
        out[i + 3] = x[i + 2] * y[i + 1] + x[i + 3] * y[i + 3];
    }
}
"""
calls = []


def compiled():
    """The C function, or None where there is no compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return None
    folder = Path(tempfile.mkdtemp())
    (folder / "products.c").write_text(SOURCE)
    subprocess.run(
        [compiler, "-O3", "-shared", "-fPIC", "-o", folder / "products.so", folder / "products.c"], check=True
    )
    function = ctypes.CDLL(str(folder / "products.so")).products
    function.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_long]
    return function


products = compiled()


def two_by_two(x, y, transpose_x, transpose_y):
    return x.ndim == 3 and x.shape[1:] == (2, 2) and y.shape == x.shape and not (transpose_x or transpose_y)


@library.kernel("matmul", "float32", predicate=two_by_two, contiguous=True)
def matmul_of_two_by_two(x, y, transpose_x, transpose_y):
    calls.append(x.shape)
    if products is None:
        return np.einsum("bij,bjk->bik", x, y)
    out = np.empty_like(x)
    products(x.ctypes.data, y.ctypes.data, out.ctypes.data, len(x))
    return out


if __name__ == "__main__":
    paddle.seed(0)
    x, y = paddle.randn([1000, 2, 2]), paddle.randn([1000, 2, 2])
    np.testing.assert_allclose((x @ y).numpy(), x.numpy() @ y.numpy(), rtol=1e-5, atol=1e-6)
    assert calls == [(1000, 2, 2)], "the product went to the new kernel"
    paddle.randn([3, 3]) @ paddle.randn([3, 3])
    assert len(calls) == 1, "and others did not"
    x.stop_gradient = False
    (x @ y).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), (np.ones((1000, 2, 2)) @ y.numpy().swapaxes(1, 2)), rtol=1e-5, atol=1e-5)
    wide = paddle.to_tensor(x.numpy()[:2], dtype="float64", stop_gradient=False)
    assert gradcheck(lambda x: x @ x, wide)
    print("matmul of", calls[0], "by", "the C library" if products is not None else "einsum")
