/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stddef.h>

#include "tg_broadcast_rows.h"

static void minimum_row(const void *params, const struct tg_row *row)
{
    (void)params;
    for (int32_t i = 0; i < row->size; i++) {
        const int8_t first = row->first[i * row->first_step];
        const int8_t second = row->second[i * row->second_step];
        row->output[i] = first < second ? first : second;
    }
}

void tg_minimum_s8(const struct tg_broadcast *shape, const int8_t *first, const int8_t *second, int8_t *output)
{
    tg_broadcast_rows(shape, minimum_row, NULL, first, second, output);
}
