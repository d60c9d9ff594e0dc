"""Kernels for int16 activations."""
