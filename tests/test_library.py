"""Operations and kernels of the user's own: from NumPy functions, from YAML, and for operations that are there."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wherry as paddle
from wherry import inspect, library
from wherry._generated.op_defs import OPS
from wherry.autograd import gradcheck, gradgradcheck
from wherry.autograd.gradcheck import GradcheckError
from wherry.dispatch.kernel_factory import FACTORY
from wherry.infermeta.registry import INFER_META

EXAMPLES = Path(__file__).parent.parent / "examples"
HERE = "test_library.py"


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    """What a test makes known is gone after it."""
    ops, metas = dict(OPS), dict(INFER_META)
    kernels = {name: {key: list(found) for key, found in by_key.items()} for name, by_key in FACTORY.kernels.items()}
    yield
    for known, before in ((OPS, ops), (INFER_META, metas), (FACTORY.kernels, kernels)):
        known.clear()
        known.update(before)  # type: ignore[arg-type]
    FACTORY.generation += 1


def leaf(values: Any, dtype: str = "float64") -> paddle.Tensor:
    return paddle.to_tensor(np.asarray(values, dtype), stop_gradient=False)


def make_cube() -> Any:
    @library.custom_op(inplace=True)
    def cube(x, scale: float = 1.0):  # type: ignore[no-untyped-def]
        return scale * x**3

    @cube.grad
    def cube_grad(x, scale, out_grad):  # type: ignore[no-untyped-def]
        return 3 * scale * x**2 * out_grad

    @cube_grad.grad
    def cube_double_grad(x, scale, out_grad, x_grad_grad):  # type: ignore[no-untyped-def]
        return 6 * scale * x * out_grad * x_grad_grad, 3 * scale * x**2 * x_grad_grad

    return cube


@pytest.mark.parametrize("name", ["own_op_from_numpy", "own_op_from_yaml", "own_kernel"])
def test_the_examples_run(name: str) -> None:
    done = subprocess.run([sys.executable, EXAMPLES / f"{name}.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_pages_programs_are_the_examples() -> None:
    page = (EXAMPLES.parent / "docs" / "your-own-op.md").read_text()
    for name, block in zip(
        ("own_op_from_numpy", "own_op_from_yaml"), re.findall(r"```python\n(.*?)```", page, re.DOTALL), strict=False
    ):
        source = re.sub(r'\n    """.*?"""', "", (EXAMPLES / f"{name}.py").read_text())
        assert block.strip() in source


def test_a_numpy_function_with_derivatives() -> None:
    cube = make_cube()
    x = leaf([1.0, -2.0, 0.5])
    y = cube(x, scale=2.0)
    assert y.tolist() == [2.0, -16.0, 0.25]
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 24.0, 1.5]
    assert gradcheck(cube, x) and gradgradcheck(cube, x)
    assert y.grad_fn.op_name() == "cube"
    assert cube.op is OPS["cube"] and repr(cube).startswith("<custom operation cube at ")


def test_in_place_with_versions_and_leaf_rules() -> None:
    cube = make_cube()
    x = leaf([1.0, 2.0])
    y = x * 1.0
    kept = y * y
    assert cube.inplace(y, 2.0) is y and y.tolist() == [2.0, 16.0] and y.inplace_version == 1
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 24.0]
    with pytest.raises(RuntimeError, match=r"changed by cube_? at .*test_library.py"):
        kept.sum().backward()
    with pytest.raises(RuntimeError, match="leaf"):
        cube.inplace(x)

    @library.custom_op
    def plain(x):  # type: ignore[no-untyped-def]
        return x + 1

    with pytest.raises(NotImplementedError, match="plain has no in-place twin; give custom_op inplace=True"):
        plain.inplace(x)


def test_promotion_numbers_and_amp() -> None:
    @library.custom_op(amp="white")
    def scaled(a, b):  # type: ignore[no-untyped-def]
        return a * b

    one, two = paddle.ones([2], "float32"), paddle.full([2], 2.0, "float64")
    assert scaled(one, two).dtype is paddle.float64
    assert scaled(one, 3).tolist() == [3.0, 3.0]
    with paddle.amp.auto_cast(dtype="bfloat16"):
        assert scaled(one, one).dtype is paddle.bfloat16
    half = scaled(paddle.to_tensor([2049.0], dtype="float16"), paddle.to_tensor([1.0], dtype="float16"))
    assert half.dtype is paddle.float16 and half.item() == 2048.0
    with pytest.raises(TypeError, match="expected two floating dtypes"):
        scaled(one, paddle.to_tensor([1, 2]))


def test_several_outputs_and_optional_and_listed_tensors() -> None:
    @library.custom_op(outputs=("values", "places"))
    def smallest(x: np.ndarray, weights: np.ndarray | None = None, *, count: int = 1) -> Any:
        places = np.argsort(x if weights is None else x * weights, axis=-1)[..., :count]
        return np.take_along_axis(x, places, -1), places

    @smallest.grad
    def smallest_grad(x, places, values_grad):  # type: ignore[no-untyped-def]
        grad = np.zeros_like(x)
        np.put_along_axis(grad, places, values_grad, -1)
        return grad, None

    x = leaf([[3.0, 1.0, 2.0]])
    values, places = smallest(x, count=2)
    assert values.tolist() == [[1.0, 2.0]] and places.tolist() == [[1, 2]] and places.stop_gradient
    assert smallest(x, paddle.to_tensor([[-1.0, 1.0, 1.0]], dtype="float64"))[0].tolist() == [[3.0]]
    values.sum().backward()
    assert x.grad.tolist() == [[0.0, 1.0, 1.0]]
    assert gradcheck(lambda x: smallest(x, count=2)[0], leaf([[3.0, 1.0, 2.0]]), edges=False)

    @library.custom_op
    def total(parts: list[np.ndarray], shift: float = 0.0) -> Any:
        return sum(parts) + shift

    assert total([x, x], shift=1.0).tolist() == [[7.0, 3.0, 5.0]]
    with pytest.raises(
        NotImplementedError, match="a list of tensors among the inputs is not supported by .grad; use .rule"
    ):
        total.grad(lambda out_grad: out_grad)

    @total.rule
    def total_rule(ops, parts, out_grad):  # type: ignore[no-untyped-def]
        return [out_grad for _ in parts]

    assert gradcheck(lambda a, b: total([a, b]), (leaf([1.0]), leaf([2.0])))


def test_a_rule_serves_every_order() -> None:
    @library.custom_op
    def quadratic(x, y):  # type: ignore[no-untyped-def]
        return x * x * y

    @quadratic.rule
    def quadratic_rule(ops, x, y, out_grad):  # type: ignore[no-untyped-def]
        return ops.multiply(out_grad, ops.multiply(ops.scale(x, 2.0), y)), ops.multiply(out_grad, ops.square(x))

    x, y = leaf([1.0, 2.0]), leaf([3.0, -1.0])

    @library.custom_op(name="short")
    def short(x, y):  # type: ignore[no-untyped-def]
        return x * y

    short.rule(lambda ops, out_grad: out_grad)
    with pytest.raises(
        ValueError, match="the derivative of short: expected 2 gradients, one for each tensor input, received 1"
    ):
        short(x, y).sum().backward()
    assert gradcheck(quadratic, (x, y), edges=False) and gradgradcheck(quadratic, (x, y), edges=False)


def test_infer_meta_refuses_before_anything_is_computed() -> None:
    ran: list[int] = []

    def same(x: Any, y: Any) -> Any:
        if x.shape != y.shape:
            raise ValueError(f"expected tensors of one shape, received {list(x.shape)} and {list(y.shape)}")
        return x

    @library.custom_op(infer_meta=same)
    def product(x, y):  # type: ignore[no-untyped-def]
        ran.append(1)
        return x * y

    x = leaf([1.0, 2.0])
    assert product(x, x).tolist() == [1.0, 4.0] and ran == [1]
    with pytest.raises(
        ValueError, match=r"product: expected tensors of one shape, received \[2\] and \[1\](.|\n)*test_library.py"
    ):
        product(x, leaf([1.0]))
    assert ran == [1]

    @library.custom_op(infer_meta=lambda x: x)
    def wrong(x):  # type: ignore[no-untyped-def]
        return x[:1]

    with pytest.raises(
        TypeError,
        match=r"wrong: expected float64\[2\] for out, as InferMeta says, received float64\[1\] from the function\n  it is defined at",
    ):
        wrong(x)

    @library.custom_op(infer_meta=lambda x: x.shape)
    def worse(x):  # type: ignore[no-untyped-def]
        return x

    with pytest.raises(TypeError, match=r"worse: expected a Meta from infer_meta, received \(2,\)"):
        worse(x)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: None, "expected an array for out, received NoneType from the function"),
        (lambda x: [x], "expected an array for out, received list from the function"),
        (lambda x: (x, x), "expected an array for out, received tuple from the function"),
        (
            lambda x: np.array(["a"]),
            "expected an array of a tensor's dtype for out, received one of dtype <U1 from the function",
        ),
    ],
)
def test_odd_results_are_refused(function: Any, text: str) -> None:
    odd = library.custom_op(function, name="odd")
    with pytest.raises(TypeError, match=text):
        odd(paddle.ones([1]))


def test_a_function_can_neither_write_to_its_inputs_nor_hand_them_back() -> None:
    @library.custom_op
    def writes(x):  # type: ignore[no-untyped-def]
        x[0] = 5.0
        return x

    @library.custom_op
    def same(x):  # type: ignore[no-untyped-def]
        return x[::-1]

    x = paddle.ones([2])
    with pytest.raises(ValueError, match="read-only"):
        writes(x)
    y = same(x)
    y[0] = 7.0
    assert x.tolist() == [1.0, 1.0]


def test_faulty_derivatives_are_named() -> None:
    @library.custom_op
    def sine(x):  # type: ignore[no-untyped-def]
        return np.sin(x)

    @sine.grad
    def sine_grad(x, out_grad):  # type: ignore[no-untyped-def]
        return -np.cos(x) * out_grad

    line = sine_grad.__wrapped__.__code__.co_firstlineno
    with pytest.raises(GradcheckError) as caught:
        gradcheck(sine, leaf([0.3, 1.0]))
    text = str(caught.value)
    assert "most likely at fault: sine at " in text
    assert re.search(rf"its derivative is defined at .*{HERE}:{line}, in .*sine_grad", text)

    @sine.grad
    def sum_grad(x, out_grad):  # type: ignore[no-untyped-def]
        return (np.cos(x) * out_grad).sum()

    with pytest.raises(
        ValueError,
        match=r"the derivative of sine: expected a gradient of shape \[2\] for x, received \[\](.|\n)*in .*sum_grad",
    ):
        sine(leaf([0.3, 1.0])).sum().backward()

    with pytest.raises(
        TypeError, match=r"the derivative of sine: expected arguments among \['out', 'out_grad', 'x'\], received 'y'"
    ):
        sine.grad(lambda y, out_grad: out_grad)

    @sine.grad
    def right(x, out_grad):  # type: ignore[no-untyped-def]
        return np.cos(x) * out_grad

    assert gradcheck(sine, leaf([0.3, 1.0]))


def test_no_derivative_is_said_so() -> None:
    @library.custom_op
    def bare(x):  # type: ignore[no-untyped-def]
        return x * 2

    x = leaf([1.0])
    assert bare(x).stop_gradient
    with pytest.raises(TypeError, match=r"bare: missing a required argument: 'x'"):
        bare()
    with pytest.raises(TypeError, match=r"bare: expected a Tensor for the argument 'x'"):
        bare("text")


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: library.custom_op(lambda x: x, name="add"), ValueError, "received 'add', which is an operation of the engine's own (ops/"),
        (lambda: library.custom_op(lambda x: x), ValueError, "expected a name that is an identifier, received '<lambda>'"),
        (lambda: library.custom_op(lambda x: x, name="a", amp="grey"), ValueError, "expected amp 'white', 'black', 'promote' or '', received 'grey'"),
        (lambda: library.custom_op(lambda *x: x, name="a"), TypeError, "expected named arguments, received *x"),
        (lambda: library.custom_op(lambda k=1: k, name="a"), TypeError, "expected at least one array among the arguments of the function"),
        (lambda: library.custom_op(lambda x, y=None: x, name="a"), TypeError, "expected an annotation for 'y', whose default is None"),
        (lambda: library.custom_op(lambda x: x, name="a", dtypes="int3"), (TypeError, ValueError), "int3"),
        (lambda: library.kernel("no_such", "float32", predicate=lambda x: True)(lambda x: x), ValueError, "received 'no_such'"),
        (lambda: library.kernel("add", "float32", predicate=3), TypeError, "expected a callable predicate, received int"),
        (lambda: library.infer_meta("UnchangedInferMeta")(lambda x: x), ValueError, "which is the engine's own"),
    ],
)  # fmt: skip
def test_refusals(make: Any, error: Any, text: str) -> None:
    with pytest.raises(error) as caught:
        make()
    assert text in str(caught.value)


def test_it_explains_itself() -> None:
    cube = make_cube()
    with inspect.explain() as call:
        cube(leaf([1.0]), scale=3.0)
    text = str(call)
    assert "scale=3.0" in text and "saved x: float64[1], 8 B: the gradient of x needs it" in text
    assert re.search(rf"5 kernel +.*{HERE}:\d+", text)


ENTRY = """
- op : times
  args : (Tensor x, float factor=2.0f)
  output : Tensor(out)
  infer_meta :
    func : UnchangedInferMeta
    param : [x]
  kernel :
    func : times
  inplace : (x -> out)
  {rest}
"""


def test_entries_with_rules_and_public_names() -> None:
    @library.kernel("times", ("float32", "float64"))
    def times(x: Any, factor: float) -> Any:
        return x * factor

    @library.rule
    def times_rule(ops: Any, out_grad: Any, factor: float) -> Any:
        return ops.times(out_grad, factor)

    ops = library.load_ops(ENTRY.format(rest="grad : {x : times_rule}\n  api : times_of_mine"))
    x = leaf([1.0, 2.0])
    assert ops.times(x).tolist() == [2.0, 4.0] and ops.times(x, 3).tolist() == [3.0, 6.0]
    assert gradcheck(ops.times, x) and gradgradcheck(ops.times, x)
    y = x * 1.0
    assert ops.times_(y) is y and y.tolist() == [2.0, 4.0]
    try:
        assert paddle.times_of_mine(x, 5.0).tolist() == [5.0, 10.0]
        assert x.times_of_mine().tolist() == [2.0, 4.0]
        with inspect.explain() as call:
            paddle.times_of_mine(x)
        assert HERE in str(call).splitlines()[0], "the line is the user's, not that of what was generated"
    finally:
        for name in ("times_of_mine", "times_of_mine_"):
            delattr(paddle, name)
            delattr(paddle.Tensor, name)


def test_a_file_of_entries(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(ENTRY.format(rest=""))
    ops = library.load_ops(path)
    with pytest.raises(NotImplementedError, match="times"):
        ops.times(leaf([1.0]))
    library.kernel("times", "float64")(lambda x, factor: x * factor)
    assert ops.times(leaf([1.0])).tolist() == [2.0]


def test_every_problem_of_the_entries_is_listed() -> None:
    text = (
        ENTRY.format(rest="colour : red")
        + "- op : add\n  args : (Tensor x)\n  output : Tensor(out)\n  infer_meta :\n    func : UnchangedInferMeta\n  kernel :\n    func : add\n"
    )
    with pytest.raises(ValueError) as caught:
        library.load_ops(text)
    message = str(caught.value)
    assert message.startswith("load_ops:\n  the text:")
    assert "colour" in message and "add is an operation of the engine's own (ops/" in message
    assert "times" not in OPS


def test_a_kernel_with_a_predicate_serves_its_calls_alone() -> None:
    seen: list[tuple[int, ...]] = []

    def square(x: Any, y: Any, transpose_x: bool, transpose_y: bool) -> bool:
        return x.shape == y.shape == (2, 2)

    @library.kernel("matmul", "float32", predicate=square)
    def small(x: Any, y: Any, transpose_x: bool, transpose_y: bool) -> Any:
        seen.append(x.shape)
        return np.matmul(x.T if transpose_x else x, y.T if transpose_y else y)

    x = paddle.ones([2, 2])
    x.stop_gradient = False
    (x @ x).sum().backward()
    assert x.grad.tolist() == [[4.0, 4.0], [4.0, 4.0]] and len(seen) == 3, "forward and both gradients"
    paddle.ones([3, 3]) @ paddle.ones([3, 3])
    paddle.ones([2, 2], "float64") @ paddle.ones([2, 2], "float64")
    assert len(seen) == 3
    with inspect.explain() as call:
        x @ x
    assert HERE in next(line for line in str(call).splitlines() if "5 kernel" in line)


def test_it_is_imported_on_demand() -> None:
    code = "import sys, wherry; assert 'wherry.library' not in sys.modules and 'yaml' not in sys.modules; wherry.library.custom_op"
    subprocess.run([sys.executable, "-c", code], check=True)
