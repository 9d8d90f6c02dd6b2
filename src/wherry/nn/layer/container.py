"""Layers that hold others."""

from collections.abc import Iterable, Iterator
from typing import Any

from wherry.nn.layer.layers import Layer


def _position(index: Any, count: int) -> int:
    if not isinstance(index, int):
        raise TypeError(f"expected an int or a slice as index, received {type(index).__name__}")
    if not -count <= index < count:
        raise IndexError(f"index {index} is out of range of {count} layers")
    return index + count if index < 0 else index


class Sequential(Layer):
    """Layers called one after the other: given one by one, as (name, layer) pairs, or as one list. Source: paddle.nn.Sequential."""

    def __init__(self, *layers: Any) -> None:
        super().__init__()
        if len(layers) == 1 and isinstance(layers[0], (list, dict)):
            layers = tuple(layers[0].items() if isinstance(layers[0], dict) else layers[0])
        for i, layer in enumerate(layers):
            if isinstance(layer, (tuple, list)):
                name, layer = layer
                self.add_sublayer(str(name), layer)
            else:
                self.add_sublayer(str(i), layer)

    def forward(self, input: Any) -> Any:
        for layer in self._sub_layers.values():
            input = layer(input)
        return input

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return type(self)(*list(self._sub_layers.items())[key])
        if isinstance(key, str):
            return self._sub_layers[key]
        return list(self._sub_layers.values())[_position(key, len(self))]

    def __setitem__(self, key: Any, layer: Layer) -> None:
        name = key if isinstance(key, str) else list(self._sub_layers)[_position(key, len(self))]
        self.add_sublayer(name, layer)

    def __delitem__(self, key: Any) -> None:
        names = list(self._sub_layers)
        if isinstance(key, str):
            chosen = [key]
        else:
            chosen = names[key] if isinstance(key, slice) else [names[_position(key, len(self))]]
        for name in chosen:
            del self._sub_layers[name]
        _renumber(self)

    def __len__(self) -> int:
        return len(self._sub_layers)

    def __iter__(self) -> Iterator[Layer]:
        return iter(self._sub_layers.values())

    def append(self, layer: Layer) -> "Sequential":
        """Add a layer at the end; returns the container."""
        self.add_sublayer(str(len(self)), layer)
        return self

    def insert(self, index: int, layer: Layer) -> "Sequential":
        """Put a layer before the one at index; returns the container."""
        _insert(self, index, layer)
        return self

    def extend(self, layers: Iterable[Layer]) -> "Sequential":
        """Add layers at the end; returns the container."""
        for layer in layers:
            self.append(layer)
        return self


def _insert(container: Layer, index: int, layer: Layer) -> None:
    layers = list(container._sub_layers.values())
    if not isinstance(index, int):
        raise TypeError(f"expected an int as index, received {type(index).__name__}")
    if not -len(layers) <= index <= len(layers):
        raise IndexError(f"index {index} is out of range of {len(layers)} layers")
    layers.insert(index, layer)
    container._sub_layers.clear()
    for i, item in enumerate(layers):
        container.add_sublayer(str(i), item)


def _renumber(container: Layer) -> None:
    # Names given by the user stay as they are.
    if all(name.isdigit() for name in container._sub_layers):
        layers = list(container._sub_layers.values())
        container._sub_layers.clear()
        for i, layer in enumerate(layers):
            container._sub_layers[str(i)] = layer


class LayerList(Layer):
    """A list of layers. Source: paddle.nn.LayerList."""

    def __init__(self, sublayers: Iterable[Layer] | None = None) -> None:
        super().__init__()
        self.extend(() if sublayers is None else sublayers)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return type(self)(list(self._sub_layers.values())[key])
        return self._sub_layers[str(_position(key, len(self)))]

    def __setitem__(self, key: int, sublayer: Layer) -> None:
        self.add_sublayer(str(_position(key, len(self))), sublayer)

    def __delitem__(self, key: Any) -> None:
        names = list(self._sub_layers)
        for name in names[key] if isinstance(key, slice) else [names[_position(key, len(self))]]:
            del self._sub_layers[name]
        _renumber(self)

    def __len__(self) -> int:
        return len(self._sub_layers)

    def __iter__(self) -> Iterator[Layer]:
        return iter(self._sub_layers.values())

    def __add__(self, other: Iterable[Layer]) -> "LayerList":
        return type(self)([*self, *other])

    def __iadd__(self, other: Iterable[Layer]) -> "LayerList":
        return self.extend(other)

    def append(self, sublayer: Layer) -> "LayerList":
        """Add a layer at the end; returns the list."""
        self.add_sublayer(str(len(self)), sublayer)
        return self

    def insert(self, index: int, sublayer: Layer) -> None:
        """Put a layer before the one at index."""
        _insert(self, index, sublayer)

    def extend(self, sublayers: Iterable[Layer]) -> "LayerList":
        """Add layers at the end; returns the list."""
        for layer in sublayers:
            self.append(layer)
        return self

    def pop(self, key: int = -1) -> Layer:
        """Take a layer out."""
        layer: Layer = self[key]
        del self[key]
        return layer


class LayerDict(Layer):
    """Layers by name. Source: paddle.nn.LayerDict."""

    def __init__(self, sublayers: Any = None) -> None:
        super().__init__()
        if sublayers is not None:
            self.update(sublayers)

    def __getitem__(self, key: str) -> Any:
        return self._sub_layers[key]

    def __setitem__(self, key: str, sublayer: Layer) -> None:
        self.add_sublayer(key, sublayer)

    def __delitem__(self, key: str) -> None:
        del self._sub_layers[key]

    def __len__(self) -> int:
        return len(self._sub_layers)

    def __iter__(self) -> Iterator[str]:
        return iter(self._sub_layers)

    def __contains__(self, key: str) -> bool:
        return key in self._sub_layers

    def clear(self) -> None:
        """Take out all."""
        self._sub_layers.clear()

    def pop(self, key: str) -> Any:
        """Take one out."""
        return self._sub_layers.pop(key)

    def keys(self) -> Any:
        """The names."""
        return self._sub_layers.keys()

    def values(self) -> Any:
        """The layers."""
        return self._sub_layers.values()

    def items(self) -> Any:
        """Names and layers."""
        return self._sub_layers.items()

    def update(self, sublayers: Any) -> None:
        """Add layers from a dictionary, another LayerDict or (name, layer) pairs."""
        pairs = sublayers.items() if hasattr(sublayers, "items") else sublayers
        for name, layer in pairs:
            self.add_sublayer(name, layer)


class ParameterList(Layer):
    """A list of parameters. Source: paddle.nn.ParameterList."""

    def __init__(self, parameters: Iterable[Any] | None = None) -> None:
        super().__init__()
        self.extend(() if parameters is None else parameters)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return type(self)(list(self._parameters.values())[key])
        return self._parameters[str(_position(key, len(self)))]

    def __setitem__(self, key: int, parameter: Any) -> None:
        setattr(self, str(_position(key, len(self))), parameter)

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._parameters.values())

    def append(self, parameter: Any) -> "ParameterList":
        """Add a parameter at the end; returns the list."""
        self.add_parameter(str(len(self)), parameter)
        return self

    def extend(self, parameters: Iterable[Any]) -> "ParameterList":
        """Add parameters at the end; returns the list."""
        for parameter in parameters:
            self.append(parameter)
        return self


class ParameterDict(Layer):
    """Parameters by name. Source: paddle.nn.ParameterDict."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        return self._parameters[key]

    def __setitem__(self, key: str, parameter: Any) -> None:
        setattr(self, key, parameter)

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __contains__(self, key: str) -> bool:
        return key in self._parameters

    def update(self, parameters: Any) -> None:
        """Add parameters from a dictionary or (name, parameter) pairs."""
        for name, parameter in parameters.items() if hasattr(parameters, "items") else parameters:
            self.add_parameter(name, parameter)
