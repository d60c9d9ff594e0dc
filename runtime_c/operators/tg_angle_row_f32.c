/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_rows_f32.h"

void tg_angle_row_f32(const struct tg_row_f32 *row)
{
    for (int32_t i = 0; i < row->size; i++) {
        const float y = row->first[i * row->first_step];
        const float x = row->second[i * row->second_step];
        row->output[i] = atan2f(y, x);
    }
}
