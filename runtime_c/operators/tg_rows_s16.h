/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What operators on two broadcast tensors of int16 share. Zero points are 0.
 */
#ifndef TG_ROWS_S16_H
#define TG_ROWS_S16_H

#include "tg_elementwise.h"
#include "tg_fixed_point.h"
#include "tg_operator_names.h"

#define TG_SUM_HEADROOM_S16 15 /* bits: 32768 << 15 leaves the sum within 32 */

/** The innermost axis: operands advance by their steps, which are 0 or 1. */
struct tg_row_s16 {
    const int16_t *first;
    const int16_t *second;
    int16_t *output;
    int32_t first_step;
    int32_t second_step;
    int32_t size;
};

/** Computes one row; `params` is what the operator handed to tg_broadcast_rows_s16(). */
typedef void tg_row_function_s16(const void *params, const struct tg_row_s16 *row);

/** Calls `function` for each row of the output, in order. */
void tg_broadcast_rows_s16(const struct tg_broadcast *shape, tg_row_function_s16 *function, const void *params,
    const int16_t *first, const int16_t *second, int16_t *output);

/** Element i of the first operand in the common scale. */
static inline int32_t tg_scaled_first_s16(
    const struct tg_common_scale *p, const struct tg_row_s16 *row, int32_t i, int headroom)
{
    return tg_scale(row->first[i * row->first_step] * (1 << headroom), p->first_multiplier, p->first_shift);
}

/** Element i of the second operand in the common scale. */
static inline int32_t tg_scaled_second_s16(
    const struct tg_common_scale *p, const struct tg_row_s16 *row, int32_t i, int headroom)
{
    return tg_scale(row->second[i * row->second_step] * (1 << headroom), p->second_multiplier, p->second_shift);
}

/** The stored output of a result in the common scale. */
static inline int16_t tg_scaled_output_s16(const struct tg_common_scale *p, int32_t result)
{
    return tg_clamp_s16(tg_scale(result, p->output_multiplier, p->output_shift), p->min, p->max);
}

#endif
