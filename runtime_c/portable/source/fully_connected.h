/*
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TG_FULLY_CONNECTED_H
#define TG_FULLY_CONNECTED_H

#include <stddef.h>

#include "arm_nn_types.h"
#include "dot_product.h"
#include "requantize.h"

/**
 * One row of outputs: output[r] = requantize(bias[r] + sum of (input[i] + input_offset) * (filter[r][i] +
 * filter_offset)).
 *
 * `quant_step` is 1 where each row has its own multiplier and shift, 0 where all rows share them.
 */
static inline void fully_connected_row(const cmsis_nn_fc_params *params, const int32_t *multiplier,
    const int32_t *shift, int32_t quant_step, const int8_t *input, int32_t depth, const int8_t *filter,
    const int32_t *bias, int8_t *output, int32_t rows)
{
    for (int32_t row = 0; row < rows; row++) {
        uint32_t sum = bias != NULL ? (uint32_t)bias[row] : 0U;
        sum = dot_product(sum, input, params->input_offset, filter, params->filter_offset, depth);
        filter += depth;
        const int32_t scaled = requantize((int32_t)sum, multiplier[row * quant_step], shift[row * quant_step]);
        output[row] =
            clamp_s8(wrapping_add(scaled, params->output_offset), params->activation.min, params->activation.max);
    }
}

#endif
