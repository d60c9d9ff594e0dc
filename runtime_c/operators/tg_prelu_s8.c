/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_broadcast_rows.h"
#include "tg_fixed_point.h"

static void prelu_row(const void *params, const struct tg_row *row)
{
    const struct tg_slopes *const p = params;

    for (int32_t i = 0; i < row->size; i++) {
        const int32_t input = row->first[i * row->first_step] + p->input_offset;
        const int32_t alpha = row->second[i * row->second_step] + p->alpha_offset;
        const int32_t scaled = input >= 0 ? tg_scale(input, p->identity_multiplier, p->identity_shift)
                                          : tg_scale(input * alpha, p->slope_multiplier, p->slope_shift);
        row->output[i] = tg_saturate_s8(scaled + p->output_offset);
    }
}

void tg_prelu_s8(const struct tg_broadcast *shape, const struct tg_slopes *params, const int8_t *input,
    const int8_t *alpha, int8_t *output)
{
    tg_broadcast_rows(shape, prelu_row, params, input, alpha, output);
}
