"""Kinds of instructions of Thumb and RISC-V, as timing tables tell them apart, and the registers they use."""

import re
from enum import StrEnum

from tinygen.build.disassembly import Instruction


class Kind(StrEnum):
    """What an instruction occupies."""

    ARITHMETIC = "arithmetic"
    MULTIPLY = "multiply"  # with or without accumulation, SMLAD and its like included
    LONG_MULTIPLY = "long multiply"  # 64-bit results
    DIVIDE = "divide"
    LOAD = "load"
    LOAD_MULTIPLE = "load multiple"
    STORE = "store"
    STORE_MULTIPLE = "store multiple"
    BRANCH = "branch"
    CALL = "call"  # and returns and other jumps to an address in a register
    LOOP = "loop"  # low-overhead loops of Armv8.1-M
    PREDICATE = "predicate"  # IT and VPT
    FLOAT = "float"
    FLOAT_LOAD = "float load"
    FLOAT_STORE = "float store"
    FLOAT_MULTIPLY_ADD = "float multiply-add"
    FLOAT_DIVIDE = "float divide"
    VECTOR_LOAD = "vector load"
    VECTOR_STORE = "vector store"
    VECTOR_MULTIPLY = "vector multiply"
    VECTOR_ARITHMETIC = "vector arithmetic"

    @property
    def is_vector(self) -> bool:
        """Whether it takes the beats of a vector, or of several."""
        return self.value.startswith("vector")

    @property
    def is_float(self) -> bool:
        """Whether the floating-point unit runs it, one number at a time."""
        return self.value.startswith("float")

    @property
    def is_load(self) -> bool:
        """Whether it loads one register."""
        return self in (Kind.LOAD, Kind.FLOAT_LOAD)


_CONDITION = "(?:eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le|al)"
# The first pattern that matches the whole mnemonic, without the types of vector elements, decides.
_PATTERNS = (
    (Kind.PREDICATE, r"i[te]{1,4}|vp(st|t)[te]*"),
    (Kind.LOOP, r"(dls|wls)(tp)?|le(tp)?|lctp"),
    (Kind.BRANCH, f"b{_CONDITION}?|cbn?z"),
    (Kind.CALL, rf"blx?{_CONDITION}?|bx(ns)?{_CONDITION}?|tb[bh]"),
    (Kind.DIVIDE, rf"[us]div{_CONDITION}?"),
    (Kind.LONG_MULTIPLY, rf"([us]mull|[us]mlal|umaal|smlald|smlsld|smlal[bt][bt])(x|s)?{_CONDITION}?"),
    (Kind.MULTIPLY, rf"(mul|mla|mls|sm[lm]?[au]?[lwsd]\w*|smmul|smmla|smmls|smu\w+|sml\w+|smm\w+)s?{_CONDITION}?"),
    (Kind.LOAD_MULTIPLE, rf"(ldm\w*|pop|vldm\w*|vpop|ldrd|vlldm){_CONDITION}?"),
    (Kind.STORE_MULTIPLE, rf"(stm\w*|push|vstm\w*|vpush|strd|vlstm){_CONDITION}?"),
    (Kind.LOAD, r"ldr\w*|ldrex\w*"),
    (Kind.STORE, r"str\w*"),
)
_COMPILED = tuple((kind, re.compile(pattern)) for kind, pattern in _PATTERNS)
_RISCV_PATTERNS = (
    (Kind.BRANCH, r"b(eq|ne|lt|ge)[uz]?|j"),
    (Kind.CALL, r"jalr?|jr|[mu]ret"),
    (Kind.DIVIDE, r"(div|rem)u?"),
    (Kind.LONG_MULTIPLY, r"mulh(s?u)?"),
    (Kind.MULTIPLY, r"mul"),
    (Kind.LOAD, r"l[bhw]u?(sp)?|lr\..*"),
    (Kind.STORE, r"s[bhw](sp)?|sc\..*"),
    (Kind.FLOAT_LOAD, r"fl[wd](sp)?"),
    (Kind.FLOAT_STORE, r"fs[wd](sp)?"),
    (Kind.FLOAT_MULTIPLY_ADD, r"fn?m(add|sub)\..*"),
    (Kind.FLOAT_DIVIDE, r"f(div|sqrt)\..*"),
    (Kind.FLOAT, r"f[^e].*"),
    (Kind.ARITHMETIC, r"vset.*"),
    (Kind.VECTOR_LOAD, r"vl\w*\.v"),
    (Kind.VECTOR_STORE, r"vs\w*\.v"),
    (Kind.VECTOR_MULTIPLY, r"v[sw]?(mul|macc|madd|nmsac|nmsub)\w*\..*"),
    (Kind.VECTOR_ARITHMETIC, r"v.*"),
)
_RISCV_COMPILED = tuple((kind, re.compile(pattern)) for kind, pattern in _RISCV_PATTERNS)
_FLOAT_DIVIDE = re.compile(r"vdiv|vsqrt")
_FLOAT_MULTIPLY_ADD = re.compile(r"vn?ml[as]|vfn?m[as]")
_VECTOR_MULTIPLY = re.compile(
    r"v(q?r?d?)?(ml|mul|fma|fms|cmla|cmul|dmul|dmlah|dmlsdh)\w*|vr?mlal?dav\w*|vabav|vq?r?dmul\w*"
)
_REGISTER = re.compile(r"\b(r1[0-5]|r[0-9]|sl|fp|ip|sp|lr|pc|[sdq][0-9]{1,2})\b")
_RISCV_REGISTER = re.compile(r"\b[xf](?:[12]?[0-9]|3[01])\b")
_RISCV_ZERO = "x0"
_RANGE = re.compile(r"\b([rsdq])(\d+)-[rsdq](\d+)\b")
_ALIASES = {"sl": "r10", "fp": "r11", "ip": "r12"}
_WITHOUT_RESULT = re.compile(r"cmp|cmn|tst|teq|str|stm|push|vstr|vstm|vpush|vst|b$|b[a-z]{2}$|cb|vcmp|it|nop|vp[st]")


def kind_of(instruction: Instruction) -> Kind:
    """The kind of `instruction`. A load into the program counter is a load; see `loads_pc`."""
    if instruction.is_riscv:
        found = (kind for kind, pattern in _RISCV_COMPILED if pattern.fullmatch(instruction.mnemonic))
        return next(found, Kind.ARITHMETIC)
    stem = instruction.mnemonic.split(".", 1)[0]
    for kind, pattern in _COMPILED:
        if pattern.fullmatch(stem):
            return kind
    return _coprocessor_kind(stem, instruction.operands) if stem.startswith("v") else Kind.ARITHMETIC


def _coprocessor_kind(stem: str, operands: str) -> Kind:
    if not re.search(r"\bq[0-7]\b", operands):
        if stem.startswith("vldr"):
            return Kind.FLOAT_LOAD
        if stem.startswith("vstr"):
            return Kind.FLOAT_STORE
        if _FLOAT_MULTIPLY_ADD.match(stem):
            return Kind.FLOAT_MULTIPLY_ADD
        return Kind.FLOAT_DIVIDE if _FLOAT_DIVIDE.match(stem) else Kind.FLOAT
    if stem.startswith(("vldr", "vld2", "vld4")):
        return Kind.VECTOR_LOAD
    if stem.startswith(("vstr", "vst2", "vst4")):
        return Kind.VECTOR_STORE
    return Kind.VECTOR_MULTIPLY if _VECTOR_MULTIPLY.fullmatch(stem) else Kind.VECTOR_ARITHMETIC


def registers(operands: str) -> tuple[str, ...]:
    """Registers named in `operands`, ranges spelled out, in their order."""
    spelled = _RANGE.sub(lambda match: _spelled(*match.groups()), operands)
    return tuple(_ALIASES.get(name, name) for name in _REGISTER.findall(spelled))


def _spelled(letter: str, first: str, last: str) -> str:
    return ", ".join(f"{letter}{number}" for number in range(int(first), int(last) + 1))


def transferred(instruction: Instruction) -> int:
    """How many registers a load or store of several transfers."""
    if "{" in instruction.operands:
        return len(registers(instruction.operands[instruction.operands.index("{") :]))
    return 2  # LDRD, STRD


def loads_pc(instruction: Instruction) -> bool:
    """Whether a load is a jump too, as a function's return."""
    if instruction.is_riscv:
        return False
    targets, _, address = instruction.operands.partition("[")
    return ("pc" in registers(targets) and not address.startswith("pc")) or "pc}" in instruction.operands


def written(instruction: Instruction) -> frozenset[str]:
    """Registers that hold a result; written-back addresses are left out."""
    if instruction.is_riscv:
        return frozenset(_riscv_registers(instruction)[:1]) - {_RISCV_ZERO} if _has_result(instruction) else frozenset()
    names = registers(instruction.operands)
    if not names or _WITHOUT_RESULT.match(instruction.mnemonic):
        return frozenset()
    kind = kind_of(instruction)
    if kind is Kind.LOAD_MULTIPLE:
        return frozenset(names[:2] if instruction.mnemonic.startswith("ldrd") else names)
    return frozenset(names[: 2 if kind is Kind.LONG_MULTIPLY else 1])


def read(instruction: Instruction) -> frozenset[str]:
    """Registers that are needed: all named but a first that is only written."""
    if instruction.is_riscv:
        named = _riscv_registers(instruction)
        return frozenset(named[1:] if _has_result(instruction) and not _updates(instruction) else named)
    names = registers(instruction.operands)
    if kind_of(instruction) is Kind.FLOAT_MULTIPLY_ADD:
        return frozenset(names)  # the first is added to
    only_written = written(instruction) and instruction.operands.count(",") >= 2
    moves = re.match(r"mov|mvn|ldr|[us]xt|clz|rev|vldr|vmov|vdup|adr", instruction.mnemonic)
    return frozenset(names[1:] if only_written or moves else names)


def jumps_back(instruction: Instruction) -> bool:
    """Whether the target of a branch of RISC-V, its last operand, lies before it."""
    target = re.search(r"([0-9a-f]+)(?: <[^>]*>)?$", instruction.operands) if instruction.is_riscv else None
    return target is not None and int(target[1], 16) <= instruction.address


def _riscv_registers(instruction: Instruction) -> list[str]:
    return _RISCV_REGISTER.findall(instruction.operands)


def _has_result(instruction: Instruction) -> bool:
    """Whether the first register is written, other than of vectors."""
    kind = kind_of(instruction)
    if kind.is_vector:
        return ".x." in instruction.mnemonic  # vmv.x.s
    return kind not in (Kind.BRANCH, Kind.STORE, Kind.FLOAT_STORE) and instruction.mnemonic != "jr"


def _updates(instruction: Instruction) -> bool:
    """Whether the first register is read, too: compressed arithmetic names it once."""
    return instruction.size == 2 and instruction.operands.count(",") == 1 and kind_of(instruction) is Kind.ARITHMETIC
