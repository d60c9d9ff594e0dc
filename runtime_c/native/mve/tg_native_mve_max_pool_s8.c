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
 * q0   input          q1   largest     q2, q3   min, max
 */
TG_MVE_NAKED static void largest(const struct tg_native_mve_window *window __attribute__((unused)))
{
    __asm volatile(
        "push   {r4-r7, lr}                          \n"
        "ldrd   r2, r3, [r0]                         \n"
        "ldrd   r12, r5, [r0, #12]                   \n" /* columns, channels */
        "ldr    r6, [r0, #20]                        \n"
        "ldrd   r4, r1, [r0, #24]                    \n" /* min, max */
        "vdup.8 q2, r4                               \n"
        "vdup.8 q3, r1                               \n"
        "mov    r4, r5                               \n"
        "1:                                          \n" /* 16 channels */
        "vctp.8 r4                                   \n"
        "vmov   q1, q2                               \n"
        "mov    r1, r2                               \n"
        "ldr    r7, [r0, #8]                         \n" /* rows */
        "2:                                          \n" /* a row */
        "dls    lr, r12                              \n"
        "3:                                          \n"
        "vpst                                        \n"
        "vldrbt.u8 q0, [r1]                          \n"
        "vmax.s8 q1, q1, q0                          \n"
        "add    r1, r5                               \n"
        "le     lr, 3b                               \n"
        "add    r1, r6                               \n"
        "subs   r7, #1                               \n"
        "bne    2b                                   \n"
        "vmin.s8 q1, q1, q3                          \n"
        "vpst                                        \n"
        "vstrbt.8 q1, [r3], #16                      \n"
        "add    r2, #16                              \n"
        "subs   r4, #16                              \n"
        "bgt    1b                                   \n"
        "pop    {r4-r7, pc}                          \n"
    );
}

/* clang-format on */

#else

static void largest(const struct tg_native_mve_window *window)
{
    for (int32_t i = 0; i < window->channels; i++) {
        const int8_t *from = window->from + i;
        int32_t value = window->min;
        for (int32_t row = 0; row < window->rows; row++, from += window->row_skip) {
            for (int32_t column = 0; column < window->columns; column++, from += window->channels) {
                value = *from > value ? *from : value;
            }
        }
        window->output[i] = (int8_t)(value < window->max ? value : window->max);
    }
}

#endif

void tg_native_mve_max_pool_s8(const struct tg_native_pool *layer, const int8_t *input, int8_t *output)
{
    tg_native_mve_pools(layer, input, output, largest);
}
