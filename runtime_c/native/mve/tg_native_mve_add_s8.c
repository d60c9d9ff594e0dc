/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_mve.h"
#include "tg_native_mve_arithmetic.h"

#if TG_NATIVE_MVE

/* assembly in columns */
/* clang-format off */

/* q0, q1: 8 elements of the operands; q0 then holds their sums as 16-bit values. Products overlap what is no product. */
#define SUM_8                                                                                                          \
    "vmovlt.s16 q2, q0                       \n"                                                                       \
    "vmlas.s32 q2, q4, %[constant]           \n" /* q2 * q4 + constant */                                              \
    "vmovlb.s16 q0, q0                       \n"                                                                       \
    "vmlas.s32 q0, q4, %[constant]           \n"                                                                       \
    "vmovlt.s16 q3, q1                       \n"                                                                       \
    "vmla.s32 q2, q3, %[second_factor]       \n"                                                                       \
    "vmovlb.s16 q1, q1                       \n"                                                                       \
    "vmla.s32 q0, q1, %[second_factor]       \n"                                                                       \
    "vqdmlah.s32 q2, q2, %[down]             \n" /* adds floor(2 * q2 * down / 2**32) */                               \
    "vrshl.s32 q2, %[shift]                  \n"                                                                       \
    "vqdmlah.s32 q0, q0, %[down]             \n"                                                                       \
    "vrshl.s32 q0, %[shift]                  \n"                                                                       \
    "vqmovnb.s32 q0, q0                     \n"                                                                        \
    "vqmovnt.s32 q0, q2                     \n"                                                                        \
    "vqadd.s16 q0, q0, %[zero_point]        \n"                                                                        \
    "vmax.s16 q0, q0, q5                    \n"                                                                        \
    "vmin.s16 q0, q0, q6                    \n"

void tg_native_mve_add_s8(
    const struct tg_native_mve_add *layer, const int8_t *first, const int8_t *second, int8_t *output)
{
    __asm volatile("ldr    lr, [%[layer], #4]              \n"
                   "vdup.32 q4, lr                         \n" /* first_factor */
                   "ldr    lr, [%[layer], #28]             \n"
                   "vdup.16 q5, lr                         \n" /* min */
                   "ldr    lr, [%[layer], #32]             \n"
                   "vdup.16 q6, lr                         \n" /* max */
                   "ldr    lr, [%[layer]]                  \n"
                   "lsr    lr, #3                          \n"
                   "wls    lr, lr, 2f                      \n"
                   "1:                                     \n"
                   "vldrb.s16 q0, [%[first]], #8           \n"
                   "vldrb.s16 q1, [%[second]], #8          \n"
                   SUM_8
                   "vstrb.16 q0, [%[output]], #8           \n"
                   "le     lr, 1b                          \n"
                   "2:                                     \n"
                   "ldr    lr, [%[layer]]                  \n"
                   "and    lr, #7                          \n"
                   "vctp.16 lr                             \n" /* the rest */
                   "vpstt                                  \n"
                   "vldrbt.s16 q0, [%[first]]              \n"
                   "vldrbt.s16 q1, [%[second]]             \n"
                   SUM_8
                   "vpst                                   \n"
                   "vstrbt.16 q0, [%[output]]              \n"
                   : [first] "+l"(first), [second] "+l"(second), [output] "+l"(output)
                   : [layer] "r"(layer), [constant] "r"(layer->constant), [second_factor] "r"(layer->second_factor),
                     [down] "r"(layer->down), [shift] "r"(layer->shift), [zero_point] "r"(layer->zero_point)
                   : "lr", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13",
                     "s14", "s15", "s16", "s17", "s18", "s19", "s20", "s21", "s22", "s23", "s24", "s25", "s26", "s27",
                     "cc", "memory");
}

/* clang-format on */

#else

void tg_native_mve_add_s8(
    const struct tg_native_mve_add *layer, const int8_t *first, const int8_t *second, int8_t *output)
{
    for (int32_t i = 0; i < layer->size; i++) {
        const int32_t one = tg_mve_mac(layer->constant, first[i], layer->first_factor);
        const int32_t sum = tg_mve_mac(one, second[i], layer->second_factor);
        const int64_t lowered = (int64_t)sum - (layer->down != 0 && sum < 0);
        const int64_t value = ((lowered + ((int64_t)1 << (-layer->shift - 1))) >> -layer->shift) + layer->zero_point;
        output[i] = (int8_t)(value < layer->min ? layer->min : value > layer->max ? layer->max : value);
    }
}

#endif
