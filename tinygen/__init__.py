"""tinygen: quantized networks become readable C for microcontrollers."""

__version__ = "0.1.0"
