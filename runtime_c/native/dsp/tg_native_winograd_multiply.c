/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Products of Winograd's method: by the number of tiles.
 */
#include "tg_native_winograd_multiply.h"

/* file: tg_native_winograd_multiply_1.c */

#if TG_NATIVE_DSP

/* clang-format off */

/* r4 - r7  weights of two elements of channel 0 and 1, then of two more; r8, r9  values. 6 instructions for 8
 * multiplications. */
#define FOUR(FIRST, SECOND)                                                                                            \
    "ldm    r0!, {r4-r7}            \n"                                                                                \
    "ldm    r1!, {r8, r9}           \n"                                                                                \
    FIRST("r2", "r4", "r8") FIRST("r3", "r5", "r8") SECOND("r2", "r6", "r9") SECOND("r3", "r7", "r9")

#define FIRST_4 FOUR(TG_WINOGRAD_PRODUCT, TG_WINOGRAD_ADDED)
#define NEXT_4 FOUR(TG_WINOGRAD_ADDED, TG_WINOGRAD_ADDED)

/* clang-format on */

TG_WINOGRAD_MULTIPLY(tg_native_winograd_multiply_1, "3", FIRST_4, NEXT_4, "r2, r3")

#else

TG_WINOGRAD_MULTIPLY_C(tg_native_winograd_multiply_1, 1)

#endif

/* file: tg_native_winograd_multiply_2.c */

#if TG_NATIVE_DSP

/* clang-format off */

/* r6 - r9  weights of two elements of channel 0 and 1, then of two more; r10 - lr  so of tile 0 and 1. 10 instructions
 * for 16 multiplications. */
#define FOUR(FIRST, SECOND)                                                                                            \
    "ldm    r0!, {r6-r9}            \n"                                                                                \
    "ldm    r1!, {r10-r12, lr}      \n"                                                                                \
    FIRST("r2", "r6", "r10") FIRST("r3", "r6", "r11") FIRST("r4", "r7", "r10") FIRST("r5", "r7", "r11")                \
    SECOND("r2", "r8", "r12") SECOND("r3", "r8", "lr") SECOND("r4", "r9", "r12") SECOND("r5", "r9", "lr")

#define FIRST_4 FOUR(TG_WINOGRAD_PRODUCT, TG_WINOGRAD_ADDED)
#define NEXT_4 FOUR(TG_WINOGRAD_ADDED, TG_WINOGRAD_ADDED)

/* clang-format on */

TG_WINOGRAD_MULTIPLY(tg_native_winograd_multiply_2, "4", FIRST_4, NEXT_4, "r2-r5")

#else

TG_WINOGRAD_MULTIPLY_C(tg_native_winograd_multiply_2, 2)

#endif

/* file: tg_native_winograd_multiply_4.c */

#if TG_NATIVE_DSP

/* clang-format off */

/* r10, r11  weights of channel 0 and 1; r12, lr  values of two tiles. 13 instructions for 16 multiplications. */
#define TWO(MULTIPLY)                                                                                                  \
    "ldr    r10, [r0], #4           \n"                                                                                \
    "ldr    r11, [r0], #4           \n"                                                                                \
    "ldr    r12, [r1], #4           \n"                                                                                \
    "ldr    lr,  [r1], #4           \n"                                                                                \
    MULTIPLY("r2", "r10", "r12") MULTIPLY("r6", "r11", "r12") MULTIPLY("r3", "r10", "lr") MULTIPLY("r7", "r11", "lr")  \
    "ldrd   r12, lr, [r1], #8       \n"                                                                                \
    MULTIPLY("r4", "r10", "r12") MULTIPLY("r8", "r11", "r12") MULTIPLY("r5", "r10", "lr") MULTIPLY("r9", "r11", "lr")

#define FIRST_4 TWO(TG_WINOGRAD_PRODUCT) TWO(TG_WINOGRAD_ADDED)
#define NEXT_4 TWO(TG_WINOGRAD_ADDED) TWO(TG_WINOGRAD_ADDED)

/* clang-format on */

TG_WINOGRAD_MULTIPLY(tg_native_winograd_multiply_4, "5", FIRST_4, NEXT_4, "r2-r9")

#elif TG_NATIVE_RV32

#include "tg_native_winograd_rv32.h"

TG_WINOGRAD_RV32_MULTIPLY(tg_native_winograd_multiply_4)

#else

TG_WINOGRAD_MULTIPLY_C(tg_native_winograd_multiply_4, 4)

#endif
