/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_resize.h"

void tg_resize_nearest_s8(
    const struct tg_resize_dims *dims, const int16_t *rows, const int16_t *columns, const int8_t *input, int8_t *output)
{
    const int32_t channels = dims->channels;
    const int32_t row_size = dims->input_width * channels;

    for (int32_t batch = 0; batch < dims->batches; batch++) {
        for (int32_t y = 0; y < dims->output_height; y++) {
            const int8_t *row = input + rows[y] * row_size;
            for (int32_t x = 0; x < dims->output_width; x++) {
                const int8_t *pixel = row + columns[x] * channels;
                for (int32_t c = 0; c < channels; c++) {
                    *output++ = pixel[c];
                }
            }
        }
        input += dims->input_height * row_size;
    }
}
