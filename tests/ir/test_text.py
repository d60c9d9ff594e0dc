"""Lines of operators, as comments of the generated C have them."""

from tinygen.ir.graph import Source
from tinygen.ir.tensor import Tensor
from tinygen.ir.text import print_op, type_text
from tinygen.ir.types import DType, Quant, TensorType
from tinygen.ops.clamp import Activation
from tinygen.ops.relu import Relu


def test_types() -> None:
    per_channel = Quant((0.5, 0.25), (0, 0), axis=3)
    assert type_text(TensorType(DType.INT8, (1, 3, 3, 2), per_channel)) == (
        "tensor<1x3x3x2xi8, {axis = 3 : i32, channels = 2 : i32}>"
    )
    assert type_text(TensorType(DType.FLOAT32, ())) == "tensor<f32>"
    assert type_text(TensorType(DType.UINT8, (2,), Quant((1.0,), (3,)))) == (
        "tensor<2xui8, {scale = 1.0 : f32, zero_point = 3 : i32}>"
    )


def test_enumerations_are_named() -> None:
    x, y = (Tensor(name, TensorType(DType.INT8, (4,))) for name in "xy")
    relu = Relu(name="relu", source=Source("net", 0, "RELU"), input=x, output=y, activation=Activation.RELU)
    line = '%y = "tinygen.relu"(%x) {activation = "relu"} : (tensor<4xi8>) -> (tensor<4xi8>)'
    assert print_op(relu, lambda tensor: f"%{tensor.name}") == line
