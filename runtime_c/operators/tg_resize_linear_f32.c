/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_float.h"

/** One output row between two input rows, the second of weight `down`. */
static void resize_row(const float *above, const float *below, float down, const struct tg_neighbours *columns,
    const struct tg_image *size, float *output)
{
    for (int32_t x = 0; x < size->width; x++) {
        const int32_t left = columns->before[x] * size->channels;
        const int32_t right = columns->after[x] * size->channels;
        const float across = columns->weights[x];
        for (int32_t channel = 0; channel < size->channels; channel++) {
            const float top = above[left + channel] * (1.0f - across) + above[right + channel] * across;
            const float bottom = below[left + channel] * (1.0f - across) + below[right + channel] * across;
            *output++ = top * (1.0f - down) + bottom * down;
        }
    }
}

void tg_resize_linear_f32(int32_t batches, const struct tg_image *input_size, const struct tg_image *output_size,
    const struct tg_neighbours *rows, const struct tg_neighbours *columns, const float *input, float *output)
{
    const int32_t line = input_size->width * input_size->channels;

    for (int32_t batch = 0; batch < batches; batch++) {
        for (int32_t y = 0; y < output_size->height; y++) {
            resize_row(input + rows->before[y] * line, input + rows->after[y] * line, rows->weights[y], columns,
                output_size, output);
            output += output_size->width * output_size->channels;
        }
        input += input_size->height * line;
    }
}
