/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_elementwise_s16.h"
#include "tg_fixed_point.h"

void tg_leaky_relu_s16(const struct tg_slopes *params, const int16_t *input, int16_t *output, int32_t size)
{
    const int32_t multiplier = params->slope_multiplier;

    for (int32_t i = 0; i < size; i++) {
        int32_t scaled;

        if (input[i] >= 0) {
            scaled = tg_scale(input[i], params->identity_multiplier, params->identity_shift);
        } else if (multiplier >= 0) {
            scaled = tg_scale(input[i], multiplier, params->slope_shift);
        } else {
            scaled = -tg_scale(input[i], -multiplier, params->slope_shift);
        }
        output[i] = tg_clamp_s16(scaled, INT16_MIN, INT16_MAX);
    }
}
