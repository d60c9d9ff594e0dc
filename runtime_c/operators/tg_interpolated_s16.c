/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_int16.h"
#include "tg_interpolation.h"

void tg_interpolated_s16(const int16_t table[513], const int16_t *input, int16_t *output, int32_t size)
{
    for (int32_t i = 0; i < size; i++) {
        output[i] = (int16_t)tg_interpolate(table, input[i]);
    }
}
