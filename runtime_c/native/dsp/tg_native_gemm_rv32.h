/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The body of tg_native_gemm for RISC-V: two pairs of channels at once, the last one of an odd number alone.
 */
#ifndef TG_NATIVE_GEMM_RV32_H
#define TG_NATIVE_GEMM_RV32_H

#include "tg_native_rv32.h"

/* assembly in columns */
/* clang-format off */

/*
 * a0, a1    streams of both pairs          a2, a3    columns and their end
 * s0 - s3   sums of channel 0, pixels 0 to 3         s4 - s7, s8 - s11, t3 - t6   of channels 1 to 3
 * a4 - a7   activations of the pixels      t0, t1    weights        t2        a product
 *
 * Outputs: a2, a4 - a6 where the pixels' go; t0, t1, ra multiplier, offset, shift; t2, a3 limits; a7 free.
 *
 * Frame: [sp] columns, [sp, 4] their end, [sp, 8] output, [sp, 12] pixel_step, [sp, 16] pairs that are left,
 *        [sp, 20] bytes of a pair
 */
#define TG_GEMM_RV32_CHANNEL(s0, s1, s2, s3, weight)                                                                   \
    TG_RV32_MAC(s0, "a4", weight, "t2") TG_RV32_MAC(s1, "a5", weight, "t2")                                            \
    TG_RV32_MAC(s2, "a6", weight, "t2") TG_RV32_MAC(s3, "a7", weight, "t2")

#define TG_GEMM_RV32_VALUES(x0, x1, x2, x3, w0, w1)                                                                    \
    "lb     t0, " w0 "(a0)           \n"                                                                               \
    "lh     a4, " x0 "(a2)           \n"                                                                               \
    "lh     a5, " x1 "(a2)           \n"                                                                               \
    "lh     a6, " x2 "(a2)           \n"                                                                               \
    "lh     a7, " x3 "(a2)           \n"                                                                               \
    "lb     t1, " w1 "(a0)           \n"

/* An element of two channels: 22 instructions for 8 multiplications. */
#define TG_GEMM_RV32_PAIR(x0, x1, x2, x3, w0, w1)                                                                      \
    TG_GEMM_RV32_VALUES(x0, x1, x2, x3, w0, w1)                                                                        \
    TG_GEMM_RV32_CHANNEL("s0", "s1", "s2", "s3", "t0") TG_GEMM_RV32_CHANNEL("s4", "s5", "s6", "s7", "t1")

/* Of four: 40 for 16. */
#define TG_GEMM_RV32_PAIRS(x0, x1, x2, x3, w0, w1)                                                                     \
    TG_GEMM_RV32_VALUES(x0, x1, x2, x3, w0, w1)                                                                        \
    TG_GEMM_RV32_CHANNEL("s0", "s1", "s2", "s3", "t0")                                                                 \
    "lb     t0, " w0 "(a1)           \n"                                                                               \
    TG_GEMM_RV32_CHANNEL("s4", "s5", "s6", "s7", "t1")                                                                 \
    "lb     t1, " w1 "(a1)           \n"                                                                               \
    TG_GEMM_RV32_CHANNEL("s8", "s9", "s10", "s11", "t0") TG_GEMM_RV32_CHANNEL("t3", "t4", "t5", "t6", "t1")

#define TG_GEMM_RV32_4(STEP)                                                                                           \
    STEP("0", "4", "8", "12", "0", "1") STEP("2", "6", "10", "14", "2", "3")                                           \
    STEP("16", "20", "24", "28", "4", "5") STEP("18", "22", "26", "30", "6", "7")

/* Sums begin with the biases. */
#define TG_GEMM_RV32_BIAS(stream, first, s0, s1, s2, s3)                                                               \
    "lw     " s0 ", " first "(" stream ")\n"                                                                           \
    "mv     " s1 ", " s0 "           \n"                                                                               \
    "mv     " s2 ", " s0 "           \n"                                                                               \
    "mv     " s3 ", " s0 "           \n"

#define TG_GEMM_RV32_BEGIN                                                                                             \
    "lw     a2, 0(sp)                \n"                                                                               \
    "lw     a3, 4(sp)                \n"                                                                               \
    TG_GEMM_RV32_BIAS("a0", "0", "s0", "s1", "s2", "s3") TG_GEMM_RV32_BIAS("a0", "4", "s4", "s5", "s6", "s7")          \
    "addi   a0, a0, 8                \n"

#define TG_GEMM_RV32_ADDRESSES(bytes)                                                                                  \
    "lw     a2, 8(sp)                \n"                                                                               \
    "lw     a3, 12(sp)               \n"                                                                               \
    "li     t2, 127                  \n"                                                                               \
    "addi   a7, a2, " bytes "        \n"                                                                               \
    "sw     a7, 8(sp)                \n"                                                                               \
    "add    a4, a2, a3               \n"                                                                               \
    "add    a5, a4, a3               \n"                                                                               \
    "add    a6, a5, a3               \n"                                                                               \
    "li     a3, -128                 \n"

/* Multiplier, offset and shift of a channel; relu has no shift. */
#define TG_GEMM_RV32_SCALE(stream, m, o, s)                                                                            \
    "lw     t0, " m "(" stream ")    \n"                                                                               \
    "lw     t1, " o "(" stream ")    \n"                                                                               \
    "lw     ra, " s "(" stream ")    \n"                                                                               \
    "slli   t0, t0, 1                \n"

#define TG_GEMM_RV32_SCALE_RELU(stream, m, o, s)                                                                       \
    "lw     t0, " m "(" stream ")    \n"                                                                               \
    "lw     t1, " o "(" stream ")    \n"

#define TG_GEMM_RV32_OUTPUT(SCALED, sum, to, lane, n)                                                                  \
    SCALED(sum, "a7", "t0", "t1", "ra") TG_RV32_SATURATED(sum, n, "t2", "a3")                                          \
    "sb     " sum ", " lane "(" to ")\n"

#define TG_GEMM_RV32_OUTPUTS(SCALED, s0, s1, s2, s3, lane)                                                             \
    TG_GEMM_RV32_OUTPUT(SCALED, s0, "a2", lane, lane "0") TG_GEMM_RV32_OUTPUT(SCALED, s1, "a4", lane, lane "1")        \
    TG_GEMM_RV32_OUTPUT(SCALED, s2, "a5", lane, lane "2") TG_GEMM_RV32_OUTPUT(SCALED, s3, "a6", lane, lane "3")

/* A pair that is left over has labels of its own. */
#define TG_GEMM_RV32_LAST(SCALED, s0, s1, s2, s3, lane)                                                                \
    TG_GEMM_RV32_OUTPUT(SCALED, s0, "a2", lane, lane "4") TG_GEMM_RV32_OUTPUT(SCALED, s1, "a4", lane, lane "5")        \
    TG_GEMM_RV32_OUTPUT(SCALED, s2, "a5", lane, lane "6") TG_GEMM_RV32_OUTPUT(SCALED, s3, "a6", lane, lane "7")

#define TG_GEMM_RV32_LIMITS(s0, s1, s2, s3, a, b, c, d)                                                                \
    TG_RV32_LIMITS(s0, a, "t2", "a3") TG_RV32_LIMITS(s1, b, "t2", "a3")                                                \
    TG_RV32_LIMITS(s2, c, "t2", "a3") TG_RV32_LIMITS(s3, d, "t2", "a3")

/* WORDS, TWICE: bytes of the scales of a pair, and 8 more for its biases; M1, O1, S1: where those of channel 1 are. */
#define TG_GEMM_RV32(name, SCALE, SCALED, M1, O1, S1, BYTES, WITH_BIASES)                                              \
    TG_NAKED void name(const int32_t *stream __attribute__((unused)), const uint32_t *columns __attribute__((unused)), \
        int32_t quads __attribute__((unused)), int32_t pairs __attribute__((unused)),                                  \
        int8_t *output __attribute__((unused)), int32_t pixel_step __attribute__((unused)))                            \
    {                                                                                                                  \
        __asm__ volatile(TG_RV32_ENTER                                                                                 \
            "slli   t0, a2, 5                \n"                                                                       \
            "add    t0, a1, t0               \n"                                                                       \
            "slli   a2, a2, 3                \n"                                                                       \
            "addi   a2, a2, " WITH_BIASES "  \n"                                                                       \
            "sw     a1, 0(sp)                \n"                                                                       \
            "sw     t0, 4(sp)                \n"                                                                       \
            "sw     a4, 8(sp)                \n"                                                                       \
            "sw     a5, 12(sp)               \n"                                                                       \
            "sw     a2, 20(sp)               \n"                                                                       \
            "addi   a3, a3, -2               \n"                                                                       \
            "bltz   a3, 3f                   \n"                                                                       \
            "1:                              \n" /* two pairs */                                                       \
            "sw     a3, 16(sp)               \n"                                                                       \
            "lw     a1, 20(sp)               \n"                                                                       \
            "add    a1, a1, a0               \n"                                                                       \
            TG_GEMM_RV32_BEGIN                                                                                         \
            TG_GEMM_RV32_BIAS("a1", "0", "s8", "s9", "s10", "s11") TG_GEMM_RV32_BIAS("a1", "4", "t3", "t4", "t5", "t6")\
            "addi   a1, a1, 8                \n"                                                                       \
            "2:                              \n"                                                                       \
            TG_GEMM_RV32_4(TG_GEMM_RV32_PAIRS)                                                                         \
            "addi   a0, a0, 8                \n"                                                                       \
            "addi   a1, a1, 8                \n"                                                                       \
            "addi   a2, a2, 32               \n"                                                                       \
            "bne    a2, a3, 2b               \n"                                                                       \
            TG_GEMM_RV32_ADDRESSES("4")                                                                                \
            SCALE("a0", "0", "4", "8") TG_GEMM_RV32_OUTPUTS(SCALED, "s0", "s1", "s2", "s3", "0")                       \
            SCALE("a0", M1, O1, S1) TG_GEMM_RV32_OUTPUTS(SCALED, "s4", "s5", "s6", "s7", "1")                          \
            SCALE("a1", "0", "4", "8") TG_GEMM_RV32_OUTPUTS(SCALED, "s8", "s9", "s10", "s11", "2")                     \
            SCALE("a1", M1, O1, S1) TG_GEMM_RV32_OUTPUTS(SCALED, "t3", "t4", "t5", "t6", "3")                          \
            "addi   a0, a1, " BYTES "        \n"                                                                       \
            "lw     a3, 16(sp)               \n"                                                                       \
            "addi   a3, a3, -2               \n"                                                                       \
            "bgez   a3, 1b                   \n"                                                                       \
            "3:                              \n"                                                                       \
            "addi   a3, a3, 1                \n"                                                                       \
            "bnez   a3, 5f                   \n"                                                                       \
            TG_GEMM_RV32_BEGIN                                                                                         \
            "4:                              \n"                                                                       \
            TG_GEMM_RV32_4(TG_GEMM_RV32_PAIR)                                                                          \
            "addi   a0, a0, 8                \n"                                                                       \
            "addi   a2, a2, 32               \n"                                                                       \
            "bne    a2, a3, 4b               \n"                                                                       \
            TG_GEMM_RV32_ADDRESSES("2")                                                                                \
            SCALE("a0", "0", "4", "8") TG_GEMM_RV32_LAST(SCALED, "s0", "s1", "s2", "s3", "0")                          \
            SCALE("a0", M1, O1, S1) TG_GEMM_RV32_LAST(SCALED, "s4", "s5", "s6", "s7", "1")                             \
            "5:                              \n"                                                                       \
            TG_RV32_LEAVE                                                                                              \
            TG_GEMM_RV32_LIMITS("s0", "s1", "s2", "s3", "00", "01", "02", "03")                                        \
            TG_GEMM_RV32_LIMITS("s4", "s5", "s6", "s7", "10", "11", "12", "13")                                        \
            TG_GEMM_RV32_LIMITS("s8", "s9", "s10", "s11", "20", "21", "22", "23")                                      \
            TG_GEMM_RV32_LIMITS("t3", "t4", "t5", "t6", "30", "31", "32", "33")                                        \
            TG_GEMM_RV32_LIMITS("s0", "s1", "s2", "s3", "04", "05", "06", "07")                                        \
            TG_GEMM_RV32_LIMITS("s4", "s5", "s6", "s7", "14", "15", "16", "17"));                                      \
    }

#define TG_GEMM_RV32_FUNCTION_0(name)                                                                                  \
    TG_GEMM_RV32(name, TG_GEMM_RV32_SCALE, TG_RV32_SCALED, "12", "16", "20", "24", "32")
#define TG_GEMM_RV32_FUNCTION_1(name)                                                                                  \
    TG_GEMM_RV32(name, TG_GEMM_RV32_SCALE_RELU, TG_RV32_SCALED_RELU, "8", "12", "0", "16", "24")

/* clang-format on */

#endif
