/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Packing of signs; TG_FUNCTION is its name, TG_VALUE the type of a value.
 */
#include "tg_signs.h"

void TG_FUNCTION(const struct tg_sign_packing *layer, const TG_VALUE *input, uint32_t *output)
{
    const int32_t below = layer->threshold - 1;

    for (int32_t pixel = 0; pixel < layer->pixels; pixel++) {
        for (int32_t left = layer->depth; left > 0; left -= 32) {
            const int32_t count = left < 32 ? left : 32;
            uint32_t word = 0;

            for (int32_t i = 0; i < count; i++) {
                const uint32_t difference = (uint32_t)(below - *input++); /* negative from the threshold on */

                word = (word >> 1) | (difference & 0x80000000U);
            }
            *output++ = word >> (32 - count);
        }
    }
}
