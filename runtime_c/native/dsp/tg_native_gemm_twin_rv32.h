/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two pixels in a word for RISC-V: a pair of channels of 4 pixels at once.
 */
#ifndef TG_NATIVE_GEMM_TWIN_RV32_H
#define TG_NATIVE_GEMM_TWIN_RV32_H

#include "tg_native_rv32.h"

/* assembly in columns */
/* clang-format off */

/*
 * a0, a1    stream, columns                a2, a3    columns and where bits end       a7   bits
 * s0 - s3   products of the elements at hand: of channel 0, pixels 0 and 1, 2 and 3, then of channel 1
 * s4 - s7   sums of these                  s8 - s11  sums of the second pixels        t4   a product
 * t0, t1    activations of two pixels      t2, t3    weights                          t5   0x8000
 * a4, a5    output, pixel_step             a6        pairs that are left              t6, ra   limits
 *
 * Outputs: a2, a3, a7 where those of pixels 1 to 3 go; t0, t1, t2 multiplier, offset, shift.
 *
 * Frame: [sp] end of the columns
 */
#define TG_TWIN_LOAD(x0, x1, w0, w1)                                                                                   \
    "lw     t0, " x0 "(a2)\n"                                                                                          \
    "lw     t1, " x1 "(a2)\n"                                                                                          \
    "lb     t2, " w0 "(a0)\n"                                                                                          \
    "lb     t3, " w1 "(a0)\n"

#define TG_TWIN_FIRST(x0, x1, w0, w1)                                                                                  \
    TG_TWIN_LOAD(x0, x1, w0, w1)                                                                                       \
    "mul    s0, t0, t2                \n"                                                                              \
    "mul    s1, t1, t2                \n"                                                                              \
    "mul    s2, t0, t3                \n"                                                                              \
    "mul    s3, t1, t3                \n"

#define TG_TWIN_ADD(x0, x1, w0, w1)                                                                                    \
    TG_TWIN_LOAD(x0, x1, w0, w1)                                                                                       \
    TG_RV32_MAC("s0", "t0", "t2", "t4") TG_RV32_MAC("s1", "t1", "t2", "t4")                                            \
    TG_RV32_MAC("s2", "t0", "t3", "t4") TG_RV32_MAC("s3", "t1", "t3", "t4")

/* What a word of two pixels adds to both sums: its upper half, as if the lower one were rounded off. */
#define TG_TWIN_PART(product, all, second)                                                                             \
    "add    " all ", " all ", " product "\n"                                                                           \
    "add    " product ", " product ", t5\n"                                                                            \
    "srai   " product ", " product ", 16\n"                                                                            \
    "add    " second ", " second ", " product "\n"

#define TG_TWIN_PARTS                                                                                                  \
    TG_TWIN_PART("s0", "s4", "s8") TG_TWIN_PART("s1", "s5", "s9")                                                      \
    TG_TWIN_PART("s2", "s6", "s10") TG_TWIN_PART("s3", "s7", "s11")

#define TG_TWIN_NEXT                                                                                                   \
    "addi   a0, a0, 8                 \n"                                                                              \
    "addi   a2, a2, 32                \n"                                                                              \
    "slli   a7, a7, 1                 \n"                                                                              \
    "bne    a2, a3, 3b                \n"

/* The sum of the first pixel in place of both. */
#define TG_TWIN_APART(all, second)                                                                                     \
    "slli   t0, " second ", 16\n"                                                                                      \
    "sub    " all ", " all ", t0\n"

#define TG_TWIN_SCALE(m, o, s)                                                                                         \
    "lw     t0, " m "(a0)\n"                                                                                           \
    "lw     t1, " o "(a0)\n"                                                                                           \
    "lw     t2, " s "(a0)\n"                                                                                           \
    "slli   t0, t0, 1\n"

#define TG_TWIN_SCALE_RELU(m, o, s)                                                                                    \
    "lw     t0, " m "(a0)\n"                                                                                           \
    "lw     t1, " o "(a0)\n"

#define TG_TWIN_OUTPUT(SCALED, sum, to, lane, n)                                                                       \
    SCALED(sum, "t4", "t0", "t1", "t2") TG_RV32_SATURATED(sum, n, "t6", "ra")                                          \
    "sb     " sum ", " lane "(" to ")\n"

#define TG_TWIN_OUTPUTS(SCALED, s0, s1, s2, s3, lane)                                                                  \
    TG_TWIN_OUTPUT(SCALED, s0, "a4", lane, lane "0") TG_TWIN_OUTPUT(SCALED, s1, "a2", lane, lane "1")                  \
    TG_TWIN_OUTPUT(SCALED, s2, "a3", lane, lane "2") TG_TWIN_OUTPUT(SCALED, s3, "a7", lane, lane "3")

#define TG_TWIN_LIMITS(s0, s1, s2, s3, lane)                                                                           \
    TG_RV32_LIMITS(s0, lane "0", "t6", "ra") TG_RV32_LIMITS(s1, lane "1", "t6", "ra")                                  \
    TG_RV32_LIMITS(s2, lane "2", "t6", "ra") TG_RV32_LIMITS(s3, lane "3", "t6", "ra")

/* 4 elements: 65 instructions for 32 multiplications, or 77 and the jump back where each two are parted. */
#define TG_TWIN_RV32(name, SCALE, SCALED, M1, O1, S1, BYTES)                                                           \
    TG_NAKED void name(const int32_t *stream __attribute__((unused)), const uint32_t *columns __attribute__((unused)), \
        int32_t quads __attribute__((unused)), int32_t pairs __attribute__((unused)),                                  \
        int8_t *output __attribute__((unused)), int32_t pixel_step __attribute__((unused)))                            \
    {                                                                                                                  \
        __asm__ volatile(TG_RV32_ENTER                                                                                 \
            "slli   a2, a2, 5                 \n"                                                                      \
            "add    a2, a1, a2                \n"                                                                      \
            "sw     a2, 0(sp)                 \n"                                                                      \
            "mv     a6, a3                    \n"                                                                      \
            "lui    t5, 8                     \n"                                                                      \
            "li     t6, 127                   \n"                                                                      \
            "li     ra, -128                  \n"                                                                      \
            "1:                              \n" /* a pair of channels */                                              \
            "lw     s8, 0(a0)                 \n"                                                                      \
            "lw     s10, 4(a0)                \n"                                                                      \
            "addi   a0, a0, 8                 \n"                                                                      \
            "mv     a2, a1                    \n"                                                                      \
            "slli   s4, s8, 16                \n"                                                                      \
            "slli   s6, s10, 16               \n"                                                                      \
            "add    s4, s4, s8                \n"                                                                      \
            "add    s6, s6, s10               \n"                                                                      \
            "mv     s9, s8                    \n"                                                                      \
            "mv     s11, s10                  \n"                                                                      \
            "mv     s5, s4                    \n"                                                                      \
            "mv     s7, s6                    \n"                                                                      \
            "2:                              \n" /* as many elements as a word has bits for */                         \
            "lw     a7, 0(a0)                 \n"                                                                      \
            "lw     t0, 0(sp)                 \n"                                                                      \
            "addi   a0, a0, 4                 \n"                                                                      \
            "addi   a3, a2, 1024              \n"                                                                      \
            "bleu   a3, t0, 3f                \n"                                                                      \
            "mv     a3, t0                    \n"                                                                      \
            "3:                              \n"                                                                       \
            "bltz   a7, 6f                    \n"                                                                      \
            TG_TWIN_FIRST("0", "4", "0", "1") TG_TWIN_ADD("8", "12", "2", "3")                                         \
            TG_TWIN_ADD("16", "20", "4", "5") TG_TWIN_ADD("24", "28", "6", "7") TG_TWIN_PARTS TG_TWIN_NEXT             \
            "4:                              \n"                                                                       \
            "lw     t0, 0(sp)                 \n"                                                                      \
            "bne    a2, t0, 2b                \n"                                                                      \
            TG_TWIN_APART("s4", "s8") TG_TWIN_APART("s5", "s9") TG_TWIN_APART("s6", "s10") TG_TWIN_APART("s7", "s11")  \
            "add    a2, a4, a5                \n"                                                                      \
            "add    a3, a2, a5                \n"                                                                      \
            "add    a7, a3, a5                \n"                                                                      \
            SCALE("0", "4", "8") TG_TWIN_OUTPUTS(SCALED, "s4", "s8", "s5", "s9", "0")                                  \
            SCALE(M1, O1, S1) TG_TWIN_OUTPUTS(SCALED, "s6", "s10", "s7", "s11", "1")                                   \
            "addi   a0, a0, " BYTES "        \n"                                                                       \
            "addi   a4, a4, 2                 \n"                                                                      \
            "addi   a6, a6, -1                \n"                                                                      \
            "bnez   a6, 1b                    \n"                                                                      \
            TG_RV32_LEAVE                                                                                              \
            "6:                              \n" /* each two elements parted */                                        \
            TG_TWIN_FIRST("0", "4", "0", "1") TG_TWIN_ADD("8", "12", "2", "3") TG_TWIN_PARTS                           \
            TG_TWIN_FIRST("16", "20", "4", "5") TG_TWIN_ADD("24", "28", "6", "7") TG_TWIN_PARTS TG_TWIN_NEXT           \
            "j      4b                        \n"                                                                      \
            TG_TWIN_LIMITS("s4", "s8", "s5", "s9", "0") TG_TWIN_LIMITS("s6", "s10", "s7", "s11", "1"));                \
    }

#define TG_TWIN_RV32_0(name) TG_TWIN_RV32(name, TG_TWIN_SCALE, TG_RV32_SCALED, "12", "16", "20", "24")
#define TG_TWIN_RV32_1(name) TG_TWIN_RV32(name, TG_TWIN_SCALE_RELU, TG_RV32_SCALED_RELU, "8", "12", "0", "16")

/* clang-format on */

#endif
