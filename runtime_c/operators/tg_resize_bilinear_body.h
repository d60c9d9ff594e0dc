/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * tg_resize_bilinear_s8 and _s16: NAME, ELEMENT and TOTAL, the type of sums of products with two weights, are defined
 * before.
 */
#include "tg_resize.h"

enum {
    POSITION_BITS = 10,
    ONE = 1 << POSITION_BITS,
};

/** Two neighbouring rows or columns. */
struct neighbours {
    int32_t before;
    int32_t after;
    int32_t weight; /**< of `after`, in 1/1024; negative where the position lies before the first pixel */
};

static struct neighbours neighbours_at(const struct tg_sampling *sampling, int32_t index, int32_t size)
{
    const int32_t position = sampling->offset + index * sampling->step;
    const int32_t before = position > 0 ? position >> POSITION_BITS : 0;
    const int32_t after = (position + ONE - 1) >> POSITION_BITS;

    return (struct neighbours){before, after < size ? after : size - 1, position - before * ONE};
}

/** total / 2^20, rounded to nearest, halves away from zero. */
static ELEMENT rounded(TOTAL total)
{
    const int32_t half = 1 << (2 * POSITION_BITS - 1);
    return (ELEMENT)((total + (total > 0 ? half : -half)) / (1 << (2 * POSITION_BITS)));
}

void NAME(const struct tg_resize_dims *dims, const struct tg_sampling *vertical, const struct tg_sampling *horizontal,
    const ELEMENT *input, ELEMENT *output)
{
    const int32_t channels = dims->channels;
    const int32_t row_size = dims->input_width * channels;

    for (int32_t batch = 0; batch < dims->batches; batch++) {
        for (int32_t y = 0; y < dims->output_height; y++) {
            const struct neighbours rows = neighbours_at(vertical, y, dims->input_height);
            const ELEMENT *above = input + rows.before * row_size;
            const ELEMENT *below = input + rows.after * row_size;
            for (int32_t x = 0; x < dims->output_width; x++) {
                const struct neighbours columns = neighbours_at(horizontal, x, dims->input_width);
                const int32_t left = columns.before * channels;
                const int32_t right = columns.after * channels;
                for (int32_t c = 0; c < channels; c++) {
                    const int32_t top = above[left + c] * (ONE - columns.weight) + above[right + c] * columns.weight;
                    const int32_t bottom = below[left + c] * (ONE - columns.weight) + below[right + c] * columns.weight;
                    *output++ = rounded((TOTAL)top * (ONE - rows.weight) + (TOTAL)bottom * rows.weight);
                }
            }
        }
        input += dims->input_height * row_size;
    }
}
