"""Mnemonics as objdump prints them, and what they occupy."""

from dataclasses import replace

import pytest

from tinygen.build.disassembly import Instruction
from tinygen.cycles.kind import Kind, kind_of, loads_pc, read, transferred, written

KINDS = {
    Kind.ARITHMETIC: ("adds r1, #3", "add.w r1, r1, r4, lsl #1", "movs r0, #0", "nop", "uxtab16 r0, r1, r2",
                      "ssat r0, #8, r1", "bic r0, r1", "bfi r0, r1, #2, #3", "sel r0, r1, r2", "lsls r0, r1, #2",
                      "sxtb16 r1, r2", "pkhbt r0, r1, r2", "cmp r0, #1"),
    Kind.MULTIPLY: ("smlad r0, r1, r2, r0", "smlabt r0, r1, r2, r3", "mla r0, r1, r2, r3", "mul r0, r1", "muls r0, r1",
                    "smmulr r0, r1, r2", "smmla r0, r1, r2, r3", "smuad r0, r1, r2", "smulbb r0, r1, r2",
                    "smladx r0, r1, r2, r3", "mulgt r0, r1, r2", "smlawb r0, r1, r2, r3"),
    Kind.LONG_MULTIPLY: ("smull r0, r1, r2, r3", "umlal r0, r1, r2, r3", "smlal r0, r1, r2, r3",
                         "smlald r0, r1, r2, r3", "smullge r0, r1, r2, r3"),
    Kind.DIVIDE: ("sdiv r0, r1, r2", "udiv r0, r1, r2"),
    Kind.LOAD: ("ldr r0, [r1]", "ldrsb r0, [r1, #1]", "ldrh r0, [r1]", "ldrlt r0, [r1]"),
    Kind.LOAD_MULTIPLE: ("pop {r4, pc}", "ldmia r0, {r1, r2}", "ldrd r0, r1, [r2]", "vpop {s16-s19}"),
    Kind.STORE: ("strb r0, [r1]", "str r0, [r1, #4]!", "strhge r0, [r1]"),
    Kind.STORE_MULTIPLE: ("push {r4, lr}", "stmdb sp!, {r4, r5}", "strd r0, r1, [r2]"),
    Kind.BRANCH: ("b 1234", "bne 1234", "bls 1234", "ble 1234", "blt 1234", "cbz r0, 1234", "cbnz r0, 1234"),
    Kind.CALL: ("bl 1234 <f>", "bx lr", "blx r3", "bxeq lr", "tbb [pc, r0]"),
    Kind.LOOP: ("dls lr, r0", "le lr, 1234", "wlstp.8 lr, r0, 1234", "letp lr, 1234"),
    Kind.PREDICATE: ("it lt", "ittee ge", "vpst", "vpt.i32 eq, q0, q1"),
    Kind.FLOAT: ("vmul.f32 s0, s1, s2", "vmov s0, r0", "vcvt.s32.f32 s0, s0"),
    Kind.FLOAT_LOAD: ("vldr s0, [r1]", "vldr d0, [r1]"),
    Kind.FLOAT_STORE: ("vstr s0, [r1]",),
    Kind.FLOAT_MULTIPLY_ADD: ("vmla.f32 s0, s1, s2", "vfma.f32 s0, s1, s2", "vnmls.f32 s0, s1, s2",
                              "vfms.f32 s0, s1, s2", "vfnma.f32 s0, s1, s2"),
    Kind.FLOAT_DIVIDE: ("vdiv.f32 s0, s1, s2", "vsqrt.f32 s0, s1"),
    Kind.VECTOR_LOAD: ("vldrb.s8 q0, [r0], #16", "vld20.8 {q0, q1}, [r0]", "vldrw.u32 q1, [q0]"),
    Kind.VECTOR_STORE: ("vstrb.8 q0, [r0]", "vstrw.32 q0, [r1]"),
    Kind.VECTOR_MULTIPLY: ("vmladava.s8 r0, q0, q1", "vmlava.s8 r0, q0, q1", "vmla.s32 q0, q1, r0",
                           "vmul.i32 q0, q1, r0", "vqrdmulh.s32 q0, q1, q2", "vmullb.s8 q0, q1, q2"),
    Kind.VECTOR_ARITHMETIC: ("vadd.i32 q0, q1, q2", "vrshl.s32 q0, q1", "vmax.s32 q0, q1, q2", "vdup.32 q0, r0",
                             "vaddva.s8 r0, q0", "vmov q0[2], q0[0], r1, r2"),
}  # fmt: skip


def _parsed(text: str) -> Instruction:
    mnemonic, _, operands = text.partition(" ")
    return Instruction(0, 4, mnemonic.removesuffix(".w"), operands)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_kinds(kind: Kind) -> None:
    assert [(text, kind_of(_parsed(text))) for text in KINDS[kind]] == [(text, kind) for text in KINDS[kind]]


RISCV_KINDS = {
    Kind.ARITHMETIC: ("vsetvli x5,x23,e32,m4,ta,ma", "addi x28,x28,4"),
    Kind.VECTOR_LOAD: ("vle8.v v0,(x7)", "vle32.v v8,(x9)", "vlse16.v v0,(x7),x6"),
    Kind.VECTOR_STORE: ("vse8.v v24,(x13)", "vs1r.v v0,(x7)"),
    Kind.VECTOR_MULTIPLY: ("vwmacc.vx v8,x17,v2", "vsmul.vv v8,v8,v4", "vmul.vv v0,v1,v2", "vwmul.vv v0,v2,v3"),
    Kind.VECTOR_ARITHMETIC: ("vsext.vf2 v2,v0", "vsra.vi v0,v8,31", "vmv.v.v v12,v8", "vnclip.wi v0,v8,0"),
}


@pytest.mark.parametrize("kind", RISCV_KINDS, ids=str)
def test_kinds_of_riscv_vectors(kind: Kind) -> None:
    parsed = {text: replace(_parsed(text), is_riscv=True) for text in RISCV_KINDS[kind]}
    assert {text: kind_of(instruction) for text, instruction in parsed.items()} == dict.fromkeys(parsed, kind)


@pytest.mark.parametrize(
    ("text", "results", "needs"),
    [
        ("vwmacc.vx v8,x17,v2", set(), {"x17"}),
        ("vse8.v v24,(x13)", set(), {"x13"}),
        ("vmv.x.s x5,v0", {"x5"}, set()),
        ("vsetvli x5,x23,e32,m4,ta,ma", {"x5"}, {"x23"}),
    ],
)
def test_registers_beside_riscv_vectors(text: str, results: set[str], needs: set[str]) -> None:
    instruction = replace(_parsed(text), is_riscv=True)
    assert (set(written(instruction)), set(read(instruction))) == (results, needs)


def test_every_kind_is_tested() -> None:
    assert set(KINDS) == set(Kind)


@pytest.mark.parametrize(
    ("text", "results", "needs"),
    [
        ("add.w r1, r2, r4, lsl #1", {"r1"}, {"r2", "r4"}),
        ("adds r1, #3", {"r1"}, {"r1"}),
        ("movs r0, r1", {"r0"}, {"r1"}),
        ("ldr r0, [r1, #4]", {"r0"}, {"r1"}),
        ("ldrd r0, r1, [sl]", {"r0", "r1"}, {"r1", "r10"}),
        ("smull r0, r1, r2, r3", {"r0", "r1"}, {"r1", "r2", "r3"}),
        ("str r0, [r1]", set(), {"r0", "r1"}),
        ("cmp r0, r1", set(), {"r0", "r1"}),
        ("cbz r0, 1234", set(), {"r0"}),
        ("vfma.f32 s0, s1, s2", {"s0"}, {"s0", "s1", "s2"}),
        ("vmul.f32 s0, s1, s2", {"s0"}, {"s1", "s2"}),
    ],
)
def test_registers(text: str, results: set[str], needs: set[str]) -> None:
    assert set(written(_parsed(text))) == results
    assert set(read(_parsed(text))) == needs


def test_transfers_and_returns() -> None:
    assert transferred(_parsed("pop {r4-r7, pc}")) == 5
    assert transferred(_parsed("strd r0, r1, [r2]")) == 2
    assert [
        loads_pc(_parsed(text)) for text in ("pop {r4, pc}", "ldr pc, [sp], #4", "ldr r0, [pc, #4]", "pop {r4}")
    ] == [
        True,
        True,
        False,
        False,
    ]
