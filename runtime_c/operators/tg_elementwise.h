/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Operators on int8 tensors, element by element. The output may be the memory of an operand of the same size.
 */
#ifndef TG_ELEMENTWISE_H
#define TG_ELEMENTWISE_H

#include <stdint.h>

#include "tg_operator_names.h"

#define TG_BROADCAST_AXES 4

/** Shape of an output, outermost axis first, and how far apart an operand's elements lie along each; 0 repeats them. */
struct tg_broadcast {
    int32_t sizes[TG_BROADCAST_AXES];
    int32_t first_strides[TG_BROADCAST_AXES];
    int32_t second_strides[TG_BROADCAST_AXES];
};

/** Two operands that are brought to a common scale before they meet. */
struct tg_common_scale {
    int32_t first_offset; /**< minus the operand's zero point */
    int32_t first_multiplier;
    int32_t first_shift;
    int32_t second_offset;
    int32_t second_multiplier;
    int32_t second_shift;
    int32_t output_offset; /**< the output's zero point */
    int32_t output_multiplier;
    int32_t output_shift;
    int32_t min;
    int32_t max;
};

/** A product or a quotient, and its requantization. */
struct tg_product {
    int32_t first_offset;
    int32_t second_offset;
    int32_t output_offset;
    int32_t multiplier;
    int32_t shift;
    int32_t min;
    int32_t max;
};

/** Requantization of positive inputs, and of negative ones times their slope. */
struct tg_slopes {
    int32_t input_offset;
    int32_t alpha_offset;
    int32_t output_offset;
    int32_t identity_multiplier;
    int32_t identity_shift;
    int32_t slope_multiplier;
    int32_t slope_shift;
};

/** output = table[input as unsigned number], for any 8-bit types. */
void tg_lookup_s8(const int8_t table[256], const int8_t *input, int8_t *output, int32_t size);

/** output = first + second. */
void tg_add_s8(const struct tg_broadcast *shape, const struct tg_common_scale *params, const int8_t *first,
    const int8_t *second, int8_t *output);

/** output = first - second. */
void tg_sub_s8(const struct tg_broadcast *shape, const struct tg_common_scale *params, const int8_t *first,
    const int8_t *second, int8_t *output);

/** output = (first - second)^2. */
void tg_squared_difference_s8(const struct tg_broadcast *shape, const struct tg_common_scale *params,
    const int8_t *first, const int8_t *second, int8_t *output);

/** output = first * second. */
void tg_mul_s8(const struct tg_broadcast *shape, const struct tg_product *params, const int8_t *first,
    const int8_t *second, int8_t *output);

/**
 * output = first / second, whose multiplier is the scale of first over that of second and of output, below 2^22. What
 * is divided by 0 is the largest or smallest output, and 0 divided by 0 is 0.
 */
void tg_div_s8(const struct tg_broadcast *shape, const struct tg_product *params, const int8_t *first,
    const int8_t *second, int8_t *output);

/** output = input where that is positive, else input * alpha; alpha is the second operand of the broadcast. */
void tg_prelu_s8(const struct tg_broadcast *shape, const struct tg_slopes *params, const int8_t *input,
    const int8_t *alpha, int8_t *output);

/** output = the larger of first and second, which share the output's quantization. */
void tg_maximum_s8(const struct tg_broadcast *shape, const int8_t *first, const int8_t *second, int8_t *output);

/** output = the smaller of first and second, which share the output's quantization. */
void tg_minimum_s8(const struct tg_broadcast *shape, const int8_t *first, const int8_t *second, int8_t *output);

#endif
