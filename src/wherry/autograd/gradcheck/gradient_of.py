"""The gradient of a function as a function: what gradgradcheck checks."""

from collections.abc import Sequence
from typing import Any, Final

from wherry.autograd.gradcheck.problem import Problem, output_list, tensor_over
from wherry.autograd.history import requires_grad
from wherry.autograd.run import grad
from wherry.autograd.structures import TensorBase


class GradientOf:
    """The gradient of a problem's function as a function of its arguments and of the gradients of its outputs."""

    def __init__(self, problem: Problem, positions: Sequence[int]) -> None:
        self.problem: Final = problem
        # The outputs that the gradients start from.
        self.positions: Final = list(positions)

    def __call__(self, *arguments: Any) -> Any:
        problem = self.problem
        count = len(problem.inputs)
        outputs = [output for _, output in output_list(problem.fn(*arguments[:count]), problem.function)]
        wanted = problem.checked_tensors(arguments[:count])
        found = grad(
            [outputs[i] for i in self.positions], wanted, list(arguments[count:]), create_graph=True, allow_unused=True
        )
        return found


def second_order(problem: Problem, grad_outputs: Sequence[TensorBase] | None) -> Problem | None:
    """The problem whose function is the gradient of the given one; None where no output depends on the inputs.

    grad_outputs: the gradients of the outputs; random where None. Raises ValueError for gradients that do not fit the outputs.
    """
    function = problem.function
    recording = problem.record()
    positions: list[int] = []
    seeds: list[TensorBase] = []
    for i, (output, v) in enumerate(zip(recording.outputs, problem.cotangents)):
        if v is not None and requires_grad(output):
            positions.append(i)
            seeds.append(tensor_over(v.copy(), False))
    if grad_outputs is not None:
        if len(grad_outputs) != len(positions):
            raise ValueError(
                f"{function}: expected {len(positions)} tensors in 'grad_outputs', one for each output that needs a gradient, "
                f"received {len(grad_outputs)}"
            )
        for k, (i, given) in enumerate(zip(positions, grad_outputs)):
            if given.impl.meta != problem.metas[i]:
                raise ValueError(
                    f"{function}: expected {problem.metas[i]} in 'grad_outputs' at position {k}, as {problem.output_labels[i]} of fn, "
                    f"received {given.impl.meta}"
                )
        seeds = [tensor_over(given.impl.array.copy(), False) for given in grad_outputs]
    if not positions:
        return None
    names = problem.names + [f"grad_outputs[{k}]" for k in range(len(positions))]
    return Problem(
        function,
        GradientOf(problem, positions),
        problem.arguments(problem.leaves()) + seeds,
        problem.seed + 1,
        names,
        [f"gradient of {label}" for label in problem.labels],
    )
