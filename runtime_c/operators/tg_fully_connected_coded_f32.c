/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_arithmetic_f32.h"
#include "tg_coded_numbers.h"

/** Products of one block of weights, whose first code begins at a bit, before they are scaled. */
static float block_sum(const struct tg_codes *codes, int32_t position, float zero, const float *input)
{
    float sum = 0.0f;

    for (int32_t i = 0; i < codes->block; i++) {
        sum += (tg_number_of(codes, tg_code_at(codes, position)) - zero) * input[i];
        position += codes->bits;
    }
    return sum;
}

void tg_fully_connected_coded_f32(int32_t features, int32_t units, const struct tg_codes *codes, const float *bias,
    const struct tg_bounds_f32 *bounds, const float *input, float *output)
{
    int32_t position = 0;

    for (int32_t unit = 0; unit < units; unit++) {
        int32_t block = unit * codes->next_scale;
        float sum = bias == NULL ? 0.0f : bias[unit];

        for (int32_t first = 0; first < features; first += codes->block) {
            sum += tg_scale_of(codes, block) * block_sum(codes, position, tg_zero_of(codes, block), input + first);
            position += codes->block * codes->bits;
            block++;
        }
        output[unit] = tg_limited_f32(sum, bounds);
    }
}
