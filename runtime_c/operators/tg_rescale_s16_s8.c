/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_fixed_point.h"
#include "tg_int16.h"
#include "tg_units.h"

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)

void tg_rescale_s16_s8(const struct tg_rescale *layer, const int16_t *input, int8_t *output)
{
    const int32x4_t min = vdupq_n_s32(layer->min);
    const int32x4_t max = vdupq_n_s32(layer->max);

    for (int32_t left = layer->size; left > 0; left -= 4) {
        const mve_pred16_t lanes = vctp32q((uint32_t)left);
        const int32x4_t scaled = tg_scaled_units(vldrhq_z_s32(input, lanes), layer->multiplier, layer->shift);
        const int32x4_t moved = vaddq_n_s32(scaled, layer->output_zero_point);

        vstrbq_p_s32(output, vminq_s32(vmaxq_s32(moved, min), max), lanes);
        input += 4;
        output += 4;
    }
}

#else

void tg_rescale_s16_s8(const struct tg_rescale *layer, const int16_t *input, int8_t *output)
{
    for (int32_t i = 0; i < layer->size; i++) {
        const int32_t scaled = tg_scale(input[i], layer->multiplier, layer->shift);

        output[i] = tg_stored_s8(scaled, layer->output_zero_point, layer->min, layer->max);
    }
}

#endif
