/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_pool.h"

/** Positions of a window that lie inside. */
struct range {
    int32_t first;
    int32_t end;
};

static struct range inside(int32_t start, int32_t kernel, int32_t size)
{
    const int32_t end = start + kernel;
    const struct range range = {start < 0 ? 0 : start, end > size ? size : end};

    return range;
}

static int8_t mean(const struct tg_pool *pool, const int8_t *input, struct range rows, struct range columns)
{
    const int32_t count = (rows.end - rows.first) * (columns.end - columns.first);
    const uint32_t lift = (uint32_t)count * 128U; /* makes sums positive: their division rounds down */
    int32_t sum = 0;

    for (int32_t row = rows.first; row < rows.end; row++) {
        const int8_t *element = input + (row * pool->input_width + columns.first) * pool->channels;

        for (int32_t column = columns.first; column < columns.end; column++) {
            sum += *element;
            element += pool->channels;
        }
    }
    sum = (int32_t)(((uint32_t)sum + lift + (uint32_t)count / 2U) / (uint32_t)count) - 128;
    if (sum < pool->min) {
        sum = pool->min;
    }
    return (int8_t)(sum > pool->max ? pool->max : sum);
}

void tg_average_pool_up_s8(const struct tg_pool *pool, const int8_t *input, int8_t *output)
{
    for (int32_t batch = 0; batch < pool->batches; batch++) {
        for (int32_t y = 0; y < pool->output_height; y++) {
            const int32_t top = y * pool->stride_height - pool->pad_top;
            const struct range rows = inside(top, pool->kernel_height, pool->input_height);

            for (int32_t x = 0; x < pool->output_width; x++) {
                const int32_t left = x * pool->stride_width - pool->pad_left;
                const struct range columns = inside(left, pool->kernel_width, pool->input_width);

                for (int32_t channel = 0; channel < pool->channels; channel++) {
                    *output++ = mean(pool, input + channel, rows, columns);
                }
            }
        }
        input += pool->input_height * pool->input_width * pool->channels;
    }
}
