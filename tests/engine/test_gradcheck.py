"""gradcheck and gradgradcheck: right gradients pass, each kind of wrong one is named."""

import re

import numpy as np
import pytest

import wherry as paddle
from wherry.autograd import GradcheckError, PyLayer, gradcheck, gradgradcheck


def leaf(values, dtype="float64"):
    return paddle.to_tensor(np.asarray(values, dtype), stop_gradient=False)


class Custom(PyLayer):
    """y = x * x with a backward that a test chooses."""

    rule = None

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return Custom.rule(ctx.saved_tensor()[0], g)


@pytest.fixture
def square_with(monkeypatch):
    def make(rule):
        monkeypatch.setattr(Custom, "rule", staticmethod(rule))
        return Custom.apply

    return make


def conj_rule(x, g):
    return 2.0 * x.conj() * g


@pytest.mark.parametrize("fast", [False, True])
def test_right_gradients_pass(fast):
    x, y = leaf([[0.3, -1.2], [2.0, 0.7]]), leaf([1.5, -0.4])
    assert gradcheck(lambda a, b: (a * b, (a / b).sum(), paddle.sin(a)), [x, y], fast_mode=fast)
    assert gradgradcheck(lambda a, b: (a * a * b, paddle.exp(b)), [x, y], fast_mode=fast)
    z = leaf([0.3 + 1j, -0.2 - 0.5j], "complex128")
    assert gradcheck(lambda a, b: [a * a.conj() * b, paddle.abs(a)], [z, y], fast_mode=fast)
    assert gradgradcheck(lambda a, b: a * a.conj() * b, [z, y], fast_mode=fast)


@pytest.mark.parametrize("fast", [False, True])
def test_a_wrong_factor_is_found(square_with, fast):
    function = square_with(lambda x, g: 1.99 * x * g)
    with pytest.raises(GradcheckError, match="input 0"):
        gradcheck(function, leaf([1.0, 2.0]), fast_mode=fast)
    assert not gradcheck(function, leaf([1.0, 2.0]), fast_mode=fast, raise_exception=False)


def line(function, offset):
    """A line of a function, as messages write it."""
    code = function.__code__
    return f"{__file__}:{code.co_firstlineno + offset}, in {code.co_qualname}"


def message(check):
    """The message of the GradcheckError that a check raises."""
    with pytest.raises(GradcheckError) as caught:
        check()
    return str(caught.value)


def test_the_message_says_input_element_output_and_both_numbers(square_with):
    def rule(x, g):
        with paddle.no_grad():
            wrong = paddle.to_tensor([[2.0, 2.0], [2.0, 5.0]], dtype="float64")
        return wrong * x * g

    function = square_with(rule)

    def model(a, b):
        return function(b) + a

    text = message(lambda: gradcheck(model, [leaf([[0.0, 0.0]]), leaf([[1.0, 2.0], [3.0, 4.0]])]))
    assert text == (
        "gradcheck: the gradient of input 1 (float64, shape [2, 2]) does not agree with finite differences in 1 of 4 elements\n"
        "  input 1, element [1, 1] = 4.0, output[1, 1]: analytic 20, numeric 8\n"
        f"most likely at fault: Custom (PyLayer) at {line(model, 1)}\n"
        "    return function(b) + a\n"
        "  x, element [1, 1] = 4.0, output[1, 1]: analytic 20, numeric 8"
    )


def test_numbers_have_the_digits_that_tell_them_apart(square_with):
    function = square_with(lambda x, g: 2.0000001 * x * g)
    text = message(lambda: gradcheck(function, leaf(1.5), atol=1e-9, rtol=1e-9))
    assert "  input 0 = 1.5, output: analytic 3.00000015, numeric 3\n" in text
    assert gradcheck(function, leaf(1.5))


def test_five_wrong_elements_are_shown_and_all_are_counted(square_with):
    text = message(lambda: gradcheck(square_with(lambda x, g: 3.0 * x * g), leaf(np.arange(1.0, 9.0))))
    first, *shown = text.split("\n")
    assert first.endswith("in 8 of 8 elements")
    assert [t for t in shown if t.startswith("  input 0")] == [
        f"  input 0, element [{k}] = {k + 1}.0, output[{k}]: analytic {3 * (k + 1)}, numeric {2 * (k + 1)}"
        for k in range(5)
    ]
    assert shown[5] == "  ..."


def test_complex_elements_say_which_part_of_the_output(square_with):
    text = message(lambda: gradcheck(square_with(lambda x, g: 2.0 * x * g), leaf([1.0 + 2.0j], "complex128")))
    assert "  input 0, element [0] = (1+2j), output[0] (imaginary part): analytic -4+2j, numeric 4+2j\n" in text


def test_the_error_holds_its_findings(square_with):
    result = gradcheck(square_with(lambda x, g: 3.0 * x * g), leaf([1.0, 2.0]), raise_exception=False)
    assert not result and isinstance(result.error, GradcheckError)
    assert [(f.which, f.index, f.verdict, f.kind) for f in result.error.findings] == [
        (0, (0,), "wrong", "smooth"),
        (0, (1,), "wrong", "smooth"),
    ]
    assert [c.operation for c in result.error.calls] == ["Custom (PyLayer)"]
    assert str(result) == str(result.error)


def test_both_wirtinger_directions_count(square_with):
    z = leaf([0.7 + 0.4j, -1.1 + 0.2j], "complex128")
    assert gradcheck(square_with(conj_rule), z)
    for wrong in (
        lambda x, g: 2.0 * x * g,
        lambda x, g: (2.0 * x.conj() * g).conj(),
        lambda x, g: paddle.complex((2.0 * x.conj() * g).real(), paddle.zeros_like(x.real())),
    ):
        with pytest.raises(GradcheckError):
            gradcheck(square_with(wrong), z)


def test_a_wrong_second_derivative_is_found(square_with):
    # Right to the first order; the factor 2x is cut off from the graph.
    function = square_with(lambda x, g: 2.0 * x.detach() * g)
    x = leaf([1.0, -2.0, 0.5])
    assert gradcheck(function, x)
    with pytest.raises(GradcheckError, match="gradgradcheck"):
        gradgradcheck(function, x)
    assert gradgradcheck(square_with(lambda x, g: 2.0 * x * g), x)


def test_a_gradient_that_is_missing_is_found():
    with pytest.raises(GradcheckError, match=r"output\[0\]: analytic 0, numeric 3\n"):
        gradcheck(lambda a: a.detach() * 3.0 + 0.0 * a, leaf([1.0, 2.0]))
    # No gradient at all counts as zero.
    with pytest.raises(GradcheckError, match=r"output\[0\]: analytic 0, numeric 3\n"):
        gradcheck(lambda a: a.detach() * 3.0, leaf([1.0]))
    assert gradcheck(lambda a: paddle.floor(a), leaf([0.4, 1.3]))


def test_a_nan_gradient_never_passes(square_with):
    with pytest.raises(GradcheckError, match="nan"):
        gradcheck(square_with(lambda x, g: x * g * float("nan")), leaf([1.0]))


@pytest.mark.parametrize(
    ("dtype", "wider"),
    [("float32", "float64"), ("float16", "float64"), ("bfloat16", "float64"), ("complex64", "complex128")],
)
def test_narrow_inputs_are_refused_with_the_cast(dtype, wider):
    narrow = paddle.to_tensor([1.0], dtype=dtype, stop_gradient=False)
    with pytest.raises(ValueError) as caught:
        gradcheck(lambda a, b: a, [leaf([1.0]), narrow])
    assert str(caught.value) == (
        "gradcheck: expected inputs of dtype float64 or complex128 (finite differences need the digits), received "
        f"{dtype} at position 1; cast it with .astype('{wider}'), or set its stop_gradient=True to leave it out"
    )


def test_what_cannot_be_checked_is_refused():
    x = leaf([1.0])
    for inputs in (paddle.to_tensor([1.0], dtype="float64"), [3, "text"], []):
        with pytest.raises(ValueError) as caught:
            gradcheck(lambda *a: a[0], inputs)
        assert str(caught.value) == (
            "gradcheck: expected at least one input Tensor of dtype float64 or complex128 with stop_gradient=False, received none"
        )
    with pytest.raises(TypeError) as caught:
        gradcheck(lambda a: float(a), x)
    assert str(caught.value) == (
        "gradcheck: expected fn to return a Tensor or a list of Tensors, received float; numbers and arrays "
        "(float(x), x.item(), x.numpy()) have left the graph"
    )
    for function, received in (
        (paddle.argmax, "int64"),
        (lambda a: [a > 0, a.astype("int32")], "bool, int32"),
        (lambda a: [], "no tensors"),
    ):
        with pytest.raises(ValueError) as caught:
            gradcheck(function, x)
        assert str(caught.value) == (
            "gradcheck: expected fn to return at least one Tensor of a floating or complex dtype that carries a gradient, "
            f"received {received}"
        )
    with pytest.raises(ValueError) as caught:
        gradcheck(lambda a: [a, a.astype("float32")], x)
    assert str(caught.value) == (
        "gradcheck: expected outputs of dtype float64 or complex128 (finite differences need the digits), received "
        "float32 in output 1 of fn; compute in float64 all the way"
    )
    text = message(lambda: gradcheck(lambda a: paddle.log(a), leaf([[1.0, -1.0]])))
    assert text == (
        "gradcheck: fn gives nan or inf at the inputs of the check, in output[0, 1]; expected a point where the outputs are finite"
    )


def test_a_random_function_is_refused_and_the_random_call_named():
    def model(a):
        b = paddle.exp(a)
        noise = paddle.rand([2], dtype="float64")
        return b * noise

    text = message(lambda: gradcheck(model, leaf([1.0, 2.0])))
    assert text == (
        "gradcheck: fn gives another value for the same inputs each time it is called; expected a deterministic function (seed "
        "random numbers inside fn, and leave no state behind)\n"
        f"  the first call that gives another result: uniform at {line(model, 2)}\n"
        '      noise = paddle.rand([2], dtype="float64")'
    )

    def seeded(a):
        paddle.seed(7)
        return model(a)

    assert gradcheck(seeded, leaf([1.0, 2.0]))


def test_a_backward_that_differs_from_run_to_run(square_with):
    runs = []

    def rule(x, g):
        runs.append(1)
        return (2.0 + 1e-9 * len(runs)) * x * g

    function = square_with(rule)
    text = message(lambda: gradcheck(function, leaf([1.0])))
    assert re.fullmatch(
        r"gradcheck: the gradient of input 0 differs by \S+e-09 between two runs of backward; expected at most nondet_tol=0.0",
        text,
    )
    assert gradcheck(function, leaf([1.0]), nondet_tol=1e-6)


def test_fn_that_writes_to_its_input_is_refused():
    def model(a):
        with paddle.no_grad():
            a.add_(paddle.ones([2], dtype="float64"))
        return a * 2.0

    assert message(lambda: gradcheck(model, leaf([1.0, 2.0]))) == (
        f"gradcheck: fn writes to input 0 (add_ at {line(model, 2)}); expected a function that leaves its inputs as they are: write to "
        "a copy (x = x.clone())"
    )


def test_outputs_that_change_their_shape_are_refused():
    def model(a):
        return a[: 1 + int(float(a[0]) > 1.0)]

    assert message(lambda: gradcheck(model, leaf([1.0, 2.0]))) == (
        "gradcheck: fn returned 1 tensors (float64[1]) at first and 1 tensors (float64[2]) for inputs close by; expected outputs "
        "whose number, shapes and dtypes do not depend on the values"
    )


def test_other_arguments_are_passed_on():
    whole = paddle.to_tensor([2, 3])
    assert gradcheck(lambda a, n, axis: (a * n.astype("float64")).sum(axis), [leaf([[1.0, 2.0]]), whole, 1])


def test_the_inputs_stay_as_they_are_and_no_grad_appears():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    before = x.numpy()
    assert gradcheck(lambda a: a * a, x)
    assert gradgradcheck(lambda a: a * a, x)
    assert x.grad is None and x.inplace_version == 0
    np.testing.assert_array_equal(x.numpy(), before)


def test_it_works_inside_no_grad():
    with paddle.no_grad():
        assert gradcheck(lambda a: a * a, leaf([1.0, 2.0]))
        assert not paddle.is_grad_enabled()


def test_transposed_inputs_and_zero_size():
    x = leaf(np.arange(1.0, 7.0).reshape(2, 3)).detach().t()
    x.stop_gradient = False
    assert gradcheck(lambda a: a * a * a, x)
    assert gradcheck(lambda a: a * 2.0, leaf(np.zeros((0, 3))))
    assert gradgradcheck(lambda a: a * a, leaf(np.zeros((0, 3))))


def test_grad_outputs_of_the_second_order():
    x = leaf([1.0, 2.0])
    assert gradgradcheck(lambda a: a * a * a, x, leaf([0.5, 1.0]))
    with pytest.raises(ValueError, match="expected 1 tensors in 'grad_outputs'"):
        gradgradcheck(lambda a: a * a * a, x, [leaf([0.5, 1.0]), leaf([0.5, 1.0])])
    with pytest.raises(ValueError) as caught:
        gradgradcheck(lambda a: a * a, x, leaf([[0.5, 1.0]]))
    assert str(caught.value) == (
        "gradgradcheck: expected float64[2] in 'grad_outputs' at position 0, as output of fn, received float64[1, 2]"
    )


def test_the_second_order_names_gradients_and_output_gradients(square_with):
    # Right to the first order; the factor 2x is cut off from the graph.
    def rule(x, g):
        return 2.0 * x.detach() * g

    function = square_with(rule)

    def model(a):
        return paddle.exp(function(a))

    assert gradcheck(model, leaf([1.0, 0.5]))
    text = message(lambda: gradgradcheck(model, leaf([1.0, 0.5])))
    assert text.startswith(
        "gradgradcheck: the gradient of input 0 (float64, shape [2]) does not agree with finite differences in 2 of 2 elements\n"
        "  input 0, element [0] = 1.0, gradient of input 0[0]: analytic "
    )
    assert f"\nmost likely at fault: the second derivative of Custom (PyLayer) at {line(model, 1)}\n" in text
    assert "  x, element [0] = 1.0, gradient of x[0]: analytic 0, numeric " in text
    # A wrong factor of the output gradient shows in its own gradient.
    function = square_with(lambda x, g: 2.0 * x * g.detach())
    text = message(lambda: gradgradcheck(function, leaf([1.0])))
    assert (
        "the gradient of grad_outputs[0] (float64, shape [1]) does not agree with finite differences in 1 of 1 elements"
        in text
    )


def test_inputs_and_outputs_in_containers():
    one, two, three = leaf([0.3, -1.2]), leaf([[1.5]]), leaf(0.7)

    def model(first, scale, second):
        a, b = first
        return {"product": a * b * scale, "rest": (second["w"].sin(), [None, a.sum()])}

    inputs = [[one, two], 3, {"w": three, "n": paddle.to_tensor([1])}]
    result = gradcheck(model, inputs)
    assert result and "zeros everywhere in input 2['w']" in result.points
    assert gradgradcheck(model, inputs)

    def wrong(first, scale, second):
        return {"a": [first[0] * first[1].detach() * scale], "b": second["w"]}

    text = message(lambda: gradcheck(wrong, inputs))
    assert "the gradient of input 0[1] (float64, shape [1, 1]) does not agree" in text
    assert "  input 0[1], element [0, 0] = 1.5, output['a'][0][0, 1]: analytic 0, numeric -3.6\n" in text


def test_inputs_whose_elements_share_memory_are_copied():
    x = leaf([[1.0], [2.0]]).expand([2, 3]).detach()
    x.stop_gradient = False
    assert gradcheck(lambda a: a * a * paddle.to_tensor([1.0, 2.0, 3.0], dtype="float64"), x)


class Halves(PyLayer):
    """x / 2 and x / 2 again, the second marked as one without gradient; with a backward that a test chooses."""

    materialize = True
    mark = False
    rule = None

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(Halves.materialize)
        first, second = x / 2.0, x / 2.0
        if Halves.mark:
            ctx.mark_non_differentiable(second)
        return first, second

    @staticmethod
    def backward(ctx, a, b):
        return Halves.rule(a, b)


@pytest.fixture
def halves(monkeypatch):
    def make(rule, materialize=True, mark=False):
        monkeypatch.setattr(Halves, "rule", staticmethod(rule))
        monkeypatch.setattr(Halves, "materialize", materialize)
        monkeypatch.setattr(Halves, "mark", mark)
        return Halves.apply

    return make


def test_outputs_marked_as_non_differentiable_are_left_out(halves):
    assert gradcheck(halves(lambda a, b: a / 2.0, mark=True), leaf([1.0, 2.0]))
    # Without the mark the missing half is a fault.
    text = message(lambda: gradcheck(halves(lambda a, b: a / 2.0), leaf([1.0, 2.0]), check_undefined_grad=False))
    assert "output 1[0]: analytic 0, numeric 0.5" in text


def test_a_backward_that_does_not_take_missing_gradients(halves):
    x = leaf([1.0, 2.0])
    raises = halves(lambda a, b: (a + b) / 2.0, materialize=False)
    text = message(lambda: gradcheck(raises, x))
    assert re.match(
        r"gradcheck: backward raises \w+ where no gradient reaches output 0, or only that one: .*", text
    ) and text.endswith("\n  expected a backward that takes a missing output gradient (None) for zeros")
    assert gradcheck(raises, x, check_undefined_grad=False)
    wrong = halves(lambda a, b: (a + b) / 2.0 if a is not None and b is not None else None, materialize=False)
    text = message(lambda: gradcheck(wrong, x))
    assert text.startswith(
        "gradcheck: the gradient of input 0 is not the sum of that from output 0 alone and that from the other outputs: they differ by "
    )
    assert gradcheck(halves(lambda a, b: (a + b) / 2.0), x)


def test_an_output_without_gradient_is_a_fault():
    def model(a):
        return a * 2.0, a.detach() * 3.0

    text = message(lambda: gradcheck(model, leaf([1.0])))
    assert (
        "\n  output 1 of fn has stop_gradient=True: nothing of it reaches the inputs. Where that is meant, leave it out of what fn returns\n"
        in text
    )


def test_fast_mode_follows_a_wrong_element_down(square_with):
    def rule(x, g):
        factor = np.full(x.shape, 2.0)
        factor[17, 23] = 2.5
        return paddle.to_tensor(factor) * x * g

    function = square_with(rule)

    def model(a):
        return paddle.sin(function(a))

    x = leaf(np.linspace(0.5, 1.5, 1200).reshape(30, 40))
    calls = []
    text = message(lambda: gradcheck(lambda a: calls.append(1) or model(a), x, fast_mode=True))
    assert text.startswith(
        "gradcheck: the gradient of input 0 (float64, shape [30, 40]) does not agree with finite differences\n"
        f"  input 0, element [17, 23] = {float(x[17, 23])}, output[17, 23]: analytic "
    )
    assert f"most likely at fault: Custom (PyLayer) at {line(model, 1)}\n" in text
    assert f"  x, element [17, 23] = {float(x[17, 23])}, output[17, 23]: analytic " in text
    # Far fewer than one for each element.
    assert len(calls) < 400
