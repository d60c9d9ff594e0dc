/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stddef.h>

#include "tg_elementwise_s16.h"
#include "tg_rows_s16.h"

static void minimum_row(const void *params, const struct tg_row_s16 *row)
{
    (void)params;

    for (int32_t i = 0; i < row->size; i++) {
        const int16_t first = row->first[i * row->first_step];
        const int16_t second = row->second[i * row->second_step];

        row->output[i] = first < second ? first : second;
    }
}

void tg_minimum_s16(const struct tg_broadcast *shape, const int16_t *first, const int16_t *second, int16_t *output)
{
    tg_broadcast_rows_s16(shape, minimum_row, NULL, first, second, output);
}
