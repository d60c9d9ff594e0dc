"""Filters that no input, or no output, belongs to: refused as the operator is read."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.tflite_writer import ModelWriter
from tinygen.errors import UnsupportedOperatorsError
from tinygen.frontends import import_model


@pytest.mark.parametrize(
    ("operator", "image", "filters", "reason"),
    [
        ("CONV_2D", (1, 4, 4, 0), (2, 1, 1, 4), "0 input channels and 2 filters of depth 4 form no groups"),
        ("CONV_2D", (1, 4, 4, 2), (2, 1, 1, 4), "2 input channels and 2 filters of depth 4 form no groups"),
        ("CONV_2D", (1, 4, 4, 2), (2, 1, 1, 0), "2 input channels and 2 filters of depth 0 form no groups"),
        (
            "CONV_2D",
            (1, 4, 4, 2),
            (0, 1, 1, 2),
            "weights 'w' have shape [0, 1, 1, 2], at least one filter was expected",
        ),
        ("FULLY_CONNECTED", (1, 4), (0, 4), "weights 'w' have shape [0, 4], at least one filter was expected"),
    ],
)
def test_filters_without_channels(
    operator: str, image: tuple[int, ...], filters: tuple[int, ...], reason: str, tmp_path: Path
) -> None:
    writer = ModelWriter()
    x, y = writer.tensor("x", image, scale=0.5), writer.tensor("y", (*image[:-1], filters[0]), scale=0.5)
    w = writer.tensor("w", filters, scale=0.1, data=np.zeros(filters, np.int8))
    if operator == "CONV_2D":
        writer.operator(operator, [x, w], [y], stride_h=1, stride_w=1)
    else:
        writer.operator(operator, [x, w], [y])
    (tmp_path / "m.tflite").write_bytes(writer.finish([x], [y]))
    with pytest.raises(UnsupportedOperatorsError) as raised:
        import_model(tmp_path / "m.tflite")
    assert [fault.reason for fault in raised.value.operators] == [reason]
