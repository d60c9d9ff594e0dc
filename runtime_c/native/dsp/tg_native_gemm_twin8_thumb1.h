/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two pixels in a word for Armv6-M: a channel of 4 pixels at once.
 */
#ifndef TG_NATIVE_GEMM_TWIN8_THUMB1_H
#define TG_NATIVE_GEMM_TWIN8_THUMB1_H

/* assembly in columns */
/* clang-format off */

/*
 * r0        weights, less where columns start: those of an element stand as far behind as its columns do
 * r1        columns                         r4, r5    products of the elements at hand: pixels 0 and 1, 2 and 3
 * r2, r3    activations of two pixels       r6, r7    weight, bits
 * r8, r10   sums of both pixels             r9, r11   sums of the second ones
 * r12       0x8000                          lr        where bits end
 *
 * Outputs: see tg_native_thumb1.h; r4 where they go, r5 pixel_step.
 *
 * Frame: [sp] r0 of the channel, [sp, 4] what is read next of its numbers, [sp, 8] columns, [sp, 12] end of their whole
 *        eights, [sp, 16] output, [sp, 20] pixel_step, [sp, 24] channel, [sp, 28] channels, [sp, 32] whether 4 elements
 *        are left, [sp, 36] bytes of the weights of 8 channels
 */
#define TG_TWIN8_FIRST                                                                                                 \
    "ldrsb  r6, [r0, r1]             \n"                                                                               \
    "ldm    r1!, {r4, r5}            \n"                                                                               \
    "muls   r4, r6, r4               \n"                                                                               \
    "muls   r5, r6, r5               \n"

#define TG_TWIN8_ADD                                                                                                   \
    "ldrsb  r6, [r0, r1]             \n"                                                                               \
    "ldm    r1!, {r2, r3}            \n"                                                                               \
    "muls   r2, r6, r2               \n"                                                                               \
    "muls   r3, r6, r3               \n"                                                                               \
    "adds   r4, r4, r2               \n"                                                                               \
    "adds   r5, r5, r3               \n"

/* What words of two pixels add to both sums: the upper half, as if the lower one were rounded off. */
#define TG_TWIN8_PART                                                                                                  \
    "add    r8, r4                   \n"                                                                               \
    "add    r4, r12                  \n"                                                                               \
    "asrs   r4, r4, #16              \n"                                                                               \
    "add    r9, r4                   \n"                                                                               \
    "add    r10, r5                  \n"                                                                               \
    "add    r5, r12                  \n"                                                                               \
    "asrs   r5, r5, #16              \n"                                                                               \
    "add    r11, r5                  \n"

#define TG_TWIN8_TWO TG_TWIN8_FIRST TG_TWIN8_ADD TG_TWIN8_PART
#define TG_TWIN8_FOUR TG_TWIN8_FIRST TG_TWIN8_ADD TG_TWIN8_ADD TG_TWIN8_ADD TG_TWIN8_PART
#define TG_TWIN8_EIGHT                                                                                                 \
    TG_TWIN8_FIRST TG_TWIN8_ADD TG_TWIN8_ADD TG_TWIN8_ADD TG_TWIN8_ADD TG_TWIN8_ADD TG_TWIN8_ADD TG_TWIN8_ADD          \
    TG_TWIN8_PART

#define TG_TWIN8_SCALE "ldm    r0!, {r1, r2, r3}        \n"
#define TG_TWIN8_SCALE_RELU "ldm    r0!, {r1, r2}            \n"

/* The sum of the first pixel is what the second one leaves. */
#define TG_TWIN8_OUTPUTS(SCALED, both, second, n0, n1)                                                                 \
    "mov    r1, " second "           \n"                                                                               \
    "lsls   r1, r1, #16              \n"                                                                               \
    "mov    r0, " both "             \n"                                                                               \
    "subs   r0, r0, r1               \n"                                                                               \
    SCALED TG_THUMB1_STORE(n0)                                                                                         \
    "adds   r4, r4, r5               \n"                                                                               \
    "mov    r0, " second "           \n"                                                                               \
    SCALED TG_THUMB1_STORE(n1)

/* 8 elements of 4 pixels: 58 instructions for 32 products, 64 or 76 where they are parted. */
#define TG_TWIN8_THUMB1(name, SCALE, SCALED)                                                                           \
    TG_NAKED void name(const int32_t *stream __attribute__((unused)), const uint32_t *columns __attribute__((unused)), \
        int32_t quads __attribute__((unused)), int32_t channels __attribute__((unused)),                               \
        int8_t *output __attribute__((unused)), int32_t pixel_step __attribute__((unused)))                            \
    {                                                                                                                  \
        __asm__ volatile(TG_THUMB1_ENTER                                                                               \
            "sub    sp, #44                  \n"                                                                       \
            "ldr    r4, [sp, #80]            \n"                                                                       \
            "ldr    r5, [sp, #84]            \n"                                                                       \
            "str    r4, [sp, #16]            \n"                                                                       \
            "str    r5, [sp, #20]            \n"                                                                       \
            "movs   r4, #0                   \n"                                                                       \
            "str    r4, [sp, #24]            \n"                                                                       \
            "str    r3, [sp, #28]            \n"                                                                       \
            "str    r1, [sp, #8]             \n"                                                                       \
            "movs   r4, #1                   \n"                                                                       \
            "ands   r4, r2                   \n"                                                                       \
            "str    r4, [sp, #32]            \n"                                                                       \
            "lsrs   r4, r2, #1               \n"                                                                       \
            "lsls   r4, r4, #6               \n" /* 8 elements: 64 bytes of columns */                                 \
            "adds   r4, r4, r1               \n"                                                                       \
            "str    r4, [sp, #12]            \n"                                                                       \
            "lsls   r2, r2, #5               \n"                                                                       \
            "str    r2, [sp, #36]            \n"                                                                       \
            "movs   r4, #128                 \n"                                                                       \
            "lsls   r4, r4, #8               \n"                                                                       \
            "mov    r12, r4                  \n"                                                                       \
            "1:                              \n" /* 8 channels */                                                      \
            "ldr    r1, [sp, #8]             \n"                                                                       \
            "ldr    r3, [sp, #36]            \n"                                                                       \
            "adds   r2, r0, r3               \n"                                                                       \
            "subs   r0, r0, r1               \n"                                                                       \
            "2:                              \n" /* a channel */                                                       \
            "str    r0, [sp]                 \n"                                                                       \
            "ldm    r2!, {r3}                \n"                                                                       \
            "lsls   r4, r3, #16              \n"                                                                       \
            "adds   r4, r4, r3               \n"                                                                       \
            "mov    r8, r4                   \n"                                                                       \
            "mov    r9, r3                   \n"                                                                       \
            "mov    r10, r4                  \n"                                                                       \
            "mov    r11, r3                  \n"                                                                       \
            "ldr    r3, [sp, #12]            \n"                                                                       \
            "cmp    r1, r3                   \n"                                                                       \
            "bne    3f                       \n"                                                                       \
            "str    r2, [sp, #4]             \n"                                                                       \
            "b      20f                      \n"                                                                       \
            "3:                              \n" /* as many elements as a word has bits for */                         \
            "ldm    r2!, {r7}                \n"                                                                       \
            "str    r2, [sp, #4]             \n"                                                                       \
            "movs   r4, #4                   \n"                                                                       \
            "lsls   r4, r4, #8               \n"                                                                       \
            "adds   r4, r4, r1               \n"                                                                       \
            "cmp    r4, r3                   \n"                                                                       \
            "bls    4f                       \n"                                                                       \
            "mov    r4, r3                   \n"                                                                       \
            "4:                              \n"                                                                       \
            "mov    lr, r4                   \n"                                                                       \
            "5:                              \n"                                                                       \
            "lsls   r7, r7, #1               \n"                                                                       \
            "bcs    7f                       \n"                                                                       \
            TG_TWIN8_EIGHT                                                                                             \
            "6:                              \n"                                                                       \
            "cmp    r1, lr                   \n"                                                                       \
            "bne    5b                       \n"                                                                       \
            "ldr    r3, [sp, #12]            \n"                                                                       \
            "cmp    r1, r3                   \n"                                                                       \
            "beq    9f                       \n"                                                                       \
            "ldr    r2, [sp, #4]             \n"                                                                       \
            "b      3b                       \n"                                                                       \
            "9:                              \n"                                                                       \
            "b      20f                      \n"                                                                       \
            "7:                              \n" /* each four or each two elements parted */                           \
            "lsls   r7, r7, #1               \n"                                                                       \
            "bcs    8f                       \n"                                                                       \
            TG_TWIN8_FOUR TG_TWIN8_FOUR                                                                                \
            "b      6b                       \n"                                                                       \
            "8:                              \n"                                                                       \
            TG_TWIN8_TWO TG_TWIN8_TWO TG_TWIN8_TWO TG_TWIN8_TWO                                                        \
            "b      6b                       \n"                                                                       \
            "20:                             \n"                                                                       \
            "ldr    r2, [sp, #32]            \n"                                                                       \
            "cmp    r2, #0                   \n"                                                                       \
            "beq    21f                      \n"                                                                       \
            TG_TWIN8_TWO TG_TWIN8_TWO                                                                                  \
            "21:                             \n"                                                                       \
            "ldr    r0, [sp, #4]             \n"                                                                       \
            SCALE                                                                                                      \
            "str    r0, [sp, #4]             \n"                                                                       \
            "lsrs   r6, r1, #16              \n"                                                                       \
            "uxth   r7, r1                   \n"                                                                       \
            "mov    lr, r2                   \n"                                                                       \
            "ldr    r4, [sp, #16]            \n"                                                                       \
            "adds   r0, r4, #1               \n"                                                                       \
            "str    r0, [sp, #16]            \n"                                                                       \
            "ldr    r5, [sp, #20]            \n"                                                                       \
            TG_TWIN8_OUTPUTS(SCALED, "r8", "r9", "0", "1")                                                             \
            "adds   r4, r4, r5               \n"                                                                       \
            TG_TWIN8_OUTPUTS(SCALED, "r10", "r11", "2", "3")                                                           \
            "ldr    r3, [sp, #24]            \n"                                                                       \
            "ldr    r4, [sp, #28]            \n"                                                                       \
            "adds   r3, r3, #1               \n"                                                                       \
            "str    r3, [sp, #24]            \n"                                                                       \
            "cmp    r3, r4                   \n"                                                                       \
            "beq    23f                      \n"                                                                       \
            "ldr    r2, [sp, #4]             \n"                                                                       \
            "lsls   r3, r3, #29              \n"                                                                       \
            "bne    22f                      \n"                                                                       \
            "mov    r0, r2                   \n"                                                                       \
            "b      1b                       \n"                                                                       \
            TG_THUMB1_LIMIT("0") TG_THUMB1_LIMIT("1") TG_THUMB1_LIMIT("2") TG_THUMB1_LIMIT("3")                        \
            "22:                             \n"                                                                       \
            "ldr    r0, [sp]                 \n"                                                                       \
            "ldr    r1, [sp, #8]             \n"                                                                       \
            "adds   r0, r0, #1               \n"                                                                       \
            "b      2b                       \n"                                                                       \
            "23:                             \n"                                                                       \
            "add    sp, #44                  \n"                                                                       \
            TG_THUMB1_LEAVE);                                                                                          \
    }

#define TG_TWIN8_THUMB1_0(name) TG_TWIN8_THUMB1(name, TG_TWIN8_SCALE, TG_THUMB1_SCALED)
#define TG_TWIN8_THUMB1_1(name) TG_TWIN8_THUMB1(name, TG_TWIN8_SCALE_RELU, TG_THUMB1_SCALED_RELU)

/* clang-format on */

#endif
