/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_dynamic.h"

void tg_dequantize_rows_s8_f32(
    const struct tg_rows *rows, const int8_t *input, const float *scale, const int8_t *zero_point, float *output)
{
    for (int32_t row = 0; row < rows->count; row++, input += rows->size, output += rows->size) {
        for (int32_t i = 0; i < rows->size; i++) {
            output[i] = (float)(input[i] - zero_point[row]) * scale[row];
        }
    }
}
