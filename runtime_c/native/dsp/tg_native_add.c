/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Additions: by a factor for each operand, and by tables of what each contributes.
 */
#include "tg_native.h"
#include "tg_native_arithmetic.h"

/* file: tg_native_add_linear_s8.c */

#define SHIFT 21

/* Of a sum whose last bits are dropped. */
static inline int8_t output_of(int32_t sum)
{
#if defined(__ARM_FEATURE_SAT)
    int32_t result;
    __asm__("ssat %0, #8, %1, asr #21" : "=r"(result) : "r"(sum) : "cc");
    return (int8_t)result;
#else
    return (int8_t)tg_saturated(sum >> SHIFT);
#endif
}

void tg_native_add_linear_s8(
    const struct tg_native_add_linear *layer, const int8_t *first, const int8_t *second, int8_t *output)
{
    const int32_t a = layer->first;
    const int32_t b = layer->second;
    const int32_t constant = layer->constant;
    const int32_t size = layer->size;
    int32_t i = 0;

    for (; i < size - 3; i += 4) {
        output[i] = output_of(constant + a * first[i] + b * second[i]);
        output[i + 1] = output_of(constant + a * first[i + 1] + b * second[i + 1]);
        output[i + 2] = output_of(constant + a * first[i + 2] + b * second[i + 2]);
        output[i + 3] = output_of(constant + a * first[i + 3] + b * second[i + 3]);
    }
    for (; i < size; i++) {
        output[i] = output_of(constant + a * first[i] + b * second[i]);
    }
    tg_native_clamp_s8(output, size, layer->min, layer->max);
}

/* file: tg_native_add_s8.c */

/* The tables start at the element for -128. */
static inline int8_t sum_of(const int32_t *first_of_zero, const int32_t *second_of_zero, int32_t multiplier,
    int32_t offset, int32_t shift, int8_t first, int8_t second)
{
    const int32_t doubled = first_of_zero[first] + second_of_zero[second];

    return (int8_t)tg_saturated(tg_scaled(doubled, multiplier, offset + (doubled >> 31)) >> shift);
}

void tg_native_add_s8(const struct tg_native_add *layer, const int8_t *first, const int8_t *second, int8_t *output)
{
    const int32_t *const a = layer->first + 128;
    const int32_t *const b = layer->second + 128;
    const int32_t multiplier = layer->multiplier;
    const int32_t offset = layer->offset;
    const int32_t shift = layer->shift;
    int32_t i = 0;

    for (; i < layer->size - 3; i += 4) {
        output[i] = sum_of(a, b, multiplier, offset, shift, first[i], second[i]);
        output[i + 1] = sum_of(a, b, multiplier, offset, shift, first[i + 1], second[i + 1]);
        output[i + 2] = sum_of(a, b, multiplier, offset, shift, first[i + 2], second[i + 2]);
        output[i + 3] = sum_of(a, b, multiplier, offset, shift, first[i + 3], second[i + 3]);
    }
    for (; i < layer->size; i++) {
        output[i] = sum_of(a, b, multiplier, offset, shift, first[i], second[i]);
    }
    tg_native_clamp_s8(output, layer->size, layer->min, layer->max);
}
