/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reductions of int8 tensors. Neighbouring axes are merged until kept and reduced ones take turns; absent ones are 1.
 */
#ifndef TG_REDUCTION_H
#define TG_REDUCTION_H

#include <stdint.h>

#include "tg_operator_names.h"

/** Shape of the input, outermost axis first: kept, reduced, kept, reduced, kept. */
struct tg_extents {
    int32_t outer;
    int32_t first;
    int32_t middle;
    int32_t second;
    int32_t inner;
};

/** Requantization of a sum. */
struct tg_sum_params {
    int32_t offset; /**< added to each sum of stored values: minus the input's zero point, once per element */
    int32_t multiplier;
    int32_t shift;
    int32_t output_zero_point;
};

/** Largest value along the reduced axes, or the smallest one. */
enum tg_extreme {
    TG_LARGEST = 1,
    TG_SMALLEST = -1,
};

/** Sum along the reduced axes; a mean where the multiplier contains the division. */
void tg_sum_s8(
    const struct tg_extents *extents, const struct tg_sum_params *params, const int8_t *input, int8_t *output);

/** The same of int16, whose zero points are 0, in 32-bit sums: of up to 65535 elements each. */
void tg_sum_s16(
    const struct tg_extents *extents, const struct tg_sum_params *params, const int16_t *input, int16_t *output);

/** Largest or smallest value along the reduced axes. */
void tg_reduce_extreme_s8(const struct tg_extents *extents, enum tg_extreme which, const int8_t *input, int8_t *output);

/** The same of int16. */
void tg_reduce_extreme_s16(
    const struct tg_extents *extents, enum tg_extreme which, const int16_t *input, int16_t *output);

/** Index of the first largest value along the middle one of three axes. */
void tg_arg_max_s8(int32_t outer, int32_t size, int32_t inner, const int8_t *input, int32_t *output);

/** tg_arg_max_s8() with 64-bit indices. */
void tg_arg_max_s8_s64(int32_t outer, int32_t size, int32_t inner, const int8_t *input, int64_t *output);

#endif
