/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The body of tg_native_winograd_multiply_4 for RISC-V.
 */
#ifndef TG_NATIVE_WINOGRAD_RV32_H
#define TG_NATIVE_WINOGRAD_RV32_H

#include "tg_native_rv32.h"

/* assembly in columns */
/* clang-format off */

/*
 * a0        stream                 a1, t4   values and their end at a position     a2   bytes of them
 * a3, a4    positions, products    s0 - s7  sums: of channel 0 for each tile, then of channel 1
 * a5 - t0   values of 4 tiles      t1, t2   weights                                t3   a product
 */
#define TG_WINOGRAD_RV32_ADDED(sum, value, weight) TG_RV32_MAC(sum, value, weight, "t3")
#define TG_WINOGRAD_RV32_PRODUCT(sum, value, weight) "mul    " sum ", " value ", " weight "\n"

/* An element of two channels: 22 instructions for 8 multiplications. */
#define TG_WINOGRAD_RV32_1(MULTIPLY, x0, x1, x2, x3, w0, w1)                                                           \
    "lh     t1, " w0 "(a0)           \n"                                                                               \
    "lh     a5, " x0 "(a1)           \n"                                                                               \
    "lh     a6, " x1 "(a1)           \n"                                                                               \
    "lh     a7, " x2 "(a1)           \n"                                                                               \
    "lh     t0, " x3 "(a1)           \n"                                                                               \
    "lh     t2, " w1 "(a0)           \n"                                                                               \
    MULTIPLY("s0", "a5", "t1") MULTIPLY("s1", "a6", "t1") MULTIPLY("s2", "a7", "t1") MULTIPLY("s3", "t0", "t1")        \
    MULTIPLY("s4", "a5", "t2") MULTIPLY("s5", "a6", "t2") MULTIPLY("s6", "a7", "t2") MULTIPLY("s7", "t0", "t2")

#define TG_WINOGRAD_RV32_4(FIRST)                                                                                      \
    TG_WINOGRAD_RV32_1(FIRST, "0", "4", "8", "12", "0", "4")                                                           \
    TG_WINOGRAD_RV32_1(TG_WINOGRAD_RV32_ADDED, "2", "6", "10", "14", "2", "6")                                         \
    TG_WINOGRAD_RV32_1(TG_WINOGRAD_RV32_ADDED, "16", "20", "24", "28", "8", "12")                                      \
    TG_WINOGRAD_RV32_1(TG_WINOGRAD_RV32_ADDED, "18", "22", "26", "30", "10", "14")                                     \
    "addi   a0, a0, 16               \n"                                                                               \
    "addi   a1, a1, 32               \n"

#define TG_WINOGRAD_RV32_MULTIPLY(name)                                                                                \
    TG_NAKED void name(const int32_t *stream __attribute__((unused)), const uint32_t *values __attribute__((unused)),  \
        int32_t quads __attribute__((unused)), int32_t positions __attribute__((unused)),                              \
        uint32_t *products __attribute__((unused)))                                                                    \
    {                                                                                                                  \
        __asm__ volatile(TG_RV32_ENTER                                                                                 \
            "slli   a2, a2, 5                \n"                                                                       \
            "1:                              \n" /* a position */                                                      \
            "add    t4, a1, a2               \n"                                                                       \
            TG_WINOGRAD_RV32_4(TG_WINOGRAD_RV32_PRODUCT)                                                               \
            "beq    a1, t4, 3f               \n"                                                                       \
            "2:                              \n"                                                                       \
            TG_WINOGRAD_RV32_4(TG_WINOGRAD_RV32_ADDED)                                                                 \
            "bne    a1, t4, 2b               \n"                                                                       \
            "3:                              \n"                                                                       \
            "sw     s0, 0(a4)                \n"                                                                       \
            "sw     s1, 4(a4)                \n"                                                                       \
            "sw     s2, 8(a4)                \n"                                                                       \
            "sw     s3, 12(a4)               \n"                                                                       \
            "sw     s4, 16(a4)               \n"                                                                       \
            "sw     s5, 20(a4)               \n"                                                                       \
            "sw     s6, 24(a4)               \n"                                                                       \
            "sw     s7, 28(a4)               \n"                                                                       \
            "addi   a4, a4, 32               \n"                                                                       \
            "addi   a3, a3, -1               \n"                                                                       \
            "bnez   a3, 1b                   \n"                                                                       \
            TG_RV32_LEAVE);                                                                                            \
    }

/* clang-format on */

#endif
