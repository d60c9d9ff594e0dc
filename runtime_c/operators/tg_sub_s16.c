/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_elementwise_s16.h"
#include "tg_rows_s16.h"

static void subtract_row(const void *params, const struct tg_row_s16 *row)
{
    const struct tg_common_scale *const p = params;

    for (int32_t i = 0; i < row->size; i++) {
        const int32_t first = tg_scaled_first_s16(p, row, i, TG_SUM_HEADROOM_S16);
        const int32_t second = tg_scaled_second_s16(p, row, i, TG_SUM_HEADROOM_S16);

        row->output[i] = tg_scaled_output_s16(p, first - second);
    }
}

void tg_sub_s16(const struct tg_broadcast *shape, const struct tg_common_scale *params, const int16_t *first,
    const int16_t *second, int16_t *output)
{
    tg_broadcast_rows_s16(shape, subtract_row, params, first, second, output);
}
