/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * From sums of products to elements of the result.
 */
#ifndef TG_MATMUL_RESULTS_H
#define TG_MATMUL_RESULTS_H

#include "tg_fixed_point.h"
#include "tg_matmul.h"
#include "tg_scale_s16.h"

static inline int8_t tg_result_s8(const struct tg_matmul_params *params, int32_t sum)
{
    return tg_offset_s8(tg_scale(sum, params->multiplier, params->shift), params->output_zero_point);
}

static inline int16_t tg_result_s16(const struct tg_matmul_params *params, int64_t sum)
{
    const int64_t scaled = tg_scale_wide(sum, params->multiplier, params->shift);

    if (scaled < INT16_MIN) {
        return INT16_MIN;
    }
    return (int16_t)(scaled > INT16_MAX ? INT16_MAX : scaled);
}

#endif
