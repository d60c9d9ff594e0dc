/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_elementwise_s16.h"
#include "tg_rows_s16.h"

static void squared_difference_row(const void *params, const struct tg_row_s16 *row)
{
    const struct tg_common_scale *const p = params;

    for (int32_t i = 0; i < row->size; i++) {
        const int32_t first = tg_scaled_first_s16(p, row, i, 0);
        const int32_t difference = first - tg_scaled_second_s16(p, row, i, 0);

        row->output[i] = tg_scaled_output_s16(p, difference * difference);
    }
}

void tg_squared_difference_s16(const struct tg_broadcast *shape, const struct tg_common_scale *params,
    const int16_t *first, const int16_t *second, int16_t *output)
{
    tg_broadcast_rows_s16(shape, squared_difference_row, params, first, second, output);
}
