"""What is measured of one model."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Measurement:
    """One model, board, kernel library and optimisation level."""

    model: str
    target: str
    kernels: str
    opt: str
    arena_bytes: int
    ram_bytes: int
    stack_bytes: int
    code_bytes: int
    const_bytes: int
    instructions: int
