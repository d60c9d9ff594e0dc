"""Writes small TFLite models for tests, by the builder functions that the `tflite` package generates.

writer = ModelWriter()
x = writer.tensor("x", (1, 4), "int8", scale=0.5)
y = writer.tensor("y", (1, 4), "int8", scale=1 / 256, zero_point=-128)
writer.operator("SOFTMAX", [x], [y], beta=1.0)
model = writer.finish([x], [y])
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import flatbuffers
import flatbuffers.flexbuffers
import numpy as np
import numpy.typing as npt
import tflite

_NO_ATTRIBUTES = bytes(flatbuffers.flexbuffers.Dumps({}))
OptionValue = bool | int | float | str | Sequence[int]

OPERATORS: dict[str, tuple[str | None, int]] = {
    "ABS": ("AbsOptions", 2),
    "ADD": ("AddOptions", 2),
    "ADD_N": ("AddNOptions", 1),
    "ARG_MAX": ("ArgMaxOptions", 2),
    "ARG_MIN": ("ArgMinOptions", 2),
    "ASSIGN_VARIABLE": ("AssignVariableOptions", 1),
    "ATAN2": (None, 1),
    "AVERAGE_POOL_2D": ("Pool2DOptions", 2),
    "BATCH_MATMUL": ("BatchMatMulOptions", 2),
    "BATCH_TO_SPACE_ND": ("BatchToSpaceNDOptions", 2),
    "BIDIRECTIONAL_SEQUENCE_LSTM": ("BidirectionalSequenceLSTMOptions", 1),
    "BIDIRECTIONAL_SEQUENCE_RNN": ("BidirectionalSequenceRNNOptions", 1),
    "BITWISE_XOR": ("BitwiseXorOptions", 1),
    "BROADCAST_ARGS": (None, 1),
    "BROADCAST_TO": (None, 3),
    "CALL_ONCE": ("CallOnceOptions", 1),
    "CAST": ("CastOptions", 2),
    "CEIL": (None, 1),
    "CONCATENATION": ("ConcatenationOptions", 2),
    "CONV_2D": ("Conv2DOptions", 3),
    "COS": ("CosOptions", 1),
    "CUMSUM": ("CumsumOptions", 1),
    "CUSTOM": (None, 1),
    "DENSIFY": ("DensifyOptions", 1),
    "DEPTHWISE_CONV_2D": ("DepthwiseConv2DOptions", 3),
    "DEPTH_TO_SPACE": ("DepthToSpaceOptions", 1),
    "DEQUANTIZE": ("DequantizeOptions", 2),
    "DIV": ("DivOptions", 1),
    "DYNAMIC_UPDATE_SLICE": (None, 1),
    "ELU": (None, 1),
    "EMBEDDING_LOOKUP": (None, 1),
    "EQUAL": ("EqualOptions", 3),
    "EXP": ("ExpOptions", 2),
    "EXPAND_DIMS": ("ExpandDimsOptions", 1),
    "FILL": ("FillOptions", 1),
    "FLOOR": (None, 1),
    "FLOOR_DIV": ("FloorDivOptions", 1),
    "FLOOR_MOD": ("FloorModOptions", 1),
    "FULLY_CONNECTED": ("FullyConnectedOptions", 4),
    "GATHER": ("GatherOptions", 2),
    "GATHER_ND": ("GatherNdOptions", 3),
    "GELU": ("GeluOptions", 1),
    "GREATER": ("GreaterOptions", 2),
    "GREATER_EQUAL": ("GreaterEqualOptions", 2),
    "HARD_SWISH": ("HardSwishOptions", 1),
    "IF": ("IfOptions", 1),
    "L2_NORMALIZATION": ("L2NormOptions", 1),
    "L2_POOL_2D": ("Pool2DOptions", 1),
    "LEAKY_RELU": ("LeakyReluOptions", 2),
    "LESS": ("LessOptions", 2),
    "LESS_EQUAL": ("LessEqualOptions", 2),
    "LOCAL_RESPONSE_NORMALIZATION": ("LocalResponseNormalizationOptions", 1),
    "LOG": (None, 2),
    "LOGICAL_AND": ("LogicalAndOptions", 1),
    "LOGICAL_NOT": ("LogicalNotOptions", 1),
    "LOGICAL_OR": ("LogicalOrOptions", 1),
    "LOGISTIC": (None, 2),
    "LOG_SOFTMAX": ("LogSoftmaxOptions", 1),
    "MAXIMUM": ("MaximumMinimumOptions", 2),
    "MAX_POOL_2D": ("Pool2DOptions", 2),
    "MEAN": ("ReducerOptions", 2),
    "MINIMUM": ("MaximumMinimumOptions", 2),
    "MIRROR_PAD": ("MirrorPadOptions", 2),
    "MUL": ("MulOptions", 2),
    "NEG": ("NegOptions", 1),
    "NOT_EQUAL": ("NotEqualOptions", 2),
    "ONE_HOT": ("OneHotOptions", 1),
    "PACK": ("PackOptions", 2),
    "PAD": ("PadOptions", 2),
    "PADV2": ("PadV2Options", 2),
    "POW": ("PowOptions", 1),
    "PRELU": (None, 1),
    "QUANTIZE": ("QuantizeOptions", 2),
    "RANK": ("RankOptions", 1),
    "REDUCE_ALL": ("ReducerOptions", 1),
    "REDUCE_ANY": ("ReducerOptions", 1),
    "REDUCE_MAX": ("ReducerOptions", 2),
    "REDUCE_PROD": ("ReducerOptions", 1),
    "REDUCE_MIN": ("ReducerOptions", 2),
    "READ_VARIABLE": ("ReadVariableOptions", 1),
    "RELU": (None, 2),
    "RELU6": (None, 2),
    "RELU_0_TO_1": (None, 1),
    "RELU_N1_TO_1": (None, 1),
    "RESHAPE": ("ReshapeOptions", 1),
    "RESIZE_BILINEAR": ("ResizeBilinearOptions", 3),
    "RESIZE_NEAREST_NEIGHBOR": ("ResizeNearestNeighborOptions", 3),
    "REVERSE_SEQUENCE": ("ReverseSequenceOptions", 1),
    "REVERSE_V2": ("ReverseV2Options", 3),
    "RIGHT_SHIFT": ("RightShiftOptions", 1),
    "ROUND": (None, 1),
    "RSQRT": (None, 2),
    "SCATTER_ND": ("ScatterNdOptions", 1),
    "SELECT": ("SelectOptions", 1),
    "SELECT_V2": ("SelectV2Options", 1),
    "SHAPE": ("ShapeOptions", 1),
    "SIGN": ("SignOptions", 1),
    "SIN": (None, 1),
    "SLICE": ("SliceOptions", 2),
    "SOFTMAX": ("SoftmaxOptions", 2),
    "SPACE_TO_BATCH_ND": ("SpaceToBatchNDOptions", 2),
    "SPACE_TO_DEPTH": ("SpaceToDepthOptions", 2),
    "SPLIT": ("SplitOptions", 2),
    "SPLIT_V": ("SplitVOptions", 2),
    "SQRT": (None, 1),
    "SQUARE": ("SquareOptions", 1),
    "SQUARED_DIFFERENCE": ("SquaredDifferenceOptions", 2),
    "SQUEEZE": ("SqueezeOptions", 1),
    "STRIDED_SLICE": ("StridedSliceOptions", 2),
    "SUB": ("SubOptions", 2),
    "SUM": ("ReducerOptions", 2),
    "SVDF": ("SVDFOptions", 2),
    "TANH": (None, 2),
    "TILE": ("TileOptions", 1),
    "TOPK_V2": ("TopKV2Options", 2),
    "TRANSPOSE": ("TransposeOptions", 2),
    "TRANSPOSE_CONV": ("TransposeConvOptions", 3),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": ("UnidirectionalSequenceLSTMOptions", 1),
    "UNIDIRECTIONAL_SEQUENCE_RNN": ("SequenceRNNOptions", 1),
    "UNPACK": ("UnpackOptions", 2),
    "WHILE": ("WhileOptions", 1),
    "ZEROS_LIKE": ("ZerosLikeOptions", 1),
    "VAR_HANDLE": ("VarHandleOptions", 1),
}
"""Options class of each operator, and the lowest version that takes int8 and all those options."""


@dataclass(frozen=True)
class Signature:
    """A named entry point: names of a subgraph's inputs and outputs, each with its tensor index."""

    name: str
    inputs: dict[str, int]
    outputs: dict[str, int]
    subgraph: int = 0


@dataclass(frozen=True)
class _Tensor:
    name: str | bytes
    shape: tuple[int, ...]
    type: str
    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int
    buffer: int
    is_variable: bool
    signature: tuple[int, ...] | None


@dataclass(frozen=True)
class _Operator:
    code: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options_type: str | None
    options: dict[str, OptionValue]
    custom_options: bytes
    decomposition: int | None


@dataclass
class _Subgraph:
    tensors: list[_Tensor] = field(default_factory=list)
    operators: list[_Operator] = field(default_factory=list)
    inputs: Sequence[int] = ()
    outputs: Sequence[int] = ()


class ModelWriter:
    """Collects tensors and operators of one or more subgraphs; `finish` returns the file's bytes."""

    def __init__(self) -> None:
        self._builder = flatbuffers.Builder(1024)
        self.codes: list[tuple[str, int, str]] = []  # name, version, custom code
        self.buffers: list[bytes] = [b""]  # buffer 0 is empty by convention
        self._subgraphs = [_Subgraph()]

    @property
    def tensors(self) -> list[_Tensor]:
        """Those of the current subgraph, to be changed before `finish`."""
        return self._subgraphs[-1].tensors

    @property
    def operators(self) -> list[_Operator]:
        """Those of the current subgraph, to be changed before `finish`."""
        return self._subgraphs[-1].operators

    def tensor(
        self,
        name: str | bytes,
        shape: Sequence[int],
        type: str = "int8",
        *,
        scale: float | Sequence[float] | None = None,
        zero_point: int | Sequence[int] = 0,
        axis: int = 0,
        data: npt.ArrayLike | bytes | None = None,
        is_variable: bool = False,
        signature: Sequence[int] | None = None,
        buffer: int | None = None,
    ) -> int:
        """Add a tensor and return its index; several scales mean one per index along `axis`.

        `data` makes it a constant: numbers in `shape`, or stored bytes. `buffer` shares another's buffer.
        """
        scales = () if scale is None else tuple(np.atleast_1d(np.asarray(scale, np.float32)).tolist())
        points = tuple(np.broadcast_to(zero_point, len(scales)).tolist())
        if buffer is None:
            buffer = self._buffer(_stored(data, type)) if data is not None else 0
        shape_signature = None if signature is None else tuple(signature)
        tensors = self._subgraphs[-1].tensors
        tensors.append(_Tensor(name, tuple(shape), type, scales, points, axis, buffer, is_variable, shape_signature))
        return len(tensors) - 1

    def operator(
        self,
        name: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        *,
        options_type: str | None = None,
        version: int | None = None,
        custom_code: str = "",
        custom_options: bytes = b"",
        decomposition: int | None = None,
        **options: OptionValue,
    ) -> None:
        """Add an operator by its schema name; options by the snake_case names of their fields.

        `decomposition`: of STABLEHLO_COMPOSITE, the subgraph that says what it computes.
        """
        default_kind, default_version = OPERATORS.get(name, (None, 1))
        kind = options_type or default_kind
        if options and kind is None:
            raise ValueError(f"{name} has no options, expected none of {sorted(options)}")
        code = (name, version or default_version, custom_code)
        if code not in self.codes:
            self.codes.append(code)
        index = self.codes.index(code)
        operator = _Operator(index, tuple(inputs), tuple(outputs), kind, options, custom_options, decomposition)
        self._subgraphs[-1].operators.append(operator)

    def shape(self, index: int) -> tuple[int, ...]:
        """The shape of tensor `index` of the current subgraph."""
        return self._subgraphs[-1].tensors[index].shape

    def next_subgraph(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """End the current subgraph with its inputs and outputs, and begin another."""
        self._subgraphs[-1].inputs, self._subgraphs[-1].outputs = inputs, outputs
        self._subgraphs.append(_Subgraph())

    def finish(
        self,
        inputs: Sequence[int],
        outputs: Sequence[int],
        *,
        description: str = "written by a test",
        signatures: Sequence[Signature] = (),
    ) -> bytes:
        """The model as a file's bytes; `inputs` and `outputs` are those of the last subgraph."""
        named = [self._signature(signature) for signature in signatures]
        self._subgraphs[-1].inputs, self._subgraphs[-1].outputs = inputs, outputs
        builder = self._builder
        subgraphs = self._tables([self._subgraph(subgraph) for subgraph in self._subgraphs])
        buffers = self._tables([self._stored_buffer(data) for data in self.buffers])
        codes = self._tables([self._code(*code) for code in self.codes])
        signature_defs = self._tables(named) if named else None
        text = builder.CreateString(description)
        tflite.ModelStart(builder)
        tflite.ModelAddVersion(builder, 3)
        tflite.ModelAddOperatorCodes(builder, codes)
        tflite.ModelAddSubgraphs(builder, subgraphs)
        tflite.ModelAddDescription(builder, text)
        tflite.ModelAddBuffers(builder, buffers)
        if signature_defs is not None:
            tflite.ModelAddSignatureDefs(builder, signature_defs)
        builder.Finish(tflite.ModelEnd(builder), b"TFL3")
        return bytes(builder.Output())

    def _signature(self, signature: Signature) -> int:
        builder = self._builder
        inputs = self._tables([self._tensor_map(*entry) for entry in signature.inputs.items()])
        outputs = self._tables([self._tensor_map(*entry) for entry in signature.outputs.items()])
        key = builder.CreateString(signature.name)
        tflite.SignatureDefStart(builder)
        tflite.SignatureDefAddInputs(builder, inputs)
        tflite.SignatureDefAddOutputs(builder, outputs)
        tflite.SignatureDefAddSignatureKey(builder, key)
        tflite.SignatureDefAddSubgraphIndex(builder, signature.subgraph)
        return _end(tflite.SignatureDefEnd(builder))

    def _tensor_map(self, name: str, index: int) -> int:
        text = self._builder.CreateString(name)
        tflite.TensorMapStart(self._builder)
        tflite.TensorMapAddName(self._builder, text)
        tflite.TensorMapAddTensorIndex(self._builder, index)
        return _end(tflite.TensorMapEnd(self._builder))

    def _buffer(self, data: bytes) -> int:
        self.buffers.append(data)
        return len(self.buffers) - 1

    def _tables(self, offsets: Sequence[int]) -> int:
        self._builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self._builder.PrependUOffsetTRelative(offset)
        end: int = self._builder.EndVector()
        return end

    def _numbers(self, values: Sequence[float], dtype: str) -> int:
        offset: int = self._builder.CreateNumpyVector(np.array(values, dtype))
        return offset

    def _code(self, name: str, version: int, custom_code: str) -> int:
        builder, code = self._builder, getattr(tflite.BuiltinOperator, name)
        text = builder.CreateString(custom_code) if custom_code else None
        tflite.OperatorCodeStart(builder)
        tflite.OperatorCodeAddDeprecatedBuiltinCode(builder, min(code, 127))
        tflite.OperatorCodeAddBuiltinCode(builder, code)
        tflite.OperatorCodeAddVersion(builder, version)
        if text is not None:
            tflite.OperatorCodeAddCustomCode(builder, text)
        return _end(tflite.OperatorCodeEnd(builder))

    def _stored_buffer(self, data: bytes) -> int:
        builder = self._builder
        vector = None
        if data:
            builder.StartVector(1, len(data), 16)  # 16-byte alignment: LiteRT reads weights in place
            builder.head -= len(data)
            builder.Bytes[builder.head : builder.head + len(data)] = data
            vector = builder.EndVector()
        tflite.BufferStart(builder)
        if vector is not None:
            tflite.BufferAddData(builder, vector)
        return _end(tflite.BufferEnd(builder))

    def _subgraph(self, subgraph: _Subgraph) -> int:
        builder = self._builder
        tensors = self._tables([self._tensor_table(tensor) for tensor in subgraph.tensors])
        operators = self._tables([self._operator_table(operator) for operator in subgraph.operators])
        inputs = self._numbers(subgraph.inputs, "<i4")
        outputs = self._numbers(subgraph.outputs, "<i4")
        tflite.SubGraphStart(builder)
        tflite.SubGraphAddTensors(builder, tensors)
        tflite.SubGraphAddInputs(builder, inputs)
        tflite.SubGraphAddOutputs(builder, outputs)
        tflite.SubGraphAddOperators(builder, operators)
        return _end(tflite.SubGraphEnd(builder))

    def _quantization(self, tensor: _Tensor) -> int:
        builder = self._builder
        scales = self._numbers(tensor.scales, "<f4")
        zero_points = self._numbers(tensor.zero_points, "<i8")
        tflite.QuantizationParametersStart(builder)
        tflite.QuantizationParametersAddScale(builder, scales)
        tflite.QuantizationParametersAddZeroPoint(builder, zero_points)
        tflite.QuantizationParametersAddQuantizedDimension(builder, tensor.axis)
        return _end(tflite.QuantizationParametersEnd(builder))

    def _tensor_table(self, tensor: _Tensor) -> int:
        builder = self._builder
        name = builder.CreateString(tensor.name)
        shape = self._numbers(tensor.shape, "<i4")
        quantization = self._quantization(tensor) if tensor.scales else None
        signature = None if tensor.signature is None else self._numbers(tensor.signature, "<i4")
        tflite.TensorStart(builder)
        tflite.TensorAddShape(builder, shape)
        tflite.TensorAddType(builder, getattr(tflite.TensorType, tensor.type.upper()))
        tflite.TensorAddBuffer(builder, tensor.buffer)
        tflite.TensorAddName(builder, name)
        if quantization is not None:
            tflite.TensorAddQuantization(builder, quantization)
        tflite.TensorAddIsVariable(builder, tensor.is_variable)
        if signature is not None:
            tflite.TensorAddShapeSignature(builder, signature)
        return _end(tflite.TensorEnd(builder))

    def _operator_table(self, operator: _Operator) -> int:
        builder, kind = self._builder, operator.options_type
        options = None if kind is None else self._options_table(kind, operator.options)
        inputs = self._numbers(operator.inputs, "<i4")
        outputs = self._numbers(operator.outputs, "<i4")
        custom = builder.CreateByteVector(operator.custom_options) if operator.custom_options else None
        composite = None if operator.decomposition is None else self._composite(operator.decomposition)
        tflite.OperatorStart(builder)
        tflite.OperatorAddOpcodeIndex(builder, operator.code)
        tflite.OperatorAddInputs(builder, inputs)
        tflite.OperatorAddOutputs(builder, outputs)
        if kind is not None:
            tflite.OperatorAddBuiltinOptionsType(builder, getattr(tflite.BuiltinOptions, kind))
            tflite.OperatorAddBuiltinOptions(builder, options)
        if custom is not None:
            tflite.OperatorAddCustomOptions(builder, custom)
        if composite is not None:
            tflite.OperatorAddBuiltinOptions2Type(builder, tflite.BuiltinOptions2.StableHLOCompositeOptions)
            tflite.OperatorAddBuiltinOptions2(builder, composite)
        return _end(tflite.OperatorEnd(builder))

    def _composite(self, decomposition: int) -> int:
        name = self._builder.CreateString("test.composite")
        attributes = self._builder.CreateByteVector(_NO_ATTRIBUTES)
        tflite.StableHLOCompositeOptionsStart(self._builder)
        tflite.StableHLOCompositeOptionsAddName(self._builder, name)
        tflite.StableHLOCompositeOptionsAddDecompositionSubgraphIndex(self._builder, decomposition)
        tflite.StableHLOCompositeOptionsAddCompositeAttributes(self._builder, attributes)
        return _end(tflite.StableHLOCompositeOptionsEnd(self._builder))

    def _option(self, value: OptionValue) -> int | float:
        if isinstance(value, str):
            return int(self._builder.CreateString(value))
        return value if isinstance(value, bool | int | float) else self._numbers(value, "<i4")

    def _options_table(self, kind: str, options: dict[str, OptionValue]) -> int:
        builder = self._builder
        stored = {name: self._option(value) for name, value in options.items()}
        getattr(tflite, f"{kind}Start")(builder)
        for name, value in stored.items():
            camel = "".join(word.capitalize() for word in name.split("_"))
            getattr(tflite, f"{kind}Add{camel}")(builder, value)
        return _end(getattr(tflite, f"{kind}End")(builder))


def _end(offset: int) -> int:
    return offset


def _stored(data: npt.ArrayLike | bytes, type: str) -> bytes:
    """`data` as stored bytes; numbers must be exact in `type`."""
    if isinstance(data, bytes):
        return data
    values = np.asarray(data)
    stored = values.astype(np.dtype(type).newbyteorder("<"))
    if type != "float32" and not np.array_equal(stored, values):
        raise ValueError(f"{values} does not fit into {type}")
    return stored.tobytes()
