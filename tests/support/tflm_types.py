"""Element types that the kernels of TFLite Micro's builtin operators take.

`tests/ops/test_types.py` asks the package `tflite-micro` for each of them, but for operators that keep states, run
subgraphs or know what a variable is, of which `TFLM_OTHERS` has TFLite Micro's own words.
"""

from collections.abc import Mapping

_INT8, _INT16, _STORED = "int8 float32", "int8 int16 float32", "int8 int16 int32 float32"
_ALL = "int8 int16 int32 int64 uint8 float32 bool"
_TYPES: tuple[tuple[str, str], ...] = (
    (_INT16, "CONV_2D DEPTHWISE_CONV_2D FULLY_CONNECTED TRANSPOSE_CONV BATCH_MATMUL AVERAGE_POOL_2D MAX_POOL_2D"),
    (_INT16, "ABS LEAKY_RELU LOGISTIC RELU RELU6 RSQRT SOFTMAX TANH MEAN SUM SELECT_V2 TRANSPOSE EXPAND_DIMS"),
    (_INT16, "RESIZE_NEAREST_NEIGHBOR"),
    (_STORED, "ADD SUB MUL SQUARED_DIFFERENCE PAD PADV2 SPLIT SPLIT_V UNPACK DYNAMIC_UPDATE_SLICE"),
    (f"{_STORED} int64", "MAXIMUM MINIMUM PACK"),
    (f"{_STORED} bool", "SLICE STRIDED_SLICE"),
    (f"{_STORED} int64 bool", "CONCATENATION"),
    (_INT8, "ELU HARD_SWISH LOG_SOFTMAX L2_NORMALIZATION PRELU REDUCE_MAX REDUCE_MIN ARG_MAX ARG_MIN MIRROR_PAD"),
    (_INT8, "RESIZE_BILINEAR DEPTH_TO_SPACE SPACE_TO_DEPTH BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND GATHER GATHER_ND"),
    (_INT8, "EMBEDDING_LOOKUP ADD_N CUMSUM"),
    ("int8 int32 float32", "DIV FILL"),
    ("int8 int32 int64 float32", "ZEROS_LIKE GREATER_EQUAL LESS LESS_EQUAL"),
    ("int8 int16 int32 int64 float32", "GREATER"),
    ("int8 int32 int64 float32 bool", "EQUAL NOT_EQUAL"),
    ("float32", "CEIL COS EXP FLOOR FLOOR_DIV FLOOR_MOD L2_POOL_2D LOG NEG ROUND SIN SQRT SQUARE"),
    ("bool", "LOGICAL_AND LOGICAL_NOT LOGICAL_OR REDUCE_ALL"),
    ("int32 int64", "BROADCAST_ARGS"),
    ("int8 int16 uint8", "DEQUANTIZE"),
    (_ALL, "BROADCAST_TO RESHAPE REVERSE_V2 SHAPE SQUEEZE"),
)
TFLM_TYPES: Mapping[str, tuple[str, ...]] = {
    name: tuple(types.split()) for types, names in _TYPES for name in names.split()
}
"""By operator, types of its inputs and results."""

_CAST = ("int8", "int16", "int32", "float32", "bool")
TFLM_RESULTS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "CAST": dict.fromkeys(_CAST, _CAST),
    "QUANTIZE": {
        "int8": ("int8", "int16", "int32", "uint8"),
        "int16": ("int8", "int16", "int32"),
        "int32": ("int8", "int16"),
        "uint8": ("int8",),
        "float32": ("int8", "int16"),
    },
}
"""By operator and type of the input, types of the result."""

TFLM_OTHERS: Mapping[str, str] = {
    **dict.fromkeys(("SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM"), "int8, int16, float32"),
    **dict.fromkeys(("ASSIGN_VARIABLE", "CALL_ONCE", "IF", "READ_VARIABLE", "VAR_HANDLE", "WHILE"), "any"),
}
