/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Assembly that kernels for Armv6-M share, which has 16-bit encodings alone: 8 registers take part in all instructions,
 * the others are copied and added to.
 */
#ifndef TG_NATIVE_THUMB1_H
#define TG_NATIVE_THUMB1_H

#if defined(__thumb__) && !defined(__thumb2__)
#define TG_NATIVE_THUMB1 1
#else
#define TG_NATIVE_THUMB1 0
#endif

/* assembly in columns */
/* clang-format off */

#define TG_THUMB1_ENTER                                                                                                \
    ".syntax unified                 \n"                                                                               \
    "push   {r4-r7, lr}              \n"                                                                               \
    "mov    r4, r8                   \n"                                                                               \
    "mov    r5, r9                   \n"                                                                               \
    "mov    r6, r10                  \n"                                                                               \
    "mov    r7, r11                  \n"                                                                               \
    "push   {r4-r7}                  \n"

#define TG_THUMB1_LEAVE                                                                                                \
    "pop    {r4-r7}                  \n"                                                                               \
    "mov    r8, r4                   \n"                                                                               \
    "mov    r9, r5                   \n"                                                                               \
    "mov    r10, r6                  \n"                                                                               \
    "mov    r11, r7                  \n"                                                                               \
    "pop    {r4-r7, pc}              \n"

/*
 * r0 * multiplier / 2**16 is r0 / 2**16 * r6 with r2 / 2**16 to be added: r0 is parted into halves, the lower one
 * signed, and the multiplier into r6 and r7, so that no product of halves takes more than 32 bits where r0 is below
 * 2**29. r1 is used.
 */
#define TG_THUMB1_PRODUCTS                                                                                             \
    "sxth   r1, r0                   \n"                                                                               \
    "subs   r0, r0, r1               \n"                                                                               \
    "asrs   r0, r0, #16              \n"                                                                               \
    "mov    r2, r1                   \n"                                                                               \
    "muls   r2, r7, r2               \n"                                                                               \
    "asrs   r2, r2, #16              \n"                                                                               \
    "muls   r1, r6, r1               \n"                                                                               \
    "adds   r2, r2, r1               \n"                                                                               \
    "mov    r1, r0                   \n"                                                                               \
    "muls   r1, r7, r1               \n"                                                                               \
    "adds   r2, r2, r1               \n"                                                                               \
    "muls   r0, r6, r0               \n"

/* An output from the sum in r0, its offset in lr, the shift in r3: see tg_native_gemm.h. */
#define TG_THUMB1_SCALED                                                                                               \
    TG_THUMB1_PRODUCTS                                                                                                 \
    "lsls   r0, r0, #1               \n"                                                                               \
    "asrs   r2, r2, #15              \n" /* the carry rounds */                                                        \
    "adcs   r0, r0, r2               \n"                                                                               \
    "asrs   r1, r0, #31              \n"                                                                               \
    "adds   r0, r0, r1               \n" /* halves of negative values go down */                                       \
    "add    r0, lr                   \n"                                                                               \
    "asrs   r0, r0, r3               \n"

#define TG_THUMB1_SCALED_RELU                                                                                          \
    TG_THUMB1_PRODUCTS                                                                                                 \
    "asrs   r2, r2, #16              \n"                                                                               \
    "adds   r0, r0, r2               \n"                                                                               \
    "add    r0, lr                   \n"                                                                               \
    "asrs   r0, r0, #2               \n"

/* The nearest number in int8, at r4; what is beside it is put right out of the way, by TG_THUMB1_LIMIT. */
#define TG_THUMB1_STORE(n)                                                                                             \
    "sxtb   r1, r0                   \n"                                                                               \
    "cmp    r1, r0                   \n"                                                                               \
    "bne    7" n "f                  \n"                                                                               \
    "8" n ":                         \n"                                                                               \
    "strb   r0, [r4]                 \n"

#define TG_THUMB1_LIMIT(n)                                                                                             \
    "7" n ":                         \n"                                                                               \
    "asrs   r0, r0, #31              \n"                                                                               \
    "movs   r1, #127                 \n"                                                                               \
    "eors   r0, r1                   \n"                                                                               \
    "b      8" n "b                  \n"

/* clang-format on */

#endif
