/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The body of tg_native_gemv for RISC-V.
 */
#ifndef TG_NATIVE_GEMV_RV32_H
#define TG_NATIVE_GEMV_RV32_H

#include "tg_native_rv32.h"

/* assembly in columns */
/* clang-format off */

/*
 * a0        stream                  a2, a3    vector and its end      s0 - s7   sums of 8 units
 * a4 - a7   4 activations           t0 - t3   weights of a unit, and products
 *
 * Outputs: a2 where they go; a4, a5 limits; t0, t1, ra multiplier, offset, shift.
 *
 * Frame: [sp] vector, [sp, 4] its end, [sp, 8] output, [sp, 12] groups that are left
 */
#define TG_GEMV_RV32_UNIT(sum, w0, w1, w2, w3)                                                                         \
    "lb     t0, " w0 "(a0)           \n"                                                                               \
    "lb     t1, " w1 "(a0)           \n"                                                                               \
    "lb     t2, " w2 "(a0)           \n"                                                                               \
    "lb     t3, " w3 "(a0)           \n"                                                                               \
    TG_RV32_MAC(sum, "a4", "t0", "t0") TG_RV32_MAC(sum, "a5", "t1", "t1")                                              \
    TG_RV32_MAC(sum, "a6", "t2", "t2") TG_RV32_MAC(sum, "a7", "t3", "t3")

/* 103 instructions for 32 multiplications, with the end of the loop. */
#define TG_GEMV_RV32_4                                                                                                 \
    "lh     a4, 0(a2)                \n"                                                                               \
    "lh     a5, 4(a2)                \n"                                                                               \
    "lh     a6, 2(a2)                \n"                                                                               \
    "lh     a7, 6(a2)                \n"                                                                               \
    TG_GEMV_RV32_UNIT("s0", "0", "1", "2", "3") TG_GEMV_RV32_UNIT("s1", "4", "5", "6", "7")                            \
    TG_GEMV_RV32_UNIT("s2", "8", "9", "10", "11") TG_GEMV_RV32_UNIT("s3", "12", "13", "14", "15")                      \
    TG_GEMV_RV32_UNIT("s4", "16", "17", "18", "19") TG_GEMV_RV32_UNIT("s5", "20", "21", "22", "23")                    \
    TG_GEMV_RV32_UNIT("s6", "24", "25", "26", "27") TG_GEMV_RV32_UNIT("s7", "28", "29", "30", "31")

#define TG_GEMV_RV32_OUTPUT(sum, m, o, s, unit)                                                                        \
    "lw     t0, " m "(a0)            \n"                                                                               \
    "lw     t1, " o "(a0)            \n"                                                                               \
    "lw     ra, " s "(a0)            \n"                                                                               \
    "slli   t0, t0, 1                \n"                                                                               \
    TG_RV32_SCALED(sum, "t2", "t0", "t1", "ra") TG_RV32_SATURATED(sum, "0" unit, "a4", "a5")                           \
    "sb     " sum ", " unit "(a2)    \n"

#define TG_GEMV_RV32_LIMIT(sum, unit) TG_RV32_LIMITS(sum, "0" unit, "a4", "a5")

/* What all of these functions are given. */
#define TG_GEMV_RV32_ARGUMENTS                                                                                         \
    const int32_t *stream __attribute__((unused)), const uint32_t *vector __attribute__((unused)),                     \
    int32_t quads __attribute__((unused)), int32_t groups __attribute__((unused)),                                     \
    int8_t *output __attribute__((unused))

/* A group of units: its sums begin with their biases. */
#define TG_GEMV_RV32_FIRST_SUMS                                                                                        \
    "lw     s0, 0(a0)                \n"                                                                               \
    "lw     s1, 4(a0)                \n"                                                                               \
    "lw     s2, 8(a0)                \n"                                                                               \
    "lw     s3, 12(a0)               \n"                                                                               \
    "lw     s4, 16(a0)               \n"                                                                               \
    "lw     s5, 20(a0)               \n"                                                                               \
    "lw     s6, 24(a0)               \n"                                                                               \
    "lw     s7, 28(a0)               \n"                                                                               \
    "addi   a0, a0, 32               \n"

/* Behind the outputs of a group: the next one, or the end. */
#define TG_GEMV_RV32_NEXT_GROUP                                                                                        \
    "addi   a0, a0, 96               \n"                                                                               \
    "addi   a2, a2, 8                \n"                                                                               \
    "sw     a2, 8(sp)                \n"                                                                               \
    "lw     a3, 12(sp)               \n"                                                                               \
    "addi   a3, a3, -1               \n"                                                                               \
    "bnez   a3, 1b                   \n"                                                                               \
    TG_RV32_LEAVE

#define TG_GEMV_RV32_FUNCTION(name)                                                                                    \
    TG_NAKED void name(TG_GEMV_RV32_ARGUMENTS)                                                                         \
    {                                                                                                                  \
        __asm__ volatile(TG_RV32_ENTER                                                                                 \
            "slli   t0, a2, 3                \n"                                                                       \
            "add    t0, a1, t0               \n"                                                                       \
            "sw     a1, 0(sp)                \n"                                                                       \
            "sw     t0, 4(sp)                \n"                                                                       \
            "sw     a4, 8(sp)                \n"                                                                       \
            "1:                              \n" /* a group of units */                                                \
            "sw     a3, 12(sp)               \n"                                                                       \
            "lw     a2, 0(sp)                \n"                                                                       \
            "lw     a3, 4(sp)                \n"                                                                       \
            TG_GEMV_RV32_FIRST_SUMS                                                                                    \
            "2:                              \n"                                                                       \
            TG_GEMV_RV32_4                                                                                             \
            "addi   a0, a0, 32               \n"                                                                       \
            "addi   a2, a2, 8                \n"                                                                       \
            "bne    a2, a3, 2b               \n"                                                                       \
            "lw     a2, 8(sp)                \n"                                                                       \
            "li     a4, 127                  \n"                                                                       \
            "li     a5, -128                 \n"                                                                       \
            TG_GEMV_RV32_OUTPUT("s0", "0", "4", "8", "0") TG_GEMV_RV32_OUTPUT("s1", "12", "16", "20", "1")             \
            TG_GEMV_RV32_OUTPUT("s2", "24", "28", "32", "2") TG_GEMV_RV32_OUTPUT("s3", "36", "40", "44", "3")          \
            TG_GEMV_RV32_OUTPUT("s4", "48", "52", "56", "4") TG_GEMV_RV32_OUTPUT("s5", "60", "64", "68", "5")          \
            TG_GEMV_RV32_OUTPUT("s6", "72", "76", "80", "6") TG_GEMV_RV32_OUTPUT("s7", "84", "88", "92", "7")          \
            TG_GEMV_RV32_NEXT_GROUP                                                                                    \
            TG_GEMV_RV32_LIMIT("s0", "0") TG_GEMV_RV32_LIMIT("s1", "1") TG_GEMV_RV32_LIMIT("s2", "2")                  \
            TG_GEMV_RV32_LIMIT("s3", "3") TG_GEMV_RV32_LIMIT("s4", "4") TG_GEMV_RV32_LIMIT("s5", "5")                  \
            TG_GEMV_RV32_LIMIT("s6", "6") TG_GEMV_RV32_LIMIT("s7", "7"));                                              \
    }

/* clang-format on */

#endif
