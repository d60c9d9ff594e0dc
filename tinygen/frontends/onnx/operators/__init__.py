"""Readers: one short function per ONNX operator."""
