/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Operators on int16 tensors, element by element: those of tg_elementwise.h, with zero points of 0. The output may be
 * the memory of an operand of the same size.
 */
#ifndef TG_ELEMENTWISE_S16_H
#define TG_ELEMENTWISE_S16_H

#include "tg_elementwise.h"

/** output = first + second. */
void tg_add_s16(const struct tg_broadcast *shape, const struct tg_common_scale *params, const int16_t *first,
    const int16_t *second, int16_t *output);

/** output = first - second. */
void tg_sub_s16(const struct tg_broadcast *shape, const struct tg_common_scale *params, const int16_t *first,
    const int16_t *second, int16_t *output);

/** output = (first - second)^2. */
void tg_squared_difference_s16(const struct tg_broadcast *shape, const struct tg_common_scale *params,
    const int16_t *first, const int16_t *second, int16_t *output);

/** output = first * second. */
void tg_mul_s16(const struct tg_broadcast *shape, const struct tg_product *params, const int16_t *first,
    const int16_t *second, int16_t *output);

/** output = first where that is positive, else first * second. */
void tg_prelu_s16(const struct tg_broadcast *shape, const struct tg_slopes *params, const int16_t *first,
    const int16_t *second, int16_t *output);

/** output = the larger of first and second, which share the output's quantization. */
void tg_maximum_s16(const struct tg_broadcast *shape, const int16_t *first, const int16_t *second, int16_t *output);

/** output = the smaller of first and second, which share the output's quantization. */
void tg_minimum_s16(const struct tg_broadcast *shape, const int16_t *first, const int16_t *second, int16_t *output);

/** output = input where that is positive, else input times a slope, whose sign is that of its multiplier. */
void tg_leaky_relu_s16(const struct tg_slopes *params, const int16_t *input, int16_t *output, int32_t size);

#endif
