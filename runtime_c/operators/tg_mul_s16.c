/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_elementwise_s16.h"
#include "tg_rows_s16.h"

static void multiply_row(const void *params, const struct tg_row_s16 *row)
{
    const struct tg_product *const p = params;

    for (int32_t i = 0; i < row->size; i++) {
        const int32_t product = row->first[i * row->first_step] * row->second[i * row->second_step];

        row->output[i] = tg_clamp_s16(tg_scale(product, p->multiplier, p->shift), p->min, p->max);
    }
}

void tg_mul_s16(const struct tg_broadcast *shape, const struct tg_product *params, const int16_t *first,
    const int16_t *second, int16_t *output)
{
    tg_broadcast_rows_s16(shape, multiply_row, params, first, second, output);
}
