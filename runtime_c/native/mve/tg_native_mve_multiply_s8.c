/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_mve.h"
#include "tg_native_mve_arithmetic.h"

#if TG_NATIVE_MVE

/* assembly in columns */
/* clang-format off */

/* q0, q1: 8 elements of the operands; q0 then holds their products as 16-bit values. */
#define MULTIPLY_8                                                                                                     \
    "vadd.i16 q0, q0, %[first_offset]       \n"                                                                        \
    "vadd.i16 q1, q1, %[second_offset]      \n"                                                                        \
    "vmullt.s16 q2, q0, q1                  \n"                                                                        \
    "vmullb.s16 q0, q0, q1                  \n"                                                                        \
    "vqrdmulh.s32 q2, q2, %[multiplier]     \n"                                                                        \
    "vqrdmulh.s32 q0, q0, %[multiplier]     \n"                                                                        \
    "vqdmlah.s32 q2, q2, %[down]            \n" /* adds floor(2 * q2 * down / 2**32) */                                \
    "vqdmlah.s32 q0, q0, %[down]            \n"                                                                        \
    "vrshl.s32 q2, %[shift]                 \n"                                                                        \
    "vrshl.s32 q0, %[shift]                 \n"                                                                        \
    "vqmovnb.s32 q0, q0                     \n"                                                                        \
    "vqmovnt.s32 q0, q2                     \n"                                                                        \
    "vqadd.s16 q0, q0, q3                   \n"                                                                        \
    "vmax.s16 q0, q0, q4                    \n"                                                                        \
    "vmin.s16 q0, q0, q5                    \n"

void tg_native_mve_multiply_s8(
    const struct tg_native_mve_multiply *layer, const int8_t *first, const int8_t *second, int8_t *output)
{
    __asm volatile("ldr    lr, [%[layer], #24]             \n"
                   "vdup.16 q3, lr                         \n" /* zero_point */
                   "ldr    lr, [%[layer], #28]             \n"
                   "vdup.16 q4, lr                         \n" /* min */
                   "ldr    lr, [%[layer], #32]             \n"
                   "vdup.16 q5, lr                         \n" /* max */
                   "ldr    lr, [%[layer]]                  \n"
                   "lsr    lr, #3                          \n"
                   "wls    lr, lr, 2f                      \n"
                   "1:                                     \n"
                   "vldrb.s16 q0, [%[first]], #8           \n"
                   "vldrb.s16 q1, [%[second]], #8          \n"
                   MULTIPLY_8
                   "vstrb.16 q0, [%[output]], #8           \n"
                   "le     lr, 1b                          \n"
                   "2:                                     \n"
                   "ldr    lr, [%[layer]]                  \n"
                   "and    lr, #7                          \n"
                   "vctp.16 lr                             \n" /* the rest */
                   "vpstt                                  \n"
                   "vldrbt.s16 q0, [%[first]]              \n"
                   "vldrbt.s16 q1, [%[second]]             \n"
                   MULTIPLY_8
                   "vpst                                   \n"
                   "vstrbt.16 q0, [%[output]]              \n"
                   : [first] "+l"(first), [second] "+l"(second), [output] "+l"(output)
                   : [layer] "r"(layer), [first_offset] "r"(layer->first_offset),
                     [second_offset] "r"(layer->second_offset), [multiplier] "r"(layer->multiplier),
                     [down] "r"(layer->down), [shift] "r"(layer->shift)
                   : "lr", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13",
                     "s14", "s15", "s16", "s17", "s18", "s19", "s20", "s21", "s22", "s23", "cc", "memory");
}

/* clang-format on */

#else

void tg_native_mve_multiply_s8(
    const struct tg_native_mve_multiply *layer, const int8_t *first, const int8_t *second, int8_t *output)
{
    for (int32_t i = 0; i < layer->size; i++) {
        const int32_t product = (first[i] + layer->first_offset) * (second[i] + layer->second_offset);
        output[i] = tg_mve_requantized(
            product, layer->multiplier, layer->shift, layer->down == 0, layer->zero_point, layer->min, layer->max);
    }
}

#endif
