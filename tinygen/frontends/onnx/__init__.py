"""ONNX: quantized models (QDQ and QOperator) as graphs of int8 operators, NHWC throughout."""
