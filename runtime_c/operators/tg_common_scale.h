/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Into and out of the common scale of two operands: twice the larger one, with some bits of headroom below.
 */
#ifndef TG_COMMON_SCALE_H
#define TG_COMMON_SCALE_H

#include "tg_broadcast_rows.h"
#include "tg_fixed_point.h"

#define TG_SUM_HEADROOM 20   /* bits: 255 << 20 leaves the sum within 32 */
#define TG_SQUARE_HEADROOM 7 /* bits: the square of 255 << 7 leaves its square within 31 */

/** Element i of the first operand in the common scale. */
static inline int32_t tg_scaled_first(
    const struct tg_common_scale *p, const struct tg_row *row, int32_t i, int headroom)
{
    const int32_t centered = row->first[i * row->first_step] + p->first_offset;
    return tg_scale(centered * (1 << headroom), p->first_multiplier, p->first_shift);
}

/** Element i of the second operand in the common scale. */
static inline int32_t tg_scaled_second(
    const struct tg_common_scale *p, const struct tg_row *row, int32_t i, int headroom)
{
    const int32_t centered = row->second[i * row->second_step] + p->second_offset;
    return tg_scale(centered * (1 << headroom), p->second_multiplier, p->second_shift);
}

/** The stored output of a result in the common scale. */
static inline int8_t tg_scaled_output(const struct tg_common_scale *p, int32_t result)
{
    const int32_t scaled = tg_scale(result, p->output_multiplier, p->output_shift);
    return tg_clamp_s8(scaled + p->output_offset, p->min, p->max);
}

#endif
