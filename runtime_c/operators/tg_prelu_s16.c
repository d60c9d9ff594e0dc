/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_elementwise_s16.h"
#include "tg_rows_s16.h"

static void prelu_row(const void *params, const struct tg_row_s16 *row)
{
    const struct tg_slopes *const p = params;

    for (int32_t i = 0; i < row->size; i++) {
        const int32_t input = row->first[i * row->first_step];
        const int32_t alpha = row->second[i * row->second_step];
        const int32_t scaled = input >= 0 ? tg_scale(input, p->identity_multiplier, p->identity_shift)
                                          : tg_scale(input * alpha, p->slope_multiplier, p->slope_shift);

        row->output[i] = tg_clamp_s16(scaled, INT16_MIN, INT16_MAX);
    }
}

void tg_prelu_s16(const struct tg_broadcast *shape, const struct tg_slopes *params, const int16_t *first,
    const int16_t *second, int16_t *output)
{
    tg_broadcast_rows_s16(shape, prelu_row, params, first, second, output);
}
