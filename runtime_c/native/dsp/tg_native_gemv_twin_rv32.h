/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two units in a word for RISC-V: 8 units of 8 elements at once.
 */
#ifndef TG_NATIVE_GEMV_TWIN_RV32_H
#define TG_NATIVE_GEMV_TWIN_RV32_H

#include "tg_native_gemv_rv32.h"

/* assembly in columns */
/* clang-format off */

/*
 * a0, a2    stream, vector             a3        where bits end             s9   bits         s8   0x00ff00ff
 * a4 - a7   every second activation    t3 - t6   the others, less 256 times these
 * s0 - s3   sums of pairs of units                        s4 - s7   sums of the second ones
 * ra        what products begin with; with s10, s11, a1 those of each two elements
 * t0 - t2   products, a word of weights, a product
 *
 * Outputs: see tg_native_gemv_rv32.h.
 *
 * Frame: [sp] vector, [sp, 4] its end, [sp, 8] output, [sp, 12] groups that are left
 */

/* Two elements of two units. */
#define TG_GEMV_TWIN_WORD(BEGIN, start, x, z, at)                                                                      \
    "lw     t1, " at "(a0)\n"                                                                                          \
    BEGIN(x, start)                                                                                                    \
    "srli   t1, t1, 8                 \n"                                                                              \
    "and    t1, t1, s8                \n"                                                                              \
    TG_RV32_MAC("t0", z, "t1", "t2")

#define TG_GEMV_TWIN_BEGIN(x, start)                                                                                   \
    "mul    t0, " x ", t1\n"                                                                                           \
    "add    t0, t0, " start "\n"

#define TG_GEMV_TWIN_ADD(x, start)                                                                                     \
    TG_RV32_MAC("t0", x, "t1", "t2")

/* What two units add to both sums: the upper half is that of the second one, as the lower one is not negative. */
#define TG_GEMV_TWIN_PART(both, second)                                                                                \
    "add    " both ", " both ", t0\n"                                                                                  \
    "srai   t0, t0, 16                \n"                                                                              \
    "add    " second ", " second ", t0\n"

#define TG_GEMV_TWIN_WHOLE(both, second, w0, w1, w2, w3)                                                               \
    TG_GEMV_TWIN_WORD(TG_GEMV_TWIN_BEGIN, "ra", "a4", "t3", w0) TG_GEMV_TWIN_WORD(TG_GEMV_TWIN_ADD, , "a5", "t4", w1)  \
    TG_GEMV_TWIN_WORD(TG_GEMV_TWIN_ADD, , "a6", "t5", w2) TG_GEMV_TWIN_WORD(TG_GEMV_TWIN_ADD, , "a7", "t6", w3)        \
    TG_GEMV_TWIN_PART(both, second)

#define TG_GEMV_TWIN_TWO(both, second, start, x, z, at)                                                                \
    TG_GEMV_TWIN_WORD(TG_GEMV_TWIN_BEGIN, start, x, z, at) TG_GEMV_TWIN_PART(both, second)

#define TG_GEMV_TWIN_PARTED(both, second, w0, w1, w2, w3)                                                              \
    TG_GEMV_TWIN_TWO(both, second, "ra", "a4", "t3", w0) TG_GEMV_TWIN_TWO(both, second, "s10", "a5", "t4", w1)         \
    TG_GEMV_TWIN_TWO(both, second, "s11", "a6", "t5", w2) TG_GEMV_TWIN_TWO(both, second, "a1", "a7", "t6", w3)

/* 0x8000 - 128 * 65537 times the sum of two elements. */
#define TG_GEMV_TWIN_START(start, x, z)                                                                                \
    "slli   " start ", " x ", 8\n"                                                                                     \
    "add    " start ", " start ", " x "\n"                                                                             \
    "add    " start ", " start ", " z "\n"                                                                             \
    "slli   t1, " start ", 7\n"                                                                                        \
    "slli   t2, " start ", 23\n"                                                                                       \
    "sub    " start ", t0, t1\n"                                                                                       \
    "sub    " start ", " start ", t2\n"

#define TG_GEMV_TWIN_UNITS(EIGHT)                                                                                      \
    EIGHT("s0", "s4", "0", "4", "8", "12") EIGHT("s1", "s5", "16", "20", "24", "28")                                   \
    EIGHT("s2", "s6", "32", "36", "40", "44") EIGHT("s3", "s7", "48", "52", "56", "60")

#define TG_GEMV_TWIN_NEXT                                                                                              \
    "addi   a0, a0, 64                \n"                                                                              \
    "addi   a2, a2, 24                \n"                                                                              \
    "slli   s9, s9, 1                 \n"                                                                              \
    "bne    a2, a3, 3b                \n"

#define TG_GEMV_TWIN_APART(both, second)                                                                               \
    "slli   t0, " second ", 16\n"                                                                                      \
    "sub    " both ", " both ", t0\n"

/* 8 elements: 138 instructions for 64 multiplications. */
#define TG_GEMV_TWIN_FUNCTION(name)                                                                                    \
    TG_NAKED void name(TG_GEMV_RV32_ARGUMENTS)                                                                         \
    {                                                                                                                  \
        __asm__ volatile(TG_RV32_ENTER                                                                                 \
            "li     t0, 12                    \n"                                                                      \
            "mul    t0, a2, t0                \n"                                                                      \
            "add    t0, a1, t0                \n"                                                                      \
            "sw     a1, 0(sp)                 \n"                                                                      \
            "sw     t0, 4(sp)                 \n"                                                                      \
            "sw     a4, 8(sp)                 \n"                                                                      \
            "lui    s8, 0xff0                 \n"                                                                      \
            "addi   s8, s8, 255               \n"                                                                      \
            "1:                              \n" /* a group of units */                                                \
            "sw     a3, 12(sp)                \n"                                                                      \
            "lw     a2, 0(sp)                 \n"                                                                      \
            TG_GEMV_RV32_FIRST_SUMS                                                                                    \
            "2:                              \n" /* as many elements as a word has bits for */                         \
            "lw     s9, 0(a0)                 \n"                                                                      \
            "lw     t0, 4(sp)                 \n"                                                                      \
            "addi   a0, a0, 4                 \n"                                                                      \
            "addi   a3, a2, 768               \n"                                                                      \
            "bleu   a3, t0, 3f                \n"                                                                      \
            "mv     a3, t0                    \n"                                                                      \
            "3:                              \n"                                                                       \
            "lb     a4, 20(a2)                \n"                                                                      \
            "lb     a5, 21(a2)                \n"                                                                      \
            "lb     a6, 22(a2)                \n"                                                                      \
            "lb     a7, 23(a2)                \n"                                                                      \
            "lw     t3, 0(a2)                 \n"                                                                      \
            "lw     t4, 4(a2)                 \n"                                                                      \
            "lw     t5, 8(a2)                 \n"                                                                      \
            "lw     t6, 12(a2)                \n"                                                                      \
            "lw     ra, 16(a2)                \n"                                                                      \
            "bltz   s9, 6f                    \n"                                                                      \
            TG_GEMV_TWIN_UNITS(TG_GEMV_TWIN_WHOLE) TG_GEMV_TWIN_NEXT                                                   \
            "4:                              \n"                                                                       \
            "lw     t0, 4(sp)                 \n"                                                                      \
            "bne    a2, t0, 2b                \n"                                                                      \
            TG_GEMV_TWIN_APART("s0", "s4") TG_GEMV_TWIN_APART("s1", "s5")                                              \
            TG_GEMV_TWIN_APART("s2", "s6") TG_GEMV_TWIN_APART("s3", "s7")                                              \
            "lw     a2, 8(sp)                 \n"                                                                      \
            "li     a4, 127                   \n"                                                                      \
            "li     a5, -128                  \n"                                                                      \
            TG_GEMV_RV32_OUTPUT("s0", "0", "4", "8", "0") TG_GEMV_RV32_OUTPUT("s4", "12", "16", "20", "1")             \
            TG_GEMV_RV32_OUTPUT("s1", "24", "28", "32", "2") TG_GEMV_RV32_OUTPUT("s5", "36", "40", "44", "3")          \
            TG_GEMV_RV32_OUTPUT("s2", "48", "52", "56", "4") TG_GEMV_RV32_OUTPUT("s6", "60", "64", "68", "5")          \
            TG_GEMV_RV32_OUTPUT("s3", "72", "76", "80", "6") TG_GEMV_RV32_OUTPUT("s7", "84", "88", "92", "7")          \
            TG_GEMV_RV32_NEXT_GROUP                                                                                    \
            "6:                              \n" /* each two elements parted */                                        \
            "lui    t0, 8                     \n"                                                                      \
            TG_GEMV_TWIN_START("ra", "a4", "t3") TG_GEMV_TWIN_START("s10", "a5", "t4")                                 \
            TG_GEMV_TWIN_START("s11", "a6", "t5") TG_GEMV_TWIN_START("a1", "a7", "t6")                                 \
            TG_GEMV_TWIN_UNITS(TG_GEMV_TWIN_PARTED) TG_GEMV_TWIN_NEXT                                                  \
            "j      4b                        \n"                                                                      \
            TG_GEMV_RV32_LIMIT("s0", "0") TG_GEMV_RV32_LIMIT("s4", "1") TG_GEMV_RV32_LIMIT("s1", "2")                  \
            TG_GEMV_RV32_LIMIT("s5", "3") TG_GEMV_RV32_LIMIT("s2", "4") TG_GEMV_RV32_LIMIT("s6", "5")                  \
            TG_GEMV_RV32_LIMIT("s3", "6") TG_GEMV_RV32_LIMIT("s7", "7"));                                              \
    }

/* clang-format on */

#endif
