"""Quantization at run time of float networks: what of them becomes layers of int8, and by which rules."""
