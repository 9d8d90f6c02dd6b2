"""Where real Paddle 3.3.1 gives a wrong gradient or value, crashes, or loses something in silence, each with a piece of code that shows it.

`code` runs under both (`paddle` is either) and prints one line. `expected` is what it prints here, and what it should print, for the reason that `why`
gives; `paddle` is what it prints there, or how it ends. `python -m tests.regressions.paddle_faults` writes the list into docs/differences.md.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "differences.md"
BEGIN: Final = "<!-- faults: begin -->"
END: Final = "<!-- faults: end -->"


@dataclass(frozen=True)
class Fault:
    """One fault of real Paddle. kind: "wrong gradient", "wrong value", "no gradient", "crash" or "silent"."""

    title: str
    kind: str
    code: str
    expected: str
    paddle: str
    why: str


FAULTS: Final = (
    Fault(
        "in-place through a view",
        "wrong gradient",
        "x = paddle.ones([2, 2]); x.stop_gradient = False; y = x * 1; v = y[0]; v.multiply_(paddle.full([2], 3.0)); y.sum().backward(); print(x.grad.tolist())",
        "[[3.0, 3.0], [1.0, 1.0]]",
        "[[1.0, 1.0], [1.0, 1.0]]",
        "y's first row is 3 times x's: dy/dx is 3 there",
    ),
    Fault(
        "a chain of 400,000 operations",
        "crash",
        "x = paddle.ones([1]); x.stop_gradient = False; y = x\nfor _ in range(400_000): y = y * 1.0\ny.backward(); print(x.grad.tolist())",
        "[1.0]",
        "segmentation fault",
        "the pass recurses in Paddle; here it is a queue",
    ),
    Fault(
        "clip's bounds as tensors",
        "no gradient",
        "a = paddle.to_tensor([2.0], stop_gradient=False); x = paddle.to_tensor([1.0, 3.0]); paddle.clip(x, a, paddle.to_tensor([9.0])).sum().backward(); print(None if a.grad is None else a.grad.tolist())",
        "[1.0]",
        "None",
        "where the lower bound is taken, the output moves with it",
    ),
    Fault(
        "the weight of lerp",
        "no gradient",
        "w = paddle.to_tensor([0.5], stop_gradient=False); paddle.lerp(paddle.to_tensor([1.0]), paddle.to_tensor([3.0]), w).sum().backward(); print(None if w.grad is None else w.grad.tolist())",
        "[2.0]",
        "None",
        "d/dw of a + w (b - a) is b - a = 2",
    ),
    Fault(
        "hypot at the origin",
        "wrong gradient",
        "x = paddle.to_tensor([0.0], stop_gradient=False); paddle.hypot(x, paddle.to_tensor([0.0])).sum().backward(); print(x.grad.tolist())",
        "[0.0]",
        "[nan]",
        "a minimum: 0 is a subgradient, nan is none",
    ),
    Fault(
        "silu far out",
        "wrong gradient",
        "x = paddle.to_tensor([-709.0], dtype='float64', stop_gradient=False); paddle.nn.functional.silu(x).sum().backward(); print(x.grad.tolist())",
        "[-8.614807714413834e-306]",
        "[-inf]",
        "silu(x) is x e^x there, with slope e^x (1 + x) = -8.6e-306",
    ),
    Fault(
        "logsumexp of -inf",
        "wrong gradient",
        "x = paddle.to_tensor([-float('inf'), -float('inf')], stop_gradient=False); y = paddle.logsumexp(x); y.backward(); print(y.item(), x.grad.tolist())",
        "-inf [0.0, 0.0]",
        "nan [nan, nan]",
        "log(0 + 0) is -inf; it does not move with its inputs",
    ),
    Fault(
        "prod with two zeros",
        "wrong gradient",
        "x = paddle.to_tensor([0.0, 0.0, 3.0], stop_gradient=False); paddle.prod(x).backward(); print(x.grad.tolist())",
        "[0.0, 0.0, 0.0]",
        "[nan, nan, 0.0]",
        "each factor's cofactor has a zero in it",
    ),
    Fault(
        "second derivative of cumprod",
        "no gradient",
        "x = paddle.to_tensor([2.0, 3.0], stop_gradient=False); (g,) = paddle.grad(paddle.cumprod(x, 0).sum(), x, create_graph=True); g.sum().backward(); print(x.grad.tolist())",
        "[1.0, 1.0]",
        "raises",
        "cumprod([a, b]) sums to a + ab: the gradient's own gradient is (1, 1)",
    ),
    Fault(
        "complex prod",
        "wrong gradient",
        "z = paddle.to_tensor([1 + 1j, 2 + 3j], stop_gradient=False); paddle.prod(z).real().backward(); print(z.grad.tolist())",
        "[(2-3j), (1-1j)]",
        "[(2+3j), (0.9999998807907104+0.9999999403953552j)]",
        "for holomorphic f the gradient is conj(f'): the conjugate of the other factor",
    ),
    Fault(
        "norm with p=0.5 at a zero",
        "wrong gradient",
        "x = paddle.to_tensor([0.0, 4.0], stop_gradient=False); paddle.linalg.norm(x, 0.5).backward(); print(x.grad.tolist())",
        "[0.0, 1.0]",
        "[nan, 1.0]",
        "the element at 4 has slope (4^0.5)^1 4^-0.5 = 1; the subgradient 0 is taken at 0",
    ),
    Fault(
        "qr with mode r",
        "no gradient",
        "a = paddle.to_tensor([[2.0, 1.0], [1.0, 3.0]], dtype='float64', stop_gradient=False); paddle.linalg.qr(a, mode='r').sum().backward(); print(a.grad.numpy().round(4).tolist())",
        "[[-0.0, -1.3416], [-2.2361, 0.4472]]",
        "raises",
        "R determines the derivative as well as Q and R do",
    ),
    Fault(
        "fftn over a repeated axis",
        "crash",
        "x = paddle.ones([2, 2]);\ntry: print(paddle.fft.fftn(x, axes=(0, 0)).shape)\nexcept ValueError: print('ValueError')",
        "ValueError",
        "the process aborts",
        "an axis can be transformed once",
    ),
    Fault(
        "det of a singular matrix",
        "wrong gradient",
        "a = paddle.to_tensor([[1.0, 2.0], [2.0, 4.0]], dtype='float64', stop_gradient=False); paddle.linalg.det(a).backward(); print(a.grad.numpy().round(4).tolist())",
        "[[4.0, -2.0], [-2.0, 1.0]]",
        "[[0.0, 0.0], [0.0, 0.0]]",
        "the gradient is the matrix of cofactors, which exists for every matrix",
    ),
    Fault(
        "complex slogdet",
        "wrong gradient",
        "a = paddle.to_tensor([[1 + 1j, 0.5], [0.25, 2 - 1j]], dtype='complex128', stop_gradient=False); s, l = paddle.linalg.slogdet(a); s.real().backward(); print(a.grad.numpy().round(4).tolist())",
        "[[(0.1728-0.1684j), (-0.0089+0.0255j)], [(-0.0177+0.051j), (-0.0665-0.1374j)]]",
        "[[0j, -0j], [-0j, 0j]]",
        "the sign is det / |det|, which turns with its argument",
    ),
    Fault(
        "assign of a list of tensors",
        "no gradient",
        "x = paddle.to_tensor([1.0], stop_gradient=False); y = paddle.assign([x * 2.0, x * 3.0]); print(y.stop_gradient)",
        "False",
        "True",
        "a stack of tensors that need gradients",
    ),
    Fault(
        "diag_embed",
        "no gradient",
        "x = paddle.to_tensor([1.0, 2.0], stop_gradient=False); y = paddle.diag_embed(x); print(y.stop_gradient)",
        "False",
        "True",
        "it only places its elements",
    ),
    Fault(
        "eigvals",
        "no gradient",
        "a = paddle.to_tensor([[2.0, 1.0], [0.0, 3.0]], dtype='float64', stop_gradient=False); y = paddle.linalg.eigvals(a); print(y.stop_gradient)",
        "False",
        "True",
        "simple eigenvalues are differentiable",
    ),
    Fault(
        "scatter that overwrites twice",
        "wrong gradient",
        "u = paddle.to_tensor([[1.0], [2.0]], stop_gradient=False); paddle.scatter(paddle.zeros([2, 1]), paddle.to_tensor([0, 0]), u).sum().backward(); print(u.grad.tolist())",
        "[[0.0], [1.0]]",
        "[[1.0], [1.0]]",
        "the first row is overwritten: the output does not depend on it",
    ),
    Fault(
        "setitem with repeated indices",
        "wrong gradient",
        "v = paddle.to_tensor([1.0, 2.0], stop_gradient=False); x = paddle.zeros([2]); x[paddle.to_tensor([0, 0])] = v; x.sum().backward(); print(v.grad.tolist())",
        "[0.0, 1.0]",
        "[1.0, 0.0]",
        "the last write wins, so the gradient is the last value's",
    ),
    Fault(
        "index_put with repeated indices",
        "wrong gradient",
        "v = paddle.to_tensor([1.0, 2.0], stop_gradient=False); paddle.index_put(paddle.zeros([2]), (paddle.to_tensor([0, 0]),), v).sum().backward(); print(v.grad.tolist())",
        "[0.0, 1.0]",
        "[1.0, 1.0]",
        "the last write wins, so the gradient is the last value's",
    ),
    Fault(
        "diagonal_scatter's y",
        "no gradient",
        "y = paddle.to_tensor([1.0, 2.0], stop_gradient=False); o = paddle.diagonal_scatter(paddle.zeros([2, 2]), y); print(o.stop_gradient or (o.sum().backward(), y.grad.tolist())[1])",
        "[1.0, 1.0]",
        "True",
        "y's elements are in the output",
    ),
    Fault(
        "labels of binary_cross_entropy",
        "no gradient",
        "t = paddle.to_tensor([0.3], stop_gradient=False); paddle.nn.functional.binary_cross_entropy(paddle.to_tensor([0.6]), t).backward(); print(None if t.grad is None else t.grad.numpy().round(4).tolist())",
        "[-0.40549999475479126]",
        "None",
        "-d/dt of t log p + (1 - t) log(1 - p) is log((1 - p) / p)",
    ),
    Fault(
        "the weight of nll_loss",
        "no gradient",
        "w = paddle.to_tensor([0.2, 0.8], stop_gradient=False); paddle.nn.functional.nll_loss(paddle.to_tensor([[-0.5, -1.0]]), paddle.to_tensor([1]), weight=w, reduction='sum').backward(); print(None if w.grad is None else w.grad.tolist())",
        "[0.0, 1.0]",
        "None",
        "the loss is weight * 1.0",
    ),
    Fault(
        "second derivative of max_pool2d",
        "no gradient",
        "x = paddle.to_tensor([[[[1.0, 2.0], [3.0, 4.0]]]], stop_gradient=False); (g,) = paddle.grad((paddle.nn.functional.max_pool2d(x, 2) ** 2).sum(), x, create_graph=True); g.sum().backward(); print(x.grad.tolist())",
        "[[[[0.0, 0.0], [0.0, 2.0]]]]",
        "raises",
        "(max)^2 has second derivative 2 at the maximum",
    ),
    Fault(
        "second derivative of layer_norm",
        "no gradient",
        "x = paddle.to_tensor([[1.0, 2.0, 4.0]], stop_gradient=False); (g,) = paddle.grad((paddle.nn.functional.layer_norm(x, 3) ** 3).sum(), x, create_graph=True); (g ** 2).sum().backward(); print(bool(paddle.isfinite(x.grad).all()))",
        "True",
        "raises",
        "layer_norm is smooth",
    ),
    Fault(
        "second derivative of svd",
        "no gradient",
        "a = paddle.to_tensor([[2.0, 1.0], [0.5, 3.0]], dtype='float64', stop_gradient=False); (g,) = paddle.grad(paddle.linalg.svd(a)[1].sum(), a, create_graph=True); g.sum().backward(); print(bool(paddle.isfinite(a.grad).all()))",
        "True",
        "raises",
        "singular values are smooth where they differ",
    ),
    Fault(
        "an integer to a negative power",
        "crash",
        "x = paddle.to_tensor([2, 3]);\ntry: print(paddle.pow(x, -1).tolist())\nexcept ValueError: print('ValueError')",
        "ValueError",
        "does not return",
        "there is no integer result",
    ),
    Fault(
        "integers to a broken power",
        "wrong value",
        "print(paddle.pow(paddle.to_tensor([4]), 0.5).tolist())",
        "[2.0]",
        "[1]",
        "the square root of 4 is 2; the exponent was truncated to 0",
    ),
    Fault(
        "isclose of the two infinities",
        "wrong value",
        "print(paddle.isclose(paddle.to_tensor([float('inf')]), paddle.to_tensor([-float('inf')])).tolist())",
        "[False]",
        "[True]",
        "they are infinitely far apart",
    ),
    Fault(
        "add_ of another dtype",
        "silent",
        "x = paddle.ones([2]);\ntry: x.add_(paddle.ones([2], dtype='float64')); print(x.dtype)\nexcept TypeError: print('TypeError')",
        "paddle.float32",
        "paddle.float64",
        "in place means in the same memory, so in the same dtype",
    ),
    Fault(
        "exponential_ on a leaf",
        "silent",
        "x = paddle.ones([2]); x.stop_gradient = False\ntry: x.exponential_(); print('written')\nexcept RuntimeError: print('RuntimeError')",
        "RuntimeError",
        "written",
        "a leaf's gradient is taken at its value, which random numbers would replace",
    ),
    Fault(
        "a hook that captures its own tensor",
        "silent",
        "import gc, weakref\nclass M: pass\nm = M(); r = weakref.ref(m); x = paddle.ones([1]); x.stop_gradient = False; y = x * 2.0; y.register_hook(lambda g, y=y, m=m: None); del y, m; gc.collect(); print('freed' if r() is None else 'leaked')",
        "freed",
        "leaked",
        "the knot is visible to Python's collector",
    ),
    Fault(
        "interpolate to one column",
        "wrong gradient",
        "x = paddle.to_tensor([[[1.0, 2.0, 6.0]]], stop_gradient=False); paddle.nn.functional.interpolate(x, size=[1], mode='linear', data_format='NCW').sum().backward(); print(x.grad.tolist())",
        "[[[0.0, 1.0, 0.0]]]",
        "[[[1.0, 0.0, 0.0]]]",
        "one output column lies over the middle of three",
    ),
    Fault(
        "atan2 at the origin",
        "wrong gradient",
        "y = paddle.to_tensor([0.0], stop_gradient=False); paddle.atan2(y, paddle.to_tensor([0.0])).backward(); print(y.grad.tolist())",
        "[0.0]",
        "[nan]",
        "no direction is distinguished; 0 is taken",
    ),
    Fault(
        "complex solve",
        "no gradient",
        "b = paddle.to_tensor([[1 + 1j]], dtype='complex128', stop_gradient=False); paddle.linalg.solve(paddle.to_tensor([[2j]], dtype='complex128'), b).real().sum().backward(); print(b.grad.numpy().round(4).tolist())",
        "[[0.5j]]",
        "raises",
        "linear in b: conj(1/2i)",
    ),
    Fault(
        "complex matrix_power",
        "wrong gradient",
        "a = paddle.to_tensor([[1 + 1j, 2.0], [0.5, 1j]], dtype='complex128', stop_gradient=False); paddle.linalg.matrix_power(a, 2).real().sum().backward(); print(a.grad.numpy().round(4).tolist())",
        "[[(4.5-2j), (2-2j)], [(5-2j), (2.5-2j)]]",
        "[[(4.5+2j), (2+2j)], [(5+2j), (2.5+2j)]]",
        "conj missing in Paddle: for A^2 the gradient is g A^H + A^H g",
    ),
    Fault(
        "einsum of one complex operand",
        "wrong gradient",
        "z = paddle.to_tensor([[1 + 2j, 3.0], [1j, 2 - 1j]], stop_gradient=False); (paddle.einsum('ij->ji', z) * 1j).real().sum().backward(); print(z.grad.tolist())",
        "[[-1j, -1j], [-1j, -1j]]",
        "[[1j, 1j], [1j, 1j]]",
        "d/dRe and d/dIm of Re(iz) are 0 and -1",
    ),
    Fault(
        "the trace of a complex matrix by einsum",
        "wrong gradient",
        "z = paddle.to_tensor([[1 + 2j, 3.0], [1j, 2 - 1j]], stop_gradient=False); (paddle.einsum('ii->', z) * 1j).real().backward(); print(z.grad.tolist())",
        "[[-1j, 0j], [0j, -1j]]",
        "[[1j, -0j], [-0j, 1j]]",
        "d/dRe and d/dIm of Re(iz) are 0 and -1",
    ),
    Fault(
        "unfold with overlapping windows",
        "wrong gradient",
        "x = paddle.to_tensor([1.0, 2.0, 3.0, 4.0, 5.0], stop_gradient=False); paddle.unfold(x, 0, 3, 2).sum().backward(); print(x.grad.tolist())",
        "[1.0, 1.0, 2.0, 1.0, 1.0]",
        "[1.0, 1.0, 1.0, 1.0, 1.0]",
        "the middle element is in two windows",
    ),
    Fault(
        "as_strided with overlapping elements",
        "wrong gradient",
        "x = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False); paddle.as_strided(x, [2, 2], [1, 1]).sum().backward(); print(x.grad.tolist())",
        "[1.0, 2.0, 1.0]",
        "[1.0, 1.0, 1.0]",
        "the middle element appears twice",
    ),
    Fault(
        "complex sign",
        "wrong gradient",
        "z = paddle.to_tensor([3 + 4j], stop_gradient=False); paddle.sign(z).real().sum().backward(); print(z.grad.numpy().round(4).tolist())",
        "[(0.12800000607967377-0.09600000083446503j)]",
        "[0j]",
        "z/|z| turns with z",
    ),
    Fault(
        "triangular_solve with a unit diagonal",
        "wrong gradient",
        "a = paddle.to_tensor([[1.0, 2.0], [0.0, 1.0]], dtype='float64', stop_gradient=False); b = paddle.to_tensor([[1.0], [3.0]], dtype='float64'); paddle.linalg.triangular_solve(a, b, unitriangular=True).sum().backward(); print(a.grad.tolist())",
        "[[-0.0, -3.0], [-0.0, -0.0]]",
        "[[0.0, -4.1219514427187246e-304], [0.0, 0.0]]",
        "x1 = b1 - a12 x2, so d(x1 + x2)/da12 = -x2 = -3",
    ),
    Fault(
        "cholesky_solve's factor",
        "crash",
        "u = paddle.to_tensor([[2.0, 0.0], [1.0, 3.0]], dtype='float64', stop_gradient=False); paddle.linalg.cholesky_solve(paddle.to_tensor([[1.0], [2.0]], dtype='float64'), u).sum().backward(); print(u.grad.numpy().round(4).tolist())",
        "[[-0.1944, 0.0], [-0.1111, -0.0556]]",
        "segmentation fault",
        "the factor is an input like the other",
    ),
    Fault(
        "logcumsumexp's second derivative",
        "no gradient",
        "x = paddle.to_tensor([0.0, 1.0], dtype='float64', stop_gradient=False); (g,) = paddle.grad(paddle.logcumsumexp(x, 0).sum(), x, create_graph=True); g[0].backward(); print(x.grad.numpy().round(4).tolist())",
        "[0.1966, -0.1966]",
        "raises",
        "it exists, and finite differences of the gradient give it",
    ),
    Fault(
        "prod over one axis with a zero",
        "wrong gradient",
        "x = paddle.to_tensor([[0.0, 2.0], [3.0, 4.0]], stop_gradient=False); paddle.prod(x, 1).sum().backward(); print(x.grad.tolist())",
        "[[2.0, 0.0], [4.0, 3.0]]",
        "[[nan, 0.0], [4.0, 3.0]]",
        "the cofactor of the zero is 2",
    ),
    Fault(
        "second derivative of prod",
        "no gradient",
        "x = paddle.to_tensor([2.0, 3.0], stop_gradient=False); (g,) = paddle.grad(paddle.prod(x), x, create_graph=True); g.sum().backward(); print(x.grad.tolist())",
        "[1.0, 1.0]",
        "raises",
        "the gradient of ab is (b, a), whose sum has gradient (1, 1)",
    ),
    Fault(
        "second derivative of gelu",
        "no gradient",
        "x = paddle.to_tensor([0.0], stop_gradient=False); (g,) = paddle.grad(paddle.nn.functional.gelu(x), x, create_graph=True); g.backward(); print(x.grad.numpy().round(4).tolist())",
        "[0.7979000210762024]",
        "raises",
        "it exists, and finite differences of the gradient give it",
    ),
    Fault(
        "second derivative of softmax",
        "no gradient",
        "x = paddle.to_tensor([0.0, 1.0], dtype='float64', stop_gradient=False); (g,) = paddle.grad(paddle.nn.functional.softmax(x)[0], x, create_graph=True); g[0].backward(); print(x.grad.numpy().round(4).tolist())",
        "[0.0909, -0.0909]",
        "raises",
        "it exists, and finite differences of the gradient give it",
    ),
    Fault(
        "second derivative of log_softmax",
        "no gradient",
        "x = paddle.to_tensor([0.0, 1.0], dtype='float64', stop_gradient=False); (g,) = paddle.grad(paddle.nn.functional.log_softmax(x)[0], x, create_graph=True); g[0].backward(); print(x.grad.numpy().round(4).tolist())",
        "[-0.1966, 0.1966]",
        "raises",
        "it exists, and finite differences of the gradient give it",
    ),
    Fault(
        "second derivative of cross_entropy",
        "no gradient",
        "x = paddle.to_tensor([[0.0, 1.0]], dtype='float64', stop_gradient=False); (g,) = paddle.grad(paddle.nn.functional.cross_entropy(x, paddle.to_tensor([0])), x, create_graph=True); g[0, 0].backward(); print(x.grad.numpy().round(4).tolist())",
        "[[0.1966, -0.1966]]",
        "raises",
        "it exists, and finite differences of the gradient give it",
    ),
    Fault(
        "second derivative of inverse",
        "no gradient",
        "a = paddle.to_tensor([[2.0]], dtype='float64', stop_gradient=False); (g,) = paddle.grad(paddle.linalg.inv(a).sum(), a, create_graph=True); g.sum().backward(); print(a.grad.tolist())",
        "[[0.25]]",
        "raises",
        "it exists, and finite differences of the gradient give it",
    ),
    Fault(
        "second derivative of det",
        "no gradient",
        "a = paddle.to_tensor([[2.0, 0.0], [0.0, 3.0]], dtype='float64', stop_gradient=False); (g,) = paddle.grad(paddle.linalg.det(a), a, create_graph=True); g[0, 0].backward(); print(a.grad.numpy().round(4).tolist())",
        "[[0.0, 0.0], [0.0, 1.0]]",
        "raises",
        "it exists, and finite differences of the gradient give it",
    ),
    Fault(
        "second derivative of cholesky",
        "no gradient",
        "a = paddle.to_tensor([[4.0]], dtype='float64', stop_gradient=False); (g,) = paddle.grad(paddle.linalg.cholesky(a).sum(), a, create_graph=True); g.sum().backward(); print(a.grad.tolist())",
        "[[-0.03125]]",
        "raises",
        "it exists, and finite differences of the gradient give it",
    ),
    Fault(
        "second derivative of norm",
        "no gradient",
        "x = paddle.to_tensor([3.0, 4.0], dtype='float64', stop_gradient=False); (g,) = paddle.grad(paddle.linalg.norm(x), x, create_graph=True); g[0].backward(); print(x.grad.numpy().round(4).tolist())",
        "[0.128, -0.096]",
        "raises",
        "it exists, and finite differences of the gradient give it",
    ),
    Fault(
        "second derivative of interpolate",
        "no gradient",
        "x = paddle.to_tensor([[[[1.0, 2.0], [3.0, 4.0]]]], stop_gradient=False); (g,) = paddle.grad((paddle.nn.functional.interpolate(x, size=[3, 3], mode='bilinear') ** 2).sum(), x, create_graph=True); g.sum().backward(); print(x.grad.sum().item())",
        "18.0",
        "raises",
        "it exists, and finite differences of the gradient give it",
    ),
    Fault(
        "second derivative of logsumexp",
        "no gradient",
        "x = paddle.to_tensor([0.0, 1.0], dtype='float64', stop_gradient=False); (g,) = paddle.grad(paddle.logsumexp(x), x, create_graph=True); g[0].backward(); print(x.grad.numpy().round(4).tolist())",
        "[0.1966, -0.1966]",
        "raises",
        "it exists, and finite differences of the gradient give it",
    ),
    Fault(
        "second derivative of erf",
        "no gradient",
        "x = paddle.to_tensor([1.0], dtype='float64', stop_gradient=False); (g,) = paddle.grad(paddle.erf(x), x, create_graph=True); g.backward(); print(x.grad.numpy().round(4).tolist())",
        "[-0.8302]",
        "raises",
        "it exists, and finite differences of the gradient give it",
    ),
    Fault(
        "second derivative of atan",
        "no gradient",
        "x = paddle.to_tensor([1.0], dtype='float64', stop_gradient=False); (g,) = paddle.grad(paddle.atan(x), x, create_graph=True); g.backward(); print(x.grad.numpy().round(4).tolist())",
        "[-0.5]",
        "raises",
        "it exists, and finite differences of the gradient give it",
    ),
    Fault(
        "second derivative of cosh",
        "no gradient",
        "x = paddle.to_tensor([0.0], dtype='float64', stop_gradient=False); (g,) = paddle.grad(paddle.cosh(x), x, create_graph=True); g.backward(); print(x.grad.numpy().round(4).tolist())",
        "[1.0]",
        "raises",
        "it exists, and finite differences of the gradient give it",
    ),
    Fault(
        "second derivative through embedding",
        "no gradient",
        "w = paddle.to_tensor([[1.0], [2.0]], stop_gradient=False); (g,) = paddle.grad((paddle.nn.functional.embedding(paddle.to_tensor([0, 0]), w) ** 2).sum(), w, create_graph=True); g.sum().backward(); print(w.grad.tolist())",
        "[[4.0], [0.0]]",
        "raises",
        "it exists, and finite differences of the gradient give it",
    ),
    Fault(
        "second derivative of kron",
        "no gradient",
        "a = paddle.to_tensor([2.0], stop_gradient=False); (g,) = paddle.grad((paddle.kron(a, a) ** 2).sum(), a, create_graph=True); g.sum().backward(); print(a.grad.tolist())",
        "[48.0]",
        "raises",
        "it exists, and finite differences of the gradient give it",
    ),
    Fault(
        "second derivative of mish",
        "no gradient",
        "x = paddle.to_tensor([0.0], dtype='float64', stop_gradient=False); (g,) = paddle.grad(paddle.nn.functional.mish(x), x, create_graph=True); g.backward(); print(x.grad.numpy().round(4).tolist())",
        "[0.64]",
        "raises",
        "it exists, and finite differences of the gradient give it",
    ),
    Fault(
        "second derivative of selu",
        "no gradient",
        "x = paddle.to_tensor([-1.0], dtype='float64', stop_gradient=False); (g,) = paddle.grad(paddle.nn.functional.selu(x), x, create_graph=True); g.backward(); print(x.grad.numpy().round(4).tolist())",
        "[0.6468]",
        "raises",
        "it exists, and finite differences of the gradient give it",
    ),
    Fault(
        "second derivative of lgamma",
        "no gradient",
        "x = paddle.to_tensor([1.0], dtype='float64', stop_gradient=False); (g,) = paddle.grad(paddle.lgamma(x), x, create_graph=True); g.backward(); print(x.grad.numpy().round(4).tolist())",
        "[1.6449]",
        "raises",
        "it exists, and finite differences of the gradient give it",
    ),
)


def as_markdown() -> str:
    """The list for docs/differences.md."""
    lines = [
        BEGIN,
        f"{len(FAULTS)} places, each with code that shows it: `import paddle` (or `import wherry as paddle`) before it. The tests run all of it here; `make oracle` runs it there.",
        "",
    ]
    for fault in FAULTS:
        lines.append(
            f"- **{fault.title}** ({fault.kind}). Right: `{fault.expected}`, Paddle: {shown(fault)}. {fault.why[0].upper() + fault.why[1:]}."
        )
        lines += ["", *("      " + line for line in fault.code.split("\n")), ""]
    return "\n".join([*lines, END])


def shown(fault: Fault) -> str:
    """What Paddle prints, as code, or how it ends, in words."""
    words = ("segmentation fault", "the process aborts", "does not return", "raises")
    return fault.paddle if fault.paddle in words else f"`{fault.paddle}`"


def updated(page: str) -> str:
    """The page with the list in its place."""
    head, _, rest = page.partition(BEGIN)
    return head + as_markdown() + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text()))
