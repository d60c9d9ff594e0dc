/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_broadcast_rows.h"
#include "tg_fixed_point.h"

static void multiply_row(const void *params, const struct tg_row *row)
{
    const struct tg_product *const p = params;

    for (int32_t i = 0; i < row->size; i++) {
        const int32_t first = row->first[i * row->first_step] + p->first_offset;
        const int32_t second = row->second[i * row->second_step] + p->second_offset;
        const int32_t scaled = tg_scale(first * second, p->multiplier, p->shift);
        row->output[i] = tg_clamp_s8(scaled + p->output_offset, p->min, p->max);
    }
}

void tg_mul_s8(const struct tg_broadcast *shape, const struct tg_product *params, const int8_t *first,
    const int8_t *second, int8_t *output)
{
    tg_broadcast_rows(shape, multiply_row, params, first, second, output);
}
