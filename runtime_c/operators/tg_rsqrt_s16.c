/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_fixed_point.h"
#include "tg_int16.h"
#include "tg_inverse_root.h"

enum { ROOT_BITS = 20 }; /* fraction bits of a reciprocal root */

void tg_rsqrt_s16(const struct tg_rescale *layer, const int16_t *input, int16_t *output)
{
    for (int32_t i = 0; i < layer->size; i++) {
        const struct tg_multiplier root = tg_inverse_root(input[i]);
        const int32_t fixed = tg_scale(1, root.multiplier, root.shift + ROOT_BITS);
        const int32_t scaled = tg_scale(fixed, layer->multiplier, layer->shift);

        output[i] = (int16_t)(input[i] > 0 ? tg_clamp_s16(scaled, layer->min, layer->max) : layer->max);
    }
}
