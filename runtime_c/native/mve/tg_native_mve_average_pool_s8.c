/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_mve_pools.h"
#include "tg_native_mve_arithmetic.h"

#if TG_NATIVE_MVE

/* assembly in columns */
/* clang-format off */

/*
 * r0   window         r1   input       r2   the channels' first input     r3   output      r4   channels left
 * r5   channels       r6   row_skip    r7   rows left                     r12  columns
 * q0, q1   input, even and odd channels as 16-bit values     q2, q3   their sums
 * q4   reciprocal     q5, q6   min, max
 *
 * mean: (2 * |sum| + count) * reciprocal >> 32, with the sign of the sum; half a value more than |sum| / count.
 */
TG_MVE_NAKED static void average(const struct tg_native_mve_window *window __attribute__((unused)))
{
    __asm volatile(
        ".macro mean, sums                           \n"
        "vabs.s16 q0, \\sums                         \n"
        "vshllt.u16 q1, q0, #1                       \n"
        "vshllb.u16 q0, q0, #1                       \n"
        "vadd.i32 q1, q1, r1                         \n"
        "vadd.i32 q0, q0, r1                         \n"
        "vmulh.u32 q1, q1, q4                        \n"
        "vmulh.u32 q0, q0, q4                        \n"
        "vmovnt.i32 q0, q1                           \n"
        "vpt.s16 lt, \\sums, r7                      \n"
        "vnegt.s16 q0, q0                            \n"
        "vmov   \\sums, q0                           \n"
        ".endm                                       \n"
        "push   {r4-r7, lr}                          \n"
        "vpush  {d8-d13}                             \n"
        "ldrd   r2, r3, [r0]                         \n"
        "ldrd   r12, r5, [r0, #12]                   \n" /* columns, channels */
        "ldr    r6, [r0, #20]                        \n"
        "ldrd   r4, r1, [r0, #24]                    \n" /* min, max */
        "vdup.8 q5, r4                               \n"
        "vdup.8 q6, r1                               \n"
        "ldr    r1, [r0, #36]                        \n"
        "vdup.32 q4, r1                              \n"
        "mov    r4, r5                               \n"
        "1:                                          \n" /* 16 channels */
        "vctp.8 r4                                   \n"
        "vmov.i32 q2, #0                             \n"
        "vmov.i32 q3, #0                             \n"
        "mov    r1, r2                               \n"
        "ldr    r7, [r0, #8]                         \n" /* rows */
        "2:                                          \n" /* a row */
        "dls    lr, r12                              \n"
        "3:                                          \n"
        "vpst                                        \n"
        "vldrbt.u8 q0, [r1]                          \n"
        "vmovlt.s8 q1, q0                            \n"
        "vmovlb.s8 q0, q0                            \n"
        "vadd.i16 q3, q3, q1                         \n"
        "vadd.i16 q2, q2, q0                         \n"
        "add    r1, r5                               \n"
        "le     lr, 3b                               \n"
        "add    r1, r6                               \n"
        "subs   r7, #1                               \n"
        "bne    2b                                   \n"
        "ldr    r1, [r0, #32]                        \n" /* count; r7 is 0 */
        "mean   q2                                   \n"
        "mean   q3                                   \n"
        "vmovnt.i16 q2, q3                           \n"
        "vmax.s8 q2, q2, q5                          \n"
        "vmin.s8 q2, q2, q6                          \n"
        "vctp.8 r4                                   \n"
        "vpst                                        \n"
        "vstrbt.8 q2, [r3], #16                      \n"
        "add    r2, #16                              \n"
        "subs   r4, #16                              \n"
        "bgt    1b                                   \n"
        "vpop   {d8-d13}                             \n"
        "pop    {r4-r7, pc}                          \n"
        ".purgem mean                                \n"
    );
}

/* clang-format on */

#else

static int32_t mean(int32_t sum, const struct tg_native_mve_window *window)
{
    const uint32_t twice = (uint32_t)(2 * (sum < 0 ? -sum : sum) + window->count);
    const int32_t size = (int32_t)((uint64_t)twice * window->reciprocal >> 32);

    return sum < 0 ? -size : size;
}

static void average(const struct tg_native_mve_window *window)
{
    for (int32_t i = 0; i < window->channels; i++) {
        const int8_t *from = window->from + i;
        int32_t sum = 0;
        for (int32_t row = 0; row < window->rows; row++, from += window->row_skip) {
            for (int32_t column = 0; column < window->columns; column++, from += window->channels) {
                sum += *from;
            }
        }
        sum = mean(sum, window);
        window->output[i] = (int8_t)(sum < window->min ? window->min : sum > window->max ? window->max : sum);
    }
}

#endif

void tg_native_mve_average_pool_s8(const struct tg_native_pool *layer, const int8_t *input, int8_t *output)
{
    tg_native_mve_pools(layer, input, output, average);
}
