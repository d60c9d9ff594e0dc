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

TG_WINOGRAD_MULTIPLY(tg_native_winograd_multiply_4, "5", TG_WINOGRAD_FIRST_4_OF_4, TG_WINOGRAD_NEXT_4_OF_4, "r2-r9")

#elif TG_NATIVE_RV32

#include "tg_native_winograd_rv32.h"

TG_WINOGRAD_RV32_MULTIPLY(tg_native_winograd_multiply_4)

#else

TG_WINOGRAD_MULTIPLY_C(tg_native_winograd_multiply_4, 4)

#endif

/* file: tg_native_winograd_multiply_sums.c */

#if TG_NATIVE_DSP

/* clang-format off */

/*
 * r0  stream, r1  values, r2 - r9  sums of channel 0 for each tile, then of channel 1; r10 - lr as in
 * TG_WINOGRAD_TWO_OF_4
 *
 * Frame: [sp] next sum, [sp, 4] end of the sums, [sp, 8] stream, [sp, 12] bytes of a filter of two channels,
 *        [sp, 16] products, [sp, 20] end of the values of a sum, [sp, 24] end of those that do not fill 16 elements
 */
TG_NAKED void tg_native_winograd_multiply_sums(const int32_t *stream __attribute__((unused)),
    const uint32_t *values __attribute__((unused)), int32_t quads __attribute__((unused)),
    const struct tg_native_winograd_sum *sums __attribute__((unused)), int32_t count __attribute__((unused)),
    uint32_t *products __attribute__((unused)))
{
    __asm volatile("push   {r4-r11, lr}             \n"
                   "sub    sp, #28                  \n"
                   "ldrd   r4, r5, [sp, #64]        \n" /* count, products */
                   "add    r4, r3, r4, lsl #1       \n"
                   "lsl    r6, r2, #4               \n"
                   "strd   r3, r4, [sp]             \n"
                   "strd   r0, r6, [sp, #8]         \n"
                   "str    r5, [sp, #16]            \n"
                   "1:                              \n" /* a sum */
                   "ldr    r12, [sp]                \n"
                   "ldrb   r10, [r12], #1           \n"
                   "ldrb   r11, [r12], #1           \n"
                   "str    r12, [sp]                \n"
                   "ldrd   r12, lr, [sp, #8]        \n"
                   "mla    r0, r10, lr, r12         \n"
                   "mul    r11, r11, lr             \n"
                   "add    r12, r1, r11, lsl #1     \n"
                   "str    r12, [sp, #20]           \n"
                   "ands   r11, #48                 \n"
                   "bne    5f                       \n"
                TG_WINOGRAD_FIRST_4_OF_4 TG_WINOGRAD_NEXT_4_OF_4 TG_WINOGRAD_NEXT_4_OF_4 TG_WINOGRAD_NEXT_4_OF_4
                   "ldr    r12, [sp, #20]           \n"
                   "cmp    r1, r12                  \n"
                   "beq    4f                       \n"
                   "3:                              \n" /* 16 elements */
                TG_WINOGRAD_NEXT_4_OF_4 TG_WINOGRAD_NEXT_4_OF_4 TG_WINOGRAD_NEXT_4_OF_4 TG_WINOGRAD_NEXT_4_OF_4
                   "ldr    r12, [sp, #20]           \n"
                   "cmp    r1, r12                  \n"
                   "bne    3b                       \n"
                   "4:                              \n"
                   "ldr    r12, [sp, #16]           \n"
                   "stm    r12!, {r2-r9}            \n"
                   "str    r12, [sp, #16]           \n"
                   "ldrd   r12, lr, [sp]            \n"
                   "cmp    r12, lr                  \n"
                   "bne    1b                       \n"
                   "add    sp, #28                  \n"
                   "pop    {r4-r11, pc}             \n"
                   "5:                              \n" /* elements that do not fill 16, 4 at a time */
                   "add    r12, r1, r11, lsl #1     \n"
                   "str    r12, [sp, #24]           \n"
                TG_WINOGRAD_FIRST_4_OF_4
                   "ldr    r12, [sp, #24]           \n"
                   "cmp    r1, r12                  \n"
                   "beq    7f                       \n"
                   "6:                              \n"
                TG_WINOGRAD_NEXT_4_OF_4
                   "ldr    r12, [sp, #24]           \n"
                   "cmp    r1, r12                  \n"
                   "bne    6b                       \n"
                   "7:                              \n"
                   "ldr    r12, [sp, #20]           \n"
                   "cmp    r1, r12                  \n"
                   "beq    4b                       \n"
                   "b      3b                       \n");
}

/* clang-format on */

#else

void tg_native_winograd_multiply_sums(const int32_t *stream, const uint32_t *values, int32_t quads,
    const struct tg_native_winograd_sum *sums, int32_t count, uint32_t *products)
{
    for (const struct tg_native_winograd_sum *const end = sums + count; sums < end; sums++) {
        const int32_t all = quads * sums->count;
        tg_native_winograd_multiply_4(stream + 4 * quads * sums->filter, values, all, 1, products);
        values += 2 * 4 * all;
        products += TG_WINOGRAD_LANES(4);
    }
}

#endif
