"""`LRScheduler`: a learning rate that follows the count of epochs (or steps)."""

from typing import Any


class LRScheduler:
    """Base of the schedulers: `scheduler()` is the rate, `step()` goes on to the next epoch. Subclasses define get_lr().

    learning_rate: the rate at the start, not below 0. last_epoch: where to go on from, -1 for the start. verbose: print each change.
    Source: paddle.optimizer.lr.LRScheduler.
    """

    def __init__(self, learning_rate: float = 0.1, last_epoch: int = -1, verbose: bool = False) -> None:
        kind = type(self).__name__
        if isinstance(learning_rate, bool) or not isinstance(learning_rate, (int, float)):
            raise TypeError(f"{kind}: expected a number for 'learning_rate', received {type(learning_rate).__name__}")
        if learning_rate < 0:
            raise ValueError(f"{kind}: expected learning_rate >= 0, received {learning_rate}")
        self.base_lr = float(learning_rate)
        self.last_lr = float(learning_rate)
        self.last_epoch = last_epoch
        self.verbose = verbose
        self._var_name: str | None = None
        self.step()

    def __call__(self) -> float:
        return self.last_lr

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next epoch, or to the one given, and set the rate."""
        if epoch is None:
            self.last_epoch += 1
            self.last_lr = self.get_lr()
        else:
            self.last_epoch = epoch
            closed = getattr(self, "_get_closed_form_lr", self.get_lr)
            self.last_lr = closed()
        self._report()

    def _report(self) -> None:
        if self.verbose:
            print(f"Epoch {self.last_epoch}: {type(self).__name__} set learning rate to {self.last_lr}.")

    def get_lr(self) -> float:
        """The rate at `last_epoch`; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} defines no get_lr()")

    def state_keys(self) -> None:
        """Set `keys`, the attributes that state_dict holds."""
        self.keys = ["last_epoch", "last_lr"]

    def state_dict(self) -> dict[str, Any]:
        """The state, as plain numbers."""
        self.state_keys()
        return {key: getattr(self, key) for key in self.keys if key in self.__dict__}

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state; raises RuntimeError for one that lacks a key."""
        self.state_keys()
        for key in self.keys:
            if key not in state_dict:
                raise RuntimeError(
                    f"{type(self).__name__}.set_state_dict: expected the keys {self.keys}, received {sorted(state_dict)}"
                )
        for key in self.keys:
            setattr(self, key, state_dict[key])

    set_dict = set_state_dict


def positive(kind: str, name: str, value: Any, number: tuple[type, ...] = (int,)) -> Any:
    """A number above 0; raises TypeError or ValueError for another value."""
    if isinstance(value, bool) or not isinstance(value, number):
        raise TypeError(
            f"{kind}: expected {' or '.join(n.__name__ for n in number)} for {name!r}, received {type(value).__name__}"
        )
    if value <= 0:
        raise ValueError(f"{kind}: expected {name} > 0, received {value}")
    return value
