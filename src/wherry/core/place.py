"""Places: where a tensor's memory is."""

from typing import Final


class Place:
    """A device. `kind` is "cpu" or "gpu", `device_id` its number. Source: paddle.base.core.Place."""

    def __init__(self, kind: str = "cpu", device_id: int = 0) -> None:
        self.kind: Final = kind
        self.device_id: Final = device_id

    def is_cpu_place(self) -> bool:
        """True for the CPU."""
        return self.kind == "cpu"

    def is_gpu_place(self) -> bool:
        """True for a GPU."""
        return self.kind == "gpu"

    def gpu_device_id(self) -> int:
        """The GPU's number."""
        return self.device_id

    def __repr__(self) -> str:
        return "Place(cpu)" if self.kind == "cpu" else f"Place({self.kind}:{self.device_id})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place) and other.kind == self.kind and other.device_id == self.device_id

    def __ne__(self, other: object) -> bool:
        return not self.__eq__(other)

    def __hash__(self) -> int:
        return hash((self.kind, self.device_id))


CPU_PLACE: Final = Place("cpu", 0)
