/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Assembly that kernels for RISC-V share: 28 registers are used, all but sp, gp, tp and zero.
 */
#ifndef TG_NATIVE_RV32_H
#define TG_NATIVE_RV32_H

/* assembly in columns */
/* clang-format off */

/* A frame of `bytes` with the registers that a function keeps in its last 52. */
#define TG_RV32_ENTER                                                                                                  \
    "addi   sp, sp, -96              \n"                                                                               \
    "sw     ra, 92(sp)               \n"                                                                               \
    "sw     s0, 88(sp)               \n"                                                                               \
    "sw     s1, 84(sp)               \n"                                                                               \
    "sw     s2, 80(sp)               \n"                                                                               \
    "sw     s3, 76(sp)               \n"                                                                               \
    "sw     s4, 72(sp)               \n"                                                                               \
    "sw     s5, 68(sp)               \n"                                                                               \
    "sw     s6, 64(sp)               \n"                                                                               \
    "sw     s7, 60(sp)               \n"                                                                               \
    "sw     s8, 56(sp)               \n"                                                                               \
    "sw     s9, 52(sp)               \n"                                                                               \
    "sw     s10, 48(sp)              \n"                                                                               \
    "sw     s11, 44(sp)              \n"

#define TG_RV32_LEAVE                                                                                                  \
    "lw     ra, 92(sp)               \n"                                                                               \
    "lw     s0, 88(sp)               \n"                                                                               \
    "lw     s1, 84(sp)               \n"                                                                               \
    "lw     s2, 80(sp)               \n"                                                                               \
    "lw     s3, 76(sp)               \n"                                                                               \
    "lw     s4, 72(sp)               \n"                                                                               \
    "lw     s5, 68(sp)               \n"                                                                               \
    "lw     s6, 64(sp)               \n"                                                                               \
    "lw     s7, 60(sp)               \n"                                                                               \
    "lw     s8, 56(sp)               \n"                                                                               \
    "lw     s9, 52(sp)               \n"                                                                               \
    "lw     s10, 48(sp)              \n"                                                                               \
    "lw     s11, 44(sp)              \n"                                                                               \
    "addi   sp, sp, 96               \n"                                                                               \
    "ret                             \n"

/* sum += value * weight, by way of `product`. */
#define TG_RV32_MAC(sum, value, weight, product)                                                                       \
    "mul    " product ", " value ", " weight "\n"                                                                      \
    "add    " sum ", " sum ", " product "\n"

/*
 * An output from a sum: `multiplier` is unsigned, for the whole product >> 32, rounded; 1 is subtracted where that is
 * negative, so that halves go away from zero. `relu` outputs are one product, and their shift is 2.
 */
#define TG_RV32_SCALED(sum, low, multiplier, offset, shift)                                                            \
    "mul    " low ", " sum ", " multiplier "\n"                                                                        \
    "mulhsu " sum ", " sum ", " multiplier "\n"                                                                        \
    "srli   " low ", " low ", 31     \n"                                                                               \
    "add    " sum ", " sum ", " low "\n"                                                                               \
    "srai   " low ", " sum ", 31     \n"                                                                               \
    "add    " sum ", " sum ", " low "\n"                                                                               \
    "add    " sum ", " sum ", " offset "\n"                                                                            \
    "sra    " sum ", " sum ", " shift "\n"

#define TG_RV32_SCALED_RELU(sum, low, multiplier, offset, shift)                                                       \
    "mulh   " sum ", " sum ", " multiplier "\n"                                                                        \
    "add    " sum ", " sum ", " offset "\n"                                                                            \
    "srai   " sum ", " sum ", 2      \n"

/*
 * The nearest number in int8, with 127 and -128 in registers. Without Zbb what is beside it is put right behind the
 * function, by TG_RV32_LIMITS: two digits, `n`, make labels of both.
 */
#if defined(__riscv_zbb)
#define TG_RV32_SATURATED(sum, n, largest, smallest)                                                                   \
    "min    " sum ", " sum ", " largest "\n"                                                                           \
    "max    " sum ", " sum ", " smallest "\n"
#define TG_RV32_LIMITS(sum, n, largest, smallest)
#else
#define TG_RV32_SATURATED(sum, n, largest, smallest)                                                                   \
    "bgt    " sum ", " largest ", 1" n "f\n"                                                                           \
    "blt    " sum ", " smallest ", 2" n "f\n"                                                                          \
    "3" n ":                         \n"
#define TG_RV32_LIMITS(sum, n, largest, smallest)                                                                      \
    "1" n ":                         \n"                                                                               \
    "mv     " sum ", " largest "\n"                                                                                    \
    "j      3" n "b                  \n"                                                                               \
    "2" n ":                         \n"                                                                               \
    "mv     " sum ", " smallest "\n"                                                                                   \
    "j      3" n "b                  \n"
#endif

/* clang-format on */

#endif
