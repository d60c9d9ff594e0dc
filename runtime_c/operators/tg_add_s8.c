/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_broadcast_rows.h"
#include "tg_common_scale.h"

static void add_row(const void *params, const struct tg_row *row)
{
    const struct tg_common_scale *const p = params;

    for (int32_t i = 0; i < row->size; i++) {
        const int32_t first = tg_scaled_first(p, row, i, TG_SUM_HEADROOM);
        const int32_t second = tg_scaled_second(p, row, i, TG_SUM_HEADROOM);
        row->output[i] = tg_scaled_output(p, first + second);
    }
}

void tg_add_s8(const struct tg_broadcast *shape, const struct tg_common_scale *params, const int8_t *first,
    const int8_t *second, int8_t *output)
{
    tg_broadcast_rows(shape, add_row, params, first, second, output);
}
