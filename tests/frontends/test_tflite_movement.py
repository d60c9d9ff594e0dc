"""What the readers of movement operators refuse, and how they say so."""

from collections.abc import Callable

import pytest
import tflite

from tests.support.reference import import_model
from tests.support.tflite_writer import ModelWriter
from tinygen.errors import UnsupportedModelError, UnsupportedOperatorsError

Build = Callable[[ModelWriter, int], None]


def _ints(writer: ModelWriter, *values: int) -> int:
    return writer.tensor("values", (len(values),), "int32", data=values)


def _y(writer: ModelWriter, *shape: int, scale: float = 0.1) -> int:
    return writer.tensor("y", shape, scale=scale)


def _fused_concatenation(writer: ModelWriter, x: int) -> None:
    relu = tflite.ActivationFunctionType.RELU
    writer.operator("CONCATENATION", [x, x], [_y(writer, 8, 6)], axis=0, fused_activation_function=relu)


def _rescaled_concatenation(writer: ModelWriter, x: int) -> None:
    writer.operator("CONCATENATION", [x, x], [_y(writer, 8, 6, scale=0.2)], axis=0)


def _axis(writer: ModelWriter, x: int) -> None:
    writer.operator("CONCATENATION", [x, x], [_y(writer, 8, 6)], axis=2)


def _negative_padding(writer: ModelWriter, x: int) -> None:
    padding = writer.tensor("p", (2, 2), "int32", data=[[-1, 0], [0, 0]])
    writer.operator("PAD", [x, padding], [_y(writer, 3, 6)])


def _rescaled_padding_value(writer: ModelWriter, x: int) -> None:
    padding = writer.tensor("p", (2, 2), "int32", data=[[1, 0], [0, 0]])
    value = writer.tensor("v", (1,), scale=0.2, data=[0])
    writer.operator("PADV2", [x, padding, value], [_y(writer, 5, 6)])


def _mirror_of_more_than_there_is(writer: ModelWriter, x: int) -> None:
    padding = writer.tensor("p", (2, 2), "int32", data=[[4, 0], [0, 0]])
    writer.operator("MIRROR_PAD", [x, padding], [_y(writer, 8, 6)], mode=tflite.MirrorPadMode.REFLECT)


def _no_permutation(writer: ModelWriter, x: int) -> None:
    writer.operator("TRANSPOSE", [x, _ints(writer, 1, 1)], [_y(writer, 6, 6)])


def _wrong_new_shape(writer: ModelWriter, x: int) -> None:
    writer.operator("RESHAPE", [x, _ints(writer, 2, -1)], [_y(writer, 24)])


def _empty_slice(writer: ModelWriter, x: int) -> None:
    positions = [writer.tensor(name, (1,), "int32", data=[at]) for name, at in (("b", 2), ("e", 2), ("s", 1))]
    writer.operator("STRIDED_SLICE", [x, *positions], [_y(writer, 0, 6)])


def _index_out_of_range(writer: ModelWriter, x: int) -> None:
    writer.operator("GATHER", [x, _ints(writer, 0, 4)], [_y(writer, 2, 6)], axis=0)


def _slice_beyond_the_end(writer: ModelWriter, x: int) -> None:
    begin, size = (writer.tensor(name, (2,), "int32", data=at) for name, at in (("b", [3, 0]), ("s", [2, 6])))
    writer.operator("SLICE", [x, begin, size], [_y(writer, 2, 6)])


def _scatter(*indices: list[int], shape: tuple[int, ...] = (5, 6), rows: int = 2) -> Build:
    def build(writer: ModelWriter, x: int) -> None:
        updates = writer.tensor("u", (rows, 6), scale=0.1)
        writer.operator("SLICE", [x, *(writer.tensor(n, (2,), "int32", data=d) for n, d in _part(rows))], [updates])
        places = writer.tensor("i", (len(indices), len(indices[0])), "int32", data=indices)
        sizes = writer.tensor("s", (len(shape),), "int32", data=shape)
        writer.operator("SCATTER_ND", [places, updates, sizes], [writer.tensor("y", (5, 6), scale=0.1)])

    return build


def _part(rows: int) -> list[tuple[str, list[int]]]:
    return [("begin", [0, 0]), ("size", [rows, 6])]


def _turned(*lengths: int, along: int = 1, batch: int = 0) -> Build:
    def build(writer: ModelWriter, x: int) -> None:
        operands = [x, writer.tensor("lengths", (len(lengths),), "int32", data=lengths)]
        y = writer.tensor("y", (4, 6), scale=0.1)
        writer.operator("REVERSE_SEQUENCE", operands, [y], seq_dim=along, batch_dim=batch)

    return build


REFUSED: dict[str, tuple[Build, str]] = {
    "fused concatenation": (_fused_concatenation, "fused activation 1, none was expected"),
    "rescaled concatenation": (_rescaled_concatenation, "'x' and 'y' must have the same quantization"),
    "axis": (_axis, "axis 2 of 2 dimensions"),
    "negative padding": (_negative_padding, "padding [-1, 0] and [0, 0] must be 2 numbers each, none negative"),
    "rescaled padding value": (_rescaled_padding_value, "the padding value must have the input's quantization"),
    "mirror of too much": (
        _mirror_of_more_than_there_is,
        "padding (4, 0) along axis 0 mirrors more than its 3 elements",
    ),
    "no permutation": (_no_permutation, "permutation [1, 1] does not name each of 2 axes once"),
    "wrong new shape": (_wrong_new_shape, "the new shape is [2, -1], the output has shape [24]"),
    "empty slice": (_empty_slice, "the slice has shape [0, 6], it must not be empty"),
    "index out of range": (_index_out_of_range, "indices from 0 to 4, 0 to 3 were expected"),
    "slice beyond the end": (
        _slice_beyond_the_end,
        "the slice takes 2 elements from 3 on with stride 1 along axis 0, which has 4",
    ),
    "reverse: few lengths": (_turned(1, 2, 3), "lengths are [1, 2, 3], 4 numbers from 0 to 6 were expected"),
    "reverse: too long": (_turned(1, 2, 3, 7), "lengths are [1, 2, 3, 7], 4 numbers from 0 to 6 were expected"),
    "reverse: negative": (_turned(1, 2, 3, -1), "lengths are [1, 2, 3, -1], 4 numbers from 0 to 6 were expected"),
    "reverse: one axis": (
        _turned(1, 2, 3, 4, along=-2),
        "axis 0 is that of sequences and that of batches, different ones were expected",
    ),
    "scatter: twice": (
        _scatter([3], [3]),
        "an index occurs twice, whose updates would be added; different ones were expected",
    ),
    "scatter: outside": (_scatter([3], [5]), "index [5] is outside of [5]"),
    "scatter: negative": (_scatter([-1], [3]), "index [-1] is outside of [5]"),
    "scatter: too few updates": (
        _scatter([1], [2], [3]),
        "indices [3, 1] and updates [2, 6] do not fit a shape of [5, 6]",
    ),
    "scatter: too deep": (
        _scatter([1, 2, 3], [0, 0, 0]),
        "indices [2, 3] and updates [2, 6] do not fit a shape of [5, 6]",
    ),
    "scatter: another shape": (
        _scatter([1], [2], shape=(6, 6)),
        "scatters to shape [6, 6], the output has shape [5, 6]",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_is_said_with_its_values(case: str) -> None:
    build, reason = REFUSED[case]
    writer = ModelWriter()
    x = writer.tensor("x", (4, 6), scale=0.1)
    build(writer, x)
    with pytest.raises(UnsupportedOperatorsError) as error:
        import_model(writer.finish([x], [x]))
    assert [fault.reason for fault in error.value.operators] == [reason]


def test_an_input_must_not_be_a_constant() -> None:
    writer = ModelWriter()
    x = writer.tensor("x", (2,), scale=0.1, data=[1, 2])
    with pytest.raises(UnsupportedModelError, match=r"model.tflite, input 'x': is a constant, a tensor without data"):
        import_model(writer.finish([x], [x]))


def test_what_shapes_depend_on_must_be_known() -> None:
    writer = ModelWriter()
    x, padding = writer.tensor("x", (4, 6), scale=0.1), writer.tensor("p", (2, 2), "int32")
    writer.operator("PAD", [x, padding], [_y(writer, 4, 6)])
    with pytest.raises(UnsupportedOperatorsError, match="padding 'p' is computed at run time, a constant was expected"):
        import_model(writer.finish([x, padding], [x]))
