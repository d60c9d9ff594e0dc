/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_arithmetic_f32.h"
#include "tg_listed_f32.h"

void tg_fully_connected_listed_f32(int32_t features, int32_t units, const struct tg_listed *weights, const float *bias,
    const struct tg_bounds_f32 *bounds, const float *input, float *output)
{
    int32_t weight = 0;
    int32_t stored = 0;

    for (int32_t unit = 0; unit < units; unit++) {
        const float *levels = tg_levels_of(weights, unit);
        int32_t block = unit * weights->codes.next_scale;
        float sum = bias == NULL ? 0.0f : bias[unit];

        for (int32_t first = 0; first < features; first += weights->codes.block) {
            const float zero = tg_zero_of(&weights->codes, block);
            float products = 0.0f;

            for (int32_t i = first; i < first + weights->codes.block; i++) {
                if (tg_is_stored(&weights->list, weight)) {
                    products += tg_listed_number(weights, levels, zero, stored) * input[i];
                    stored++;
                }
                weight++;
            }
            sum += tg_scale_of(&weights->codes, block) * products;
            block++;
        }
        output[unit] = tg_limited_f32(sum, bounds);
    }
}
