"""Quantization: statistics of a float network, a table of scales, and the int8 network that follows the table."""
