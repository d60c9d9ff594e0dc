/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * tg_resize_linear_s8 and _s16: NAME, ELEMENT and SUM, the type of products with one weight, are defined before.
 */
#include "tg_resize.h"

enum {
    ONE = 1 << TG_WEIGHT_BITS,
};

void NAME(const struct tg_resize_dims *dims, const struct tg_lines *rows, const struct tg_lines *columns,
    const ELEMENT *input, ELEMENT *output)
{
    const int32_t channels = dims->channels;
    const int32_t row_size = dims->input_width * channels;

    for (int32_t batch = 0; batch < dims->batches; batch++) {
        for (int32_t y = 0; y < dims->output_height; y++) {
            const ELEMENT *above = input + rows->before[y] * row_size;
            const ELEMENT *below = input + rows->after[y] * row_size;
            const int64_t down = rows->weights[y];
            for (int32_t x = 0; x < dims->output_width; x++) {
                const int32_t left = columns->before[x] * channels;
                const int32_t right = columns->after[x] * channels;
                const SUM across = columns->weights[x];
                for (int32_t c = 0; c < channels; c++) {
                    const SUM top = above[left + c] * (ONE - across) + above[right + c] * across;
                    const SUM bottom = below[left + c] * (ONE - across) + below[right + c] * across;
                    const int64_t total = top * (ONE - down) + bottom * down;
                    *output++ = (ELEMENT)((total + ((int64_t)1 << (2 * TG_WEIGHT_BITS - 1))) >> (2 * TG_WEIGHT_BITS));
                }
            }
        }
        input += dims->input_height * row_size;
    }
}
