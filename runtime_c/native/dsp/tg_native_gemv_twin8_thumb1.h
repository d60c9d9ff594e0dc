/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two units in a word for Armv6-M: a pair of units at once.
 */
#ifndef TG_NATIVE_GEMV_TWIN8_THUMB1_H
#define TG_NATIVE_GEMV_TWIN8_THUMB1_H

/* assembly in columns */
/* clang-format off */

/*
 * r0, r1    stream, vector             r2        products of the elements at hand
 * r3, r4    x, x' - 256 x              r5, r6    a word of weights, a product         r7   0x00ff00ff
 * r8, r9    sum of both units, of the second one                 r10   where bits end
 * r12       0x8000                     lr        bits
 *
 * Outputs: see tg_native_thumb1.h; r4 where they go, r5 their numbers in the stream.
 *
 * Frame: [sp] stream of the group, [sp, 4] vector, [sp, 8] its end, [sp, 12] output, [sp, 16] groups that are left,
 *        [sp, 20] where words of the pair begin among those of 8 elements, [sp, 28] 0x00ff00ff
 */

/* Two elements of two units. */
#define TG_GEMV_TWIN8_TWO                                                                                              \
    "ldm    r0!, {r5}                \n"                                                                               \
    "lsrs   r6, r5, #8               \n"                                                                               \
    "ands   r6, r7                   \n"                                                                               \
    "muls   r6, r4, r6               \n"                                                                               \
    "muls   r5, r3, r5               \n"                                                                               \
    "adds   r2, r2, r6               \n"                                                                               \
    "adds   r2, r2, r5               \n"

/* What two units add to both sums: the upper half is that of the second one, as the lower one is not negative. */
#define TG_GEMV_TWIN8_PART                                                                                             \
    "add    r8, r2                   \n"                                                                               \
    "asrs   r2, r2, #16              \n"                                                                               \
    "add    r9, r2                   \n"

/* 0x8000 - 128 * 65537 times the sum of two elements. */
#define TG_GEMV_TWIN8_START                                                                                            \
    "lsls   r6, r3, #8               \n"                                                                               \
    "adds   r6, r6, r3               \n"                                                                               \
    "adds   r6, r6, r4               \n"                                                                               \
    "lsls   r2, r6, #7               \n"                                                                               \
    "lsls   r6, r6, #23              \n"                                                                               \
    "adds   r6, r6, r2               \n"                                                                               \
    "mov    r2, r12                  \n"                                                                               \
    "subs   r2, r2, r6               \n"

#define TG_GEMV_TWIN8_NEXT "ldm    r1!, {r3, r4}            \n"
#define TG_GEMV_TWIN8_PARTED TG_GEMV_TWIN8_START TG_GEMV_TWIN8_TWO TG_GEMV_TWIN8_PART

#define TG_GEMV_TWIN8_SCALE                                                                                            \
    "ldm    r5!, {r1, r2, r3}        \n"                                                                               \
    "lsrs   r6, r1, #16              \n"                                                                               \
    "uxth   r7, r1                   \n"                                                                               \
    "mov    lr, r2                   \n"

/* 8 elements: 42 instructions for 16 products. */
#define TG_GEMV_TWIN8_THUMB1(name)                                                                                     \
    TG_NAKED void name(const int32_t *stream __attribute__((unused)), const uint32_t *vector __attribute__((unused)),  \
        int32_t quads __attribute__((unused)), int32_t groups __attribute__((unused)),                                 \
        int8_t *output __attribute__((unused)))                                                                        \
    {                                                                                                                  \
        __asm__ volatile(TG_THUMB1_ENTER                                                                               \
            "sub    sp, #36                  \n"                                                                       \
            "str    r0, [sp]                 \n"                                                                       \
            "str    r1, [sp, #4]             \n"                                                                       \
            "str    r3, [sp, #16]            \n"                                                                       \
            "lsrs   r2, r2, #1               \n"                                                                       \
            "movs   r4, #36                  \n" /* bytes of the vector for 8 elements */                              \
            "muls   r2, r4, r2               \n"                                                                       \
            "adds   r2, r2, r1               \n"                                                                       \
            "str    r2, [sp, #8]             \n"                                                                       \
            "ldr    r4, [sp, #72]            \n"                                                                       \
            "str    r4, [sp, #12]            \n"                                                                       \
            "movs   r4, #255                 \n"                                                                       \
            "lsls   r5, r4, #16              \n"                                                                       \
            "adds   r4, r4, r5               \n"                                                                       \
            "str    r4, [sp, #28]            \n"                                                                       \
            "movs   r4, #128                 \n"                                                                       \
            "lsls   r4, r4, #8               \n"                                                                       \
            "mov    r12, r4                  \n"                                                                       \
            "1:                              \n" /* a group of units */                                                \
            "movs   r5, #0                   \n"                                                                       \
            "2:                              \n" /* a pair */                                                          \
            "str    r5, [sp, #20]            \n"                                                                       \
            "ldr    r0, [sp]                 \n"                                                                       \
            "lsrs   r6, r5, #2               \n"                                                                       \
            "adds   r6, r6, r0               \n"                                                                       \
            "ldr    r4, [r6]                 \n"                                                                       \
            "mov    r8, r4                   \n"                                                                       \
            "ldr    r4, [r6, #16]            \n"                                                                       \
            "mov    r9, r4                   \n"                                                                       \
            "adds   r0, r0, #32              \n"                                                                       \
            "ldr    r1, [sp, #4]             \n"                                                                       \
            "ldr    r7, [sp, #28]            \n"                                                                       \
            "3:                              \n" /* as many elements as a word has bits for */                         \
            "ldm    r0!, {r5}                \n"                                                                       \
            "mov    lr, r5                   \n"                                                                       \
            "ldr    r5, [sp, #20]            \n"                                                                       \
            "adds   r0, r0, r5               \n"                                                                       \
            "movs   r5, #144                 \n"                                                                       \
            "lsls   r5, r5, #3               \n"                                                                       \
            "adds   r5, r5, r1               \n"                                                                       \
            "ldr    r6, [sp, #8]             \n"                                                                       \
            "cmp    r5, r6                   \n"                                                                       \
            "bls    4f                       \n"                                                                       \
            "mov    r5, r6                   \n"                                                                       \
            "4:                              \n"                                                                       \
            "mov    r10, r5                  \n"                                                                       \
            "5:                              \n"                                                                       \
            "ldm    r1!, {r2, r3, r4}        \n"                                                                       \
            "mov    r6, lr                   \n"                                                                       \
            "lsls   r6, r6, #1               \n"                                                                       \
            "mov    lr, r6                   \n"                                                                       \
            "bcs    7f                       \n"                                                                       \
            TG_GEMV_TWIN8_TWO TG_GEMV_TWIN8_NEXT TG_GEMV_TWIN8_TWO TG_GEMV_TWIN8_NEXT                                  \
            TG_GEMV_TWIN8_TWO TG_GEMV_TWIN8_NEXT TG_GEMV_TWIN8_TWO TG_GEMV_TWIN8_PART                                  \
            "6:                              \n"                                                                       \
            "adds   r0, r0, #48              \n"                                                                       \
            "cmp    r1, r10                  \n"                                                                       \
            "bne    5b                       \n"                                                                       \
            "ldr    r5, [sp, #20]            \n"                                                                       \
            "subs   r0, r0, r5               \n"                                                                       \
            "ldr    r6, [sp, #8]             \n"                                                                       \
            "cmp    r1, r6                   \n"                                                                       \
            "bne    3b                       \n"                                                                       \
            "b      8f                       \n"                                                                       \
            "7:                              \n" /* each two elements parted */                                        \
            TG_GEMV_TWIN8_PARTED TG_GEMV_TWIN8_NEXT TG_GEMV_TWIN8_PARTED TG_GEMV_TWIN8_NEXT                            \
            TG_GEMV_TWIN8_PARTED TG_GEMV_TWIN8_NEXT TG_GEMV_TWIN8_PARTED                                               \
            "b      6b                       \n"                                                                       \
            "8:                              \n"                                                                       \
            "lsrs   r6, r5, #1               \n"                                                                       \
            "adds   r5, r5, r6               \n" /* 24 bytes of numbers for a pair */                                  \
            "adds   r5, r5, r0               \n"                                                                       \
            "ldr    r4, [sp, #12]            \n"                                                                       \
            TG_GEMV_TWIN8_SCALE                                                                                        \
            "mov    r1, r9                   \n"                                                                       \
            "lsls   r1, r1, #16              \n"                                                                       \
            "mov    r0, r8                   \n"                                                                       \
            "subs   r0, r0, r1               \n"                                                                       \
            TG_THUMB1_SCALED TG_THUMB1_STORE("0")                                                                      \
            "adds   r4, r4, #1               \n"                                                                       \
            TG_GEMV_TWIN8_SCALE                                                                                        \
            "mov    r0, r9                   \n"                                                                       \
            TG_THUMB1_SCALED TG_THUMB1_STORE("1")                                                                      \
            "adds   r4, r4, #1               \n"                                                                       \
            "str    r4, [sp, #12]            \n"                                                                       \
            "ldr    r6, [sp, #20]            \n"                                                                       \
            "cmp    r6, #48                  \n"                                                                       \
            "beq    9f                       \n"                                                                       \
            "adds   r6, r6, #16              \n"                                                                       \
            "mov    r5, r6                   \n"                                                                       \
            "b      2b                       \n"                                                                       \
            TG_THUMB1_LIMIT("0") TG_THUMB1_LIMIT("1")                                                                  \
            "9:                              \n"                                                                       \
            "str    r5, [sp]                 \n"                                                                       \
            "ldr    r6, [sp, #16]            \n"                                                                       \
            "subs   r6, r6, #1               \n"                                                                       \
            "str    r6, [sp, #16]            \n"                                                                       \
            "beq    10f                      \n"                                                                       \
            "b      1b                       \n"                                                                       \
            "10:                             \n"                                                                       \
            "add    sp, #36                  \n"                                                                       \
            TG_THUMB1_LEAVE);                                                                                          \
    }

/* clang-format on */

#endif
