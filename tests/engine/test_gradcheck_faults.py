"""gradcheck names what is at fault: the call whose own gradient is wrong, or the place where a path is cut."""

import re

import numpy as np
import pytest

import wherry as paddle
from wherry.autograd import GradcheckError, PyLayer, gradcheck, gradgradcheck
from wherry.autograd.history import REGISTRY
from wherry.dispatch.bind import bind, make_rule


def leaf(values, dtype="float64"):
    return paddle.to_tensor(np.asarray(values, dtype), stop_gradient=False)


def error_of(check):
    with pytest.raises(GradcheckError) as caught:
        check()
    return caught.value


def diagnosis(check):
    """The lines of the message after those on elements."""
    lines = str(error_of(check)).split("\n")
    return lines[
        next(i for i, t in enumerate(lines) if t.startswith(("most likely", "  each recorded", "  no recorded"))) :
    ]


def line(function, offset):
    code = function.__code__
    return f"{__file__}:{code.co_firstlineno + offset}, in {code.co_qualname}"


@pytest.fixture
def with_rule():
    """Give an operation another derivative rule for one of its inputs."""
    before = []

    def change(name, position, function):
        op = REGISTRY.ops[name]
        if not op.bound:
            bind(op)
        before.append((op, position, op.rules[position]))
        op.rules[position] = make_rule(op, function)

    yield change
    for op, position, rule in reversed(before):
        op.rules[position] = rule


def test_an_operation_with_a_wrong_rule_is_named_with_input_and_line(with_rule):
    def wrong_rule(ops, x, out_grad):
        return ops.scale(ops.multiply(out_grad, x), 1.5)

    with_rule("multiply", 1, wrong_rule)

    def model(a, b):
        c = paddle.exp(a)
        d = c * b
        return paddle.tanh(d) + c

    error = error_of(lambda: gradcheck(model, [leaf([0.1, 0.2]), leaf([0.3, -0.4])]))
    assert [(c.operation, str(c.line), c.order) for c in error.calls] == [("multiply", line(model, 2), 1)]
    c = np.exp([0.1, 0.2])
    slope = c / np.cosh(c * [0.3, -0.4]) ** 2
    assert str(error).split("\n") == [
        "gradcheck: the gradient of input 1 (float64, shape [2]) does not agree with finite differences in 2 of 2 elements",
        f"  input 1, element [0] = 0.3, output[0]: analytic {1.5 * slope[0]:.6g}, numeric {slope[0]:.6g}",
        f"  input 1, element [1] = -0.4, output[1]: analytic {1.5 * slope[1]:.6g}, numeric {slope[1]:.6g}",
        f"most likely at fault: multiply at {line(model, 2)}",
        "    d = c * b",
        f"  y, element [0] = 0.3, output[0]: analytic {1.5 * c[0]:.6g}, numeric {c[0]:.6g}",
        f"  y, element [1] = -0.4, output[1]: analytic {1.5 * c[1]:.6g}, numeric {c[1]:.6g}",
        f"  its derivative is defined at {line(wrong_rule, 0)}",
    ]


def test_every_call_at_fault_is_named_in_the_order_of_the_calls(with_rule):
    with_rule("sin", 0, lambda ops, x, out_grad: ops.multiply(out_grad, ops.sin(x)))

    def model(a):
        b = paddle.sin(a)
        for _ in range(4):
            b = paddle.sin(b)
        return b

    lines = diagnosis(lambda: gradcheck(model, leaf([1.0])))
    assert [t for t in lines if t.startswith("most likely")] == [
        f"most likely at fault: sin at {line(model, 1)}",
        f"most likely at fault: sin at {line(model, 3)}",
        f"most likely at fault: sin at {line(model, 3)}",
    ]
    assert lines[-1] == "  ... and 2 more calls"


def test_a_fault_in_the_second_derivative_only(with_rule):
    # cos is taken of a constant: right to the first order.
    with_rule("sin", 0, lambda ops, x, out_grad: ops.multiply(out_grad, ops.cos(ops.assign(paddle_constant(ops, x)))))

    def model(a):
        return paddle.exp(paddle.sin(a))

    assert gradcheck(model, leaf([0.5, 1.0]))
    lines = diagnosis(lambda: gradgradcheck(model, leaf([0.5, 1.0])))
    assert lines[0] == f"most likely at fault: the second derivative of sin at {line(model, 1)}"
    assert re.fullmatch(r"  x, element \[0\] = 0.5, gradient of x\[0\]: analytic 0, numeric -?0\.\d+", lines[2])


def paddle_constant(ops, x):
    """The value of a rule's argument without its history."""
    return x.detach() if hasattr(x, "detach") else x


def test_a_call_in_place_and_one_with_a_list_of_tensors(with_rule):
    with_rule("add", 1, lambda ops, y_meta, out_grad: ops.scale(out_grad, 2.0))

    def model(a, b):
        c = a * 1.0
        c.add_(b)
        return paddle.concat([c, a * b])

    lines = diagnosis(lambda: gradcheck(model, [leaf([0.1, 0.2]), leaf([0.3, -0.4])]))
    assert lines[:2] == [f"most likely at fault: add_ at {line(model, 2)}", "    c.add_(b)"]


class Scaled(PyLayer):
    """Two tensors, a list of tensors and a number; wrong in the second tensor of the list."""

    @staticmethod
    def forward(ctx, x, factor, many, *, bias):
        ctx.factor = factor
        return x * factor + many[0] + 2.0 * many[1] + bias

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, [g, 2.5 * g], g


def test_a_pylayer_with_lists_and_numbers():
    def model(a, b):
        return Scaled.apply(a * 2.0, 3.0, [b, b * b], bias=a)

    lines = diagnosis(lambda: gradcheck(model, [leaf([0.5]), leaf([0.3])]))
    assert lines == [
        f"most likely at fault: Scaled (PyLayer) at {line(model, 1)}",
        "    return Scaled.apply(a * 2.0, 3.0, [b, b * b], bias=a)",
        "  many[1], element [0] = 0.09, output[0]: analytic 2.5, numeric 2",
    ]


def test_calls_in_float32_are_checked_in_float64(with_rule):
    with_rule("sin", 0, lambda ops, x, out_grad: ops.multiply(out_grad, ops.sin(x)))

    def model(a):
        return paddle.sin(a.astype("float32")).astype("float64")

    error = error_of(lambda: gradcheck(model, leaf([1.0]), atol=1e-2, rtol=1e-2))
    assert [c.operation for c in error.calls] == ["sin"]


def test_large_calls_are_followed_to_an_element():
    class Wrong(PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 2.0

        @staticmethod
        def backward(ctx, g):
            factor = np.full(g.shape, 2.0)
            factor[70] = 2.5
            return g * paddle.to_tensor(factor)

    lines = diagnosis(lambda: gradcheck(lambda a: paddle.sin(Wrong.apply(a)), leaf(np.linspace(0.1, 0.5, 100))))
    assert lines[2].startswith("  x, element [70] = ") and lines[2].endswith("output[70]: analytic 2.5, numeric 2")


# Cuts: every call is right, and the gradient is wrong all the same.


def cut_lines(model, inputs=None):
    lines = diagnosis(lambda: gradcheck(model, leaf([1.0, 2.0]) if inputs is None else inputs))
    return [t for t in lines if t.startswith("  a path is cut")]


def test_detach():
    def model(a):
        b = paddle.exp(a)
        c = b.detach()
        return a * c

    lines = diagnosis(lambda: gradcheck(model, leaf([1.0, 2.0])))
    assert lines == [
        "  each recorded call of fn is right on its own (1 checked)",
        f"  a path is cut by detach() at {line(model, 2)}",
        "      c = b.detach()",
    ]


def test_no_path_at_all():
    def model(a, b):
        return paddle.exp(a.detach()) + b

    lines = diagnosis(lambda: gradcheck(model, [leaf([1.0]), leaf([2.0])]))
    assert lines[1:3] == [
        "  no path leads from the outputs back to input 0",
        f"  a path is cut by detach() at {line(model, 1)}",
    ]


def test_only_cuts_that_matter_to_the_wrong_input_and_reach_the_outputs_are_named():
    def model(a, b):
        unused = paddle.exp(a).detach()
        shape_only = paddle.ones_like(a)
        c = b.detach() * shape_only
        d = a.detach()
        return a * d + c + b + 0.0 * unused.shape[0]

    def right_for_b(a, b):
        d = a.detach()
        return a * d + b

    assert cut_lines(right_for_b, [leaf([1.0]), leaf([2.0])]) == [
        f"  a path is cut by detach() at {line(right_for_b, 1)}"
    ]
    assert cut_lines(model, [leaf([1.0]), leaf([2.0])]) == [
        f"  a path is cut by detach() at {line(model, 3)}",
        f"  a path is cut by detach() at {line(model, 4)}",
    ]


def test_no_grad_to_tensor_numpy_stop_gradient_and_writes():
    def unrecorded(a):
        with paddle.no_grad():
            b = paddle.exp(a)
        return a * b

    assert cut_lines(unrecorded) == [f"  a path is cut by exp inside no_grad at {line(unrecorded, 2)}"]

    def copied(a):
        return a * paddle.to_tensor(paddle.exp(a))

    assert cut_lines(copied) == [f"  a path is cut by to_tensor() of a Tensor at {line(copied, 1)}"]

    def outside(a):
        return a * paddle.to_tensor(np.exp(a.numpy()))

    assert cut_lines(outside) == [f"  a path is cut by numpy() at {line(outside, 1)}"]

    def stopped(a):
        b = paddle.exp(a)
        b.stop_gradient = True
        return a * b

    assert cut_lines(stopped) == [f"  a path is cut by stop_gradient = True at {line(stopped, 2)}"]

    def written(a):
        b = a * 1.0
        with paddle.no_grad():
            b.multiply_(a)
        return b + a

    assert cut_lines(written) == [f"  a path is cut by multiply_ inside no_grad at {line(written, 3)}"]


def test_an_operation_without_derivative(monkeypatch):
    op = REGISTRY.ops["exp"]
    if not op.bound:
        bind(op)
    monkeypatch.setattr(op, "has_grad", False)

    def model(a):
        return a * paddle.exp(a)

    assert cut_lines(model) == [f"  a path is cut by exp, which has no derivative, at {line(model, 1)}"]


def test_a_hook_that_changes_a_gradient():
    def double(g):
        return g * 2.0

    def model(a):
        b = paddle.exp(a)
        b.register_hook(double)
        return b * 3.0

    lines = diagnosis(lambda: gradcheck(model, leaf([1.0, 2.0])))
    assert lines == [
        "  each recorded call of fn is right on its own (2 checked)",
        f"  a hook may change gradients: {double.__qualname__} on the result of exp at {line(model, 1)}",
    ]


def test_random_calls_are_left_out_of_the_search():
    class Wrong(PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 2.0

        @staticmethod
        def backward(ctx, g):
            return g * 3.0

    def model(a):
        paddle.seed(3)
        b = paddle.nn.functional.dropout(a, 0.5)
        return Wrong.apply(b) + a

    error = error_of(lambda: gradcheck(model, leaf(np.linspace(0.5, 1.5, 8))))
    assert [c.operation for c in error.calls] == [f"{Wrong.__qualname__} (PyLayer)"]


def test_cuts_of_the_second_order_in_the_backward_of_a_pylayer():
    class Cube(PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            x = ctx.saved_tensor()[0]
            return 3.0 * g * (x * x).detach()

    def model(a):
        return Cube.apply(a)

    text = str(error_of(lambda: gradgradcheck(model, leaf([1.0, 2.0]))))
    assert f"most likely at fault: the second derivative of {Cube.__qualname__} (PyLayer) at {line(model, 1)}" in text
    assert re.search(r"  x, element \[0\] = 1.0, gradient of x\[0\]: analytic 0, numeric -?\S+", text)


def test_the_search_leaves_modes_and_tensors_as_they_were():
    x = leaf([1.0, 2.0])
    with paddle.no_grad():
        assert not gradcheck(lambda a: a * a.detach(), x, raise_exception=False)
        assert not paddle.is_grad_enabled()
    assert x.grad is None and x.inplace_version == 0
