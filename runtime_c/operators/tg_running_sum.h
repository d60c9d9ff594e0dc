/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Averages of whole images, computed as their rows come: one sum per channel, finished once.
 */
#ifndef TG_RUNNING_SUM_H
#define TG_RUNNING_SUM_H

#include <stdint.h>

#include "tg_float.h"
#include "tg_operator_names.h"

/** Add `pixels` pixels of `channels` channels to the sums, one per channel. */
void tg_sum_rows_s8(const int8_t *input, int32_t pixels, int32_t channels, int32_t *sums);

/** Sums divided by `count`, halves away from zero, limited to [min, max]. May not work in place. */
void tg_divide_sums_s8(const int32_t *sums, int32_t channels, int32_t count, int32_t min, int32_t max, int8_t *output);

/** Sums plus `offset`, times multiplier * 2^(shift - 31), plus the output's zero point, saturated. */
void tg_scale_sums_s8(const int32_t *sums, int32_t channels, int32_t offset, int32_t multiplier, int32_t shift,
    int32_t zero_point, int8_t *output);

/** Add `pixels` pixels of `channels` channels to the sums, one after the other. */
void tg_sum_rows_f32(const float *input, int32_t pixels, int32_t channels, float *sums);

/** Sums divided by `count`, within bounds. */
void tg_divide_sums_f32(
    const float *sums, int32_t channels, int32_t count, const struct tg_bounds_f32 *bounds, float *output);

#endif
