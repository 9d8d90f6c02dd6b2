"""Recording modes: nesting, exceptions, decorators, and what they do not touch."""

import asyncio
import functools
import gc
import inspect
import threading

import numpy as np
import pytest

import wherry as paddle


def leaf(values: object) -> paddle.Tensor:
    return paddle.to_tensor(np.asarray(values, np.float64), stop_gradient=False)


def test_an_exception_restores_the_mode() -> None:
    for mode in (paddle.no_grad, lambda: paddle.set_grad_enabled(False)):
        with pytest.raises(KeyError), mode():
            assert not paddle.is_grad_enabled()
            raise KeyError
        assert paddle.is_grad_enabled()


def test_set_grad_enabled_acts_as_soon_as_it_is_called() -> None:
    mode = paddle.set_grad_enabled(False)
    try:
        assert not paddle.is_grad_enabled()
        with mode:
            assert not paddle.is_grad_enabled()
        assert paddle.is_grad_enabled()
    finally:
        paddle.set_grad_enabled(True)


def test_one_object_may_be_entered_twice() -> None:
    mode = paddle.no_grad()
    with mode:
        with mode:
            assert not paddle.is_grad_enabled()
        assert not paddle.is_grad_enabled()
    assert paddle.is_grad_enabled()


def test_decorators_with_and_without_brackets_keep_name_and_recursion() -> None:
    @paddle.no_grad
    def bare(depth: int) -> int:
        "Doc."
        assert not paddle.is_grad_enabled()
        return bare(depth - 1) + 1 if depth else 0

    assert bare(3) == 3
    assert (bare.__name__, bare.__doc__) == ("bare", "Doc.")
    assert paddle.is_grad_enabled()


def test_a_graph_from_outside_runs_backward_inside_no_grad() -> None:
    x = leaf([3.0])
    y = x * x
    with paddle.no_grad():
        y.backward()
    assert x.grad.item() == 6.0


def test_create_graph_records_inside_no_grad_and_the_mode_stays() -> None:
    x = leaf([3.0])
    y = x * x * x
    with paddle.no_grad():
        first = paddle.grad(y, x, create_graph=True)[0]
        assert not paddle.is_grad_enabled()
    assert paddle.grad(first, x)[0].item() == 18.0


def test_a_plain_backward_records_nothing() -> None:
    x = leaf([3.0])
    (g,) = paddle.grad(x * x, x)
    assert g.stop_gradient and g.grad_fn is None
    (x * x).backward()
    assert x.grad.stop_gradient and x.grad.grad_fn is None


def test_stop_gradient_cuts_at_the_time_of_the_call() -> None:
    x, frozen = leaf([2.0]), leaf([5.0])
    frozen.stop_gradient = True
    y = x * frozen
    frozen.stop_gradient = False
    y.backward()
    assert x.grad.item() == 5.0 and frozen.grad is None


def test_integer_results_never_ask_for_gradients() -> None:
    x = leaf([2.0, 1.0])
    assert (x > 1.0).stop_gradient
    assert paddle.argsort(x).stop_gradient
    assert x.astype("int64").stop_gradient


def recorded() -> bool:
    return not (leaf([1.0]) * 2.0).stop_gradient


def test_a_generator_keeps_its_mode_to_its_own_steps_whatever_is_done_to_it() -> None:
    inside: list[object] = []

    @paddle.no_grad()
    def steps():
        inside.append(recorded())
        try:
            sent = yield 1
            inside.append((sent, recorded()))
            try:
                yield 2
            except KeyError as error:
                inside.append((error.args[0], recorded()))
            return (yield 3)
        finally:
            inside.append(("closed", recorded()))

    run = steps()
    assert (next(run), recorded()) == (1, True)
    assert (run.send("sent"), recorded()) == (2, True)
    assert (run.throw(KeyError("thrown")), recorded()) == (3, True)
    with pytest.raises(StopIteration) as stop:
        run.send("last")
    assert stop.value.value == "last" and recorded()
    assert inside == [False, ("sent", False), ("thrown", False), ("closed", False)]


@pytest.mark.parametrize("end", ["close", "delete", "delete in another thread", "collect"])
def test_a_suspended_generator_that_ends_touches_no_other_mode(end: str) -> None:
    seen: list[object] = []

    @paddle.no_grad()
    def steps():
        itself = run
        try:
            yield itself
        finally:
            seen.append(recorded())

    run: list[object] = [None]
    run[0] = steps()
    next(run[0])
    if end == "close":
        run[0].close()
    elif end == "delete":
        with paddle.enable_grad():
            run.clear()
    elif end == "collect":
        knot = run
        knot.append(knot)
        del knot
        run = [None]
        gc.collect()
    else:

        def work() -> None:
            run.clear()
            seen.append(recorded())

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert seen == ([False, True] if end == "delete in another thread" else [False]) and recorded()


def test_errors_of_generators_are_python_s_own() -> None:
    @paddle.no_grad()
    def stops():
        yield 1
        raise StopIteration("mine")  # noqa: PLR1708

    @paddle.no_grad()
    def stays():
        try:
            yield 1
        except GeneratorExit:
            yield 2

    run = stops()
    next(run)
    with pytest.raises(RuntimeError, match="generator raised StopIteration"):
        next(run)
    run = stays()
    next(run)
    with pytest.raises(RuntimeError, match="generator ignored GeneratorExit"):
        run.close()
    assert recorded()


def test_coroutines_keep_their_mode_to_their_own_steps() -> None:
    @paddle.no_grad()
    async def inner() -> list[bool]:
        seen = [recorded()]
        for _ in range(2):
            await asyncio.sleep(0)
            seen.append(recorded())
        return seen

    async def outer() -> list[bool]:
        seen = []
        for _ in range(3):
            await asyncio.sleep(0)
            seen.append(recorded())
        return seen

    async def both() -> list[list[bool]]:
        return list(await asyncio.gather(inner(), outer()))

    async def cancelled() -> None:
        task = asyncio.ensure_future(forever())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    ended: list[bool] = []

    @paddle.no_grad()
    async def forever() -> None:
        try:
            while True:
                await asyncio.sleep(0)
        finally:
            ended.append(recorded())

    assert inspect.iscoroutinefunction(inner) and inner.__name__ == "inner"
    assert asyncio.run(both()) == [[False] * 3, [True] * 3]
    asyncio.run(cancelled())
    assert ended == [False] and recorded()


def test_asynchronous_generators_keep_their_mode_to_their_own_steps() -> None:
    inside: list[object] = []

    @paddle.no_grad()
    async def steps():
        try:
            for i in range(3):
                await asyncio.sleep(0)
                try:
                    sent = yield i
                    inside.append((sent, recorded()))
                except KeyError as error:
                    inside.append((error.args[0], recorded()))
        finally:
            inside.append(("closed", recorded()))

    async def use() -> list[object]:
        seen: list[object] = [(i, recorded()) async for i in steps()]
        run = steps()
        seen.append(await run.__anext__())
        seen.append(await run.asend("sent"))
        seen.append(await run.athrow(KeyError("thrown")))
        await run.aclose()
        with pytest.raises(ValueError, match="mine"):
            await failing().__anext__()
        return seen

    @paddle.no_grad()
    async def failing():
        raise ValueError("mine")
        yield

    assert inspect.isasyncgenfunction(steps)
    assert asyncio.run(use()) == [(0, True), (1, True), (2, True), 0, 1, 2]
    assert inside == [(None, False)] * 3 + [("closed", False), ("sent", False), ("thrown", False), ("closed", False)]
    assert recorded()


def test_all_kinds_of_callables_are_decorated() -> None:
    class Steps:
        def __call__(self):
            yield recorded()

    def two(a: int):
        yield recorded()

    class Methods:
        @paddle.no_grad()
        def ordinary(self) -> bool:
            return recorded()

        @staticmethod
        @paddle.no_grad()
        def static() -> bool:
            return recorded()

        @classmethod
        @paddle.no_grad()
        def of_class(cls) -> bool:
            return recorded()

    for made in (paddle.no_grad()(Steps())(), paddle.no_grad()(functools.partial(two, 1))()):
        assert next(made) is False and recorded()
    assert not Methods().ordinary() and not Methods.static() and not Methods.of_class()
    with pytest.raises(TypeError, match="no_grad: expected a function to decorate, received int"):
        paddle.no_grad(3)


def test_one_object_in_several_threads() -> None:
    shared = paddle.no_grad()
    entered, leave = threading.Event(), threading.Event()
    seen: list[bool] = []

    def work() -> None:
        with paddle.no_grad():
            with shared:
                entered.set()
                leave.wait(30)
            seen.append(recorded())
        seen.append(recorded())

    thread = threading.Thread(target=work)
    with shared:
        thread.start()
        entered.wait(30)
    assert recorded(), "not what the other thread is to go back to"
    leave.set()
    thread.join()
    assert seen == [False, True]


def test_leaving_what_was_not_entered_is_refused() -> None:
    with pytest.raises(RuntimeError, match="^no_grad: left without having been entered$"):
        paddle.no_grad().__exit__(None, None, None)
    assert recorded()


def test_set_grad_enabled_nests_takes_numpy_bools_and_refuses_numbers() -> None:
    mode = paddle.set_grad_enabled(np.bool_(False))
    with mode:
        with mode:
            assert not paddle.is_grad_enabled()
        assert not paddle.is_grad_enabled()
    assert paddle.is_grad_enabled()
    with mode:
        assert not paddle.is_grad_enabled()
    assert paddle.is_grad_enabled()
    with pytest.raises(TypeError, match="set_grad_enabled: expected a bool, received int"):
        paddle.set_grad_enabled(0)
    assert paddle.is_grad_enabled()
