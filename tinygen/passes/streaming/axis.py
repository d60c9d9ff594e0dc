"""Which axis of the inputs a signal runs along."""

from tinygen.errors import UnsupportedModelError, UsageError
from tinygen.ir.graph import Graph, Port

_NAMES = {"height": 1, "width": 2}
_TIME = "time"


def streaming_axis(graph: Graph, text: str) -> int:
    """The axis named `text` in every input: an index, height (1), width (2), or time, the first one that is longer
    than 1. Raises UsageError where there is no such axis, UnsupportedModelError where inputs have a batch."""
    found = {_axis(graph, port, text) for port in graph.inputs}
    if len(found) != 1:
        raise UsageError(
            f"--stream {text}: is another axis in each of the {len(graph.inputs)} inputs of {graph.name}, the same "
            "one was expected. Name it by its index."
        )
    return found.pop()


def _axis(graph: Graph, port: Port, text: str) -> int:
    shape = port.tensor.shape
    if not shape or shape[0] != 1 or len(shape) > 4:
        raise UnsupportedModelError(
            f"{graph.name}: input '{port.name}' has shape {list(shape)}, 2 to 4 axes were expected, the "
            "first of 1: a stream has no batch."
        )
    axis = _index(shape, text)
    if axis is None or not 0 < axis < max(len(shape) - 1, 2):
        raise UsageError(
            f"--stream {text}: input '{port.name}' of {graph.name} has shape {list(shape)}, an axis between the first "
            "and the last was expected: its index, height (1), width (2), or time (the first one longer than 1)."
        )
    return axis


def _index(shape: tuple[int, ...], text: str) -> int | None:
    if text == _TIME:
        return next((axis for axis, size in enumerate(shape) if size > 1), None)
    if text in _NAMES:
        return _NAMES[text]
    return int(text) if text.isascii() and text.isdigit() and len(text) < 3 else None
