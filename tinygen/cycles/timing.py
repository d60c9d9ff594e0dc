"""Cycles of instructions on each core, with memory that never makes it wait; `model` adds the reads of flash.

Cortex-M0, M0+, M3 and M4 have published tables, in their Technical Reference Manuals, and so has Hazard3. M7, M23, M33,
M52, M55, M85 and the other cores of RISC-V have none: theirs are what their pipelines and published measurements
suggest.
docs/cycles.md has the errors that are known.
"""

from dataclasses import dataclass

CHECKED = 0.08  # beside published results of known programs
UNCHECKED = 0.30  # where core, cache or build was not checked beside any


@dataclass(frozen=True)
class Timing:
    """A core. All numbers are cycles; registers of a load or store multiple come on top, one each by default."""

    source: str
    multiply: int = 1
    long_multiply: int = 1
    divide: int = 7  # 2 to 12 with early termination
    load: int = 2
    pipelined_load: int = 1  # directly behind another load
    load_use: int = 0  # stall where the next instruction needs what was loaded
    store: int = 1
    multiple: int = 1  # of a load or store multiple, without its registers
    registers_a_cycle: int = 1
    refill: int = 2  # of the pipeline, on top of the branch's own cycle
    call: int = 3  # BL and BX with their refill
    predicts: bool = False  # whether taken branches cost as little as others
    predicts_backward: bool = False  # whether a branch back is taken for nothing, and a refill where it is not taken
    predicate: int = 1  # IT and VPT, which are folded into what stands before them on most cores
    float_operation: int = 1
    float_multiply_add: int = 1
    float_divide: int = 14
    float_load: int = 1
    float_store: int = 1
    float_latency: int = 0  # stall where the next instruction needs the result of float arithmetic
    issue: int = 1  # instructions a cycle
    vector: int = 2  # a 128-bit instruction of MVE, or one of RISC-V on several registers
    overlapped_vector: int = 1  # behind one of another kind
    band: float = UNCHECKED  # of what is known of its error on silicon, where memory is described: docs/cycles.md


_M0 = "Cortex-M0 TRM (DDI0432), instruction set summary"
_M0PLUS = "Cortex-M0+ TRM (DDI0484), instruction set summary"
_M3 = "Cortex-M3 TRM (DDI0337), table of cycles"
_M4 = "Cortex-M4 TRM (DDI0439), tables of cycles"
_HAZARD3 = "Hazard3 0efb6f5, doc/sections/instruction_timings.adoc"
_NO_TABLE = "no table published; from the pipeline's description"

TIMINGS = {
    "cortex-m0": Timing(_M0, pipelined_load=2, store=2, refill=2, call=4),
    "cortex-m0plus": Timing(_M0PLUS, pipelined_load=2, store=2, refill=1, call=3),
    "cortex-m3": Timing(_M3, multiply=2, long_multiply=5, predicate=0),
    "cortex-m4": Timing(
        _M4, predicate=0, float_multiply_add=3, float_load=2, float_store=2, float_latency=1, band=CHECKED
    ),
    "cortex-m7": Timing(
        _NO_TABLE, load=1, load_use=1, registers_a_cycle=2, call=2, predicts=True, predicate=0, issue=2
    ),
    "cortex-m23": Timing(_NO_TABLE, divide=17, pipelined_load=2, store=2, refill=1),
    "cortex-m33": Timing(_NO_TABLE, load=1, load_use=1, refill=2, predicate=0),
    **dict.fromkeys(
        ("rv32imc", "rv32imac", "rv32imafc", "qingke-v4f"),
        Timing(_NO_TABLE, divide=16, load=1, load_use=1, refill=2, call=3, float_latency=2),
    ),
    "rv32imac_zve32x": Timing(  # kernels take 4 registers at once: a datapath as wide as one is busy for 4 cycles
        _NO_TABLE, divide=16, load=1, load_use=1, refill=2, call=3, vector=4, overlapped_vector=4
    ),
    "hazard3": Timing(_HAZARD3, divide=18, load=1, load_use=1, refill=1, call=2, predicts_backward=True),
    "cortex-m52": Timing(_NO_TABLE, load=1, load_use=1, refill=2, predicate=0, vector=4, overlapped_vector=2),
    "cortex-m55": Timing(_NO_TABLE, load=1, load_use=1, refill=2, predicate=0, registers_a_cycle=2),
    "cortex-m85": Timing(
        _NO_TABLE, load=1, load_use=1, registers_a_cycle=2, call=2, predicts=True, predicate=0, issue=2
    ),
}
