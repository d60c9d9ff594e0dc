/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The body of tg_native_plane_3x3 for RISC-V: columns of the plane are read once, for the outputs that see them.
 */
#ifndef TG_NATIVE_PLANES_RV32_H
#define TG_NATIVE_PLANES_RV32_H

#include "tg_native_rv32.h"

/* assembly in columns */
/* clang-format off */

/*
 * s0 - s8   weights, row by row     s9   bias     s10, s11, t6   multiplier, offset, shift     t4, t5   limits
 * a0 - a2   three lines of the plane              a3, a4, a5   output, position_step, end of a line of outputs
 * a6, a7, t0   sums of outputs that have begun    t1, t3, ra   values of a column              t2   a product
 *
 * Frame: [sp] a line of the plane, [sp, 4] bytes to the next one, [sp, 8] row_bytes, [sp, 12] bytes of a line of
 *        outputs, [sp, 16] line_skip, [sp, 20] lines that are left
 */
#define TG_PLANE_RV32_LOAD(at)                                                                                         \
    "lh     t1, " at "(a0)           \n"                                                                               \
    "lh     t3, " at "(a1)           \n"                                                                               \
    "lh     ra, " at "(a2)           \n"

/* A column of the filter for one output: its first, or a further one. */
#define TG_PLANE_RV32_BEGIN(sum, w0, w1, w2)                                                                           \
    "mul    t2, t1, " w0 "           \n"                                                                               \
    "add    " sum ", s9, t2          \n" TG_RV32_MAC(sum, "t3", w1, "t2") TG_RV32_MAC(sum, "ra", w2, "t2")
#define TG_PLANE_RV32_ADD(sum, w0, w1, w2)                                                                             \
    TG_RV32_MAC(sum, "t1", w0, "t2") TG_RV32_MAC(sum, "t3", w1, "t2") TG_RV32_MAC(sum, "ra", w2, "t2")

#define TG_PLANE_RV32_FIRST(sum) TG_PLANE_RV32_BEGIN(sum, "s0", "s3", "s6")
#define TG_PLANE_RV32_MIDDLE(sum) TG_PLANE_RV32_ADD(sum, "s1", "s4", "s7")
#define TG_PLANE_RV32_LAST(sum) TG_PLANE_RV32_ADD(sum, "s2", "s5", "s8")

#define TG_PLANE_RV32_STORE(SCALED, sum, n)                                                                            \
    SCALED(sum, "t2", "s10", "s11", "t6") TG_RV32_SATURATED(sum, n, "t4", "t5")                                        \
    "sb     " sum ", 0(a3)           \n"                                                                               \
    "add    a3, a3, a4               \n"                                                                               \
    "beq    a3, a5, 3f               \n"

#define TG_PLANE_RV32_OUTPUT_1(SCALED, at, sum, next, after, n)                                                        \
    TG_PLANE_RV32_LOAD(at) TG_PLANE_RV32_LAST(sum) TG_PLANE_RV32_MIDDLE(next) TG_PLANE_RV32_FIRST(after)               \
    TG_PLANE_RV32_STORE(SCALED, sum, n)

#define TG_PLANE_RV32_OUTPUT_2(SCALED, middle, last, sum, next, n)                                                     \
    TG_PLANE_RV32_LOAD(middle) TG_PLANE_RV32_MIDDLE(sum)                                                               \
    TG_PLANE_RV32_LOAD(last) TG_PLANE_RV32_LAST(sum) TG_PLANE_RV32_FIRST(next)                                         \
    TG_PLANE_RV32_STORE(SCALED, sum, n)

#define TG_PLANE_RV32_STEP(bytes)                                                                                      \
    "addi   a0, a0, " bytes "        \n"                                                                               \
    "addi   a1, a1, " bytes "        \n"                                                                               \
    "addi   a2, a2, " bytes "        \n"                                                                               \
    "j      2b                       \n"

/* What a line begins with, and its outputs. */
#define TG_PLANE_RV32_LINE_1(SCALED)                                                                                   \
    TG_PLANE_RV32_LOAD("0") TG_PLANE_RV32_FIRST("a6")                                                                  \
    TG_PLANE_RV32_LOAD("2") TG_PLANE_RV32_MIDDLE("a6") TG_PLANE_RV32_FIRST("a7")                                       \
    "2:                              \n"                                                                               \
    TG_PLANE_RV32_OUTPUT_1(SCALED, "4", "a6", "a7", "t0", "00")                                                        \
    TG_PLANE_RV32_OUTPUT_1(SCALED, "6", "a7", "t0", "a6", "01")                                                        \
    TG_PLANE_RV32_OUTPUT_1(SCALED, "8", "t0", "a6", "a7", "02")                                                        \
    TG_PLANE_RV32_STEP("6")

#define TG_PLANE_RV32_LINE_2(SCALED)                                                                                   \
    TG_PLANE_RV32_LOAD("0") TG_PLANE_RV32_FIRST("a6")                                                                  \
    "2:                              \n"                                                                               \
    TG_PLANE_RV32_OUTPUT_2(SCALED, "2", "4", "a6", "a7", "00")                                                         \
    TG_PLANE_RV32_OUTPUT_2(SCALED, "6", "8", "a7", "a6", "01")                                                         \
    TG_PLANE_RV32_STEP("8")

#define TG_PLANE_RV32_LIMITS_1                                                                                         \
    TG_RV32_LIMITS("a6", "00", "t4", "t5") TG_RV32_LIMITS("a7", "01", "t4", "t5") TG_RV32_LIMITS("t0", "02", "t4", "t5")
#define TG_PLANE_RV32_LIMITS_2 TG_RV32_LIMITS("a6", "00", "t4", "t5") TG_RV32_LIMITS("a7", "01", "t4", "t5")

/* Offsets in struct tg_native_plane: position_step 0, block_bytes 4, rest 8, row_bytes 12, row_skip 16, lines 20,
 * line_skip 24. LOG: of the bytes of a stride. */
#define TG_PLANE_RV32(name, STRIDE, LOG, SCALED)                                                                       \
    TG_NAKED void name(const int32_t *channel __attribute__((unused)), const int16_t *plane __attribute__((unused)),   \
        int8_t *output __attribute__((unused)), const struct tg_native_plane *geometry __attribute__((unused)))        \
    {                                                                                                                  \
        __asm__ volatile(TG_RV32_ENTER                                                                                 \
            "lw     s9, 0(a0)                \n"                                                                       \
            "lh     s0, 4(a0)                \n"                                                                       \
            "lh     s1, 6(a0)                \n"                                                                       \
            "lh     s2, 10(a0)               \n"                                                                       \
            "lh     s3, 12(a0)               \n"                                                                       \
            "lh     s4, 14(a0)               \n"                                                                       \
            "lh     s5, 18(a0)               \n"                                                                       \
            "lh     s6, 20(a0)               \n"                                                                       \
            "lh     s7, 22(a0)               \n"                                                                       \
            "lh     s8, 26(a0)               \n"                                                                       \
            "lw     s10, 28(a0)              \n"                                                                       \
            "lw     s11, 32(a0)              \n"                                                                       \
            "lw     t6, 36(a0)               \n"                                                                       \
            "li     t4, 127                  \n"                                                                       \
            "li     t5, -128                 \n"                                                                       \
            "lw     a4, 0(a3)                \n"                                                                       \
            "lw     t0, 4(a3)                \n"                                                                       \
            "lw     t1, 8(a3)                \n"                                                                       \
            "slli   t1, t1, " LOG "          \n"                                                                       \
            "add    t0, t0, t1               \n" /* bytes of a line that are stepped over */                           \
            "srli   t1, t0, " LOG "          \n" /* outputs */                                                         \
            "mul    t1, t1, a4               \n"                                                                       \
            "sw     t1, 12(sp)               \n"                                                                       \
            "lw     t1, 16(a3)               \n"                                                                       \
            "add    t0, t0, t1               \n"                                                                       \
            "sw     t0, 4(sp)                \n"                                                                       \
            "lw     t0, 12(a3)               \n"                                                                       \
            "sw     t0, 8(sp)                \n"                                                                       \
            "lw     t0, 24(a3)               \n"                                                                       \
            "sw     t0, 16(sp)               \n"                                                                       \
            "lw     t0, 20(a3)               \n"                                                                       \
            "mv     a0, a1                   \n"                                                                       \
            "mv     a3, a2                   \n"                                                                       \
            "1:                              \n" /* a line of output */                                                \
            "sw     t0, 20(sp)               \n"                                                                       \
            "sw     a0, 0(sp)                \n"                                                                       \
            "lw     t0, 8(sp)                \n"                                                                       \
            "lw     a5, 12(sp)               \n"                                                                       \
            "add    a1, a0, t0               \n"                                                                       \
            "add    a2, a1, t0               \n"                                                                       \
            "add    a5, a5, a3               \n"                                                                       \
            TG_PLANE_RV32_LINE_##STRIDE(SCALED)                                                                        \
            "3:                              \n"                                                                       \
            "lw     a0, 0(sp)                \n"                                                                       \
            "lw     t0, 4(sp)                \n"                                                                       \
            "lw     t1, 16(sp)               \n"                                                                       \
            "add    a0, a0, t0               \n"                                                                       \
            "add    a3, a3, t1               \n"                                                                       \
            "lw     t0, 20(sp)               \n"                                                                       \
            "addi   t0, t0, -1               \n"                                                                       \
            "bnez   t0, 1b                   \n"                                                                       \
            TG_RV32_LEAVE                                                                                              \
            TG_PLANE_RV32_LIMITS_##STRIDE);                                                                            \
    }

#define TG_PLANE_RV32_LOG_1 "1"
#define TG_PLANE_RV32_LOG_2 "2"
#define TG_PLANE_RV32_SCALED_0 TG_RV32_SCALED
#define TG_PLANE_RV32_SCALED_1 TG_RV32_SCALED_RELU

#define TG_PLANE_FUNCTION(name, STRIDE, OUTPUT, IS_RELU)                                                               \
    TG_PLANE_RV32(name, STRIDE, TG_PLANE_RV32_LOG_##STRIDE, TG_PLANE_RV32_SCALED_##IS_RELU)

/* clang-format on */

#endif
