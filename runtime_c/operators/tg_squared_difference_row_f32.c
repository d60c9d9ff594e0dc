/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_rows_f32.h"

void tg_squared_difference_row_f32(const struct tg_row_f32 *row)
{
    for (int32_t i = 0; i < row->size; i++) {
        const float a = row->first[i * row->first_step];
        const float b = row->second[i * row->second_step];
        row->output[i] = (a - b) * (a - b);
    }
}
