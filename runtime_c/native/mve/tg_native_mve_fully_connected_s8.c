/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_mve.h"
#include "tg_native_mve_arithmetic.h"

#if TG_NATIVE_MVE

/* assembly in columns */
/* clang-format off */

/*
 * r0 r2 r4 r6 r8 r10 r12 lr   sums of 8 units, in the order 0 2 4 6 1 3 5 7 (sums must be even registers)
 * r1   stream                 r3   input                          r5        output
 * r7   rounds of the loop     r9   units left                       r11       where the loop starts
 * step: 17 instructions of 4 bytes for 128 multiplications
 * q2   16 elements            q0, q1, q3   weights, in turn       q0, q1    even and odd units, q0 all
 *
 * Frame: [sp] input less the lanes that the first step leaves out, [sp, 4] rounds, [sp, 8] zero point, [sp, 12] 1,
 *        [sp, 16] min, 8 times, [sp, 32] max, 8 times
 */
TG_MVE_NAKED void tg_native_mve_fully_connected_s8(
    const struct tg_native_mve_fully_connected *layer __attribute__((unused)),
    const int8_t *input __attribute__((unused)), int8_t *output __attribute__((unused)))
{
    __asm volatile(
        ".macro sums, operation                      \n"
        "vldrw.u32 q0, [r1], #16                     \n"
        "\\operation r0, q2, q0                      \n"
        "vldrw.u32 q1, [r1], #16                     \n"
        "\\operation r2, q2, q1                      \n"
        "vldrw.u32 q0, [r1], #16                     \n"
        "\\operation r4, q2, q0                      \n"
        "vldrw.u32 q1, [r1], #16                     \n"
        "\\operation r6, q2, q1                      \n"
        "vldrw.u32 q0, [r1], #16                     \n"
        "\\operation r8, q2, q0                      \n"
        "vldrw.u32 q1, [r1], #16                     \n"
        "\\operation r10, q2, q1                     \n"
        "vldrw.u32 q0, [r1], #16                     \n"
        "\\operation r12, q2, q0                     \n"
        "vldrw.u32 q1, [r1], #16                     \n"
        "\\operation lr, q2, q1                      \n"
        ".endm                                       \n"
        ".macro step                                 \n"
        "vldrb.u8 q2, [r3], #16                      \n"
        "sums   vmladava.s8                          \n"
        ".endm                                       \n"
        "push   {r4-r11, lr}                         \n"
        "sub    sp, #52                              \n"
        "mov    r5, r2                               \n"
        "ldrd   r7, r9, [r0]                         \n" /* features, units */
        "ldrd   r2, r4, [r0, #8]                     \n" /* zero point, min */
        "ldr    r6, [r0, #16]                        \n" /* max */
        "vdup.16 q0, r4                              \n"
        "vdup.16 q1, r6                              \n"
        "add    r4, sp, #16                          \n"
        "vstrw.32 q0, [r4]                           \n"
        "vstrw.32 q1, [r4, #16]                      \n"
        "mov    r4, #1                               \n"
        "strd   r2, r4, [sp, #8]                     \n"
        "and    r8, r7, #15                          \n"
        "rsb    r8, r8, #16                          \n"
        "and    r8, r8, #15                          \n" /* lanes before those of the first step */
        "mov    r10, #0xffff                         \n"
        "lsl    r10, r8                              \n"
        "uxth   r10, r10                             \n"
        "vmsr   p0, r10                              \n"
        "sub    r2, r1, r8                           \n"
        "ldr    r1, [r0, #20]                        \n" /* stream */
        "add    r7, #15                              \n"
        "lsr    r7, #4                               \n"
        "subs   r7, #1                               \n" /* steps behind the first */
        "adr.w  r11, 4f                              \n"
        "beq    1f                                   \n"
        "sub    r11, #6                              \n" /* the loop's end: two instructions */
        "subs   r4, r7, #1                           \n"
        "and    r4, #3                               \n"
        "add    r4, #1                               \n" /* steps of the first round */
        "mov    r8, #68                              \n" /* bytes of a step */
        "mls    r11, r4, r8, r11                     \n"
        "add    r7, #3                               \n"
        "lsr    r7, #2                               \n"
        "1:                                          \n"
        "strd   r2, r7, [sp]                         \n"
        "2:                                          \n" /* 8 units */
        "ldrd   r3, r7, [sp]                         \n"
        "vpst                                        \n"
        "vldrbt.u8 q2, [r3], #16                     \n"
        "sums   vmladav.s8                           \n"
        "mov    pc, r11                              \n"
        "3:                                          \n"
        "step                                        \n"
        "step                                        \n"
        "step                                        \n"
        "step                                        \n"
        "subs.n r7, #1                               \n"
        "bne.w  3b                                   \n"
        "4:                                          \n"
        "vmov   q0[2], q0[0], r0, r4                 \n"
        "vldrw.u32 q2, [r1], #16                     \n" /* biases of even units */
        "vmov   q0[3], q0[1], r2, r6                 \n"
        "vldrw.u32 q3, [r1, #16]                     \n" /* multipliers */
        "vadd.i32 q0, q0, q2                         \n"
        "vqrdmulh.s32 q0, q0, q3                     \n"
        "vmov   q1[2], q1[0], r8, r12                \n"
        "vldrw.u32 q2, [r1], #80                     \n" /* biases of odd units */
        "vmov   q1[3], q1[1], r10, lr                \n"
        "vldrw.u32 q3, [r1, #-48]                    \n"
        "vadd.i32 q1, q1, q2                         \n"
        "vqrdmulh.s32 q1, q1, q3                     \n"
        "ldrd   r0, r2, [sp, #8]                     \n"
        "vldrw.u32 q2, [r1, #-32]                    \n" /* shifts of even units */
        "vqdmlah.s32 q0, q0, r2                      \n" /* -1 for negative values: their halves go down */
        "vrshl.s32 q0, q0, q2                        \n"
        "vqdmlah.s32 q1, q1, r2                      \n"
        "vqmovnb.s32 q0, q0                          \n"
        "vldrw.u32 q3, [r1, #-16]                    \n"
        "vrshl.s32 q1, q1, q3                        \n"
        "vldrw.u32 q2, [sp, #16]                     \n"
        "vqmovnt.s32 q0, q1                          \n"
        "vldrw.u32 q3, [sp, #32]                     \n"
        "vqadd.s16 q0, q0, r0                        \n"
        "vmax.s16 q0, q0, q2                         \n"
        "vmin.s16 q0, q0, q3                         \n"
        "subs   r9, #8                               \n"
        "blt    5f                                   \n"
        "vstrb.16 q0, [r5], #8                       \n"
        "bne    2b                                   \n"
        "add    sp, #52                              \n"
        "pop    {r4-r11, pc}                         \n"
        "5:                                          \n"
        "add    r9, #8                               \n"
        "vctp.16 r9                                  \n"
        "vpst                                        \n"
        "vstrbt.16 q0, [r5]                          \n"
        "add    sp, #52                              \n"
        "pop    {r4-r11, pc}                         \n"
        ".purgem sums                                \n"
        ".purgem step                                \n"
    );
}

/* clang-format on */

#else

void tg_native_mve_fully_connected_s8(
    const struct tg_native_mve_fully_connected *layer, const int8_t *input, int8_t *output)
{
    static const int32_t places[8] = {0, 4, 1, 5, 2, 6, 3, 7};
    const int32_t steps = (layer->features + 15) / 16;
    const int32_t missing = 16 * steps - layer->features;

    for (int32_t unit = 0; unit < layer->units; unit++) {
        const int32_t *const piece = layer->stream + unit / 8 * (32 * steps + 24);
        const int32_t place = places[unit % 8];
        const int32_t *const scales = piece + 32 * steps + place;
        int32_t sum = scales[0];
        for (int32_t i = 0; i < layer->features; i++) {
            const int32_t at = missing + i;
            const int8_t *const weights = (const int8_t *)(piece + 32 * (at / 16) + 4 * place);
            sum = tg_mve_mac(sum, input[i], weights[at % 16]);
        }
        output[unit] = tg_mve_requantized(sum, scales[8], scales[16], 0, layer->zero_point, layer->min, layer->max);
    }
}

#endif
