"""Instruction sets that decide which kernels run and how much scratch they need."""

from enum import StrEnum


class Isa(StrEnum):
    """The instruction set that a core's kernels use."""

    SCALAR = "scalar"
    DSP = "dsp"
    MVE = "mve"
    HOST = "host"
    RV32IMC = "rv32imc"
    RV32IMAC = "rv32imac"
    RV32IMAFC = "rv32imafc"
    ZVE32X = "zve32x"  # vectors of integers, beside RV32IMAC

    @property
    def is_riscv(self) -> bool:
        """Whether it is one of RISC-V's."""
        return self in RISCV_SETS

    @property
    def macro_condition(self) -> str | None:
        """C preprocessor condition that holds where code is compiled for this set; None: nothing to check."""
        return _MACRO_CONDITIONS[self]

    @property
    def runs_dsp_kernels(self) -> bool:
        """Whether tinygen's own kernels are those of the DSP extension: on the host, C is the assembly's model."""
        return self in (Isa.DSP, Isa.HOST)


# ACLE feature macros: CMSIS-NN chooses its code path by them, and the arena was planned for one path.
_MVE = "(defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1))"
_DSP = "defined(__ARM_FEATURE_DSP)"
# Kernels need multiplications alone; which float registers hold arguments the linker compares.
_RV32 = "defined(__riscv_mul) && (__riscv_xlen == 32)"
_SCALAR_RISCV = (Isa.RV32IMC, Isa.RV32IMAC, Isa.RV32IMAFC)
RISCV_SETS = (*_SCALAR_RISCV, Isa.ZVE32X)
_MACRO_CONDITIONS = {
    Isa.SCALAR: f"!{_MVE} && !{_DSP}",
    Isa.DSP: f"!{_MVE} && {_DSP}",
    Isa.MVE: _MVE,
    Isa.HOST: None,
    **dict.fromkeys(_SCALAR_RISCV, _RV32),
    Isa.ZVE32X: f"{_RV32} && defined(__riscv_zve32x)",
}

# Cores of Armv6-M and the base of Armv8-M: no long products, no loads of unaligned words, hardly any instructions of 32
# bits.
WITHOUT_THUMB2 = ("cortex-m0", "cortex-m0plus", "cortex-m23")

# As compilers call them.
ARCHITECTURES = {
    "host": "host",
    "cortex-m0": "armv6-m",
    "cortex-m0plus": "armv6-m",
    "cortex-m3": "armv7-m",
    "cortex-m4": "armv7e-m",
    "cortex-m7": "armv7e-m",
    "cortex-m23": "armv8-m.base",
    "cortex-m33": "armv8-m.main",
    "cortex-m52": "armv8.1-m.main",
    "cortex-m55": "armv8.1-m.main",
    "cortex-m85": "armv8.1-m.main",
    "rv32imc": "rv32imc",
    "rv32imac": "rv32imac",
    "rv32imafc": "rv32imafc",
    "rv32imac_zve32x": "rv32imac_zve32x",
    "hazard3": "rv32imac_zba_zbb",
    "qingke-v4f": "rv32imafc",
}

# What the cores can be built with: the options of Cortex-M33 (DSP), M52, M55 and M85 (MVE) may be left out. A core of
# RISC-V without a name of its own is called by its instruction set.
ISAS_OF_CPU = {
    "host": (Isa.HOST,),
    "cortex-m0": (Isa.SCALAR,),
    "cortex-m0plus": (Isa.SCALAR,),
    "cortex-m3": (Isa.SCALAR,),
    "cortex-m4": (Isa.DSP,),
    "cortex-m7": (Isa.DSP,),
    "cortex-m23": (Isa.SCALAR,),
    "cortex-m33": (Isa.DSP, Isa.SCALAR),
    "cortex-m52": (Isa.MVE, Isa.DSP),
    "cortex-m55": (Isa.MVE, Isa.DSP),
    "cortex-m85": (Isa.MVE, Isa.DSP),
    "rv32imc": (Isa.RV32IMC,),
    "rv32imac": (Isa.RV32IMAC,),
    "rv32imafc": (Isa.RV32IMAFC,),
    "rv32imac_zve32x": (Isa.ZVE32X, Isa.RV32IMAC),
    "hazard3": (Isa.RV32IMAC,),
    "qingke-v4f": (Isa.RV32IMAFC,),
}
